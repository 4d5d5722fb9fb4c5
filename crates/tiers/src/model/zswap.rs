//! zswap's entries: what is in its pool, in order of age.

use super::ages::{Ages, Entry};
use super::limit::Limit;
use super::page::{NONE, Pages};
use crate::alloc::Pool;
use crate::policies::{Marks, Policy};

/// The state of zswap.
#[derive(Clone, Debug)]
pub(super) struct Zswap {
    pool: Pool,
    /// Pages: the limit and the threshold, and what follows of them: full from so many on, room again below so many.
    marks: Marks,
    full_from: u64,
    accepts_below: u64,
    /// What the policy does with a store, by the pages of the pool.
    pub(super) through_from: u64,
    pub(super) early_from: u64,
    pub(super) cleans_from: u64,
    /// Entries by age, of all or of each cgroup. A page knows the place of its entry there.
    lists: Vec<Ages>,
    /// Entries that were cleaned ahead.
    clean: u64,
    pub(super) reached_full: bool,
    pub(super) stored_pages: u64,
    pub(super) same_filled_pages: u64,
    pub(super) stored_incompressible_pages: u64,
}

impl Zswap {
    pub(super) fn new(limit: Limit, policy: &Policy, pool: Pool, groups: usize) -> Self {
        let marks = Marks { max: limit.max_pages(), accept: limit.accept_pages() };
        Self {
            pool,
            marks,
            full_from: limit.full_from(),
            accepts_below: limit.accepts_below(),
            through_from: (policy.through)(marks),
            early_from: (policy.early)(marks),
            cleans_from: (policy.cleans)(marks),
            lists: vec![Ages::default(); groups],
            clean: 0,
            reached_full: false,
            stored_pages: 0,
            same_filled_pages: 0,
            stored_incompressible_pages: 0,
        }
    }

    /// Pages of RAM in the pool.
    pub(super) fn pages(&self) -> u64 {
        self.pool.pages()
    }

    pub(super) fn is_full(&self) -> bool {
        self.pages() >= self.full_from
    }

    pub(super) fn can_accept(&self) -> bool {
        self.pages() < self.accepts_below
    }

    /// Stores a page of so many bytes, 0 for a same-filled one, which has no entry but a count. `false` if the allocator has no place of
    /// that size.
    #[inline]
    pub(super) fn insert(&mut self, pages: &mut Pages, page: u32, size: u16) -> bool {
        let mut place = NONE;
        if size == 0 {
            self.same_filled_pages += 1;
        } else {
            let Some(handle) = self.pool.alloc(size) else { return false };
            let entry = Entry { page, handle, size, chance: true, clean: false, shadow: 0 };
            place = self.list_of(pages.cgroup(page)).push(entry, |page, place| pages.set_entry(page, place));
        }
        pages.set_entry(page, place);
        self.stored_pages += 1;
        self.stored_incompressible_pages += u64::from(size >= crate::alloc::PAGE_SIZE);
        true
    }

    /// The entry of a page goes. Tells the size of its object.
    #[inline]
    pub(super) fn remove(&mut self, pages: &mut Pages, page: u32) -> u16 {
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
    pub(super) fn rotate(&mut self, pages: &mut Pages, page: u32) -> u16 {
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
    pub(super) fn set_shadow(&mut self, pages: &Pages, page: u32, shadow: u32) {
        self.list_of(pages.cgroup(page)).get_mut(pages.place(page)).shadow = shadow;
    }

    fn list_of(&mut self, cgroup: u16) -> &mut Ages {
        let lists = self.lists.len();
        &mut self.lists[group(cgroup, lists)]
    }

    /// Asks for the memory of the entry of a page that is loaded soon, and then of its object.
    #[inline]
    pub(super) fn entry_soon(&self, pages: &Pages, page: u32) {
        self.lists[group(pages.cgroup(page), self.lists.len())].bring_near(pages.entry(page));
    }

    #[inline]
    pub(super) fn object_soon(&self, pages: &Pages, page: u32) {
        let place = pages.entry(page);
        if place != NONE {
            self.pool.soon(self.lists[group(pages.cgroup(page), self.lists.len())].get(place).handle);
        }
    }

    /// Place and entry of a group that write-back meets next.
    #[inline]
    pub(super) fn oldest(&mut self, group: u16) -> Option<(u32, Entry)> {
        self.lists[usize::from(group)].oldest()
    }

    /// Asks for the memory of what is written back soon after the entry of a place.
    #[inline]
    pub(super) fn bring_near(&self, pages: &Pages, group: u16, place: u32) {
        let soon = self.lists[usize::from(group)].soon(place);
        self.pool.soon(soon.handle);
        pages.soon(soon.page);
    }

    /// What [`Zswap::oldest`] told goes to the young end, its second chance used.
    #[inline]
    pub(super) fn pass_over(&mut self, pages: &mut Pages, group: u16, place: u32) {
        self.lists[usize::from(group)].pass_over(place, |page, place| pages.set_entry(page, place));
    }

    /// The entry to clean next, so that as many are clean as leave before a full pool is at its threshold; `None` when they are. Of the
    /// first list: who asks has one for all groups.
    pub(super) fn next_to_clean(&mut self) -> Option<Entry> {
        let Marks { max, accept } = self.marks;
        let list = &mut self.lists[0];
        let leave = list.len() as u64 * max.saturating_sub(accept) / max.max(1);
        if self.clean < leave { list.look_at_next() } else { None }
    }

    /// A page has been cleaned ahead.
    pub(super) fn set_clean(&mut self, pages: &Pages, page: u32) {
        self.list_of(pages.cgroup(page)).get_mut(pages.entry(page)).clean = true;
        self.clean += 1;
    }

    /// Entries on the list of a group.
    pub(super) fn listed(&self, group: u16) -> u64 {
        self.lists.get(usize::from(group)).map_or(0, Ages::len) as u64
    }

    /// Lists: one, or one for each cgroup.
    pub(super) fn groups(&self) -> u16 {
        self.lists.len() as u16
    }

    /// Pages that compaction would free.
    pub(super) fn freeable(&self) -> u64 {
        self.pool.freeable()
    }

    /// Compacts the pool and tells how many pages became free.
    pub(super) fn compact(&mut self) -> u64 {
        self.pool.compact(self.lists.iter_mut().flat_map(Ages::handles))
    }
}

/// List of a cgroup: one for all, or one for each.
#[inline]
fn group(cgroup: u16, lists: usize) -> usize {
    usize::from(cgroup).min(lists - 1)
}
