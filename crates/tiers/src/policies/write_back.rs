//! Write-back when a store needs the room.

use super::{Context, KERNEL, Policy, walk};

pub(super) const POLICY: Policy = Policy {
    name: "write-back",
    about: "A store into a full pool first writes back the oldest pages and waits for that",
    source: "mm/zswap.c of 3.13, zswap_frontswap_store()",
    walk: Some(walk::ONE),
    context: Context::Store,
    ..KERNEL
};
