//! Reading and writing of areas (mm/page_io.c): what is on zram, on a disk, and on the backing device of a zram.

use super::{Sent, Swap};
use crate::model::disk::Written;
use crate::model::mm::Memory;
use crate::model::page::{CLEAN, NONE, Tier};

impl Swap {
    /// Sends a page, which has a slot and is in no list, to its area (`swap_writepage`).
    pub(in crate::model) fn write(&mut self, memory: &mut Memory, page: u32, time: u64) -> Sent {
        let area = self.slots.area(memory.pages.slot(page));
        if self.zrams.has(area) {
            return self.write_to_zram(memory, area, page, time);
        }
        let write = self.disks.number();
        memory.pages.set_place(page, write);
        let state = memory.pages.state_mut(page);
        state.go(Tier::Writing);
        state.set(CLEAN);
        self.submit(memory, page, time, Written::Page { page, write });
        Sent::UnderWrite
    }

    /// Whether the area of a page is on a disk.
    pub(in crate::model) fn is_on_disk(&self, memory: &Memory, page: u32) -> bool {
        !self.zrams.has(self.slots.area(memory.pages.slot(page)))
    }

    /// Sends a copy of a page that stays in the pool to its disk: RAM is taken until its end.
    pub(in crate::model) fn write_copy(&mut self, memory: &mut Memory, page: u32, time: u64) {
        if self.is_on_disk(memory, page) {
            memory.pages.set(page, CLEAN);
            memory.take();
            self.submit(memory, page, time, Written::Copy);
        }
    }

    #[inline(always)]
    fn submit(&mut self, memory: &mut Memory, page: u32, time: u64, written: Written) {
        let slot = memory.pages.slot(page);
        memory.vmstat.pswpout += 1;
        memory.vmstat.disk_out += 1;
        if let Some(device) = self.on_disk[self.slots.area(slot)] {
            self.disks.write(device, time, slot, written);
        }
    }

    fn write_to_zram(&mut self, memory: &mut Memory, area: usize, page: u32, time: u64) -> Sent {
        let size = memory.size_of(page);
        let index = self.slots.index(area, memory.pages.slot(page));
        let Some(zram) = self.zrams.get_mut(area) else { return Sent::Refused };
        let Some(handle) = zram.store(index, size, time) else { return Sent::Refused };
        memory.vmstat.huge_pages_since += u64::from(zram.is_huge(size));
        memory.vmstat.pswpout += 1;
        memory.pages.set_entry(page, handle);
        memory.pages.go(page, Tier::Zram);
        Sent::Stored(if size == 0 { 0 } else { zram.codec.compress })
    }

    /// The object of a page leaves zram. Tells what loading it takes.
    pub(in crate::model) fn remove_from_zram(&mut self, memory: &mut Memory, page: u32) -> u64 {
        let (slot, handle) = (memory.pages.slot(page), memory.pages.entry(page));
        let size = memory.size_of(page);
        memory.pages.set_entry(page, NONE);
        let area = self.slots.area(slot);
        let index = self.slots.index(area, slot);
        self.zrams.get_mut(area).map_or(0, |zram| {
            let time = zram.load_time(zram.stored(index, size));
            zram.free(index, handle, size);
            time
        })
    }

    /// Reads slots at a time, adjacent ones in one request, and tells when the wanted one is there.
    pub(in crate::model) fn read(&mut self, memory: &mut Memory, at: u64, mut slots: Vec<u32>, wanted: Option<u32>) -> u64 {
        slots.sort_unstable();
        let joined = |a: &u32, b: &u32| a + 1 == *b && self.slots.area(*a) == self.slots.area(*b);
        let runs: Vec<(u32, u32)> = slots.chunk_by(joined).map(|run| (run[0], run.len() as u32)).collect();
        let mut end = at;
        for (slot, count) in runs {
            let there = self.read_run(memory, at, slot, count);
            end = if wanted.is_some_and(|wanted| (slot..slot + count).contains(&wanted)) { there } else { end };
        }
        end
    }

    /// Reads adjacent slots and tells when they are there.
    pub(in crate::model) fn read_run(&mut self, memory: &mut Memory, at: u64, slot: u32, count: u32) -> u64 {
        memory.vmstat.pswpin += u64::from(count);
        memory.vmstat.disk_in += u64::from(count);
        self.on_disk[self.slots.area(slot)].map_or(at, |device| self.disks.read(device, at, slot, count))
    }

    /// Reads a page from a block of the backing device of its zram, which is free then, and tells when it is there.
    pub(in crate::model) fn read_block(&mut self, memory: &mut Memory, at: u64, page: u32, block: u32) -> u64 {
        let area = self.slots.area(memory.pages.slot(page));
        memory.vmstat.bd_reads += 1;
        memory.vmstat.disk_in += 1;
        let Some(visits) = self.zrams.visits(area) else { return at };
        visits.free_block(block);
        visits.writeback().map_or(at, |writeback| self.disks.read(writeback.device, at, block, 1))
    }

    /// The block of a page on a backing device is given back.
    pub(in crate::model) fn free_block(&mut self, memory: &mut Memory, page: u32) {
        if let Some(visits) = self.zrams.visits(self.slots.area(memory.pages.slot(page))) {
            visits.free_block(memory.pages.entry(page));
        }
        memory.pages.set_entry(page, NONE);
    }

    /// Frees the RAM of pages whose write has ended by a time (`folio_end_writeback`).
    #[inline(always)]
    pub(in crate::model) fn end_writes(&mut self, memory: &mut Memory, by: u64) {
        for device in self.disks.all() {
            if self.disks.is_due(device, by) {
                self.end_writes_of(memory, device, by);
            }
        }
    }

    fn end_writes_of(&mut self, memory: &mut Memory, device: usize, by: u64) {
        self.disks.begin_by(device, by);
        while let Some((end, written)) = self.disks.ended(device, by) {
            if let Some(soon) = self.disks.ends_soon(device) {
                memory.pages.prefetch(soon);
            }
            self.end_write(memory, end, written);
        }
    }

    fn end_write(&mut self, memory: &mut Memory, end: u64, written: Written) {
        let Written::Page { page, write } = written else {
            memory.give_back();
            if let Written::Block { area } = written {
                if let Some(visits) = self.zrams.visits(usize::from(area)) {
                    visits.written(end);
                }
            }
            return;
        };
        if memory.pages.tier(page) == Tier::Writing && memory.pages.place(page) == write {
            memory.end_write(page);
        }
    }
}
