//! Undoing steps, newest first, each one a compare-and-set on what it made.

use serde::Serialize;
use swaptune_core::change::Change;
use swaptune_core::escape::visible;
use tracing::info;

use super::error::{NotUndone, StepError};
use super::kinds::{RecordedStep, Restored, StepContext, UndoState, file_words, handler, is_half_made, lines_still_there};
use super::offline;
use super::run::Run;
use crate::error_chain;
use crate::journal::record::JournalRecord;
use crate::journal::{AWAY, Journal, JournalError, Saved, StateDir, StepLog};

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
        /// The reason, as one sentence for the user.
        why: String,
    },
    /// Something else has changed it since, and so it was left alone.
    Left {
        /// What is there.
        found: String,
        /// What was expected.
        expected: String,
        /// What is left to do by hand, as one sentence; empty when nothing more is known than that.
        #[serde(skip_serializing_if = "String::is_empty")]
        by_hand: String,
    },
    /// The device is not there. What was made on it stays on it, until it is there again and this is undone once more.
    Away,
    /// It could not be undone.
    Failed {
        /// The reason, as one sentence for the user.
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
    /// The step and the reason, when the change stands as it was made or as another program made it.
    #[must_use]
    pub fn not_undone(&self) -> Option<NotUndone> {
        let why = match &self.outcome {
            UndoOutcome::Left { found, expected, .. } => format!("it is {found}, expected {expected}"),
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
pub(crate) struct Undone {
    pub steps: Vec<UndoReport>,
    pub journal: Result<(), JournalError>,
}

/// How steps are undone.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct UndoOptions<'a> {
    /// The transaction was cut short: what is found may be half of what was to be made.
    pub torn: bool,
    /// It was cut short by an earlier run, and others may have run since what it had begun.
    pub later: bool,
    /// Also what was changed by another program since.
    pub force: bool,
    /// Steps that are left as they are, by their place.
    pub aside: &'a [usize],
}

/// Undoes all steps that stand. A step that cannot be undone does not keep the others from it.
pub(crate) fn undo(run: &Run<'_>, journal: &mut Journal<'_>, options: UndoOptions<'_>) -> Undone {
    undo_from(run, journal, 0, options)
}

/// Undoes the steps that stand from this one on, newest first.
pub(crate) fn undo_from(run: &Run<'_>, journal: &mut Journal<'_>, first: usize, options: UndoOptions<'_>) -> Undone {
    let standing: Vec<usize> = (first..journal.transaction().steps.len()).rev().collect();
    let mut undoing = Undone { steps: Vec::new(), journal: Ok(()) };
    let mut again = Vec::new();
    for seq in standing {
        if !journal.transaction().steps[seq].is_standing() {
            continue;
        }
        if options.aside.contains(&seq) {
            let why = journal.transaction().steps[seq].failed.clone().unwrap_or_default();
            undoing.note(journal, seq, UndoOutcome::SetAside { why });
            continue;
        }
        match undo_one(run, journal, seq, options) {
            Ok(None) => again.push(seq),
            Ok(Some(outcome)) => undoing.note(journal, seq, outcome),
            Err(error) => undoing.note(journal, seq, UndoOutcome::Failed { why: error_chain(&error) }),
        }
    }
    // What is made from other files comes last: they must be back first.
    for seq in again {
        let change = journal.transaction().steps[seq].step.change.clone();
        let outcome = regenerate(run, &change)
            .map_or_else(|error| not_regenerated(run, journal, seq, &error), |()| UndoOutcome::Regenerated);
        undoing.note(journal, seq, outcome);
    }
    undoing
}

impl Undone {
    /// Why it is not finished: a step that could not be undone, or the journal.
    pub fn failure(&self) -> Option<String> {
        let failed = self.steps.iter().find_map(|step| match &step.outcome {
            UndoOutcome::Failed { why } => Some(format!("{}: {why}", step.change)),
            _ => None,
        });
        failed.or_else(|| self.journal.as_ref().err().map(|error| error_chain(error)))
    }

    /// Writes down what became of a step. When the journal fails, undoing goes on: the machine comes first, and what was
    /// undone is found so the next time.
    fn note(&mut self, journal: &mut Journal<'_>, seq: usize, outcome: UndoOutcome) {
        let record = match &outcome {
            UndoOutcome::Left { found, .. } => Some(JournalRecord::Left { seq, found: found.clone(), set_aside: false }),
            UndoOutcome::Away => Some(JournalRecord::Left { seq, found: AWAY.into(), set_aside: false }),
            UndoOutcome::SetAside { why } => Some(JournalRecord::Left { seq, found: why.clone(), set_aside: true }),
            UndoOutcome::Failed { why } => Some(JournalRecord::Failed { seq, error: why.clone() }),
            _ => Some(JournalRecord::Undone { seq }),
        };
        let change = journal.transaction().steps[seq].step.change.clone();
        info!("undo step {}, {change}: {outcome:?}", seq + 1);
        self.steps.push(UndoReport { number: seq + 1, change, outcome });
        if let Some(Err(error)) = record.map(|record| journal.add(record)) {
            self.journal = Err(error);
        }
    }
}

/// Undoes one step. `None` when its files must be made again, after everything else.
fn undo_one(
    run: &Run<'_>,
    journal: &Journal<'_>,
    seq: usize,
    options: UndoOptions<'_>,
) -> Result<Option<UndoOutcome>, StepError> {
    let log = &journal.transaction().steps[seq];
    let Some(saved) = &log.saved else { return Ok(Some(UndoOutcome::AlreadyThere)) };
    if let Some(outcome) = offline::gone_with_the_power(run, &log.step.change) {
        return Ok(Some(outcome));
    }
    if is_of_a_destroyed_device(run, journal, seq)? {
        return Ok(Some(UndoOutcome::Kept { why: "the device that it was on is destroyed for good, as it was asked".into() }));
    }
    let tag = tag(&journal.transaction().id, seq);
    let cx = StepContext { run: *run, tag: &tag };
    sweep(cx, saved)?;
    let recorded = RecordedStep { log, saved, state: journal.state(), torn: options.torn };
    let handler = handler(&log.step.change);
    let outcome = match handler.undo_state(cx, recorded)? {
        UndoState::Saved => UndoOutcome::AlreadyThere,
        UndoState::Away => return Ok(Some(UndoOutcome::Away)),
        UndoState::Other(_) if is_of_an_older(run, journal, &log.step.change)? => UndoOutcome::AlreadyThere,
        UndoState::Other(_) if matches!(saved, Saved::Outputs { .. }) => return Ok(None),
        UndoState::Ours if options.later && is_half_made(log) => return Ok(None),
        UndoState::Other(found) if !options.force => {
            let expected = expected(&log.step.change);
            return Ok(Some(UndoOutcome::Left { found, expected, by_hand: by_hand(run, journal, seq) }));
        }
        UndoState::Ours | UndoState::Other(_) => match handler.restore(cx, recorded)? {
            Restored::Kept(why) => UndoOutcome::Kept { why },
            Restored::Whole => confirm(&log.step.change, handler.undo_state(cx, recorded)?)?,
        },
    };
    run.remove_folders(made(saved))?;
    Ok(Some(outcome))
}

/// What a step made, in the words in which its handler says what it finds.
fn expected(change: &Change) -> String {
    match change {
        Change::File { after, .. } => file_words(after.as_deref().map(str::as_bytes)),
        change => change.sides().1,
    }
}

/// How many lines are told.
const TOLD: usize = 5;

/// What a file that was left alone still has of ours, and where it is as it was before. What cannot be read is not told.
fn by_hand(run: &Run<'_>, journal: &Journal<'_>, seq: usize) -> String {
    let log = &journal.transaction().steps[seq];
    let (Change::File { path, before, after, .. }, Some(Saved::File { at, file, .. })) = (&log.step.change, &log.saved) else {
        return String::new();
    };
    let found = run.read(at).ok().flatten();
    let lines = lines_still_there(before.as_deref(), after.as_deref(), found.as_deref());
    let told: Vec<String> = lines.iter().take(TOLD).map(|line| format!("`{}`", visible(line))).collect();
    let more = lines.len().saturating_sub(TOLD);
    let more = if more > 0 { format!(" and {more} more") } else { String::new() };
    let delete = match (lines.len(), file) {
        (0, _) => None,
        (_, None) => {
            Some(format!("before there was no {path}, and what swaptune wrote is still in it: {}{more}", told.join(", ")))
        }
        (1, _) => Some(format!("delete this line: {}", told.join(", "))),
        _ => Some(format!("delete these lines: {}{more}", told.join(", "))),
    };
    let saved = file.as_ref().map(|file| format!("as it was before it is in {}", journal.state().saved_at(&file.blob).display()));
    delete.into_iter().chain(saved).collect::<Vec<_>>().join("; ")
}

/// True for an area that was switched off, or a mapping that was closed, where a later step of the same transaction has destroyed what it lay on:
/// nothing can bring it back.
fn is_of_a_destroyed_device(run: &Run<'_>, journal: &Journal<'_>, seq: usize) -> Result<bool, StepError> {
    let steps = &journal.transaction().steps;
    match &steps[seq].step.change {
        Change::Mapping { before: Some(before), after: None, .. } => is_destroyed(run, journal, seq, &before.source),
        Change::Swap { path, after: None, .. } => {
            let source = steps[seq..].iter().find_map(|log| match &log.step.change {
                Change::Mapping { name, before: Some(before), after: None } if *path == format!("/dev/mapper/{name}") => {
                    Some(&before.source)
                }
                _ => None,
            });
            is_destroyed(run, journal, seq, source.unwrap_or(path))
        }
        _ => Ok(false),
    }
}

/// Whether a step after this one has destroyed the device.
fn is_destroyed(run: &Run<'_>, journal: &Journal<'_>, seq: usize, device: &str) -> Result<bool, StepError> {
    let begun = |log: &&StepLog| {
        matches!(&log.step.change, Change::Format { path, after: None, .. } if path == device) && log.saved.is_some()
    };
    let Some(log) = journal.transaction().steps[seq..].iter().find(begun) else { return Ok(false) };
    let Some(saved) = &log.saved else { return Ok(false) };
    let recorded = RecordedStep { log, saved, state: journal.state(), torn: true };
    let found = handler(&log.step.change).undo_state(StepContext { run: *run, tag: "look" }, recorded)?;
    Ok(found == UndoState::Ours)
}

/// True for a file that is, byte for byte, as an older apply that stands found or made it: nothing of this one is in it any more.
/// `device retire` leaves it so, when it takes out what several applies have put in.
fn is_of_an_older(run: &Run<'_>, journal: &Journal<'_>, change: &Change) -> Result<bool, StepError> {
    let Change::File { path, .. } = change else { return Ok(false) };
    let found = run.read(&run.real(path)?)?;
    let id = &journal.transaction().id;
    let all = crate::journal::all(journal.state())?;
    let older = all.iter().take_while(|other| other.id != *id).flat_map(|other| &other.steps).filter(|step| step.is_standing());
    Ok(older.into_iter().any(|step| match &step.step.change {
        Change::File { path: other, before, after, .. } if other == path => {
            [before, after].iter().any(|side| side.as_deref().map(str::as_bytes) == found.as_deref())
        }
        _ => false,
    }))
}

fn confirm(change: &Change, found: UndoState) -> Result<UndoOutcome, StepError> {
    let found = match found {
        UndoState::Saved => return Ok(UndoOutcome::Restored),
        UndoState::Ours => change.sides().1,
        UndoState::Other(found) => found,
        UndoState::Away => AWAY.into(),
    };
    Err(StepError::NotTaken { path: change.target().to_owned(), wanted: change.sides().0, found })
}

/// Whether a command was for one kernel, and that kernel is gone with all that the command made. Any other output that is missing is missed.
fn is_of_a_removed_kernel(run: &Run<'_>, change: &Change) -> bool {
    let Change::Generated { command, outputs, .. } = change else { return false };
    let is_gone = |path: &str| run.real(path).is_ok_and(|real| !run.exists(&real));
    let is_removed = |word: &String| {
        let is_version =
            word.starts_with(|first: char| first.is_ascii_digit()) && outputs.iter().all(|path| path.contains(word.as_str()));
        is_version && is_gone(&format!("/lib/modules/{word}"))
    };
    command.iter().any(is_removed) && outputs.iter().all(|path| is_gone(path))
}

/// What becomes of files that their command does not make again.
fn not_regenerated(run: &Run<'_>, journal: &Journal<'_>, seq: usize, error: &StepError) -> UndoOutcome {
    let log = &journal.transaction().steps[seq];
    let change = &log.step.change;
    if is_half_made(log) {
        return match bring_back(run, journal, seq) {
            Ok(outcome) => outcome,
            Err(second) => UndoOutcome::Failed { why: format!("{}; {}", error_chain(error), error_chain(&second)) },
        };
    }
    if offline::is_offline(run) {
        return UndoOutcome::Kept { why: offline::to_run_there(change, error) };
    }
    // An initramfs of a kernel that was removed since: nothing of it is left to be taken back.
    if is_of_a_removed_kernel(run, change) {
        return UndoOutcome::AlreadyThere;
    }
    UndoOutcome::Failed { why: error_chain(error) }
}

/// Restores what was captured, whatever is there.
fn bring_back(run: &Run<'_>, journal: &Journal<'_>, seq: usize) -> Result<UndoOutcome, StepError> {
    let log = &journal.transaction().steps[seq];
    let Some(saved) = &log.saved else { return Ok(UndoOutcome::AlreadyThere) };
    let tag = tag(&journal.transaction().id, seq);
    let cx = StepContext { run: *run, tag: &tag };
    let recorded = RecordedStep { log, saved, state: journal.state(), torn: true };
    let handler = handler(&log.step.change);
    handler.restore(cx, recorded)?;
    confirm(&log.step.change, handler.undo_state(cx, recorded)?)
}

fn regenerate(run: &Run<'_>, change: &Change) -> Result<(), StepError> {
    let tag = "again";
    handler(change).make(StepContext { run: *run, tag }).map(|_| ())
}

/// Brings a half-made step back to what was saved, so that it can be made again. For a transaction that goes on.
pub(super) fn take_back(run: &Run<'_>, state: &StateDir, id: &str, seq: usize, log: &StepLog) -> Result<UndoState, StepError> {
    let Some(saved) = &log.saved else { return Ok(UndoState::Saved) };
    let tag = tag(id, seq);
    let cx = StepContext { run: *run, tag: &tag };
    sweep(cx, saved)?;
    let recorded = RecordedStep { log, saved, state, torn: true };
    let handler = handler(&log.step.change);
    let found = handler.undo_state(cx, recorded)?;
    if found == UndoState::Ours {
        handler.restore(cx, recorded)?;
    }
    Ok(found)
}

/// What tells the temporary files of one step from others.
pub(super) fn tag(id: &str, seq: usize) -> String {
    format!("{id}-{seq}")
}

/// Takes away temporary files that a crash left.
fn sweep(cx: StepContext<'_>, saved: &Saved) -> Result<(), StepError> {
    match saved {
        Saved::File { at: real, .. }
        | Saved::Link { at: real, .. }
        | Saved::Key { at: real, .. }
        | Saved::SwapFile { at: real, .. } => cx.run.sweep(real, cx.tag),
        Saved::Outputs { files } => files.iter().try_for_each(|(real, _)| cx.run.sweep(real, cx.tag)),
        _ => Ok(()),
    }
}

/// Folders that were made for a step.
fn made(saved: &Saved) -> &[String] {
    match saved {
        Saved::File { made, .. } | Saved::Link { made, .. } | Saved::Key { made, .. } | Saved::SwapFile { made, .. } => made,
        _ => &[],
    }
}
