//! One service: a process that answers each line with a line, as fast as it can.

use std::collections::VecDeque;
use std::io::{self, Read, Write};
use std::os::fd::{AsFd, BorrowedFd};
use std::os::unix::process::{CommandExt, ExitStatusExt};
use std::process::{Child, ChildStdin, ChildStdout, Stdio};
use std::time::{Duration, Instant};

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::fs::{OFlags, fcntl_setfl};
use swaptune_host::cgroup::LimitedGroup;

use super::DensityError;
use super::services::Launch;

/// How often a wait looks whether it was asked to stop.
const LOOK: Duration = Duration::from_millis(200);

/// A running service; killed when dropped.
#[derive(Debug)]
pub(super) struct Service {
    child: Child,
    input: ChildStdin,
    output: ChildStdout,
    // When the wakes that are not answered were due, the one that it works on first.
    due: VecDeque<Instant>,
}

impl Service {
    /// Starts one that has this number for itself, in a group if there is one.
    pub(super) fn start(launch: &Launch, number: u32, group: Option<&LimitedGroup>) -> Result<Self, DensityError> {
        let failed = |source: io::Error| DensityError::Service { name: launch.name.clone(), why: source.to_string() };
        let mut command = launch.process(number);
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::null());
        // A terminal sends Ctrl-C to all of its group: a service must not end before we have looked whether to stop.
        let mut child = command.process_group(0).spawn().map_err(failed)?;
        let (Some(input), Some(output)) = (child.stdin.take(), child.stdout.take()) else {
            return Err(failed(io::ErrorKind::BrokenPipe.into()));
        };
        // That it is ready is its first answer.
        let mut service = Self { child, input, output, due: VecDeque::from([Instant::now()]) };
        fcntl_setfl(&service.output, OFlags::NONBLOCK).map_err(|error| failed(error.into()))?;
        if let Some(group) = group {
            group.add(service.child.id())?;
        }
        // It becomes the service once it is in its group. That it is gone is found when its answers are taken.
        let _ = service.input.write_all(b"\n");
        Ok(service)
    }

    /// Wakes it, or has it woken as soon as it has answered the wakes before. One that is gone is found when its answers are taken.
    pub(super) fn wake(&mut self, due: Instant) {
        self.due.push_back(due);
        if self.due.len() == 1 {
            self.ask();
        }
    }

    /// Takes what it answered until now: how long each wake took. `None` when it is gone.
    pub(super) fn answers(&mut self) -> Option<Vec<Duration>> {
        let mut took = Vec::new();
        let mut text = [0; 512];
        loop {
            match self.output.read(&mut text) {
                // What it said before it went counts first.
                Ok(0) => return (!took.is_empty()).then_some(took),
                Ok(length) => {
                    for _ in text.iter().take(length).filter(|byte| **byte == b'\n') {
                        took.extend(self.due.pop_front().map(|due| due.elapsed()));
                        if !self.due.is_empty() && !self.ask() {
                            // That it is gone is found at the end of what it said.
                            return Some(took);
                        }
                    }
                }
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => return Some(took),
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(_) => return None,
            }
        }
    }

    /// Its process.
    pub(super) fn id(&self) -> u32 {
        self.child.id()
    }

    /// Wakes that are not answered.
    pub(super) fn open(&self) -> usize {
        self.due.len()
    }

    /// How long each of them has been open.
    pub(super) fn unanswered(&self) -> impl Iterator<Item = Duration> + '_ {
        self.due.iter().map(Instant::elapsed)
    }

    /// Waits until nothing is open, at most until `until`: a line may come in pieces.
    pub(super) fn wait(&mut self, until: Instant, stopped: &dyn Fn() -> bool) -> Wait {
        loop {
            if self.answers().is_none() {
                return Wait::Gone;
            }
            if self.open() == 0 {
                return Wait::Answered;
            }
            if stopped() {
                return Wait::Stopped;
            }
            if Instant::now() >= until || readable(&[&*self], LOOK).is_err() {
                return Wait::Late;
            }
        }
    }

    /// How it came to its end, in words.
    pub(super) fn fate(&mut self) -> String {
        match self.child.wait() {
            Ok(status) => match status.signal() {
                Some(signal) => format!("was killed by signal {signal}"),
                None => format!("ended with {status}"),
            },
            Err(error) => error.to_string(),
        }
    }

    fn ask(&mut self) -> bool {
        self.input.write_all(b"\n").is_ok()
    }
}

impl Drop for Service {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

impl AsFd for Service {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.output.as_fd()
    }
}

/// What came of a wait.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Wait {
    /// It has answered everything.
    Answered,
    /// It is gone.
    Gone,
    /// It did not in time.
    Late,
    /// The user wants to end.
    Stopped,
}

/// Those of the services that said something or are gone, by their places; waits for one at most `timeout`.
pub(super) fn readable(services: &[impl AsFd], timeout: Duration) -> io::Result<Vec<usize>> {
    let mut fds: Vec<PollFd<'_>> = services.iter().map(|service| PollFd::new(service, PollFlags::IN)).collect();
    let timeout = Timespec { tv_sec: timeout.as_secs() as i64, tv_nsec: i64::from(timeout.subsec_nanos()) };
    match poll(&mut fds, Some(&timeout)) {
        Ok(_) | Err(rustix::io::Errno::INTR) => {}
        Err(error) => return Err(error.into()),
    }
    Ok(fds.iter().enumerate().filter(|(_, fd)| !fd.revents().is_empty()).map(|(place, _)| place).collect())
}
