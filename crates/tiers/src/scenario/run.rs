//! Running one tiering of a point, and what is noted besides the model's own counters.
//!
//! A trace is played to its end, or in parts by whoever does something to the machine meanwhile, as a daemon does: [`Play`].

use super::Tiering;
use crate::model::{CompressedSizes, Histogram, Model, ModelSettingsError, Outcome, PoolContents, Tier};
use crate::trace::{Event, Op, Trace};

/// Nanoseconds: who has not accessed anything for so long in the trace wakes with the next access.
pub const WAKE_GAP: u64 = 1_000_000_000;
/// Nanoseconds in the trace within which accesses belong to the same wake.
const WAKE_GOES_ON: u64 = 10_000_000;
/// Accesses between two looks at the pools.
const LOOK: usize = 1024;

/// What became of a trace under one tiering.
#[derive(Clone, Debug)]
pub struct TieringRun {
    /// The model's own account.
    pub outcome: Outcome,
    /// Events of the trace.
    pub events: u64,
    /// Nanoseconds that the program takes for itself.
    pub own: u64,
    /// Time of each wake of an application, from its first access to its last.
    pub wakes: Histogram,
    /// The pools at the end, or when memory ran out.
    pub pools: PoolContents,
    /// Most pages of RAM that all pools held.
    pub pool_peak: u64,
    /// Mean of the same over the trace.
    pub pool_mean: f64,
    /// Mean over time of the pages of RAM that pages of the trace and pools took.
    pub in_ram: f64,
    /// Pages that zram holds at the end.
    pub in_zram: u64,
    /// Pages with content at the end, wherever it is.
    pub held: u64,
    /// Median nanoseconds since the last access of the pages in RAM, in pools and on disks at the end.
    pub ages: [Option<u64>; 3],
    /// What a daemon did, where one ran.
    pub kept: Option<DaemonDeeds>,
}

/// What a daemon beside the trace did, sizes in pages of the machine as it was simulated.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct DaemonDeeds {
    /// Moves of the limit.
    pub moves: u64,
    /// Bursts of write-back.
    pub bursts: u64,
    /// Canaries that were offered in them.
    pub canaries: u64,
    /// Pages that zswap wrote back in them.
    pub written: u64,
    /// Probes of idle groups.
    pub probes: u64,
    /// Pages that they took.
    pub taken: u64,
    /// By how many pages of RAM these groups had less then, their part of the pool included.
    pub freed: u64,
}

/// Runs a trace under a tiering.
///
/// # Errors
/// A tiering that makes no machine.
pub fn run(tiering: &Tiering, trace: &Trace) -> Result<TieringRun, ModelSettingsError> {
    let mut play = Play::new(tiering, trace)?;
    play.play_while(|_| true);
    Ok(play.finish(None))
}

/// Runs a trace under a tiering to its end, or until more than one wake in a hundred has taken longer than `limit` nanoseconds: for who asks whether
/// it fits, and not by how much it does not.
///
/// # Errors
/// A tiering that makes no machine.
pub fn run_within(tiering: &Tiering, trace: &Trace, limit: u64) -> Result<TieringRun, ModelSettingsError> {
    let mut play = Play::new(tiering, trace)?;
    let slowest = wakes_of(trace) / 100;
    play.play_while(|wakes| wakes.beyond(limit) <= slowest);
    Ok(play.finish(None))
}

/// Wakes of a trace: which accesses are one is a matter of its times alone.
fn wakes_of(trace: &Trace) -> u64 {
    let mut wakes = WakeTimes::new(cgroups_of(trace));
    trace.iter().filter(|event| event.op != Op::Free).for_each(|event| wakes.note(event, 0, 0));
    wakes.finish().count()
}

fn cgroups_of(trace: &Trace) -> usize {
    trace.iter().map(|event| usize::from(event.cgroup) + 1).max().unwrap_or(1)
}

/// A machine that plays a trace: to its end, or to a moment that the caller names.
#[derive(Clone, Debug)]
pub struct Play<'a> {
    trace: &'a Trace,
    /// The machine.
    pub model: Model,
    /// The next event.
    next: usize,
    noted: Noted,
    /// By control group, nanoseconds for which its process was awake, and when its last access was done; noted by [`Play::pass`] alone.
    awake: Vec<(u64, u64)>,
    /// Nanoseconds of an access, and pages of RAM that the trace and pools may have.
    access: u64,
    room: i64,
}

impl<'a> Play<'a> {
    /// The machine at the beginning of the trace, with its control groups.
    ///
    /// # Errors
    /// A tiering that makes no machine.
    pub fn new(tiering: &Tiering, trace: &'a Trace) -> Result<Self, ModelSettingsError> {
        let mut settings = tiering.settings.clone();
        let cgroups = cgroups_of(trace);
        settings.cgroups = vec![settings.cgroups.first().copied().flatten(); cgroups];
        if !tiering.sizes_given && !trace.sizes().is_empty() {
            settings.sizes = CompressedSizes::Each(trace.sizes().to_vec());
        }
        let (access, room) = (settings.costs.access, (settings.ram - settings.reserved) as i64);
        let model = Model::new(settings, trace.page_count())?;
        let noted = Noted::new(cgroups, trace.page_count() as usize);
        Ok(Self { trace, model, next: 0, noted, awake: vec![(0, 0); cgroups], access, room })
    }

    /// Plays all that is left, or until neither RAM nor swap has room, or the wakes so far are not what is wanted.
    fn play_while(&mut self, wanted: impl Fn(&Histogram) -> bool) {
        let Self { trace, model, next, noted, .. } = self;
        while *next < trace.len() && wanted(&noted.wakes.times) {
            let end = (next.next_multiple_of(LOOK) + 1).min(trace.len());
            if !model.run_range(trace, *next..end, |event, begin, end| noted.access(event, begin, end)) {
                return;
            }
            *next = end;
            if (end - 1) % LOOK == 0 {
                noted.look(model, self.room);
            }
        }
    }

    /// Plays what begins before `until`, in nanoseconds since the start, and waits until then. `false` when nothing is left to be
    /// played, or neither RAM nor swap has room.
    pub fn pass(&mut self, until: u64) -> bool {
        while self.next < self.trace.len() {
            let event = self.trace.get(self.next);
            if event.time.max(self.model.seen().now) >= until {
                self.model.wait(until);
                return true;
            }
            let Some((begin, end)) = self.model.advance(event) else { return false };
            self.note_awake(event, begin, end);
            self.noted.access(event, begin, end);
            if self.next % LOOK == 0 {
                self.noted.look(&self.model, self.room);
            }
            self.next += 1;
        }
        false
    }

    /// Nanoseconds for which the process of a control group was awake: between accesses of one wake, and waiting for pages.
    ///
    /// # Panics
    /// If there is no such group.
    #[must_use]
    pub fn awake(&self, cgroup: u16) -> u64 {
        self.awake[usize::from(cgroup)].0
    }

    /// A process is awake from the end of its last access on, where both belong to one wake.
    fn note_awake(&mut self, event: Event, begin: u64, end: u64) {
        let (awake, done) = &mut self.awake[usize::from(event.cgroup)];
        let wanted = self.noted.wakes.sleepers[usize::from(event.cgroup)].wanted;
        let goes_on = wanted.is_some_and(|wanted| event.time - wanted <= WAKE_GOES_ON);
        *awake += end - if goes_on { (*done).min(begin) } else { begin };
        *done = end;
    }

    /// Notes what RAM holds now, for its mean over time: called where something other than the trace changes that.
    pub fn look(&mut self) {
        self.noted.occupied(&self.model, self.room);
    }

    /// What it came to; `kept` is what a daemon did.
    #[must_use]
    pub fn finish(mut self, kept: Option<DaemonDeeds>) -> TieringRun {
        let Self { model, trace, .. } = self;
        self.noted.occupied(&model, self.room);
        let tiers: Vec<Tier> = (0..trace.page_count()).map(|page| model.tier(page)).collect();
        let (pools, noted) = (model.pools(), self.noted);
        let outcome = model.finish();
        let is = |wanted: &[Tier]| tiers.iter().filter(|tier| wanted.contains(tier)).count() as u64;
        let age = |wanted: &[Tier]| median_age(&tiers, &noted.last, outcome.elapsed, wanted);
        TieringRun {
            events: trace.len() as u64,
            own: outcome.counters.accesses * self.access,
            pools,
            pool_peak: noted.pool_peak.max(pools.zswap + pools.zram).max(outcome.pool_peak),
            pool_mean: noted.sum / f64::from(noted.looks.max(1)),
            in_ram: noted.ram_time / (outcome.elapsed as f64).max(1.0),
            in_zram: is(&[Tier::Zram]),
            held: tiers.len() as u64 - is(&[Tier::Absent]),
            ages: [age(&[Tier::Ram]), age(&[Tier::Zswap, Tier::Zram]), age(&[Tier::Disk, Tier::Writing, Tier::WrittenBack])],
            kept,
            wakes: noted.wakes.finish(),
            outcome,
        }
    }
}

/// What is noted while a trace is played.
#[derive(Clone, Debug)]
struct Noted {
    wakes: WakeTimes,
    /// When the last access to each page was done.
    last: Vec<u64>,
    pool_peak: u64,
    sum: f64,
    looks: u32,
    /// Pages of RAM that were taken at the last look, when that was, and their sum over the time before.
    taken: i64,
    looked: u64,
    ram_time: f64,
}

impl Noted {
    fn new(cgroups: usize, pages: usize) -> Self {
        Self {
            wakes: WakeTimes::new(cgroups),
            last: vec![0; pages],
            pool_peak: 0,
            sum: 0.0,
            looks: 0,
            taken: 0,
            looked: 0,
            ram_time: 0.0,
        }
    }

    #[inline(always)]
    fn access(&mut self, event: Event, begin: u64, end: u64) {
        self.last[event.page as usize] = end;
        if event.op != Op::Free {
            self.wakes.note(event, begin, end);
        }
    }

    fn look(&mut self, model: &Model, room: i64) {
        let pools = model.pools();
        self.pool_peak = self.pool_peak.max(pools.zswap + pools.zram);
        self.sum += (pools.zswap + pools.zram) as f64;
        self.looks += 1;
        self.occupied(model, room);
    }

    fn occupied(&mut self, model: &Model, room: i64) {
        let now = model.seen().now;
        let taken = room - model.pools().free;
        // Between two looks it changes evenly, as far as is known.
        self.ram_time += (self.taken + taken) as f64 / 2.0 * (now - self.looked) as f64;
        (self.taken, self.looked) = (taken, now);
    }
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

#[derive(Clone, Debug)]
struct WakeTimes {
    sleepers: Vec<Sleeper>,
    times: Histogram,
}

impl WakeTimes {
    fn new(cgroups: usize) -> Self {
        Self { sleepers: vec![Sleeper::default(); cgroups], times: Histogram::default() }
    }

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
