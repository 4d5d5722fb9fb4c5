//! Write-back when the limit was hit: zswap as it comes.

use super::{KERNEL, Policy};

pub(super) const POLICY: Policy = Policy {
    name: "limit",
    about: "The pool is drained to its threshold once a page was rejected, as the kernel of that version does it",
    source: "mm/zswap.c, shrink_worker()",
    ..KERNEL
};
