//! `bench memory`: how fast memory is accessed, with and without swapping.
//!
//! Each measurement is made by a helper process, so that a limit (a control group of its own) applies to it alone. With a
//! limit, each pattern is measured in RAM that is free and right after that under the limit: their ratio is what pressure
//! costs, and counters of the kernel say where the pages went.

mod access;
mod cell;
mod helper;
mod options;
mod swap;
mod tier;
mod wake;
mod work;

use std::collections::BTreeMap;
use std::time::Duration;

use swaptune_core::Bytes;
use swaptune_core::measurement::{MemoryFigures, SwapTier};
use swaptune_core::parse::keyed;
use swaptune_host::cgroup::{CgroupError, LimitedGroup};
use swaptune_host::inspect::{self, InspectScope};
use swaptune_host::machine::Machine;
use swaptune_host::temporary::TemporaryError;
use thiserror::Error;

use crate::process::{Helper, HelperError};
use tracing::info;
use work::WorkDone;

pub use crate::process::HelperProgram;
pub use helper::serve;
pub use options::{Hog, MemoryOptions, MemoryRoom, MemoryTurn, TemporarySwap, TurnSchedule};
pub use work::Pattern;
pub(crate) use work::{HelperTask, MemoryReady};

/// Counters of `/proc/vmstat` that say what swapping did; a kernel has those that it has.
const COUNTERS: [&str; 8] = ["pgmajfault", "pswpin", "pswpout", "swpin_zero", "swpout_zero", "zswpin", "zswpout", "zswpwb"];

/// What a helper has done once it is ready.
const FILLED: &str = "filled its memory";

/// A process that holds `size` of memory for as long as it lives; true when all of it is locked into RAM. One that is not `spared` goes first
/// when memory ends, and holds what does not compress.
pub(crate) fn hold(program: &HelperProgram, size: Bytes, spared: bool) -> Result<(Helper, bool), HelperError> {
    let mut hog = Helper::start(program, None)?;
    hog.say(&HelperTask::Hold { size, spared })?;
    let ready: MemoryReady = hog.answer(FILLED)?;
    Ok((hog, ready.locked))
}

/// Why a measurement was not made.
#[derive(Debug, Error)]
pub enum MemoryError {
    /// What was asked for makes no sense.
    #[error("{what}")]
    Usage {
        /// The flag and what is wrong with it.
        what: String,
        /// What to type instead.
        hint: String,
    },
    /// It would do harm here.
    #[error("{what}")]
    Refused {
        /// What would happen.
        what: String,
        /// What to type instead.
        hint: String,
    },
    /// No control group for the limit.
    #[error(transparent)]
    Group(#[from] CgroupError),
    /// No temporary swap, or it could not be put back.
    #[error(transparent)]
    Temporary(#[from] TemporaryError),
    /// The measuring process was killed before it was done.
    #[error("{0}")]
    Killed(String),
    /// The measuring process ended before it was done.
    #[error("{0}")]
    Helper(String),
    /// A result could not be kept.
    #[error(transparent)]
    Store(#[from] crate::results::StoreError),
}

impl From<HelperError> for MemoryError {
    fn from(error: HelperError) -> Self {
        match error {
            HelperError::Killed(why) => Self::Killed(why),
            HelperError::Lost(why) => Self::Helper(why),
            HelperError::Group(error) => Self::Group(error),
        }
    }
}

/// What happens while it runs.
#[derive(Clone, Debug)]
pub enum MemoryEvent<'a> {
    /// A measurement begins.
    Begin {
        /// Its number, from 1.
        number: usize,
        /// How many there are.
        of: usize,
        /// What is measured.
        turn: &'a MemoryTurn,
    },
    /// A measurement is made.
    Measured(Box<MemoryFigures>),
    /// The measuring process was killed; the others go on.
    Killed {
        /// What was measured.
        turn: &'a MemoryTurn,
        /// How it ended.
        why: String,
    },
}

/// What all turns share.
struct MemoryBench<'a> {
    machine: &'a Machine,
    options: &'a MemoryOptions,
    program: &'a HelperProgram,
    size: Bytes,
    tier: Option<SwapTier>,
    group: Option<LimitedGroup>,
    hog: Option<(Helper, Bytes)>,
}

/// Measures everything that the options ask for. `program` becomes the helper processes.
///
/// # Errors
/// [`MemoryError`]. Whatever was set up is put back then too.
pub fn run(
    machine: &Machine,
    options: &MemoryOptions,
    program: &HelperProgram,
    tell: &mut dyn FnMut(MemoryEvent<'_>) -> Result<(), MemoryError>,
) -> Result<(), MemoryError> {
    let schedule = options.schedule(&room(machine))?;
    let temporary = options.swap.as_ref().map(|swap| swap::make(machine, swap, options, schedule.swap_size)).transpose()?;
    let tier = tier::first(&inspect::inspect(machine, InspectScope::STATUS));
    let mut bench = MemoryBench { machine, options, program, size: schedule.size, tier, group: None, hog: None };
    let measured = bench.all(&schedule, tell);
    // Its processes and its group end before their swap is taken away.
    drop(bench);
    let closed = temporary.map_or(Ok(()), |temporary| temporary.close());
    measured?;
    Ok(closed?)
}

/// Memory of the machine now.
#[must_use]
pub fn room(machine: &Machine) -> MemoryRoom {
    let meminfo = keyed::meminfo(&machine.read_text("/proc/meminfo").unwrap_or_default());
    let get = |key: &str| meminfo.get(key).copied().unwrap_or_default();
    MemoryRoom { total: get("MemTotal"), available: get("MemAvailable"), swap_free: get("SwapFree") }
}

impl MemoryBench<'_> {
    fn all(
        &mut self,
        schedule: &TurnSchedule,
        tell: &mut dyn FnMut(MemoryEvent<'_>) -> Result<(), MemoryError>,
    ) -> Result<(), MemoryError> {
        for (number, turn) in (1..).zip(&schedule.turns) {
            tell(MemoryEvent::Begin { number, of: schedule.turns.len(), turn })?;
            match self.turn(turn) {
                Ok(figures) => tell(MemoryEvent::Measured(Box::new(figures)))?,
                Err(MemoryError::Killed(why)) => tell(MemoryEvent::Killed { turn, why })?,
                Err(error) => return Err(error),
            }
        }
        Ok(())
    }

    fn turn(&mut self, turn: &MemoryTurn) -> Result<MemoryFigures, MemoryError> {
        info!("measure {turn:?}");
        if turn.pressed {
            self.press()?;
        }
        let group = self.group.as_ref().filter(|_| turn.pressed);
        let millis = u64::try_from(self.options.time.as_millis()).unwrap_or(u64::MAX);
        let begun = self.counters();
        let mut helper = Helper::start(self.program, group)?;
        helper.say(&HelperTask::Access { pattern: turn.pattern, size: self.size, millis })?;
        let ready: MemoryReady = helper.answer(FILLED)?;
        let filled = self.counters();
        helper.say(&"go")?;
        let done: WorkDone = helper.answer("was done")?;
        let ended = self.counters();
        let fifths = done.parts.iter().copied();
        Ok(MemoryFigures {
            data: turn.pattern.data,
            order: turn.pattern.order,
            write: turn.pattern.write,
            block: turn.pattern.block,
            size: self.size,
            threads: turn.pattern.threads,
            limit: group.and(self.options.limit),
            hog: self.hog.as_ref().filter(|_| turn.pressed).map(|(_, size)| *size),
            tier: self.tier.clone().filter(|_| turn.pressed),
            mb_per_second: helper::mb_s(done.bytes, Duration::from_nanos(done.nanos)),
            fifths_mb_per_second: [fifths.clone().fold(f64::INFINITY, f64::min), fifths.fold(0.0, f64::max)],
            ceiling_mb_per_second: ready.ceiling_mb_per_second,
            swapping: risen(&filled, &ended),
            filling: risen(&begun, &filled),
        })
    }

    /// Puts the limit and the hog in place, once.
    fn press(&mut self) -> Result<(), MemoryError> {
        if let (Some(limit), None) = (self.options.limit, &self.group) {
            self.group = Some(LimitedGroup::create(self.machine, "memory", limit)?);
        }
        if let (Some(asked), None) = (self.options.hog, &self.hog) {
            let size = room(self.machine).hog(asked);
            self.hog = Some((hold(self.program, size, false)?.0, size));
        }
        Ok(())
    }

    fn counters(&self) -> BTreeMap<String, u64> {
        let mut counts = keyed::counts(&self.machine.read_text("/proc/vmstat").unwrap_or_default());
        counts.retain(|name, _| COUNTERS.contains(&name.as_str()));
        counts
    }
}

fn risen(before: &BTreeMap<String, u64>, after: &BTreeMap<String, u64>) -> BTreeMap<String, u64> {
    let rise = |(name, count): (&String, &u64)| (name.clone(), count.saturating_sub(before.get(name).copied().unwrap_or(0)));
    after.iter().map(rise).collect()
}
