//! Miss-ratio curves: the misses of least recently used for every size of memory at once.
//!
//! Richard Mattson's stack: an access hits every memory that is larger than the number of other pages accessed since the page's
//! last access. That number is counted among the positions of last accesses. A page that is given back leaves a hole, which the
//! next page that comes from further down fills; holes count like pages until they are filled.

use std::collections::BinaryHeap;

use super::positions::Positions;
use super::{accesses, log::ask_ahead};
use crate::trace::{Op, Trace};

/// Misses as a function of the size of memory.
#[derive(Clone, Debug, PartialEq)]
pub struct Curve {
    /// How many accesses found their page at each depth of the stack, from 1; deeper ones, and first accesses, miss.
    pub(super) hits: Vec<u32>,
    /// Accesses that are in the stack, and how many should be.
    pub(super) counted: u64,
    /// As many for an exact curve, n × R for a sampled one.
    pub(super) expected: f64,
    /// Pages of the trace for a page of the stack: 1 for an exact curve, 1 / R for a sampled one.
    pub(super) scale: f64,
}

impl Curve {
    /// Share of accesses that miss, for each of these sizes in pages.
    #[must_use]
    pub fn miss_ratios(&self, sizes: &[u32]) -> Vec<f64> {
        let mut sum = 0;
        let hits: Vec<u64> = self
            .hits
            .iter()
            .map(|&hits| {
                sum += u64::from(hits);
                sum
            })
            .collect();
        let ratio = |&size: &u32| {
            if size == 0 || self.expected == 0.0 {
                return if self.expected == 0.0 { 0.0 } else { 1.0 };
            }
            // A page with k others above it in the stack has about k × scale in the trace.
            let depth = (f64::from(size - 1) / self.scale) as usize + 1;
            let hit = hits.get(depth).or(hits.last()).copied().unwrap_or(0);
            ((self.counted - hit) as f64 / self.expected).clamp(0.0, 1.0)
        };
        sizes.iter().map(ratio).collect()
    }

    /// Accesses that miss, for each of these sizes in pages; of a sampled curve, an estimate.
    #[must_use]
    pub fn misses(&self, sizes: &[u32]) -> Vec<u64> {
        let accesses = self.expected * self.scale;
        self.miss_ratios(sizes).iter().map(|ratio| (ratio * accesses).round() as u64).collect()
    }
}

/// The exact curve of a trace.
#[must_use]
pub fn exact_curve(trace: &Trace) -> Curve {
    let mut stack = Stack::new(trace.page_count(), trace.page_count(), trace.len());
    let pages = trace.pages();
    match trace.frees() {
        None => pages.iter().enumerate().for_each(|(now, &page)| {
            ask_ahead(&stack.last, pages, now);
            stack.access(now, page);
        }),
        Some(ops) => pages.iter().zip(ops).enumerate().for_each(|(now, (&page, &op))| stack.event(now, page, op)),
    }
    let counted = accesses(trace);
    Curve { hits: stack.hits, counted, expected: counted as f64, scale: 1.0 }
}

/// The stack of pages, the one with the newest access on top.
pub(super) struct Stack {
    /// Position, from 1, of each page's newest access; 0 when there is none.
    last: Vec<u32>,
    /// Positions of newest accesses and of holes.
    held: Positions,
    /// Positions of holes.
    holes: BinaryHeap<u32>,
    /// How many accesses found their page at each depth, from 1.
    pub(super) hits: Vec<u32>,
}

impl Stack {
    /// For pages below `pages`, at most `depth` of them, and this many events.
    pub(super) fn new(pages: u32, depth: u32, events: usize) -> Self {
        let (last, hits) = (vec![0; pages as usize], vec![0; depth as usize + 1]);
        Self { last, held: Positions::new(events), holes: BinaryHeap::new(), hits }
    }

    /// Event number `now`, from 0.
    pub(super) fn event(&mut self, now: usize, page: u32, op: Op) {
        if op == Op::Free {
            let last = std::mem::take(&mut self.last[page as usize]);
            if last > 0 {
                self.holes.push(last - 1);
            }
        } else {
            self.access(now, page);
        }
    }

    #[inline(always)]
    fn access(&mut self, now: usize, page: u32) {
        let before = std::mem::replace(&mut self.last[page as usize], now as u32 + 1);
        if before > 0 {
            let position = before as usize - 1;
            // One more than the number of pages and holes above it.
            let depth = self.held.count_beyond(position, now) + 1;
            self.hits[depth as usize] += 1;
            self.leave(position);
        } else if let Some(hole) = self.holes.pop() {
            self.held.remove(hole as usize);
        }
        self.held.insert(now);
    }

    /// A page goes from `position` to the top: it fills the topmost hole above it and leaves one where it was.
    fn leave(&mut self, position: usize) {
        match self.holes.peek_mut() {
            Some(mut hole) if *hole as usize > position => {
                self.held.remove(*hole as usize);
                *hole = position as u32;
            }
            _ => self.held.remove(position),
        }
    }
}
