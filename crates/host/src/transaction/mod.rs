//! A plan as one transaction: journal, compare-and-set, read back, and all the way back when anything fails.
//!
//! [`execute`] checks everything that can be known before (`preflight`, `room`) and makes the steps (`forward`). [`resume()`] finishes
//! what a crash cut short. [`rollback()`] takes back, step by step (`undo`), [`deactivate()`] switches off what the boot service switched
//! on. All of them go through the same kinds of change (`kinds`, one file each) and the same writer (`write`). `spare` takes the room
//! that going back may need, `settle` tells systemd, `zswap` reads zswap's settings again once it is on, and `offline` says what is
//! left to a machine that does not run. The journal itself is a room of its own, `crate::journal`: it is read without a transaction too.

mod deactivate;
mod error;
mod forward;
mod kinds;
mod offline;
mod preflight;
mod report;
mod resume;
mod rollback;
mod room;
mod run;
mod settle;
mod spare;
mod undo;
mod write;
mod zswap;

use std::time::Duration;

use swaptune_core::plan::Plan;

pub use deactivate::deactivate;
pub use error::{ApplyError, NotUndone, StepError};
pub use report::{ApplyOptions, ApplyReport, StepReport};
pub use resume::{Resumed, resume};
pub use rollback::{RollbackReport, rollback};
pub use undo::{UndoOutcome, UndoReport};

pub(crate) use forward::grow;
pub(crate) use kinds::read_knob;
pub(crate) use preflight::privileges;
pub(crate) use run::Run;
pub(crate) use undo::{UndoOptions, undo as undo_all, undo_from};

use crate::aside::Aside;
use crate::error_chain;
use crate::journal::{Beginning, Journal, StateDir, TransactionKind, pending};
use crate::kernel::Kernel;
use crate::lock::{Lock, LockError};
use crate::machine::Machine;

/// Carries out a plan.
///
/// # Errors
/// [`ApplyError`]. Up to `Journal` nothing was changed; with `StepFailed` everything is as before.
pub fn execute(
    machine: &Machine,
    kernel: &dyn Kernel,
    state: &StateDir,
    plan: &Plan,
    options: &ApplyOptions<'_>,
) -> Result<ApplyReport, ApplyError> {
    let run = Run { machine, kernel, faults: options.faults, progress: options.progress };
    if plan.is_empty() && plan.refusals.is_empty() {
        return Ok(ApplyReport::default());
    }
    preflight::privileges(&run)?;
    let _lock = begin(&run, state)?;
    if let Some(transaction) = pending(state)? {
        if matches!(options.kind, TransactionKind::Apply | TransactionKind::Retire) {
            return Err(ApplyError::Pending { id: transaction.id, status: transaction.status });
        }
        // There is no user to ask: what an earlier start or stop left half-done is taken back first.
        let mut journal = Journal::open(machine, options.faults, state, &transaction.id)?;
        rollback::go_on_alone(&run, &mut journal, options.force)?;
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
                cause: error_chain(&error),
                rollback: error_chain(&other),
                left: Vec::new(),
            },
        });
    }
    forward::forward(&run, &mut journal)
}

/// What keeps others from changing this machine meanwhile; all of it ends when it is dropped.
#[derive(Debug)]
pub(crate) struct Turn {
    _aside: Option<Aside>,
    // Freed in the order in which they stand here: that of the folder first.
    _lock: Lock,
    _applies: Option<Lock>,
}

/// Makes the state folder, has a daemon step aside, takes the locks, and ends what a run that was killed has left running.
pub(crate) fn begin(run: &Run<'_>, state: &StateDir) -> Result<Turn, ApplyError> {
    state.create()?;
    let aside = Aside::ask(run.machine);
    let applies = no_apply_beside(run, state)?;
    let lock = Lock::take(&state.lock_path())?;
    run.end_left()?;
    Ok(Turn { _aside: aside, _lock: lock, _applies: applies })
}

/// How often and how long the boot service waits until an apply or a rollback is done.
const PATIENCE: (u32, Duration) = (60, Duration::from_millis(250));

/// The boot service works on the same settings from a folder of its own: it takes the lock of applies too, once that is free. A machine that
/// keeps no such lock yet (early in a boot `/var` may be read-only, or not there) has no apply either, and must come up.
fn no_apply_beside(run: &Run<'_>, state: &StateDir) -> Result<Option<Lock>, ApplyError> {
    let persistent = StateDir::persistent(run.machine);
    if state.path() != StateDir::volatile(run.machine).path() {
        return Ok(None);
    }
    for _ in 1..PATIENCE.0 {
        match Lock::take(&persistent.lock_path()) {
            Err(LockError::Held { .. }) => std::thread::sleep(PATIENCE.1),
            taken => return Ok(taken.ok()),
        }
    }
    match Lock::take(&persistent.lock_path()) {
        Err(error @ LockError::Held { .. }) => Err(error.into()),
        taken => Ok(taken.ok()),
    }
}

fn summary(plan: &Plan) -> String {
    match plan.steps.as_slice() {
        [] => String::new(),
        [one] => one.change.to_string(),
        [first, rest @ ..] => format!("{} and {} more", first.change, rest.len()),
    }
}
