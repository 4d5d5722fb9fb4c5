//! Temporary settings: the guardian process, and what a killed benchmark left.

use swaptune_host::aside::Aside;
use swaptune_host::error_chain;
use swaptune_host::temporary::{self, TemporaryError, guardian};

use super::Context;
use crate::failure::{FINDINGS, Failure};
use crate::output;

/// Plays the guardian of a benchmark.
pub fn guardian() -> u8 {
    if guardian::play_and_tell() { 0 } else { FINDINGS }
}

/// Puts back what a killed benchmark left, before anything else is looked at or changed.
///
/// From here on a daemon that runs moves nothing: what it had moved is as it was, until this command ends.
pub fn recover(context: &Context) -> Result<(), Failure> {
    context.aside.get_or_init(|| Aside::ask(&context.machine));
    if let Some(what) = temporary::recover(&context.machine)? {
        output::message(&what);
    }
    Ok(())
}

impl From<TemporaryError> for Failure {
    fn from(error: TemporaryError) -> Self {
        Failure::new(error.exit_code(), error_chain(&error)).hint(error.hint())
    }
}

#[cfg(test)]
mod tests {
    use clap::CommandFactory;

    use super::*;

    #[test]
    fn the_guardian_is_found_by_its_argument() {
        let cli = crate::cli::Cli::command();
        assert!(cli.find_subcommand(guardian::ARGUMENT).is_some_and(clap::Command::is_hide_set));
    }
}
