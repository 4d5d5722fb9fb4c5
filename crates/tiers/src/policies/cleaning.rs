//! Write-back whose oldest pages are on the disk before they must go.

use super::{Marks, Policy, write_back};

pub(super) const POLICY: Policy = Policy {
    name: "cleaning",
    about: "From the accept threshold on a worker copies the oldest pages to the disk, as many as lie between threshold and limit; a full pool drops them",
    source: "own, after the write-back of dirty pages ahead of reclaim (mm/page-writeback.c); in the place of switching by fill",
    cleans: above_threshold,
    ..write_back::POLICY
};

const fn above_threshold(marks: Marks) -> u64 {
    marks.accept + 1
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_starts_above_the_threshold() {
        assert_eq!((POLICY.cleans)(Marks { max: 1000, accept: 900 }), 901);
    }
}
