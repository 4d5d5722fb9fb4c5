//! The lists of RAM's pages, per cgroup: which page reclaim takes next.

use super::aging::Walks;
use super::workingset::{Domain, Refault};
use crate::model::page::{Pages, REFERENCED, SEEN, WORKINGSET};
use crate::model::ring::{LAST_PLACE, Ring};
use crate::model::spec::Lru;

/// Room for lists of a cgroup: one, two or five of them are in use. A page's `place` is list + 8 × place there.
const LISTS: u32 = 8;
const _: () = assert!(LAST_PLACE <= u32::MAX / LISTS, "a place has room beside its list");
/// Generations, each with a list (`MAX_NR_GENS`).
const GENERATIONS: u32 = 4;
/// With generations: pages of the oldest one whose write has ended, before all others (`folio_rotate_reclaimable`).
pub(super) const WRITTEN: usize = GENERATIONS as usize;
const INACTIVE: usize = 0;
const ACTIVE_LIST: usize = 1;
/// Generations that reclaim leaves (`MIN_NR_GENS`).
pub(super) const MIN_GENERATIONS: u32 = 2;
/// Pages that are taken of generations in one go (`MIN_LRU_BATCH`).
pub(crate) const MIN_LRU_BATCH: usize = 64;
/// Pages moved from a list in one go (`SWAP_CLUSTER_MAX`).
pub(crate) const BATCH: usize = 32;
/// Pages ahead of reclaim at which the memory of one is prefetched.
const PREFETCH: u32 = 24;

#[derive(Clone, Debug, Default)]
pub(super) struct Lruvec {
    pub(super) lists: [Ring<u32>; WRITTEN + 1],
    /// Oldest and youngest generation.
    pub(super) oldest: u32,
    pub(super) youngest: u32,
    /// By whose age its pages are: that of its own limit, or that of the machine.
    domain: usize,
    pub(super) walks: Walks,
}

/// What reclaim did to lists.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Scan {
    /// Pages looked at.
    pub(crate) scanned: u64,
    /// Pages moved to the active list, and from there.
    pub(crate) activated: u64,
    pub(crate) deactivated: u64,
}

/// Pages that were taken out of a list together.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Isolated {
    pages: [u32; BATCH],
    count: usize,
}

impl Isolated {
    pub(crate) const fn push(&mut self, page: u32) {
        self.pages[self.count] = page;
        self.count += 1;
    }

    pub(crate) fn pages(&self) -> &[u32] {
        &self.pages[..self.count]
    }
}

/// The lists of all cgroups.
#[derive(Clone, Debug)]
pub(crate) struct Lruvecs {
    kind: Lru,
    pub(super) groups: Vec<Lruvec>,
    /// That of the machine, and one for each group with a limit.
    domains: Vec<Domain>,
    pub(super) resident: usize,
}

/// The domain of the whole machine.
const MACHINE: usize = 0;

impl Lruvecs {
    /// Lists for groups, which have limits or not. One that has is taken to be reclaimed from only for its sake.
    pub(crate) fn new(kind: Lru, limited: impl Iterator<Item = bool>) -> Self {
        let mut domains = vec![Domain::default()];
        let group = |limited: bool| {
            if limited {
                domains.push(Domain::default());
            }
            let domain = if limited { domains.len() - 1 } else { MACHINE };
            Lruvec { youngest: MIN_GENERATIONS - 1, domain, ..Lruvec::default() }
        };
        Self { kind, groups: limited.map(group).collect(), domains, resident: 0 }
    }

    /// How pages are kept in order.
    pub(crate) const fn kind(&self) -> Lru {
        self.kind
    }

    /// Pages of a cgroup.
    pub(crate) fn len(&self, cgroup: u16) -> usize {
        self.groups[usize::from(cgroup)].len()
    }

    /// Pages of all cgroups.
    pub(crate) const fn resident(&self) -> usize {
        self.resident
    }

    /// A page comes into RAM.
    #[inline]
    pub(crate) fn insert(&mut self, pages: &mut Pages, page: u32) {
        let group = &self.groups[usize::from(pages.cgroup(page))];
        let list = match self.kind {
            Lru::Exact | Lru::Classic => INACTIVE,
            Lru::Generational => generation(group.youngest),
        };
        self.insert_into(pages, page, list);
    }

    #[inline]
    pub(super) fn insert_into(&mut self, pages: &mut Pages, page: u32, list: usize) {
        self.groups[usize::from(pages.cgroup(page))].push(pages, page, list);
        self.resident += 1;
    }

    /// What a page of a group keeps of its place in the order when it is evicted.
    #[inline]
    pub(crate) fn shadow(&mut self, cgroup: u16) -> u32 {
        let group = &self.groups[usize::from(cgroup)];
        if self.kind == Lru::Generational {
            return group.oldest;
        }
        let own = self.domains[group.domain].evict();
        if group.domain != MACHINE {
            self.domains[MACHINE].evict();
        }
        own
    }

    /// A page comes back into RAM, its shadow in its place: to the active list if that was soon. In the youngest generation it is anyway;
    /// what counts there is whether the one that it left is still among those that there are (`lru_gen_test_recent`).
    #[inline]
    pub(crate) fn refault(&mut self, pages: &mut Pages, page: u32, swap_is_free: bool) -> Refault {
        let group = &self.groups[usize::from(pages.cgroup(page))];
        let (domain, shadow) = (group.domain, pages.place(page));
        let state = pages.state_mut(page);
        let refault = match self.kind {
            Lru::Exact => Refault::Late,
            Lru::Classic => Refault::of(state, self.domains[domain].is_recent(shadow, swap_is_free)),
            Lru::Generational => Refault::of(state, group.youngest.wrapping_sub(shadow) < GENERATIONS),
        };
        if self.kind == Lru::Classic && refault != Refault::Late {
            self.domains[domain].refault();
            if domain != MACHINE {
                self.domains[MACHINE].refault();
            }
            self.insert_into(pages, page, ACTIVE_LIST);
        } else {
            self.insert(pages, page);
        }
        refault
    }

    /// A page in RAM was accessed.
    #[inline(always)]
    pub(crate) fn touch(&mut self, pages: &mut Pages, page: u32) {
        match self.kind {
            Lru::Exact => {
                let group = &mut self.groups[usize::from(pages.cgroup(page))];
                group.forget(pages.place(page));
                group.push(pages, page, INACTIVE);
            }
            Lru::Classic | Lru::Generational => pages.set(page, REFERENCED),
        }
    }

    /// Whether an access is marked at its page alone, so that no list need know of it.
    pub(crate) fn marks_pages(&self) -> bool {
        self.kind != Lru::Exact
    }

    /// A page leaves RAM other than by [`Lruvecs::victim`].
    pub(crate) fn remove(&mut self, pages: &Pages, page: u32) {
        let place = pages.place(page);
        let group = &mut self.groups[usize::from(pages.cgroup(page))];
        group.forget(place);
        if self.kind == Lru::Classic && list_of(place) == ACTIVE_LIST {
            let domain = group.domain;
            self.move_active(domain, Scan { deactivated: 1, ..Scan::default() });
        }
        self.resident -= 1;
    }

    /// Takes the page of a cgroup that reclaim takes next out of its list; counts what is done.
    #[inline]
    pub(crate) fn victim(&mut self, pages: &mut Pages, cgroup: u16, scan: &mut Scan) -> Option<u32> {
        let group = &mut self.groups[usize::from(cgroup)];
        let victim = match self.kind {
            Lru::Exact => group.pop(pages, INACTIVE),
            Lru::Classic => group.inactive_victim(pages, scan),
            Lru::Generational => None,
        }?;
        scan.scanned += 1;
        self.resident -= 1;
        Some(victim)
    }

    /// Pages of this share of the inactive list of a group, and of the active one if that is to lose some. The
    /// active one loses some when pages came back soon or the other is low (`prepare_scan_control`), or anyway.
    pub(crate) fn targets(&self, cgroup: u16, share: impl Fn(usize) -> usize, anyway: bool) -> (usize, usize) {
        let group = &self.groups[usize::from(cgroup)];
        let deactivates = anyway || self.domains[group.domain].sees_refaults() || group.inactive_is_low();
        let active = if deactivates { share(group.lists[ACTIVE_LIST].len()) } else { 0 };
        (share(group.lists[INACTIVE].len()), active)
    }

    /// Scans `count` pages of the inactive list, a batch at most, and takes those out that were not used (`shrink_inactive_list`).
    pub(crate) fn isolate(&mut self, pages: &mut Pages, cgroup: u16, count: usize, scan: &mut Scan) -> Isolated {
        let group = &mut self.groups[usize::from(cgroup)];
        let mut isolated = Isolated::default();
        for _ in 0..count.min(BATCH) {
            let Some(page) = group.pop(pages, INACTIVE) else { break };
            scan.scanned += 1;
            if !group.check_references(pages, page, scan) {
                isolated.push(page);
            }
        }
        self.resident -= isolated.pages().len();
        isolated
    }

    /// Moves pages from the active list to the inactive one (`shrink_active_list`).
    pub(crate) fn shrink_active_list(&mut self, pages: &mut Pages, cgroup: u16, count: usize, scan: &mut Scan) {
        self.groups[usize::from(cgroup)].shrink_active_list(pages, count, scan);
    }

    pub(crate) fn inactive_is_low(&self, cgroup: u16) -> bool {
        self.groups[usize::from(cgroup)].inactive_is_low()
    }

    /// Some pages of a group have come to the active list and left it.
    pub(crate) fn note(&mut self, cgroup: u16, scan: Scan) {
        self.move_active(self.groups[usize::from(cgroup)].domain, scan);
    }

    /// A round of reclaim of a group ends.
    pub(crate) fn end_round(&mut self, cgroup: u16) {
        self.domains[self.groups[usize::from(cgroup)].domain].look();
    }

    /// Makes a page active that reclaim has taken out of its list and cannot evict.
    pub(crate) fn activate(&mut self, pages: &mut Pages, page: u32, scan: &mut Scan) {
        match self.kind {
            Lru::Classic => self.insert_into(pages, page, ACTIVE_LIST),
            Lru::Exact | Lru::Generational => self.insert(pages, page),
        }
        scan.activated += 1;
    }

    /// A batch of a cgroup has been reclaimed. While pages come back soon, as large a share of the active list is deactivated as was
    /// scanned of the inactive one (`shrink_list`, `get_scan_count`).
    pub(crate) fn end_batch(&mut self, pages: &mut Pages, cgroup: u16, scan: &mut Scan) {
        if self.kind != Lru::Classic {
            return;
        }
        let group = &mut self.groups[usize::from(cgroup)];
        let domain = group.domain;
        if self.domains[domain].sees_refaults() {
            let (inactive, active) = (group.lists[INACTIVE].len(), group.lists[ACTIVE_LIST].len());
            let looked_at = scan.scanned - scan.deactivated;
            let share = looked_at * active as u64 / (inactive as u64 + looked_at).max(1);
            group.shrink_active_list(pages, share as usize, scan);
        }
        self.domains[domain].look();
        self.move_active(domain, *scan);
    }

    /// Pages have come to active lists and left them.
    fn move_active(&mut self, domain: usize, scan: Scan) {
        let also = if domain == MACHINE { None } else { Some(MACHINE) };
        for domain in [Some(domain), also].into_iter().flatten() {
            self.domains[domain].activate(scan.activated as u32);
            self.domains[domain].active -= scan.deactivated as u32;
        }
    }
}

impl Lruvec {
    pub(super) fn len(&self) -> usize {
        self.lists.iter().map(Ring::len).sum()
    }

    #[inline]
    fn inactive_victim(&mut self, pages: &mut Pages, scan: &mut Scan) -> Option<u32> {
        loop {
            self.deactivate(pages, scan);
            let page = self.pop(pages, INACTIVE)?;
            if !self.check_references(pages, page, scan) {
                return Some(page);
            }
            scan.scanned += 1;
        }
    }

    /// Whether a page of the inactive list that is out of it was used: then it goes back, or to the active list if that was so before
    /// (`folio_check_references`).
    #[inline]
    fn check_references(&mut self, pages: &mut Pages, page: u32, scan: &mut Scan) -> bool {
        let state = pages.state_mut(page);
        if !state.has(REFERENCED) {
            return false;
        }
        // Whether it was seen before cannot be foreseen, so that nothing branches on it.
        let activate = state.has(SEEN);
        state.clear(REFERENCED);
        state.set(SEEN);
        scan.activated += u64::from(activate);
        self.push(pages, page, if activate { ACTIVE_LIST } else { INACTIVE });
        true
    }

    /// Moves a batch of pages from the active list while the inactive one is low (`shrink_active_list`).
    #[inline]
    fn deactivate(&mut self, pages: &mut Pages, scan: &mut Scan) {
        if self.inactive_is_low() {
            self.shrink_active_list(pages, BATCH, scan);
        }
    }

    #[inline]
    fn inactive_is_low(&self) -> bool {
        let (inactive, active) = (self.lists[INACTIVE].len(), self.lists[ACTIVE_LIST].len());
        inactive == 0 || (inactive < active && inactive * inactive_ratio(inactive + active) < active)
    }

    /// A page that was activated because it was seen twice goes on being seen: when it is used again, once is enough.
    fn shrink_active_list(&mut self, pages: &mut Pages, count: usize, scan: &mut Scan) {
        for _ in 0..count {
            let Some(page) = self.pop(pages, ACTIVE_LIST) else { return };
            let state = pages.state_mut(page);
            state.clear(REFERENCED);
            state.set(WORKINGSET);
            scan.scanned += 1;
            scan.deactivated += 1;
            self.push(pages, page, INACTIVE);
        }
    }

    #[inline(always)]
    pub(super) fn push(&mut self, pages: &mut Pages, page: u32, list: usize) {
        if self.lists[list].is_full() {
            self.renumber(pages, list);
        }
        let place = at(self.lists[list].push(page), list);
        pages.set_place(page, place);
    }

    #[cold]
    fn renumber(&mut self, pages: &mut Pages, list: usize) {
        self.lists[list].renumber(|page, place| pages.set_place(page, at(place, list)));
    }

    #[inline(always)]
    pub(super) fn pop(&mut self, pages: &Pages, list: usize) -> Option<u32> {
        let ring = &mut self.lists[list];
        pages.prefetch(ring.get(ring.first() + PREFETCH));
        ring.pop()
    }

    pub(super) fn forget(&mut self, place: u32) {
        self.lists[list_of(place)].remove(place / LISTS);
    }
}

/// The list of a generation.
pub(super) const fn generation(seq: u32) -> usize {
    (seq % GENERATIONS) as usize
}

/// The list that a place is in.
pub(super) const fn list_of(place: u32) -> usize {
    (place % LISTS) as usize
}

/// A place of a list.
const fn at(place: u32, list: usize) -> u32 {
    place * LISTS + list as u32
}

/// Square roots of ten times as many gigabytes.
const SMALL_RATIOS: [usize; 9] = [0, 3, 4, 5, 6, 7, 7, 8, 8];

/// How many times longer than the inactive list the active one may be.
pub(crate) fn inactive_ratio(pages: usize) -> usize {
    let gigabytes = pages >> 18;
    // The square root takes longer than all else that is done to a page, and most machines are small.
    match gigabytes {
        0 => 1,
        1..=8 => SMALL_RATIOS[gigabytes],
        _ => (10 * gigabytes).isqrt(),
    }
}
