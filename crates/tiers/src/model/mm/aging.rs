//! Ageing of generations: how pages that were used are found through page tables (mm/vmscan.c: `try_to_inc_max_seq`, `walk_mm`,
//! `lru_gen_look_around`).
//!
//! A group that gets another generation has page tables walked: all of them the first time, then those of which many entries were found
//! used of late, which Bloom filters remember (here sets, which never err). Where reclaim meets a used page it looks at the entries
//! around it too. What a walk finds used goes to the youngest generation of that time, which is the second youngest from then on. The
//! time that walks take is not counted: entries lie side by side.
//!
//! A group is taken for one process whose pages are numbered as they lie in its memory.

use std::collections::BTreeSet;

use super::lruvec::{Lruvecs, MIN_LRU_BATCH};
use crate::model::page::{Pages, REFERENCED};

/// Pages that a table has entries for (`PTRS_PER_PTE`).
const TABLE: u32 = 512;
/// A table is walked again if at least one entry in each line of cache was used, on average (`suitable_to_scan`, lines of 64 bytes).
const WORTH_A_WALK: usize = 8;

/// What the walks of a group have come to.
#[derive(Clone, Debug, Default)]
pub(super) struct Walks {
    /// Whether all tables have been walked once (`force_scan`).
    walked: bool,
    /// Tables that the next walk goes to, and those for the walk after it, in turn.
    filters: [BTreeSet<u32>; 2],
}

impl Walks {
    /// Remembers a table for the walk at a generation, if enough of its entries were used (`update_bloom_filter`).
    fn remember(&mut self, seq: u32, table: u32, used: usize, entries: usize) {
        if used * WORTH_A_WALK >= entries {
            self.filters[seq as usize % 2].insert(table);
        }
    }
}

/// Pages that were taken out of lists together, and those of them that were found used since.
#[derive(Clone, Copy, Debug)]
pub(super) struct Candidates {
    pages: [u32; MIN_LRU_BATCH],
    count: usize,
    /// A bit for each.
    used: u64,
}

impl Candidates {
    pub(super) const fn new() -> Self {
        Self { pages: [0; MIN_LRU_BATCH], count: 0, used: 0 }
    }

    pub(super) const fn is_full(&self) -> bool {
        self.count == MIN_LRU_BATCH
    }

    pub(super) const fn push(&mut self, page: u32) {
        self.pages[self.count] = page;
        self.count += 1;
    }

    pub(super) const fn len(&self) -> usize {
        self.count
    }

    pub(super) const fn get(&self, index: usize) -> u32 {
        self.pages[index]
    }

    /// Whether another page's neighbourhood showed that this one was used (`folio_set_referenced`).
    pub(super) const fn was_used(&self, index: usize) -> bool {
        self.used >> index & 1 != 0
    }

    /// Notes that a page was used. `false` if it is none of these.
    fn note(&mut self, page: u32) -> bool {
        let index = self.pages[..self.count].iter().position(|&other| other == page);
        self.used |= index.map_or(0, |index| 1 << index);
        index.is_some()
    }
}

impl Lruvecs {
    /// A group gets another generation.
    pub(super) fn age(&mut self, pages: &mut Pages, cgroup: u16) {
        let seq = self.youngest(cgroup);
        let walks = self.walks(cgroup);
        let due = std::mem::take(&mut walks.filters[seq as usize % 2]);
        walks.filters[(seq + 1) as usize % 2].clear();
        let tables = if std::mem::replace(&mut walks.walked, true) { due } else { self.tables(cgroup) };
        for table in tables {
            let used = self.walk_table(pages, cgroup, table);
            self.walks(cgroup).remember(seq + 1, table, used, TABLE as usize);
        }
        self.inc_max_seq(cgroup);
    }

    /// Tables with pages of a group.
    fn tables(&self, cgroup: u16) -> BTreeSet<u32> {
        self.pages_of(cgroup).map(|page| page / TABLE).collect()
    }

    /// Tells how many pages of a table were used, and moves them to the youngest generation (`walk_pte_range`).
    fn walk_table(&mut self, pages: &mut Pages, cgroup: u16, table: u32) -> usize {
        let entries = table * TABLE..(table * TABLE + TABLE).min(pages.len() as u32);
        let mut used = 0;
        for page in entries {
            if test_and_clear_young(pages, cgroup, page) {
                self.promote(pages, page);
                used += 1;
            }
        }
        used
    }

    /// A used page was met, and is no longer marked: those around it that were used go to the youngest generation, or are noted where they
    /// are on their way out.
    pub(super) fn look_around(&mut self, pages: &mut Pages, page: u32, isolated: &mut Candidates) {
        let (cgroup, table, half) = (pages.cgroup(page), page / TABLE, MIN_LRU_BATCH as u32 / 2);
        let (first, end) = (table * TABLE, (table * TABLE + TABLE).min(pages.len() as u32));
        let from = page.saturating_sub(half).min(end.saturating_sub(2 * half)).max(first);
        let until = (from + 2 * half).min(end);
        let mut used = 1;
        for other in from..until {
            if test_and_clear_young(pages, cgroup, other) {
                used += 1;
                if !isolated.note(other) {
                    self.promote(pages, other);
                }
            }
        }
        let seq = self.youngest(cgroup);
        self.walks(cgroup).remember(seq, table, used, (until - from) as usize);
    }
}

/// Whether a page of a group is mapped and was used since this was last asked (`ptep_clear_young_notify`).
fn test_and_clear_young(pages: &mut Pages, cgroup: u16, page: u32) -> bool {
    let state = pages.state(page);
    let young = state.is_mapped() && state.has(REFERENCED) && pages.cgroup(page) == cgroup;
    if young {
        pages.clear(page, REFERENCED);
    }
    young
}
