//! Taking back a transaction, and switching off what one of them switched on.

use std::collections::BTreeSet;

use serde::Serialize;
use swaptune_core::change::Change;
use swaptune_core::knobs;
use swaptune_core::plan::{Plan, Step, When};

use crate::apply::{
    ApplyError, How, NotUndone, Options, Report, Run, StepError, UndoReport, begin, check_rollback, execute, give_back,
    privileges, read_knob, same_knob, set_aside, settle, take_spares, undo_all,
};
use crate::journal::record::{Ending, Outcome, Record};
use crate::journal::{Journal, JournalError, Kind, Saved, Stamp, StateDir, Status, StepLog, Transaction, all, pending};
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
    /// The steps that were left alone, since somebody else has changed the same thing.
    #[must_use]
    pub fn left(&self) -> Vec<NotUndone> {
        self.steps.iter().filter_map(UndoReport::not_undone).collect()
    }
}

/// Takes back a transaction, finished or not. What somebody else has changed since is left alone, unless forced.
///
/// # Errors
/// [`ApplyError`]. Up to `Journal` nothing was changed; after `RollbackFailed` it can be called again and goes on.
pub fn rollback(
    machine: &Machine,
    kernel: &dyn Kernel,
    state: &StateDir,
    id: &str,
    options: &Options<'_>,
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
        let nothing_was_done = transaction.status == Status::Applied;
        if !nothing_was_done {
            return Err(ApplyError::NotStanding { id: id.to_owned(), status: transaction.status });
        }
    }
    let mut journal = Journal::open(machine, options.faults, state, id)?;
    go_on(&run, &mut journal, options.force, options.skip)
}

/// The same where nobody is there to ask: what cannot be undone is set aside, so that it reaches an end.
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
    let _ = take_spares(run, journal);
    let torn = journal.transaction().status != Status::Applied;
    let asked = journal.transaction().status != Status::Undoing || journal.transaction().undo_asked;
    if journal.transaction().status != Status::Undoing {
        journal.add(Record::Undo { time: Stamp::now().text(), boot: run.boot_id(), asked })?;
    }
    let undoing = undo_all(run, journal, How { torn, force, aside: &aside });
    let warnings = settle(run, journal).into_iter().collect();
    let id = journal.transaction().id.clone();
    let left: Vec<NotUndone> = undoing.steps.iter().filter_map(UndoReport::not_undone).collect();
    let ending = if asked { Ending::RolledBack } else { Ending::Reverted };
    let ended = match undoing.failure().filter(|_| !force) {
        Some(why) => Err(why),
        None => give_back(run, journal)
            .and_then(|()| Ok(journal.add(Record::End { ending })?))
            .map_err(|error: StepError| crate::apply::chain(&error)),
    };
    if let Err(rollback) = ended {
        let cause = format!(
            "{} steps are still to be undone",
            journal.transaction().steps.iter().filter(|log| log.is_standing()).count()
        );
        return Err(ApplyError::RollbackFailed { id, cause, rollback, left });
    }
    if left.is_empty() {
        journal.state().forget(&id);
    }
    Ok(RollbackReport { id, steps: undoing.steps, warnings })
}

/// Switches off what applied transactions switched on and what is the boot service's: knobs, zswap, zram. Disk areas and
/// files stay as they are, so that a later start or boot brings everything back.
///
/// `states` are looked through in their order, the oldest first: what was there before the oldest change of a target is
/// what comes back. The result is a transaction of its own in `into`.
///
/// # Errors
/// As [`execute`].
pub fn deactivate(
    machine: &Machine,
    kernel: &dyn Kernel,
    states: &[&StateDir],
    into: &StateDir,
    options: &Options<'_>,
) -> Result<Report, ApplyError> {
    let run = Run { machine, kernel, faults: options.faults, progress: options.progress };
    let mut logs = Vec::new();
    for state in states {
        // An earlier stop switched nothing on.
        let switched_on = |t: &Transaction| t.status == Status::Applied && t.kind != Kind::ServiceStop;
        logs.extend(all(state)?.into_iter().filter(switched_on).flat_map(|transaction| transaction.steps));
    }
    let mut seen = BTreeSet::new();
    let mut steps = Vec::new();
    for log in logs.iter().rev().filter(|log| log.step.change.is_volatile() && log.step.change.is_of_service()) {
        if !seen.insert(key(&log.step.change)) {
            continue;
        }
        let same = |other: &&StepLog| key(&other.step.change) == key(&log.step.change);
        let oldest = logs.iter().filter(same).find_map(|log| log.saved.as_ref());
        if let Some(change) = oldest.and_then(|saved| back(&run, log, saved)) {
            steps.push(step(change));
        }
    }
    let plan = Plan { schema: swaptune_core::plan::SCHEMA, profile: "off".into(), steps, ..Plan::default() };
    execute(machine, kernel, into, &plan, &Options { kind: Kind::ServiceStop, ..*options })
}

fn key(change: &Change) -> (u8, String) {
    match change {
        Change::Knob { path, .. } => (0, path.clone()),
        Change::Swap { path, .. } => (1, path.clone()),
        Change::Zram { name, .. } => (2, name.clone()),
        other => (3, other.target().to_owned()),
    }
}

/// The change that leads from what is in effect, if it is still ours, to what was there before.
fn back(run: &Run<'_>, log: &StepLog, saved: &Saved) -> Option<Change> {
    let mut change = log.step.change.inverse();
    match (&mut change, saved) {
        (Change::Knob { name, path, before, after, fallbacks }, Saved::Value { value, partner }) => {
            if let Some(Outcome::FellBack { got, .. }) = &log.outcome {
                before.clone_from(got);
            }
            let found = read_knob(run, path).ok()??;
            let is_ours = same_knob(name, &found, before);
            after.clone_from(value);
            fallbacks.clear();
            // Zero cannot be written to a setting that is in use; the other one of the pair switches it off.
            if let Some((other, theirs)) = partner.as_ref().filter(|(_, theirs)| value == "0" && theirs != "0") {
                *before = read_knob(run, other).ok()??;
                after.clone_from(theirs);
                *name = knobs::all().find(|knob| knob.path == other).map_or_else(|| other.clone(), |knob| knob.name.into());
                path.clone_from(other);
            }
            is_ours.then_some(change)
        }
        (Change::Swap { path, before, after }, Saved::Area { state, .. }) => {
            let area = run.area(&run.real(path).ok()?).ok()??;
            *after = *state;
            before.is_some_and(|before| before.priority == area.priority).then_some(change)
        }
        (Change::Zram { name, after, .. }, Saved::Zram { state, .. }) => {
            after.clone_from(state);
            run.exists_inside(&format!("/sys/block/{name}")).then_some(change)
        }
        // A module that stays loaded does nothing.
        _ => None,
    }
}

fn step(change: Change) -> Step {
    Step {
        change,
        when: When::Now,
        reason: "switched off by the service".into(),
        evidence: "the journal".into(),
        provenance: "service stop".into(),
        risk: String::new(),
    }
}
