//! The law of the limit: `max_pool_percent` follows the load.
//!
//! What comes back tells which part of RAM is too small. Pages that come from the swap disks while the pool is full would have been in it,
//! had it been larger; pages of files that come back would have stayed, had it been smaller. Time that tasks wait for memory says neither:
//! both make it. So the limit
//!
//! - **rises** by a step while the pool nears it, unless more comes back from files, or slots run out. Above the largest that a plan would set at
//!   the ratio that pages compress to now (docs/evidence/pool-limit.md) only while swap disks are read, and never above `limit_max_percent`: a plan
//!   leaves room for applications that it cannot see, and what is read tells that those which run need less;
//! - **falls** by a step while tasks wait and more comes back from files than from swap, at most to the configured one, or to `limit_max_percent` where
//!   that lies above, and to what the pool holds: a limit below the pool would send the hottest pages, those that are stored now, to the disk. What is in
//!   it already is the law of pacing's to take out;
//! - **goes back** to the configured one when the pool has fallen to half of that, for then it says nothing.
//!
//! After each move it waits. Below a configured limit that leaves RAM to run in it never goes: in guests a smaller one read more from the disk at each
//! number of services. A law that lowered the limit whenever tasks waited read 1.2 to 2.5 times as much as with the limit left alone
//! (docs/evidence/keep.md).

use serde::{Deserialize, Serialize};

use super::figures::Figures;
use super::moment::{Moment, Span};

/// Below this share of the configured limit the pool needs no other one, percent.
const HOME_PERCENT: u64 = 50;

/// Between what the limit may move, percent of RAM. All four are in order.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Bounds {
    /// Never below.
    pub floor: u64,
    /// What is configured, and is put back in the end.
    pub home: u64,
    /// Not above unless swap disks are read.
    pub planned: u64,
    /// Never above.
    pub ceiling: u64,
}

impl Bounds {
    /// The bounds around a configured limit. `largest` is the largest that a plan sets at this ratio.
    #[must_use]
    pub fn around(home: u64, largest: u64, figures: &Figures) -> Self {
        // What the administrator chose stands, wherever it lies.
        let ceiling = home.max(figures.limit_max_percent);
        Self { floor: home.min(figures.limit_max_percent), home, planned: home.max(largest.min(ceiling)), ceiling }
    }

    /// Where the limit may rise to at this moment.
    fn top(&self, figures: &Figures, span: &Span) -> u64 {
        if reads_disks(figures, span) { self.ceiling } else { self.planned }
    }
}

/// What the law remembers.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct LimitState {
    moved_ms: Option<u64>,
}

/// A move of the limit.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct LimitMove {
    /// Before, percent of RAM.
    pub from: u64,
    /// After.
    pub to: u64,
    /// Why, as one sentence.
    pub why: String,
}

impl LimitState {
    /// Whether and where the limit moves at this moment; `Err` says why it stays.
    pub fn decide(&mut self, figures: &Figures, bounds: Bounds, span: &Span, now: &Moment) -> Result<LimitMove, String> {
        let Some(stall) = span.memory_stall else {
            return Err("the kernel does not say how long tasks wait for memory (/proc/pressure/memory)".into());
        };
        let from = now.limit_percent;
        let (to, why) = wanted(figures, bounds, span, now, stall)?;
        if let Some(moved) = self.moved_ms.filter(|moved| now.at_ms < moved + figures.limit_every_s * 1000) {
            return Err(format!("it moved {} s ago", now.at_ms.saturating_sub(moved) / 1000));
        }
        self.moved_ms = Some(now.at_ms);
        Ok(LimitMove { from, to, why })
    }

    /// Whether the limit may still rise: until then the pool is not drained, for it may grow instead.
    #[must_use]
    pub fn may_rise(figures: &Figures, bounds: Bounds, span: &Span, now: &Moment) -> bool {
        now.limit_percent < bounds.top(figures, span) && shortage(figures, span, now).is_none()
    }
}

/// Where the limit should be, and why; `Err` where it is right.
fn wanted(figures: &Figures, bounds: Bounds, span: &Span, now: &Moment, stall: f64) -> Result<(u64, String), String> {
    let (from, step) = (now.limit_percent, figures.limit_step_percent);
    if let Some(why) = files_short(figures, span).filter(|_| stall >= figures.limit_lower_stall_us as f64) {
        let to = from.saturating_sub(step).max(bounds.floor).max(now.pool_percent());
        let why = format!("some task waits for memory {} of the time, and {why}", share(stall));
        let stays = || match from <= bounds.floor {
            true => format!("{why}, but it is at its smallest, {from} %"),
            false => format!("{why}, but the pool holds {}", now.pool),
        };
        return if to < from { Ok((to, why)) } else { Err(stays()) };
    }
    let full = now.pool.0 * 100 / now.limit().0.max(1);
    if from != bounds.home && now.pool < now.of_ram(bounds.home).percent(HOME_PERCENT) {
        return Ok((bounds.home, format!("the pool has fallen to {}: the configured limit is enough", now.pool)));
    }
    if full < figures.limit_raise_at_percent {
        return Err(format!("the pool fills {full} % of it, from {} % on it rises", figures.limit_raise_at_percent));
    }
    let top = bounds.top(figures, span);
    if from >= top {
        let unless = if top < bounds.ceiling { " unless swap disks are read" } else { "" };
        return Err(format!("it is at its largest, {top} %{unless}"));
    }
    match shortage(figures, span, now) {
        Some(why) => Err(format!("the pool fills {full} % of it, but {why}")),
        None => Ok(((from + step).min(top), format!("the pool fills {full} % of it{}", from_swap(span)))),
    }
}

/// Why a larger pool would not help.
fn shortage(figures: &Figures, span: &Span, now: &Moment) -> Option<String> {
    if now.swap_free < now.swap.percent(5) {
        return Some(format!("only {} of swap are free, and each page in the pool keeps a slot", now.swap_free));
    }
    files_short(figures, span)
}

/// Whether more pages come from swap disks than a machine at rest has, and more than of files.
fn reads_disks(figures: &Figures, span: &Span) -> bool {
    span.swapped_in > figures.limit_refaults as f64 && span.swapped_in > span.refaults
}

/// Says that the rest of RAM is the part that is too small, when it is.
fn files_short(figures: &Figures, span: &Span) -> Option<String> {
    let is_short = span.refaults > figures.limit_refaults as f64 && span.refaults > span.swapped_in;
    is_short.then(|| format!("{:.0} pages of files a second come back, {:.0} from swap disks", span.refaults, span.swapped_in))
}

/// What a larger pool would have kept, as the end of a sentence.
fn from_swap(span: &Span) -> String {
    if span.swapped_in < 1.0 {
        String::new()
    } else {
        format!(", and {:.0} pages a second come from swap disks", span.swapped_in)
    }
}

/// Microseconds of a second as a share.
pub(super) fn share(us: f64) -> String {
    format!("{:.1} %", us / 10_000.0)
}

/// The same of a figure.
pub(super) fn share_of(us: u64) -> String {
    share(us as f64)
}
