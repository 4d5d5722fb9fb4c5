//! No write-back.

use super::{Groups, KERNEL, Policy, Walk, walk};

pub(super) const POLICY: Policy = Policy {
    name: "no-writeback",
    about: "Nothing is ever written back: what does not fit the pool goes to the disk",
    source: "zsmalloc under zswap until 6.1, which could not evict",
    walk: Some(Walk { failures: 0, groups: Groups::Global, ..walk::ONE }),
    ..KERNEL
};
