//! The walk over cgroups before it was mended.

use super::{Groups, KERNEL, Policy, Walk, walk};

pub(super) const POLICY: Policy = Policy {
    name: "broken-walk",
    about: "The worker takes one page of each cgroup in turn and gives up after 16 that have none",
    source: "mm/zswap.c of 6.8 to 6.11, shrink_worker()",
    walk: Some(Walk { groups: Groups::Broken, ..walk::EACH }),
    ..KERNEL
};
