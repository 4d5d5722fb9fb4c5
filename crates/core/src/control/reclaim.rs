//! The law of idle units: what has not run for a while gives up memory before anybody needs it.
//!
//! Without pressure the kernel swaps nothing, so that idle applications keep their RAM until there is none, and then all are asked at
//! once. A unit that has used hardly any processor time for long enough is **probed**: `memory.reclaim` takes a small part of it, and
//! after a pause the next. At most one probe a tick over all, the unit that has waited longest first. It stops
//!
//! - for all, while some task waits for memory or I/O more than 0.1 % of the time (what reclaim itself waits is not counted), while the
//!   pool is as full as pacing leaves it, while slots run out, or when the day's budget is spent;
//! - for one unit, as soon as it runs; when it takes pages back faster than a bound it is left alone, and for twice as long each time.
//!
//! A unit is never brought below what `memory.min` and `memory.low` protect, nor below a floor: `memory.reclaim` of a group does not heed
//! its own protection (mm/memcontrol.c, `mem_cgroup_calculate_protection`), so that this law must. Where no such groups are, units are idle
//! processes ([`super::processes`]), and a probe pages out a part of their anonymous memory.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use super::budget::Budget;
use super::figures::Figures;
use super::limit::{share, share_of};
use super::moment::{Moment, Span, UnitMoment};
use super::pacing::target_percent;
use super::policies::Policies;
use crate::units::Bytes;

/// Units that are left alone for longer than this are asked again all the same, s.
const LONGEST_S: u64 = 86_400;
/// A unit that was not read for so long may have run all the time, ms; else it is read every ten seconds.
const UNREAD_MS: u64 = 60_000;
/// Less is not worth a call, and the kernel takes more than it is asked for.
const LEAST: Bytes = Bytes::from_kib(256);
/// What the kernel may take beyond what it was asked for: a batch for each list.
const OVERSHOOT: Bytes = Bytes::from_mib(1);

/// A probe of one unit.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Probe {
    /// Path of the unit.
    pub path: String,
    /// Its [`UnitMoment::id`]; another one at this path is left alone.
    pub id: u64,
    /// What to take.
    pub bytes: Bytes,
    /// Why, as one sentence.
    pub why: String,
}

/// What is known of one unit.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
struct KnownUnit {
    id: u64,
    seen_ms: u64,
    cpu_us: u64,
    /// When it last ran.
    active_ms: u64,
    refaults: u64,
    /// Not before.
    next_ms: u64,
    /// How long it is left alone the next time, s; 0 at first.
    backoff_s: u64,
    probed: bool,
    /// Of what probes took, what may still be in swap.
    out: Bytes,
    counts_swap: bool,
}

/// What the law remembers.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Reclaim {
    units: BTreeMap<String, KnownUnit>,
    budget: Budget,
    policies: Policies,
}

impl Reclaim {
    /// A law that heeds these policies; `budget` is that of an earlier run in the same boot.
    #[must_use]
    pub fn new(policies: Policies, budget: Budget) -> Self {
        Self { policies, budget, ..Self::default() }
    }

    /// Heeds these policies from now on.
    pub fn heed(&mut self, policies: Policies) {
        self.policies = policies;
    }

    /// What probes took, by hour.
    #[must_use]
    pub fn budget(&self) -> &Budget {
        &self.budget
    }

    /// Units that are idle at this moment.
    #[must_use]
    pub fn idle(&self, figures: &Figures) -> usize {
        let idle = |(path, unit): &(&String, &KnownUnit)| {
            self.policies.figures(figures, path).is_some_and(|figures| is_idle(&figures, unit))
        };
        self.units.iter().filter(idle).count()
    }

    /// Of what probes took, how much the same units have in swap at most; `None` where no unit says what it has there.
    #[must_use]
    pub fn out(&self) -> Option<Bytes> {
        let counted = || self.units.values().filter(|unit| unit.counts_swap);
        counted().next().map(|_| Bytes(counted().map(|unit| unit.out.0).sum()))
    }

    /// Learns what units did since they were last read. To be called at each moment.
    pub fn learn(&mut self, figures: &Figures, now: &Moment) {
        let mut known = std::mem::take(&mut self.units);
        for unit in &now.units {
            let was = known.remove(&unit.path).filter(|was| was.id == unit.id);
            self.units.insert(unit.path.clone(), was.map_or_else(|| first(unit), |was| next(figures, was, unit)));
        }
    }

    /// Which unit is probed at this moment; `Err` says why none is. Without slots in reserve, or with a pool as full as pacing leaves it, none is.
    pub fn decide(&mut self, figures: &Figures, span: &Span, now: &Moment) -> Result<Probe, String> {
        if let Some(why) = short(figures, span, now) {
            return Err(why);
        }
        let left = self.budget.left(now.at_ms, Bytes(figures.reclaim_budget));
        if left < LEAST {
            return Err(format!("{} were taken in 24 hours, as much as is allowed", Bytes(figures.reclaim_budget)));
        }
        let due = now.units.iter().filter(|unit| unit.may_swap).filter_map(|unit| {
            let (known, figures) = (self.units.get(&unit.path)?, self.policies.figures(figures, &unit.path)?);
            let is_due = is_idle(&figures, known) && known.next_ms <= now.at_ms && known.id == unit.id;
            Some((known, unit, size(&figures, unit, left)?)).filter(|_| is_due)
        });
        let Some((known, unit, bytes)) = due.min_by_key(|(known, unit, _)| (known.next_ms, unit.path.clone())) else {
            return Err(format!(
                "{} of {} units are idle, and none of them has memory to give now",
                self.idle(figures),
                now.units.len()
            ));
        };
        let why = format!("idle for {} s, with {} in RAM", known.seen_ms.saturating_sub(known.active_ms) / 1000, unit.memory);
        Ok(Probe { path: unit.path.clone(), id: unit.id, bytes, why })
    }

    /// What may still be taken of a unit that has just been read again; `None` when it is another one, has run, or has nothing to give.
    pub fn still(&mut self, figures: &Figures, probe: &Probe, fresh: &UnitMoment) -> Option<Bytes> {
        let was = self.units.remove(&probe.path).filter(|was| was.id == fresh.id)?;
        let known = self.units.entry(probe.path.clone()).or_insert(next(figures, was, fresh));
        let figures = &self.policies.figures(figures, &probe.path)?;
        let may_give = known.id == probe.id && fresh.may_swap && is_idle(figures, known) && known.next_ms <= fresh.at_ms;
        size(figures, fresh, probe.bytes).filter(|_| may_give)
    }

    /// What a probe took: the unit waits for its next one, and the budget has less.
    pub fn took(&mut self, figures: &Figures, probe: &Probe, at_ms: u64, taken: Bytes) {
        self.budget.spend(at_ms, taken);
        if let Some(unit) = self.units.get_mut(&probe.path) {
            // One that gives nothing is asked again later.
            let pause_s = if taken < LEAST { figures.reclaim_backoff_s } else { figures.reclaim_pause_s };
            // What it took back a moment ago may ask for longer.
            unit.next_ms = unit.next_ms.max(at_ms + pause_s * 1000);
            unit.probed |= taken > Bytes(0);
            unit.out.0 += taken.0;
        }
    }
}

/// Idle as far as it was read: what it did since is not known.
fn is_idle(figures: &Figures, unit: &KnownUnit) -> bool {
    unit.seen_ms.saturating_sub(unit.active_ms) >= figures.reclaim_idle_s * 1000
}

/// A unit that is seen for the first time may have run until now.
fn first(unit: &UnitMoment) -> KnownUnit {
    KnownUnit {
        id: unit.id,
        seen_ms: unit.at_ms,
        cpu_us: unit.cpu_us,
        active_ms: unit.at_ms,
        refaults: unit.refaults,
        counts_swap: unit.swapped.is_some(),
        ..KnownUnit::default()
    }
}

fn next(figures: &Figures, mut known: KnownUnit, unit: &UnitMoment) -> KnownUnit {
    let Some(ms) = unit.at_ms.checked_sub(known.seen_ms).filter(|ms| *ms > 0) else { return known };
    let a_second = |count: u64| count.saturating_mul(1000) / ms;
    // A machine that slept, or a daemon that looked away, does not know when in that time a unit ran.
    let is_apart = ms >= UNREAD_MS;
    if is_apart || a_second(unit.cpu_us.saturating_sub(known.cpu_us)) > figures.reclaim_cpu_us {
        known.active_ms = unit.at_ms;
    }
    if known.probed && a_second(unit.refaults.saturating_sub(known.refaults)) > figures.reclaim_refaults {
        known.backoff_s = (known.backoff_s * 2).clamp(figures.reclaim_backoff_s, LONGEST_S);
        known.next_ms = unit.at_ms + known.backoff_s * 1000;
        known.probed = false;
    }
    // What came back once is out no more, whatever is swapped later; pages of files that were dropped are not in swap.
    known.counts_swap = unit.swapped.is_some();
    known.out = known.out.min(unit.swapped.unwrap_or_default());
    (known.seen_ms, known.cpu_us, known.refaults) = (unit.at_ms, unit.cpu_us, unit.refaults);
    known
}

/// What a probe takes of a unit; `None` when there is nothing to take.
fn size(figures: &Figures, unit: &UnitMoment, left: Bytes) -> Option<Bytes> {
    let floor = unit.protected.max(Bytes(figures.reclaim_floor));
    let above = unit.memory.0.saturating_sub(floor.0).saturating_sub(OVERSHOOT.0).min(unit.anon.0);
    let wish = unit.memory.percent(figures.reclaim_probe_percent).0.min(figures.reclaim_probe).max(LEAST.0);
    let bytes = Bytes(wish.min(above).min(left.0));
    (bytes >= LEAST).then_some(bytes)
}

/// Why nothing is reclaimed at this moment.
fn short(figures: &Figures, span: &Span, now: &Moment) -> Option<String> {
    let Some(stall) = span.memory_stall else {
        return Some("the kernel does not say how long tasks wait for memory (/proc/pressure/memory)".into());
    };
    let bound = figures.reclaim_stall_us;
    // Beyond what the pool is drained to, taking from units would have others' pages written to the disk.
    let near = now.limit().percent(target_percent(figures));
    let io = span.io_stall.unwrap_or_default();
    if stall > bound as f64 {
        Some(format!("some task waits for memory {} of the time, more than {}", share(stall), share_of(bound)))
    } else if io > figures.pacing_io_stall_us as f64 {
        Some(format!("some task waits for I/O {} of the time", share(io)))
    } else if now.pool >= near {
        Some(format!("the pool holds {}, as much of its limit of {} as it is drained to", now.pool, now.limit()))
    } else if now.swap_free < now.swap.percent(5) {
        Some(format!("only {} of swap are free", now.swap_free))
    } else {
        None
    }
}
