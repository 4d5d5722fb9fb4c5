//! `swaptune daemon`: keeps a machine at its best, and shows what it does.

use std::path::Path;

use swaptune_core::Fact;
use swaptune_core::control::{DecisionEntry, Laws, UpkeepState, Wishes};
use swaptune_core::profiles::auto::largest_pool;
use swaptune_host::daemon_status as status;
use swaptune_host::error_chain;
use swaptune_host::keep::{self, Caller, DaemonOptions, KeepError, SpentToday, canary};
use swaptune_host::machine::Machine;
use swaptune_host::stop::{Reload, Stop};

use super::{Context, temporary};
use crate::cli::{DaemonAction, DaemonArgs};
use crate::configuration;
use crate::failure::{FINDINGS, Failure, REFUSED, USAGE};
use crate::output;

/// Runs it, or looks at one that runs.
pub fn run(context: &Context, args: &DaemonArgs) -> Result<u8, Failure> {
    if !context.machine.is_live() {
        let message = "a daemon keeps the running machine, and --root names a folder";
        return Err(Failure::new(USAGE, message).hint("leave --root out"));
    }
    match args.action {
        None => keep(context, args),
        Some(DaemonAction::Status) => show(context),
        Some(DaemonAction::Pause) => control(status::pause(&context.machine), "paused; `swaptune daemon resume` ends it"),
        Some(DaemonAction::Resume) => control(status::resume(&context.machine), "no pause"),
        Some(DaemonAction::Restore) => temporary::recover(context).map(|()| 0),
    }
}

fn keep(context: &Context, args: &DaemonArgs) -> Result<u8, Failure> {
    let machine = &context.machine;
    if !args.dry_run && !machine.is_root() {
        let failure = Failure::new(REFUSED, "only root may set what the daemon sets");
        return Err(failure.hint("`swaptune daemon --dry-run` says what it would do"));
    }
    let wishes = configuration::keep(machine, args.config.as_deref())?.wishes();
    let (stop, reload) = signals().map_err(|error| Failure::new(1, format!("signals: {error}")))?;
    let SpentToday { written, taken, zram_written, .. } = SpentToday::earlier(machine);
    let mut laws = Laws::new(wishes, largest_pool, written, taken);
    laws.zram = UpkeepState::with_budget(zram_written);
    let options = DaemonOptions { dry_run: args.dry_run, once: args.once };
    let report = keep::run(machine, laws, options, &stop, &mut DaemonFront { machine, config: args.config.as_deref(), reload })?;
    if context.json && args.once {
        output::json_versioned(&report)?;
    } else if args.once {
        output::data(&output::daemon::text(&report))?;
    }
    Ok(0)
}

/// A service manager asks by SIGHUP to read the configuration; a terminal says by it that it is gone.
fn signals() -> std::io::Result<(Stop, Reload)> {
    match std::env::var_os("NOTIFY_SOCKET") {
        Some(_) => Stop::on_signals_of_a_service(),
        None => Ok((Stop::on_signals()?, Reload::default())),
    }
}

/// Prints decisions, and reads the configuration when it is asked to.
struct DaemonFront<'a> {
    machine: &'a Machine,
    config: Option<&'a Path>,
    reload: Reload,
}

impl Caller for DaemonFront<'_> {
    fn tell(&mut self, entry: &DecisionEntry) {
        output::message(&output::daemon::line(entry));
    }

    fn reload(&mut self) -> Option<Result<Wishes, String>> {
        let read = || configuration::keep(self.machine, self.config).map(|keep| keep.wishes());
        self.reload.take().then(|| read().map_err(|failure| failure.message))
    }
}

fn show(context: &Context) -> Result<u8, Failure> {
    let report = match status::look(&context.machine) {
        Fact::Known { value, .. } => value,
        Fact::Absent { absent } => {
            return Err(Failure::new(FINDINGS, absent).hint("sudo systemctl enable --now swaptuned"));
        }
    };
    if context.json {
        output::json_versioned(&report)?;
    } else {
        output::data(&output::daemon::text(&report))?;
    }
    Ok(if report.mode.is_running() { 0 } else { FINDINGS })
}

fn control(result: std::io::Result<()>, done: &str) -> Result<u8, Failure> {
    result.map_err(|error| Failure::new(REFUSED, format!("{}: {error}", status::PAUSE_FILE)).hint("run as root"))?;
    output::message(done);
    Ok(0)
}

/// Plays the process of the canary pages.
pub fn canary() -> Result<u8, Failure> {
    canary::play().map(|()| 0).map_err(|error| Failure::new(1, error_chain(&error)))
}

impl From<KeepError> for Failure {
    fn from(error: KeepError) -> Self {
        match error {
            KeepError::Settings(error) => error.into(),
            KeepError::Running { .. } => {
                Failure::new(REFUSED, error_chain(&error)).hint("`swaptune daemon status` shows what it does")
            }
            KeepError::Folder(_) => Failure::new(REFUSED, error_chain(&error)),
        }
    }
}

#[cfg(test)]
mod tests {
    use clap::CommandFactory;

    use super::*;

    #[test]
    fn the_canaries_are_found_by_their_argument() {
        let cli = crate::cli::Cli::command();
        assert!(cli.find_subcommand(canary::ARGUMENT).is_some_and(clap::Command::is_hide_set));
    }
}
