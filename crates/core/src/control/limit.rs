//! The law of the limit: `max_pool_percent` follows the load.
//!
//! A fixed limit is a compromise (docs/evidence/pool-limit.md): a large one holds more idle applications and leaves too little RAM to run
//! in when they wake, a small one is robust and sends pages to the disk that would have fitted. So the limit
//!
//! - **rises** by a step while the pool nears it and the rest of RAM is not short: hardly any stall, hardly any pages from disks, RAM
//!   available beyond a reserve, slots left. Never above the largest that leaves RAM to run in at the ratio that pages compress to now;
//! - **falls** by a step while tasks stall, at most to what the pool holds: a limit below the pool would send the hottest pages, those
//!   that are stored now, to the disk. What is in it already is the law of pacing's to take out;
//! - **goes back** to the configured one when the pool has fallen to half of that, for then it says nothing.
//!
//! Between the two bounds on stall nothing moves, and after each move it waits: that is the hysteresis.

use serde::{Deserialize, Serialize};

use super::figures::Figures;
use super::moment::{Moment, Span};

/// Below this share of the configured limit the pool needs no other one, percent.
const HOME_PERCENT: u64 = 50;

/// Between what the limit may move, percent of RAM. All three are in order.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Bounds {
    /// Never below.
    pub floor: u64,
    /// What is configured, and is put back in the end.
    pub home: u64,
    /// Never above.
    pub ceiling: u64,
}

impl Bounds {
    /// The bounds around a configured limit. `largest` is the largest that leaves RAM to run in, `smallest` the kernel's own.
    #[must_use]
    pub fn around(home: u64, smallest: u64, largest: u64, figures: &Figures) -> Self {
        // What the administrator chose stands, wherever it lies.
        Self { floor: home.min(smallest), home, ceiling: home.max(largest.min(figures.limit_max_percent)) }
    }
}

/// What the law remembers.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Limit {
    moved_ms: Option<u64>,
}

/// A move of the limit.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Move {
    /// Before, percent of RAM.
    pub from: u64,
    /// After.
    pub to: u64,
    /// Why, as one sentence.
    pub why: String,
}

impl Limit {
    /// Whether and where the limit moves at this moment; `Err` says why it stays.
    pub fn decide(&mut self, figures: &Figures, bounds: Bounds, span: &Span, now: &Moment) -> Result<Move, String> {
        let Some(stall) = span.memory_stall else {
            return Err("the kernel does not say how long tasks wait for memory (/proc/pressure/memory)".into());
        };
        let from = now.limit_percent;
        let (to, why) = wanted(figures, bounds, span, now, stall)?;
        if let Some(moved) = self.moved_ms.filter(|moved| now.at_ms < moved + figures.limit_every_s * 1000) {
            return Err(format!("it moved {} s ago", now.at_ms.saturating_sub(moved) / 1000));
        }
        self.moved_ms = Some(now.at_ms);
        Ok(Move { from, to, why })
    }

    /// Whether the limit may still rise: until then the pool is not drained, for it may grow instead.
    #[must_use]
    pub fn may_rise(figures: &Figures, bounds: Bounds, span: &Span, now: &Moment) -> bool {
        now.limit_percent < bounds.ceiling && shortage(figures, span, now).is_none()
    }
}

/// Where the limit should be, and why; `Err` where it is right.
fn wanted(figures: &Figures, bounds: Bounds, span: &Span, now: &Moment, stall: f64) -> Result<(u64, String), String> {
    let (from, step) = (now.limit_percent, figures.limit_step_percent);
    if stall >= figures.limit_lower_stall_us as f64 {
        let to = from.saturating_sub(step).max(bounds.floor).max(now.pool_percent());
        let why = format!(
            "some task waits for memory {} of the time, from {} on it falls",
            share(stall),
            share_of(figures.limit_lower_stall_us)
        );
        return if to < from { Ok((to, why)) } else { Err(format!("{why}, but no further: the pool holds {}", now.pool)) };
    }
    let full = now.pool.0 * 100 / now.limit().0.max(1);
    if from != bounds.home && now.pool < now.of_ram(bounds.home).percent(HOME_PERCENT) {
        return Ok((bounds.home, format!("the pool has fallen to {}: the configured limit is enough", now.pool)));
    }
    if full < figures.limit_raise_at_percent {
        return Err(format!("the pool fills {full} % of it, from {} % on it rises", figures.limit_raise_at_percent));
    }
    if from >= bounds.ceiling {
        return Err(format!("it is at its largest, {} %", bounds.ceiling));
    }
    match shortage(figures, span, now) {
        Some(why) => Err(format!("the pool fills {full} % of it, but {why}")),
        None => Ok(((from + step).min(bounds.ceiling), format!("the pool fills {full} % of it and RAM is not short"))),
    }
}

/// Why the rest of RAM is too short for a larger pool.
fn shortage(figures: &Figures, span: &Span, now: &Moment) -> Option<String> {
    let stall = span.memory_stall.unwrap_or(f64::MAX);
    let reserve = now.ram.percent(figures.limit_reserve_percent);
    let from_disk = span.swapped_in + span.refaults;
    if stall > figures.limit_raise_stall_us as f64 {
        Some(format!("some task waits for memory {} of the time", share(stall)))
    } else if now.available < reserve {
        Some(format!("{} of RAM are available, less than {reserve}", now.available))
    } else if from_disk > figures.limit_refaults as f64 {
        Some(format!("{from_disk:.0} pages a second come back from disks"))
    } else if now.swap_free < now.swap.percent(5) {
        Some(format!("only {} of swap are free, and each page in the pool keeps a slot", now.swap_free))
    } else {
        None
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
