//! zswap's entries: what is in its pool, in order of age.

use super::limit::Limit;
use super::page::NONE;
use super::queue::{PLACES, Queue};
use crate::alloc::Pool;
use crate::policies::Fill;
use crate::prefetch::prefetch;

/// So many insertions in advance the memory of an entry is asked for.
const FREE_AHEAD: usize = 3;
/// So many steps of write-back in advance the memory of a page is asked for; that of its entry is by then there.
const OLDEST_AHEAD: u32 = 12;

#[derive(Clone, Copy, Debug)]
pub(super) struct Entry {
    pub(super) page: u32,
    /// In the pool, or [`NONE`] for a same-filled page.
    handle: u32,
    place: u32,
    pub(super) size: u16,
    pub(super) group: u16,
    /// Not met by write-back since it was stored (`referenced`, since 6.12).
    pub(super) chance: bool,
}

/// The state of zswap.
#[derive(Clone, Debug)]
pub(super) struct Zswap {
    pool: Pool,
    /// Pages: the limit and the threshold, and what follows of them: full from so many on, room again below so many.
    max: u64,
    accept: u64,
    full_from: u64,
    accepts_below: u64,
    entries: Vec<Entry>,
    free: Vec<u32>,
    /// Entries by age, of all or of each cgroup.
    lists: Vec<Queue>,
    /// Place in the first of them up to which somebody has looked at what leaves next.
    looked: u32,
    pub(super) reached_full: bool,
    pub(super) stored_pages: u64,
    pub(super) same_filled_pages: u64,
    pub(super) stored_incompressible_pages: u64,
}

impl Zswap {
    pub(super) fn new(limit: Limit, pool: Pool, groups: usize) -> Self {
        Self {
            pool,
            max: limit.max_pages(),
            accept: limit.accept_pages(),
            full_from: limit.full_from(),
            accepts_below: limit.accepts_below(),
            entries: Vec::new(),
            free: Vec::new(),
            lists: vec![Queue::default(); groups],
            looked: 0,
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

    pub(super) fn fill(&self) -> Fill {
        Fill { pages: self.pages(), max: self.max, accept: self.accept }
    }

    pub(super) fn is_full(&self) -> bool {
        self.pages() >= self.full_from
    }

    pub(super) fn can_accept(&self) -> bool {
        self.pages() < self.accepts_below
    }

    /// Stores an object of so many bytes, 0 for a same-filled page; `None` if the allocator has no place of that size.
    pub(super) fn insert(&mut self, page: u32, group: u16, size: u16) -> Option<u32> {
        let handle = if size == 0 { NONE } else { self.pool.alloc(size)? };
        let entry = Entry { page, handle, place: NONE, size, group: group.min(self.lists.len() as u16 - 1), chance: true };
        let index = match self.free.pop() {
            Some(index) => {
                self.entries[index as usize] = entry;
                if let Some(&next) = self.free.iter().nth_back(FREE_AHEAD) {
                    prefetch(&self.entries, next as usize);
                }
                index
            }
            None => {
                self.entries.push(entry);
                (self.entries.len() - 1) as u32
            }
        };
        self.stored_pages += 1;
        match size {
            0 => self.same_filled_pages += 1,
            _ => self.list(index),
        }
        self.stored_incompressible_pages += u64::from(size >= crate::alloc::PAGE_SIZE);
        Some(index)
    }

    /// Frees an entry.
    pub(super) fn remove(&mut self, index: u32) {
        let entry = self.entries[index as usize];
        if entry.handle == NONE {
            self.same_filled_pages -= 1;
        } else {
            self.pool.free(entry.handle);
        }
        if entry.place != NONE {
            self.lists[usize::from(entry.group)].forget();
        }
        self.entries[index as usize].place = NONE;
        self.entries[index as usize].page = NONE;
        self.stored_pages -= 1;
        self.stored_incompressible_pages -= u64::from(entry.size >= crate::alloc::PAGE_SIZE);
        self.free.push(index);
    }

    /// Asks for the memory of an entry that is loaded soon, and then of its object.
    #[inline]
    pub(super) fn entry_soon(&self, index: u32) {
        prefetch(&self.entries, index as usize);
    }

    #[inline]
    pub(super) fn object_soon(&self, index: u32) {
        self.pool.soon(self.entries[index as usize].handle);
    }

    /// Page of an entry that write-back meets soon; the memory of its object is asked for.
    pub(super) fn page_soon(&self, group: u16) -> Option<u32> {
        let index = self.lists[usize::from(group)].peek(OLDEST_AHEAD)?;
        let entry = self.entries[index as usize];
        self.pool.soon(entry.handle);
        Some(entry.page)
    }

    /// Page and size of the next entry that leaves before a full pool is at its threshold and that nobody has looked at. Of the first list:
    /// who asks has one for all groups.
    pub(super) fn next_to_leave(&mut self) -> Option<(u32, u16)> {
        let Fill { max, accept, .. } = self.fill();
        let queue = &self.lists[0];
        let reach = (queue.len() as u64 * max.saturating_sub(accept) / max.max(1)) as u32;
        loop {
            // What is older than the oldest has left.
            let after = self.looked.wrapping_sub(queue.oldest()) & PLACES;
            let after = if after > PLACES / 2 { 0 } else { after };
            let index = queue.peek(after).filter(|_| after < reach)?;
            let place = queue.oldest().wrapping_add(after) & PLACES;
            self.looked = place.wrapping_add(1) & PLACES;
            let entry = self.entries[index as usize];
            if entry.place == place && entry.page != NONE {
                return Some((entry.page, entry.size));
            }
        }
    }

    pub(super) fn entry(&self, index: u32) -> Entry {
        self.entries[index as usize]
    }

    /// Takes the oldest entry of a group off its list; it must be put back with [`Zswap::rotate`] or removed.
    pub(super) fn pop_oldest(&mut self, group: u16) -> Option<u32> {
        let entries = &mut self.entries;
        let is_at = |index, place| {
            let entry: Entry = entries[index as usize];
            entry.place == place && entry.group == group
        };
        let popped = self.lists[usize::from(group)].pop(is_at, |index| prefetch(entries, index as usize))?;
        entries[popped as usize].place = NONE;
        Some(popped)
    }

    /// Puts an entry to the young end, its second chance used.
    pub(super) fn rotate(&mut self, index: u32) {
        self.entries[index as usize].chance = false;
        if self.entries[index as usize].place != NONE {
            self.lists[usize::from(self.entries[index as usize].group)].forget();
        }
        self.list(index);
    }

    fn list(&mut self, index: u32) {
        let group = self.entries[index as usize].group;
        let queue = &mut self.lists[usize::from(group)];
        self.entries[index as usize].place = queue.push(index);
        if queue.is_untidy() {
            let is_at = |entries: &Vec<Entry>, index: u32, place| {
                let entry = entries[index as usize];
                entry.place == place && entry.group == group
            };
            self.looked = queue.oldest();
            queue.tidy(&mut self.entries, is_at, |entries, index, place| entries[index as usize].place = place);
        }
    }

    /// Entries on the list of a group.
    pub(super) fn listed(&self, group: u16) -> u64 {
        self.lists.get(usize::from(group)).map_or(0, Queue::len) as u64
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
        let stored = self.entries.iter_mut().filter(|entry| entry.page != NONE && entry.handle != NONE);
        self.pool.compact(stored.map(|entry| &mut entry.handle))
    }
}
