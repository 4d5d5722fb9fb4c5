//! Write-back whose oldest pages are on the disk before they must go.

use super::{Fill, Policy, write_back};

pub(super) const POLICY: Policy = Policy {
    name: "cleaning",
    about: "From the accept threshold on a worker copies the oldest pages to the disk, as many as lie between threshold and limit; a full pool drops them",
    source: "own, after the write-back of dirty pages ahead of reclaim (mm/page-writeback.c); in the place of switching by fill",
    cleans: above_threshold,
    ..write_back::POLICY
};

const fn above_threshold(fill: Fill) -> bool {
    fill.pages > fill.accept
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_starts_above_the_threshold() {
        let at = |pages| (POLICY.cleans)(Fill { pages, max: 1000, accept: 900 });
        assert_eq!((at(0), at(900), at(901), at(1000)), (false, false, true, true));
    }
}
