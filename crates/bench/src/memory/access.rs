//! The loops whose speed is measured.
//!
//! Addresses at random come from a shift register of a few instructions and do not depend on what was read before, so the
//! processor may have several accesses on the way at once, as a program with independent look-ups has. How fast the loop
//! itself is stands beside each figure: it is measured over memory that fits into the first cache.

use std::hint::black_box;
use std::ops::Range;
use std::time::{Duration, Instant};

use swaptune_core::measurement::MemoryOrder;

use super::cell::{Cell, PAGE, Xorshift, page};
use super::work::Pattern;

/// Accesses at random in one step.
const STEP: usize = 16;
/// Between two looks at the clock: a look costs as much as some accesses, and a step under pressure may take milliseconds.
const CLOCK: Range<Duration> = Duration::from_micros(200)..Duration::from_millis(5);

/// Where the next access goes.
#[derive(Debug)]
struct AccessWalk {
    order: MemoryOrder,
    random: Xorshift,
    /// Bytes of the whole and of a block.
    size: usize,
    block: usize,
    /// Where the current block goes on, and how much of it is left.
    at: usize,
    left: usize,
}

impl AccessWalk {
    fn new(pattern: &Pattern, size: usize, seed: u64) -> Self {
        let block = usize::try_from(pattern.block.0).unwrap_or(usize::MAX).clamp(1, size.max(1));
        // One byte after the other is one block after the other, of any size.
        let block = if block == 1 && pattern.order == MemoryOrder::Sequential { size } else { block };
        Self { order: pattern.order, random: Xorshift::new(seed), size, block, at: 0, left: 0 }
    }

    /// The next bytes to access: of one block and one page.
    #[inline]
    fn piece(&mut self) -> Range<usize> {
        if self.left == 0 {
            self.at = match self.order {
                MemoryOrder::Random => self.random.below(self.size / self.block) * self.block,
                MemoryOrder::Sequential if self.at + self.block > self.size => 0,
                MemoryOrder::Sequential => self.at,
            };
            self.left = self.block;
        }
        let start = self.at;
        let length = self.left.min(PAGE - start % PAGE);
        self.at += length;
        self.left -= length;
        start..start + length
    }
}

/// One thread's loop over its memory.
pub struct Loop<'a, C> {
    memory: &'a [C],
    write: bool,
    walk: AccessWalk,
    /// What is written: a page of the same content.
    page: Vec<C>,
    sum: u64,
}

impl<'a, C: Cell> Loop<'a, C> {
    /// Over `memory`.
    pub fn new(memory: &'a [C], pattern: &Pattern, seed: u64) -> Self {
        let walk = AccessWalk::new(pattern, memory.len() * C::SIZE, seed);
        Self { memory, write: pattern.write, walk, page: page(pattern.data), sum: 0 }
    }

    /// Runs until `end`; the bytes that were accessed.
    pub fn run(&mut self, end: Instant) -> u64 {
        let (mut bytes, mut steps) = (0, 1_usize);
        let mut last = Instant::now();
        while last < end {
            for _ in 0..steps {
                bytes += self.step();
            }
            let now = Instant::now();
            match now - last {
                took if took < CLOCK.start => steps = (steps * 2).min(1 << 16),
                took if took > CLOCK.end => steps = (steps / 2).max(1),
                _ => {}
            }
            last = now;
        }
        black_box(self.sum);
        bytes
    }

    /// A few accesses; how many bytes that was.
    #[inline]
    fn step(&mut self) -> u64 {
        if self.walk.block == 1 {
            return self.scattered();
        }
        let piece = self.walk.piece();
        let cells = &self.memory[piece.start / C::SIZE..piece.end / C::SIZE];
        if self.write {
            let page = &self.page[piece.start % PAGE / C::SIZE..];
            cells.iter().zip(page).for_each(|(cell, from)| cell.copy(from));
        } else {
            self.sum = cells.iter().fold(self.sum, |sum, cell| sum.wrapping_add(cell.read()));
        }
        (cells.len() * C::SIZE) as u64
    }

    /// Single units at random.
    #[inline]
    fn scattered(&mut self) -> u64 {
        for _ in 0..STEP {
            let at = self.walk.random.below(self.memory.len());
            if self.write {
                self.memory[at].copy(&self.page[at % self.page.len()]);
            } else {
                self.sum = self.sum.wrapping_add(self.memory[at].read());
            }
        }
        (STEP * C::SIZE) as u64
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::Ordering::Relaxed;
    use std::sync::atomic::{AtomicU8, AtomicU64};

    use swaptune_core::Bytes;
    use swaptune_core::measurement::MemoryData;
    use swaptune_host::sys::OwnRegion;

    use super::*;
    use crate::memory::cell::fill;

    fn pattern(order: MemoryOrder, write: bool, block: u64) -> Pattern {
        Pattern { data: MemoryData::High, order, write, block: Bytes(block), threads: 1 }
    }

    #[test]
    fn a_walk_covers_blocks_whole_and_never_leaves_the_memory() {
        let size = 5 * PAGE;
        for (order, block) in [
            (MemoryOrder::Sequential, 1),
            (MemoryOrder::Sequential, 2 * PAGE as u64),
            (MemoryOrder::Random, 24),
            (MemoryOrder::Random, 3 * PAGE as u64),
        ] {
            let mut walk = AccessWalk::new(&pattern(order, false, block), size, 1);
            let mut covered = 0;
            for _ in 0..1000 {
                let fresh = walk.left == 0;
                let piece = walk.piece();
                assert!(!piece.is_empty() && piece.end <= size && piece.start / PAGE == (piece.end - 1) / PAGE, "{piece:?}");
                assert!(!fresh || piece.start % walk.block == 0, "{piece:?}");
                covered += piece.len();
            }
            assert_eq!((covered + walk.left) % walk.block, 0);
        }
    }

    #[test]
    fn one_after_the_other_begins_again_at_the_end() {
        let mut walk = AccessWalk::new(&pattern(MemoryOrder::Sequential, false, 1), 2 * PAGE, 1);
        let starts: Vec<usize> = (0..5).map(|_| walk.piece().start).collect();
        assert_eq!(starts, [0, PAGE, 0, PAGE, 0]);
    }

    #[test]
    fn what_is_read_is_what_is_there() {
        let mut region = OwnRegion::new(2 * PAGE).unwrap();
        fill(MemoryData::Low, region.word_cells(), 1);
        let mut bytes = Loop::<AtomicU8>::new(region.byte_cells(), &pattern(MemoryOrder::Sequential, false, 1), 1);
        assert_eq!(bytes.step(), PAGE as u64);
        assert_eq!(bytes.sum, 28 * PAGE as u64 / 8, "0 + 1 + … + 7 in each word");
        let mut words = Loop::<AtomicU64>::new(region.word_cells(), &pattern(MemoryOrder::Random, false, 64), 1);
        assert_eq!(words.step(), 64);
        assert_eq!(words.sum, 0x0706_0504_0302_0100_u64.wrapping_mul(8));
    }

    #[test]
    fn what_is_written_keeps_the_content() {
        let mut region = OwnRegion::new(4 * PAGE).unwrap();
        let content: Vec<u8> = page::<AtomicU8>(MemoryData::High).iter().map(|cell| cell.load(Relaxed)).collect();
        for (order, block) in [(MemoryOrder::Random, 1), (MemoryOrder::Random, 24), (MemoryOrder::Sequential, 4096)] {
            region.bytes_mut().fill(0);
            let pattern = pattern(order, true, block);
            if block == 1 {
                let mut bytes = Loop::<AtomicU8>::new(region.byte_cells(), &pattern, 1);
                for _ in 0..10_000 {
                    bytes.step();
                }
            } else {
                let mut words = Loop::<AtomicU64>::new(region.word_cells(), &pattern, 1);
                for _ in 0..10_000 {
                    words.step();
                }
            }
            let wrong =
                region.bytes().chunks(PAGE).flat_map(|page| page.iter().zip(&content)).filter(|(found, wanted)| found != wanted);
            // A block at random may leave a rest at the end untouched.
            assert!(wrong.count() < 30, "{order:?} {block}");
        }
    }

    #[test]
    fn time_ends_a_loop_and_bytes_are_counted() {
        let mut region = OwnRegion::new(4 * PAGE).unwrap();
        let mut bytes = Loop::<AtomicU8>::new(region.byte_cells(), &pattern(MemoryOrder::Random, false, 1), 1);
        let count = bytes.run(Instant::now() + Duration::from_millis(5));
        assert!(count > 0 && count % STEP as u64 == 0);
        assert_eq!(bytes.run(Instant::now()), 0, "no time, no access");
    }
}
