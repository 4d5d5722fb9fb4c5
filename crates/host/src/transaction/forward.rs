//! Making the steps of a transaction, from the first or from the one that a crash cut short.

use swaptune_core::change::Change;
use swaptune_core::plan::Step;
use tracing::info;

use super::error::{ApplyError, StepError};
use super::kinds::{Completed, Observed, RecordedStep, StepContext, UndoState, handler, is_made_by, must_be_made, not_made_here};
use super::run::Run;
use super::undo::{self, UndoOptions, UndoReport};
use super::{ApplyReport, StepReport, offline, preflight, settle, spare, zswap};
use crate::error_chain;
use crate::journal::record::{Ending, JournalRecord, StepOutcome};
use crate::journal::{AWAY, Journal, JournalError, Stamp, StepLog, Transaction, TransactionKind};

/// Makes every step that is not made yet. When one fails, all are undone.
pub(super) fn forward(run: &Run<'_>, journal: &mut Journal<'_>) -> Result<ApplyReport, ApplyError> {
    let mut warnings = Vec::new();
    for seq in 0..journal.transaction().steps.len() {
        let result = one(run, journal, seq).and_then(|()| zswap::confirm(run, journal, seq));
        let Err(cause) = result else { continue };
        match leave_out(run, journal, seq, &cause) {
            Some(warning) => warnings.push(warning),
            None => return Err(fail(run, journal, seq, cause)),
        }
    }
    warnings.extend(settle::settle(run, journal));
    // Before the last line: spares are not looked for after it.
    let ended = spare::give_back(run, journal).and_then(|()| Ok(journal.add(JournalRecord::End { ending: Ending::Applied })?));
    if let Err(error) = ended {
        let last = journal.transaction().steps.len().saturating_sub(1);
        return Err(fail(run, journal, last, error));
    }
    let transaction = journal.transaction();
    let step = |log: &StepLog| {
        let outcome = log.outcome.clone().unwrap_or(StepOutcome::Unchanged);
        StepReport { change: log.step.change.clone(), outcome }
    };
    Ok(ApplyReport { id: Some(transaction.id.clone()), steps: transaction.steps.iter().map(step).collect(), warnings })
}

/// A machine must come up with what it has: at boot a step that fails is taken back by itself and left out, with a warning. `None` where it is not
/// the boot service that works, or the step cannot be taken back.
fn leave_out(run: &Run<'_>, journal: &mut Journal<'_>, seq: usize, cause: &StepError) -> Option<String> {
    if journal.transaction().kind != TransactionKind::Service {
        return None;
    }
    let (id, log) = (journal.transaction().id.clone(), journal.transaction().steps[seq].clone());
    let found = undo::take_back(run, journal.state(), &id, seq, &log).ok()?;
    if !matches!(found, UndoState::Saved | UndoState::Ours) {
        return None;
    }
    let why = error_chain(cause);
    let warning = format!("left out: {}: {why}", log.step.change);
    done(journal, seq, StepOutcome::Skipped { why }.into()).ok()?;
    Some(warning)
}

/// Adds a step to a transaction and makes it. When it fails it is for the caller to undo what it left.
pub(crate) fn grow(run: &Run<'_>, journal: &mut Journal<'_>, step: Step) -> Result<(), StepError> {
    journal.add(JournalRecord::Add { step: Box::new(step) })?;
    let seq = journal.transaction().steps.len() - 1;
    one(run, journal, seq).and_then(|()| zswap::confirm(run, journal, seq))
}

fn one(run: &Run<'_>, journal: &mut Journal<'_>, seq: usize) -> Result<(), StepError> {
    let log = journal.transaction().steps[seq].clone();
    info!("step {}: {}", seq + 1, log.step.change);
    match (&log.saved, &log.outcome) {
        (None, None) => fresh(run, journal, seq, &log),
        (Some(_), None) => half_made(run, journal, seq, &log),
        (_, Some(_)) => made_before(run, journal, seq, &log),
    }
}

/// A step that is not begun.
fn fresh(run: &Run<'_>, journal: &mut Journal<'_>, seq: usize, log: &StepLog) -> Result<(), StepError> {
    let change = &log.step.change;
    let tag = undo::tag(&journal.transaction().id, seq);
    let cx = StepContext { run: *run, tag: &tag };
    let handler = handler(change);
    match handler.observe(cx)? {
        Observed::After => done(journal, seq, StepOutcome::Unchanged.into()),
        Observed::Gone(why) => done(journal, seq, StepOutcome::Skipped { why }.into()),
        Observed::Other(found) => Err(preflight::conflict(change, found)),
        Observed::Before => {
            only_our_files(run, journal, seq, change)?;
            let saved = handler.save(cx, journal, seq)?;
            journal.add(JournalRecord::Intent { seq, saved })?;
            let made = make(journal, seq, change, cx)?;
            done(journal, seq, made)
        }
    }
}

/// Refuses a swap header over a file that no step of this transaction made.
fn only_our_files(run: &Run<'_>, journal: &Journal<'_>, seq: usize, change: &Change) -> Result<(), StepError> {
    let Some(path) = must_be_made(run, change) else { return Ok(()) };
    let makes = |log: &StepLog| log.is_standing() && is_made_by(&log.step.change, path);
    if journal.transaction().steps[..seq].iter().any(makes) { Ok(()) } else { Err(not_made_here(path)) }
}

/// A step that a crash cut short: made after all, not begun, or in between.
fn half_made(run: &Run<'_>, journal: &mut Journal<'_>, seq: usize, log: &StepLog) -> Result<(), StepError> {
    let (id, state) = (journal.transaction().id.clone(), journal.state());
    match undo::take_back(run, state, &id, seq, log)? {
        UndoState::Saved | UndoState::Ours => make_again(run, journal, seq, log),
        UndoState::Away => Err(preflight::conflict(&log.step.change, AWAY.into())),
        UndoState::Other(found) => Err(preflight::conflict(&log.step.change, found)),
    }
}

/// A step that was made before the crash. A reboot may have undone it since.
fn made_before(run: &Run<'_>, journal: &mut Journal<'_>, seq: usize, log: &StepLog) -> Result<(), StepError> {
    let change = &log.step.change;
    if !is_lost_by_a_reboot(change) || log.saved.is_none() {
        return Ok(());
    }
    let tag = undo::tag(&journal.transaction().id, seq);
    let cx = StepContext { run: *run, tag: &tag };
    match handler(change).observe(cx)? {
        Observed::Before => make_again(run, journal, seq, log),
        // What the kernel fell back to, or what a later step of this plan changed: neither is for this step to judge.
        _ => Ok(()),
    }
}

/// What is in a zram device is as volatile as the device.
pub(super) fn is_lost_by_a_reboot(change: &Change) -> bool {
    change.is_volatile() || matches!(change, Change::SwapHeader { path, .. } if path.starts_with("/dev/zram"))
}

fn make_again(run: &Run<'_>, journal: &mut Journal<'_>, seq: usize, log: &StepLog) -> Result<(), StepError> {
    let tag = undo::tag(&journal.transaction().id, seq);
    let made = make(journal, seq, &log.step.change, StepContext { run: *run, tag: &tag })?;
    done(journal, seq, made)
}

/// Makes a change whose originals are saved. A generator that fails in an image puts its files back and leaves the rest to the
/// machine: what it is made from is in place, and what it makes boots as before.
fn make(journal: &Journal<'_>, seq: usize, change: &Change, cx: StepContext<'_>) -> Result<Completed, StepError> {
    let handler = handler(change);
    let error = match handler.make(cx) {
        Err(error) if offline::is_left_to_the_machine(&cx.run, change) => error,
        made => return made,
    };
    let log = &journal.transaction().steps[seq];
    let Some(saved) = &log.saved else { return Err(error) };
    handler.restore(cx, RecordedStep { log, saved, state: journal.state(), torn: true })?;
    Ok(StepOutcome::Skipped { why: offline::to_run_there(change, &error) }.into())
}

fn done(journal: &mut Journal<'_>, seq: usize, made: Completed) -> Result<(), StepError> {
    Ok(journal.add(JournalRecord::Done { seq, outcome: made.outcome, outputs: made.outputs })?)
}

impl From<StepOutcome> for Completed {
    fn from(outcome: StepOutcome) -> Self {
        Self { outcome, outputs: Vec::new() }
    }
}

/// Undoes everything after a failure, and says both when that fails too.
fn fail(run: &Run<'_>, journal: &mut Journal<'_>, seq: usize, cause: StepError) -> ApplyError {
    // The journal may be what failed; the machine is brought back in any case.
    let noted = note_failure(run, journal, seq, &cause);
    let undoing = undo::undo(run, journal, UndoOptions { torn: true, ..UndoOptions::default() });
    settle::settle(run, journal);
    let given = spare::give_back(run, journal);
    let left: Vec<_> = undoing.steps.iter().filter_map(UndoReport::not_undone).collect();
    let ended = match left.first() {
        Some(first) => Err(format!("{}: {}", first.step, first.why)),
        None => noted
            .and(undoing.journal)
            .map_err(StepError::from)
            .and(given)
            .and_then(|()| Ok(journal.add(JournalRecord::End { ending: Ending::Reverted })?))
            .map_err(|error| format!("everything is as before, but the journal cannot say so: {}", error_chain(&error))),
    };
    let Transaction { id, steps, .. } = journal.transaction();
    let step = steps.get(seq).map(|log| log.step.change.to_string()).unwrap_or_default();
    match ended {
        Ok(()) => {
            journal.state().forget(id);
            ApplyError::StepFailed { id: id.clone(), step, cause: Box::new(cause) }
        }
        Err(rollback) => {
            let cause = format!("{step}: {}", error_chain(&cause));
            ApplyError::RollbackFailed { id: id.clone(), cause, rollback, left }
        }
    }
}

fn note_failure(run: &Run<'_>, journal: &mut Journal<'_>, seq: usize, cause: &StepError) -> Result<(), JournalError> {
    journal.add(JournalRecord::Failed { seq, error: error_chain(cause) })?;
    journal.add(JournalRecord::Undo { time: Stamp::now().text(), boot: run.boot_id(), asked: false })
}
