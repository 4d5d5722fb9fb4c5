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

/// The curve as estimated from a share of the pages, 0.01 for one of a hundred; a rate of 1 or more gives the exact curve.
#[must_use]
pub fn sampled_curve(trace: &Trace, rate: f64) -> Curve {
    let threshold = (rate.clamp(0.0, 1.0) * f64::from(u32::MAX)) as u32;
    if threshold == u32::MAX {
        return super::exact_curve(trace);
    }
    let events = sample(trace, threshold);
    let depth = (0..trace.page_count()).filter(|&page| is_sampled(page, threshold)).count();
    let mut stack = Stack::new(trace.page_count(), depth as u32, events.len());
    let mut counted = 0;
    for (now, &(page, op)) in events.iter().enumerate() {
        counted += u64::from(op != Op::Free);
        stack.event(now, page, op);
    }
    let rate = f64::from(threshold) / 4_294_967_296.0;
    Curve { hits: stack.hits, counted, expected: accesses(trace) as f64 * rate, scale: 1.0 / rate }
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
