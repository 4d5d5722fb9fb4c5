//! The daemon beside a simulated machine: the laws of `swaptune_core::control` decide on what the model shows, and what they decide is done to
//! the model, in the order of `swaptune_host::keep`. What comes out is a prediction of the model, never a measurement.
//!
//! It looks once a second of simulated time, also while all applications sleep. Its own work takes no time of theirs, as on a machine with
//! a processor to spare.

mod machine;
#[cfg(test)]
mod tests;

use swaptune_core::Bytes;
use swaptune_core::control::{Budget, Burst, Decision, Laws, Moment, Probe, Wishes};
use swaptune_core::profiles::auto::largest_pool;
use swaptune_tiers::model::ModelSettingsError;
use swaptune_tiers::scenario::{DaemonDeeds, Play, Tiering, TieringRun};
use swaptune_tiers::trace::Trace;

use self::machine::PlayedMachine;

/// From one look to the next, and within a burst, ms (crates/host/src/keep/mod.rs).
const TICK: u64 = 1000;
const BURST_LOOK: u64 = 20;

/// The daemon at work.
struct SimulatedKeeper<'a> {
    machine: PlayedMachine<'a>,
    laws: Laws,
    /// The limit that is configured.
    home: u64,
    kept: DaemonDeeds,
}

/// Runs a trace under a tiering with a daemon beside it; `scale` says by how much both are smaller than what they stand for.
///
/// # Errors
/// A tiering that makes no machine.
pub fn run(tiering: &Tiering, trace: &Trace, scale: u32, wishes: Wishes) -> Result<TieringRun, ModelSettingsError> {
    run_and_tell(tiering, trace, scale, wishes, |_, _| ())
}

/// The same; `tell` hears of each moment at which something was decided, and what.
fn run_and_tell(
    tiering: &Tiering,
    trace: &Trace,
    scale: u32,
    wishes: Wishes,
    mut tell: impl FnMut(&Moment, &[Decision]),
) -> Result<TieringRun, ModelSettingsError> {
    let play = Play::new(tiering, trace)?;
    let laws = Laws::new(wishes, largest_pool, Budget::default(), Budget::default());
    let home = play.model.seen().max_pool_percent;
    let mut keeper =
        SimulatedKeeper { machine: PlayedMachine::new(play, scale, &tiering.settings), laws, home, kept: DaemonDeeds::default() };
    // Generators begin things at whole seconds; a daemon looks at any moment.
    keeper.machine.pass(TICK / 2);
    let mut before: Option<Moment> = None;
    while keeper.machine.pass(TICK) {
        let now = keeper.machine.tick();
        if let Some(was) = &before {
            let decisions = keeper.laws.decide(keeper.machine.ground(), keeper.home, was, &now);
            if !decisions.is_empty() {
                tell(&now, &decisions);
            }
            decisions.into_iter().for_each(|decision| keeper.carry_out(decision, &now));
        }
        keeper.machine.play.look();
        before = Some(now);
    }
    Ok(keeper.machine.play.finish(Some(keeper.kept)))
}

impl SimulatedKeeper<'_> {
    fn carry_out(&mut self, decision: Decision, now: &Moment) {
        match decision {
            Decision::Limit(moved) => {
                self.machine.play.model.set_pool_limits(moved.to, now.accept_percent);
                self.kept.moves += 1;
            }
            // Canaries that go to the disk, before Linux 6.8 or without groups of version 2, are not modelled: nothing is drained there.
            Decision::Pacing { burst, .. } if burst.worker.writes_canaries() => {}
            Decision::Pacing { burst, .. } => self.burst(&burst),
            Decision::Reclaim(probe) => self.reclaim(&probe, now),
            // No zram device is shown to the laws.
            Decision::Zram(_) => {}
        }
    }

    /// Limits lowered, canaries offered, limits back (crates/host/src/keep/burst.rs).
    fn burst(&mut self, burst: &Burst) {
        let Self { machine, laws, kept, .. } = self;
        let began = machine.look();
        let burst = Burst { until_ms: began.at_ms + laws.figures.pacing_burst_ms, ..*burst };
        let (wrote, mut last, mut canaries) = (machine.seen().zswpwb, began.clone(), 0);
        machine.play.model.set_pool_limits(burst.limit_percent, burst.accept_percent);
        loop {
            let (goes_on, offered) = machine.pass_with_canaries(BURST_LOOK);
            let now = machine.look();
            canaries += offered;
            if !goes_on || laws.pacing.goes_on(&laws.figures, &burst, &began, &last, &now).is_err() {
                break;
            }
            last = now;
        }
        let now = machine.look();
        if now.pool > now.of_ram(began.limit_percent).percent(began.accept_percent) {
            // A pool that was full takes no page until it is below the threshold, unless a store at one of 100 % has it look again.
            machine.play.model.set_pool_limits(began.limit_percent, 100);
            machine.play.model.offer_canary();
            canaries += 1;
        }
        machine.play.model.set_pool_limits(began.limit_percent, began.accept_percent);
        laws.pacing.ended(&burst, &machine.look(), machine.canaries(canaries));
        kept.canaries += canaries;
        kept.bursts += 1;
        kept.written += machine.seen().zswpwb - wrote;
    }

    /// A probe of a unit, which may have been read some seconds ago.
    fn reclaim(&mut self, probe: &Probe, now: &Moment) {
        let Self { machine, laws, kept, .. } = self;
        let group = (probe.id - 1) as u16;
        let still = machine.unit(group).and_then(|fresh| laws.reclaim.still(&laws.figures, probe, &fresh));
        let Some(bytes) = still else {
            return laws.reclaim.took(&laws.figures, probe, now.at_ms, Bytes(0));
        };
        let (before, pages, pool) = (machine.unit(group).unwrap_or_default(), machine.pages(bytes), machine.seen().pool);
        let left = machine.play.model.reclaim(group, pages);
        let after = machine.unit(group).unwrap_or_default();
        laws.reclaim.took(&laws.figures, probe, now.at_ms, Bytes(before.memory.0.saturating_sub(after.memory.0)));
        kept.probes += 1;
        kept.taken += left;
        kept.freed += (left + pool).saturating_sub(machine.seen().pool);
    }
}
