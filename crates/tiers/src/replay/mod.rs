//! Replays: how many accesses of a trace miss a memory of so many pages under a policy. No costs, no tiers: the model has those.
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
pub use many::{Job, run_all};
pub use sampled::sampled_curve;
pub use sizes::{Sizes, SizesError};

/// A row of the table of policies.
#[derive(Clone, Copy, Debug)]
pub struct ReplayRow {
    /// Its name.
    pub name: &'static str,
    /// What it does, in one sentence.
    pub doc: &'static str,
    replay: fn(&Trace, u32) -> u64,
}

/// All policies that can be replayed without costs.
pub const REPLAYS: [ReplayRow; 3] = [
    ReplayRow { name: "lru", doc: "evicts the page whose last access is longest ago", replay: lru::misses },
    ReplayRow { name: "fifo", doc: "evicts the page that came in first", replay: fifo::misses },
    ReplayRow {
        name: "clock",
        doc: "evicts in the order of coming in, but a page that was accessed meanwhile gets another round",
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
        if size == 0 { accesses(trace) } else { (self.replay)(trace, size) }
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
