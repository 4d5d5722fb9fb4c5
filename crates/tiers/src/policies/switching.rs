//! Write-back while the pool is far from full, write-through after that.

use super::{Fill, Policy, write_back};

pub(super) const POLICY: Policy = Policy {
    name: "switching",
    about: "Write-back up to the accept threshold, write-through from there on",
    source: "named as future work in the review of \"mm/zswap: add writethrough option\", 2014",
    through: nearly_full,
    ..write_back::POLICY
};

const fn nearly_full(fill: Fill) -> bool {
    fill.pages >= fill.accept
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_switches_at_the_threshold() {
        let at = |pages| (POLICY.through)(Fill { pages, max: 1000, accept: 900 });
        assert_eq!((at(0), at(899), at(900), at(1000)), (false, false, true, true));
    }
}
