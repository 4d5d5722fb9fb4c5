//! Write-back whose oldest pages are on the disk before they must go.

use super::{Marks, Policy, write_back};

pub(super) const POLICY: Policy = Policy {
    name: "cleaning",
    about: "Before the accept threshold is reached a worker begins to copy the oldest pages to the disk, as many as lie between it and the limit; a full pool drops them",
    source: "own, after the write-back of dirty pages ahead of reclaim (mm/page-writeback.c); in the place of switching by fill",
    cleans: below_threshold,
    ..write_back::POLICY
};

/// As far below the threshold as the limit is above it: a pool that is filled in one go is not clean in time otherwise.
const fn below_threshold(marks: Marks) -> u64 {
    (2 * marks.accept).saturating_sub(marks.max) + 1
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_starts_below_the_threshold() {
        assert_eq!((POLICY.cleans)(Marks { max: 1000, accept: 900 }), 801);
        assert_eq!((POLICY.cleans)(Marks { max: 1000, accept: 300 }), 1);
    }
}
