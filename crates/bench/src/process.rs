//! Helper processes, from their parent's side: what a memory limit shall apply to alone is done by a process of its own.

use std::ffi::OsString;
use std::io::{self, BufRead, BufReader, Write};
use std::os::unix::process::{CommandExt, ExitStatusExt};
use std::path::PathBuf;
use std::process::{Child, ChildStdout, Command, Stdio};

use serde::Serialize;
use serde::de::DeserializeOwned;
use swaptune_host::cgroup::{CgroupError, LimitedGroup};
use thiserror::Error;
use tracing::info;

/// The signal of the out-of-memory killer, the same number everywhere.
const SIGKILL: i32 = 9;

/// What is started as helper: it must serve the process whose id is its last argument.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct HelperProgram {
    /// Path of the executable.
    pub path: PathBuf,
    /// Arguments, without the process id.
    pub arguments: Vec<OsString>,
}

/// What a helper answers: one line.
pub fn say(output: &mut impl Write, answer: &impl Serialize) -> io::Result<()> {
    serde_json::to_writer(&mut *output, answer)?;
    output.write_all(b"\n")?;
    output.flush()
}

/// Why a helper did not do what it was asked.
#[derive(Debug, Error)]
pub enum HelperError {
    /// It was killed.
    #[error("{0}")]
    Killed(String),
    /// It could not be started, or ended too soon.
    #[error("{0}")]
    Lost(String),
    /// It could not be put into its group.
    #[error(transparent)]
    Group(#[from] CgroupError),
}

/// A helper process; killed when dropped.
#[derive(Debug)]
pub struct Helper {
    child: Child,
    answers: BufReader<ChildStdout>,
}

impl Helper {
    /// Starts one, in a group if there is one; it has no memory of account yet.
    pub fn start(program: &HelperProgram, group: Option<&LimitedGroup>) -> Result<Self, HelperError> {
        let failed = |error: std::io::Error| HelperError::Lost(format!("{}: {error}", program.path.display()));
        let mut command = Command::new(&program.path);
        command.args(&program.arguments).arg(std::process::id().to_string());
        info!("start {command:?}");
        // In a group of its own: Ctrl-C in a terminal asks us to stop, and a helper ends when we have done with it.
        let mut child = command.stdin(Stdio::piped()).stdout(Stdio::piped()).process_group(0).spawn().map_err(failed)?;
        let output = child.stdout.take();
        let mut helper = match output {
            Some(output) => Self { child, answers: BufReader::new(output) },
            None => {
                let _ = child.kill();
                return Err(HelperError::Lost("a helper process without a pipe".into()));
            }
        };
        if let Some(group) = group {
            group.add(helper.child.id()).inspect_err(|_| helper.end())?;
        }
        Ok(helper)
    }

    /// The id of its process.
    pub fn pid(&self) -> u32 {
        self.child.id()
    }

    /// Tells it something, in one line.
    pub fn say(&mut self, what: &impl Serialize) -> Result<(), HelperError> {
        let line = serde_json::to_string(what).map_err(|error| HelperError::Lost(error.to_string()))?;
        self.send(format!("{line}\n").as_bytes())
    }

    /// Sends it bytes as they are.
    pub fn send(&mut self, bytes: &[u8]) -> Result<(), HelperError> {
        match self.child.stdin.as_mut().map(|input| input.write_all(bytes)) {
            Some(Ok(())) => Ok(()),
            _ => Err(self.lost("was asked")),
        }
    }

    /// Waits for its answer, one line; `moment` says what it will have done by then.
    pub fn answer<T: DeserializeOwned>(&mut self, moment: &str) -> Result<T, HelperError> {
        let mut line = String::new();
        match self.answers.read_line(&mut line) {
            Ok(length) if length > 0 => serde_json::from_str(&line).map_err(|error| HelperError::Lost(error.to_string())),
            _ => Err(self.lost(moment)),
        }
    }

    /// How it came to its end.
    fn lost(&mut self, moment: &str) -> HelperError {
        match self.child.wait() {
            Ok(status) if status.signal() == Some(SIGKILL) => {
                HelperError::Killed(format!("it was killed before it {moment}, most likely for want of memory"))
            }
            Ok(status) => HelperError::Lost(format!("the measuring process ended with {status} before it {moment}")),
            Err(error) => HelperError::Lost(format!("the measuring process is lost: {error}")),
        }
    }

    fn end(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

impl Drop for Helper {
    fn drop(&mut self) {
        self.end();
    }
}
