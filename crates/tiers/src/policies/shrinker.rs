//! The dynamic shrinker.

use super::{KERNEL, Policy};

pub(super) const POLICY: Policy = Policy {
    name: "shrinker",
    about: "Reclaim writes back some of the pool's oldest pages along the way (shrinker_enabled), besides the limit",
    source: "mm/zswap.c, zswap_shrinker_scan(); since 6.8",
    shrinker: true,
    ..KERNEL
};
