//! The kernel's own swap path: what a page costs on its way out and back, for each tier that this machine has or can make
//! for a moment.
//!
//! Pages of our own memory are pushed out one by one with `MADV_PAGEOUT` and come back when they are touched. A store is
//! the time of that call, a load the time of the touch, both less what it costs to read the clock twice. So a store is one
//! page by itself: reclaim, which takes 32 at a time, shares the cost of unmapping among them. Tiers are set up through
//! the host room's [`TemporarySettings`], and the kernel's counters say afterwards whether the pages went where they were meant
//! to go. What was not measured where it was meant is not recorded as that.
//!
//! All jobs are measured once in each round, and the rounds follow each other in a different order: a disturbance of the
//! machine hits all alike.

mod job;
mod landing;
mod measure;
mod places;
mod tier;

use std::collections::BTreeMap;
use std::path::PathBuf;

use swaptune_core::measurement::SwapFigures;
use swaptune_core::proof::Corruption;
use swaptune_core::{Bytes, Facts};
use swaptune_host::error_chain;
use swaptune_host::inspect::{InspectScope, inspect};
use swaptune_host::machine::{Machine, ReadError};
use swaptune_host::prove::ProveError;
use swaptune_host::stop::Stop;
use swaptune_host::temporary::{TOP_PRIORITY, TemporaryError, TemporarySettings};
use thiserror::Error;

pub use job::{SwapJob, SwapWish, jobs};
pub use tier::BenchTier;

use crate::conditions::parameters;
use job::JobRounds;

/// Where disk tiers lie.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum DiskPlace {
    /// Swap files are made in this folder.
    Folder(PathBuf),
    /// An area that exists and is not in use. Only one area is measured then.
    Area(PathBuf),
}

/// What is measured.
#[derive(Clone, Debug, PartialEq)]
pub struct SwapPlan {
    /// Jobs, tier by tier.
    pub jobs: Vec<SwapJob>,
    /// How often each is measured.
    pub rounds: u32,
    /// Where disk tiers lie; zswap needs an area too.
    pub place: DiskPlace,
}

/// A job that gave no result as the tier that was meant, and why.
#[derive(Clone, Debug, PartialEq, Eq, serde::Serialize)]
pub struct Missed {
    /// The job, in words.
    pub job: String,
    /// The reason, as one sentence for the user.
    pub why: String,
}

/// What came of a plan.
#[derive(Clone, Debug, Default, PartialEq, serde::Serialize)]
pub struct SwapOutcome {
    /// Results, in the order of the jobs.
    pub figures: Vec<SwapFigures>,
    /// The settings that each was measured under, in the same order.
    pub parameters: Vec<BTreeMap<String, String>>,
    /// Jobs without one.
    pub missed: Vec<Missed>,
    /// True when it was stopped before all rounds were done.
    pub stopped: bool,
    /// What a killed run had left and was put back first.
    pub recovered: Option<String>,
}

/// Why nothing could be measured.
#[derive(Debug, Error)]
pub enum SwapError {
    /// This machine must not or cannot be used for it; nothing was changed.
    #[error("{why}")]
    Refused {
        /// The reason, as one sentence for the user.
        why: String,
        /// What to do about it.
        hint: String,
    },
    /// A temporary setting could not be made or put back.
    #[error(transparent)]
    Temporary(#[from] TemporaryError),
    /// Our own pages could not be mapped or looked at.
    #[error(transparent)]
    Pages(#[from] ProveError),
    /// The counters cannot be read.
    #[error("the kernel's counters cannot be read: {0}")]
    Counters(#[from] ReadError),
    /// `MADV_PAGEOUT` is refused.
    #[error("madvise(MADV_PAGEOUT) failed: {0}")]
    PageOut(#[source] std::io::Error),
    /// A page came back different.
    #[error("{job}: page {} came back different: byte {} is {:#04x}, was {:#04x}", at.page, at.offset, at.found, at.expected)]
    Corrupt {
        /// The job, in words.
        job: String,
        /// The page that came back different.
        at: Corruption,
    },
}

/// Refuses a machine on which this would do harm or could not work.
///
/// # Errors
/// [`SwapError::Refused`].
pub fn check(machine: &Machine, facts: &Facts) -> Result<(), SwapError> {
    let refused = |why: &str, hint: &str| Err(SwapError::Refused { why: why.into(), hint: hint.into() });
    if !machine.is_live() {
        return refused("a folder has no swap path: this measures the machine that it runs on", "leave out --root");
    }
    if !machine.is_root() {
        return refused("swap areas and zswap are set for a moment, which only root may do", "put sudo before it");
    }
    if facts.system.container.is_known() {
        return refused("this is a container: its kernel's swap belongs to the host", "run it on the host");
    }
    if let Some(area) = facts.swaps.iter().find(|area| area.priority >= TOP_PRIORITY) {
        let why = format!("{} has the highest priority there is, so pages would go there", area.path);
        return refused(&why, "give it a lower priority, or switch it off meanwhile");
    }
    Ok(())
}

/// Measures a plan. `show` is told what is being done, step by step; when `stop` is asked for, everything is put back and
/// what was measured in whole rounds is the result.
///
/// # Errors
/// [`SwapError`]; everything is as before then, or the error says what is not.
pub fn run(
    machine: &Machine,
    plan: &SwapPlan,
    stop: &Stop,
    show: &mut dyn FnMut(&str, usize, usize),
) -> Result<SwapOutcome, SwapError> {
    check(machine, &inspect(machine, InspectScope::STATUS))?;
    let mut temporary = TemporarySettings::open(machine, "swaptune bench swap")?;
    let mut rows: Vec<JobRounds> = plan.jobs.iter().cloned().map(JobRounds::new).collect();
    let mut outcome = SwapOutcome { recovered: temporary.recovered().map(str::to_owned), ..SwapOutcome::default() };
    let measured = rounds(machine, plan, stop, show, &mut temporary, &mut rows);
    // Whatever happened, what was set is put back first.
    temporary.close()?;
    outcome.stopped = !measured?;
    for mut row in rows {
        let parameters = std::mem::take(&mut row.parameters);
        match row.finish() {
            Ok(figures) => {
                outcome.figures.push(figures);
                outcome.parameters.push(parameters);
            }
            Err(missed) => outcome.missed.push(missed),
        }
    }
    Ok(outcome)
}

/// False when it was stopped.
fn rounds(
    machine: &Machine,
    plan: &SwapPlan,
    stop: &Stop,
    show: &mut dyn FnMut(&str, usize, usize),
    temporary: &mut TemporarySettings,
    rows: &mut [JobRounds],
) -> Result<bool, SwapError> {
    let (mut done, of) = (0, rows.len() * plan.rounds as usize);
    for round in 0..plan.rounds as usize {
        let mut groups: Vec<&mut [JobRounds]> = rows.chunk_by_mut(|a, b| a.job.tier == b.job.tier).collect();
        let first = round % groups.len().max(1);
        groups.rotate_left(first);
        for group in groups {
            if stop.is_asked() {
                return Ok(false);
            }
            let mark = temporary.mark()?;
            let measured = one_tier(machine, plan, stop, temporary, group, &mut |job| {
                show(job, done, of);
                done += 1;
            });
            temporary.back_to(mark)?;
            measured?;
        }
    }
    Ok(!stop.is_asked())
}

/// Sets a tier up and measures its jobs once.
fn one_tier(
    machine: &Machine,
    plan: &SwapPlan,
    stop: &Stop,
    temporary: &mut TemporarySettings,
    group: &mut [JobRounds],
    show: &mut dyn FnMut(&str),
) -> Result<(), SwapError> {
    let Some(tier) = group.first().map(|row| row.job.tier.clone()) else { return Ok(()) };
    let pages = group.iter().map(|row| row.job.pages * u64::from(row.job.threads)).max().unwrap_or(0);
    let size = Bytes(pages * machine.page_size().0);
    if let Err(error) = tier.set_up(machine, temporary, &plan.place, size) {
        // What this kernel or machine lacks is told of once, and the other tiers are measured.
        return match error {
            TemporaryError::Step { .. } | TemporaryError::Refused { .. } => {
                let why = SwapError::from(error);
                group.iter_mut().for_each(|row| row.miss(&error_chain(&why)));
                Ok(())
            }
            other => Err(other.into()),
        };
    }
    for row in group {
        if stop.is_asked() {
            return Ok(());
        }
        show(&row.job.to_string());
        let mark = temporary.mark()?;
        temporary.knob("vm.page-cluster", &row.job.page_cluster.to_string())?;
        // What it is measured under is gone when this ends.
        row.parameters = parameters(machine);
        let measured = measure::once(machine, temporary, &row.job, stop);
        temporary.back_to(mark)?;
        match measured? {
            Some(seen) => row.add(seen),
            None => return Ok(()),
        }
    }
    Ok(())
}
