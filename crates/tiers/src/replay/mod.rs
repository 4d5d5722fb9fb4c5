//! Exact replay: how many accesses of a trace miss a memory of a given size under a policy. No costs, no tiers: those are the
//! business of [`crate::model`], which shares nothing with this module but the trace.
//!
//! All are exact. An access to a page that is not in memory is a miss and brings it there; [`Op::Free`] takes it away and is
//! no access. What is known about a page is one word, so that a memory of ten million pages still fits near the processor.

mod clock;
mod curve;
mod fifo;
mod log;
mod lru;
mod many;
mod positions;
mod queue;
mod sampled;
mod sizes;

use crate::trace::{Op, Trace};

pub use curve::{Curve, exact_curve};
pub use many::{ReplayJob, run_all};
pub use sampled::{sampled_curve, sampled_pages, sampled_ratios};
pub use sizes::{Sizes, SizesError};

/// A row of the table of policies.
#[derive(Clone, Copy, Debug)]
pub struct ReplayRow {
    /// Its name.
    pub name: &'static str,
    /// What it does, in one sentence.
    pub doc: &'static str,
    /// Sizes that are replayed together at most; all of them where a curve answers for all.
    together: usize,
    /// Misses of each size; none is 0, and they are not more than `together`.
    replay: fn(&Trace, &[u32]) -> Vec<u64>,
}

/// All policies that can be replayed without costs.
pub const REPLAYS: [ReplayRow; 3] = [
    ReplayRow { name: "lru", doc: "evicts the page whose last access is longest ago", together: usize::MAX, replay: lru::misses },
    ReplayRow { name: "fifo", doc: "evicts the page that came in first", together: fifo::TOGETHER, replay: fifo::misses },
    ReplayRow {
        name: "clock",
        doc: "evicts in the order of coming in, but a page that was accessed meanwhile gets another round",
        together: u32::BITS as usize,
        replay: clock::misses,
    },
];

impl ReplayRow {
    /// The policy of this name.
    #[must_use]
    pub fn named(name: &str) -> Option<&'static Self> {
        REPLAYS.iter().find(|row| row.name == name)
    }

    /// How many accesses miss a memory of `size` pages.
    #[must_use]
    pub fn misses(&self, trace: &Trace, size: u32) -> u64 {
        self.misses_of(trace, &[size])[0]
    }

    /// The same for each of several sizes, in as few passes over the trace as the policy allows.
    #[must_use]
    pub fn misses_of(&self, trace: &Trace, sizes: &[u32]) -> Vec<u64> {
        let real: Vec<u32> = sizes.iter().copied().filter(|&size| size > 0).collect();
        let mut found = real.chunks(self.together).flat_map(|sizes| (self.replay)(trace, sizes));
        let mut next = |&size: &u32| if size == 0 { None } else { found.next() };
        sizes.iter().map(|size| next(size).unwrap_or_else(|| accesses(trace))).collect()
    }
}

/// How many events are accesses: all but those that give a page back.
#[must_use]
pub fn accesses(trace: &Trace) -> u64 {
    let frees = trace.frees().map_or(0, |ops| ops.iter().filter(|&&op| op == Op::Free).count());
    (trace.len() - frees) as u64
}

#[cfg(test)]
mod naive;
#[cfg(test)]
mod tests;
