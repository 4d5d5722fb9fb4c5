//! Refault distance: how soon a page came back, and whether it belongs to the active list at once (mm/workingset.c).
//!
//! Who evicts for want of memory keeps an age that goes on with each eviction and each activation. A page takes the age along when it
//! leaves, as its shadow. When it comes back, the age since then is how many more places the inactive list would have needed to keep it;
//! no more than there are active pages, and it could have stayed in place of one of them.

use crate::model::page::{PageState, WORKINGSET};

/// What reclaim goes by where it looks for memory: of a group with a limit, or of the whole machine.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Domain {
    /// Evictions and activations so far (`nonresident_age`).
    age: u32,
    /// Pages on active lists.
    pub(crate) active: u32,
    /// Pages that were activated because they came back soon, now and when reclaim last ended (`refaults`).
    activated: u32,
    looked: u32,
}

impl Domain {
    /// A page leaves RAM; tells its shadow (`workingset_eviction`).
    pub(crate) const fn evict(&mut self) -> u32 {
        let shadow = self.age;
        self.age = shadow.wrapping_add(1);
        shadow
    }

    /// Pages became active (`workingset_age_nonresident`).
    pub(crate) const fn activate(&mut self, pages: u32) {
        self.age = self.age.wrapping_add(pages);
        self.active += pages;
    }

    /// Whether a page with this shadow was away for no longer than the active pages are many (`workingset_test_recent`). Without free
    /// swap no anonymous page could make room, so that none counts.
    pub(crate) const fn is_recent(&self, shadow: u32, swap_is_free: bool) -> bool {
        self.age.wrapping_sub(shadow) <= if swap_is_free { self.active } else { 0 }
    }

    /// A page came back soon.
    pub(crate) const fn refault(&mut self) {
        self.activate(1);
        self.activated = self.activated.wrapping_add(1);
    }

    /// Whether pages came back soon since reclaim last ended: then the active list is scanned as fast as the inactive one, to get rid of
    /// what is stale there (`may_deactivate`).
    pub(crate) const fn sees_refaults(&self) -> bool {
        self.activated != self.looked
    }

    /// A round of reclaim ends (`snapshot_refaults`).
    pub(crate) const fn look(&mut self) {
        self.looked = self.activated;
    }
}

/// What became of a page that came back.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Refault {
    /// It was away for long.
    Late,
    /// It is active at once.
    Activated,
    /// It is so again: it had been active before it left.
    Restored,
}

impl Refault {
    /// What a new folio is told: it keeps the mark of one that was active only if it came back soon.
    pub(crate) const fn of(page: &mut PageState, is_recent: bool) -> Self {
        match (is_recent, page.has(WORKINGSET)) {
            (false, _) => {
                page.clear(WORKINGSET);
                Self::Late
            }
            (true, false) => Self::Activated,
            (true, true) => Self::Restored,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// 10 pages leave, 4 are activated, 5 more leave: 19 later the first has been away for 19, the last for 1.
    #[test]
    fn the_distance_is_what_left_and_what_became_active_since() {
        let mut domain = Domain::default();
        let shadows: Vec<u32> = (0..10).map(|_| domain.evict()).collect();
        domain.activate(4);
        let last = (0..5).map(|_| domain.evict()).last().unwrap();
        assert_eq!((shadows, last, domain.age, domain.active), ((0..10).collect(), 18, 19, 4));
        let recent = |shadow| domain.is_recent(shadow, true);
        assert_eq!([14, 15, 18].map(recent), [false, true, true], "as many as are active");
        assert!(!domain.is_recent(18, false), "without swap active pages are no room");
        assert!(domain.is_recent(19, false));
        let old = Domain { age: 2, active: 5, ..domain };
        assert!(old.is_recent(u32::MAX - 1, true), "the age begins anew after 2^32: away for 4");
        assert!(!old.is_recent(u32::MAX - 4, true));
    }

    /// A page that comes back soon makes one more active page and one more step of age, for those that come after it.
    #[test]
    fn a_refault_is_an_activation() {
        let mut domain = Domain { age: 100, active: 3, ..Domain::default() };
        assert!(!domain.is_recent(96, true) && !domain.sees_refaults());
        domain.refault();
        assert_eq!((domain.age, domain.active, domain.sees_refaults()), (101, 4, true));
        domain.look();
        assert!(!domain.sees_refaults());
    }
}
