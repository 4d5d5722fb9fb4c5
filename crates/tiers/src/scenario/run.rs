//! Running one tiering of a point, and what is noted besides the model's own counters.

use super::Tiering;
use crate::model::{Histogram, Model, Outcome, Pools, SettingsError, Sizes, Tier};
use crate::trace::{Event, Op, Trace};

/// Nanoseconds: who has not accessed anything for so long in the trace wakes with the next access.
pub const WAKE_GAP: u64 = 1_000_000_000;
/// Nanoseconds in the trace within which accesses belong to the same wake.
const WAKE_GOES_ON: u64 = 10_000_000;
/// Accesses between two looks at the pools.
const LOOK: usize = 1024;

/// What became of a trace under one tiering.
#[derive(Clone, Debug)]
pub struct Run {
    /// The model's own account.
    pub outcome: Outcome,
    /// Events of the trace.
    pub events: u64,
    /// Nanoseconds that the program takes for itself.
    pub own: u64,
    /// Time of each wake of an application, from its first access to its last.
    pub wakes: Histogram,
    /// The pools at the end, or when memory ran out.
    pub pools: Pools,
    /// Most pages of RAM that all pools held.
    pub pool_peak: u64,
    /// Mean of the same over the trace.
    pub pool_mean: f64,
    /// Pages that zram holds at the end.
    pub in_zram: u64,
    /// Pages with content at the end, wherever it is.
    pub held: u64,
    /// Median nanoseconds since the last access of the pages in RAM, in pools and on disks at the end.
    pub ages: [Option<u64>; 3],
}

/// Runs a trace under a tiering.
///
/// # Errors
/// A tiering that makes no machine.
pub fn run(tiering: &Tiering, trace: &Trace) -> Result<Run, SettingsError> {
    let mut settings = tiering.settings.clone();
    let cgroups = trace.iter().map(|event| usize::from(event.cgroup) + 1).max().unwrap_or(1);
    settings.cgroups = vec![settings.cgroups.first().copied().flatten(); cgroups];
    if !tiering.sizes_given && !trace.sizes().is_empty() {
        settings.sizes = Sizes::Each(trace.sizes().to_vec());
    }
    let access = settings.costs.access;
    let mut model = Model::new(settings, trace.page_count())?;
    let mut wakes = Wakes { sleepers: vec![Sleeper::default(); cgroups], times: Histogram::default() };
    let mut last = vec![0; trace.page_count() as usize];
    let (mut pool_peak, mut sum, mut looks) = (0, 0.0, 0_u32);
    let mut done = 0;
    while done < trace.len() {
        let next = (done.next_multiple_of(LOOK) + 1).min(trace.len());
        let goes_on = model.run_range(trace, done..next, |event, begin, end| {
            last[event.page as usize] = end;
            if event.op != Op::Free {
                wakes.note(event, begin, end);
            }
        });
        if !goes_on {
            break;
        }
        done = next;
        if (done - 1) % LOOK == 0 {
            let pools = model.pools();
            pool_peak = pool_peak.max(pools.zswap + pools.zram);
            sum += (pools.zswap + pools.zram) as f64;
            looks += 1;
        }
    }
    let tiers: Vec<Tier> = (0..trace.page_count()).map(|page| model.tier(page)).collect();
    let pools = model.pools();
    let outcome = model.finish();
    let is = |wanted: &[Tier]| tiers.iter().filter(|tier| wanted.contains(tier)).count() as u64;
    let age = |wanted: &[Tier]| median_age(&tiers, &last, outcome.elapsed, wanted);
    Ok(Run {
        events: trace.len() as u64,
        own: outcome.counters.accesses * access,
        wakes: wakes.finish(),
        pools,
        pool_peak: pool_peak.max(pools.zswap + pools.zram).max(outcome.pool_peak),
        pool_mean: sum / f64::from(looks.max(1)),
        in_zram: is(&[Tier::Zram]),
        held: tiers.len() as u64 - is(&[Tier::Absent]),
        ages: [age(&[Tier::Ram]), age(&[Tier::Zswap, Tier::Zram]), age(&[Tier::Disk, Tier::Writing, Tier::WrittenBack])],
        outcome,
    })
}

fn median_age(tiers: &[Tier], last: &[u64], now: u64, wanted: &[Tier]) -> Option<u64> {
    let chosen = tiers.iter().zip(last).filter(|(tier, _)| wanted.contains(tier));
    let mut ages: Vec<u64> = chosen.map(|(_, last)| now - last).collect();
    let middle = ages.len() / 2;
    (!ages.is_empty()).then(|| *ages.select_nth_unstable(middle).1)
}

/// An application.
#[derive(Clone, Copy, Debug, Default)]
struct Sleeper {
    /// When its last access was wanted.
    wanted: Option<u64>,
    /// When its last wake began and its last access was done.
    wake: Option<(u64, u64)>,
}

struct Wakes {
    sleepers: Vec<Sleeper>,
    times: Histogram,
}

impl Wakes {
    fn note(&mut self, event: Event, begin: u64, end: u64) {
        let sleeper = &mut self.sleepers[usize::from(event.cgroup)];
        let slept = sleeper.wanted.map_or(0, |wanted| event.time - wanted);
        if slept > WAKE_GOES_ON {
            if let Some((begin, end)) = sleeper.wake.take() {
                self.times.add(end - begin, 1);
            }
        }
        if slept >= WAKE_GAP {
            sleeper.wake = Some((begin, end));
        } else if let Some(wake) = &mut sleeper.wake {
            wake.1 = end;
        }
        sleeper.wanted = Some(event.time);
    }

    fn finish(mut self) -> Histogram {
        for (begin, end) in self.sleepers.iter().filter_map(|sleeper| sleeper.wake) {
            self.times.add(end - begin, 1);
        }
        self.times
    }
}
