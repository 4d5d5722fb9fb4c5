//! Everything that can be known to fail is found here, before the first change.

use std::collections::{BTreeMap, BTreeSet};
use std::io;
use std::os::unix::fs::MetadataExt;
use std::path::Path;

use rustix::fs::{Access, access, statvfs};
use swaptune_core::Bytes;
use swaptune_core::change::Change;
use swaptune_core::plan::{Plan, Step};

use super::error::{ApplyError, StepError};
use super::kinds::{At, Stand, doer, guard};
use super::room;
use super::run::{Run, is_missing};
use crate::journal::{Saved, StateDir, Transaction};
use crate::swap_header::END;
use crate::swapfile;

/// What must stay free where files are written: the journal, temporary files, the bytes that are kept.
const SLACK: Bytes = Bytes::from_mib(1);

/// Refuses what cannot or must not be done.
pub(super) fn check(run: &Run<'_>, state: &StateDir, plan: &Plan) -> Result<(), ApplyError> {
    if let Some(refusal) = plan.refusals.first().cloned() {
        return Err(ApplyError::Refused { what: refusal.what, why: refusal.why, hint: refusal.hint });
    }
    only_files_offline(run, &plan.steps)?;
    stands(run, &plan.steps)?;
    let off = plan.steps.iter().filter_map(|step| switched_off(run, &step.change)).collect::<Vec<_>>();
    room::check(run, &off)?;
    writable(run, plan.steps.iter().map(|step| &step.change))?;
    space(run, state, &plan.steps)?;
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
fn stands(run: &Run<'_>, steps: &[Step]) -> Result<(), StepError> {
    let mut touched = BTreeSet::new();
    let mut promised: BTreeMap<u64, u64> = BTreeMap::new();
    let mut drivers = false;
    for step in steps {
        let change = &step.change;
        let first = touched.insert(target(run, change));
        drivers |= matches!(change, Change::Module { .. } | Change::Zram { .. });
        let appears_later = drivers && matches!(change, Change::Knob { path, .. } if !run.exists_inside(path));
        if !first || appears_later {
            continue;
        }
        let stand = doer(change).stand(At { run: *run, tag: "check" })?;
        match (stand, change) {
            (Stand::Other(found), _) => return Err(conflict(change, found)),
            (Stand::Before, Change::SwapHeader { path, before, wipe, .. }) => {
                guard(run, &run.real(path)?, before.as_ref(), *wipe)?;
            }
            (Stand::Before, Change::SwapFile { path, after: Some(after), .. }) => {
                let real = run.real(path)?;
                let others = promised.entry(device(run, &real)).or_default();
                swapfile::check(run, &real, after, *others)?;
                *others = others.saturating_add(after.size.0);
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
fn target(run: &Run<'_>, change: &Change) -> String {
    match change {
        Change::Zram { name, .. } => format!("/dev/{name}"),
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
            Change::File { path, .. } | Change::SwapFile { path, .. } => vec![run.real(path)?],
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

/// Refuses a rollback that would stop half-way: areas that cannot go off, folders that cannot be written to.
pub(crate) fn check_rollback(run: &Run<'_>, transaction: &Transaction) -> Result<(), StepError> {
    let standing: Vec<_> = transaction.steps.iter().filter(|log| log.is_standing()).collect();
    let mut off = Vec::new();
    for log in &standing {
        if let Some(Saved::Area { at, state }) = &log.saved {
            let on = run.area(at)?.map(|area| area.priority);
            if on.is_some() && on != state.map(|state| state.priority) {
                off.push(at.clone());
            }
        }
    }
    room::check(run, &off)?;
    writable(run, standing.iter().map(|log| &log.step.change))
}

fn may_write(path: &Path, real: &str) -> Result<(), StepError> {
    match access(path, Access::WRITE_OK) {
        Err(error) if !is_missing(&io::Error::from(error)) => Err(StepError::io("write", real, error.into())),
        _ => Ok(()),
    }
}

/// Refuses when what is to be written does not fit, file system by file system.
fn space(run: &Run<'_>, state: &StateDir, steps: &[Step]) -> Result<(), StepError> {
    // Everything that is overwritten is kept.
    let kept = steps.iter().map(|step| overwritten(run, &step.change)).fold(SLACK.0, u64::saturating_add);
    let state_device = std::fs::metadata(state.path()).map_or(0, |found| found.dev());
    let mut needed = BTreeMap::from([(state_device, (Bytes(kept), state.path().to_owned()))]);
    for step in steps {
        let sizes = match &step.change {
            Change::File { path, after: Some(text), .. } => vec![(path, text.len() as u64)],
            // Going back needs room for a second copy of each.
            Change::Generated { outputs, .. } => outputs.iter().map(|path| (path, length(run, path))).collect(),
            _ => continue,
        };
        for (path, size) in sizes {
            let real = run.real(path)?;
            let entry = needed.entry(device(run, &real)).or_insert((SLACK, run.nearest_folder(&real)));
            entry.0 = Bytes(entry.0.0.saturating_add(size));
        }
    }
    for (need, path) in needed.into_values() {
        let Ok(found) = statvfs(&path) else { continue };
        let free = Bytes(found.f_bfree.saturating_mul(found.f_frsize));
        if free < need {
            return Err(StepError::Refused {
                what: format!("writing to {}", path.display()),
                why: format!("its file system has {free} free, {need} are needed"),
                hint: "free some space on that file system".into(),
            });
        }
    }
    Ok(())
}

/// How many bytes a change overwrites.
fn overwritten(run: &Run<'_>, change: &Change) -> u64 {
    match change {
        Change::File { path, .. } => length(run, path),
        Change::Generated { outputs, .. } => outputs.iter().map(|path| length(run, path)).sum(),
        Change::SwapHeader { wipe: true, .. } => 2 * END,
        _ => 0,
    }
}

/// Number of the file system that a path lies on, or would lie on.
fn device(run: &Run<'_>, real: &str) -> u64 {
    std::fs::metadata(run.nearest_folder(real)).map_or(0, |found| found.dev())
}

fn length(run: &Run<'_>, path: &str) -> u64 {
    let real = run.real(path).unwrap_or_default();
    std::fs::metadata(run.host(&real)).map_or(0, |found| found.len())
}
