//! Tests that need something of the machine that runs them: what cannot run is ignored by name with its reason, never passed.
//!
//! Rust's own harness knows no test that finds out while it runs that it cannot, so these tests have `harness = false` and a `main`
//! that hands [`trials!`] to [`run`].

mod needs;
mod processes;

use std::ffi::OsStr;
use std::fmt::Display;
use std::process::ExitCode;

pub use libtest_mimic::{Arguments, Completion, Failed, Trial};
pub use needs::{file, no_swap, program, root, swap_lock, zswap};
pub use processes::{children, copy_program, wait_for};

/// Why a test did not come to its end.
#[derive(Debug)]
pub enum End {
    /// The machine lacks something: the test is ignored.
    Lacks(String),
    /// It failed.
    Failed(Failed),
}

impl<M: Display> From<M> for End {
    fn from(message: M) -> Self {
        Self::Failed(message.into())
    }
}

/// What a test ends with.
pub type TestResult = Result<(), End>;

/// Ends a test that this machine cannot run.
///
/// # Errors
/// Always: what the machine lacks.
pub fn lacks<T>(what: impl Into<String>) -> Result<T, End> {
    Err(End::Lacks(what.into()))
}

/// A test under the name of its function.
#[macro_export]
macro_rules! trials {
    ($($test:ident),+ $(,)?) => { vec![$($crate::trial(stringify!($test), $test)),+] };
}

/// A test that is ignored, with the reason, where the machine lacks what it needs.
pub fn trial(name: impl Into<String>, test: impl FnOnce() -> TestResult + Send + 'static) -> Trial {
    trial_or_fail(name, false, test)
}

/// A test that is ignored where `needs` says what the machine lacks, and that can only hold or fail otherwise.
pub fn needing(
    name: impl Into<String>,
    needs: impl FnOnce() -> TestResult + Send + 'static,
    test: impl FnOnce() -> Result<(), Failed> + Send + 'static,
) -> Trial {
    trial(name, || needs().and_then(|()| test().map_err(End::Failed)))
}

/// The same as [`trial`], but a lack is a failure where the test is required.
pub fn trial_or_fail(name: impl Into<String>, is_required: bool, test: impl FnOnce() -> TestResult + Send + 'static) -> Trial {
    let name = name.into();
    let shown = name.clone();
    Trial::ignorable_test(name, move || completion(&shown, is_required, test()))
}

fn completion(name: &str, is_required: bool, outcome: TestResult) -> Result<Completion, Failed> {
    match outcome {
        Ok(()) => Ok(Completion::Completed),
        Err(End::Failed(failed)) => Err(failed),
        Err(End::Lacks(what)) if is_required => Err(format!("cannot run here: {what}").into()),
        Err(End::Lacks(what)) => {
            eprintln!("\nIGNORED {name}: {what}");
            Ok(Completion::ignored_with(what))
        }
    }
}

/// Runs them as the command line says.
#[must_use]
pub fn run(trials: Vec<Trial>) -> ExitCode {
    libtest_mimic::run(&Arguments::from_args(), trials).exit_code()
}

/// Runs them one after the other: those that change the machine.
#[must_use]
pub fn run_one_by_one(trials: Vec<Trial>) -> ExitCode {
    libtest_mimic::run(&Arguments { test_threads: Some(1), ..Arguments::from_args() }, trials).exit_code()
}

/// Whether a variable of the environment asks for something: unset, empty and `0` do not.
#[must_use]
pub fn is_asked_for(value: Option<&OsStr>) -> bool {
    value.is_some_and(|value| !value.is_empty() && value != "0")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_cannot_run_is_ignored_or_fails_and_never_passes() {
        assert!(matches!(completion("a", false, Ok(())), Ok(Completion::Completed)));
        assert!(matches!(completion("b", false, lacks("no disk")), Ok(Completion::Ignored { .. })));
        let failed =
            |required, outcome| completion("c", required, outcome).err().and_then(|failed| failed.message().map(str::to_owned));
        assert_eq!(failed(true, lacks("no disk")).as_deref(), Some("cannot run here: no disk"));
        assert_eq!(failed(false, Err("broken".into())).as_deref(), Some("broken"));
    }

    #[test]
    fn unset_empty_and_zero_ask_for_nothing() {
        for (value, asked) in [(None, false), (Some(""), false), (Some("0"), false), (Some("1"), true), (Some("yes"), true)] {
            assert_eq!(is_asked_for(value.map(OsStr::new)), asked, "{value:?}");
        }
    }
}
