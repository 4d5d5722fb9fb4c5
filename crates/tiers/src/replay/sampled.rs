//! Miss-ratio curves from a sample of the pages: SHARDS (Waldspurger et al., FAST '15) with a fixed rate.
//!
//! A page is in the sample when a hash of its number is below the rate R; all its accesses then are. A stack distance among
//! sampled pages is R times the true one. Hits are divided by the accesses that a sample of this rate *should* have, n × R,
//! and the difference to those that it has counts as hits at the smallest distance: a page of a skewed trace that is very hot
//! and happens to be in the sample or not would otherwise shift the whole curve (the paper's SHARDS-adj).
//!
//! The hash is the page's number times the golden ratio, modulo 1. It spreads numbers next to each other more evenly than chance:
//! numbers follow the order of first accesses, in which hot pages come early, so the sample has its share of hot and of cold ones.

use super::accesses;
use super::curve::{Curve, Stack};
use crate::trace::{Op, Trace};

/// 2^32 divided by the golden ratio, as an odd number.
const GOLDEN: u32 = 0x9e37_79b9;

/// Pages of the sample that a memory should hold. With fewer the few pages that are as hot as the last one that fits decide, of which a
/// sample holds too many or too few: with 10 the error is two points and more, with 400 one to two, with 6400 less than half a point
/// (Zipf's law with 0.8 to 1.1, see the test).
const FEW: u32 = 6400;
/// The smallest share of the pages that is looked at, and the largest: with more, counting all takes no longer.
const LEAST: f64 = 0.01;
const MOST: f64 = 0.32;

/// Share of accesses that miss memories of these sizes in pages, from as small a share of the pages as leaves `FEW` of them in each
/// memory: small ones are looked at more closely. `None` where that would be nearly all pages; then [`super::exact_curve`] is what
/// is wanted.
#[must_use]
pub fn sampled_ratios(trace: &Trace, sizes: &[u32]) -> Option<Vec<f64>> {
    let rates = sizes.iter().map(|size| rate_for(*size)).collect::<Option<Vec<f64>>>()?;
    let mut ratios = vec![0.0; sizes.len()];
    let mut rate = LEAST;
    while rate <= MOST {
        let places: Vec<usize> = (0..sizes.len()).filter(|place| rates[*place] == rate).collect();
        if !places.is_empty() {
            let own: Vec<u32> = places.iter().map(|place| sizes[*place]).collect();
            let found = sampled_curve(trace, rate).miss_ratios(&own);
            places.into_iter().zip(found).for_each(|(place, ratio)| ratios[place] = ratio);
        }
        rate *= 2.0;
    }
    Some(ratios)
}

/// The smallest rate, of those that double from [`LEAST`], with which a memory holds [`FEW`] pages of the sample.
fn rate_for(size: u32) -> Option<f64> {
    let mut rates = std::iter::successors(Some(LEAST), |rate| Some(rate * 2.0)).take_while(|rate| *rate <= MOST);
    rates.find(|rate| rate * f64::from(size) >= f64::from(FEW))
}

/// The curve as estimated from a share of the pages, 0.01 for one of a hundred; a rate of 1 or more gives the exact curve.
#[must_use]
pub fn sampled_curve(trace: &Trace, rate: f64) -> Curve {
    let threshold = threshold(rate);
    if threshold == u32::MAX {
        return super::exact_curve(trace);
    }
    let events = sample(trace, threshold);
    let mut stack = Stack::new(trace.page_count(), sampled_pages(trace, rate), events.len());
    let mut counted = 0;
    for (now, &(page, op)) in events.iter().enumerate() {
        counted += u64::from(op != Op::Free);
        stack.event(now, page, op);
    }
    let rate = f64::from(threshold) / 4_294_967_296.0;
    Curve { hits: stack.hits, counted, expected: accesses(trace) as f64 * rate, scale: 1.0 / rate }
}

/// How many pages such a sample has: what it says of a trace rests on them.
#[must_use]
pub fn sampled_pages(trace: &Trace, rate: f64) -> u32 {
    match threshold(rate) {
        u32::MAX => trace.page_count(),
        threshold => (0..trace.page_count()).filter(|&page| is_sampled(page, threshold)).count() as u32,
    }
}

/// Hashes below this one are in the sample: at least one, that of page 0, for a curve of no pages would have no misses.
fn threshold(rate: f64) -> u32 {
    ((rate.clamp(0.0, 1.0) * f64::from(u32::MAX)) as u32).max(1)
}

#[inline(always)]
fn is_sampled(page: u32, threshold: u32) -> bool {
    page.wrapping_mul(GOLDEN) < threshold
}

/// The events of sampled pages.
fn sample(trace: &Trace, threshold: u32) -> Vec<(u32, Op)> {
    let sampled = |&page: &u32| is_sampled(page, threshold);
    match trace.frees() {
        None => trace.pages().iter().copied().filter(sampled).map(|page| (page, Op::Read)).collect(),
        Some(ops) => trace.pages().iter().copied().zip(ops.iter().copied()).filter(|(page, _)| sampled(page)).collect(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::generate::generate;
    use crate::replay::exact_curve;

    /// Largest error in points, over sizes for which a sample is taken.
    fn worst(spec: &str) -> (f64, usize) {
        let trace = generate(spec).unwrap();
        let shares = (0..8).map(|step| 0.15 * 6f64.powf(f64::from(step) / 7.0));
        let sizes: Vec<u32> =
            shares.map(|share| (f64::from(trace.page_count()) * share) as u32).filter(|&size| rate_for(size).is_some()).collect();
        let exact = exact_curve(&trace).miss_ratios(&sizes);
        let found = sampled_ratios(&trace, &sizes).unwrap();
        (found.iter().zip(exact).map(|(a, b)| (a - b).abs() * 100.0).fold(0.0, f64::max), sizes.len())
    }

    /// What the help says of it. A fixed rate of 1 % is off by one to two points there.
    #[test]
    fn an_estimate_is_within_half_a_point() {
        for spec in [
            "zipf:pages=150k,events=500k,theta=0.8",
            "zipf:pages=150k,events=500k,theta=0.9,seed=2",
            "zipf:pages=150k,events=500k,theta=1,seed=3",
            "heap:ram=60k,percent=150,events=300k",
        ] {
            let (worst, sizes) = worst(spec);
            assert!(worst < 0.5 && sizes >= 4, "{spec}: {worst} points at {sizes} sizes");
        }
    }

    #[test]
    fn a_sample_is_never_of_no_pages() {
        let trace = generate("zipf:pages=2000,events=20000").unwrap();
        let of = |rate| sampled_pages(&trace, rate);
        assert_eq!((of(0.0), of(1.0)), (1, trace.page_count()));
        let tenth = f64::from(trace.page_count()) / 10.0;
        assert!((f64::from(of(0.1)) - tenth).abs() < 3.0, "{} of {}", of(0.1), trace.page_count());
        assert_ne!(sampled_curve(&trace, 1e-12).miss_ratios(&[100]), [0.0]);
    }

    #[test]
    fn small_memories_are_looked_at_more_closely_and_the_smallest_counted() {
        assert_eq!((rate_for(10_000_000), rate_for(640_000), rate_for(639_999)), (Some(0.01), Some(0.01), Some(0.02)));
        assert_eq!((rate_for(20_000), rate_for(19_999), rate_for(1)), (Some(0.32), None, None));
        let trace = generate("hold:pages=1").unwrap();
        assert_eq!(sampled_ratios(&trace, &[1]), None, "one page is counted, not estimated from a hundred that are not there");
    }
}
