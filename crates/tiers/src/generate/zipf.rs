//! Independent requests whose frequencies follow Zipf's law: the reference traces.
//!
//! Exactly reproducible in any language: SplitMix64 from the seed; first a Fisher–Yates shuffle of the pages (i from m − 1
//! down to 1, j = random mod (i + 1)); then for each request u = (random >> 11) / 2^53 × T, where T is the last of the
//! cumulative sums c of 1/k^θ for k = 1…m, and the page is that of the first k with c ≥ u.

use rand_xoshiro::SplitMix64;
use rand_xoshiro::rand_core::{Rng, SeedableRng};

use super::{GeneratorRow, GeneratorValues, ParameterRow, SEED};
use crate::trace::{Event, Trace, TraceError, intern::Interner};

/// Requests a second of the trace's own time.
const NANOS_PER_REQUEST: u64 = 1_000;

pub(super) const ROW: GeneratorRow = GeneratorRow {
    name: "zipf",
    doc: "independent reads, page k of the ranking with a frequency of 1/k^theta, a microsecond apart; the reference traces",
    parameters: &[
        ParameterRow { name: "pages", default: "1M", min: 1.0, max: 268_435_456.0, doc: "pages that can be asked for" },
        ParameterRow { name: "events", default: "20M", min: 1.0, max: 4e9, doc: "requests" },
        ParameterRow { name: "theta", default: "1", min: 0.0, max: 10.0, doc: "skew; 0 is uniform" },
        SEED,
    ],
    make,
};

fn make(values: &GeneratorValues) -> Result<Trace, TraceError> {
    let (pages, events) = (values.count("pages"), values.whole("events"));
    let mut random = SplitMix64::seed_from_u64(values.whole("seed"));
    let ids = shuffled(pages, &mut random);
    let ranks = Ranks::new(pages, values.float("theta"));
    let (mut interner, mut builder, mut number) = (Interner::default(), values.builder(), Vec::with_capacity(1));
    for event in 0..events {
        let share = (random.next_u64() >> 11) as f64 / (1u64 << 53) as f64;
        let id = ids[ranks.of(share * ranks.total())];
        number.clear();
        interner.number_all(&[u64::from(id)], &mut number);
        builder.push(Event { page: number[0], time: event * NANOS_PER_REQUEST, ..Event::default() })?;
    }
    builder.finish(Some(interner.len()))
}

fn shuffled(pages: u32, random: &mut SplitMix64) -> Vec<u32> {
    let mut ids: Vec<u32> = (0..pages).collect();
    for i in (1..ids.len()).rev() {
        ids.swap(i, (random.next_u64() % (i as u64 + 1)) as usize);
    }
    ids
}

/// Cumulative sums, and for each of as many equal parts of their range the first rank that can be in it.
struct Ranks {
    sums: Vec<f64>,
    first: Vec<u32>,
}

impl Ranks {
    fn new(pages: u32, theta: f64) -> Self {
        let mut sum = 0.0;
        let sums: Vec<f64> = (1..=pages)
            .map(|k| {
                sum += 1.0 / f64::from(k).powf(theta);
                sum
            })
            .collect();
        let mut this = Self { first: Vec::with_capacity(sums.len()), sums };
        let mut rank = 0;
        for part in 0..this.sums.len() {
            let start = part as f64 / this.sums.len() as f64 * this.total();
            while this.sums[rank] < start {
                rank += 1;
            }
            this.first.push(rank as u32);
        }
        this
    }

    fn total(&self) -> f64 {
        self.sums.last().copied().unwrap_or(0.0)
    }

    /// The first rank, from 0, whose sum is not below `value`. The table only says where to begin: rounding cannot change the result.
    fn of(&self, value: f64) -> usize {
        let part = (value / self.total() * self.sums.len() as f64) as usize;
        let mut rank = self.first[part.min(self.first.len() - 1)] as usize;
        while rank > 0 && self.sums[rank - 1] >= value {
            rank -= 1;
        }
        while rank + 1 < self.sums.len() && self.sums[rank] < value {
            rank += 1;
        }
        rank
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn random_numbers_are_those_of_the_published_generator() {
        // First outputs for the seed 1234567, as published with the algorithm's C source.
        let mut random = SplitMix64::seed_from_u64(1_234_567);
        let first = [random.next_u64(), random.next_u64(), random.next_u64()];
        assert_eq!(first, [6_457_827_717_110_365_317, 3_203_168_211_198_807_973, 9_817_491_932_198_370_423]);
    }

    #[test]
    fn ranks_are_those_of_a_search_through_all_sums() {
        let ranks = Ranks::new(1000, 0.9);
        let mut random = SplitMix64::seed_from_u64(3);
        for _ in 0..20_000 {
            let value = (random.next_u64() >> 11) as f64 / (1u64 << 53) as f64 * ranks.total();
            assert_eq!(ranks.of(value), ranks.sums.partition_point(|&sum| sum < value));
        }
        assert_eq!((ranks.of(0.0), ranks.of(ranks.total())), (0, 999));
    }

    #[test]
    fn frequencies_fall_as_they_should() {
        let trace = super::super::generate("zipf:pages=100,events=200000").unwrap();
        let mut counts = vec![0u32; 100];
        trace.pages().iter().for_each(|&page| counts[page as usize] += 1);
        counts.sort_unstable_by(|a, b| b.cmp(a));
        // The harmonic number of 100 is 5.187.
        let expected = 200_000.0 / 5.187;
        for (rank, share) in [(0, 1.0), (1, 0.5), (9, 0.1)] {
            let ratio = f64::from(counts[rank]) / (expected * share);
            assert!((0.95..1.05).contains(&ratio), "rank {rank}: {ratio}");
        }
    }
}
