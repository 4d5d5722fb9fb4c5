//! What commands that change a machine share: the kernel behind it, errors with hints, questions, reports.

use std::io::{BufRead, IsTerminal};

use swaptune_host::error_chain;
use swaptune_host::journal::{StepOutcome, TransactionKind};
use swaptune_host::kernel::{self, Kernel, WriteProgress};
use swaptune_host::transaction::{ApplyError, ApplyOptions, ApplyReport};

use super::Context;
use crate::failure::{Failure, REFUSED, USAGE, at_root};
use crate::output::{self, text};

/// The kernel that changes go to. A folder has none, so only what takes effect at boot can be changed there; a capture is for
/// looking at, and nothing ever boots from it.
pub fn kernel(context: &Context, live_changes: bool) -> Result<Box<dyn Kernel>, Failure> {
    let (machine, kernel) = (&context.machine, kernel::of(&context.machine));
    if machine.is_live() || kernel.serves(machine) {
        return Ok(kernel);
    }
    if machine.is_capture() {
        let message = format!("{} is a capture: files that were read on a machine, to be looked at", machine.root().display());
        return Err(Failure::new(REFUSED, message).hint("`swaptune plan` shows what would change on that machine"));
    }
    if live_changes {
        let message = "live changes need a running kernel, and --root is not one";
        return Err(Failure::new(REFUSED, message).hint("leave out --now: an image takes what takes effect when it boots"));
    }
    Ok(kernel)
}

/// Refuses early and in plain words what only root can do.
pub fn needs_root(context: &Context) -> Result<(), Failure> {
    if context.machine.is_live() && !context.machine.is_root() {
        return Err(Failure::new(REFUSED, "this changes the machine and needs root").hint("put sudo before it"));
    }
    Ok(())
}

/// Progress of long writes, as one line that rewrites itself on a terminal.
pub fn show_progress(progress: WriteProgress) {
    if std::io::stderr().is_terminal() && progress.total > 0 {
        output::unended(&format!("\rwriting {} %", progress.done * 100 / progress.total));
        if progress.done >= progress.total {
            output::unended("\r\x1b[K");
        }
    }
}

/// Options of a transaction that a person started.
pub fn options() -> ApplyOptions<'static> {
    ApplyOptions { progress: &show_progress, ..ApplyOptions::default() }
}

impl From<ApplyError> for Failure {
    fn from(error: ApplyError) -> Self {
        let mut message = error_chain(&error);
        if let ApplyError::RollbackFailed { left, .. } = &error {
            for step in left {
                message += &format!("\n  left as it is: step {}, {} ({})", step.number, step.step, step.why);
            }
        }
        Failure::new(error.exit_code(), message).hint(error.hint())
    }
}

/// Asks on the terminal; without one, `--yes` has to say it.
pub fn confirmed(yes: bool, question: &str) -> Result<bool, Failure> {
    if yes {
        return Ok(true);
    }
    if !std::io::stdin().is_terminal() {
        return Err(Failure::new(USAGE, "this changes the machine, and there is no terminal to ask on").hint("add --yes"));
    }
    Ok(matches!(answer(&format!("{question} [y/N] ")).as_str(), "y" | "yes"))
}

/// One line from the terminal, in lower case.
pub fn answer(question: &str) -> String {
    output::unended(question);
    let mut line = String::new();
    // End of input and an unreadable terminal both mean no.
    let _ = std::io::stdin().lock().read_line(&mut line);
    line.trim().to_lowercase()
}

/// What an apply did, step by step.
pub fn print_report(context: &Context, report: &ApplyReport) -> Result<(), Failure> {
    print_report_of(context, TransactionKind::Apply, report)
}

/// The same for another kind of transaction, with what is true of its way back.
pub fn print_report_of(context: &Context, kind: TransactionKind, report: &ApplyReport) -> Result<(), Failure> {
    if context.json {
        return output::json_versioned(report);
    }
    let mut out = String::new();
    for step in &report.steps {
        let line = match &step.outcome {
            StepOutcome::Unchanged => format!("already so: {}", step.change),
            StepOutcome::Changed { .. } => format!("done: {}", step.change),
            StepOutcome::FellBack { wanted, got, why } => {
                format!("done: {} {wanted} was refused ({why}), {got} is in effect", step.change.target())
            }
            StepOutcome::Skipped { why } => format!("skipped: {} ({why})", step.change),
        };
        out += &text::wrap(&line, 2);
    }
    for warning in &report.warnings {
        out += &text::wrap(&format!("warning: {warning}"), 2);
    }
    let back = |id: &str| match kind {
        TransactionKind::Retire => "what was destroyed does not come back".to_owned(),
        _ => format!("`swaptune rollback {id}` takes it back"),
    };
    let id = report.id.as_deref().map_or_else(String::new, |id| format!(" (transaction {id}; {})", back(id)));
    out += &format!("{}{id}\n", text::count(report.changed(), "change"));
    output::data(&at_root(&out, context.root()))
}
