//! A limited group on the running kernel: it holds a process to its limit, and it is gone when its maker is, even killed.
//!
//! Needs the right to make control groups (root); is ignored by name otherwise.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on may panic")]

use std::fs;
use std::io::{BufRead, BufReader, Write};
use std::path::Path;
use std::process::{Child, Command, ExitCode, Stdio};
use std::time::{Duration, Instant};

use swaptune_core::Bytes;
use swaptune_host::cgroup::{HierarchyVersion, LimitedGroup};
use swaptune_host::machine::Machine;
use swaptune_trials::{End, TestResult, lacks, run, trials};

/// Tells the child of `a_killed_maker_leaves_no_group` apart.
const MAKER: &str = "SWAPTUNE_TEST_MAKER";

fn main() -> ExitCode {
    if std::env::var_os(MAKER).is_some() {
        make_and_wait();
    }
    run(trials![a_process_is_held_to_the_limit, a_killed_maker_leaves_no_group, reclaim_that_is_not_there_is_named])
}

fn group(name: &str, limit: Bytes) -> Result<LimitedGroup, End> {
    LimitedGroup::create(&Machine::live(), name, limit).or_else(|error| lacks(error.to_string()))
}

/// A child that waits for a line before it does anything.
fn waiting(script: &str) -> std::io::Result<Child> {
    let script = format!("read -r _; {script}");
    Command::new("sh").args(["-c", &script]).stdin(Stdio::piped()).stdout(Stdio::piped()).spawn()
}

fn a_process_is_held_to_the_limit() -> TestResult {
    let group = group("test", Bytes::from_mib(24))?;
    let folder = group.folder().to_owned();
    let file = tempfile::NamedTempFile::new_in(env!("CARGO_TARGET_TMPDIR")).unwrap();
    // The page cache of a file counts for who reads it first and can always be taken back: no swap needed.
    let script = format!("dd if=/dev/zero of={} bs=1M count=64 conv=fsync 2>&1; read -r _", file.path().display());
    let mut child = waiting(&script).unwrap();
    group.add(child.id()).unwrap();
    let name = folder.file_name().unwrap().to_string_lossy().into_owned();
    let groups = fs::read_to_string(format!("/proc/{}/cgroup", child.id())).unwrap();
    assert!(groups.contains(&name), "{groups}");
    child.stdin.as_mut().unwrap().write_all(b"go\n").unwrap();
    // dd says three lines when it is done.
    let lines = BufReader::new(child.stdout.as_mut().unwrap()).lines().take(3).count();
    assert_eq!(lines, 3);
    let counters = group.counters();
    assert!(counters.usage > Bytes::from_mib(4) && counters.usage <= Bytes::from_mib(24), "{counters:?}");
    if let Ok(freed) = group.reclaim(Bytes::from_mib(2)) {
        assert!(freed >= Bytes::from_mib(1), "{freed}");
        assert_eq!(group.counters().oom_kills, 0);
    }
    drop(child.stdin.take());
    child.wait().unwrap();
    drop(group);
    assert!(!folder.exists(), "{}", folder.display());
    Ok(())
}

/// The child of `a_killed_maker_leaves_no_group`.
fn make_and_wait() {
    let group = LimitedGroup::create(&Machine::live(), "killed", Bytes::from_mib(16)).unwrap();
    println!("folder {}", group.folder().display());
    std::thread::sleep(Duration::from_secs(60));
}

fn a_killed_maker_leaves_no_group() -> TestResult {
    drop(group("tried", Bytes::from_mib(16))?);
    let mut maker = Command::new(std::env::current_exe().unwrap()).env(MAKER, "1").stdout(Stdio::piped()).spawn().unwrap();
    let mut lines = BufReader::new(maker.stdout.take().unwrap()).lines().map_while(Result::ok);
    let folder = lines.find_map(|line| line.strip_prefix("folder ").map(str::to_owned)).unwrap();
    assert!(Path::new(&folder).exists());
    maker.kill().unwrap();
    maker.wait().unwrap();
    let start = Instant::now();
    while Path::new(&folder).exists() {
        assert!(start.elapsed() < Duration::from_secs(30), "{folder} is still there");
        std::thread::sleep(Duration::from_millis(20));
    }
    Ok(())
}

fn reclaim_that_is_not_there_is_named() -> TestResult {
    let group = group("none", Bytes::from_mib(16))?;
    let file = if group.version() == HierarchyVersion::V1 { "memory.force_empty" } else { "memory.reclaim" };
    let there = group.folder().join(file).exists();
    assert_eq!(group.reclaim(Bytes(4096)).is_ok(), there);
    Ok(())
}
