//! Upkeep of a zram device: how far a visit has come, and what is due for a page that it meets.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use swaptune_kernel::KernelVersion;

use crate::alloc::PAGE_SIZE;
use crate::model::spec::{CodecCosts, Second, Upkeep, Writeback, batch};

/// Visits to one device, which has a processor of its own.
#[derive(Clone, Debug)]
pub(crate) struct Visits {
    upkeep: Upkeep,
    /// When this visit begins or began, and how far it has come.
    visit: u64,
    clock: u64,
    cursor: u32,
    /// Writes whose end is waited for.
    in_flight: u32,
    /// The most of them (`writeback_batch_size`).
    batch: u32,
    left: u64,
    blocks: BackingBlocks,
}

/// What the device knows of a slot besides its object: kept only where there is upkeep.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Stored {
    pub(crate) at: u64,
    /// Compressed size, as it is now.
    pub(crate) size: u16,
    /// Compressed by the secondary algorithm.
    pub(crate) secondary: bool,
    /// Which could not make it smaller.
    pub(crate) incompressible: bool,
}

/// The backing device: the lowest free block is taken first.
#[derive(Clone, Debug, Default)]
struct BackingBlocks {
    first: u32,
    fresh: u32,
    freed: BinaryHeap<Reverse<u32>>,
    used: u32,
}

/// What is due for a page.
pub(crate) enum Due {
    WriteBack { device: usize, block: u32 },
    Recompress { codec: CodecCosts, size: u16, threshold: u16 },
    Nothing,
}

impl Visits {
    pub(crate) fn new(upkeep: Upkeep, first_block: u32, kernel: KernelVersion) -> Self {
        let left = upkeep.writeback.and_then(|writeback| writeback.limit).unwrap_or(u64::MAX);
        let blocks = BackingBlocks { first: first_block, ..BackingBlocks::default() };
        let visit = upkeep.interval;
        Self { upkeep, visit, clock: visit, cursor: 0, in_flight: 0, batch: batch(kernel), left, blocks }
    }

    /// The secondary algorithm.
    pub(crate) fn second(&self) -> Option<CodecCosts> {
        self.upkeep.recompress.as_ref().map(|recompress| recompress.codec)
    }

    /// Blocks in use (`bd_count`).
    pub(crate) const fn bd_count(&self) -> u32 {
        self.blocks.used
    }

    /// The page in a block is gone.
    pub(crate) fn free_block(&mut self, block: u32) {
        self.blocks.used -= 1;
        self.blocks.freed.push(Reverse(block));
    }

    /// A write has ended.
    pub(crate) fn written(&mut self, end: u64) {
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

    pub(crate) fn due(&mut self, stored: Stored, huge: bool, second: impl Fn(&Second) -> u16) -> Due {
        let age = self.visit.saturating_sub(stored.at);
        let takes = |writeback: &Writeback| writeback.which.takes(age >= writeback.age, huge, stored.incompressible);
        if let Some(writeback) = self.upkeep.writeback.filter(takes) {
            if let Some(block) = self.block(writeback.blocks) {
                return Due::WriteBack { device: writeback.device, block };
            }
        }
        let Some(recompress) = &self.upkeep.recompress else { return Due::Nothing };
        let size = if huge { PAGE_SIZE } else { stored.size };
        let done = stored.secondary || stored.incompressible || size < recompress.threshold;
        if done || !recompress.which.takes(age >= recompress.age, huge, false) {
            return Due::Nothing;
        }
        Due::Recompress { codec: recompress.codec, size: second(&recompress.sizes), threshold: recompress.threshold }
    }

    /// Whether the device writes back as much as it may at once.
    pub(crate) const fn is_full(&self) -> bool {
        self.in_flight >= self.batch
    }

    /// Time of the visit, and the slot that it has come to.
    pub(crate) const fn at(&self) -> (u64, u32) {
        (self.clock, self.cursor)
    }

    /// What it writes back.
    pub(crate) const fn writeback(&self) -> Option<Writeback> {
        self.upkeep.writeback
    }

    /// A page is on its way to the backing device.
    pub(crate) const fn submit(&mut self) {
        self.in_flight += 1;
    }

    /// The visit has come to this slot in this time; behind the last one the next visit is waited for.
    pub(crate) fn advance(&mut self, spent: u64, cursor: u32, slots: u32) {
        self.clock += spent;
        self.cursor = cursor;
        if cursor >= slots {
            self.cursor = 0;
            self.visit = self.clock.max(self.visit + self.upkeep.interval);
            self.clock = self.visit;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_lowest_free_block_is_taken_until_none_is_left() {
        let mut visits = Visits::new(Upkeep { interval: 1, recompress: None, writeback: None }, 7, KernelVersion::ASSUMED);
        let blocks: Vec<_> = (0..4).map(|_| visits.block(3)).collect();
        assert_eq!((blocks, visits.bd_count()), (vec![Some(7), Some(8), Some(9), None], 3));
        [8, 7].into_iter().for_each(|block| visits.free_block(block));
        assert_eq!((visits.block(3), visits.block(3), visits.block(3)), (Some(7), Some(8), None));
    }

    #[test]
    fn a_visit_follows_the_one_before_at_its_interval_or_when_that_has_ended() {
        let mut visits = Visits::new(Upkeep { interval: 100, recompress: None, writeback: None }, 0, KernelVersion::ASSUMED);
        assert_eq!(visits.visit, 100);
        for (clock, next) in [(130, 200), (470, 470)] {
            visits.clock = clock;
            visits.advance(0, 5, 10);
            assert_eq!((visits.cursor, visits.clock), (5, clock));
            visits.advance(0, 10, 10);
            assert_eq!((visits.cursor, visits.clock, visits.visit), (0, next, next));
        }
    }
}
