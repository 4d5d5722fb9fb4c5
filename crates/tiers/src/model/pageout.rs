//! The way of a page out of RAM: it leaves for the first tier that takes it (mm/vmscan.c: `pageout`, mm/page_io.c: `swap_writeout`).

use super::clock::Clock;
use super::mm::{Memory, Pageout};
use super::page::{AHEAD, CLEAN, DIRTY, NONE, POOLED, Tier};
use super::shrinker::Shrinker;
use super::swap::{Sent, Swap};
use super::zswap::Zswap;

/// What is below RAM, for reclaim.
pub(super) struct Below<'a> {
    pub(super) zswap: Option<&'a mut Zswap>,
    pub(super) swap: &'a mut Swap,
    pub(super) compaction: &'a mut Shrinker,
    pub(super) clock: &'a mut Clock,
    /// Nanoseconds of a swap-out without codec and device.
    pub(super) swap_out: u64,
    /// Faults so far.
    pub(super) faults: u64,
}

impl Pageout for Below<'_> {
    fn pageout(&mut self, memory: &mut Memory, page: u32, time: &mut u64) -> bool {
        let state = memory.pages.state_mut(page);
        state.clear(AHEAD);
        if state.has(DIRTY) {
            state.clear(DIRTY | CLEAN);
            if let Some(zswap) = self.zswap.as_mut().filter(|_| state.has(POOLED)) {
                zswap.invalidate(memory, page);
            }
        }
        let state = memory.pages.state(page);
        if state.has(POOLED | CLEAN) {
            let elsewhere = if state.has(POOLED) { Tier::Zswap } else { Tier::Disk };
            memory.pages.go(page, if self.swap.maps_zeros(memory, page) { Tier::Zero } else { elsewhere });
            match &mut self.zswap {
                Some(zswap) => zswap.gone(memory, page),
                None => memory.gone(page),
            }
            return true;
        }
        if memory.pages.slot(page) == NONE {
            let Some(slot) = self.swap.slots.alloc(page).or_else(|| self.reclaim_slots(memory, page)) else {
                memory.vmstat.swap_full += 1;
                return false;
            };
            memory.pages.set_slot(page, slot);
        }
        *time += self.swap_out;
        self.swap_writeout(memory, page, time)
    }

    fn can_reclaim_anon(&self) -> bool {
        self.swap.has_free() || self.faults >= self.swap.no_slots_until
    }

    fn shrink_slab(&mut self, memory: &mut Memory, cgroup: u16, priority: u32, time: &mut u64) {
        if let Some(zswap) = &mut self.zswap {
            zswap.shrink(memory, self.swap, cgroup, priority, time);
        }
        let mut compacts = false;
        self.compaction.scan(self.compactable(), priority, |_| {
            compacts = true;
            true
        });
        if compacts {
            self.compact(memory);
        }
    }
}

impl Below<'_> {
    /// Sends a page, which has a slot and is in no list, to the first tier that takes it: the zero map, zswap, its swap area. `false` if it
    /// stays in RAM (`swap_writeout`).
    pub(super) fn swap_writeout(&mut self, memory: &mut Memory, page: u32, time: &mut u64) -> bool {
        if self.swap.maps_zeros(memory, page) {
            memory.vmstat.swpout_zero += 1;
            memory.pages.go(page, Tier::Zero);
            memory.gone(page);
            return true;
        }
        if let Some(zswap) = &mut self.zswap {
            if zswap.store(memory, self.swap, self.clock, page, time) {
                return true;
            }
        }
        match self.swap.write(memory, page, *time) {
            Sent::UnderWrite => true,
            Sent::Refused => false,
            Sent::Stored(spent) => {
                *time += spent;
                memory.gone(page);
                true
            }
        }
    }

    /// Takes back the slots that pages in RAM have kept, where no other is free (`swap_reclaim_full_clusters`), and one of them for this page.
    #[cold]
    pub(super) fn reclaim_slots(&mut self, memory: &mut Memory, page: u32) -> Option<u32> {
        // There are none but from when swap was not short: once found none, there are none for long.
        if self.faults < self.swap.no_slots_until {
            return None;
        }
        self.swap.no_slots_until = self.faults + memory.pages.len() as u64;
        for other in memory.pages.numbers() {
            if memory.pages.state(other).is_mapped() && memory.pages.slot(other) != NONE {
                free_swap(memory, self.swap, self.zswap.as_deref_mut(), other);
            }
        }
        self.swap.slots.alloc(page)
    }

    /// Pages that compaction would free.
    pub(super) fn compactable(&self) -> u64 {
        let zswap = self.zswap.as_ref().map_or(0, |zswap| zswap.entries.freeable());
        zswap + self.swap.zrams.iter().map(|zram| zram.freeable()).sum::<u64>()
    }

    /// Compacts all pools (`zs_shrinker_scan`).
    fn compact(&mut self, memory: &mut Memory) {
        let zswap = self.zswap.as_mut().map_or(0, |zswap| zswap.entries.compact());
        memory.vmstat.pages_compacted += zswap + self.swap.compact(memory);
    }
}

/// A page in RAM gives back what zswap and the swap area hold of it (`folio_free_swap`).
pub(super) fn free_swap(memory: &mut Memory, swap: &mut Swap, zswap: Option<&mut Zswap>, page: u32) {
    if let Some(zswap) = zswap.filter(|_| memory.pages.has(page, POOLED)) {
        zswap.invalidate(memory, page);
    }
    swap.free(memory, page);
}
