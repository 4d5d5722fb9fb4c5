//! What ways to set up this machine would come to: each candidate is simulated, and the search says how many idle applications fit.
//!
//! - Candidates are the machine that the plan makes ([`ForecastRequest::planned`]) and what differs from it in one thing that was not asked for by name: see `candidates.rs`.
//! - Pages have the sizes of a page set, else those that the newest sample of all processes says, else assumed ratios: see `pages.rs`.
//! - Costs are those of [`crate::this_machine`]: measured where there are results, usual ones elsewhere.
//! - Applications are those of the generator `idle`: they write their pages once, then sleep, and wake every [`WAKE_SECONDS`] in the mean
//!   to touch 30 % of them. They have the mean size of a process in the newest sample, or what is asked for, and are neither smaller
//!   than 1/[`MOST_IN_RAM`] of RAM nor larger than 1/[`LEAST_IN_RAM`], within bounds of their own (`USUAL_APPLICATION`, `LARGEST_APPLICATION`):
//!   what is counted is memory in units of one application.
//! - What the kernel and others hold is taken away: RAM less what is available and what applications hold now.
//! - Pages are as large as those of the machine; sizes within one are brought to the 4 KiB of the model.
//! - Of a machine with room for more than [`ForecastDetail::applications`] an even part is simulated: RAM, slots and pools, each divided by
//!   the same number.
//! - The machine and its applications are made smaller together until RAM has [`ForecastDetail::ram_pages`]; a wake then touches as many times fewer
//!   pages, and its time is multiplied.
//! - A quick look makes a machine with much swap smaller still ([`ForecastDetail::most_swap`]), and many applications wake less often in it
//!   ([`ForecastDetail::wakes`]).
//!
//! The answer is a function of facts, results, settings and the request; neither time nor the number of processors matters.

mod candidates;
mod pages;

use std::ops::RangeInclusive;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread::available_parallelism;

use swaptune_core::forecast::{BackingTier, Candidate, CandidateForecast, Forecast, MeasuredParts};
use swaptune_core::measurement::Evidence;
use swaptune_core::profiles::auto::simulated_gain_percent;
use swaptune_core::settings::Settings;
use swaptune_core::{Bytes, Facts};
use swaptune_tiers::generate::generate;
use swaptune_tiers::model::{Backing, CompressedSizes, ModelSettings as Model};
use swaptune_tiers::page_set::PageSet;
use swaptune_tiers::scenario::{FitLook, Search, Tiering, run_within};

use self::candidates::CandidateGround;
use self::pages::SampledSizes;
use crate::this_machine::{KnownCosts, Subject, THIS, ThisMachineError, as_it_is, page_of};

/// Mean seconds between wakes of an application.
pub const WAKE_SECONDS: u32 = 120;
/// Mean wakes of an application after the last one was started: at most, and where many others wake too.
const WAKES: RangeInclusive<u32> = 3..=10;
/// Nanoseconds that 99 of 100 wakes may take: what a person takes for at once (R. B. Miller 1968, 0.1 s).
pub const LIMIT: u64 = 100_000_000;
/// An application is not smaller than this share of RAM.
pub const MOST_IN_RAM: u64 = 256;
/// And not larger than this.
pub const LEAST_IN_RAM: u64 = 16;
/// Where no sample says how large a process is. No application has to be larger than this for the sake of its share of RAM.
const USUAL_APPLICATION: Bytes = Bytes::from_mib(100);
/// And none is larger than this unless it is asked for: the larger it is, the smaller the machine is made in which it has few pages, and the
/// more a single page that has to be read counts; with [`LIMIT`] nothing fits then.
const LARGEST_APPLICATION: Bytes = Bytes::from_mib(256);
/// Pages of RAM of the machine that is simulated.
pub const PAGES: u64 = 6_144;

/// What is asked.
#[derive(Clone, Copy, Debug)]
pub struct ForecastRequest<'a> {
    /// The machine.
    pub facts: &'a Facts,
    /// What was measured on it.
    pub evidence: &'a Evidence,
    /// What the rules propose for it, resolved.
    pub settings: &'a Settings,
    /// The machine as the plan for these settings leaves it: what is proposed. It may differ from what the settings say, where something keeps
    /// the plan from it.
    pub planned: &'a Facts,
    /// Sizes of its pages, and the name of the file.
    pub page_set: Option<(&'a PageSet, &'a str)>,
    /// Size of an application; `None`: as the sample says.
    pub application: Option<Bytes>,
    /// How closely is looked.
    pub detail: ForecastDetail,
    /// Which other candidates than the proposal are simulated.
    pub alternatives: Alternatives,
    /// A forecast for the same machine and settings, in the same detail, with fewer alternatives: its rows are not simulated again.
    pub before: Option<&'a Forecast>,
}

/// How closely a forecast looks: more is nearer to the machine, and slower.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct ForecastDetail {
    /// How many seeds.
    pub seeds: u32,
    /// Pages of RAM of the machine that is simulated.
    pub ram_pages: u64,
    /// Of a machine that holds more applications in its RAM than this, an even part is simulated, and the answer multiplied: reclaim walks through
    /// all groups again and again, which takes the square of their number, and what has a few pages only is modelled badly.
    pub applications: u64,
    /// RAM and swap together count as RAM beyond this many times the RAM, in both of the above: what swap holds takes time to simulate too.
    pub most_swap: u64,
    /// Wakes of all applications together that are enough to tell the 99th percentile by.
    pub wakes: u32,
    /// The search ends when the last number that fits is known to this share of it.
    pub precision: f64,
}

impl ForecastDetail {
    /// The quick look that every plan begins with: fewer applications, and numbers within 2 %. docs/evidence/simulations.md has it beside the thorough one.
    pub const QUICK: Self = Self { seeds: 2, ram_pages: PAGES, applications: 24, most_swap: 3, wakes: 180, precision: 0.02 };

    /// For whoever asks for a simulation.
    #[must_use]
    pub const fn thorough(seeds: u32) -> Self {
        Self { seeds, ram_pages: PAGES, applications: 64, most_swap: u64::MAX, wakes: u32::MAX, precision: 0.0 }
    }
}

/// What is simulated beside the proposal.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Alternatives {
    /// Nothing but the machine as it is.
    None,
    /// Other tiers with the same compressor, and the disks alone.
    Tiers,
    /// All that differs in one thing.
    All,
}

impl Alternatives {
    fn has(self, proposed: &Candidate, other: &Candidate) -> bool {
        let same = other.compressor.is_none() || other.compressor == proposed.compressor;
        match self {
            Self::None => false,
            Self::Tiers => other.tier != proposed.tier && same,
            Self::All => true,
        }
    }
}

impl<'a> ForecastRequest<'a> {
    /// Without a page set, with all alternatives.
    #[must_use]
    pub fn usual(
        facts: &'a Facts,
        evidence: &'a Evidence,
        settings: &'a Settings,
        planned: &'a Facts,
        application: Option<Bytes>,
        detail: ForecastDetail,
    ) -> Self {
        Self {
            facts,
            evidence,
            settings,
            planned,
            page_set: None,
            application,
            detail,
            alternatives: Alternatives::All,
            before: None,
        }
    }
}

/// Why nothing is predicted.
#[derive(Debug, thiserror::Error)]
pub enum PredictError {
    /// The model has no such machine.
    #[error(transparent)]
    Machine(#[from] ThisMachineError),
    /// Nothing is proposed that swaps.
    #[error("no swap comes of the plan, so there is nothing to simulate")]
    NoSwap,
    /// A wake in the model is slower than the limit whatever the number.
    #[error(
        "{candidate}: in the model not even one application of {application} is awake in time, so its figures say nothing here"
    )]
    TooSlow {
        /// The candidate.
        candidate: String,
        /// The size of an application.
        application: Bytes,
    },
    /// A page set without the codec that is proposed.
    #[error("{file} has no sizes for {codec}; it has {has}")]
    NoSizes {
        /// The page set.
        file: String,
        /// What is proposed.
        codec: String,
        /// What it has.
        has: String,
    },
    /// A run that the model refused.
    #[error("simulating {candidate}: {why}")]
    Run {
        /// Of which candidate.
        candidate: String,
        /// What the model said.
        why: String,
    },
}

/// The machine that is simulated, apart from what differs between candidates.
struct Small {
    /// Bytes of a page.
    page: u64,
    scale: u32,
    /// Number of even parts of this machine; one of them is simulated.
    parts: u32,
    wakes: u32,
    precision: f64,
    application: Bytes,
    application_from: String,
    reserved: u64,
}

/// Simulates all candidates on all cores; `on` is told how many of how many searches are done.
///
/// # Errors
/// [`PredictError`] when this machine cannot be modelled or nothing is wanted that swaps.
pub fn predict(request: &ForecastRequest<'_>, on: &(dyn Fn(usize, usize) + Sync)) -> Result<Forecast, PredictError> {
    let known = KnownCosts::of(request.facts, request.evidence);
    let pages = SampledSizes::of(request);
    let ground = CandidateGround::of(request, &known.figures).ok_or(PredictError::NoSwap)?;
    pages.has(ground.proposed.compressor.as_deref())?;
    let mut candidates: Vec<Candidate> = ground.candidates(|codec| pages.knows(codec));
    candidates.retain(|other| *other == ground.proposed || request.alternatives.has(&ground.proposed, other));
    let small = Small::of(request, ground.most_swap());
    let before = request.before.map(|forecast| forecast.candidates.as_slice()).unwrap_or_default();
    let row_before = |candidate: &Candidate| before.iter().find(|row| row.candidate == *candidate);
    let tiering = |candidate: &Candidate, mut model: Model| {
        small.shrink(&mut model);
        model.sizes = CompressedSizes::Drawn(pages.sizes(candidate, model.kernel));
        Tiering { name: candidate.to_string(), settings: model, sizes_given: true, devices: Vec::new(), daemon: None }
    };
    let model = |candidate: &Candidate| Ok(tiering(candidate, ground.machine_with(candidate, &known.figures)?));
    let new = candidates.iter().filter(|candidate| row_before(candidate).is_none());
    let mut tierings = new.map(model).collect::<Result<Vec<_>, PredictError>>()?;
    let today = candidates::as_set_up(request.facts);
    if request.before.is_none() {
        // A machine that the model does not have may well be planned for.
        let now = as_it_is(request.facts, &known.figures).and_then(|machine| Ok(machine.settings(&known.figures)?));
        tierings.extend(now.ok().map(|model| tiering(&today, model)));
    }
    let seeds: Vec<u64> = (1..=u64::from(request.detail.seeds)).collect();
    let jobs: Vec<(&Tiering, u64)> = tierings.iter().flat_map(|tiering| seeds.iter().map(move |seed| (tiering, *seed))).collect();
    let found = all(&jobs, &small, on)?;
    let costs = costs(&known, &candidates);
    let measured = MeasuredParts { pages: pages.is_measured(), costs: !costs.is_empty() };
    let mut found = found.chunks(seeds.len()).map(<[u32]>::to_vec);
    let mut row = |candidate: Candidate| Some(CandidateForecast { candidate, applications: found.next()? });
    let rows: Vec<CandidateForecast> =
        candidates.into_iter().filter_map(|candidate| row_before(&candidate).cloned().or_else(|| row(candidate))).collect();
    let today = request.before.map_or_else(|| row(today), |forecast| forecast.today.clone());
    let none_fits = today.iter().chain(rows.first()).find(|row: &&CandidateForecast| row.high() == 0);
    if let Some(row) = none_fits {
        return Err(PredictError::TooSlow { candidate: row.candidate.to_string(), application: small.application });
    }
    let mut rests_on = vec![pages.from.clone(), small.application_from.clone()];
    if costs.is_empty() {
        rests_on.push("usual costs of codecs, faults and disks, none measured here".to_owned());
    }
    rests_on.extend(costs);
    Ok(Forecast {
        counted: small.counted(),
        measured,
        gain_percent: simulated_gain_percent(measured.all()),
        rests_on,
        seeds,
        candidates: rows,
        today,
        chosen: None,
    })
}

/// What was measured of that which the candidates use.
fn costs(known: &KnownCosts, candidates: &[Candidate]) -> Vec<String> {
    let names = |tier: BackingTier, name: &String| {
        candidates.iter().any(|candidate| candidate.tier == tier && candidate.compressor.as_ref() == Some(name))
    };
    let is_used = |subject: &Subject| match subject {
        Subject::Costs => true,
        Subject::Zswap(name) => names(BackingTier::Zswap, name),
        Subject::Zram(name) => names(BackingTier::Zram, name),
        // The same disk under its own name is cited too.
        Subject::Device(name) => name != THIS,
    };
    let used = known.cites.iter().filter(|cite| is_used(&cite.subject));
    used.map(|cite| format!("{}: {} ({})", cite.subject, cite.value, cite.source)).collect()
}

/// How many applications fit, for each job in its order.
fn all(jobs: &[(&Tiering, u64)], small: &Small, on: &(dyn Fn(usize, usize) + Sync)) -> Result<Vec<u32>, PredictError> {
    let found: Vec<OnceLock<Result<u32, PredictError>>> = jobs.iter().map(|_| OnceLock::new()).collect();
    let (next, done) = (AtomicUsize::new(0), AtomicUsize::new(0));
    let worker = || {
        while let Some(index) = Some(next.fetch_add(1, Ordering::Relaxed)).filter(|index| *index < jobs.len()) {
            let (tiering, seed) = jobs[index];
            on(done.load(Ordering::Relaxed), jobs.len());
            found[index].get_or_init(|| small.fit(tiering, seed));
            done.fetch_add(1, Ordering::Relaxed);
        }
    };
    let threads = available_parallelism().map_or(1, usize::from).min(jobs.len());
    std::thread::scope(|scope| (0..threads).for_each(|_| _ = scope.spawn(worker)));
    found.into_iter().map(|found| found.into_inner().unwrap_or(Err(PredictError::NoSwap))).collect()
}

impl Small {
    fn of(request: &ForecastRequest<'_>, swap: Bytes) -> Self {
        let (memory, page) = (&request.facts.memory, page_of(request.facts));
        let ram = memory.total();
        let sample = request.evidence.sample();
        let mean = sample.as_ref().map(|sample| Bytes(sample.value.present * page / sample.value.processes.max(1)));
        let wanted = request.application.or(mean).unwrap_or(USUAL_APPLICATION);
        let least = Bytes(ram.0 / MOST_IN_RAM).min(USUAL_APPLICATION);
        let largest = if request.application.is_some() { Bytes(u64::MAX) } else { LARGEST_APPLICATION };
        let application = wanted.clamp(least, Bytes(ram.0 / LEAST_IN_RAM).min(largest)).max(Bytes(page));
        let bounds = if application == wanted { String::new() } else { format!(", brought to {application} for this RAM") };
        let application_from = match (request.application, &sample) {
            (Some(asked), _) => format!("applications of {asked}, as asked for{bounds}"),
            (None, Some(sample)) => {
                format!("applications of {wanted}, the mean of {} processes in {}{bounds}", sample.value.processes, sample.source)
            }
            (None, None) => format!("applications of {wanted}, assumed{bounds}"),
        };
        let get = |key: &str| memory.get(key).unwrap_or_default().0;
        // Half is left in any case: the model would not run on less, and a machine that is so full now may be emptier tomorrow.
        let (shared, set_aside) = (memory.shared().0, ram.0 - memory.shared().0);
        let held = shared.saturating_sub(get("MemAvailable")).saturating_sub(get("AnonPages"));
        let reserved = set_aside + if memory.get("MemAvailable").is_some() { held.min(shared / 2) } else { 0 };
        let ForecastDetail { ram_pages, applications, most_swap, wakes, precision, .. } = request.detail;
        let counted = ram.0.max(ram.0.saturating_add(swap.0) / most_swap.max(1));
        let parts = counted.div_ceil(application.0.max(1)).div_ceil(applications.max(1)).max(1);
        let scale = u32::try_from(counted / parts / page / ram_pages.max(1)).unwrap_or(u32::MAX).max(1);
        let parts = u32::try_from(parts).unwrap_or(u32::MAX);
        Self { page, scale, parts, wakes, precision, application, application_from, reserved: reserved / page }
    }

    /// What is counted, in words.
    fn counted(&self) -> String {
        format!(
            "idle applications of {}, each awake every {WAKE_SECONDS} s, that fit with 99 of 100 wakes within {} ms",
            self.application,
            LIMIT / 1_000_000
        )
    }

    fn shrink(&self, model: &mut Model) {
        let smaller = self.scale.saturating_mul(self.parts);
        let scale = u64::from(smaller);
        model.ram = (model.ram / scale).max(1);
        model.reserved = self.reserved / scale;
        for area in &mut model.areas {
            area.slots = (area.slots / smaller).max(1);
            if let Backing::Zram { mem_limit: Some(limit), .. } = &mut area.backing {
                *limit = (*limit / scale).max(1);
            }
        }
    }

    /// Pages of an application of the small machine.
    fn pages(&self) -> u64 {
        (self.application.0 / self.page / u64::from(self.scale)).max(1)
    }

    /// How long applications run for after the last one was started, in seconds.
    fn seconds(&self, applications: u32) -> u32 {
        self.wakes.div_ceil(applications).clamp(*WAKES.start(), *WAKES.end()) * WAKE_SECONDS
    }

    /// How many applications fit in all parts.
    fn fit(&self, tiering: &Tiering, seed: u64) -> Result<u32, PredictError> {
        let pages = self.pages();
        let free = tiering.settings.ram.saturating_sub(tiering.settings.reserved);
        let fill = u32::try_from(free / pages).unwrap_or(u32::MAX).max(1);
        let mut search = Search::one_by_one(LIMIT, fill, self.precision);
        let failed = |why: String| PredictError::Run { candidate: tiering.name.clone(), why };
        let tiering = Tiering { settings: Model { seed, ..tiering.settings.clone() }, ..tiering.clone() };
        loop {
            let numbers = search.next();
            if numbers.is_empty() {
                return Ok(search.answer().applications.saturating_mul(self.parts));
            }
            for applications in numbers {
                let seconds = applications + self.seconds(applications);
                let spec = format!("idle:apps={applications},pages={pages},seconds={seconds},wake={WAKE_SECONDS},seed={seed}");
                let trace = generate(&spec).map_err(|error| failed(error.to_string()))?;
                // More than one slow wake in a hundred, and it does not fit: what comes after decides nothing.
                let run =
                    run_within(&tiering, &trace, LIMIT / u64::from(self.scale)).map_err(|error| failed(error.to_string()))?;
                search.note(applications, FitLook::of(&run, self.scale));
            }
        }
    }
}

#[cfg(test)]
mod tests;
