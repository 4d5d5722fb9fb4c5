//! `swaptune daemon` where no control groups of version 2 are, on the running kernel with real swap: idle processes give memory, and those
//! that are named or locked do not.
//!
//! All of it happens in mounts and process numbers of its own, so that the daemon sees no processes but ours, and its state folder is not
//! the machine's. Needs root and a machine without active swap; says so and is ignored otherwise.

use std::fs;
use std::io::{BufRead, BufReader, Write};
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdin, ChildStdout, Command, ExitCode, Stdio};

use libtest_mimic::Failed;
use rustix::process::{Pid, Signal, kill_process};
use serde_json::Value;
use swaptune_trials::{TestResult, lacks, needing, no_swap, program, root, run, swap_lock, wait_for, zswap};

const ROLE: &str = "SWAPTUNE_KEEP_PROCESSES";
const ENABLED: &str = "/sys/module/zswap/parameters/enabled";
/// Words of 8 bytes of a sleeper: 48 MiB.
const WORDS: usize = 6 << 20;
/// A probe takes half of what is there, as soon as a process was idle for five seconds; stalls of a busy machine are no matter here.
const CONFIG: &str = "[keep]\npacing = false\nnever = [\"kept\"]\nreclaim_idle_s = 5\nreclaim_pause_s = 1\nreclaim_probe_percent = 50\n\
                      reclaim_cpu_us = 100000\nreclaim_stall_us = 500000\npacing_io_stall_us = 900000\n";

fn main() -> ExitCode {
    match std::env::var(ROLE).as_deref() {
        Ok("sleeper") => sleep(),
        Ok(folder) => ended(inside(Path::new(folder))),
        Err(_) => {
            // What other tests of this project have on is not this machine's.
            let lock = swap_lock();
            let is_ours = lock.is_ok();
            let needs = move || if is_ours { ready() } else { lacks("other tests of swap cannot be kept out") };
            run(vec![needing("idle_processes_give_memory_on_this_kernel", needs, outside)])
        }
    }
}

fn ended(result: Result<(), Failed>) -> ExitCode {
    match result {
        Ok(()) => ExitCode::SUCCESS,
        Err(failed) => {
            eprintln!("{}", failed.message().unwrap_or("failed"));
            ExitCode::FAILURE
        }
    }
}

/// Whether this machine can show it.
fn ready() -> TestResult {
    root()?;
    no_swap()?;
    zswap()?;
    program("unshare", &["--mount", "--pid", "--fork", "--mount-proc", "true"])
}

/// Half of each page is noise, the rest compresses.
fn word(number: usize) -> u64 {
    let number = number as u64;
    if number % 2 == 0 { number.wrapping_mul(0x9e37_79b9_7f4a_7c15).rotate_left(29) } else { 7 }
}

/// Plays a process that sleeps: fills its memory, waits to be asked, and says whether all of it is as it was.
fn sleep() -> ExitCode {
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

/// Swap that is on for as long as this lives, and zswap.
struct Swap {
    area: PathBuf,
    enabled: String,
}

impl Swap {
    fn on(area: PathBuf) -> Result<Self, Failed> {
        // A file with holes is none that can be swapped to.
        fs::write(&area, vec![0; 256 << 20])?;
        fs::set_permissions(&area, std::os::unix::fs::PermissionsExt::from_mode(0o600))?;
        let swap = Self { area, enabled: fs::read_to_string(ENABLED)? };
        let area = swap.area.display().to_string();
        succeed(Command::new("mkswap").arg(&area))?;
        succeed(Command::new("swapon").arg(&area))?;
        fs::write(ENABLED, "Y")?;
        Ok(swap)
    }
}

impl Drop for Swap {
    fn drop(&mut self) {
        let _ = Command::new("swapoff").arg(&self.area).status();
        let _ = fs::write(ENABLED, self.enabled.trim());
    }
}

fn succeed(command: &mut Command) -> Result<String, Failed> {
    let output = command.output()?;
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    let error = String::from_utf8_lossy(&output.stderr).into_owned();
    if output.status.success() { Ok(text) } else { Err(format!("{command:?}: {}\n{text}{error}", output.status).into()) }
}

fn outside() -> Result<(), Failed> {
    let folder = tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR"))?;
    let _swap = Swap::on(folder.path().join("swapfile"))?;
    fs::write(folder.path().join("config.toml"), CONFIG)?;
    let us = std::env::current_exe()?;
    let words = ["--mount", "--pid", "--fork", "--mount-proc", "--kill-child"];
    succeed(Command::new("unshare").args(words).arg(us).env(ROLE, folder.path())).map(drop)
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
        let mut child = Command::new(program).env(ROLE, "sleeper").stdin(Stdio::piped()).stdout(Stdio::piped()).spawn()?;
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

fn swaptune() -> Command {
    Command::new(env!("CARGO_BIN_EXE_swaptune"))
}

/// A daemon that says on standard error what it decides; the lines come one after the other.
fn daemon(folder: &Path, words: &[&str]) -> Result<(Child, impl Iterator<Item = String> + use<>), Failed> {
    let mut command = swaptune();
    command.args(["daemon", "--config"]).arg(folder.join("config.toml")).args(words);
    let mut child = command.stderr(Stdio::piped()).spawn()?;
    let lines = BufReader::new(child.stderr.take().ok_or("no pipe")?).lines().map_while(Result::ok);
    Ok((child, lines))
}

fn end(mut daemon: Child) -> Result<(), Failed> {
    kill_process(Pid::from_child(&daemon), Signal::TERM)?;
    let status = daemon.wait()?;
    if status.success() { Ok(()) } else { Err(format!("the daemon ended with {status}").into()) }
}

/// The test itself, in a world of its own.
fn inside(folder: &Path) -> Result<(), Failed> {
    let hide = |place: &str| succeed(Command::new("mount").args(["-t", "tmpfs", "none", place])).map(drop);
    hide("/run")?;
    if Path::new("/sys/fs/cgroup/cgroup.controllers").exists() {
        hide("/sys/fs/cgroup")?;
    }
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
    let status =
        || -> Result<Value, Failed> { Ok(serde_json::from_str(&succeed(swaptune().args(["daemon", "status", "--json"]))?)?) };
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
