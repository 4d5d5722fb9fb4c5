//! Taking back a transaction, finished or not.

use serde::Serialize;

use super::error::{ApplyError, NotUndone, StepError};
use super::preflight::{check_rollback, privileges, target};
use super::run::Run;
use super::settle::settle;
use super::undo::{UndoOptions, UndoReport, undo};
use super::{ApplyOptions, begin, spare};
use crate::error_chain;
use crate::journal::record::{Ending, JournalRecord};
use crate::journal::{Journal, JournalError, Stamp, StateDir, StepLog, Transaction, TransactionKind, TransactionStatus, pending};
use crate::kernel::Kernel;
use crate::machine::Machine;

/// What a rollback did.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct RollbackReport {
    /// Id of the transaction that was taken back.
    pub id: String,
    /// Its steps, newest first.
    pub steps: Vec<UndoReport>,
    /// What went wrong without doing harm.
    pub warnings: Vec<String>,
}

impl RollbackReport {
    /// The steps that were left alone, since another program has changed the same thing.
    #[must_use]
    pub fn left(&self) -> Vec<NotUndone> {
        self.steps.iter().filter_map(UndoReport::not_undone).collect()
    }
}

/// Takes back a transaction, finished or not. What another program has changed since is left alone, unless forced.
///
/// # Errors
/// [`ApplyError`]. Up to `Journal` nothing was changed; after `RollbackFailed` it can be called again and goes on.
pub fn rollback(
    machine: &Machine,
    kernel: &dyn Kernel,
    state: &StateDir,
    id: &str,
    options: &ApplyOptions<'_>,
) -> Result<RollbackReport, ApplyError> {
    let run = Run { machine, kernel, faults: options.faults, progress: options.progress };
    privileges(&run)?;
    let unknown = || JournalError::Unknown { id: id.to_owned() };
    let transaction = crate::journal::transaction(state, id)?.ok_or_else(unknown)?;
    let _lock = begin(&run, state)?;
    if let Some(other) = pending(state)?.filter(|other| other.id != id) {
        return Err(ApplyError::Pending { id: other.id, status: other.status });
    }
    if !transaction.status.is_pending() && !transaction.steps.iter().any(StepLog::is_standing) {
        let nothing_was_done = transaction.status == TransactionStatus::Applied;
        if !nothing_was_done {
            return Err(ApplyError::NotStanding { id: id.to_owned(), status: transaction.status });
        }
    }
    if transaction.kind == TransactionKind::Retire && transaction.status == TransactionStatus::Applied {
        return Err(ApplyError::Refused {
            what: format!("taking back {id}"),
            why: "it retired a device, and the keys and headers that it destroyed do not come back".into(),
            hint: "`swaptune device prepare` makes the device swap again".into(),
        });
    }
    let mut journal = Journal::open(machine, options.faults, state, id)?;
    go_on(&run, &mut journal, options.force, options.skip)
}

/// The same without a user to ask: what cannot be undone is set aside, so that it reaches an end.
pub(crate) fn go_on_alone(run: &Run<'_>, journal: &mut Journal<'_>, force: bool) -> Result<RollbackReport, ApplyError> {
    match go_on(run, journal, force, &[]) {
        Err(ApplyError::RollbackFailed { left, .. }) if left.iter().any(|step| step.failed) => {
            let failed: Vec<usize> = left.iter().filter(|step| step.failed).map(|step| step.number).collect();
            go_on(run, journal, force, &failed)
        }
        result => result,
    }
}

/// Undoes what stands of a transaction but for the steps with these numbers, and ends it.
pub(crate) fn go_on(run: &Run<'_>, journal: &mut Journal<'_>, force: bool, skip: &[usize]) -> Result<RollbackReport, ApplyError> {
    let aside = set_aside(run, journal.transaction(), skip)?;
    check_rollback(run, journal.transaction(), &aside)?;
    // Where there is no room for it, deleting what was made may make some on the way.
    let _ = spare::take(run, journal);
    let torn = journal.transaction().status != TransactionStatus::Applied;
    let asked = journal.transaction().status != TransactionStatus::Undoing || journal.transaction().undo_asked;
    if journal.transaction().status != TransactionStatus::Undoing {
        journal.add(JournalRecord::Undo { time: Stamp::now().text(), boot: run.boot_id(), asked })?;
    }
    let undoing = undo(run, journal, UndoOptions { torn, later: torn, force, aside: &aside });
    let warnings = settle(run, journal).into_iter().collect();
    let id = journal.transaction().id.clone();
    let left: Vec<NotUndone> = undoing.steps.iter().filter_map(UndoReport::not_undone).collect();
    let ending = if asked { Ending::RolledBack } else { Ending::Reverted };
    let ended = match undoing.failure().filter(|_| !force) {
        Some(why) => Err(why),
        None => spare::give_back(run, journal)
            .and_then(|()| Ok(journal.add(JournalRecord::End { ending })?))
            .map_err(|error: StepError| error_chain(&error)),
    };
    if let Err(rollback) = ended {
        let cause = match journal.transaction().steps.iter().filter(|log| log.is_standing()).count() {
            1 => "1 step is still to be undone".to_owned(),
            steps => format!("{steps} steps are still to be undone"),
        };
        return Err(ApplyError::RollbackFailed { id, cause, rollback, left });
    }
    // What stands may be taken back later, and needs what was captured.
    if !journal.transaction().steps.iter().any(StepLog::is_standing) {
        journal.state().forget(&id);
    }
    Ok(RollbackReport { id, steps: undoing.steps, warnings })
}

/// The steps that are left out with those that the user names, by their place: what was done to the same thing before rests on
/// what stays.
fn set_aside(run: &Run<'_>, transaction: &Transaction, skip: &[usize]) -> Result<Vec<usize>, ApplyError> {
    let steps = &transaction.steps;
    let mut aside: Vec<usize> = Vec::new();
    for number in skip {
        let seq = number.checked_sub(1).filter(|seq| steps.get(*seq).is_some_and(StepLog::is_standing));
        let id = || transaction.id.clone();
        aside.push(seq.ok_or_else(|| ApplyError::NoStep { id: id(), number: *number })?);
    }
    // A rollback that goes on keeps to what was given up when it began.
    let going_on = transaction.status == TransactionStatus::Undoing;
    aside.extend((0..steps.len()).filter(|seq| going_on && steps[*seq].set_aside));
    let places: Vec<(usize, String)> = aside.iter().map(|seq| (*seq, target(run, &steps[*seq].step.change))).collect();
    let rests = |seq: &usize| {
        let place = target(run, &steps[*seq].step.change);
        steps[*seq].is_standing() && places.iter().any(|(later, other)| *later > *seq && *other == place)
    };
    aside.extend((0..steps.len()).filter(rests));
    Ok(aside)
}
