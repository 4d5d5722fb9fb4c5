//! A world of its own for a daemon: swap that is on meanwhile, mounts and process numbers.

use std::fs;
use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

use libtest_mimic::Failed;
use rustix::fs::{FallocateFlags, fallocate};
use rustix::process::{Pid, Signal, kill_process};
use serde_json::Value;
use swaptune_trials::{TestResult, no_swap, program, root, zswap};

/// What this program plays, and the folder of the test.
pub const ROLE: &str = "SWAPTUNE_KEEP_ROLE";
pub const PLACE: &str = "SWAPTUNE_KEEP_PLACE";

/// Whether this machine can show it.
pub fn ready() -> TestResult {
    root()?;
    no_swap()?;
    zswap()?;
    program("unshare", &["--mount", "--pid", "--fork", "--mount-proc", "true"])
}

/// A parameter of zswap.
pub fn parameter(name: &str) -> PathBuf {
    Path::new("/sys/module/zswap/parameters").join(name)
}

pub fn read(name: &str) -> Result<String, Failed> {
    Ok(fs::read_to_string(parameter(name))?.trim().to_owned())
}

/// Swap that is on for as long as this lives, and zswap with parameters of the test.
pub struct Swap {
    area: PathBuf,
    before: Vec<(&'static str, String)>,
}

impl Swap {
    pub fn on(area: PathBuf, size: u64, parameters: &[(&'static str, &str)]) -> Result<Self, Failed> {
        // A file with holes is none that can be swapped to.
        fallocate(fs::File::create(&area)?, FallocateFlags::empty(), 0, size)?;
        fs::set_permissions(&area, std::os::unix::fs::PermissionsExt::from_mode(0o600))?;
        let mut swap = Self { area, before: Vec::new() };
        let area = swap.area.display().to_string();
        succeed(Command::new("mkswap").arg(&area))?;
        succeed(Command::new("swapon").arg(&area))?;
        for (name, value) in parameters {
            swap.before.push((name, read(name)?));
            fs::write(parameter(name), value)?;
        }
        Ok(swap)
    }
}

impl Drop for Swap {
    fn drop(&mut self) {
        let _ = Command::new("swapoff").arg(&self.area).status();
        for (name, value) in self.before.iter().rev() {
            let _ = fs::write(parameter(name), value);
        }
    }
}

pub fn succeed(command: &mut Command) -> Result<String, Failed> {
    let output = command.output()?;
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    let error = String::from_utf8_lossy(&output.stderr).into_owned();
    if output.status.success() { Ok(text) } else { Err(format!("{command:?}: {}\n{text}{error}", output.status).into()) }
}

/// Plays a role of this program with a state folder of its own, and no control groups of version 2.
pub fn in_a_world(role: &str, folder: &Path, config: &str) -> Result<(), Failed> {
    fs::write(folder.join("config.toml"), config)?;
    let words = ["--mount", "--pid", "--fork", "--mount-proc", "--kill-child"];
    let us = std::env::current_exe()?;
    succeed(Command::new("unshare").args(words).arg(us).env(ROLE, role).env(PLACE, folder)).map(drop)
}

/// Within it: the state folder and the groups of the machine are not there.
pub fn hide_the_machine() -> Result<(), Failed> {
    let hide = |place: &str| succeed(Command::new("mount").args(["-t", "tmpfs", "none", place])).map(drop);
    hide("/run")?;
    if Path::new("/sys/fs/cgroup/cgroup.controllers").exists() {
        hide("/sys/fs/cgroup")?;
    }
    Ok(())
}

pub fn swaptune() -> Command {
    Command::new(env!("CARGO_BIN_EXE_swaptune"))
}

/// A daemon that says on standard error what it decides; the lines come one after the other.
pub fn daemon(folder: &Path, words: &[&str]) -> Result<(Child, impl Iterator<Item = String> + use<>), Failed> {
    let mut command = swaptune();
    command.args(["daemon", "--config"]).arg(folder.join("config.toml")).args(words);
    let mut child = command.stderr(Stdio::piped()).spawn()?;
    let lines = BufReader::new(child.stderr.take().ok_or("no pipe")?).lines().map_while(Result::ok);
    Ok((child, lines))
}

pub fn end(mut daemon: Child) -> Result<(), Failed> {
    kill_process(Pid::from_child(&daemon), Signal::TERM)?;
    let status = daemon.wait()?;
    if status.success() { Ok(()) } else { Err(format!("the daemon ended with {status}").into()) }
}

/// What `swaptune daemon status` says.
pub fn status() -> Result<Value, Failed> {
    Ok(serde_json::from_str(&succeed(swaptune().args(["daemon", "status", "--json"]))?)?)
}
