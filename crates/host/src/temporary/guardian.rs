//! The process that puts temporary settings back when the one that made them dies, in whatever way.
//!
//! It is the same program, started again in a session of its own, so that what ends the other (Ctrl-C, a terminal that
//! closes, SIGKILL, the out-of-memory killer) does not end it. It holds the reading end of a pipe; when that ends without
//! a word, the other process is gone. One that lives and does not go on (SIGSTOP, a call that never returns) cannot be told from a patient
//! one, unless it has armed a watchdog: then it is killed when the time is over, and everything is put back as after any kill.
//!
//! A program that opens a [`TemporarySettings`](super::TemporarySettings) calls [`play`] when its first argument is [`ARGUMENT`]. A test
//! program of Rust's harness does so in a test of that name, which the argument selects.

use std::ffi::OsString;
use std::io::{self, BufRead, BufReader, Read, Write};
use std::os::fd::OwnedFd;
use std::path::PathBuf;
use std::process::{Child, ChildStdout, Command, Stdio};
use std::sync::mpsc::{Receiver, RecvTimeoutError, channel};
use std::time::Duration;

use rustix::process::{PidfdFlags, Signal, getppid, pidfd_open, pidfd_send_signal};
use tracing::info;

use super::{TemporaryError, is_unfinished, recover};
use crate::error_chain;
use crate::journal::StateDir;
use crate::machine::Machine;
use crate::stop::Stop;

/// The argument with which a program is started as guardian.
pub const ARGUMENT: &str = "temporary_guardian";
/// The variable that names the root of the guarded machine; without it [`play`] does nothing.
pub const ROOT: &str = "SWAPTUNE_TEMPORARY_GUARDIAN";

/// What the guardian says when it is there.
const READY: &str = "ready";
/// What it is told, a line each: there is nothing left to put back; something is begun that must end within N ms; it has ended.
const DONE: &str = "done";
const ARM: &str = "arm ";
const DISARM: &str = "disarm";
/// What a watchdog is counted in. Time in which the guardian stood still too (`systemctl freeze`, a frozen control group) is one step at most, so that
/// both go on where they were.
const STEP: Duration = Duration::from_millis(500);
/// How often and how long it waits for memory to come free, so that an area can be switched off.
const PATIENCE: (u32, Duration) = (240, Duration::from_millis(250));

/// The program that plays the guardian.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct GuardianProgram {
    /// Path of the executable.
    pub path: PathBuf,
    /// Arguments that make it the guardian.
    pub arguments: Vec<OsString>,
}

impl Default for GuardianProgram {
    /// The running program, even when its file was replaced since.
    fn default() -> Self {
        Self { path: "/proc/self/exe".into(), arguments: vec![ARGUMENT.into()] }
    }
}

/// A guardian at work.
#[derive(Debug)]
pub(super) struct Guardian {
    child: Child,
    // Kept open: a program that writes to a pipe without a reader complains.
    _said: BufReader<ChildStdout>,
}

impl Guardian {
    /// Starts it and waits until it is there.
    pub fn start(program: &GuardianProgram, machine: &Machine) -> io::Result<Self> {
        let root = std::fs::canonicalize(machine.root())?;
        let mut command = Command::new(&program.path);
        command.args(&program.arguments).env(ROOT, root).current_dir("/");
        info!("start the guardian: {command:?}");
        let mut child = command.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn()?;
        let mut said = child.stdout.take().map(BufReader::new).ok_or_else(|| io::Error::other("no pipe from it"))?;
        // A test program says other things first.
        let is_ready = said.by_ref().lines().map_while(Result::ok).any(|line| line.ends_with(READY));
        if is_ready {
            return Ok(Self { child, _said: said });
        }
        let status = child.wait()?;
        Err(io::Error::other(format!("it ended at once ({status})")))
    }

    /// From now on this process has `limit` to [disarm](Self::disarm) it, or is killed.
    pub fn arm(&mut self, limit: Duration) -> io::Result<()> {
        self.tell(&format!("{ARM}{}", limit.as_millis()))
    }

    /// What was begun has ended.
    pub fn disarm(&mut self) -> io::Result<()> {
        self.tell(DISARM)
    }

    /// Lets it go: everything is put back.
    pub fn dismiss(mut self) {
        // When it is gone already it need not be told.
        let _ = self.tell(DONE);
        self.child.stdin = None;
        let _ = self.child.wait();
    }

    fn tell(&mut self, what: &str) -> io::Result<()> {
        let gone = || io::Error::other("it is gone");
        self.child.stdin.as_mut().ok_or_else(gone)?.write_all(format!("{what}\n").as_bytes())
    }

    /// Leaves the rest to it, and does not wait.
    pub fn leave(mut self) {
        drop(self.child.stdin.take());
    }
}

/// Plays the guardian, when this process was started as one: waits for the end of the other process, or ends it where its watchdog is not
/// disarmed in time, and puts back what it left. Says what was put back.
///
/// # Errors
/// [`TemporaryError`] when something could not be put back; [`recover`] can be called again.
pub fn play() -> Result<Option<String>, TemporaryError> {
    let Some(root) = std::env::var_os(ROOT) else { return Ok(None) };
    let machine = if root == "/" { Machine::live() } else { Machine::at(root) };
    // In a session of its own no terminal can reach it. It fails only for one that leads a session already.
    let _ = rustix::process::setsid();
    Stop::ignore_signals().map_err(TemporaryError::Guardian)?;
    // Before READY: the parent waits for that, so it lives, or it is gone and no watchdog is ever armed against whoever is in its place.
    let owner = getppid().and_then(|parent| pidfd_open(parent, PidfdFlags::empty()).ok());
    let mut out = io::stdout().lock();
    // The owner may be gone by now; then this fails, and the pipe below ends at once.
    let _ = writeln!(out, "{READY}").and_then(|()| out.flush());
    drop(out);
    if says_done(&lines_told(), owner.as_ref()) { Ok(None) } else { patiently(&machine) }
}

/// The lines of standard input, by a thread, so that waiting for one can end.
fn lines_told() -> Receiver<String> {
    let (send, receive) = channel();
    std::thread::spawn(move || io::stdin().lock().lines().map_while(Result::ok).try_for_each(|line| send.send(line)));
    receive
}

/// Listens to the other process until it ends. Whether it said that everything is put back. Its watchdog is `left`, which is counted in steps.
fn says_done(told: &Receiver<String>, owner: Option<&OwnedFd>) -> bool {
    let mut left: Option<Duration> = None;
    loop {
        let line = match left {
            Some(left) => told.recv_timeout(left.min(STEP)),
            None => told.recv().map_err(|_| RecvTimeoutError::Disconnected),
        };
        match line.as_deref() {
            Ok(DONE) => return true,
            Ok(DISARM) => left = None,
            Ok(line) => left = line.strip_prefix(ARM).and_then(|ms| ms.parse().ok()).map(Duration::from_millis),
            Err(RecvTimeoutError::Timeout) => {
                left = left.and_then(|left| left.checked_sub(STEP)).filter(|left| !left.is_zero());
                if left.is_none() {
                    kill(owner);
                }
            }
            Err(RecvTimeoutError::Disconnected) => return false,
        }
    }
}

/// Kills the other process, which is there and has the pipe: that ends next. Said at once, for a service manager may end this one as soon as its own
/// command has put everything back.
fn kill(owner: Option<&OwnedFd>) {
    if owner.is_some_and(|owner| pidfd_send_signal(owner, Signal::KILL).is_ok()) {
        say("a process did not end in time what it had begun, and was killed");
    }
}

/// The lock is free a moment after the pipe ends, and memory when the dead process is taken apart. What another program has changed is left alone
/// for good, and said.
fn patiently(machine: &Machine) -> Result<Option<String>, TemporaryError> {
    let state = StateDir::temporary(machine);
    let may_help = |error: &TemporaryError| matches!(error, TemporaryError::Busy(_)) || is_unfinished(error, &state);
    for _ in 1..PATIENCE.0 {
        match recover(machine) {
            Err(error) if may_help(&error) => std::thread::sleep(PATIENCE.1),
            result => return result,
        }
    }
    recover(machine)
}

/// Plays the guardian and says to standard error what was put back, or what could not be. False when that failed.
#[must_use]
pub fn play_and_tell() -> bool {
    let (line, ok) = match play() {
        Ok(None) => return true,
        Ok(Some(what)) => (what, true),
        Err(error) => (format!("{}\nhint: {}", error_chain(&error), error.hint()), false),
    };
    say(&line);
    ok
}

/// To standard error. Without a reader of it, what was done is right all the same.
fn say(line: &str) {
    let _ = writeln!(io::stderr().lock(), "swaptune: {line}");
}
