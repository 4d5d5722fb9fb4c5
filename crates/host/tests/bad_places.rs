//! Read-only and full file systems, and a user who is not root: one clear sentence, and nothing changed.
//!
//! The file systems are mounted in a mount namespace of a child process, so that nothing of them is ever seen outside.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on may panic")]

mod fixture;

use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode, Output};

use fixture::*;
use swaptune_core::plan::Plan;
use swaptune_double::FixtureKernel;
use swaptune_host::journal::StateDir;
use swaptune_host::kernel::LiveKernel;
use swaptune_host::machine::Machine;
use swaptune_host::transaction::{ApplyOptions, execute};
use swaptune_trials::{End, TestResult, lacks, run, trials};

const ROOT: &str = "SWAPTUNE_BAD_PLACE";
const TASK: &str = "SWAPTUNE_BAD_TASK";

fn main() -> ExitCode {
    if let (Ok(root), Ok(task)) = (std::env::var(ROOT), std::env::var(TASK)) {
        child(PathBuf::from(root), &task);
        return ExitCode::SUCCESS;
    }
    run(trials![
        a_read_only_etc_changes_nothing,
        a_full_disk_changes_nothing,
        no_room_for_the_journal_changes_nothing,
        a_read_only_state_folder_changes_nothing,
        an_ordinary_user_is_told_so,
    ])
}

/// What runs where the bad place is. It prints the error, its class and its hint.
fn child(root: PathBuf, task: &str) {
    let seen = |root: &Path| if task == "live" { Picture::new() } else { picture(root) };
    let before = seen(&root);
    let machine = if task == "live" { Machine::live() } else { Machine::at(&root) };
    let kernel = FixtureKernel::new(&root);
    let state = StateDir::at(root.join("var/lib/swaptune"));
    let changes = vec![
        knob("vm.swappiness", "/proc/sys/vm/swappiness", "60", "61"),
        file("/etc/new.conf", None, Some(&"text\n".repeat(20_000))),
    ];
    let plan: Plan = if task == "rich" { rich_plan() } else { plan(changes) };
    let result = if task == "live" {
        execute(&machine, &LiveKernel, &state, &plan, &ApplyOptions::default())
    } else {
        execute(&machine, &kernel, &state, &plan, &ApplyOptions::default())
    };
    let error = result.unwrap_err();
    assert_same(&seen(&root), &before, "after the refusal");
    let source = std::error::Error::source(&error).map(|source| format!(": {source}")).unwrap_or_default();
    println!("SAID {} {error}{source} HINT {}", error.exit_code(), error.hint());
}

/// Runs the child after a script in a mount namespace of its own, where this machine allows that.
fn said(root: &Path, task: &str, script: &str) -> Result<String, End> {
    let program = std::env::current_exe().unwrap();
    let script = format!("{script}\nexec {}", program.display());
    let mut command = Command::new("unshare");
    line(command.args(["--mount", "sh", "-ec", &script]).env(ROOT, root).env(TASK, task).output())
}

/// What the child said; a lack where it did not come to run.
fn line(output: std::io::Result<Output>) -> Result<String, End> {
    let output = output.or_else(|error| lacks(error.to_string()))?;
    let (out, error) = (String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
    match out.split("SAID ").nth(1) {
        Some(rest) => Ok(rest.lines().next().unwrap_or_default().to_owned()),
        None if error.contains("panicked") => Err(format!("{out}{error}").into()),
        None => lacks(error.trim()),
    }
}

fn a_read_only_etc_changes_nothing() -> TestResult {
    let fixture = Fixture::new();
    let etc = fixture.path("etc");
    let script = format!("mount --bind {0} {0} && mount -o remount,bind,ro {0}", etc.display());
    let said = said(fixture.root(), "rich", &script)?;
    assert!(said.starts_with("3 ") && said.contains("cannot write /etc/"), "{said}");
    assert!(said.contains("Read-only file system") && said.contains("HINT mount that file system for writing"), "{said}");
    Ok(())
}

fn a_full_disk_changes_nothing() -> TestResult {
    let fixture = Fixture::new();
    let etc = fixture.path("etc");
    let script = format!("mount -t tmpfs -o size=64k tmpfs {}", etc.display());
    let said = said(fixture.root(), "small", &script)?;
    assert!(said.starts_with("3 ") && said.contains("free, 1.1 MiB are needed"), "{said}");
    Ok(())
}

fn no_room_for_the_journal_changes_nothing() -> TestResult {
    let fixture = Fixture::new();
    let var = fixture.path("var");
    let (at, fill) = (var.display(), var.join("fill"));
    let script =
        format!("mkdir {at}; mount -t tmpfs -o size=32k tmpfs {at}; head -c 100k /dev/zero > {} || true", fill.display());
    let said = said(fixture.root(), "small", &script)?;
    assert!(said.starts_with("3 ") && said.contains("its file system has 0 B free"), "{said}");
    assert!(said.contains("HINT free some space"), "{said}");
    Ok(())
}

fn a_read_only_state_folder_changes_nothing() -> TestResult {
    let fixture = Fixture::new();
    let var = fixture.path("var");
    let script = format!("mkdir {0}; mount -t tmpfs -o ro tmpfs {0}", var.display());
    let said = said(fixture.root(), "small", &script)?;
    assert!(said.starts_with("3 ") && said.contains("HINT mount that file system for writing"), "{said}");
    Ok(())
}

fn an_ordinary_user_is_told_so() -> TestResult {
    let fixture = Fixture::new();
    let mut command = Command::new("setpriv");
    command.args(["--reuid=65534", "--regid=65534", "--clear-groups"]).arg(std::env::current_exe().unwrap());
    let said = line(command.env(ROOT, fixture.root()).env(TASK, "live").output())?;
    assert!(said.starts_with("3 changing this machine: only root may do it HINT run it with sudo"), "{said}");
    Ok(())
}
