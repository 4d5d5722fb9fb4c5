//! `swaptune apply`: carries the plan out.

use std::io::IsTerminal;

use swaptune_core::plan::{Plan, UNIT_FILE, When};
use swaptune_host::counted;
use swaptune_host::journal::{StateDir, Transaction, pending};
use swaptune_host::service;
use swaptune_host::transaction::{Resumed, execute, resume, rollback};

use super::change::{answer, confirmed, kernel, needs_root, options, print_report};
use super::{Context, plan, temporary};
use crate::cli::ApplyArgs;
use crate::failure::{Failure, REFUSED};
use crate::{failure, output};

/// Plans, asks, applies.
pub fn run(context: &Context, args: &ApplyArgs) -> Result<u8, Failure> {
    needs_root(context)?;
    temporary::recover(context)?;
    super::history::remind(context)?;
    let state = StateDir::persistent(&context.machine);
    if let Some(code) = unfinished(context, &state, args)? {
        return Ok(code);
    }
    let plan = match &args.plan {
        Some(path) => plan::reviewed(context, path)?,
        None => plan::make(context, &args.wanted, &args.simulated, &args.when, &args.wipe)?.plan,
    };
    refuse(&plan, "swaptune plan")?;
    if plan.is_empty() {
        print_plan(context, &plan)?;
        return Ok(0);
    }
    let kernel = kernel(context, plan.steps.iter().any(|step| step.when == When::Now))?;
    not_installed(context, &plan)?;
    if !args.yes {
        output::message(&output::plan::steps(&plan, false));
        if !confirmed(args.yes, "Apply this?")? {
            output::message("nothing was changed");
            return Ok(0);
        }
    }
    let mut report = execute(&context.machine, &*kernel, &state, &plan, &options())?;
    report.warnings.extend(service::start(&context.machine, &plan));
    report.warnings.extend(counted::keep(
        &context.machine,
        &*kernel,
        &format!("apply {}", report.id.as_deref().unwrap_or_default()),
    ));
    print_report(context, &report)?;
    Ok(0)
}

fn print_plan(context: &Context, plan: &Plan) -> Result<(), Failure> {
    if context.json { output::json(plan) } else { output::data(&output::plan::steps(plan, false)) }
}

/// A plan with refusals changes nothing; the command `shown_by` shows all of them.
pub fn refuse(plan: &Plan, shown_by: &str) -> Result<(), Failure> {
    let Some(first) = plan.refusals.first() else { return Ok(()) };
    let more = plan.refusals.len() - 1;
    let others = if more == 0 { String::new() } else { format!(" (and {more} more: {shown_by})") };
    Err(Failure::new(REFUSED, format!("{}: {}{others}", first.what, first.why)).hint(&first.hint))
}

/// A boot service must not name a program that is not there.
pub fn not_installed(context: &Context, plan: &Plan) -> Result<(), Failure> {
    let (binary, installed) = plan::installed_at(context);
    if installed || !plan.steps.iter().any(|step| step.change.target() == UNIT_FILE) {
        return Ok(());
    }
    let message = format!("the boot service would call {binary}, which is not there");
    let hint = match context.root() {
        Some(root) => {
            format!("install a package in {}, or unpack the static archive there (docs/guides/images.md)", root.display())
        }
        None => "sudo make install, or change only the running system with --now".into(),
    };
    Err(Failure::new(REFUSED, message).hint(hint))
}

/// Finishes or takes back an apply that was cut short; `None` when there is none.
fn unfinished(context: &Context, state: &StateDir, args: &ApplyArgs) -> Result<Option<u8>, Failure> {
    let Some(transaction) = pending(state).map_err(swaptune_host::transaction::ApplyError::from)? else {
        if args.resume {
            return Err(Failure::new(failure::USAGE, "found no interrupted apply to resume").hint("swaptune history"));
        }
        return Ok(None);
    };
    let resuming = args.resume || (!args.yes && std::io::stdin().is_terminal() && wants_resume(&transaction, context, state)?);
    if !resuming {
        let message = format!("apply {} was interrupted", transaction.id);
        let hint = format!("`swaptune apply --resume` finishes it, `swaptune rollback {}` takes it back", transaction.id);
        return Err(Failure::new(REFUSED, message).hint(hint));
    }
    let kernel = kernel(context, false)?;
    match resume(&context.machine, &*kernel, state, &transaction.id, &options())? {
        Resumed::Applied(mut report) => {
            report.warnings.extend(counted::keep(&context.machine, &*kernel, &format!("apply {}", transaction.id)));
            print_report(context, &report)?;
        }
        Resumed::RolledBack(report) => output::message(&format!("apply {} is taken back", report.id)),
    }
    Ok(Some(0))
}

/// Asks what to do about it. Taking it back happens here, and the answer is then no.
fn wants_resume(transaction: &Transaction, context: &Context, state: &StateDir) -> Result<bool, Failure> {
    output::message(&format!("apply {} was interrupted", transaction.id));
    match answer("finish it (r)esume, take it (b)ack, or leave it? [r/b/N] ").as_str() {
        "r" | "resume" => Ok(true),
        "b" | "back" => {
            rollback(&context.machine, &*kernel(context, false)?, state, &transaction.id, &options())?;
            output::message("taken back; run the command again");
            Ok(false)
        }
        _ => Ok(false),
    }
}
