//! zswap's entries: what is in its pool, in order of age.

use super::limit::ZswapLimit;
use super::list_lru::{ListLru, PoolEntry};
use crate::alloc::Pool;
use crate::model::page::{NONE, Pages};
use crate::policies::{Policy, PoolMarks};

/// Entries with their objects.
#[derive(Clone, Debug)]
pub(crate) struct Entries {
    pool: Pool,
    /// The limit and the threshold, in pages; the pool is full from `full_from` on, and has room again below `accepts_below`.
    marks: PoolMarks,
    full_from: u64,
    accepts_below: u64,
    /// What the policy does with a store, by the pages of the pool.
    pub(crate) through_from: u64,
    pub(crate) early_from: u64,
    pub(crate) cleans_from: u64,
    /// Entries by age, of all or of each cgroup. A page knows the place of its entry there.
    lists: Vec<ListLru>,
    /// Entries that were cleaned ahead.
    clean: u64,
    pub(crate) reached_full: bool,
    pub(crate) stored_pages: u64,
    pub(crate) same_filled_pages: u64,
    pub(crate) stored_incompressible_pages: u64,
}

impl Entries {
    pub(crate) fn new(limit: ZswapLimit, policy: &Policy, pool: Pool, groups: usize) -> Self {
        let mut entries = Self {
            pool,
            marks: PoolMarks { max: 0, accept: 0 },
            full_from: 0,
            accepts_below: 0,
            through_from: 0,
            early_from: 0,
            cleans_from: 0,
            lists: vec![ListLru::default(); groups],
            clean: 0,
            reached_full: false,
            stored_pages: 0,
            same_filled_pages: 0,
            stored_incompressible_pages: 0,
        };
        entries.set_limit(limit, policy);
        entries
    }

    /// Goes by this limit from now on. Whether the pool was full stays as it is until the next store asks.
    pub(crate) fn set_limit(&mut self, limit: ZswapLimit, policy: &Policy) {
        let marks = PoolMarks { max: limit.max_pages(), accept: limit.accept_pages() };
        (self.marks, self.full_from, self.accepts_below) = (marks, limit.full_from(), limit.accepts_below());
        (self.through_from, self.early_from, self.cleans_from) =
            ((policy.through)(marks), (policy.early)(marks), (policy.cleans)(marks));
    }

    /// Pages of RAM in the pool.
    pub(crate) fn pages(&self) -> u64 {
        self.pool.pages()
    }

    pub(crate) fn is_full(&self) -> bool {
        self.pages() >= self.full_from
    }

    pub(crate) fn can_accept(&self) -> bool {
        self.pages() < self.accepts_below
    }

    /// Stores a page of `size` bytes, 0 for a same-filled one, which has no entry but a count. `false` if the allocator has no place of
    /// that size.
    #[inline]
    pub(crate) fn insert(&mut self, pages: &mut Pages, page: u32, size: u16) -> bool {
        let mut place = NONE;
        if size == 0 {
            self.same_filled_pages += 1;
        } else {
            let Some(handle) = self.pool.alloc(size) else { return false };
            let entry = PoolEntry { page, handle, size, chance: true, clean: false, shadow: 0 };
            place = self.list_of(pages.cgroup(page)).push(entry, |page, place| pages.set_entry(page, place));
        }
        pages.set_entry(page, place);
        self.stored_pages += 1;
        self.stored_incompressible_pages += u64::from(size >= crate::alloc::PAGE_SIZE);
        true
    }

    /// The entry of a page goes. Tells the size of its object.
    #[inline]
    pub(crate) fn remove(&mut self, pages: &mut Pages, page: u32) -> u16 {
        self.stored_pages -= 1;
        let place = pages.entry(page);
        if place == NONE {
            self.same_filled_pages -= 1;
            return 0;
        }
        let entry = self.list_of(pages.cgroup(page)).remove(place);
        pages.set_entry(page, if pages.share_places() { entry.shadow } else { NONE });
        self.pool.free(entry.handle);
        self.clean -= u64::from(entry.clean);
        self.stored_incompressible_pages -= u64::from(entry.size >= crate::alloc::PAGE_SIZE);
        entry.size
    }

    /// The entry of a page that was loaded and stays goes to the young end. Tells the size of its object.
    pub(crate) fn rotate(&mut self, pages: &mut Pages, page: u32) -> u16 {
        let place = pages.entry(page);
        if place == NONE {
            return 0;
        }
        let list = self.list_of(pages.cgroup(page));
        let size = list.get(place).size;
        list.store_anew(place, |page, place| pages.set_entry(page, place));
        size
    }

    /// The shadow of a page whose place is that of its entry.
    #[inline]
    pub(crate) fn set_shadow(&mut self, pages: &Pages, page: u32, shadow: u32) {
        self.list_of(pages.cgroup(page)).get_mut(pages.place(page)).shadow = shadow;
    }

    fn list_of(&mut self, cgroup: u16) -> &mut ListLru {
        let lists = self.lists.len();
        &mut self.lists[group(cgroup, lists)]
    }

    /// Prefetches the entry of a page that is loaded soon.
    #[inline]
    pub(crate) fn prefetch_entry(&self, pages: &Pages, page: u32) {
        self.lists[group(pages.cgroup(page), self.lists.len())].prefetch(pages.entry(page));
    }

    /// And then its object.
    #[inline]
    pub(crate) fn prefetch_object(&self, pages: &Pages, page: u32) {
        let place = pages.entry(page);
        if place != NONE {
            self.pool.prefetch(self.lists[group(pages.cgroup(page), self.lists.len())].get(place).handle);
        }
    }

    /// Place and entry of a group that write-back meets next.
    #[inline]
    pub(crate) fn oldest(&mut self, group: u16) -> Option<(u32, PoolEntry)> {
        self.lists[usize::from(group)].oldest()
    }

    /// Prefetches what is written back soon after the entry of a place.
    #[inline]
    pub(crate) fn prefetch_next(&self, pages: &Pages, group: u16, place: u32) {
        let next = self.lists[usize::from(group)].ahead(place);
        self.pool.prefetch(next.handle);
        pages.prefetch(next.page);
    }

    /// What [`Entries::oldest`] told goes to the young end, its second chance used.
    #[inline]
    pub(crate) fn pass_over(&mut self, pages: &mut Pages, group: u16, place: u32) {
        self.lists[usize::from(group)].pass_over(place, |page, place| pages.set_entry(page, place));
    }

    /// The entry to clean next, so that as many are clean as leave before a full pool is at its threshold; `None` when they are. Of the
    /// first list: who asks has one for all groups.
    pub(crate) fn next_to_clean(&mut self) -> Option<PoolEntry> {
        let PoolMarks { max, accept } = self.marks;
        let list = &mut self.lists[0];
        let leave = list.len() as u64 * max.saturating_sub(accept) / max.max(1);
        if self.clean < leave { list.next_uncleaned() } else { None }
    }

    /// A page has been cleaned ahead.
    pub(crate) fn set_clean(&mut self, pages: &Pages, page: u32) {
        self.list_of(pages.cgroup(page)).get_mut(pages.entry(page)).clean = true;
        self.clean += 1;
    }

    /// Entries on the list of a group.
    pub(crate) fn listed(&self, group: u16) -> u64 {
        self.lists.get(usize::from(group)).map_or(0, ListLru::len) as u64
    }

    /// Lists: one, or one for each cgroup.
    pub(crate) fn groups(&self) -> u16 {
        self.lists.len() as u16
    }

    /// Pages that compaction would free.
    pub(crate) fn freeable(&self) -> u64 {
        self.pool.freeable()
    }

    /// Compacts the pool and tells how many pages became free.
    pub(crate) fn compact(&mut self) -> u64 {
        self.pool.compact(self.lists.iter_mut().flat_map(ListLru::handles))
    }
}

/// List of a cgroup: one for all, or one for each.
#[inline]
fn group(cgroup: u16, lists: usize) -> usize {
    usize::from(cgroup).min(lists - 1)
}
