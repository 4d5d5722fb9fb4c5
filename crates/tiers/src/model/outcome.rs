//! What a trace came to.

use super::counters::Counters;

/// Buckets in a power of two.
const FINE: u32 = 16;

/// Latencies in buckets of a sixteenth of a power of two: a quantile is at most 6.25 % too large.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Histogram {
    buckets: Vec<u64>,
    count: u64,
}

impl Default for Histogram {
    fn default() -> Self {
        Self { buckets: vec![0; (64 * FINE) as usize], count: 0 }
    }
}

impl Histogram {
    /// Adds `count` latencies of `nanos`.
    pub fn add(&mut self, nanos: u64, count: u64) {
        self.buckets[bucket(nanos)] += count;
        self.count += count;
    }

    /// How many there are.
    #[must_use]
    pub const fn count(&self) -> u64 {
        self.count
    }

    /// How many are in buckets that end beyond these nanoseconds: those by which [`Histogram::quantile`] may exceed them.
    #[must_use]
    pub fn beyond(&self, nanos: u64) -> u64 {
        let ends_beyond = |index: &usize| upper_end(*index as u32) > nanos;
        self.buckets[(0..self.buckets.len()).find(ends_beyond).unwrap_or(self.buckets.len())..].iter().sum()
    }

    /// The latency, in nanoseconds, that a share of all do not exceed; `None` when there are none.
    #[must_use]
    pub fn quantile(&self, share: f64) -> Option<u64> {
        let rank = ((self.count as f64 * share).ceil() as u64).clamp(1, self.count.max(1));
        let mut below = 0;
        let index = self.buckets.iter().position(|&count| {
            below += count;
            below >= rank
        })?;
        Some(upper_end(index as u32))
    }
}

fn bucket(nanos: u64) -> usize {
    if nanos < u64::from(FINE) {
        return nanos as usize;
    }
    let power = nanos.ilog2();
    let fraction = (nanos >> (power - FINE.ilog2())) as u32 - FINE;
    ((power - FINE.ilog2() + 1) * FINE + fraction) as usize
}

fn upper_end(bucket: u32) -> u64 {
    if bucket < FINE {
        return u64::from(bucket);
    }
    let (power, fraction) = (bucket / FINE - 1, u64::from(bucket % FINE + FINE));
    (((u128::from(fraction) + 1) << power) - 1).min(u128::from(u64::MAX)) as u64
}

/// What a trace came to under one setting.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Outcome {
    /// Nanoseconds from the first access wanted to the last one done.
    pub elapsed: u64,
    /// Nanoseconds that accesses waited for memory: reclaim on their way, and swap-in (as PSI's `some total` of memory).
    pub stall: u64,
    /// Nanoseconds of processor time that the kernel spent on swap, wherever it ran.
    pub system: u64,
    /// All counters.
    pub counters: Counters,
    /// Latency of each access.
    pub latency: Histogram,
    /// Most pages of RAM that zswap's pool held.
    pub pool_peak: u64,
    /// The event, counted from 0, at which neither RAM nor swap had room for a page. The trace ends there.
    pub out_of_memory: Option<u64>,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_bucket_contains_what_is_put_there() {
        for nanos in (0..70).chain([100, 1_000, 123_456, 10_000_000_000, u64::MAX]) {
            let end = upper_end(bucket(nanos) as u32);
            assert!(end >= nanos && (end - nanos) as f64 <= nanos as f64 / 16.0, "{nanos} in a bucket that ends at {end}");
        }
    }

    #[test]
    fn what_is_beyond_is_what_a_quantile_can_exceed() {
        let mut histogram = Histogram::default();
        (1..=200).for_each(|nanos| histogram.add(nanos * 100, 1));
        for limit in [0, 50, 100, 9_999, 10_000, 19_500, 20_000, 30_000] {
            let beyond = histogram.beyond(limit);
            for (share, allowed) in [(0.5, 100), (0.99, 2), (1.0, 0)] {
                assert_eq!(histogram.quantile(share).unwrap() > limit, beyond > allowed, "{share} within {limit}");
            }
        }
    }

    #[test]
    fn quantiles_count_from_below() {
        let mut histogram = Histogram::default();
        assert_eq!(histogram.quantile(0.5), None);
        histogram.add(10, 98);
        histogram.add(3_000, 2);
        assert_eq!((histogram.quantile(0.5), histogram.quantile(0.98)), (Some(10), Some(10)));
        assert_eq!(histogram.quantile(0.99), Some(3_071));
        assert_eq!(histogram.count(), 100);
    }
}
