//! Everything that can be known to fail is found here, before the first change.

use std::collections::{BTreeMap, BTreeSet};
use std::io;
use std::path::Path;

use rustix::fs::{Access, access};
use swaptune_core::change::Change;
use swaptune_core::plan::{Plan, Step};

use super::error::{ApplyError, StepError, skip};
use super::kinds::{Observed, StepContext, check_overwrite, handler, is_made_by, must_be_made, not_made_here};
use super::room;
use super::run::{Run, is_missing};
use crate::journal::{Saved, StateDir, Transaction};

/// Refuses what cannot or must not be done.
pub(super) fn check(run: &Run<'_>, state: &StateDir, plan: &Plan) -> Result<(), ApplyError> {
    if let Some(refusal) = plan.refusals.first().cloned() {
        return Err(ApplyError::Refused { what: refusal.what, why: refusal.why, hint: refusal.hint });
    }
    only_files_offline(run, &plan.steps)?;
    check_targets(run, &plan.steps)?;
    let off = plan.steps.iter().filter_map(|step| switched_off(run, &step.change)).collect::<Vec<_>>();
    room::check_swapoff(run, &off)?;
    writable(run, plan.steps.iter().map(|step| &step.change))?;
    room::check_space(run, state, &plan.steps)?;
    Ok(())
}

/// Refuses an ordinary user on a real machine, where every write would fail one after the other.
pub(crate) fn privileges(run: &Run<'_>) -> Result<(), ApplyError> {
    if !run.machine.is_live() && run.machine.root() != Path::new("/") || rustix::process::geteuid().is_root() {
        return Ok(());
    }
    Err(ApplyError::Refused {
        what: "changing this machine".into(),
        why: "only root may do it".into(),
        hint: "run it with sudo".into(),
    })
}

fn only_files_offline(run: &Run<'_>, steps: &[Step]) -> Result<(), ApplyError> {
    if run.kernel.serves(run.machine) {
        return Ok(());
    }
    let generates = run.kernel.generates_in(run.machine);
    let is_file = |change: &Change| match change {
        Change::File { .. } | Change::Link { .. } => true,
        Change::Generated { .. } => generates,
        _ => false,
    };
    match steps.iter().find(|step| !is_file(&step.change)) {
        None => Ok(()),
        Some(step) => Err(ApplyError::Refused {
            what: step.change.to_string(),
            why: format!("{} is not the running machine, only its files can be changed", run.machine.root().display()),
            hint: "use `apply --boot` with --root".into(),
        }),
    }
}

/// Compares every target with what the plan expects, as far as no earlier step of the plan changes it.
fn check_targets(run: &Run<'_>, steps: &[Step]) -> Result<(), StepError> {
    let mut touched = BTreeSet::new();
    let mut promised: BTreeMap<u64, i64> = BTreeMap::new();
    let mut drivers = false;
    for (seq, step) in steps.iter().enumerate() {
        let change = &step.change;
        let made_before = |file: &&_| steps[..seq].iter().any(|step| is_made_by(&step.change, file));
        if let Some(file) = must_be_made(run, change).filter(|file| !made_before(file)) {
            if handler(change).observe(StepContext { run: *run, tag: "check" })? != Observed::After {
                return Err(not_made_here(file));
            }
        }
        room::check_swap_files(run, change, &mut promised)?;
        let first = touched.insert(target(run, change));
        drivers |= matches!(change, Change::Module { .. } | Change::Zram { .. });
        let appears_later = drivers && matches!(change, Change::Knob { path, .. } if !run.exists_inside(path));
        if !first || appears_later {
            continue;
        }
        let observed = handler(change).observe(StepContext { run: *run, tag: "check" })?;
        match (observed, change) {
            (Observed::Other(found), _) => return Err(conflict(change, found)),
            (Observed::Before, Change::SwapHeader { path, before, wipe, .. }) => {
                check_overwrite(run, &run.real(path)?, before.as_ref(), *wipe)?;
            }
            (Observed::Before, Change::Format { path, after: Some(_), wipe, .. }) if run.exists_inside(path) => {
                check_overwrite(run, &run.real(path)?, None, *wipe)?;
            }
            _ => {}
        }
    }
    Ok(())
}

pub(super) fn conflict(change: &Change, found: String) -> StepError {
    let expected = change.sides().0;
    StepError::Conflict { what: change.target().to_owned(), expected, found }
}

/// What two steps must not both be compared with: the second sees what the first left.
pub(super) fn target(run: &Run<'_>, change: &Change) -> String {
    match change {
        Change::Zram { name, .. } => format!("/dev/{name}"),
        Change::Mapping { name, .. } => format!("mapping {name}"),
        Change::Knob { path, .. } => path.clone(),
        Change::Module { name, .. } => format!("module {name}"),
        Change::Generated { what, .. } => format!("generated {what}"),
        other => run.real(other.target()).unwrap_or_else(|_| other.target().to_owned()),
    }
}

/// The active area that a step switches off, for good or to give it another priority.
fn switched_off(run: &Run<'_>, change: &Change) -> Option<String> {
    let Change::Swap { path, before: Some(before), after } = change else { return None };
    let stays = after.is_some_and(|after| after.priority == before.priority);
    if stays { None } else { run.real(path).ok() }
}

/// Refuses when a folder that must be written to cannot be.
pub(super) fn writable<'a>(run: &Run<'_>, changes: impl Iterator<Item = &'a Change>) -> Result<(), StepError> {
    for change in changes {
        let reals = match change {
            Change::File { path, .. } | Change::SwapFile { path, .. } | Change::KeyFile { path, .. } => vec![run.real(path)?],
            Change::Link { path, .. } => vec![run.place(path)?],
            Change::Generated { outputs, .. } => outputs.iter().map(|output| run.real(output)).collect::<Result<Vec<_>, _>>()?,
            _ => continue,
        };
        for real in reals {
            may_write(&run.nearest_folder(&real), &real)?;
            let file = run.host(&real);
            // Root may write to any file but an immutable one, which could not be replaced either.
            if file.is_file() && rustix::process::geteuid().is_root() {
                may_write(&file, &real)?;
            }
        }
    }
    Ok(())
}

/// Refuses a rollback that would stop half-way: areas that cannot go off, folders that cannot be written to. The refusal says
/// which steps to leave out where that cannot be helped.
pub(crate) fn check_rollback(run: &Run<'_>, transaction: &Transaction, aside: &[usize]) -> Result<(), ApplyError> {
    let logs = transaction.steps.iter().enumerate();
    let standing: Vec<_> = logs.filter(|(seq, log)| log.is_standing() && !aside.contains(seq)).collect();
    let mut off = Vec::new();
    for (seq, log) in &standing {
        if let Some(Saved::Area { at, state }) = &log.saved {
            let on = run.area(at)?.map(|area| area.priority);
            if on.is_some() && on != state.map(|state| state.priority) {
                off.push((*seq, at.clone()));
            }
        }
    }
    let (seqs, reals): (Vec<usize>, Vec<String>) = off.into_iter().unzip();
    room::check_swapoff(run, &reals).map_err(|error| or_skip(error, transaction, &seqs))?;
    for (seq, log) in &standing {
        writable(run, std::iter::once(&log.step.change)).map_err(|error| or_skip(error, transaction, &[*seq]))?;
    }
    Ok(())
}

/// The refusal, with the way round it.
fn or_skip(error: StepError, transaction: &Transaction, seqs: &[usize]) -> ApplyError {
    let numbers: Vec<usize> = seqs.iter().map(|seq| seq + 1).collect();
    let way = format!("to take back the rest: {}", skip(&transaction.id, &numbers));
    match ApplyError::from(error) {
        ApplyError::Refused { what, why, hint } if hint.is_empty() => ApplyError::Refused { what, why, hint: way },
        ApplyError::Refused { what, why, hint } => ApplyError::Refused { what, why, hint: format!("{hint}; {way}") },
        other => other,
    }
}

fn may_write(path: &Path, real: &str) -> Result<(), StepError> {
    match access(path, Access::WRITE_OK) {
        Err(error) if !is_missing(&io::Error::from(error)) => Err(StepError::io("write", real, error.into())),
        _ => Ok(()),
    }
}
