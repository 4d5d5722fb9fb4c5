//! Upkeep of zram areas: pages that are due are written back or recompressed, one after the other, on another processor
//! (`writeback_store`, `recompress_store`).

use super::Swap;
use crate::alloc::PAGE_SIZE;
use crate::model::disk::Written;
use crate::model::mm::Memory;
use crate::model::page::{NONE, Tier};
use crate::model::spec::Second;
use crate::model::zram::{Due, Stored};

/// Slots passed over in one go, and nanoseconds for each.
const BATCH: u32 = 512;
const SLOT: u64 = 20;

impl Swap {
    /// Lets upkeep of all devices do what it could do by now. Tells its processor time.
    pub(in crate::model) fn run_upkeep(&mut self, memory: &mut Memory, now: u64) -> u64 {
        let mut system = 0;
        for area in 0..self.on_disk.len() {
            while let Some(spent) = self.step_upkeep(memory, area, now) {
                system += spent;
            }
        }
        system
    }

    /// Waits for a write, or goes through some slots. `None` if that is not over by now.
    fn step_upkeep(&mut self, memory: &mut Memory, area: usize, now: u64) -> Option<u64> {
        let visits = self.zrams.visits(area)?;
        if !visits.is_full() {
            return if visits.at().0 < now { self.go_through(memory, area) } else { None };
        }
        let device = visits.writeback().map_or(0, |writeback| writeback.device);
        let end = self.disks.next_end_of(device).filter(|&end| end < now)?;
        self.end_writes(memory, end);
        Some(0)
    }

    /// Goes through slots up to the first one for which something is due, and does that.
    fn go_through(&mut self, memory: &mut Memory, area: usize) -> Option<u64> {
        let slots = self.slots.len(area);
        let (_, begin) = self.zrams.visits(area)?.at();
        let (mut index, mut found) = (begin, None);
        while index < slots.min(begin + BATCH) && found.is_none() {
            found = self.due(memory, area, index);
            index += 1;
        }
        let mut spent = SLOT * u64::from(index - begin);
        spent += found.map_or(0, |(page, stored, due)| self.treat(memory, area, page, index - 1, stored, due));
        self.zrams.visits(area)?.advance(spent, index, slots);
        Some(spent)
    }

    /// What is due for the page of a slot, if zram holds an object of it.
    fn due(&mut self, memory: &Memory, area: usize, index: u32) -> Option<(u32, Stored, Due)> {
        let page = self.slots.owner_in(area, index)?;
        if memory.pages.tier(page) != Tier::Zram || memory.pages.entry(page) == NONE {
            return None;
        }
        let first = memory.size_of(page);
        let second = |sizes: &Second| match sizes {
            Second::Share(_) if first >= PAGE_SIZE => PAGE_SIZE,
            Second::Share(share) => (u32::from(first) * u32::from(*share) / 1000).max(1) as u16,
            Second::Sizes(sizes) => memory.size_in(sizes, page),
        };
        let zram = self.zrams.get_mut(area)?;
        let stored = zram.stored(index, first);
        let huge = zram.is_huge(stored.size);
        match zram.visits.as_mut()?.due(stored, huge, second) {
            Due::Nothing => None,
            due => Some((page, stored, due)),
        }
    }

    /// Does what is due for a page and tells the processor time.
    fn treat(&mut self, memory: &mut Memory, area: usize, page: u32, index: u32, stored: Stored, due: Due) -> u64 {
        let Some(zram) = self.zrams.get_mut(area) else { return 0 };
        let load = zram.load_time(stored);
        match due {
            Due::WriteBack { device, block } => {
                self.remove_from_zram(memory, page);
                self.write_block(memory, area, page, (device, block), load);
                load
            }
            Due::Recompress { codec, size, threshold } => {
                match zram.replace(index, memory.pages.entry(page), size, threshold) {
                    Some(handle) => {
                        memory.pages.set_entry(page, handle);
                        memory.vmstat.recompressed += 1;
                    }
                    None => memory.vmstat.recompress_rejected += 1,
                }
                load + codec.compress
            }
            Due::Nothing => 0,
        }
    }

    /// Starts the write of a page to a block of the backing device; a page of RAM is taken until it has ended.
    fn write_block(&mut self, memory: &mut Memory, area: usize, page: u32, (device, block): (usize, u32), load: u64) {
        memory.pages.go(page, Tier::WrittenBack);
        memory.pages.set_entry(page, block);
        memory.vmstat.bd_writes += 1;
        memory.vmstat.disk_out += 1;
        memory.take();
        let Some(visits) = self.zrams.visits(area) else { return };
        visits.submit();
        let time = visits.at().0 + load;
        self.disks.start_plug();
        self.disks.write(device, time, block, Written::Block { area: area as u16 });
    }
}
