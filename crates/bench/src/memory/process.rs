//! Helper processes, from their parent's side.

use std::ffi::OsString;
use std::io::{BufRead, BufReader, Write};
use std::os::unix::process::ExitStatusExt;
use std::path::PathBuf;
use std::process::{Child, ChildStdout, Command, Stdio};

use serde::Serialize;
use serde::de::DeserializeOwned;
use swaptune_host::cgroup::LimitedGroup;

use super::MemoryError;
use super::work::{Done, Ready, Task};

/// The signal of the out-of-memory killer, the same number everywhere.
const SIGKILL: i32 = 9;

/// What is started as helper: it must call [`serve`](super::serve) with the process id that is its last argument.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Program {
    /// Path.
    pub path: PathBuf,
    /// Arguments, without the process id.
    pub arguments: Vec<OsString>,
}

/// A helper process; killed when dropped.
#[derive(Debug)]
pub struct Helper {
    child: Child,
    answers: BufReader<ChildStdout>,
}

impl Helper {
    /// Starts one, in a group if there is one; it has no memory of account yet.
    pub fn start(program: &Program, group: Option<&LimitedGroup>) -> Result<Self, MemoryError> {
        let failed = |error: std::io::Error| MemoryError::Helper(format!("{}: {error}", program.path.display()));
        let mut command = Command::new(&program.path);
        command.args(&program.arguments).arg(std::process::id().to_string());
        let mut child = command.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().map_err(failed)?;
        let output = child.stdout.take();
        let mut helper = match output {
            Some(output) => Self { child, answers: BufReader::new(output) },
            None => {
                let _ = child.kill();
                return Err(MemoryError::Helper("a helper process without a pipe".into()));
            }
        };
        if let Some(group) = group {
            group.add(helper.child.id()).inspect_err(|_| helper.end())?;
        }
        Ok(helper)
    }

    /// Tells it what to do.
    pub fn ask(&mut self, task: &Task) -> Result<(), MemoryError> {
        self.say(task)
    }

    /// Waits until its memory is filled.
    pub fn ready(&mut self) -> Result<Ready, MemoryError> {
        self.answer("filled its memory")
    }

    /// Lets it go on, and waits until it is done.
    pub fn go(&mut self) -> Result<Done, MemoryError> {
        self.say(&"go")?;
        self.answer("was done")
    }

    fn say(&mut self, what: &impl Serialize) -> Result<(), MemoryError> {
        let line = serde_json::to_string(what).map_err(|error| MemoryError::Helper(error.to_string()))?;
        let written = self.child.stdin.as_mut().map(|input| input.write_all(format!("{line}\n").as_bytes()));
        match written {
            Some(Ok(())) => Ok(()),
            _ => Err(self.lost("was asked")),
        }
    }

    fn answer<T: DeserializeOwned>(&mut self, moment: &str) -> Result<T, MemoryError> {
        let mut line = String::new();
        match self.answers.read_line(&mut line) {
            Ok(length) if length > 0 => serde_json::from_str(&line).map_err(|error| MemoryError::Helper(error.to_string())),
            _ => Err(self.lost(moment)),
        }
    }

    /// How it came to its end.
    fn lost(&mut self, moment: &str) -> MemoryError {
        match self.child.wait() {
            Ok(status) if status.signal() == Some(SIGKILL) => {
                MemoryError::Killed(format!("it was killed before it {moment}, most likely for want of memory"))
            }
            Ok(status) => MemoryError::Helper(format!("the measuring process ended with {status} before it {moment}")),
            Err(error) => MemoryError::Helper(format!("the measuring process is lost: {error}")),
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
