//! `swaptune rollback`: takes an apply back from captured originals.

use swaptune_host::counted;
use swaptune_host::journal::{
    StateDir, StepLog, Transaction, TransactionKind, TransactionStatus, newest_applied, pending, to_take_back,
};
use swaptune_host::kernel::Kernel;
use swaptune_host::service;
use swaptune_host::transaction::{ApplyError, ApplyOptions, RollbackReport, UndoOutcome, rollback};

use super::change::{confirmed, kernel, needs_root, options};
use super::{Context, temporary};
use crate::cli::RollbackArgs;
use crate::failure::{FINDINGS, Failure, USAGE};
use crate::output;
use crate::output::text::{count, wrap};

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
    one(context, &state, &id, &args.skip)
}

/// Takes this one back and prints what became of each step.
pub fn one(context: &Context, state: &StateDir, id: &str, skip: &[usize]) -> Result<u8, Failure> {
    print(context, &take_back(context, state, id, skip)?)
}

/// Prints what a rollback did that another command has gone on with.
pub fn tell(context: &Context, kernel: &dyn Kernel, report: RollbackReport) -> Result<u8, Failure> {
    print(context, &settled(context, kernel, report))
}

fn print(context: &Context, report: &RollbackReport) -> Result<u8, Failure> {
    if context.json {
        output::json_versioned(report)?
    } else {
        output::data(&text(report))?
    }
    Ok(if report.left().is_empty() { 0 } else { FINDINGS })
}

/// The older ones rest on what the newer ones found: the first that leaves something behind is the last. One that was taken back before rests on
/// nothing any more, and is only tried again.
fn all(context: &Context, state: &StateDir, args: &RollbackArgs) -> Result<u8, Failure> {
    let found = to_take_back(state).map_err(ApplyError::from)?;
    if !found.is_empty() && !confirmed(args.yes, "Take back every apply that stands, newest first?")? {
        output::message("nothing was changed");
        return Ok(0);
    }
    let mut reports = Vec::new();
    for transaction in found {
        let report = take_back(context, state, &transaction.id, &given_up(&transaction))?;
        if !context.json {
            output::data(&text(&report))?;
        }
        let is_last = transaction.status != TransactionStatus::RolledBack && !report.left().is_empty();
        reports.push(report);
        if is_last {
            break;
        }
    }
    if context.json {
        output::json_versioned(&serde_json::json!({ "rollbacks": reports }))?;
    } else if reports.is_empty() {
        output::data("no apply stands on this machine\n")?;
    }
    let stands = to_take_back(state).map_err(ApplyError::from)?;
    let steps: Vec<_> = stands.iter().filter_map(to_give_up).collect();
    steps.iter().for_each(|how| output::message(how));
    Ok(if steps.is_empty() { 0 } else { FINDINGS })
}

/// Numbers of the steps that an earlier rollback has set aside: they are not tried again unless asked for by id.
fn given_up(transaction: &Transaction) -> Vec<usize> {
    let aside = |(_, log): &(usize, &StepLog)| log.is_standing() && log.set_aside;
    transaction.steps.iter().enumerate().filter(aside).map(|(seq, _)| seq + 1).collect()
}

/// What stands of a transaction, and the command that gives it up. A device that is not there holds nothing up.
fn to_give_up(transaction: &Transaction) -> Option<String> {
    let stands = |(_, log): &(usize, &StepLog)| log.is_standing() && !log.set_aside && !log.is_away();
    let numbers: Vec<_> = transaction.steps.iter().enumerate().filter(stands).map(|(seq, _)| seq + 1).collect();
    let id = &transaction.id;
    let how = match transaction.status {
        TransactionStatus::RolledBack => {
            let skips: String = numbers.iter().map(|number| format!(" --skip {number}")).collect();
            format!("`swaptune rollback {id}{skips}` gives it up")
        }
        _ => format!("`swaptune rollback {id}` takes it back"),
    };
    (!numbers.is_empty()).then(|| format!("not taken back: {} of {id}; {how}", count(numbers.len(), "change")))
}

fn take_back(context: &Context, state: &StateDir, id: &str, skip: &[usize]) -> Result<RollbackReport, Failure> {
    let kernel = kernel(context, false)?;
    let report = rollback(&context.machine, &*kernel, state, id, &ApplyOptions { skip, ..options() })?;
    Ok(settled(context, &*kernel, report))
}

/// Tells systemd, and counts from now on.
fn settled(context: &Context, kernel: &dyn Kernel, mut report: RollbackReport) -> RollbackReport {
    report.warnings.extend(service::forget(&context.machine));
    report.warnings.extend(counted::keep(&context.machine, kernel, &format!("rollback of {}", report.id)));
    report
}

fn newest(state: &StateDir) -> Result<Option<String>, Failure> {
    let found = match pending(state).map_err(ApplyError::from)? {
        Some(transaction) => Some(transaction),
        None => newest_applied(state, TransactionKind::Apply).map_err(ApplyError::from)?,
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
            UndoOutcome::Left { found, expected, by_hand } => {
                let target = step.change.target();
                let by_hand = if by_hand.is_empty() { String::new() } else { format!("; {by_hand}") };
                format!("left alone: {target} is {found}, expected {expected}: it was changed since the apply{by_hand}")
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
