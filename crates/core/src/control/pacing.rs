//! The law of pacing: the pool is kept below its limit, in quiet times, by the kernel's own write-back.
//!
//! At the limit zswap refuses what is swapped out now, the hottest pages, and sends it to the disk, while what has lain in the pool for
//! hours stays. No kernel writes back before that point. But any refused store wakes its worker, which then takes the oldest entries of
//! each group in turn until the pool is below the accept threshold. So in a **burst** of half a second at most the limit is lowered to
//! what the pool holds, the threshold put to where the burst shall end, and pages that must not be written, canaries, are offered one
//! after the other: each is refused and wakes the worker.
//!
//! While a burst goes on, pages of others are refused too. So it begins only when there is no paging and little waiting for I/O, ends at
//! once when there is any, and then all is left alone for a while (500 ms: row D6 of the series of 2024 that asked for this). It begins
//! above a start threshold, at a limit that cannot rise any more, and takes a small part of the pool, the next burst the next, down to a
//! target. A worker that has started goes on to its threshold, so that this part is what a burst may cost: it grows while the disk has
//! taken it by the next look and shrinks where it has not, and no burst begins while pages are still written. All that zswap writes back is
//! counted, and a day has a budget. Before Linux 6.8, and with groups of version 1, nothing keeps a canary that was refused from the disk:
//! there it counts as well.
//!
//! Bursts may write nothing: since 6.12 the worker's first visit to an entry only ends its second chance, and groups with
//! `memory.zswap.writeback` 0 are passed over. Once enough canaries were offered for the worker to have visited each entry twice,
//! the pool is left alone, for a minute and then twice as long each time, up to an hour.

use serde::{Deserialize, Serialize};

use super::budget::Budget;
use super::figures::Figures;
use super::limit::{share, share_of};
use super::moment::{Moment, Span, Stalled};
use crate::units::Bytes;

/// A burst begins only with this much of the budget.
const LEAST: Bytes = Bytes::from_mib(1);

/// What a burst leaves of the budget where canaries are written: what they and the worker may write from one look to the next (assumed; some
/// 200 canaries, each of which may have a few pages written back).
const MARGIN: Bytes = Bytes::from_mib(8);

/// Up to this, what is under write is no queue of the disk, and what was written back since a burst is none of it: each run of the worker
/// takes a page at least (assumed).
const QUEUED: Bytes = Bytes::from_mib(1);

/// Limits of a burst are at most this many times what it takes, so that the threshold, a percentage of them, has steps of a quarter of that
/// where a percent of RAM is no more.
const STEPS: u64 = 25;

/// Entries in a row that the worker visits without success before it ends (`MAX_RECLAIM_RETRIES` of mm/zswap.c).
const RETRIES: u64 = 16;
/// How long the pool is left alone when nothing of it can be written back, ms: at first, and at most.
const REST_MS: (u64, u64) = (60_000, 3_600_000);

/// How a kernel answers a store that it refuses above the limit, and where the refused page goes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum WorkerKind {
    /// It writes back down to the threshold; a canary is kept from the disk (Linux 6.8).
    #[default]
    Kept,
    /// It writes back down to the threshold; a canary goes to the disk, and one may be enough (Linux 6.5 to 6.7, later with groups of version 1).
    ToThreshold,
    /// It writes one page back, and none between the threshold and the limit; a canary goes to the disk (Linux 6.2 to 6.4).
    OnePage,
}

impl WorkerKind {
    /// Whether canaries go to the disk.
    #[must_use]
    pub fn writes_canaries(self) -> bool {
        self != Self::Kept
    }

    /// How canaries are offered next; `writes`: the worker has written pages back since it was looked at last.
    #[must_use]
    pub fn pace(self, writes: bool) -> CanaryPace {
        match (self, writes) {
            (Self::Kept | Self::OnePage, _) => CanaryPace::Fast,
            (Self::ToThreshold, true) => CanaryPace::Slow,
            (Self::ToThreshold, false) => CanaryPace::Steady,
        }
    }
}

/// How fast canaries follow each other.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CanaryPace {
    /// As fast as the worker can answer them: a refused one costs nothing, or each has but one page written back.
    Fast,
    /// Each is written, and the worker has written nothing back: since Linux 6.12 its first visits only end second chances, and it gives up
    /// after 16 of them in a row.
    Steady,
    /// Each is written, and the worker is at work: another only in case that it gives up.
    Slow,
}

/// One burst: how the limits are set for it, and where it ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Burst {
    /// `max_pool_percent` while it goes on.
    pub limit_percent: u64,
    /// `accept_threshold_percent` while it goes on: above 100 where the limit lies below where the burst shall end.
    pub accept_percent: u64,
    /// Size of the pool at which it ends: the threshold that follows from the two.
    pub target: Bytes,
    /// What it may write in all.
    pub allowed: Bytes,
    /// When it ends at the latest, ms since boot.
    pub until_ms: u64,
    /// How the kernel answers canaries.
    pub worker: WorkerKind,
}

/// What the law remembers.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Pacing {
    hold_until_ms: u64,
    draining: bool,
    /// What the next burst takes from the pool; nothing: none has written yet.
    chunk: Bytes,
    /// Pages that zswap had written back at the last look.
    zswpwb: Option<u64>,
    /// Whether the last burst reached its target, until the disk has shown what it makes of it.
    reached: Option<bool>,
    budget: Budget,
    fruitless: Fruitless,
}

/// Bursts in a row that wrote nothing.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
struct Fruitless {
    /// Pages that zswap had written back before them.
    zswpwb: u64,
    /// Canaries that they offered.
    canaries: u64,
    /// How long the pool was left alone last for that, ms.
    rest_ms: u64,
    /// Until when it is.
    until_ms: u64,
}

impl Pacing {
    /// Takes over the budget of an earlier run in the same boot.
    #[must_use]
    pub fn with_budget(budget: Budget) -> Self {
        Self { budget, ..Self::default() }
    }

    /// What was written, by hour.
    #[must_use]
    pub fn budget(&self) -> &Budget {
        &self.budget
    }

    /// Whether a burst begins at this moment, and the sentence that says why; `Err` says why none does.
    pub fn begin(&mut self, figures: &Figures, worker: WorkerKind, span: &Span, now: &Moment) -> Result<(Burst, String), String> {
        let limit = now.limit();
        let (start, goal) = (limit.percent(figures.pacing_start_percent), limit.percent(target_percent(figures)));
        let still_writes = self.still_writes(figures, now);
        // Once begun it goes on down to the target: hysteresis.
        self.draining = now.pool > goal && (self.draining || now.pool >= start);
        if !self.draining {
            return Err(format!("the pool holds {}, from {start} on it is drained to {goal}", now.pool));
        }
        if let Some(noise) = noise(figures, span) {
            self.hold_until_ms = now.at_ms + figures.pacing_hold_ms;
            return Err(format!("the pool holds {}, but {noise}", now.pool));
        }
        if now.at_ms < self.hold_until_ms {
            return Err(format!("left alone for {} ms after paging", figures.pacing_hold_ms));
        }
        if still_writes {
            return Err(format!("the pool holds {}, and the disk is still written to", now.pool));
        }
        if now.at_ms < self.fruitless.until_ms {
            let minutes = self.fruitless.rest_ms / 60_000;
            return Err(format!("left alone for {minutes} min: nothing of the {} could be written back", now.pool));
        }
        let left = self.budget.left(now.at_ms, Bytes(figures.pacing_budget));
        let left = if worker.writes_canaries() { Bytes(left.0.saturating_sub(MARGIN.0)) } else { left };
        if left < LEAST {
            return Err(format!("{} were written in 24 hours, as much as is allowed", Bytes(figures.pacing_budget)));
        }
        let burst = burst(figures, (worker, self.chunk(figures)), now, goal, left)?;
        Ok((burst, format!("the pool holds {} of {limit}, and nothing is paged", now.pool)))
    }

    /// Whether a burst goes on; `Err` says why it ends. `before` is the look before this one, `began` the one at which it began.
    pub fn goes_on(
        &mut self,
        figures: &Figures,
        burst: &Burst,
        began: &Moment,
        before: &Moment,
        now: &Moment,
    ) -> Result<(), String> {
        let Some(span) = Span::between(before, now) else { return Ok(()) };
        // From one look to the next is too short for what the kernel sums up by seconds.
        let span = Span { io_stall: Stalled::of(now).io_since(&Stalled::of(began)), ..span };
        let written = written(began, now);
        let ends = if now.pool <= burst.target {
            format!("the pool is at its target: {}", now.pool)
        } else if let Some(noise) = noise(figures, &span) {
            self.hold_until_ms = now.at_ms + figures.pacing_hold_ms;
            noise
        } else if written >= burst.allowed {
            format!("{written} are written, as much as a burst may")
        } else if now.at_ms >= burst.until_ms {
            format!("it took {} ms", figures.pacing_burst_ms)
        } else {
            return Ok(());
        };
        Err(ends)
    }

    /// What a burst takes from the pool at most: a small part at first, since nothing is known of the disk.
    fn chunk(&self, figures: &Figures) -> Bytes {
        let most = Bytes(figures.pacing_chunk);
        let next = if self.chunk.0 == 0 { Bytes(most.0 / 8) } else { self.chunk };
        next.clamp(LEAST.min(most), most)
    }

    /// Whether zswap or the disk has still to do with the last burst; the first look after it says what the next one takes.
    fn still_writes(&mut self, figures: &Figures, now: &Moment) -> bool {
        let since = self.zswpwb.replace(now.zswpwb).map_or(0, |before| now.zswpwb.saturating_sub(before));
        let still_writes = Bytes(since.max(now.writeback).saturating_mul(now.page.0)) > QUEUED;
        if let Some(reached) = self.reached.take() {
            let chunk = self.chunk(figures);
            self.chunk = if reached && !still_writes { Bytes(2 * chunk.0) } else { Bytes(chunk.0 / 2) };
        }
        still_writes
    }

    /// What became of a burst, right after it: how many canaries it offered.
    pub fn ended(&mut self, burst: &Burst, after: &Moment, canaries: u64) {
        self.zswpwb = Some(after.zswpwb);
        let fruitless = &mut self.fruitless;
        if after.zswpwb > fruitless.zswpwb {
            *fruitless = Fruitless { zswpwb: after.zswpwb, ..Fruitless::default() };
            self.reached = Some(after.pool <= burst.target);
            return;
        }
        fruitless.canaries += canaries;
        let entries = after.stored.0 / after.page.0.max(1);
        if fruitless.canaries.saturating_mul(RETRIES) >= 2 * entries {
            fruitless.canaries = 0;
            fruitless.rest_ms = (2 * fruitless.rest_ms).clamp(REST_MS.0, REST_MS.1);
            fruitless.until_ms = after.at_ms + fruitless.rest_ms;
        }
    }

    /// Counts what zswap wrote back between two looks against the budget, whoever asked for it, and canaries that were written. To be called
    /// at each moment.
    pub fn spend(&mut self, before: &Moment, now: &Moment) {
        self.budget.spend(now.at_ms, written(before, now));
    }
}

/// What zswap wrote back between two looks, and canaries that were written.
#[must_use]
pub fn written(before: &Moment, now: &Moment) -> Bytes {
    let pages = now.zswpwb.saturating_sub(before.zswpwb).saturating_add(now.canaries.saturating_sub(before.canaries));
    Bytes(pages.saturating_mul(now.page.0))
}

/// The target lies below the start, whatever was configured.
pub(super) fn target_percent(figures: &Figures) -> u64 {
    figures.pacing_target_percent.min(figures.pacing_start_percent.saturating_sub(1))
}

/// What speaks against write-back now.
fn noise(figures: &Figures, span: &Span) -> Option<String> {
    // A page or two in a span of some milliseconds is no rate.
    let few = 2000.0 / span.ms as f64;
    let bound = (figures.pacing_pages as f64).max(few);
    let io = span.io_stall.filter(|io| *io > figures.pacing_io_stall_us as f64);
    if span.swapped_in > bound {
        Some(format!("{:.0} pages a second come from swap", span.swapped_in))
    } else if span.past_zswap > bound {
        Some(format!("{:.0} pages a second go past zswap to the disk", span.past_zswap))
    } else {
        io.map(|io| {
            format!("some task waits for I/O {} of the time, more than {}", share(io), share_of(figures.pacing_io_stall_us))
        })
    }
}

/// The limits of a burst. The limit must not be above what the pool holds, or no store would be refused, and it has steps of a percent of
/// RAM. The worker reads where it shall end when it starts, and goes on to there whatever is set afterwards: so that is what a burst writes.
/// It is a percentage of the limit, and may be more than 100 (`zswap_accept_thr_percent` of mm/zswap.c has no range): with a limit far below
/// what the pool holds it has steps of a part of `chunk`.
///
/// A worker that writes a page for each canary ends with the canaries, and never below the limit, which is set to where the burst shall end.
fn burst(
    figures: &Figures,
    (worker, chunk): (WorkerKind, Bytes),
    now: &Moment,
    goal: Bytes,
    left: Bytes,
) -> Result<Burst, String> {
    let page = now.page.0.max(1);
    // What is written is not compressed; a canary for each page comes on top of it.
    let ratio = (now.stored.0 as f64 / now.pool.0.max(1) as f64).max(1.0);
    let ratio = if worker == WorkerKind::OnePage { 2.0 * ratio } else { ratio };
    let chunk = if worker == WorkerKind::OnePage { figures.pacing_chunk } else { chunk.0 };
    let chunk = chunk.min((left.0 as f64 / ratio) as u64);
    let wish = goal.max(Bytes(now.pool.0.saturating_sub(chunk)));
    let percent = |size: Bytes| size.0 * 100 / now.ram.0.max(1);
    let limit_percent = match worker {
        WorkerKind::OnePage => percent(wish),
        _ => percent(now.pool).min(percent(Bytes(STEPS * chunk)).max(1)),
    };
    let limit_percent = limit_percent.min(now.limit_percent);
    if limit_percent == 0 {
        return Err(format!("the pool holds {}, less than the 1 % of RAM that a limit can be lowered to", now.pool));
    }
    let low = (now.of_ram(limit_percent).0 / page).max(1);
    let accept_percent = match worker {
        WorkerKind::OnePage => 100,
        _ => {
            // A step more rather than nothing; not below the goal if a step less is something, too.
            let percent = wish.0 / page * 100 / low;
            let (is_too_low, next) = (low * percent / 100 < goal.0 / page, low * (percent + 1) / 100);
            percent + u64::from(is_too_low && next + 1 < now.pool.0 / page)
        }
    };
    let target = if worker == WorkerKind::OnePage { wish } else { Bytes(low * accept_percent / 100 * page) };
    let writes = Bytes((now.pool.0.saturating_sub(target.0) as f64 * ratio) as u64);
    if writes > left {
        return Err(format!("a burst writes {writes}, and {left} are left of what is allowed in 24 hours"));
    }
    Ok(Burst { limit_percent, accept_percent, target, allowed: left, until_ms: now.at_ms + figures.pacing_burst_ms, worker })
}
