//! One run of the user's command: how long it takes, what it costs, and what the machine does meanwhile.

use std::ffi::OsString;
use std::fs::File;
use std::io::{self, Write};
use std::os::unix::process::{CommandExt, ExitStatusExt};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::time::{Duration, Instant};

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::process::{Pid, PidfdFlags, Signal, kill_process_group, pidfd_open};
use swaptune_core::measurement::{CompareCounts, CompareLook};
use swaptune_core::stats::Quantiles;
use swaptune_host::cgroup::LimitedGroup;
use swaptune_host::machine::Machine;
use swaptune_host::stop::Stop;

use super::CompareError;
use super::bystander::{Bystander, BystanderKind};
use super::look::{KernelCounters, Timeline};
use crate::process::HelperProgram;

/// How often a run looks whether it was asked to stop.
const LOOK: Duration = Duration::from_millis(100);

/// Has the tether give its command nothing to read, and not the pipe on which it waits itself: some programs read a pipe, and no
/// `/dev/null`.
const NO_INPUT: &str = "--no-input";

/// What one run was.
#[derive(Debug)]
pub(super) struct CommandRun {
    pub(super) elapsed: Duration,
    pub(super) user_s: f64,
    pub(super) system_s: f64,
    /// How it ended when it did not succeed.
    pub(super) failed: Option<String>,
    pub(super) counts: CompareCounts,
    pub(super) bystander: Option<Quantiles>,
    pub(super) timeline: Vec<CompareLook>,
}

/// What is run, and where what it says goes.
pub(super) struct CommandJob<'a> {
    /// Binds the command to this process.
    pub(super) tether: &'a HelperProgram,
    pub(super) command: &'a [OsString],
    pub(super) output: Option<&'a File>,
    /// What wakes beside it, if anything.
    pub(super) beside: Option<BystanderKind<'a>>,
}

/// The running command with all that it started; killed when dropped.
struct RunningCommand {
    child: Child,
    group: Option<Pid>,
}

impl Drop for RunningCommand {
    fn drop(&mut self) {
        // What it left in the background must not run beside the next one.
        if let Some(group) = self.group {
            let _ = kill_process_group(group, Signal::KILL);
        }
        let _ = self.child.wait();
    }
}

impl CommandJob<'_> {
    /// Runs it to its end. `None` when the user stopped it.
    pub(super) fn run(
        &self,
        machine: &Machine,
        group: Option<&LimitedGroup>,
        stop: &Stop,
    ) -> Result<Option<CommandRun>, CompareError> {
        let bystander = self.beside.map(|beside| Bystander::begin(&beside, group)).transpose()?;
        let before = KernelCounters::read(machine);
        let times = children_times();
        let begun = Instant::now();
        let mut timeline = Timeline::begin(machine);
        let mut running = self.start(group)?;
        let Some(status) = wait(&mut running, stop, &mut || timeline.look(machine))? else { return Ok(None) };
        let elapsed = begun.elapsed();
        drop(running);
        // The bystander is not waited for yet: its time is not the command's.
        let (user, system) = children_times();
        let counts = KernelCounters::read(machine).since(&before);
        Ok(Some(CommandRun {
            elapsed,
            user_s: user - times.0,
            system_s: system - times.1,
            failed: (!status.success()).then(|| ended(status)),
            counts,
            timeline: timeline.end(machine),
            bystander: bystander.and_then(Bystander::end),
        }))
    }

    fn start(&self, group: Option<&LimitedGroup>) -> Result<RunningCommand, CompareError> {
        let failed = |source| CompareError::Command { what: "be started".into(), source };
        let output = || self.output.map_or_else(|| Ok(Stdio::null()), |file| file.try_clone().map(Stdio::from)).map_err(failed);
        let mut command = Command::new(&self.tether.path);
        command.args(&self.tether.arguments).arg(NO_INPUT).arg(std::process::id().to_string()).args(self.command);
        command.stdin(Stdio::piped()).stdout(output()?).stderr(output()?).process_group(0);
        tracing::info!("start {command:?}");
        let child = command.spawn().map_err(failed)?;
        let mut running = RunningCommand { group: Pid::from_raw(child.id() as i32), child };
        if let Some(group) = group {
            group.add(running.child.id())?;
        }
        // It becomes the command once it is in its group. How it ended, should it have, is found when it is waited for.
        let _ = running.child.stdin.take().map(|mut input| input.write_all(b"\n"));
        Ok(running)
    }
}

/// Waits for its end, to the moment, and looks now and then. `None` when the user stopped it.
fn wait(running: &mut RunningCommand, stop: &Stop, look: &mut dyn FnMut()) -> Result<Option<ExitStatus>, CompareError> {
    let failed = |source: io::Error| CompareError::Command { what: "be waited for".into(), source };
    let pid = running.group.ok_or_else(|| failed(io::Error::other("no process id")))?;
    let ended = pidfd_open(pid, PidfdFlags::empty()).map_err(|error| failed(error.into()))?;
    let timeout = Timespec { tv_sec: 0, tv_nsec: LOOK.as_nanos() as i64 };
    loop {
        match poll(&mut [PollFd::new(&ended, PollFlags::IN)], Some(&timeout)) {
            Ok(0) | Err(rustix::io::Errno::INTR) => {}
            Ok(_) => return running.child.wait().map(Some).map_err(failed),
            Err(error) => return Err(failed(error.into())),
        }
        if stop.is_asked() {
            return Ok(None);
        }
        look();
    }
}

fn ended(status: ExitStatus) -> String {
    match status.signal() {
        Some(9) => "killed (signal 9), most likely for want of memory".into(),
        _ => status.to_string(),
    }
}

/// Processor time of all children that were waited for, in their own code and in the kernel, s (proc_pid_stat(5), fields 16 and 17).
fn children_times() -> (f64, f64) {
    let text = std::fs::read_to_string("/proc/self/stat").unwrap_or_default();
    // The name, in parentheses, may hold spaces.
    let fields: Vec<&str> = text.rsplit(')').next().unwrap_or_default().split_whitespace().collect();
    let tick = rustix::param::clock_ticks_per_second() as f64;
    let seconds = |field: usize| fields.get(field - 3).and_then(|ticks| ticks.parse::<f64>().ok()).unwrap_or(0.0) / tick;
    (seconds(16), seconds(17))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn run(script: &str) -> CommandRun {
        let words = ["/bin/sh", "-c", script].map(OsString::from);
        let arguments = ["-c", "read _; shift 2; exec \"$@\"", "sh"].map(OsString::from).to_vec();
        let tether = HelperProgram { path: "/bin/sh".into(), arguments };
        let job = CommandJob { tether: &tether, command: &words, output: None, beside: None };
        job.run(&Machine::live(), None, &Stop::default()).unwrap().unwrap()
    }

    #[test]
    fn a_run_is_timed_with_all_that_it_waited_for() {
        let ran = run("i=0; while [ $i -lt 200000 ]; do i=$((i+1)); done; sleep 0.3");
        assert!(ran.elapsed > Duration::from_millis(300) && ran.failed.is_none());
        assert!(ran.user_s > 0.0 && ran.user_s + ran.system_s < ran.elapsed.as_secs_f64() + 0.1, "{ran:?}");
        assert!(ran.timeline.len() >= 2 && ran.timeline.is_sorted_by(|a, b| a.at_s < b.at_s), "{:?}", ran.timeline);
    }

    #[test]
    fn a_run_that_fails_says_how() {
        assert_eq!(run("exit 3").failed.as_deref(), Some("exit status: 3"));
        assert_eq!(run("kill -9 $$").failed.as_deref(), Some("killed (signal 9), most likely for want of memory"));
    }

    #[test]
    fn what_it_leaves_in_the_background_does_not_outlive_it() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("pid");
        run(&format!("sleep 600 & echo $! > {}", file.display()));
        let pid = std::fs::read_to_string(file).unwrap();
        let status = || std::fs::read_to_string(format!("/proc/{}/status", pid.trim())).unwrap_or_default();
        let is_gone = || status().is_empty() || status().contains("State:\tZ");
        let until = Instant::now() + Duration::from_secs(30);
        while !is_gone() && Instant::now() < until {
            std::thread::sleep(Duration::from_millis(5));
        }
        assert!(is_gone(), "{}", status());
    }
}
