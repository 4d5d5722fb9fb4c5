//! Running fio: a committed job file on its standard input, the particulars in its environment, JSON from its output.

use std::io::{self, Write};
use std::process::{Command, Output, Stdio};
use std::time::Duration;

use swaptune_core::Bytes;
use swaptune_host::child::program;
use swaptune_host::sys::child::dies_with_us;
use thiserror::Error;
use tracing::{info, trace};

use super::output::{self, FioOutcome, OutputError};

/// Engines that keep several requests in flight, best known first. A kernel may lack either.
const ENGINES: [&str; 2] = ["libaio", "io_uring"];

/// fio could not be run, or did not do its work.
#[derive(Debug, Error)]
pub enum FioError {
    /// It is not installed.
    #[error("fio is not installed")]
    Missing,
    /// Too old to give latencies in nanoseconds.
    #[error("fio says it is `{0}`; fio-3.0 or later is needed")]
    Old(String),
    /// It cannot be started or talked to.
    #[error("fio cannot be run: {0}")]
    Run(#[from] io::Error),
    /// It gave up.
    #[error("fio ended with {status}: {words}")]
    Failed {
        /// Exit status.
        status: String,
        /// What it said.
        words: String,
    },
    /// It printed no result.
    #[error(transparent)]
    Output(#[from] OutputError),
}

/// An installed fio.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Fio {
    /// What it says it is: `fio-3.33`.
    pub version: String,
    /// The engine for loads with several requests in flight.
    pub engine: &'static str,
}

/// One load for fio.
#[derive(Clone, Debug, PartialEq)]
pub struct FioLoad<'a> {
    /// The job file.
    pub template: &'a str,
    /// Files or devices.
    pub places: Vec<String>,
    /// Where in each it begins.
    pub offset: Bytes,
    /// How much of all of them together.
    pub size: Bytes,
    /// Jobs at once.
    pub jobs: u32,
    /// How long, where the template has an end by time.
    pub time: Duration,
}

impl Fio {
    /// Looks for it.
    ///
    /// # Errors
    /// [`FioError::Missing`], [`FioError::Old`], or that it cannot be run.
    pub fn find() -> Result<Self, FioError> {
        let output = match Command::new(program("fio")).arg("--version").output() {
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Err(FioError::Missing),
            output => output?,
        };
        let version = String::from_utf8_lossy(&output.stdout).trim().to_owned();
        let is_new = major(&version).is_some_and(|major| major >= 3);
        if is_new { Ok(Self { version, engine: ENGINES[0] }) } else { Err(FioError::Old(version)) }
    }

    /// Runs a load with the first engine that works here, and stays with that engine.
    ///
    /// # Errors
    /// [`FioError`] of the first engine when none works.
    pub fn settle(&mut self, load: &FioLoad<'_>) -> Result<FioOutcome, FioError> {
        let mut first = None;
        for engine in ENGINES {
            self.engine = engine;
            match self.run(load) {
                Ok(outcome) => return Ok(outcome),
                Err(error) => first = first.or(Some(error)),
            }
        }
        Err(first.unwrap_or(FioError::Missing))
    }

    /// Runs a load.
    ///
    /// # Errors
    /// [`FioError`].
    pub fn run(&self, load: &FioLoad<'_>) -> Result<FioOutcome, FioError> {
        let mut command = Command::new(program("fio"));
        command.args(["--output-format=json+", "-"]).envs(environment(load, self.engine));
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        info!("run {command:?}");
        trace!("{}", load.template);
        let mut child = dies_with_us(&mut command).spawn()?;
        if let Some(mut input) = child.stdin.take() {
            input.write_all(load.template.as_bytes())?;
        }
        judge(&child.wait_with_output()?)
    }
}

/// The number before the first point of `fio-3.33`.
fn major(version: &str) -> Option<u32> {
    version.strip_prefix("fio-")?.split(['.', '-']).next()?.parse().ok()
}

fn environment(load: &FioLoad<'_>, engine: &str) -> [(&'static str, String); 6] {
    [
        ("PLACES", load.places.join(":")),
        ("OFFSET", load.offset.0.to_string()),
        ("SIZE", load.size.0.to_string()),
        ("JOBS", load.jobs.to_string()),
        ("RUNTIME", format!("{}ms", load.time.as_millis().max(1))),
        ("ENGINE", engine.to_owned()),
    ]
}

/// A result, or why there is none: a job that failed says it best, then fio's own words.
fn judge(output: &Output) -> Result<FioOutcome, FioError> {
    let parsed = output::parse(&String::from_utf8_lossy(&output.stdout));
    match parsed {
        Err(error @ OutputError::Job { .. }) => Err(error.into()),
        Ok(outcome) if output.status.success() => Ok(outcome),
        Err(error) if output.status.success() => Err(error.into()),
        _ => {
            let said = [&output.stderr, &output.stdout].map(|bytes| String::from_utf8_lossy(bytes).into_owned());
            let words = said.iter().flat_map(|text| text.lines()).find(|line| !line.trim().is_empty()).unwrap_or("nothing");
            Err(FioError::Failed { status: output.status.to_string(), words: words.trim().to_owned() })
        }
    }
}

#[cfg(test)]
mod tests {
    use std::os::unix::process::ExitStatusExt;
    use std::process::ExitStatus;

    use super::*;

    fn ended(code: i32, stdout: &str, stderr: &str) -> Output {
        Output { status: ExitStatus::from_raw(code << 8), stdout: stdout.into(), stderr: stderr.into() }
    }

    #[test]
    fn versions() {
        for (text, expect) in [("fio-3.33", Some(3)), ("fio-2.1.3", Some(2)), ("fio-3.41-dirty", Some(3)), ("", None)] {
            assert_eq!(major(text), expect, "{text}");
        }
    }

    #[test]
    fn a_failure_says_why() {
        let job = include_str!("../../tests/fio/no-such-file.json");
        assert!(matches!(judge(&ended(2, job, "fio: pid=0, err=2")), Err(FioError::Output(OutputError::Job { .. }))));
        let engine = judge(&ended(1, "", "fio: engine libaio not loadable\nfio: failed to load engine\n")).unwrap_err();
        assert_eq!(engine.to_string(), "fio ended with exit status: 1: fio: engine libaio not loadable");
        let good = include_str!("../../tests/fio/cluster-write.json");
        assert!(judge(&ended(0, good, "")).is_ok());
        assert!(
            matches!(judge(&ended(1, good, "killed")), Err(FioError::Failed { .. })),
            "a result of a run that failed is none"
        );
        assert!(matches!(judge(&ended(0, "", "")), Err(FioError::Output(OutputError::Form(_)))));
    }

    #[test]
    fn the_environment_says_it_all() {
        let load = FioLoad {
            template: "",
            places: vec!["/proc/1/fd/3".into(), "/proc/1/fd/4".into()],
            offset: Bytes::from_mib(1),
            size: Bytes::from_mib(64),
            jobs: 8,
            time: Duration::from_millis(500),
        };
        let text: Vec<String> = environment(&load, "libaio").iter().map(|(name, value)| format!("{name}={value}")).collect();
        let expect = "PLACES=/proc/1/fd/3:/proc/1/fd/4 OFFSET=1048576 SIZE=67108864 JOBS=8 RUNTIME=500ms ENGINE=libaio";
        assert_eq!(text.join(" "), expect);
    }
}
