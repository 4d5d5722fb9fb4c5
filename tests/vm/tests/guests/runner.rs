//! The runner itself: a failed script, a dead guest and one without end are told apart.

use std::time::Duration;

use anyhow::{Result, ensure};
use swaptune_vm::guest::Minimal;
use swaptune_vm::kernels::Kernel;
use swaptune_vm::outcome::{End, Outcome};

/// The script's exit status comes out, and its output without the markers.
pub fn status() -> Result<()> {
    let outcome = guest("echo one; echo two >&2; exit 3")?.run()?;
    ensure!(outcome.status == Some(3) && !outcome.succeeded(), "{outcome}");
    ensure!(outcome.output == "one\ntwo\n", "{outcome}");
    Ok(())
}

/// A kernel that dies has no status, and its last words are kept.
pub fn panic() -> Result<()> {
    let outcome = guest(DIE)?.run()?;
    ensure!(without_status(&outcome, End::Panicked), "{outcome}");
    ensure!(outcome.console_tail.contains("Kernel panic"), "{outcome}");
    Ok(())
}

/// One that dies and stands still, as on a real system, is not waited for.
pub fn standing_panic() -> Result<()> {
    let outcome = guest(DIE)?.command_line("panic=0").run()?;
    ensure!(without_status(&outcome, End::Panicked), "{outcome}");
    Ok(())
}

const DIE: &str = "echo c > /proc/sysrq-trigger";

/// A script that does not end is ended at the limit.
pub fn endless() -> Result<()> {
    let outcome = guest("echo waiting; sleep 1000")?.limit(Duration::from_secs(40)).run()?;
    ensure!(without_status(&outcome, End::TimedOut), "{outcome}");
    ensure!(outcome.output == "waiting\n", "{outcome}");
    Ok(())
}

fn without_status(outcome: &Outcome, end: End) -> bool {
    outcome.status.is_none() && outcome.end == end && !outcome.succeeded()
}

fn guest(script: &str) -> Result<Minimal> {
    Ok(Minimal::new(Kernel::named("6.1")?.fetch()?, script))
}
