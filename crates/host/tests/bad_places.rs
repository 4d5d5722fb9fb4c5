//! Read-only and full file systems, and a user who is not root: one clear sentence, and nothing changed.
//!
//! The file systems are mounted in a mount namespace of a child process, so that nothing of them is ever seen outside.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on may panic")]

mod fixture;

use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use fixture::*;
use swaptune_core::plan::Plan;
use swaptune_double::FixtureKernel;
use swaptune_host::apply::{Options, execute};
use swaptune_host::journal::StateDir;
use swaptune_host::kernel::LiveKernel;
use swaptune_host::machine::Machine;

const ROOT: &str = "SWAPTUNE_BAD_PLACE";
const TASK: &str = "SWAPTUNE_BAD_TASK";

/// Not a test of its own: what runs where the bad place is. It prints the error, its class and its hint.
#[test]
fn child() {
    let (Ok(root), Ok(task)) = (std::env::var(ROOT), std::env::var(TASK)) else { return };
    let root = PathBuf::from(root);
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
        execute(&machine, &LiveKernel, &state, &plan, &Options::default())
    } else {
        execute(&machine, &kernel, &state, &plan, &Options::default())
    };
    let error = result.unwrap_err();
    assert_same(&seen(&root), &before, "after the refusal");
    let source = std::error::Error::source(&error).map(|source| format!(": {source}")).unwrap_or_default();
    println!("SAID {} {error}{source} HINT {}", error.exit_code(), error.hint());
}

/// Runs the child after a script in a mount namespace of its own; `None` when this machine does not allow that.
fn said(name: &str, root: &Path, task: &str, script: &str) -> Option<String> {
    let program = std::env::current_exe().unwrap();
    let script = format!("{script}\nexec {} --exact child --nocapture", program.display());
    let output: Output =
        Command::new("unshare").args(["--mount", "sh", "-ec", &script]).env(ROOT, root).env(TASK, task).output().ok()?;
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    let line = text.split("SAID ").nth(1).map(|rest| rest.lines().next().unwrap_or_default().to_owned());
    if line.is_none() {
        assert!(!text.contains("panicked") && !text.contains("FAILED"), "{text}{}", String::from_utf8_lossy(&output.stderr));
        let why = String::from_utf8_lossy(&output.stderr).trim().to_owned();
        let _ = writeln!(std::io::stderr(), "SKIPPED {name}: {why}");
    }
    line
}

#[test]
fn a_read_only_etc_changes_nothing() {
    let fixture = Fixture::new();
    let etc = fixture.path("etc");
    let script = format!("mount --bind {0} {0} && mount -o remount,bind,ro {0}", etc.display());
    let Some(said) = said("a_read_only_etc_changes_nothing", fixture.root(), "rich", &script) else { return };
    assert!(said.starts_with("3 ") && said.contains("cannot write /etc/"), "{said}");
    assert!(said.contains("Read-only file system") && said.contains("HINT mount that file system for writing"), "{said}");
}

#[test]
fn a_full_disk_changes_nothing() {
    let fixture = Fixture::new();
    let etc = fixture.path("etc");
    let script = format!("mount -t tmpfs -o size=64k tmpfs {}", etc.display());
    let Some(said) = said("a_full_disk_changes_nothing", fixture.root(), "small", &script) else { return };
    assert!(said.starts_with("3 ") && said.contains("free, 1.1 MiB are needed"), "{said}");
}

#[test]
fn no_room_for_the_journal_changes_nothing() {
    let fixture = Fixture::new();
    let var = fixture.path("var");
    let (at, fill) = (var.display(), var.join("fill"));
    let script =
        format!("mkdir {at}; mount -t tmpfs -o size=32k tmpfs {at}; head -c 100k /dev/zero > {} || true", fill.display());
    let Some(said) = said("no_room_for_the_journal_changes_nothing", fixture.root(), "small", &script) else { return };
    assert!(said.starts_with("3 ") && said.contains("No space left on device"), "{said}");
    assert!(said.contains("HINT free some space"), "{said}");
}

#[test]
fn a_read_only_state_folder_changes_nothing() {
    let fixture = Fixture::new();
    let var = fixture.path("var");
    let script = format!("mkdir {0}; mount -t tmpfs -o ro tmpfs {0}", var.display());
    let Some(said) = said("a_read_only_state_folder_changes_nothing", fixture.root(), "small", &script) else { return };
    assert!(said.starts_with("3 ") && said.contains("HINT mount that file system for writing"), "{said}");
}

#[test]
fn an_ordinary_user_is_told_so() {
    let fixture = Fixture::new();
    let program = std::env::current_exe().unwrap();
    let mut command = Command::new("setpriv");
    command.args(["--reuid=65534", "--regid=65534", "--clear-groups"]).arg(&program).args(["--exact", "child", "--nocapture"]);
    let output = command.env(ROOT, fixture.root()).env(TASK, "live").output();
    let text = output.map(|output| String::from_utf8_lossy(&output.stdout).into_owned()).unwrap_or_default();
    let Some(said) = text.split("SAID ").nth(1) else {
        let _ = writeln!(std::io::stderr(), "SKIPPED an_ordinary_user_is_told_so: setpriv did not run the child");
        return;
    };
    assert!(said.starts_with("3 changing this machine: only root may do it HINT run it with sudo"), "{said}");
}
