//! Write-back while the pool has room, write-through when it is full.

use super::{Marks, Policy, write_back};

pub(super) const POLICY: Policy = Policy {
    name: "switching",
    about: "Write-back up to a hundredth below the limit, write-through from there on",
    source: "named as future work in the review of \"mm/zswap: add writethrough option\", 2014",
    through: full_but_for_a_hundredth,
    ..write_back::POLICY
};

/// A lower threshold writes pages that would still have come back from the pool, a higher one is missed by pools whose objects leave in
/// whole pages. What was stored before the switch is written when it goes: that is the price of not knowing what is to come.
const fn full_but_for_a_hundredth(marks: Marks) -> u64 {
    marks.max - marks.max / 100
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_switches_a_hundredth_below_the_limit() {
        assert_eq!((POLICY.through)(Marks { max: 1000, accept: 900 }), 990);
    }
}
