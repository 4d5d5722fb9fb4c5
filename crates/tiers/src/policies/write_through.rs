//! Write-through: a stored page goes to the disk at once, and evicting it later is free.

use super::{Policy, write_back};

pub(super) const POLICY: Policy = Policy {
    name: "write-through",
    about: "Each page that is stored is written to the disk at once too, so that a full pool just drops its oldest",
    source: "D. Streetman, \"mm/zswap: add writethrough option\", v2, January 2014",
    through: |_| 0,
    ..write_back::POLICY
};
