//! Faults: a page is wanted that is not mapped.

use swaptune_kernel::behaviours;

use super::device::Written;
use super::page::{AHEAD, CLEAN, NONE, POOLED, REFERENCED, Tier};
use super::zram::COPY;
use super::{Model, OutOfMemory};
use crate::trace::{Event, Op};

impl Model {
    /// Brings a page into RAM and advances the process by the time that takes.
    pub(super) fn fault(&mut self, event: Event) -> Result<(), OutOfMemory> {
        self.ask_for(event.page);
        self.settle();
        self.catch_up();
        self.now += std::mem::take(&mut self.stolen);
        let begin = self.now;
        let page = event.page;
        match self.pages.tier(page) {
            Tier::Ram => self.use_read_ahead(page, event.op == Op::Write),
            Tier::Writing => self.take_back(page),
            Tier::Absent => {
                let cgroup = usize::from(event.cgroup).min(self.cgroups.len() - 1) as u16;
                self.pages.set_cgroup(page, cgroup);
                self.make_room(cgroup)?;
                self.outcome.stall += self.now - begin;
                self.now += self.settings.costs.allocate;
                self.enter(page);
            }
            Tier::Zero | Tier::Zswap | Tier::Zram | Tier::WrittenBack | Tier::Disk => {
                if let Some(zswap) = self.zswap.as_ref().filter(|_| self.pages.has(page, POOLED)) {
                    zswap.object_soon(&self.pages, page);
                }
                self.make_room(self.pages.cgroup(page))?;
                self.swap_in(page, event.op == Op::Write);
                self.outcome.stall += self.now - begin;
            }
        }
        Ok(())
    }

    /// What the end of a fault needs is asked for at its beginning.
    #[inline]
    fn ask_for(&self, page: u32) {
        let slot = self.pages.slot(page);
        if slot != NONE {
            self.slots.soon(slot);
        }
        if let Some(zswap) = self.zswap.as_ref().filter(|_| self.pages.has(page, POOLED)) {
            zswap.entry_soon(&self.pages, page);
        }
    }

    /// Frees the RAM of pages whose write has ended.
    #[inline(always)]
    pub(super) fn settle(&mut self) {
        self.settle_by(self.now);
    }

    #[inline(always)]
    pub(super) fn settle_by(&mut self, time: u64) {
        for index in 0..self.devices.len() {
            if self.devices[index].is_due(time) {
                self.settle_device(index, time);
            }
        }
    }

    fn settle_device(&mut self, index: usize, time: u64) {
        self.devices[index].begin_by(time);
        while let Some((end, written)) = self.devices[index].ended(time) {
            if let Some(soon) = self.devices[index].soon() {
                self.pages.soon(soon);
            }
            self.write_ended(end, written);
        }
    }

    fn write_ended(&mut self, end: u64, written: Written) {
        let Written::Page { page, write } = written else {
            self.used -= 1;
            if let Written::Block { area } = written {
                self.block_written(usize::from(area), end);
            }
            return;
        };
        if self.pages.tier(page) == Tier::Writing && self.pages.place(page) == write {
            self.pages.go(page, Tier::Disk);
            self.gone(page);
        }
    }

    /// A page that was read ahead is used for the first time.
    fn use_read_ahead(&mut self, page: u32, write: bool) {
        self.pages.clear(page, AHEAD);
        self.lists.touch(&mut self.pages, page);
        self.used_from_cache(page);
        self.spend(self.settings.costs.minor);
        self.leave_slot(page, write);
    }

    /// A page that is still being written is in the swap cache, and stays there.
    fn take_back(&mut self, page: u32) {
        self.used_from_cache(page);
        self.spend(self.settings.costs.minor);
        self.pages.go(page, Tier::Ram);
        self.pages.set(page, REFERENCED);
        self.lists.insert(&mut self.pages, page);
    }

    /// A page enters RAM for the first time, accessed.
    #[inline]
    pub(super) fn enter(&mut self, page: u32) {
        self.charge(self.pages.cgroup(page));
        self.pages.go(page, Tier::Ram);
        self.pages.set(page, REFERENCED);
        self.lists.insert(&mut self.pages, page);
    }

    /// A page comes back into RAM, accessed.
    #[inline]
    pub(super) fn come_back(&mut self, page: u32) {
        self.charge(self.pages.cgroup(page));
        self.pages.go(page, Tier::Ram);
        self.pages.set(page, REFERENCED);
        self.refault(page);
    }

    fn swap_in(&mut self, page: u32, write: bool) {
        self.outcome.counters.pgmajfault += 1;
        // Making room may have moved it on.
        match self.pages.tier(page) {
            Tier::Zswap => {
                let time = self.load_from_zswap(page);
                self.spend(self.settings.costs.swap_in + time);
                self.come_back(page);
                self.read_ahead(page);
            }
            Tier::Zram => {
                let time = self.remove_from_zram(page);
                self.outcome.counters.pswpin += 1;
                self.release_slot(page);
                self.spend(self.settings.costs.swap_in + time);
                self.come_back(page);
            }
            Tier::WrittenBack => {
                let block = self.pages.entry(page);
                self.pages.set_entry(page, NONE);
                self.outcome.counters.pswpin += 1;
                self.spend(self.settings.costs.swap_in);
                self.come_back(page);
                self.read_block(page, block);
                self.release_slot(page);
            }
            Tier::Disk => {
                self.spend(self.settings.costs.swap_in);
                self.come_back(page);
                self.read_with_neighbours(page);
            }
            Tier::Writing => self.take_back(page),
            Tier::Zero => {
                self.spend(self.settings.costs.swap_in);
                self.bring_zeros(page);
                self.come_back(page);
                self.read_ahead(page);
            }
            Tier::Absent | Tier::Ram => {}
        }
        self.leave_slot(page, write);
    }

    /// A page that a write brought from swap, or any while swap is short, gives its slot back (`should_try_to_free_swap`). One that is
    /// written later keeps it: that is no fault of which the kernel would hear.
    fn leave_slot(&mut self, page: u32, write: bool) {
        if write || self.is_swap_short() {
            self.drop_copies(page);
        }
    }

    /// A page of zeros is made again. Its slot goes on remembering it, so that its next eviction writes nothing.
    pub(super) fn bring_zeros(&mut self, page: u32) {
        self.outcome.counters.swpin_zero += 1;
        self.spend(COPY);
        self.pages.set(page, CLEAN);
    }

    /// Takes a page out of zswap, as the kernel of that version does, and tells what decompressing takes.
    pub(super) fn load_from_zswap(&mut self, page: u32) -> u64 {
        let Some(zswap) = self.zswap.as_mut() else { return 0 };
        self.outcome.counters.zswpin += 1;
        let codec = self.settings.zswap.as_ref().map_or(0, |settings| settings.codec.decompress);
        let size = if !behaviours::LOADS_ARE_EXCLUSIVE.is_in(self.settings.kernel) {
            zswap.rotate(&mut self.pages, page)
        } else {
            self.remove_from_zswap(page)
        };
        if size == 0 || size >= crate::alloc::PAGE_SIZE { COPY } else { codec }
    }

    /// The entry of a page leaves zswap. Tells the size of its object.
    #[inline]
    pub(super) fn remove_from_zswap(&mut self, page: u32) -> u16 {
        let Some(zswap) = self.zswap.as_mut() else { return 0 };
        let size = zswap.remove(&mut self.pages, page);
        self.pages.clear(page, POOLED);
        self.cgroups[usize::from(self.pages.cgroup(page))].zswap -= u64::from(size);
        size
    }

    fn release_slot(&mut self, page: u32) {
        let slot = self.pages.slot(page);
        if slot != NONE {
            self.pages.set_slot(page, NONE);
            self.slots.release(slot);
        }
        self.pages.clear(page, CLEAN);
    }

    /// Processor time of the process in the kernel.
    pub(super) fn spend(&mut self, nanos: u64) {
        self.now += nanos;
        self.outcome.system += nanos;
    }
}
