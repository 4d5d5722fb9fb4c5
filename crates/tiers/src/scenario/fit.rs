//! How many applications fit: the search for the largest number whose wakes are quick enough and for which memory lasts.
//!
//! Which numbers are looked at depends on what was found and on nothing else, so that the answer is the same on every machine. A round asks
//! for several, so that there is work for several processors; where those have enough to do, it halves what is left.

use std::collections::BTreeMap;

use super::{Tiering, TieringRun, WorkloadSource};
use crate::generate::{GENERATORS, number};

/// How numbers are chosen.
#[derive(Clone, Copy, Debug)]
struct Steps {
    /// Looked at first, as shares of the applications that fill RAM.
    first: &'static [f64],
    /// The next above what fits, and below what does not, as shares of it.
    above: &'static [f64],
    below: &'static [f64],
    /// Numbers between the last that fits and the first that does not.
    between: u32,
}

/// Several in a round, for several processors.
const ROUNDS: Steps =
    Steps { first: &[0.5, 1.0, 1.5, 2.0], above: &[1.5, 2.25], below: &[1.0 / 1.5, 1.0 / 2.25, 0.1], between: 3 };
/// As few as can be, for one: what fits takes longest, for it is played to its end.
const ONE_BY_ONE: Steps = Steps { first: &[1.0], above: &[2.0], below: &[0.5], between: 1 };
/// What the generator makes at most: cgroups have 16 bits.
const MOST: u32 = 65_535;
/// The search ends at this many times the applications that fill RAM, or this number if that is more.
const FAR: u32 = 8;
const FEW: u32 = 16;
/// Mean wakes of the application that starts last.
const WAKES: f64 = 3.0;
/// A run is this many times as long as its applications take to start: wakes before all are there are quick.
const STARTS: f64 = 3.0;
/// Pages that a wake touches at least in what is made smaller: of fewer too much is rounded away.
const TOUCHED: f64 = 10.0;
/// Seconds that a run lasts at most: what the generator takes.
const LONGEST: f64 = 1e7;

/// What a number of applications came to.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct FitLook {
    /// Nanoseconds that half of all wakes do not exceed.
    pub wake_p50: Option<u64>,
    /// Nanoseconds that 99 % of all wakes do not exceed.
    pub wake_p99: Option<u64>,
    /// RAM of all pools in the mean, pages.
    pub pool: f64,
    /// Pages read from disks.
    pub disk_in: u64,
    /// Where memory ran out, as a share of the workload.
    pub out_of_memory: Option<f64>,
}

/// Why no more fit.
#[derive(Clone, Copy, Debug, PartialEq, Eq, serde::Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Stopped {
    /// Wakes take too long.
    Latency,
    /// Neither RAM nor swap has room.
    Memory,
}

impl FitLook {
    /// What a run says. Of a workload that is `scale` times smaller a wake touches as many times fewer pages: its time is multiplied.
    #[must_use]
    pub fn of(run: &TieringRun, scale: u32) -> Self {
        let quantile = |share| run.wakes.quantile(share).filter(|_| run.wakes.count() > 0).map(|nanos| nanos * u64::from(scale));
        Self {
            wake_p50: quantile(0.5),
            wake_p99: quantile(0.99),
            pool: run.pool_mean * f64::from(scale),
            disk_in: run.outcome.counters.disk_in * u64::from(scale),
            out_of_memory: run.outcome.out_of_memory.map(|event| event as f64 / run.events.max(1) as f64),
        }
    }

    /// Whether it says anything: without a wake there is no time of one.
    #[must_use]
    pub const fn is_answer(&self) -> bool {
        self.wake_p99.is_some() || self.out_of_memory.is_some()
    }

    /// Why it does not fit; `None` if it does. Where memory ran out, that is why.
    #[must_use]
    pub fn stopped(&self, limit: u64) -> Option<Stopped> {
        match self.out_of_memory {
            Some(_) => Some(Stopped::Memory),
            None => self.wake_p99.is_some_and(|nanos| nanos > limit).then_some(Stopped::Latency),
        }
    }
}

/// A workload of applications, of which a search takes more and more.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Applications {
    pages: f64,
    /// Pages that a wake touches.
    touched: f64,
    /// Without end where the generator counts wakes instead.
    seconds: f64,
    wake: f64,
}

impl Applications {
    /// What the generator is told of them; `None` when it makes no applications that sleep.
    #[must_use]
    pub fn of(source: &WorkloadSource) -> Option<Self> {
        let WorkloadSource::Generated(spec) = source else { return None };
        let (name, parameters) = spec.split_once(':').unwrap_or((spec, ""));
        let row = GENERATORS.iter().find(|row| row.name == name)?;
        let value = |name: &str| {
            let parameter = row.parameters.iter().find(|row| row.name == name)?;
            let mut given = parameters.split(',').filter_map(|pair| pair.split_once('=')).filter(|(key, _)| key.trim() == name);
            number(given.next_back().map_or(parameter.default, |(_, value)| value))
        };
        let (_, pages) = (value("apps")?, value("pages")?.max(1.0));
        let seconds = value("seconds").unwrap_or(f64::INFINITY);
        Some(Self { pages, touched: pages * value("touch")?, seconds, wake: value("wake").unwrap_or(0.0) })
    }

    /// As many as fill the RAM of a tiering.
    #[must_use]
    pub fn fill(&self, tiering: &Tiering) -> u32 {
        let ram = tiering.settings.ram.saturating_sub(tiering.settings.reserved) as f64;
        ((ram / self.pages) as u32).clamp(1, MOST)
    }

    /// By how much they may be made smaller.
    #[must_use]
    pub fn scale_max(&self) -> u64 {
        (self.touched / TOUCHED) as u64
    }

    /// How long a run with this number must last where the seconds that are asked for are too few for all to start, one a second, and to wake.
    #[must_use]
    pub fn longer(&self, applications: u32) -> Option<u32> {
        let starts = f64::from(applications);
        let needed = (starts + WAKES * self.wake).max(starts * STARTS).min(LONGEST);
        (needed > self.seconds).then_some(needed.ceil() as u32)
    }
}

/// The answer.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Fit {
    /// The largest number below all that do not fit; 0 when not even one does.
    pub applications: u32,
    /// What they come to; `None` for 0.
    pub look: Option<FitLook>,
    /// What one more comes to; `None` when as many fit as were looked at.
    pub next: Option<FitLook>,
    /// A larger number that was looked at and fits all the same: then wakes do not get slower with each application.
    pub fits_again: Option<u32>,
}

/// A search of one tiering.
#[derive(Clone, Debug)]
pub struct Search {
    limit: u64,
    fill: u32,
    most: u32,
    steps: Steps,
    precision: f64,
    looks: BTreeMap<u32, FitLook>,
}

impl Search {
    /// A search for wakes of at most `limit` nanoseconds, around `fill` applications: as many as fill RAM.
    #[must_use]
    pub fn new(limit: u64, fill: u32) -> Self {
        let most = fill.saturating_mul(FAR).clamp(FEW, MOST);
        Self { limit, fill, most, steps: ROUNDS, precision: 0.0, looks: BTreeMap::new() }
    }

    /// The same with few looks for a caller who takes one at a time. It ends when the answer is known to this share of it; with 0 it is exact.
    #[must_use]
    pub fn one_by_one(limit: u64, fill: u32, precision: f64) -> Self {
        Self { steps: ONE_BY_ONE, precision, ..Self::new(limit, fill) }
    }

    /// Nanoseconds that 99 % of all wakes may take.
    #[must_use]
    pub const fn limit(&self) -> u64 {
        self.limit
    }

    /// Notes what a number came to.
    pub fn note(&mut self, applications: u32, look: FitLook) {
        self.looks.insert(applications, look);
    }

    /// Everything that was looked at.
    pub fn looks(&self) -> impl Iterator<Item = (u32, &FitLook)> {
        self.looks.iter().map(|(applications, look)| (*applications, look))
    }

    /// Numbers to look at next; none when the answer is known.
    #[must_use]
    pub fn next(&self) -> Vec<u32> {
        let Steps { first, above, below, between } = self.steps;
        let times = |number: u32, factor: f64| ((f64::from(number) * factor).round() as u32).clamp(1, self.most);
        let mut next: Vec<u32> = match (self.lower(), self.upper()) {
            (None, None) => first.iter().map(|share| times(self.fill, *share)).collect(),
            (Some(fits), None) => (1..).zip(above).map(|(more, share)| times(fits, *share).max(fits + more)).collect(),
            (None, Some(fails)) => below.iter().map(|share| times(fails, *share)).collect(),
            (Some(fits), Some(fails)) if f64::from(fails - fits) <= self.precision * f64::from(fits) => Vec::new(),
            (Some(fits), Some(fails)) => {
                let gap = u64::from(fails - fits);
                (1..=between).map(|part| fits + (gap * u64::from(part) / u64::from(between + 1)) as u32).collect()
            }
        };
        next.retain(|number| *number <= self.most && !self.looks.contains_key(number));
        next.sort_unstable();
        next.dedup();
        next
    }

    /// The largest number below all that do not fit.
    fn lower(&self) -> Option<u32> {
        let upper = self.upper().unwrap_or(u32::MAX);
        self.looks.range(..upper).next_back().map(|(number, _)| *number)
    }

    /// The smallest number that does not fit.
    fn upper(&self) -> Option<u32> {
        self.looks.iter().find(|(_, look)| look.stopped(self.limit).is_some()).map(|(number, _)| *number)
    }

    /// The answer, of what was looked at.
    #[must_use]
    pub fn answer(&self) -> Fit {
        let (lower, upper) = (self.lower(), self.upper());
        let again = self.looks.iter().rev().find(|(_, look)| look.stopped(self.limit).is_none()).map(|(number, _)| *number);
        Fit {
            applications: lower.unwrap_or(0),
            look: lower.map(|number| self.looks[&number]),
            next: upper.map(|number| self.looks[&number]),
            fits_again: again.filter(|number| upper.is_some_and(|upper| *number > upper)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_run_is_as_long_as_its_applications_need_to_start_and_to_wake() {
        let of = |spec: &str| Applications::of(&WorkloadSource::Generated(spec.into()));
        let small = of("idle:pages=2k,seconds=10,wake=2").unwrap();
        assert_eq!((small.longer(3), small.longer(4), small.longer(500)), (None, Some(12), Some(1500)));
        assert_eq!(of("idle:apps=9,wake=40,seconds=30").unwrap().longer(2), Some(122));
        assert_eq!(of("idle:wake=1e7").unwrap().longer(1), Some(10_000_000), "no longer than can be asked for");
        assert_eq!(of("services").unwrap().longer(60_000), None, "wakes are counted there");
        assert_eq!((of("zipf"), of("idel")), (None, None));
    }

    #[test]
    fn what_is_made_smaller_keeps_pages_to_touch() {
        let most = |spec: &str| Applications::of(&WorkloadSource::Generated(spec.into())).unwrap().scale_max();
        assert_eq!((most("idle"), most("idle:pages=2k"), most("idle:pages=2k,touch=1"), most("idle:touch=0")), (750, 60, 200, 0));
    }

    fn look(wake: u64, out_of_memory: bool) -> FitLook {
        let out_of_memory = out_of_memory.then_some(0.5);
        FitLook { wake_p50: Some(1), wake_p99: Some(wake), pool: 0.0, disk_in: 0, out_of_memory }
    }

    /// The answer, and how many numbers were looked at in how many rounds.
    fn search(fill: u32, of: impl Fn(u32) -> FitLook) -> (Fit, usize, usize) {
        to_the_end(Search::new(100, fill), of)
    }

    fn to_the_end(mut search: Search, of: impl Fn(u32) -> FitLook) -> (Fit, usize, usize) {
        for round in 0..100 {
            let next = search.next();
            if next.is_empty() {
                return (search.answer(), search.looks.len(), round);
            }
            next.into_iter().for_each(|number| search.note(number, of(number)));
        }
        panic!("no end: {:?}", search.answer());
    }

    #[test]
    fn the_last_that_fits_is_found_wherever_it_is() {
        for fill in [1, 2, 40, 1000, 100_000] {
            for last in
                [0, 1, 2, 3, 15, 39, 40, 41, 77, 200, 1234, 65_534].into_iter().filter(|last| *last < (fill * 8).clamp(16, MOST))
            {
                let (fit, looks, rounds) = search(fill, |number| look(if number <= last { 100 } else { 101 }, false));
                assert_eq!((fit.applications, fit.fits_again), (last, None), "around {fill}");
                assert_eq!(fit.next.unwrap().stopped(100), Some(Stopped::Latency));
                assert_eq!(fit.look.is_some(), last > 0);
                assert!(looks < 70 && rounds < 25, "{last} around {fill}: {looks} in {rounds} rounds");
            }
        }
    }

    #[test]
    fn one_by_one_it_takes_fewer_looks_and_ends_when_that_is_near_enough() {
        for (fill, last) in [(1, 3), (40, 15), (40, 77), (1000, 1234), (1000, 5000)] {
            let of = |number| look(if number <= last { 100 } else { 101 }, false);
            let (exact, looks, _) = search(fill, of);
            let (same, fewer, _) = to_the_end(Search::one_by_one(100, fill, 0.0), of);
            let (near, fewest, _) = to_the_end(Search::one_by_one(100, fill, 0.05), of);
            assert_eq!(same.applications, exact.applications, "around {fill}");
            assert!(near.applications <= last && f64::from(last) < f64::from(near.applications) * 1.05 + 1.0, "{near:?}");
            assert!(fewer <= looks && fewest <= fewer, "{last} around {fill}: {looks}, {fewer}, {fewest}");
        }
    }

    #[test]
    fn memory_can_end_it_before_wakes_do() {
        let (fit, _, _) = search(40, |number| look(if number > 90 { 101 } else { 5 }, number > 63));
        assert_eq!((fit.applications, fit.next.unwrap().stopped(100)), (63, Some(Stopped::Memory)));
    }

    #[test]
    fn somewhere_the_search_ends() {
        for (fill, most) in [(1, 16), (40, 320), (60_000, MOST)] {
            let (fit, _, _) = search(fill, |_| look(1, false));
            assert_eq!((fit.applications, fit.next), (most, None), "around {fill}");
        }
    }

    #[test]
    fn a_number_that_fits_above_one_that_does_not_is_told() {
        let (fit, _, _) = search(40, |number| look(if (21..=40).contains(&number) || number > 100 { 500 } else { 1 }, false));
        assert_eq!((fit.applications, fit.fits_again), (20, Some(80)));
    }
}
