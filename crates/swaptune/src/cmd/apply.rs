//! `swaptune apply`: carries the plan out.

use std::io::IsTerminal;

use swaptune_core::plan::{Plan, UNIT_FILE, When};
use swaptune_host::counted;
use swaptune_host::journal::{StateDir, Transaction, TransactionStatus, pending};
use swaptune_host::service;
use swaptune_host::transaction::{Resumed, execute, resume};

use super::change::{answer, confirmed, kernel, needs_root, options, print_report, print_report_of};
use super::unfinished::Unfinished;
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
    let failed = service::start(&context.machine, &report);
    report.warnings.extend(failed);
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
    let found = Unfinished::of(&transaction);
    let way = match args.resume {
        true => Way::On,
        false if !args.yes && std::io::stdin().is_terminal() => ask(&transaction, &found),
        false => Way::Leave,
    };
    let code = match way {
        Way::On => go_on(context, state, &transaction)?,
        Way::Back => {
            let code = super::rollback::one(context, state, &transaction.id, &[])?;
            output::message("run the command again to apply");
            code
        }
        Way::Leave => return Err(Failure::new(REFUSED, &found.what).hint(found.how())),
    };
    Ok(Some(code))
}

/// What to do about an apply or a rollback that was cut short.
enum Way {
    /// On in the direction in which it went.
    On,
    Back,
    Leave,
}

fn ask(transaction: &Transaction, found: &Unfinished) -> Way {
    output::message(&found.what);
    if transaction.status == TransactionStatus::Undoing {
        return match answer("go on taking it (b)ack, or leave it? [b/N] ").as_str() {
            "b" | "back" => Way::Back,
            _ => Way::Leave,
        };
    }
    match answer("finish it (r)esume, take it (b)ack, or leave it? [r/b/N] ").as_str() {
        "r" | "resume" => Way::On,
        "b" | "back" => Way::Back,
        _ => Way::Leave,
    }
}

/// Finishes it, forwards or backwards.
fn go_on(context: &Context, state: &StateDir, transaction: &Transaction) -> Result<u8, Failure> {
    let kernel = kernel(context, false)?;
    let mut report = match resume(&context.machine, &*kernel, state, &transaction.id, &options())? {
        Resumed::Applied(report) => report,
        Resumed::RolledBack(report) => return super::rollback::tell(context, &*kernel, report),
    };
    let failed = service::start(&context.machine, &report);
    report.warnings.extend(failed);
    report.warnings.extend(counted::keep(&context.machine, &*kernel, &format!("apply {}", transaction.id)));
    print_report_of(context, transaction.kind, &report)?;
    Ok(0)
}
