//! Refault distance: how soon a page came back, and whether it belongs to the active list at once (mm/workingset.c).
//!
//! Who evicts for want of memory keeps an age that goes on with each eviction and each activation. A page takes the age along when it
//! leaves, as its shadow. When it comes back, the age since then is how many more places the inactive list would have needed to keep it;
//! no more than there are active pages, and it could have stayed in place of one of them.

use super::Model;
use super::page::{State, Tier, WORKINGSET};

/// What reclaim goes by where it looks for memory: of a group with a limit, or of the whole machine.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Domain {
    /// Evictions and activations so far (`nonresident_age`).
    age: u32,
    /// Pages on active lists.
    pub(super) active: u32,
    /// Pages that were activated because they came back soon, and so many of them when reclaim last ended (`refaults`).
    activated: u32,
    looked: u32,
}

impl Domain {
    /// A page leaves RAM; tells its shadow (`workingset_eviction`).
    pub(super) const fn evict(&mut self) -> u32 {
        let shadow = self.age;
        self.age = shadow.wrapping_add(1);
        shadow
    }

    /// So many pages became active (`workingset_age_nonresident`).
    pub(super) const fn activate(&mut self, pages: u32) {
        self.age = self.age.wrapping_add(pages);
        self.active += pages;
    }

    /// Whether a page with this shadow was away for no longer than the active pages are many (`workingset_test_recent`). Without free
    /// swap no anonymous page could make room, so that none counts.
    pub(super) const fn is_recent(&self, shadow: u32, swap_is_free: bool) -> bool {
        self.age.wrapping_sub(shadow) <= if swap_is_free { self.active } else { 0 }
    }

    /// A page came back soon.
    pub(super) const fn refault(&mut self) {
        self.activate(1);
        self.activated = self.activated.wrapping_add(1);
    }

    /// Whether pages came back soon since reclaim last ended: then the active list is scanned as fast as the inactive one, to get rid of
    /// what is stale there (`may_deactivate`).
    pub(super) const fn sees_refaults(&self) -> bool {
        self.activated != self.looked
    }

    /// A round of reclaim ends (`snapshot_refaults`).
    pub(super) const fn look(&mut self) {
        self.looked = self.activated;
    }
}

/// What became of a page that came back.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Refault {
    /// It was away for long.
    Late,
    /// It is active at once.
    Activated,
    /// It is so again: it had been active before it left.
    Restored,
}

impl Refault {
    /// What a new folio is told: it keeps the mark of one that was active only if it came back soon.
    pub(super) const fn of(page: &mut State, is_recent: bool) -> Self {
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

impl Model {
    /// A page that was evicted is put back into the lists.
    #[inline]
    pub(super) fn refault(&mut self, page: u32) {
        let (used, all) = self.slots.fill();
        let counters = &mut self.outcome.counters;
        counters.workingset_refault_anon += 1;
        match self.lists.refault(&mut self.pages, page, used < all) {
            Refault::Late => {}
            Refault::Activated => counters.workingset_activate_anon += 1,
            Refault::Restored => {
                counters.workingset_activate_anon += 1;
                counters.workingset_restore_anon += 1;
            }
        }
    }

    /// The RAM of a page is free, its content elsewhere: what is left is a shadow.
    #[inline]
    pub(super) fn gone(&mut self, page: u32) {
        let shared = self.pages.share_places();
        let cgroup = self.pages.cgroup(page);
        let shadow = self.lists.shadow(cgroup);
        match &mut self.zswap {
            Some(zswap) if shared && self.pages.tier(page) == Tier::Zswap => zswap.set_shadow(&self.pages, page, shadow),
            _ => self.pages.set_place(page, shadow),
        }
        self.uncharge(cgroup);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::tests::{event, machine, policy, with_zswap};
    use crate::model::{Counters, Settings, Tier};
    use crate::trace::Op;

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

    /// Of a group of which some pages are active, who left last is active at once when it comes back, and who left first is not: from a
    /// disk, which leaves the shadow at the page, and from zswap, whose entry has it.
    #[test]
    fn who_comes_back_soon_is_active_at_once() {
        for (settings, tier) in [(machine(2000), Tier::Disk), (with_zswap(2000, policy("limit"), 20), Tier::Zswap)] {
            come_back_soon_and_late(settings, tier);
        }
    }

    fn come_back_soon_and_late(settings: Settings, tier: Tier) {
        let settings = Settings { cgroups: vec![Some(100)], charge_zswap: false, page_cluster: 0, ..settings };
        let mut model = Model::new(settings, 1000).unwrap();
        for turn in 0..20 {
            (0..20).chain(100 + turn * 40..140 + turn * 40).for_each(|page| _ = model.advance(event(page, Op::Read)).unwrap());
        }
        model.settle_by(u64::MAX);
        assert!(model.outcome.counters.pgactivate >= 20, "those that are used in each turn");
        let gone = |page: &u32| model.tier(*page) == tier;
        let shadow = |page: &u32| model.pages.place(*page);
        let last = (0..1000).filter(gone).max_by_key(shadow).unwrap();
        let first = (0..1000).filter(gone).min_by_key(shadow).unwrap();
        let counts = |model: &Model| {
            let Counters { workingset_refault_anon, workingset_activate_anon, workingset_restore_anon, .. } =
                model.outcome.counters;
            [workingset_refault_anon, workingset_activate_anon, workingset_restore_anon]
        };
        for (page, was_active, full, expected) in [
            (first, false, false, [1, 0, 0]),
            (last, false, false, [1, 1, 0]),
            (first, true, false, [1, 0, 0]),
            (last, true, false, [1, 1, 1]),
            (last, true, true, [1, 0, 0]),
        ] {
            let mut model = model.clone();
            if was_active {
                model.pages.set(page, WORKINGSET);
            }
            // Room for it, and none in swap for any other.
            let others = (100..1000).filter(|&page| model.tier(page) == Tier::Ram).take(20);
            others.collect::<Vec<u32>>().into_iter().for_each(|page| model.free(page));
            while full && model.slots.alloc(0).is_some() {}
            let before = counts(&model);
            model.advance(event(page, Op::Read)).unwrap();
            let after = counts(&model);
            assert_eq!(
                [0, 1, 2].map(|index| after[index] - before[index]),
                expected,
                "{tier:?}: page {page}, {was_active} {full}"
            );
        }
    }
}
