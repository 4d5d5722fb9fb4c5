//! `swaptune rollback`: takes an apply back from captured originals.

use swaptune_host::counted;
use swaptune_host::journal::{StateDir, TransactionKind, newest_applied, pending};
use swaptune_host::service;
use swaptune_host::transaction::{ApplyOptions, RollbackReport, UndoOutcome, rollback};

use super::change::{confirmed, kernel, needs_root, options};
use super::{Context, temporary};
use crate::cli::RollbackArgs;
use crate::failure::{FINDINGS, Failure, USAGE};
use crate::output;
use crate::output::text::wrap;

/// Takes back the named apply, else the one that was cut short, else the newest that stands; or all, newest first.
pub fn run(context: &Context, args: &RollbackArgs) -> Result<u8, Failure> {
    needs_root(context)?;
    temporary::recover(context)?;
    let state = StateDir::persistent(&context.machine);
    if args.all {
        return all(context, &state, args);
    }
    let none = || Failure::new(USAGE, "found no apply to take back").hint("`swaptune history` lists what was done");
    let id = args.id.clone().map_or_else(|| newest(&state)?.ok_or_else(none), Ok)?;
    if !confirmed(args.yes, &format!("Take back {id}?"))? {
        output::message("nothing was changed");
        return Ok(0);
    }
    let report = take_back(context, &state, &id, &args.skip)?;
    if context.json {
        output::json_versioned(&report)?
    } else {
        output::data(&text(&report))?
    }
    Ok(if report.left().is_empty() { 0 } else { FINDINGS })
}

/// The older ones rest on what the newer ones found: the first that leaves something behind is the last.
fn all(context: &Context, state: &StateDir, args: &RollbackArgs) -> Result<u8, Failure> {
    let mut reports = Vec::new();
    let mut next = newest(state)?;
    if next.is_some() && !confirmed(args.yes, "Take back every apply that stands, newest first?")? {
        output::message("nothing was changed");
        return Ok(0);
    }
    while let Some(id) = next {
        let report = take_back(context, state, &id, &[])?;
        if !context.json {
            output::data(&text(&report))?;
        }
        let is_whole = report.left().is_empty();
        reports.push(report);
        next = if is_whole { newest(state)? } else { None };
    }
    if context.json {
        output::json_versioned(&serde_json::json!({ "rollbacks": reports }))?;
    } else if reports.is_empty() {
        output::data("no apply stands on this machine\n")?;
    }
    Ok(if reports.last().is_none_or(|report| report.left().is_empty()) { 0 } else { FINDINGS })
}

fn take_back(context: &Context, state: &StateDir, id: &str, skip: &[usize]) -> Result<RollbackReport, Failure> {
    let kernel = kernel(context, false)?;
    let mut report = rollback(&context.machine, &*kernel, state, id, &ApplyOptions { skip, ..options() })?;
    report.warnings.extend(service::forget(&context.machine));
    report.warnings.extend(counted::keep(&context.machine, &*kernel, &format!("rollback of {id}")));
    Ok(report)
}

fn newest(state: &StateDir) -> Result<Option<String>, Failure> {
    let error = swaptune_host::transaction::ApplyError::from;
    let found = match pending(state).map_err(error)? {
        Some(transaction) => Some(transaction),
        None => newest_applied(state, TransactionKind::Apply).map_err(error)?,
    };
    Ok(found.map(|transaction| transaction.id))
}

fn text(report: &RollbackReport) -> String {
    let mut out = String::new();
    for step in &report.steps {
        let line = match &step.outcome {
            UndoOutcome::AlreadyThere => format!("as before already: {}", step.change.inverse()),
            UndoOutcome::Restored => format!("restored: {}", step.change.inverse()),
            UndoOutcome::Regenerated => format!("made anew: {}", step.change.target()),
            UndoOutcome::Kept { why } => format!("kept: {} ({why})", step.change.target()),
            UndoOutcome::Left { found, expected } => {
                format!("left alone: {} is {found}, expected {expected}: it was changed since the apply", step.change.target())
            }
            UndoOutcome::Away => {
                let target = step.change.target();
                format!("{target} is not there: what was made on it stays; with it, `swaptune rollback {}` goes on", report.id)
            }
            UndoOutcome::Failed { why } => format!("failed: step {}, {} ({why})", step.number, step.change),
            UndoOutcome::SetAside { why } if why.is_empty() => format!("set aside: step {}, {}", step.number, step.change),
            UndoOutcome::SetAside { why } => format!("set aside: step {}, {} ({why})", step.number, step.change),
        };
        out += &wrap(&line, 2);
    }
    for warning in &report.warnings {
        out += &wrap(&format!("warning: {warning}"), 2);
    }
    let but = if report.left().is_empty() { "" } else { ", but for what was left" };
    out += &format!("{} is taken back{but}\n", report.id);
    out
}
