//! Whoever visits a zram device: pages that are due are written back or recompressed, one after the other, on another processor.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use super::device::Written;
use super::page::{NONE, Tier};
use super::upkeep::{Second, Upkeep, batch};
use super::zram::{Stored, Zram};
use super::{Codec, Model};
use crate::alloc::PAGE_SIZE;

/// Slots passed over in one go, and nanoseconds for each.
const LOOK: u32 = 512;
const SLOT: u64 = 20;

/// The visitor of one device.
#[derive(Clone, Debug)]
pub(super) struct Caretaker {
    upkeep: Upkeep,
    /// When this visit begins or began, and how far it has come.
    visit: u64,
    clock: u64,
    cursor: u32,
    /// Writes whose end is waited for.
    in_flight: u32,
    left: u64,
    blocks: Blocks,
}

/// The backing device: the lowest free block is taken first.
#[derive(Clone, Debug, Default)]
struct Blocks {
    first: u32,
    fresh: u32,
    freed: BinaryHeap<Reverse<u32>>,
    used: u32,
}

/// What is due for a page.
enum Due {
    WriteBack { device: usize, block: u32 },
    Recompress { codec: Codec, size: u16, threshold: u16 },
    Nothing,
}

impl Caretaker {
    pub(super) fn new(upkeep: Upkeep, first_block: u32) -> Self {
        let left = upkeep.writeback.and_then(|writeback| writeback.limit).unwrap_or(u64::MAX);
        let blocks = Blocks { first: first_block, ..Blocks::default() };
        let visit = upkeep.interval;
        Self { upkeep, visit, clock: visit, cursor: 0, in_flight: 0, left, blocks }
    }

    /// The secondary algorithm.
    pub(super) fn second(&self) -> Option<Codec> {
        self.upkeep.recompress.as_ref().map(|recompress| recompress.codec)
    }

    /// Blocks in use (`bd_count`).
    pub(super) const fn bd_count(&self) -> u32 {
        self.blocks.used
    }

    /// The page in a block is gone.
    pub(super) fn free_block(&mut self, block: u32) {
        self.blocks.used -= 1;
        self.blocks.freed.push(Reverse(block));
    }

    /// A write has ended.
    pub(super) fn written(&mut self, end: u64) {
        self.in_flight -= 1;
        self.clock = self.clock.max(end);
    }

    /// A block for a page that is due, unless the device or the limit is at its end.
    fn block(&mut self, most: u32) -> Option<u32> {
        if self.left == 0 || self.blocks.used >= most {
            return None;
        }
        self.left -= 1;
        self.blocks.used += 1;
        Some(self.blocks.freed.pop().map_or_else(
            || {
                self.blocks.fresh += 1;
                self.blocks.first + self.blocks.fresh - 1
            },
            |Reverse(block)| block,
        ))
    }

    fn due(&mut self, stored: Stored, huge: bool, second: impl Fn(&Second) -> u16) -> Due {
        let age = self.visit.saturating_sub(stored.at);
        if let Some(writeback) = self.upkeep.writeback
            && writeback.which.takes(age >= writeback.age, huge, stored.incompressible)
            && let Some(block) = self.block(writeback.blocks)
        {
            return Due::WriteBack { device: writeback.device, block };
        }
        let Some(recompress) = &self.upkeep.recompress else { return Due::Nothing };
        let size = if huge { PAGE_SIZE } else { stored.size };
        let done = stored.secondary || stored.incompressible || size < recompress.threshold;
        if done || !recompress.which.takes(age >= recompress.age, huge, false) {
            return Due::Nothing;
        }
        Due::Recompress { codec: recompress.codec, size: second(&recompress.sizes), threshold: recompress.threshold }
    }

    /// Goes on behind so many slots; behind the last one the next visit is waited for.
    fn go_on(&mut self, cursor: u32, slots: u32) {
        self.cursor = cursor;
        if cursor >= slots {
            self.cursor = 0;
            self.visit = self.clock.max(self.visit + self.upkeep.interval);
            self.clock = self.visit;
        }
    }
}

impl Model {
    /// Lets all caretakers do what they could do by now.
    pub(super) fn run_caretakers(&mut self) {
        for area in 0..self.zrams.len() {
            while self.caretaker_goes_on(area) {}
        }
    }

    /// Waits for a write, or looks at some slots. `false` if that is not over by now.
    fn caretaker_goes_on(&mut self, area: usize) -> bool {
        let Some(caretaker) = self.zrams[area].as_ref().and_then(|zram| zram.caretaker.as_ref()) else { return false };
        if caretaker.in_flight < batch(self.settings.kernel) {
            return caretaker.clock < self.now && self.look(area);
        }
        let device = caretaker.upkeep.writeback.map_or(0, |writeback| writeback.device);
        let end = self.devices[device].next_end().filter(|&end| end < self.now);
        end.inspect(|&end| self.settle_by(end)).is_some()
    }

    /// Looks at slots up to the first one for which something is due, and does that.
    fn look(&mut self, area: usize) -> bool {
        let (seed, slots) = (self.settings.seed, self.settings.areas[area].slots);
        let Some(zram) = self.zrams[area].as_mut() else { return false };
        let Some(caretaker) = zram.caretaker.as_ref() else { return false };
        let (begin, mut index) = (caretaker.cursor, caretaker.cursor);
        let mut found = None;
        while index < slots.min(begin + LOOK) && found.is_none() {
            let page = self.slots.owner_in(area, index);
            let held = page.filter(|&page| self.pages.tier(page) == Tier::Zram && self.pages.entry(page) != NONE);
            if let Some(page) = held {
                let first = self.settings.sizes.of(page, seed);
                let second = |sizes: &Second| match sizes {
                    Second::Share(_) if first >= PAGE_SIZE => PAGE_SIZE,
                    Second::Share(share) => (u32::from(first) * u32::from(*share) / 1000).max(1) as u16,
                    Second::Sizes(sizes) => sizes.of(page, seed),
                };
                let stored = zram.stored(index, first);
                let huge = zram.is_huge(stored.size);
                let due = zram.caretaker.as_mut().map_or(Due::Nothing, |caretaker| caretaker.due(stored, huge, second));
                found = (!matches!(due, Due::Nothing)).then_some((page, index, stored, due));
            }
            index += 1;
        }
        let mut spent = SLOT * u64::from(index - begin);
        spent += found.map_or(0, |(page, index, stored, due)| self.treat(area, page, index, stored, due));
        self.outcome.system += spent;
        if let Some(caretaker) = self.zrams[area].as_mut().and_then(|zram| zram.caretaker.as_mut()) {
            caretaker.clock += spent;
            caretaker.go_on(index, slots);
        }
        true
    }

    /// Does what is due for a page and tells the processor time.
    fn treat(&mut self, area: usize, page: u32, index: u32, stored: Stored, due: Due) -> u64 {
        let Some(zram) = self.zrams[area].as_mut() else { return 0 };
        let load = zram.load_time(stored);
        match due {
            Due::WriteBack { device, block } => {
                self.remove_from_zram(page);
                self.write_block(area, page, device, block, load);
                load
            }
            Due::Recompress { codec, size, threshold } => {
                let handle = self.pages.entry(page);
                match zram.replace(index, handle, size, threshold) {
                    Some(handle) => {
                        self.pages.set_entry(page, handle);
                        self.outcome.counters.recompressed += 1;
                    }
                    None => self.outcome.counters.recompress_rejected += 1,
                }
                load + codec.compress
            }
            Due::Nothing => 0,
        }
    }

    /// Starts the write of a page to the backing device; a page of RAM is taken until it has ended.
    fn write_block(&mut self, area: usize, page: u32, device: usize, block: u32, load: u64) {
        self.pages.go(page, Tier::WrittenBack);
        self.pages.set_entry(page, block);
        self.outcome.counters.bd_writes += 1;
        self.outcome.counters.disk_out += 1;
        self.used += 1;
        let Some(caretaker) = self.zrams[area].as_mut().and_then(|zram| zram.caretaker.as_mut()) else { return };
        caretaker.in_flight += 1;
        let time = caretaker.clock + load;
        self.round += 1;
        self.devices[device].write(time, block, self.round, Written::Block { area: area as u16 });
    }

    /// A write to the backing device of an area's zram has ended.
    pub(super) fn block_written(&mut self, area: usize, end: u64) {
        if let Some(caretaker) = self.zrams[area].as_mut().and_then(|zram| zram.caretaker.as_mut()) {
            caretaker.written(end);
        }
    }

    /// Reads a page, which has entered RAM, from the backing device of its zram and waits for it.
    pub(super) fn read_block(&mut self, page: u32, block: u32) {
        let area = self.slots.area(self.pages.slot(page));
        self.outcome.counters.bd_reads += 1;
        self.outcome.counters.disk_in += 1;
        let Some(caretaker) = self.zrams[area].as_mut().and_then(|zram| zram.caretaker.as_mut()) else { return };
        caretaker.free_block(block);
        if let Some(writeback) = caretaker.upkeep.writeback {
            self.now = self.devices[writeback.device].read(self.now, block, 1);
        }
    }

    /// The block of a page on a backing device is given back.
    pub(super) fn forget_block(&mut self, page: u32) {
        let caretaker = self.zrams[self.slots.area(self.pages.slot(page))].as_mut().and_then(|zram| zram.caretaker.as_mut());
        if let Some(caretaker) = caretaker {
            caretaker.free_block(self.pages.entry(page));
        }
        self.pages.set_entry(page, NONE);
    }
}

impl Zram {
    /// Pages on its backing device.
    pub(super) fn bd_count(&self) -> u64 {
        self.caretaker.as_ref().map_or(0, |caretaker| u64::from(caretaker.bd_count()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_lowest_free_block_is_taken_until_none_is_left() {
        let mut caretaker = Caretaker::new(Upkeep { interval: 1, recompress: None, writeback: None }, 7);
        let blocks: Vec<_> = (0..4).map(|_| caretaker.block(3)).collect();
        assert_eq!((blocks, caretaker.bd_count()), (vec![Some(7), Some(8), Some(9), None], 3));
        [8, 7].into_iter().for_each(|block| caretaker.free_block(block));
        assert_eq!((caretaker.block(3), caretaker.block(3), caretaker.block(3)), (Some(7), Some(8), None));
    }

    #[test]
    fn a_visit_follows_the_one_before_at_its_interval_or_when_that_has_ended() {
        let mut caretaker = Caretaker::new(Upkeep { interval: 100, recompress: None, writeback: None }, 0);
        assert_eq!(caretaker.visit, 100);
        for (clock, next) in [(130, 200), (470, 470)] {
            caretaker.clock = clock;
            caretaker.go_on(5, 10);
            assert_eq!((caretaker.cursor, caretaker.clock), (5, clock));
            caretaker.go_on(10, 10);
            assert_eq!((caretaker.cursor, caretaker.clock, caretaker.visit), (0, next, next));
        }
    }
}
