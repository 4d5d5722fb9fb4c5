//! Idle processes give memory; those that are named or locked do not.

use std::fs;
use std::io::{BufRead, BufReader, Write};
use std::os::unix::fs::symlink;
use std::path::Path;
use std::process::{Child, ChildStdin, ChildStdout, Command, ExitCode, Stdio};

use libtest_mimic::Failed;
use serde_json::Value;
use swaptune_trials::wait_for;

use crate::world::{ROLE, Swap, daemon, end, hide_the_machine, in_a_world, status, succeed, swaptune};

pub const NAME: &str = "idle_processes_give_memory_on_this_kernel";
/// What the processes of this test play.
pub const SLEEPER: &str = "sleeper";
/// Words of 8 bytes of a sleeper: 48 MiB.
const WORDS: usize = 6 << 20;
/// A probe takes half of what is there, as soon as a process was idle for five seconds; stalls of a busy machine are no matter here.
const CONFIG: &str = "[keep]\npacing = false\nnever = [\"kept\"]\nreclaim_idle_s = 5\nreclaim_pause_s = 1\nreclaim_probe_percent = 50\n\
                      reclaim_cpu_us = 100000\nreclaim_stall_us = 500000\npacing_io_stall_us = 900000\n";

/// Half of each page is noise, the rest compresses.
fn word(number: usize) -> u64 {
    let number = number as u64;
    if number % 2 == 0 { number.wrapping_mul(0x9e37_79b9_7f4a_7c15).rotate_left(29) } else { 7 }
}

/// Plays a process that sleeps: fills its memory, waits to be asked, and says whether all of it is as it was.
pub fn sleep() -> ExitCode {
    if std::env::args().next().is_some_and(|name| name.ends_with("locked")) && swaptune_host::sys::lock_what_is_used().is_err() {
        return ExitCode::FAILURE;
    }
    let words: Vec<u64> = (0..WORDS).map(word).collect();
    println!("ready");
    for line in std::io::stdin().lock().lines().map_while(Result::ok) {
        let is_whole = words.iter().enumerate().all(|(number, found)| *found == word(number));
        println!("{line}: {}", if is_whole { "whole" } else { "changed" });
    }
    ExitCode::SUCCESS
}

pub fn outside() -> Result<(), Failed> {
    let folder = tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR"))?;
    let _swap = Swap::on(folder.path().join("swapfile"), 256 << 20, &[("enabled", "Y")])?;
    in_a_world(NAME, folder.path(), CONFIG)
}

/// A process that sleeps.
struct Sleeper {
    child: Child,
    tell: ChildStdin,
    said: BufReader<ChildStdout>,
}

impl Sleeper {
    /// One of this name.
    fn start(folder: &Path, name: &str) -> Result<Self, Failed> {
        let program = folder.join(name);
        symlink(std::env::current_exe()?, &program)?;
        let mut child = Command::new(program).env(ROLE, SLEEPER).stdin(Stdio::piped()).stdout(Stdio::piped()).spawn()?;
        let (tell, said) = (child.stdin.take().ok_or("no pipe")?, child.stdout.take().ok_or("no pipe")?);
        let mut sleeper = Self { child, tell, said: BufReader::new(said) };
        sleeper.expect("ready")?;
        Ok(sleeper)
    }

    fn expect(&mut self, what: &str) -> Result<(), Failed> {
        let mut line = String::new();
        self.said.read_line(&mut line)?;
        if line.trim() == what { Ok(()) } else { Err(format!("it said {line:?}, not {what:?}").into()) }
    }

    fn is_whole(&mut self) -> Result<(), Failed> {
        writeln!(self.tell, "memory")?;
        self.expect("memory: whole")
    }

    /// What it has in swap, KiB.
    fn swapped(&self) -> u64 {
        let status = fs::read_to_string(format!("/proc/{}/status", self.child.id())).unwrap_or_default();
        let line = status.lines().find_map(|line| line.strip_prefix("VmSwap:"));
        line.and_then(|line| line.split_whitespace().next()?.parse().ok()).unwrap_or(0)
    }
}

impl Drop for Sleeper {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// The test itself, in a world of its own.
pub fn inside(folder: &Path) -> Result<(), Failed> {
    hide_the_machine()?;
    let mut sleeper = Sleeper::start(folder, "sleeper")?;
    let left_alone = ["kept", "locked"].map(|name| Sleeper::start(folder, name));
    let mut left_alone = left_alone.into_iter().collect::<Result<Vec<_>, _>>()?;

    let (dry, mut lines) = daemon(folder, &["--dry-run"])?;
    let said = lines.find(|line| line.contains("would take")).ok_or("it would take nothing")?;
    end(dry)?;
    let ours = format!("/sleeper/{}", sleeper.child.id());
    let is_ours = |line: &str| line.contains(&ours);
    if !is_ours(&said) || sleeper.swapped() != 0 {
        return Err(format!("a dry run took something, or would take it from others: {said}").into());
    }

    let (working, lines) = daemon(folder, &[])?;
    let told = std::thread::spawn(|| lines.collect::<Vec<_>>());
    wait_for("memory of an idle process in swap", || sleeper.swapped() > 16 << 10)?;
    // A unit that has little left is asked no more: what is read now is the last of it.
    let mut report = Value::Null;
    wait_for("the daemon to say so", || {
        report = status().unwrap_or_default();
        report["totals"]["taken"].as_u64() > Some(16 << 20)
    })?;
    if report["mechanism"] != "processes" || report["works"]["reclaim"] != true || report["out"].as_u64() < Some(8 << 20) {
        return Err(format!("it says otherwise: {report:#}").into());
    }
    let text = succeed(swaptune().args(["daemon", "status"]))?;
    if !text.contains("processes, by process_madvise") {
        return Err(format!("its status does not say by what: {text}").into());
    }
    sleeper.is_whole()?;
    end(working)?;
    let told = told.join().map_err(|_| "a thread panicked")?;
    let of_others: Vec<&String> = told.iter().filter(|line| line.starts_with("reclaim: ") && !is_ours(line)).collect();
    if !of_others.is_empty() {
        return Err(format!("it asked others: {of_others:#?}").into());
    }
    left_alone.iter_mut().try_for_each(Sleeper::is_whole)
}
