//! How many idle services fit into a small machine, with each of several configurations.
//!
//! Real processes are started one after another; each is woken in an open loop and works over a part of its memory. The answer is the
//! largest number of them at which 99 of 100 wakes are answered within a bound and none is killed. Every configuration is measured
//! once in each round, in an order by chance, with the same services woken at the same moments.

mod cell;
mod load;
mod ratio;
mod service;
mod services;
#[cfg(test)]
mod tests;

use std::path::PathBuf;
use std::time::{Duration, Instant};

use swaptune_core::measurement::{DensityFigures, DensityLimit, DensityLoad, DensityRound, Evidence, SampleFigures};
use swaptune_core::stats::{Nanos, median_interval};
use swaptune_core::{Bytes, Facts};
use swaptune_host::cgroup::CgroupError;
use swaptune_host::machine::{Machine, ReadError};
use swaptune_host::processes::ProcessChoice;
use swaptune_host::stop::Stop;
use swaptune_host::temporary::{TemporaryError, TemporarySettings};
use swaptune_host::{child, error_chain};
use thiserror::Error;

use crate::order::shuffled;
use crate::sample;
use crate::space::{CompressedPools, SmallSpace, SpaceError, SpaceWish};
use crate::variant::{NOW, Preparation, Skipped, Variant, VariantOutcome, prepare, switch_off};
use cell::DensityBench;
use service::{Service, Wait};

pub use ratio::{DensityRatio, ratio};
pub use services::{KINDS, Launch, ServiceKind};

/// Pages of a service that are sampled.
const SAMPLED: u64 = 4096;
/// With fewer pages its memory is not the process's own.
const ENOUGH: u64 = 1000;
/// Codecs that a kernel may have and a library has too.
const SAMPLED_CODECS: [&str; 3] = ["lz4", "zstd", "deflate"];

/// How density is measured.
#[derive(Clone, Debug, PartialEq)]
pub struct DensityOptions {
    /// Memory that the services have, zswap's pool included.
    pub memory: Bytes,
    /// How memory is made small.
    pub limit: SpaceWish,
    /// A level is held when 99 of 100 wakes take no longer.
    pub bound: Nanos,
    /// Wakes a second over all services.
    pub wakes_per_second: f64,
    /// Zipf's exponent of how often each service is woken; 0: evenly.
    pub skew: f64,
    /// Wakes that a level measures.
    pub wakes: u32,
    /// Services more from level to level, in percent.
    pub step_percent: u32,
    /// The most services that are started.
    pub most: u32,
    /// Numbers of services that are measured, ascending, whether the one before was held or not; empty: the largest is searched for.
    pub at: Vec<u32>,
    /// How often each configuration is measured.
    pub rounds: u32,
    /// A level ends when all tasks stall on memory for a larger share of 10 s, in percent.
    pub stall_percent: f64,
    /// Where swap files are made.
    pub folder: PathBuf,
    /// For what is drawn by chance.
    pub seed: u64,
}

impl DensityOptions {
    /// Wakes a second, and how unevenly they fall.
    fn load(&self) -> (f64, f64) {
        (self.wakes_per_second, self.skew)
    }
}

/// Where a run has come to.
#[derive(Clone, Debug, PartialEq)]
pub struct DensityProgress<'a> {
    /// The configuration.
    pub variant: &'a str,
    /// Services that it has now.
    pub services: u32,
    /// Rounds of configurations that are done.
    pub done: usize,
    /// Rounds of configurations in all.
    pub of: usize,
    /// How long the rest will take, from what was done until now.
    pub left: Option<Duration>,
}

/// Why nothing could be measured.
#[derive(Debug, Error)]
pub enum DensityError {
    /// This machine must not or cannot be used for it; nothing was changed.
    #[error("{why}")]
    Refused {
        /// The reason, as one sentence for the user.
        why: String,
        /// What to do about it.
        hint: String,
    },
    /// A service does not do what it shall.
    #[error("service `{name}`: {why}")]
    Service {
        /// Its name.
        name: String,
        /// What it did.
        why: String,
    },
    /// A temporary setting could not be made or put back.
    #[error(transparent)]
    Temporary(#[from] TemporaryError),
    /// A group could not be made.
    #[error(transparent)]
    Group(#[from] CgroupError),
    /// The machine cannot be read.
    #[error(transparent)]
    Read(#[from] ReadError),
    /// Memory could not be made small.
    #[error(transparent)]
    Space(#[from] SpaceError),
    /// Our own memory cannot be kept in RAM.
    #[error("mlockall: {0}")]
    Lock(#[source] std::io::Error),
}

/// Starts one small service, wakes it, and ends it: a command that cannot be used is found before anything is changed.
///
/// # Errors
/// [`DensityError::Service`].
pub fn try_service(launch: &Launch) -> Result<(), DensityError> {
    let small = Launch { heap: Bytes(launch.heap.0.min(1 << 20)), ..launch.clone() };
    let failed = |why: String| DensityError::Service { name: launch.name.clone(), why };
    let mut service = Service::start(&small, 1, None)?;
    for moment in ["say that it is ready", "answer a wake"] {
        let until = Instant::now() + Duration::from_secs(30);
        match service.wait(until, &|| false) {
            Wait::Answered => {}
            Wait::Gone => {
                return Err(failed(format!("it was to {moment} with a line on standard output, and {}", service.fate())));
            }
            Wait::Late | Wait::Stopped => {
                return Err(failed(format!("it did not {moment} with a line on standard output within 30 s")));
            }
        }
        service.wake(Instant::now());
    }
    Ok(())
}

/// What the pages of a service compress to, as if all processes were such services: what is planned for them rests on that, as a plan
/// does after `swaptune sample`. `None` where its process has too few pages of its own, as that of a shell.
///
/// # Errors
/// [`DensityError::Service`].
pub fn sample_service(machine: &Machine, facts: &Facts, launch: &Launch) -> Result<Option<SampleFigures>, DensityError> {
    let mut service = Service::start(launch, 1, None)?;
    if service.wait(Instant::now() + Duration::from_secs(60), &|| false) != Wait::Answered {
        return Ok(None);
    }
    let request = sample::SampleRequest {
        choice: ProcessChoice { pids: vec![service.id()], ..ProcessChoice::default() },
        pages: SAMPLED,
        cold_seconds: None,
        seed: 1,
        codecs: SAMPLED_CODECS.iter().filter_map(|name| name.parse().ok()).collect(),
        by_unit: false,
    };
    let sampled = sample::take(machine, &request, &mut |_| ()).ok();
    let figures = sampled.and_then(|sample| sample.figures(&sample::EstimatedPools::of(&facts.kernel)));
    Ok(figures
        .filter(|figures| figures.sampled >= ENOUGH)
        .map(|figures| SampleFigures { of: SampleFigures::ALL.into(), ..figures }))
}

/// What came of all configurations, and what ended it before all rounds were done: rounds that were measured before an error stand.
pub type DensityOutcome = (VariantOutcome<DensityFigures>, Option<DensityError>);

/// Measures this machine as it is: nothing is set, nothing is held, and a daemon goes on. `show` and `stop` as for [`run`].
///
/// # Errors
/// [`DensityError::Service`], [`DensityError::Lock`], when no round was measured.
pub fn run_in_place(
    machine: &Machine,
    facts: &Facts,
    launch: &Launch,
    options: &DensityOptions,
    stop: &Stop,
    show: &mut dyn FnMut(&DensityProgress<'_>),
) -> Result<DensityOutcome, DensityError> {
    child::lock_memory().map_err(DensityError::Lock)?;
    // Where it is refused, a level ends earlier and says so.
    let _ = child::open_many_files();
    let variant = Variant { name: NOW.into(), algorithm: None, settings: None };
    let has_zswap = facts.knob("zswap.enabled") == Some("Y");
    let pool_percent = facts.knob("zswap.max_pool_percent").and_then(|percent| percent.parse().ok()).filter(|_| has_zswap);
    let preparation = Preparation { changes: Vec::new(), pool_percent };
    let mut row = VariantDensity { variant: &variant, preparation, rounds: Vec::new(), refused: None };
    let space = SmallSpace::as_it_is(options.memory, ("density", &launch.holder));
    let bench = DensityBench { machine, options, launch, space, stop };
    let (begun, of) = (Instant::now(), options.rounds as usize);
    let (mut outcome, mut failed) = (VariantOutcome::default(), None);
    for done in 0..of {
        let left = (done > 0).then(|| begun.elapsed() / done as u32 * (of - done) as u32);
        let mut tell = |services| show(&DensityProgress { variant: NOW, services, done, of, left });
        match bench.round(row.first(&bench), options.seed.wrapping_add(done as u64), &mut tell) {
            Ok(Some(found)) => row.rounds.push(found),
            Ok(None) => outcome.stopped = true,
            Err(error) => failed = Some(error),
        }
        if outcome.stopped || failed.is_some() {
            break;
        }
    }
    finish(vec![row], failed, (DensityLimit::InPlace, launch, options), outcome)
}

/// Measures variants on this machine. `facts` are of it as it is; variants were resolved for what [`pose`](crate::variant::pose) makes of them. `show` is
/// told what is being done; when `stop` is asked for, everything is put back and what was measured in whole rounds is the result.
///
/// # Errors
/// [`DensityError`], when no round was measured; everything is as before then, or the error says what is not.
pub fn run(
    machine: &Machine,
    (facts, evidence): (&Facts, &Evidence),
    (variants, launch): (&[Variant], &Launch),
    options: &DensityOptions,
    stop: &Stop,
    show: &mut dyn FnMut(&DensityProgress<'_>),
) -> Result<DensityOutcome, DensityError> {
    let mut outcome = VariantOutcome::default();
    let mut rows = Vec::new();
    for variant in variants {
        match prepare(variant, (facts, options.memory), evidence, &options.folder) {
            Ok(preparation) => rows.push(VariantDensity { variant, preparation, rounds: Vec::new(), refused: None }),
            Err(why) => outcome.skipped.push(Skipped { variant: variant.name.clone(), why }),
        }
    }
    // A driver that waits for its own pages would measure itself.
    child::lock_memory().map_err(DensityError::Lock)?;
    // Where it is refused, a level ends earlier and says so.
    let _ = child::open_many_files();
    let mut temporary = TemporarySettings::open(machine, "swaptune bench density")?;
    outcome.recovered = temporary.recovered().map(str::to_owned);
    let measured = temporary
        .make(switch_off(facts))
        .map_err(DensityError::from)
        .and_then(|()| {
            let pools = CompressedPools::of_all(rows.iter().map(|row| row.preparation.pools()));
            Ok(SmallSpace::make(machine, options.memory, (options.limit, pools), ("density", &launch.holder))?)
        })
        .map(|space| {
            let limit = space.limit;
            let bench = DensityBench { machine, options, launch, space, stop };
            (limit, rounds(&bench, &mut temporary, &mut rows, show))
        });
    // What could not be put back weighs more than what could not be measured.
    let closed = temporary.close().map_err(DensityError::from);
    let (limit, whole) = match measured {
        Ok((limit, whole)) => (limit, closed.and(whole)),
        Err(error) => return Err(closed.err().unwrap_or(error)),
    };
    outcome.stopped = whole.as_ref().is_ok_and(|whole| !whole);
    finish(rows, whole.err(), (limit, launch, options), outcome)
}

/// Makes figures of what was measured. An error is what came of it where no round was.
fn finish(
    rows: Vec<VariantDensity<'_>>,
    failed: Option<DensityError>,
    conditions: (DensityLimit, &Launch, &DensityOptions),
    mut outcome: VariantOutcome<DensityFigures>,
) -> Result<DensityOutcome, DensityError> {
    let is_measured = rows.iter().any(|row| !row.rounds.is_empty());
    match failed {
        Some(error) if !is_measured => Err(error),
        failed => {
            rows.into_iter().for_each(|row| row.finish(conditions, &mut outcome));
            Ok((outcome, failed))
        }
    }
}

/// A configuration and what was measured of it.
struct VariantDensity<'a> {
    variant: &'a Variant,
    preparation: Preparation,
    rounds: Vec<DensityRound>,
    // Why the kernel did not take it.
    refused: Option<String>,
}

/// False when it was stopped.
fn rounds(
    bench: &DensityBench<'_>,
    temporary: &mut TemporarySettings,
    rows: &mut [VariantDensity<'_>],
    show: &mut dyn FnMut(&DensityProgress<'_>),
) -> Result<bool, DensityError> {
    let options = bench.options;
    let (begun, mut done, of) = (Instant::now(), 0_usize, rows.len() * options.rounds as usize);
    for round in 0..options.rounds {
        let seed = options.seed.wrapping_add(u64::from(round));
        for place in shuffled(rows.len(), seed) {
            let Some(row) = rows.get_mut(place) else { continue };
            if row.refused.is_some() {
                continue;
            }
            let left = (done > 0).then(|| begun.elapsed() / done as u32 * (of - done) as u32);
            let (variant, before) = (row.variant.name.as_str(), done);
            let mut tell = |services| show(&DensityProgress { variant, services, done: before, of, left });
            let mark = temporary.mark()?;
            done += 1;
            // Before swap is on, so that no configuration is in the way of it.
            let held = bench.space.hold(bench.machine)?;
            temporary.counts_on(held.bytes);
            match temporary.make(row.preparation.changes.clone()) {
                Ok(()) => {}
                // What this kernel or machine lacks is told of once, and the others are measured.
                Err(error @ (TemporaryError::Step { .. } | TemporaryError::Refused { .. })) => {
                    row.refused = Some(error_chain(&error));
                    continue;
                }
                Err(error) => return Err(error.into()),
            }
            let measured = bench.round(row.first(bench), seed, &mut tell);
            drop(held);
            temporary.back_to(mark)?;
            match measured? {
                Some(found) => row.rounds.push(found),
                None => return Ok(false),
            }
        }
    }
    Ok(true)
}

impl VariantDensity<'_> {
    /// Where to begin: a little below what fitted the last time, or below what fits without any swap.
    fn first(&self, bench: &DensityBench<'_>) -> u32 {
        let fitted = self.rounds.iter().map(|round| round.fits).max();
        let bare = bench.options.memory.0 * 3 / 5 / bench.launch.heap.0.max(1);
        let first = fitted.map_or(bare, |fits| u64::from(fits) * 4 / 5);
        u32::try_from(first).unwrap_or(u32::MAX).clamp(1, bench.options.most)
    }

    /// Its figures, and why it has none or too few: what was measured before it was refused stands.
    fn finish(
        self,
        (limit, launch, options): (DensityLimit, &Launch, &DensityOptions),
        outcome: &mut VariantOutcome<DensityFigures>,
    ) {
        let fits: Vec<f64> = self.rounds.iter().map(|round| f64::from(round.fits)).collect();
        let variant = self.variant.name.clone();
        let Some(fits) = median_interval(&fits) else {
            let why = self.refused.unwrap_or_else(|| "it was stopped before a round of it was done".into());
            outcome.skipped.push(Skipped { variant, why });
            return;
        };
        if let Some(why) = &self.refused {
            let why = format!("after {} of its rounds: {why}", self.rounds.len());
            outcome.skipped.push(Skipped { variant: variant.clone(), why });
        }
        outcome.figures.push(DensityFigures {
            variant,
            settings: self.preparation.changes.iter().map(ToString::to_string).collect(),
            memory: options.memory,
            limit,
            pool_percent: self.preparation.pool_percent,
            load: DensityLoad {
                service: launch.name.clone(),
                heap: launch.heap,
                work_percent: launch.work_percent,
                wakes_per_second: options.wakes_per_second,
                skew: options.skew,
                wakes: options.wakes,
                bound: options.bound,
                seed: options.seed,
                at: options.at.clone(),
            },
            rounds: self.rounds,
            fits,
        });
    }
}

/// Refuses a machine on which this would do harm or could not work.
///
/// # Errors
/// [`DensityError::Refused`].
pub fn check(machine: &Machine, facts: &Facts) -> Result<(), DensityError> {
    let refused = |why: &str, hint: &str| Err(DensityError::Refused { why: why.into(), hint: hint.into() });
    if !machine.is_root() {
        return refused("swap is set up and memory made small for a moment, which only root may do", "put sudo before it");
    }
    if facts.system.container.is_known() {
        return refused("this is a container: its kernel's swap belongs to the host", "run it on the host");
    }
    Ok(())
}
