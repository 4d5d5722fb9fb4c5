//! `swaptune rollback`: takes an apply back from captured originals.

use swaptune_host::counted;
use swaptune_host::journal::{StateDir, TransactionKind, newest_applied, pending};
use swaptune_host::service;
use swaptune_host::transaction::{ApplyOptions, RollbackReport, UndoOutcome, rollback};

use super::change::{confirmed, kernel, needs_root, options};
use super::{Context, temporary};
use crate::cli::RollbackArgs;
use crate::failure::{FINDINGS, Failure, USAGE};
use crate::output::{self, text};

/// Takes back the named apply, else the one that was cut short, else the newest that stands.
pub fn run(context: &Context, args: &RollbackArgs) -> Result<u8, Failure> {
    needs_root(context)?;
    temporary::recover(context)?;
    let state = StateDir::persistent(&context.machine);
    let id = match &args.id {
        Some(id) => id.clone(),
        None => newest(&state)?,
    };
    if !confirmed(args.yes, &format!("Take back {id}?"))? {
        output::message("nothing was changed");
        return Ok(0);
    }
    let kernel = kernel(context, false)?;
    let options = ApplyOptions { skip: &args.skip, ..options() };
    let mut report = rollback(&context.machine, &*kernel, &state, &id, &options)?;
    report.warnings.extend(service::forget(&context.machine));
    report.warnings.extend(counted::keep(&context.machine, &*kernel, &format!("rollback of {id}")));
    print(context, &report)?;
    Ok(if report.left().is_empty() { 0 } else { FINDINGS })
}

fn newest(state: &StateDir) -> Result<String, Failure> {
    let error = swaptune_host::transaction::ApplyError::from;
    let found = match pending(state).map_err(error)? {
        Some(transaction) => Some(transaction),
        None => newest_applied(state, TransactionKind::Apply).map_err(error)?,
    };
    let none = || Failure::new(USAGE, "found no apply to take back").hint("`swaptune history` lists what was done");
    found.map(|transaction| transaction.id).ok_or_else(none)
}

fn print(context: &Context, report: &RollbackReport) -> Result<(), Failure> {
    if context.json {
        return output::json_versioned(report);
    }
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
            UndoOutcome::Failed { why } => format!("failed: step {}, {} ({why})", step.number, step.change),
            UndoOutcome::SetAside { why } if why.is_empty() => format!("set aside: step {}, {}", step.number, step.change),
            UndoOutcome::SetAside { why } => format!("set aside: step {}, {} ({why})", step.number, step.change),
        };
        out += &text::wrap(&line, 2);
    }
    for warning in &report.warnings {
        out += &text::wrap(&format!("warning: {warning}"), 2);
    }
    let but = if report.left().is_empty() { "" } else { ", but for what was left" };
    out += &format!("{} is taken back{but}\n", report.id);
    output::data(&out)
}
