//! The user's own command decides: the same command with each of several configurations, in blocks of an order by chance.
//!
//! Every configuration runs once in each block, and the first one twice: what two runs of the same configuration differ by is what this
//! machine cannot tell apart. Each run is kept as soon as it is done, so that a comparison that was stopped can be resumed.

mod alike;
mod bystander;
mod command;
mod judge;
mod keep;
mod look;
mod rows;
mod strays;

use std::ffi::OsString;
use std::fs::File;
use std::path::PathBuf;
use std::time::{Duration, Instant};

use swaptune_core::measurement::{CompareFigures, CompareRun, Evidence};
use swaptune_core::{Bytes, Facts};
use swaptune_host::cgroup::CgroupError;
use swaptune_host::machine::Machine;
use swaptune_host::stop::Stop;
use swaptune_host::temporary::{TemporaryError, TemporarySettings};
use swaptune_host::{child, error_chain};
use thiserror::Error;

use crate::order::shuffled;
use crate::process::{HelperError, HelperProgram};
use crate::space::{CompressedPools, SmallSpace, SpaceError, SpaceWish, drop_caches};
use crate::variant::{Preparation, Variant, VariantOutcome, switch_off};
use bystander::BystanderKind;
use command::{CommandJob, CommandRun};
use look::KernelCounters;
use rows::{VariantRuns, finish, rows, why_none_is_left};
use strays::Strays;

pub use alike::{CompareGround, GroundDifference};
pub use bystander::SIZE as BYSTANDER;
pub use judge::blocks_needed;
pub use keep::{CompareFile, CompareHeader, ResumeError};

/// How long a run waits at most for the machine to be quiet after the one before.
const SETTLE: Duration = Duration::from_secs(10);

/// How configurations are compared.
#[derive(Clone, Debug, PartialEq)]
pub struct CompareOptions {
    /// The command and its arguments.
    pub command: Vec<OsString>,
    /// Memory that it has, zswap's pool included; `None` for all of the machine's.
    pub memory: Option<Bytes>,
    /// How memory is made small.
    pub limit: SpaceWish,
    /// Blocks, each of all configurations.
    pub blocks: u32,
    /// A ratio within this of 1 is no difference: 0.03 for 3 %.
    pub delta: f64,
    /// Whether file caches are dropped before each run.
    pub drops_caches: bool,
    /// Where swap files are made.
    pub folder: PathBuf,
    /// For orders.
    pub seed: u64,
}

/// The programs that stand beside the command: what binds it to this process, and what holds memory.
#[derive(Clone, Debug)]
pub struct Helpers {
    /// Becomes the command, and dies with this process.
    pub tether: HelperProgram,
    /// Holds memory that the command shall not have, and wakes beside it.
    pub holder: HelperProgram,
}

/// A run with the configuration that it belongs to, by its place among them.
#[derive(Clone, Debug, PartialEq, serde::Serialize, serde::Deserialize)]
pub struct KeptRun {
    /// Place of the configuration.
    pub variant: usize,
    /// The run.
    pub run: CompareRun,
}

/// Where a comparison has come to.
#[derive(Clone, Debug, PartialEq)]
pub struct CompareProgress<'a> {
    /// The configuration that runs.
    pub variant: &'a str,
    /// The block, from 0.
    pub block: u32,
    /// Runs that are done.
    pub done: usize,
    /// Runs in all.
    pub of: usize,
    /// How long the rest will take, from what was done until now.
    pub left: Option<Duration>,
}

/// Why nothing could be compared.
#[derive(Debug, Error)]
pub enum CompareError {
    /// The command fails without any change of the machine.
    #[error("`{command}` {how}")]
    Fails {
        /// The command.
        command: String,
        /// How it ended.
        how: String,
    },
    /// No two configurations are left.
    #[error("there is nothing to compare: {0}")]
    Nothing(String),
    /// No two configurations are left of those that were begun with.
    #[error("there is nothing left to compare: {0}")]
    NothingLeft(String),
    /// The command could not be handled.
    #[error("the command cannot {what}: {source}")]
    Command {
        /// What could not be done with it.
        what: String,
        /// What the kernel says.
        source: std::io::Error,
    },
    /// A temporary setting could not be made or put back.
    #[error(transparent)]
    Temporary(#[from] TemporaryError),
    /// A group could not be made or joined.
    #[error(transparent)]
    Group(#[from] CgroupError),
    /// Memory could not be made small.
    #[error(transparent)]
    Space(#[from] SpaceError),
    /// What wakes beside the command could not be started.
    #[error("the program beside the command: {0}")]
    Beside(#[from] HelperError),
    /// A run could not be kept.
    #[error("{path}: {source}")]
    Keep {
        /// The file.
        path: String,
        /// What the kernel says.
        source: std::io::Error,
    },
}

/// What is told of a comparison while it goes on.
pub struct Watchers<'a> {
    /// Where it has come to.
    pub show: &'a mut dyn FnMut(&CompareProgress<'_>),
    /// A run that is done, to be kept.
    pub keep: &'a mut dyn FnMut(&KeptRun) -> Result<(), CompareError>,
    /// Where the command's own output goes.
    pub output: Option<&'a File>,
}

/// Compares variants on this machine. `facts` are of it as it is; variants were resolved for a machine of the memory of the options.
/// `before` are runs of a comparison that is resumed. When `stop` is asked for, everything is put back and whole blocks are the result.
///
/// # Errors
/// [`CompareError`]; everything is as before then, or the error says what is not.
pub fn run(
    machine: &Machine,
    (facts, evidence): (&Facts, &Evidence),
    (variants, helpers): (&[Variant], &Helpers),
    options: &CompareOptions,
    before: Vec<KeptRun>,
    stop: &Stop,
    watchers: &mut Watchers<'_>,
) -> Result<VariantOutcome<CompareFigures>, CompareError> {
    let beside = Some(BystanderKind { program: &helpers.holder, memory: options.memory, seed: options.seed });
    let job = CommandJob { tether: &helpers.tether, command: &options.command, output: watchers.output, beside };
    let mut outcome = VariantOutcome::default();
    let mut rows = rows(variants, (facts, evidence), options, before, &mut outcome);
    if let Some(why) = why_none_is_left(&rows) {
        return Err(CompareError::Nothing(why));
    }
    // What measures must not wait for its own pages.
    let _ = child::lock_memory();
    let mut temporary = TemporarySettings::open(machine, "swaptune compare")?;
    outcome.recovered = temporary.recovered().map(str::to_owned);
    let measured = temporary.make(switch_off(facts)).map_err(CompareError::from).and_then(|()| {
        let pools = CompressedPools::of_all(rows.iter().filter(|row| row.refused.is_none()).map(|row| row.preparation.pools()));
        let space = |memory| SmallSpace::make(machine, memory, (options.limit, pools), ("compare", &helpers.holder));
        let space = options.memory.map(space).transpose()?;
        CompareBlocks { machine, options, job: &job, space, stop }.play(&mut temporary, &mut rows, watchers)
    });
    temporary.close()?;
    outcome.stopped = !measured?;
    finish(rows, options, &mut outcome);
    Ok(outcome)
}

/// Whether the command does what it shall, before anything is changed: a run that does not count. False when the user stopped it.
///
/// # Errors
/// [`CompareError::Fails`], [`CompareError::Command`].
pub fn try_command(
    machine: &Machine,
    helpers: &Helpers,
    options: &CompareOptions,
    stop: &Stop,
    output: Option<&File>,
) -> Result<bool, CompareError> {
    let job = CommandJob { tether: &helpers.tether, command: &options.command, output, beside: None };
    let Some(ran) = alone(|| job.run(machine, None, stop))? else { return Ok(false) };
    match ran.failed {
        None => Ok(true),
        Some(how) => Err(CompareError::Fails { command: spoken(&options.command), how }),
    }
}

/// A run of which nothing is left when it has ended.
fn alone<T>(run: impl FnOnce() -> T) -> T {
    let strays = Strays::watch();
    let ran = run();
    strays.end();
    ran
}

/// This program, as a command: of a link that stands for it even when its file was replaced.
pub const SELF: &str = "/proc/self/exe";

/// A command as it is typed.
#[must_use]
pub fn spoken(command: &[OsString]) -> String {
    let word = |word: &OsString| if word == SELF { "swaptune".into() } else { word.to_string_lossy().into_owned() };
    command.iter().map(word).collect::<Vec<_>>().join(" ")
}

/// What every run needs.
struct CompareBlocks<'a> {
    machine: &'a Machine,
    options: &'a CompareOptions,
    job: &'a CommandJob<'a>,
    space: Option<SmallSpace<'a>>,
    stop: &'a Stop,
}

impl CompareBlocks<'_> {
    /// Runs every block. False when it was stopped.
    fn play(
        &self,
        temporary: &mut TemporarySettings,
        rows: &mut [VariantRuns<'_>],
        watchers: &mut Watchers<'_>,
    ) -> Result<bool, CompareError> {
        // The first one twice: its number stands for the second run.
        let again = rows.len();
        let of = (rows.iter().filter(|row| row.refused.is_none()).count() + 1) * self.options.blocks as usize;
        let (begun, mut done, mut fresh) = (Instant::now(), 0_usize, 0_u32);
        for block in 0..self.options.blocks {
            for (place, number) in shuffled(again + 1, self.options.seed.wrapping_add(u64::from(block))).into_iter().enumerate() {
                let is_again = number == again;
                let variant = if is_again { 0 } else { number };
                let Some(row) = rows.get_mut(variant).filter(|row| row.refused.is_none()) else { continue };
                done += 1;
                if row.runs.iter().any(|run| run.block == block && run.again == is_again) {
                    continue;
                }
                let left = (fresh > 0).then(|| begun.elapsed() / fresh * (of + 1 - done) as u32);
                let name = row.variant.name.clone();
                (watchers.show)(&CompareProgress { variant: &name, block, done: done - 1, of, left });
                match self.once(temporary, &row.preparation)? {
                    Once::Stopped => return Ok(false),
                    Once::Refused(why) => {
                        row.refused = Some(why);
                        if let Some(why) = why_none_is_left(rows) {
                            return Err(CompareError::NothingLeft(why));
                        }
                    }
                    Once::Ran(ran) => {
                        let kept = KeptRun { variant, run: ran.kept(block, is_again, place as u32) };
                        (watchers.keep)(&kept)?;
                        row.runs.push(kept.run);
                    }
                }
                fresh += 1;
            }
        }
        Ok(true)
    }

    /// Sets a configuration, runs the command, and puts everything back.
    fn once(&self, temporary: &mut TemporarySettings, preparation: &Preparation) -> Result<Once, CompareError> {
        let mark = temporary.mark()?;
        // Before swap is on, so that no configuration is in the way of it.
        let held = self.space.as_ref().map(|space| space.hold(self.machine)).transpose()?;
        temporary.counts_on(held.as_ref().map_or(Bytes(0), |held| held.bytes));
        match temporary.make(preparation.changes.clone()) {
            Ok(()) => {}
            // What this kernel or machine lacks is told of once, and the others are compared.
            Err(error @ (TemporaryError::Step { .. } | TemporaryError::Refused { .. })) => {
                return Ok(Once::Refused(error_chain(&error)));
            }
            Err(error) => return Err(error.into()),
        }
        self.settle();
        let ran = self.in_space();
        drop(held);
        temporary.back_to(mark)?;
        Ok(ran?.map_or(Once::Stopped, |ran| Once::Ran(Box::new(ran))))
    }

    fn in_space(&self) -> Result<Option<CommandRun>, CompareError> {
        let group = match &self.space {
            Some(space) => space.group(self.machine)?,
            None => None,
        };
        alone(|| self.job.run(self.machine, group.as_ref(), self.stop))
    }

    /// Drops file caches where that is wanted, and waits until no task waits for memory.
    fn settle(&self) {
        if self.options.drops_caches {
            drop_caches();
        }
        let until = Instant::now() + SETTLE;
        while Instant::now() < until && !self.stop.is_asked() {
            let before = KernelCounters::read(self.machine);
            std::thread::sleep(Duration::from_millis(200));
            let counts = KernelCounters::read(self.machine).since(&before);
            if counts.some_stall_us < 2_000 && counts.swap_reads == 0 {
                return;
            }
        }
    }
}

/// What came of one run.
enum Once {
    Ran(Box<CommandRun>),
    Refused(String),
    Stopped,
}

impl CommandRun {
    fn kept(self, block: u32, again: bool, place: u32) -> CompareRun {
        CompareRun {
            block,
            again,
            place,
            elapsed_s: self.elapsed.as_secs_f64(),
            user_s: self.user_s,
            system_s: self.system_s,
            failed: self.failed,
            counts: self.counts,
            bystander: self.bystander,
            timeline: self.timeline,
        }
    }
}
