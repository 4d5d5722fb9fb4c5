//! The walk over cgroups, mended.

use super::{KERNEL, Policy, walk};

pub(super) const POLICY: Policy = Policy {
    name: "fair-walk",
    about: "The worker takes one page of each cgroup in turn and passes over those that have none",
    source: "T. Funaki, \"mm: zswap: global shrinker fix and proactive shrink\", v2, July 2024, patches 1 and 2; in 6.12",
    walk: Some(walk::EACH),
    ..KERNEL
};
