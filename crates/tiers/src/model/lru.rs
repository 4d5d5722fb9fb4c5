//! The lists of RAM's pages, per cgroup: which page reclaim takes next.

use super::page::{ACTIVE, Page, REFERENCED, SEEN};
use super::ring::Ring;
use crate::prefetch::prefetch;

/// How RAM keeps its pages in order.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Lru {
    /// By time of the last access, as no kernel can: for comparison.
    Exact,
    /// Active and inactive list with reference bits (mm/vmscan.c, without CONFIG_LRU_GEN or with it off).
    #[default]
    Classic,
    /// Generations (MGLRU, since 6.1): referenced pages move to the youngest when reclaim meets them.
    Generational,
}

/// Lists of a cgroup: one, two or four of them in use. A page's `place` is list + 4 × place there.
const LISTS: u32 = 4;
const INACTIVE: usize = 0;
const ACTIVE_LIST: usize = 1;
/// Generations that reclaim leaves (`MIN_NR_GENS`).
const MIN_GENERATIONS: u32 = 2;
/// Pages moved from the active list in one go (`SWAP_CLUSTER_MAX`).
const BATCH: usize = 32;
/// So many pages ahead of reclaim the memory of one is asked for.
const SOON: u32 = 24;

#[derive(Clone, Debug, Default)]
struct Lists {
    lists: [Ring<u32>; LISTS as usize],
    /// Oldest and youngest generation.
    oldest: u32,
    youngest: u32,
}

/// The lists of all cgroups.
#[derive(Clone, Debug)]
pub(super) struct RamLists {
    kind: Lru,
    groups: Vec<Lists>,
    resident: usize,
}

impl RamLists {
    pub(super) fn new(kind: Lru, cgroups: usize) -> Self {
        let lists = Lists { youngest: MIN_GENERATIONS - 1, ..Lists::default() };
        Self { kind, groups: vec![lists; cgroups], resident: 0 }
    }

    /// Pages of a cgroup.
    pub(super) fn len(&self, cgroup: u16) -> usize {
        self.groups[usize::from(cgroup)].len()
    }

    /// Pages of all cgroups.
    pub(super) const fn resident(&self) -> usize {
        self.resident
    }

    /// A page comes into RAM: to the active list if it belongs to the working set.
    #[inline]
    pub(super) fn insert(&mut self, pages: &mut [Page], page: u32) {
        let entry = &mut pages[page as usize];
        entry.clear(SEEN);
        let active = entry.has(ACTIVE);
        let cgroup = entry.cgroup;
        let group = &mut self.groups[usize::from(cgroup)];
        let list = match self.kind {
            Lru::Exact => 0,
            Lru::Classic if active => ACTIVE_LIST,
            Lru::Classic => INACTIVE,
            Lru::Generational => (group.youngest % LISTS) as usize,
        };
        group.push(pages, page, list);
        self.resident += 1;
    }

    /// A page in RAM was accessed.
    #[inline(always)]
    pub(super) fn touch(&mut self, pages: &mut [Page], page: u32) {
        match self.kind {
            Lru::Exact => {
                let entry = pages[page as usize];
                let group = &mut self.groups[usize::from(entry.cgroup)];
                group.forget(entry.place);
                group.push(pages, page, 0);
            }
            Lru::Classic | Lru::Generational => pages[page as usize].set(REFERENCED),
        }
    }

    /// Whether an access is marked at its page alone, so that no list need know of it.
    pub(super) fn marks_pages(&self) -> bool {
        self.kind != Lru::Exact
    }

    /// A page leaves RAM other than by [`RamLists::victim`].
    pub(super) fn remove(&mut self, pages: &[Page], page: u32) {
        let entry = pages[page as usize];
        self.groups[usize::from(entry.cgroup)].forget(entry.place);
        self.resident -= 1;
    }

    /// Takes the page of a cgroup that reclaim takes next out of its list; counts the pages looked at.
    #[inline]
    pub(super) fn victim(&mut self, pages: &mut [Page], cgroup: u16, scanned: &mut u64) -> Option<u32> {
        let group = &mut self.groups[usize::from(cgroup)];
        let victim = match self.kind {
            Lru::Exact => group.pop(pages, 0),
            Lru::Classic => group.inactive_victim(pages, scanned),
            Lru::Generational => group.oldest_victim(pages, scanned),
        }?;
        *scanned += 1;
        self.resident -= 1;
        Some(victim)
    }
}

impl Lists {
    fn len(&self) -> usize {
        self.lists.iter().map(Ring::len).sum()
    }

    #[inline]
    fn inactive_victim(&mut self, pages: &mut [Page], scanned: &mut u64) -> Option<u32> {
        loop {
            self.deactivate(pages, scanned);
            let page = self.pop(pages, INACTIVE)?;
            let entry = &mut pages[page as usize];
            if !entry.has(REFERENCED) {
                return Some(page);
            }
            *scanned += 1;
            // Which of both it is cannot be foreseen, so that nothing branches on it.
            let activate = entry.has(SEEN);
            entry.flags = (entry.flags & !REFERENCED) | if activate { ACTIVE } else { SEEN };
            self.push(pages, page, if activate { ACTIVE_LIST } else { INACTIVE });
        }
    }

    /// Moves a batch of pages from the active list while the inactive one is low (`inactive_is_low`, `shrink_active_list`).
    #[inline]
    fn deactivate(&mut self, pages: &mut [Page], scanned: &mut u64) {
        let (inactive, active) = (self.lists[INACTIVE].len(), self.lists[ACTIVE_LIST].len());
        let enough = inactive > 0 && (inactive >= active || inactive * inactive_ratio(inactive + active) >= active);
        if !enough {
            self.deactivate_some(pages, active, scanned);
        }
    }

    fn deactivate_some(&mut self, pages: &mut [Page], active: usize, scanned: &mut u64) {
        for _ in 0..BATCH.min(active) {
            let Some(page) = self.pop(pages, ACTIVE_LIST) else { return };
            pages[page as usize].clear(REFERENCED | SEEN);
            *scanned += 1;
            self.push(pages, page, INACTIVE);
        }
    }

    fn oldest_victim(&mut self, pages: &mut [Page], scanned: &mut u64) -> Option<u32> {
        if self.len() == 0 {
            return None;
        }
        loop {
            let Some(page) = self.pop_oldest(pages) else { continue };
            let entry = &mut pages[page as usize];
            if !entry.has(REFERENCED) {
                return Some(page);
            }
            entry.clear(REFERENCED);
            entry.set(ACTIVE);
            *scanned += 1;
            self.push(pages, page, (self.youngest % LISTS) as usize);
        }
    }

    /// From the oldest generation; `None` if that was empty and the next one became the oldest.
    fn pop_oldest(&mut self, pages: &[Page]) -> Option<u32> {
        let popped = self.pop(pages, (self.oldest % LISTS) as usize);
        if popped.is_none() {
            self.oldest += 1;
            self.youngest = self.youngest.max(self.oldest + MIN_GENERATIONS - 1);
        }
        popped
    }

    #[inline(always)]
    fn push(&mut self, pages: &mut [Page], page: u32, list: usize) {
        if self.lists[list].is_full() {
            self.renumber(pages, list);
        }
        pages[page as usize].place = at(self.lists[list].push(page), list);
    }

    #[cold]
    fn renumber(&mut self, pages: &mut [Page], list: usize) {
        self.lists[list].renumber(|page, place| pages[page as usize].place = at(place, list));
    }

    #[inline(always)]
    fn pop(&mut self, pages: &[Page], list: usize) -> Option<u32> {
        let ring = &mut self.lists[list];
        prefetch(pages, ring.get(ring.first() + SOON) as usize);
        ring.pop()
    }

    fn forget(&mut self, place: u32) {
        self.lists[(place % LISTS) as usize].remove(place / LISTS);
    }
}

/// A place of a list.
const fn at(place: u32, list: usize) -> u32 {
    place * LISTS + list as u32
}

/// Square roots of ten times as many gigabytes.
const SMALL_RATIOS: [usize; 9] = [0, 3, 4, 5, 6, 7, 7, 8, 8];

/// How many times longer than the inactive list the active one may be.
fn inactive_ratio(pages: usize) -> usize {
    let gigabytes = pages >> 18;
    // The square root takes longer than all else that is done to a page, and most machines are small.
    match gigabytes {
        0 => 1,
        1..=8 => SMALL_RATIOS[gigabytes],
        _ => (10 * gigabytes).isqrt(),
    }
}
