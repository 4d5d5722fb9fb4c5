//! Write-back before the limit is reached.

use super::{Marks, Policy, fair_walk};

pub(super) const POLICY: Policy = Policy {
    name: "proactive",
    about: "The worker starts 1 % of the limit above the accept threshold, and the pool accepts pages up to its limit meanwhile",
    source: "T. Funaki, the same series, patch 3 (with 1 and 2)",
    early: above_threshold,
    hysteresis: false,
    ..fair_walk::POLICY
};

/// More than a hundredth of the limit above the threshold.
pub(super) const fn above_threshold(marks: Marks) -> u64 {
    marks.accept + marks.max / 100 + 1
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_starts_a_hundredth_above_the_threshold() {
        assert_eq!((POLICY.early)(Marks { max: 1000, accept: 900 }), 911);
    }
}
