//! Playing the cases on the running kernel.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::mpsc::{self, RecvTimeoutError};
use std::thread;

use swaptune_core::parse::keyed;
use swaptune_core::{Bytes, Facts};
use swaptune_host::cgroup::{LimitedGroup, Version};
use swaptune_host::inspect::inspect;
use swaptune_host::machine::Machine;
use swaptune_host::prove::counters::Counters;
use swaptune_host::stop::Stop;
use swaptune_host::temporary::{TemporaryError, TemporarySettings};
use swaptune_tiers::model::Settings;
use swaptune_tiers::trace::Trace;
use tracing::info;

use super::compare::Seen;
use super::content::PAGE;
use super::level::{LOOK, Level};
use super::player::{PAGES_MAX, Played, Ready, Script};
use super::tiering::{Case, Pool, Tiering, full_pool};
use super::times::{Passes, Times};
use super::workload::Workload;
use super::{Options, SCOPE, ValidateError, model, sizes};
use crate::process::{Helper, HelperError, Program};

/// Areas are so many times larger than the workload: swap that is more than half full is used differently.
const ROOM: u64 = 5;
/// Memory that must be left beside a workload that fills a pool.
const SPARE: u64 = 1 << 30;

/// Sizes of all contents by compressor, and what said so.
pub(super) type Sizes = BTreeMap<String, (Vec<u16>, &'static str)>;

/// What all cases share.
pub(super) struct Bench<'a> {
    pub machine: &'a Machine,
    pub facts: &'a Facts,
    pub options: &'a Options,
    pub program: &'a Program,
    pub stop: &'a Stop,
    pub temporary: &'a mut TemporarySettings,
}

/// A case at work.
pub(super) struct Work {
    pub case: Case,
    /// The machine that it ran on, as the simulator has it.
    pub machine: Option<Settings>,
    /// Version of the hierarchy of its group.
    pub version: Option<Version>,
    pub seen: Vec<Seen>,
    pub failed: Option<String>,
}

impl Work {
    /// The case in words.
    pub fn words(&self) -> String {
        format!("{}, {}", self.case.workload.name, self.case.tiering)
    }
}

/// A workload's accesses and contents.
pub(super) struct Sequence {
    pub trace: Trace,
    pub script: Script,
}

impl Sequence {
    /// Compressed size of each page. Without a pool only zeros matter: they are what the swap map remembers.
    pub fn sizes(&self, sizes: &Sizes, pool: Option<&Pool>) -> Vec<u16> {
        let sizes = pool.and_then(|pool| sizes.get(&pool.compressor));
        let of = |content: &u16| sizes.map_or(u16::from(*content != 0), |(sizes, _)| sizes[usize::from(*content)]);
        self.script.contents.iter().map(of).collect()
    }
}

/// What was played.
pub(super) struct Everything {
    pub works: Vec<Work>,
    /// By workload.
    pub sequences: BTreeMap<&'static str, Sequence>,
    pub sizes: Sizes,
    pub times: Times,
    pub stopped: bool,
}

impl Bench<'_> {
    /// Plays all cases in all rounds.
    pub fn all(&mut self, cases: Vec<Case>, show: &mut dyn FnMut(&str, usize, usize)) -> Result<Everything, ValidateError> {
        let mut works: Vec<Work> =
            cases.into_iter().map(|case| Work { case, machine: None, version: None, seen: Vec::new(), failed: None }).collect();
        let (mut sequences, mut sizes) = (BTreeMap::new(), Sizes::new());
        for work in &mut works {
            if let Some(pool) = &work.case.tiering.pool
                && !sizes.contains_key(&pool.compressor)
            {
                match sizes::of_contents(self.machine, self.temporary, self.facts, &pool.compressor)? {
                    Some(found) => _ = sizes.insert(pool.compressor.clone(), found),
                    None => work.failed = Some(format!("nothing here says what {} makes of a page", pool.compressor)),
                }
            }
            let workload = work.case.workload;
            if !sequences.contains_key(workload.name) {
                match self.sequence(workload)? {
                    Ok(sequence) => _ = sequences.insert(workload.name, sequence),
                    Err(why) => work.failed = Some(why),
                }
            }
        }
        let mut pools: Vec<Pool> = works.iter().filter_map(|work| work.case.tiering.pool.clone()).collect();
        let mut seen = BTreeSet::new();
        pools.retain(|pool| sizes.contains_key(&pool.compressor) && seen.insert(pool.compressor.clone()));
        let fills = works.iter().filter(|work| work.failed.is_none() && work.case.workload.fills_pool);
        let mut passes = self.passes(&pools, fills.filter_map(|work| work.case.tiering.pool.clone()).next())?;
        let stopped = !self.rounds(&mut works, &sequences, &mut passes, show)?;
        let times = self.times(&passes, &sizes)?;
        Ok(Everything { works, sequences, sizes, times, stopped })
    }

    /// The accesses of a workload, or why they do not fit here.
    fn sequence(&self, workload: &'static Workload) -> Result<Result<Sequence, String>, ValidateError> {
        let pool = full_pool(self.facts);
        let needed = 2 * pool * PAGE as u64 + SPARE;
        if workload.fills_pool && self.facts.memory.get("MemAvailable").unwrap_or_default().0 < needed {
            return Ok(Err(format!("{} of memory would have to be available", Bytes(needed))));
        }
        let (trace, pauses) = workload.trace(self.options.limit.0 / PAGE as u64, pool, self.options.seed)?;
        if trace.page_count() >= PAGES_MAX {
            return Ok(Err("it has too many pages".into()));
        }
        let contents = (0..).zip(trace.sizes()).map(|(page, size)| workload.content(page, *size)).collect();
        Ok(Ok(Sequence { script: Script::new(&trace, pauses, contents), trace }))
    }

    /// Plays the cases, and the passes of what is measured between them. False when it was stopped.
    fn rounds(
        &mut self,
        works: &mut [Work],
        sequences: &BTreeMap<&'static str, Sequence>,
        passes: &mut Passes,
        show: &mut dyn FnMut(&str, usize, usize),
    ) -> Result<bool, ValidateError> {
        let (count, mut done) = (works.len(), 0);
        let all = count * self.options.rounds as usize;
        for round in 0..self.options.rounds as usize {
            for number in 0..count {
                self.measure(passes, (done, all), show)?;
                if self.stop.is_asked() {
                    works.iter_mut().for_each(|work| work.seen.truncate(round));
                    return Ok(false);
                }
                let work = &mut works[(number + round) % count];
                show(&work.words(), done, all);
                done += 1;
                let Some(sequence) = sequences.get(work.case.workload.name).filter(|_| work.failed.is_none()) else { continue };
                let mark = self.temporary.mark()?;
                let played = self.play(&work.case.tiering, sequence);
                self.temporary.back_to(mark)?;
                self.note(work, played)?;
            }
        }
        self.measure(passes, (all, all), show)?;
        Ok(true)
    }

    /// What this kernel or machine lacks is told of, and the other cases are played.
    fn note(&self, work: &mut Work, played: Result<(Seen, Settings, Version), ValidateError>) -> Result<(), ValidateError> {
        match played {
            Ok((seen, machine, version)) => {
                work.seen.push(seen);
                (work.machine, work.version) = (Some(machine), Some(version));
            }
            Err(ValidateError::Corrupt { count, .. }) => return Err(ValidateError::Corrupt { case: work.words(), count }),
            Err(ValidateError::Temporary(error @ (TemporaryError::Step { .. } | TemporaryError::Refused { .. }))) => {
                work.failed = Some(crate::swap::tell(&error));
            }
            Err(ValidateError::Player(_)) if self.stop.is_asked() => {}
            Err(ValidateError::Player(why)) => work.failed = Some(why),
            Err(error) => return Err(error),
        }
        Ok(())
    }

    /// Sets a tiering up and plays a sequence once. Tells what the kernel showed, the machine as the simulator has it, and the version of
    /// the group.
    pub(super) fn play(&mut self, tiering: &Tiering, sequence: &Sequence) -> Result<(Seen, Settings, Version), ValidateError> {
        info!("play {} pages with {tiering:?}", sequence.script.task.pages);
        let room = Bytes(u64::from(sequence.script.task.pages) * PAGE as u64 * ROOM / 2);
        tiering.set_up(self.machine, self.temporary, &self.options.folder, room)?;
        let facts = inspect(self.machine, SCOPE);
        let group = LimitedGroup::create(self.machine, "validate", self.options.limit)?;
        let settings = model::machine(&facts, group.version(), self.options.limit)?;
        let mut helper = Helper::start(self.program, None)?;
        helper.say(&sequence.script.task)?;
        helper.send(&sequence.script.bytes())?;
        helper.answer::<Ready>("had what it needs")?;
        group.add(helper.pid())?;
        let counters = Counters::new(self.machine, &facts);
        let before = counters.read()?;
        helper.say(&"go")?;
        let mut level = tiering.fills_pool().then(|| Level::of(full_pool(self.facts)));
        let played: Played = looking_on(self.machine, &group, level.as_mut(), || helper.answer("was done"))?;
        let after = counters.read()?;
        if played.wrong > 0 {
            return Err(ValidateError::Corrupt { case: tiering.to_string(), count: played.wrong });
        }
        // After each pause caches and processor are somebody else's: the time of such a sequence says nothing.
        let nanos = sequence.script.task.pauses.is_none().then_some(played.nanos);
        let level = level.and_then(|level| level.mean());
        Ok((Seen { before, after, nanos, level }, settings, group.version()))
    }
}

/// Does something, and looks at the pool meanwhile if that is wanted. Also reads the group's `memory.stat` every few milliseconds, which
/// makes the kernel sum up what its processors counted. By itself it does so every two seconds, and reclaim goes by those sums when it asks whether a list is too short (mm/memcontrol.c:
/// `FLUSH_TIME`; mm/vmscan.c: `inactive_is_low`): a group that is younger than that may be out of memory with all its pages active.
fn looking_on<T>(machine: &Machine, group: &LimitedGroup, mut level: Option<&mut Level>, work: impl FnOnce() -> T) -> T {
    let (done, wait) = mpsc::channel::<()>();
    thread::scope(|scope| {
        scope.spawn(move || {
            while wait.recv_timeout(LOOK) == Err(RecvTimeoutError::Timeout) {
                let _ = group.counters();
                if let Some(level) = &mut level {
                    let pool =
                        machine.read_text("/proc/meminfo").ok().and_then(|text| keyed::meminfo(&text).get("Zswap").copied());
                    pool.into_iter().for_each(|bytes| level.see(bytes.0));
                }
            }
        });
        let result = work();
        drop(done);
        result
    })
}

impl From<HelperError> for ValidateError {
    fn from(error: HelperError) -> Self {
        match error {
            HelperError::Killed(why) | HelperError::Lost(why) => Self::Player(why),
            HelperError::Group(error) => Self::Group(error),
        }
    }
}
