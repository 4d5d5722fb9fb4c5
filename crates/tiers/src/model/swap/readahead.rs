//! Read-ahead of swap: how many neighbours come along (mm/swap_state.c).

use std::ops::Range;

use super::slots::Slots;
use crate::model::mm::Memory;

/// Most pages of read-ahead by addresses: 2 to this power (`SWAP_RA_ORDER_CEILING`).
const CEILING: u32 = 5;

/// Hits that the first fault of a mapping finds: a small window to begin with (`GET_SWAP_RA_VAL`). By slots there is one window for all
/// since the machine was booted (`swapin_readahead_hits`), and what came before has used up what it began with.
const FIRST_HITS: u32 = 4;
/// Pages of the header of an area, before its first slot.
const HEADER: u32 = 1;
/// Pages of a page table: read-ahead by addresses does not leave it (`PMD_MASK`).
const TABLE: u32 = 512;

/// The window, which adapts to how many pages read ahead were used.
#[derive(Clone, Copy, Debug)]
struct ReadAheadWindow {
    hits: u32,
    last: u32,
    /// Place of the last fault, or by addresses of the last page that was found in the swap cache.
    previous: Option<u32>,
}

impl ReadAheadWindow {
    fn new(by_slots: bool) -> Self {
        Self { hits: if by_slots { 0 } else { FIRST_HITS }, last: 0, previous: None }
    }

    /// Pages to read for a fault at a place, this one included (`__swapin_nr_pages`).
    fn next(&mut self, place: u32, most: u32) -> u32 {
        let hits = std::mem::take(&mut self.hits);
        let adjacent = self.previous.is_some_and(|previous| place.abs_diff(previous) == 1);
        let wanted = match hits {
            0 if adjacent => 2,
            0 => 1,
            _ => (hits + 2).next_power_of_two().max(4),
        };
        self.last = wanted.min(most).max(self.last / 2);
        self.last
    }

    /// The aligned cluster of an area around a fault (`swap_cluster_readahead`). Whether the last fault was beside it is asked of the
    /// places alone: in areas that take turns the next page is beside the last one of another area.
    fn by_slots(&mut self, slot: u32, most: u32) -> Range<u32> {
        let judged_by_hits = self.hits > 0;
        let count = self.next(slot, most);
        if !judged_by_hits {
            self.previous = Some(slot);
        }
        let start = slot & !(count - 1);
        start..start.saturating_add(count)
    }

    /// Addresses beside a fault: ahead of it when accesses go up, behind it when they go down, else around it (`swap_vma_ra_win`).
    fn by_addresses(&mut self, page: u32, most: u32) -> Range<u32> {
        let before = self.previous;
        let count = self.next(page, most);
        self.previous = Some(page);
        let start = match before {
            Some(before) if before.checked_add(1) == Some(page) => i64::from(page),
            Some(before) if page.checked_add(1) == Some(before) => i64::from(page) + 1 - i64::from(count),
            _ => i64::from(page) - i64::from((count - 1) / 2),
        };
        let (table, end) = (page & !(TABLE - 1), start + i64::from(count));
        (start.max(0) as u32).max(table)..(end as u32).min(table.saturating_add(TABLE))
    }
}

/// Read-ahead of a machine.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Readahead {
    window: ReadAheadWindow,
    /// vm.page-cluster.
    page_cluster: u32,
    by_slots: bool,
}

impl Readahead {
    pub(crate) fn new(page_cluster: u32, by_slots: bool) -> Self {
        Self { window: ReadAheadWindow::new(by_slots), page_cluster, by_slots }
    }

    /// A page was found in the swap cache, where it had been read ahead of its use or was still being written. The kernel cannot tell the
    /// one from the other (`PG_readahead` and `PG_reclaim` are one bit) and takes both for a success of read-ahead.
    pub(crate) fn hit(&mut self, memory: &mut Memory, page: u32) {
        memory.vmstat.swap_ra_hit += 1;
        self.window.hits += 1;
        if !self.by_slots {
            self.window.previous = Some(page);
        }
    }

    /// Neighbours of a page that are in swap: by slot where an area is rotational (`swap_cluster_readahead`), else by address
    /// (`swap_vma_readahead`).
    pub(crate) fn neighbours(&mut self, memory: &Memory, slots: &Slots, page: u32) -> Vec<u32> {
        if self.page_cluster == 0 {
            return Vec::new();
        }
        let by_slots = self.by_slots;
        let most = 1 << if by_slots { self.page_cluster } else { self.page_cluster.min(CEILING) };
        let slot = memory.pages.slot(page);
        let area = slots.area(slot);
        let places = match by_slots {
            true => self.window.by_slots(slots.index(area, slot) + HEADER, most),
            false => self.window.by_addresses(page, most),
        };
        let cgroup = memory.pages.cgroup(page);
        let at = |place: u32| if by_slots { slots.owner_in(area, place.checked_sub(HEADER)?) } else { Some(place) };
        let held = |&other: &u32| {
            let is_neighbour = other != page && (other as usize) < memory.pages.len();
            is_neighbour && (by_slots || memory.pages.cgroup(other) == cgroup) && memory.pages.tier(other).is_read_ahead()
        };
        places.filter_map(at).filter(held).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_window_grows_with_hits_and_shrinks_by_half() {
        let mut window = ReadAheadWindow { hits: 0, ..ReadAheadWindow::new(false) };
        assert_eq!(window.by_addresses(100, 8).len(), 1);
        assert_eq!(window.by_addresses(101, 8).len(), 2, "an adjacent fault");
        window.hits = 3;
        assert_eq!(window.by_addresses(300, 8).len(), 8);
        assert_eq!(window.by_addresses(600, 8).len(), 4);
        assert_eq!((window.by_addresses(700, 8).len(), window.by_addresses(900, 8).len()), (2, 1));
        window.hits = 100;
        assert_eq!(window.by_addresses(300, 8).len(), 8, "page-cluster is the ceiling");
        assert_eq!(ReadAheadWindow::new(false).by_addresses(300, 32).len(), 8, "six hits are counted before the first");
        let after = |hits| ReadAheadWindow { hits, ..ReadAheadWindow::new(false) }.by_addresses(300, 32).len();
        assert_eq!([1, 2, 3, 6, 7, 14, 15].map(after), [4, 4, 8, 8, 16, 16, 32], "two more than the hits, in powers of two");
    }

    #[test]
    fn the_window_lies_where_accesses_go() {
        let places = |previous, page| ReadAheadWindow { hits: 6, last: 0, previous }.by_addresses(page, 8);
        assert_eq!(places(Some(99), 100), 100..108);
        assert_eq!(places(Some(101), 100), 93..101);
        assert_eq!((places(Some(5), 100), places(None, 100)), (97..105, 97..105));
        assert_eq!((places(None, 1), places(Some(510), 511), places(None, 512)), (0..6, 511..512, 512..517), "within a table");
    }

    #[test]
    fn slots_are_read_in_aligned_clusters() {
        assert_eq!(ReadAheadWindow::new(true).by_slots(21, 8), 21..22, "what the machine began with is used up");
        let mut window = ReadAheadWindow { hits: 4, ..ReadAheadWindow::new(true) };
        assert_eq!(window.by_slots(21, 8), 16..24);
        assert_eq!((window.by_slots(3, 8), window.by_slots(90, 8)), (0..4, 90..92), "half as many without hits");
        assert_eq!((window.by_slots(50, 8), window.by_slots(51, 8)), (50..51, 50..52), "a fault beside the last");
        let mut window = ReadAheadWindow { hits: 2, ..ReadAheadWindow::new(true) };
        assert_eq!((window.by_slots(20, 2), window.by_slots(21, 2)), (20..22, 21..22), "a fault after hits is not remembered");
    }
}
