//! swaptune: measure, plan, apply, prove and keep compressed swap.
//!
//! [`main`] parses, dispatches to one file per command, prints what came back and turns it into a fixed exit code of the table
//! in `cli/exit.rs`.
//!
//! It is a library so that tests can run the very same program with a folder in the place of a kernel (`tests/double`), and so that
//! `swaptune-validate` prints and fails as it does; the program itself is `main.rs`, which has nothing but the call.

// A macro that panics when a terminal is gone would leave half of what was to be put back: `output` has what prints.
#![deny(clippy::print_stderr, clippy::print_stdout)]

mod cli;
mod cmd;
mod configuration;
pub mod failure;
#[cfg(test)]
mod hints;
mod log;
mod output;

use std::process::ExitCode;

use clap::Parser;

use cli::{Cli, Command};
use failure::Failure;
pub use output::{data, json_versioned, message, progress, text};

/// The program.
#[must_use]
pub fn main() -> ExitCode {
    let cli = Cli::parse();
    match run(&cli) {
        Ok(code) => ExitCode::from(code),
        Err(failure) => {
            let failure = failure.at(cli.global.root.as_deref());
            output::message(&failure.text());
            ExitCode::from(failure.code)
        }
    }
}

fn run(cli: &Cli) -> Result<u8, Failure> {
    log::start(cli.global.verbose)?;
    let context = cmd::Context::new(&cli.global)?;
    match &cli.command {
        Command::Inspect(args) => cmd::inspect::run(&context, args),
        Command::Status => cmd::status::run(&context),
        Command::Watch(args) => cmd::watch::run(&context, args),
        Command::Compare(args) => cmd::compare::run(&context, args),
        Command::Device(args) => cmd::device::run(&context, args),
        Command::Fleet(args) => cmd::fleet::run(&context, args),
        Command::Knobs(args) => cmd::knobs::run(&context, args),
        Command::Plan(args) => cmd::plan::run(&context, args),
        Command::Quickstart(args) => cmd::quickstart::run(&context, args),
        Command::Apply(args) => cmd::apply::run(&context, args),
        Command::Verify(args) => cmd::verify::run(&context, args),
        Command::Emit(args) => cmd::emit::run(&context, args),
        Command::Rollback(args) => cmd::rollback::run(&context, args),
        Command::History => cmd::history::run(&context),
        Command::Simulate(args) => cmd::simulate::run(&context, args),
        Command::Sample(args) => cmd::sample::run(&context, args),
        Command::Bench(args) => cmd::bench::run(&context, args),
        Command::Service(args) => cmd::service::run(&context, args),
        Command::Daemon(args) => cmd::daemon::run(&context, args),
        Command::KeepCanary => cmd::daemon::canary(),
        Command::TemporaryGuardian => Ok(cmd::temporary::guardian()),
    }
}
