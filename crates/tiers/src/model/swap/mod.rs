//! Swap areas: slots, what is behind them, and how pages go there and come back (mm/swapfile.c, mm/page_io.c, mm/swap_state.c).

mod clusters;
mod io;
mod readahead;
mod slots;
#[cfg(test)]
mod slots_tests;
mod upkeep;

use swaptune_kernel::behaviours;

use super::disk::Disks;
use super::mm::Memory;
use super::page::{CLEAN, NONE, PageState, Tier};
use super::spec::{Backing, CompressedSizes, ModelSettings};
use super::zram::Zrams;
use readahead::Readahead;
use slots::{AreaTurn, Slots};

/// What became of a page that was sent to its area.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Sent {
    /// It is on its way to a disk; its RAM is free when that has ended.
    UnderWrite,
    /// It is on zram after this many nanoseconds.
    Stored(u64),
    /// zram is full.
    Refused,
}

/// All swap areas.
#[derive(Clone, Debug)]
pub(super) struct Swap {
    pub(super) slots: Slots,
    /// Device of each area that is on a disk.
    on_disk: Vec<Option<usize>>,
    pub(super) zrams: Zrams,
    pub(super) disks: Disks,
    pub(super) readahead: Readahead,
    /// Whether there are pages that only the swap map remembers.
    zero_map: bool,
    /// The fault from which on it is worth looking for slots that pages in RAM have kept.
    pub(super) no_slots_until: u64,
}

impl Swap {
    /// The areas of a machine whose pages have these sizes.
    pub(super) fn new(settings: &ModelSettings, sizes: &CompressedSizes) -> Self {
        let areas = || settings.areas.iter().map(|area| &area.backing);
        let disk = |backing: &Backing| if let Backing::Disk { device, .. } = backing { Some(*device) } else { None };
        let rotational = |backing: &Backing| matches!(backing, Backing::Disk { rotational: true, .. });
        let turn = |backing| AreaTurn::of(settings.kernel, rotational(backing));
        let turns: Vec<_> = settings.areas.iter().map(|area| (area.slots, area.priority, turn(&area.backing))).collect();
        Self {
            slots: Slots::new(settings.kernel, &turns, settings.needs_owners()),
            on_disk: areas().map(disk).collect(),
            zrams: Zrams::new(settings),
            disks: Disks::new(&settings.devices),
            readahead: Readahead::new(settings.page_cluster, settings.reads_ahead_by_slots()),
            zero_map: behaviours::ZERO_MAP.is_in(settings.kernel) && sizes.has_zeros(),
            no_slots_until: 0,
        }
    }

    /// Whether the swap map remembers such a page, so that it is written nowhere (`swap_zeromap_folio_set`).
    #[inline]
    pub(super) fn maps_zeros(&self, memory: &Memory, page: u32) -> bool {
        self.zero_map && memory.size_of(page) == 0
    }

    /// Whether swap is more than half full: then what is brought from there leaves its slot (`vm_swap_full`).
    pub(super) fn is_short(&self) -> bool {
        let (used, all) = self.slots.fill();
        used * 2 > all
    }

    /// Whether a slot is free.
    #[inline]
    pub(super) fn has_free(&self) -> bool {
        let (used, all) = self.slots.fill();
        used < all
    }

    /// A page gives its slot back, if it has one (`swap_free`).
    pub(super) fn free(&mut self, memory: &mut Memory, page: u32) {
        let slot = memory.pages.slot(page);
        if slot != NONE {
            memory.pages.set_slot(page, NONE);
            self.slots.release(slot);
        }
        memory.pages.clear(page, CLEAN);
    }

    /// Compacts the pools of all zram devices and tells how many pages became free.
    pub(super) fn compact(&mut self, memory: &mut Memory) -> u64 {
        let (slots, mut freed) = (&self.slots, 0);
        for (area, zram) in self.zrams.iter_mut() {
            let here = |&(state, slot, _): &(PageState, u32, &mut u32)| state.tier() == Tier::Zram && slots.area(slot) == area;
            freed += zram.compact(memory.pages.entries().filter(here).map(|(.., entry)| entry).filter(|entry| **entry != NONE));
        }
        freed
    }
}
