//! The control laws of the daemon: what is to be done about a machine at this moment, and why, as data.
//!
//! Each law is one page: [`limit`] moves the limit of zswap's pool, [`pacing`] drains it before it is full, [`reclaim`] takes memory from
//! idle units, [`zram`] has zram devices give up what is idle. All they know is in [`Moment`] and in what they remember; they read no clock and touch nothing, so that the same moments
//! make the same decisions. [`figures`] is the table of what they go by, [`ground`] says on which machines they work.

pub mod budget;
pub mod figures;
pub mod ground;
pub mod limit;
pub mod moment;
pub mod pacing;
pub mod policies;
pub mod processes;
pub mod reclaim;
pub mod report;
#[cfg(test)]
mod tests;
pub mod zram;

use std::collections::VecDeque;

use serde::Serialize;

pub use budget::Budget;
pub use figures::Figures;
pub use ground::{Ground, Mechanism, WantedLaws};
pub use limit::{Bounds, LimitMove, LimitState};
pub use moment::{Moment, Span, Stalled, UnitMoment};
pub use pacing::{Burst, CanaryPace, Pacing, WorkerKind};
pub use policies::{Policies, UnitPolicy};
pub use reclaim::{Probe, Reclaim};
pub use report::{DaemonReport, DecisionEntry, Mode, Totals};
pub use zram::{Chore, UpkeepState};

use moment::SLEPT_MS;

use crate::units::Bytes;

/// What is to be done.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case", tag = "law")]
pub enum Decision {
    /// The limit moves.
    Limit(LimitMove),
    /// The pool is drained.
    Pacing {
        /// How.
        burst: Burst,
        /// Why, as one sentence.
        why: String,
    },
    /// A unit is probed.
    Reclaim(Probe),
    /// A zram device gives up what is idle.
    Zram(Chore),
}

/// What each law says of this moment: what it does, or why it does nothing.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct LawStanding {
    /// Which laws are wanted and work on this machine; the others say why they are off.
    pub works: WantedLaws,
    /// Of the limit.
    pub limit: String,
    /// Of pacing.
    pub pacing: String,
    /// Of idle units.
    pub reclaim: String,
    /// How memory is taken from idle units, where that law works.
    pub mechanism: Option<Mechanism>,
    /// Of zram devices.
    pub zram: String,
}

/// The largest limit that a plan sets when pages compress so and with so much RAM, percent of RAM; without a ratio one is assumed.
pub type PoolRule = fn(Option<f64>, Bytes) -> u64;

/// What a configuration asks of the laws.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Wishes {
    /// What they go by.
    pub figures: Figures,
    /// Which of them are to work.
    pub wanted: WantedLaws,
    /// What is said of single units.
    pub units: Policies,
}

/// All laws of one machine.
#[derive(Clone, Debug)]
pub struct Laws {
    /// What they go by.
    pub figures: Figures,
    /// Which are wanted.
    pub wanted: WantedLaws,
    /// How far the limit may go.
    rule: PoolRule,
    /// What they remember.
    limit: LimitState,
    /// What it remembers, with its budget.
    pub pacing: Pacing,
    /// What it remembers, with its budget.
    pub reclaim: Reclaim,
    /// What it remembers, with its budget.
    pub zram: UpkeepState,
    /// Waiting times of the last seconds, the oldest first.
    stalled: VecDeque<Stalled>,
    /// What they say.
    pub standing: LawStanding,
}

impl Laws {
    /// Laws that remember nothing but budgets.
    #[must_use]
    pub fn new(wishes: Wishes, rule: PoolRule, written: Budget, taken: Budget) -> Self {
        let Wishes { figures, wanted, units } = wishes;
        Self {
            figures,
            wanted,
            rule,
            limit: LimitState::default(),
            pacing: Pacing::with_budget(written),
            reclaim: Reclaim::new(units, taken),
            zram: UpkeepState::default(),
            stalled: VecDeque::new(),
            standing: LawStanding::default(),
        }
    }

    /// Goes by another configuration from now on. What was learnt of units, and what budgets have spent, stays.
    pub fn configure(&mut self, wishes: Wishes) {
        let Wishes { figures, wanted, units } = wishes;
        (self.figures, self.wanted) = (figures, wanted);
        self.reclaim.heed(units);
    }

    /// What is to be done at this moment, in this order. `home` is the limit that is configured.
    pub fn decide(&mut self, ground: &Ground, home: u64, before: &Moment, now: &Moment) -> Vec<Decision> {
        self.reclaim.learn(&self.figures, now);
        self.pacing.spend(before, now);
        self.zram.learn(now);
        if now.at_ms.saturating_sub(before.at_ms) >= SLEPT_MS {
            self.slept(before, now);
            return Vec::new();
        }
        let Some(span) = self.span(before, now) else { return Vec::new() };
        let bounds = self.bounds(home, now);
        let (figures, mut decisions) = (&self.figures, Vec::new());

        let limit_off = ground::limit_is_off(self.wanted, ground);
        let limit_works = limit_off.is_none();
        let limit = limit_off.map_or_else(|| self.limit.decide(figures, bounds, &span, now), Err);
        self.standing.limit = said(&limit, |moved| moved.why.clone());

        let may_rise = limit_works && LimitState::may_rise(figures, bounds, &span, now);
        let pacing_off = ground::pacing_is_off(self.wanted, ground);
        let pacing_works = pacing_off.is_none();
        let pacing = match pacing_off {
            Some(why) => Err(why),
            None if limit.is_ok() || may_rise => Err("the limit may still rise: the pool may grow".into()),
            None => self.pacing.begin(figures, ground::worker(ground), &span, now),
        };
        self.standing.pacing = said(&pacing, |(_, why)| why.clone());

        let reclaim_off = ground::reclaim_is_off(self.wanted, ground);
        let zram_off = ground::zram_is_off(self.wanted, ground);
        self.standing.works =
            WantedLaws { limit: limit_works, pacing: pacing_works, reclaim: reclaim_off.is_none(), zram: zram_off.is_none() };
        self.standing.mechanism = ground::mechanism(ground).filter(|_| reclaim_off.is_none());
        let reclaim = reclaim_off.map_or_else(|| self.reclaim.decide(figures, &span, now), Err);
        self.standing.reclaim = said(&reclaim, |probe| format!("{}: {}", probe.path, probe.why));
        let zram = zram_off.map_or_else(|| self.zram.decide(figures, ground, &span, now), Err);
        self.standing.zram = said(&zram, |chore| format!("{}: {}", chore.device, chore.why));

        decisions.extend(limit.ok().map(Decision::Limit));
        decisions.extend(pacing.ok().map(|(burst, why)| Decision::Pacing { burst, why }));
        decisions.extend(reclaim.ok().map(Decision::Reclaim));
        decisions.extend(zram.ok().map(Decision::Zram));
        decisions
    }

    /// The machine slept between two moments: nothing is known of that time.
    fn slept(&mut self, before: &Moment, now: &Moment) {
        self.stalled.clear();
        self.zram.slept(&self.figures, before, now);
        let why = format!("the machine was not looked at for {} s, as when it sleeps", (now.at_ms - before.at_ms) / 1000);
        let LawStanding { limit, pacing, reclaim, zram, .. } = &mut self.standing;
        [limit, pacing, reclaim, zram].into_iter().for_each(|standing| standing.clone_from(&why));
    }

    /// What happened since the moment before, with waiting times over the last seconds, for the kernel sums them up only every two.
    fn span(&mut self, before: &Moment, now: &Moment) -> Option<Span> {
        let span = Span::between(before, now)?;
        let stalled = Stalled::of(now);
        self.stalled.push_back(stalled);
        while self.stalled.get(1).is_some_and(|second| stalled.is_apart(second)) {
            self.stalled.pop_front();
        }
        let first = self.stalled.front().copied().filter(|first| *first != stalled).unwrap_or(Stalled::of(before));
        Some(Span { memory_stall: stalled.memory_since(&first), io_stall: stalled.io_since(&first), ..span })
    }

    /// Between what the limit may move now: the largest that leaves RAM to run in follows from the ratio of what is stored.
    #[must_use]
    pub fn bounds(&self, home: u64, now: &Moment) -> Bounds {
        let trusted = now.pool >= now.ram.percent(1).max(Bytes::from_mib(1));
        let ratio = trusted.then(|| now.stored.0 as f64 / now.pool.0 as f64);
        Bounds::around(home, (self.rule)(ratio, now.ram), &self.figures)
    }
}

fn said<T>(result: &Result<T, String>, why: impl Fn(&T) -> String) -> String {
    result.as_ref().map_or_else(Clone::clone, why)
}
