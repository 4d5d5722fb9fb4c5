//! Undoing steps, newest first, each one a compare-and-set on what it made.

use serde::Serialize;
use swaptune_core::change::Change;

use super::error::{NotUndone, StepError, chain};
use super::kinds::{At, Back, Past, Restored, doer};
use super::offline;
use super::run::Run;
use crate::journal::record::Record;
use crate::journal::{Journal, JournalError, Saved, StateDir, StepLog};

/// What became of one step that was to be undone.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case", tag = "is")]
pub enum UndoOutcome {
    /// It was as before already.
    AlreadyThere,
    /// It is as before.
    Restored,
    /// Its files had been made again since, and were now made once more from what they are made of.
    Regenerated,
    /// It stays until the next boot and does no harm.
    Kept {
        /// Why.
        why: String,
    },
    /// Something else has changed it since, and so it was left alone.
    Left {
        /// What is there.
        found: String,
        /// What was expected.
        expected: String,
    },
    /// It could not be undone.
    Failed {
        /// Why.
        why: String,
    },
    /// It was left as it is since the user gave it up.
    SetAside {
        /// Why it could not be undone, as far as that was tried.
        why: String,
    },
}

/// One step that was undone, or not.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct UndoReport {
    /// Its number in the transaction, from 1.
    pub number: usize,
    /// The change that was to be undone.
    pub change: Change,
    /// What became of it.
    pub outcome: UndoOutcome,
}

impl UndoReport {
    /// The step and the reason, when the change stands as it was made or as somebody else made it.
    #[must_use]
    pub fn not_undone(&self) -> Option<NotUndone> {
        let why = match &self.outcome {
            UndoOutcome::Left { found, expected } => format!("it is {found}, expected {expected}"),
            UndoOutcome::Failed { why } => why.clone(),
            UndoOutcome::SetAside { why } if why.is_empty() => "set aside".into(),
            UndoOutcome::SetAside { why } => format!("set aside: {why}"),
            _ => return None,
        };
        let failed = matches!(self.outcome, UndoOutcome::Failed { .. });
        Some(NotUndone { number: self.number, step: self.change.to_string(), why, failed })
    }
}

/// What was undone, and whether the journal could be told.
pub(crate) struct Undoing {
    pub steps: Vec<UndoReport>,
    pub journal: Result<(), JournalError>,
}

/// How steps are undone.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct How<'a> {
    /// The transaction was cut short: what is found may be half of what was to be made.
    pub torn: bool,
    /// Also what was changed by another program since.
    pub force: bool,
    /// Steps that are left as they are, by their place.
    pub aside: &'a [usize],
}

/// Undoes all steps that stand. A step that cannot be undone does not keep the others from it.
pub(crate) fn undo(run: &Run<'_>, journal: &mut Journal<'_>, how: How<'_>) -> Undoing {
    undo_from(run, journal, 0, how)
}

/// Undoes the steps that stand from this one on, newest first.
pub(crate) fn undo_from(run: &Run<'_>, journal: &mut Journal<'_>, first: usize, how: How<'_>) -> Undoing {
    let standing: Vec<usize> = (first..journal.transaction().steps.len()).rev().collect();
    let mut undoing = Undoing { steps: Vec::new(), journal: Ok(()) };
    let mut again = Vec::new();
    for seq in standing {
        if !journal.transaction().steps[seq].is_standing() {
            continue;
        }
        if how.aside.contains(&seq) {
            let why = journal.transaction().steps[seq].failed.clone().unwrap_or_default();
            undoing.note(journal, seq, UndoOutcome::SetAside { why });
            continue;
        }
        match undo_one(run, journal, seq, how) {
            Ok(None) => again.push(seq),
            Ok(Some(outcome)) => undoing.note(journal, seq, outcome),
            Err(error) => undoing.note(journal, seq, UndoOutcome::Failed { why: chain(&error) }),
        }
    }
    // What is made from other files comes last: they must be back first.
    for seq in again {
        let outcome = match regenerate(run, &journal.transaction().steps[seq].step.change) {
            Ok(()) => UndoOutcome::Regenerated,
            Err(error) if offline::is_offline(run) => {
                UndoOutcome::Kept { why: offline::to_run_there(&journal.transaction().steps[seq].step.change, &error) }
            }
            Err(error) => UndoOutcome::Failed { why: chain(&error) },
        };
        undoing.note(journal, seq, outcome);
    }
    undoing
}

impl Undoing {
    /// Why it is not finished: a step that could not be undone, or the journal.
    pub fn failure(&self) -> Option<String> {
        let failed = self.steps.iter().find_map(|step| match &step.outcome {
            UndoOutcome::Failed { why } => Some(format!("{}: {why}", step.change)),
            _ => None,
        });
        failed.or_else(|| self.journal.as_ref().err().map(|error| chain(error)))
    }

    /// Writes down what became of a step. When the journal fails, undoing goes on: the machine comes first, and what was
    /// undone is found so the next time.
    fn note(&mut self, journal: &mut Journal<'_>, seq: usize, outcome: UndoOutcome) {
        let record = match &outcome {
            UndoOutcome::Left { found, .. } => Some(Record::Left { seq, found: found.clone(), set_aside: false }),
            UndoOutcome::SetAside { why } => Some(Record::Left { seq, found: why.clone(), set_aside: true }),
            UndoOutcome::Failed { why } => Some(Record::Failed { seq, error: why.clone() }),
            _ => Some(Record::Undone { seq }),
        };
        let change = journal.transaction().steps[seq].step.change.clone();
        self.steps.push(UndoReport { number: seq + 1, change, outcome });
        if let Some(Err(error)) = record.map(|record| journal.add(record)) {
            self.journal = Err(error);
        }
    }
}

/// Undoes one step. `None` when its files must be made again, after everything else.
fn undo_one(run: &Run<'_>, journal: &Journal<'_>, seq: usize, how: How<'_>) -> Result<Option<UndoOutcome>, StepError> {
    let log = &journal.transaction().steps[seq];
    let Some(saved) = &log.saved else { return Ok(Some(UndoOutcome::AlreadyThere)) };
    if let Some(outcome) = offline::gone_with_the_power(run, &log.step.change) {
        return Ok(Some(outcome));
    }
    let tag = tag(&journal.transaction().id, seq);
    let at = At { run: *run, tag: &tag };
    sweep(at, saved)?;
    let past = Past { log, saved, state: journal.state(), torn: how.torn };
    let doer = doer(&log.step.change);
    let outcome = match doer.stand_back(at, past)? {
        Back::Saved => UndoOutcome::AlreadyThere,
        Back::Other(_) if matches!(saved, Saved::Outputs { .. }) => return Ok(None),
        Back::Other(found) if !how.force => {
            return Ok(Some(UndoOutcome::Left { found, expected: log.step.change.sides().1 }));
        }
        Back::Ours | Back::Other(_) => match doer.restore(at, past)? {
            Restored::Kept(why) => UndoOutcome::Kept { why },
            Restored::Whole => confirm(&log.step.change, doer.stand_back(at, past)?)?,
        },
    };
    run.remove_folders(made(saved))?;
    Ok(Some(outcome))
}

fn confirm(change: &Change, stand: Back) -> Result<UndoOutcome, StepError> {
    let found = match stand {
        Back::Saved => return Ok(UndoOutcome::Restored),
        Back::Ours => change.sides().1,
        Back::Other(found) => found,
    };
    Err(StepError::NotTaken { path: change.target().to_owned(), wanted: change.sides().0, found })
}

fn regenerate(run: &Run<'_>, change: &Change) -> Result<(), StepError> {
    let tag = "again";
    doer(change).make(At { run: *run, tag }).map(|_| ())
}

/// Brings a half-made step back to what was saved, so that it can be made again. For a transaction that goes on.
pub(super) fn take_back(run: &Run<'_>, state: &StateDir, id: &str, seq: usize, log: &StepLog) -> Result<Back, StepError> {
    let Some(saved) = &log.saved else { return Ok(Back::Saved) };
    let tag = tag(id, seq);
    let at = At { run: *run, tag: &tag };
    sweep(at, saved)?;
    let past = Past { log, saved, state, torn: true };
    let doer = doer(&log.step.change);
    let stand = doer.stand_back(at, past)?;
    if stand == Back::Ours {
        doer.restore(at, past)?;
    }
    Ok(stand)
}

/// What tells the temporary files of one step from others.
pub(super) fn tag(id: &str, seq: usize) -> String {
    format!("{id}-{seq}")
}

/// Takes away temporary files that a crash left.
fn sweep(at: At<'_>, saved: &Saved) -> Result<(), StepError> {
    match saved {
        Saved::File { at: real, .. } | Saved::Link { at: real, .. } | Saved::SwapFile { at: real, .. } => {
            at.run.sweep(real, at.tag)
        }
        Saved::Outputs { files } => files.iter().try_for_each(|(real, _)| at.run.sweep(real, at.tag)),
        _ => Ok(()),
    }
}

/// Folders that were made for a step.
fn made(saved: &Saved) -> &[String] {
    match saved {
        Saved::File { made, .. } | Saved::Link { made, .. } | Saved::SwapFile { made, .. } => made,
        _ => &[],
    }
}
