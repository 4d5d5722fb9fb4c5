//! Times of several things that were done in turn, and what they say.

use swaptune_core::stats::{median, median_interval};

/// Seconds of each thing in each round.
pub struct Rounds<const N: usize> {
    names: [&'static str; N],
    rounds: Vec<[f64; N]>,
}

impl<const N: usize> Rounds<N> {
    /// None yet.
    pub fn new(names: [&'static str; N]) -> Self {
        Self { names, rounds: Vec::new() }
    }

    /// One round.
    pub fn add(&mut self, seconds: [f64; N]) {
        self.rounds.push(seconds);
    }

    /// The median time of one thing.
    pub fn median(&self, which: usize) -> f64 {
        median(&self.rounds.iter().map(|round| round[which]).collect::<Vec<_>>()).unwrap_or(f64::NAN)
    }

    /// `work` per second of each: median, and the best.
    pub fn rates(&self, work: f64) -> String {
        let rate = |which: usize| {
            let best = self.rounds.iter().map(|round| round[which]).fold(f64::INFINITY, f64::min);
            format!("{} {:.1} (best {:.1})", self.names[which], work / self.median(which), work / best)
        };
        (0..N).map(rate).collect::<Vec<_>>().join(", ")
    }

    /// The median over rounds of how many times as long one took as the other, with an interval of at least 95 %.
    pub fn ratio(&self, of: usize, to: usize) -> String {
        let ratios: Vec<f64> = self.rounds.iter().map(|round| round[of] / round[to]).collect();
        median_interval(&ratios)
            .map_or_else(String::new, |ratio| format!("{:.1}× [{:.1}, {:.1}]", ratio.value, ratio.low, ratio.high))
    }
}
