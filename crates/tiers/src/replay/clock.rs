//! Clock: a ring of pages and a hand, one reference bit a page, set by a hit and not by coming in.
//!
//! Several sizes are replayed in one pass: each has a ring and a hand of its own and one bit of the masks that every page has. A hit
//! in all of them is three operations, however many they are.

use std::ops::{BitAnd, BitOr, Not};

use super::log::ask_ahead;
use super::queue;
use crate::trace::Trace;

/// One bit for each size.
trait Mask: Copy + Default + PartialEq + BitAnd<Output = Self> + BitOr<Output = Self> + Not<Output = Self> {
    fn bit(lane: u32) -> Self;
    /// The lowest bit that is set; there must be one.
    fn lowest(self) -> u32;
}

impl Mask for u8 {
    #[inline(always)]
    fn bit(lane: u32) -> Self {
        1 << lane
    }

    #[inline(always)]
    fn lowest(self) -> u32 {
        self.trailing_zeros()
    }
}

impl Mask for u32 {
    #[inline(always)]
    fn bit(lane: u32) -> Self {
        1 << lane
    }

    #[inline(always)]
    fn lowest(self) -> u32 {
        self.trailing_zeros()
    }
}

/// What is known of a page.
#[derive(Clone, Copy, Default)]
struct ClockPage<M> {
    /// Sizes that hold it.
    held: M,
    /// Of those: memories that saw it hit since the hand passed.
    referenced: M,
}

/// The memory of one size.
struct ClockRing {
    pages: Vec<u32>,
    slots: usize,
    hand: usize,
    misses: u64,
}

/// Misses of memories of each of these sizes, none of them 0, at most 32.
pub(super) fn misses(trace: &Trace, sizes: &[u32]) -> Vec<u64> {
    if let Some(ops) = trace.frees() {
        return sizes.iter().map(|&size| queue::misses(trace, ops, size, true)).collect();
    }
    if sizes.len() == 1 { pass::<u8>(trace, sizes) } else { pass::<u32>(trace, sizes) }
}

fn pass<M: Mask>(trace: &Trace, sizes: &[u32]) -> Vec<u64> {
    let ring = |&size: &u32| {
        let slots = size.min(trace.page_count()) as usize;
        ClockRing { pages: Vec::with_capacity(slots), slots, hand: 0, misses: 0 }
    };
    let mut rings: Vec<ClockRing> = sizes.iter().map(ring).collect();
    let all = (0..sizes.len()).fold(M::default(), |all, lane| all | M::bit(lane as u32));
    let (mut known, pages) = (vec![ClockPage::<M>::default(); trace.page_count() as usize], trace.pages());
    for (now, &page) in pages.iter().enumerate() {
        ask_ahead(&known, pages, now);
        let ClockPage { held, referenced } = known[page as usize];
        known[page as usize] = ClockPage { held: all, referenced: referenced | held };
        let mut missing = all & !held;
        while missing != M::default() {
            let lane = missing.lowest();
            missing = missing & !M::bit(lane);
            rings[lane as usize].take(page, M::bit(lane), &mut known);
        }
    }
    rings.into_iter().map(|ring| ring.misses).collect()
}

impl ClockRing {
    /// A page comes in, and the first one under the hand goes that was not hit.
    #[inline(always)]
    fn take<M: Mask>(&mut self, page: u32, own: M, known: &mut [ClockPage<M>]) {
        self.misses += 1;
        if self.pages.len() < self.slots {
            self.pages.push(page);
            return;
        }
        loop {
            ask_ahead(known, &self.pages, self.hand);
            let (place, under) = (self.hand, &mut known[self.pages[self.hand] as usize]);
            self.hand = if place + 1 == self.slots { 0 } else { place + 1 };
            if under.referenced & own == M::default() {
                under.held = under.held & !own;
                self.pages[place] = page;
                return;
            }
            under.referenced = under.referenced & !own;
        }
    }
}
