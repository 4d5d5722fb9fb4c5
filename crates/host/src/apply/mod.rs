//! Carrying out a plan: journal, compare-and-set, read back, and all the way back when anything fails.
//!
//! [`execute`] makes the steps of a plan, [`resume`] finishes what a crash cut short, and `rollback.rs` takes back. All of
//! them go through the same kinds of change (`kinds/`) and the same writer (`write.rs`).

mod error;
mod forward;
mod kinds;
mod offline;
mod preflight;
mod room;
mod run;
mod settle;
mod spare;
mod undo;
mod write;
mod zswap;

use serde::Serialize;
use swaptune_core::change::Change;
use swaptune_core::plan::Plan;

pub use error::{ApplyError, NotUndone, StepError};
pub use forward::{Resumed, resume};
pub use undo::{UndoOutcome, UndoReport};

pub(crate) use error::chain;
pub(crate) use forward::grow;
pub(crate) use kinds::{read_knob, same_knob};
pub(crate) use preflight::{check_rollback, privileges, set_aside};
pub(crate) use run::Run;
pub(crate) use settle::settle;
pub(crate) use spare::{give_back, take as take_spares};
pub(crate) use undo::{How, undo as undo_all, undo_from};

use crate::checkpoint::{Faults, NoFaults};
use crate::journal::{Beginning, Journal, Kind, Outcome, StateDir, pending};
use crate::kernel::{Kernel, Progress};
use crate::lock::Lock;
use crate::machine::Machine;

/// How a plan is carried out.
#[derive(Clone, Copy)]
pub struct Options<'a> {
    /// What the transaction is for.
    pub kind: Kind,
    /// Told of the progress of long writes.
    pub progress: &'a dyn Fn(Progress),
    /// For tests.
    pub faults: &'a dyn Faults,
    /// In a rollback: also take back what somebody else has changed since.
    pub force: bool,
    /// In a rollback: numbers of steps, from 1, that are left as they are.
    pub skip: &'a [usize],
}

impl Default for Options<'_> {
    fn default() -> Self {
        Self { kind: Kind::Apply, progress: &|_| (), faults: &NoFaults, force: false, skip: &[] }
    }
}

impl std::fmt::Debug for Options<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Options").field("kind", &self.kind).field("force", &self.force).finish_non_exhaustive()
    }
}

/// One step and what came of it.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct StepReport {
    /// The change.
    pub change: Change,
    /// What came of it.
    pub outcome: Outcome,
}

/// What carrying out a plan did.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct Report {
    /// Id of the transaction; `None` for an empty plan.
    pub id: Option<String>,
    /// The steps in their order.
    pub steps: Vec<StepReport>,
    /// What went wrong without doing harm.
    pub warnings: Vec<String>,
}

impl Report {
    /// How many steps changed something.
    #[must_use]
    pub fn changed(&self) -> usize {
        let is_change = |outcome: &Outcome| matches!(outcome, Outcome::Changed { .. } | Outcome::FellBack { .. });
        self.steps.iter().filter(|step| is_change(&step.outcome)).count()
    }
}

/// Carries out a plan.
///
/// # Errors
/// [`ApplyError`]. Up to `Journal` nothing was changed; with `StepFailed` everything is as before.
pub fn execute(
    machine: &Machine,
    kernel: &dyn Kernel,
    state: &StateDir,
    plan: &Plan,
    options: &Options<'_>,
) -> Result<Report, ApplyError> {
    let run = Run { machine, kernel, faults: options.faults, progress: options.progress };
    if plan.is_empty() && plan.refusals.is_empty() {
        return Ok(Report::default());
    }
    preflight::privileges(&run)?;
    let _lock = begin(&run, state)?;
    if let Some(transaction) = pending(state)? {
        if options.kind == Kind::Apply {
            return Err(ApplyError::Pending { id: transaction.id, status: transaction.status });
        }
        // Nobody is there to ask: what an earlier start or stop left half-done is taken back first.
        let mut journal = Journal::open(machine, options.faults, state, &transaction.id)?;
        crate::rollback::go_on_alone(&run, &mut journal, options.force)?;
    }
    preflight::check(&run, state, plan)?;
    let beginning = Beginning {
        kind: options.kind,
        boot: run.boot_id(),
        profile: &plan.profile,
        summary: summary(plan),
        steps: plan.steps.clone(),
    };
    let mut journal = Journal::create(machine, options.faults, state, beginning)?;
    if let Err(error) = spare::take(&run, &journal) {
        // Nothing has been changed yet, and nothing is kept of it.
        return Err(match spare::give_back(&run, &journal) {
            Ok(()) => state.erase(&journal.transaction().id).map_or_else(ApplyError::from, |()| error.into()),
            Err(other) => ApplyError::RollbackFailed {
                id: journal.transaction().id.clone(),
                cause: chain(&error),
                rollback: chain(&other),
                left: Vec::new(),
            },
        });
    }
    forward::forward(&run, &mut journal)
}

/// Makes the state folder, takes its lock, and ends what a run that was killed has left running.
pub(crate) fn begin(run: &Run<'_>, state: &StateDir) -> Result<Lock, ApplyError> {
    state.create()?;
    let lock = Lock::take(&state.lock_path())?;
    run.end_left()?;
    Ok(lock)
}

fn summary(plan: &Plan) -> String {
    match plan.steps.as_slice() {
        [] => String::new(),
        [one] => one.change.to_string(),
        [first, rest @ ..] => format!("{} and {} more", first.change, rest.len()),
    }
}
