//! Switching off what applied transactions switched on, for the boot service.

use std::collections::BTreeSet;

use swaptune_core::change::Change;
use swaptune_core::knobs;
use swaptune_core::plan::{Plan, Step, When};

use super::error::ApplyError;
use super::kinds::{self, read_knob, same_knob};
use super::run::Run;
use super::{ApplyOptions, ApplyReport, execute};
use crate::journal::record::StepOutcome;
use crate::journal::{Saved, StateDir, StepLog, Transaction, TransactionKind, TransactionStatus, all};
use crate::kernel::Kernel;
use crate::machine::Machine;

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
    options: &ApplyOptions<'_>,
) -> Result<ApplyReport, ApplyError> {
    let run = Run { machine, kernel, faults: options.faults, progress: options.progress };
    let mut logs = Vec::new();
    for state in states {
        // An earlier stop switched nothing on.
        let switched_on = |t: &Transaction| t.status == TransactionStatus::Applied && t.kind != TransactionKind::ServiceStop;
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
    drop_busy_devices(&run, &mut steps);
    let plan = Plan { schema: swaptune_core::plan::SCHEMA, profile: "off".into(), steps, ..Plan::default() };
    execute(machine, kernel, into, &plan, &ApplyOptions { kind: TransactionKind::ServiceStop, ..*options })
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
            if let Some(StepOutcome::FellBack { got, .. }) = &log.outcome {
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

/// A zram device that is not as we set it up, or on as swap in another way than ours, stays: one refused step would take back all others.
fn drop_busy_devices(run: &Run<'_>, steps: &mut Vec<Step>) {
    let goes: BTreeSet<String> = steps
        .iter()
        .filter(|step| matches!(step.change, Change::Swap { .. }))
        .map(|step| step.change.target().to_owned())
        .collect();
    let stays = |step: &Step| {
        let Change::Zram { name, .. } = &step.change else { return false };
        let device = format!("/dev/{name}");
        let is_on = run.area(&device).is_ok_and(|area| area.is_some());
        is_on && !goes.contains(&device) || !kinds::is_expected(run, &step.change)
    };
    steps.retain(|step| !stays(step));
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
