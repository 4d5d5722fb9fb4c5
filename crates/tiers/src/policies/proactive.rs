//! Write-back before the limit is reached.

use super::{Fill, Policy, fair_walk};

pub(super) const POLICY: Policy = Policy {
    name: "proactive",
    about: "The worker starts 1 % of the limit above the accept threshold, and the pool accepts pages up to its limit meanwhile",
    source: "T. Funaki, the same series, patch 3 (with 1 and 2)",
    early: above_threshold,
    hysteresis: false,
    ..fair_walk::POLICY
};

/// From a hundredth of the limit above the threshold on.
pub(super) const fn above_threshold(fill: Fill) -> bool {
    fill.pages > fill.accept + fill.max / 100
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_starts_a_hundredth_above_the_threshold() {
        let at = |pages| (POLICY.early)(Fill { pages, max: 1000, accept: 900 });
        assert_eq!((at(900), at(910), at(911), at(1000)), (false, false, true, true));
    }
}
