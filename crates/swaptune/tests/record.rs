//! `sample --record` as it is typed: the file that it leaves, however it ends, and what it says when it may not.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on may panic")]

use std::fs;
use std::io::{Read as _, Write as _};
use std::path::Path;
use std::process::{Child, Command, Output, Stdio};
use std::thread::sleep;
use std::time::{Duration, Instant};

use serde_json::Value;

fn swaptune(words: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_swaptune"));
    command.args(words);
    command
}

fn folder() -> tempfile::TempDir {
    tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR")).unwrap()
}

/// A process that ends with the test.
struct Running(Child);

impl Running {
    /// A process that does nothing, once it has answered a line: until then its loader still makes pages.
    fn idle() -> Self {
        let mut idle = Self(Command::new("cat").stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap());
        idle.0.stdin.as_mut().unwrap().write_all(b"there?\n").unwrap();
        idle.0.stdout.as_mut().unwrap().read_exact(&mut [0; 7]).unwrap();
        idle
    }

    fn pid(&self) -> String {
        self.0.id().to_string()
    }

    fn signal(&self, name: &str) {
        assert!(Command::new("kill").args([name, &self.pid()]).status().unwrap().success());
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        // Ended already is fine.
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

fn text(output: &Output) -> String {
    format!("{}{}", String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr))
}

fn names(folder: &Path) -> Vec<String> {
    fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect()
}

/// A recording without an end, of which the partial file is there.
fn endless(folder: &Path, of: &Running) -> Running {
    let words = ["sample", "--record", "x.swtrace", "--pid", &of.pid(), "--interval", "50ms", "--for", "1h", "--json"];
    let running = Running(swaptune(&words).current_dir(folder).stdout(Stdio::piped()).spawn().unwrap());
    let begun = Instant::now();
    while names(folder).is_empty() {
        assert!(begun.elapsed() < Duration::from_secs(60), "no file was begun");
        sleep(Duration::from_millis(10));
    }
    running
}

#[test]
fn a_recording_is_printed_and_simulated() {
    let (idle, folder) = (Running::idle(), folder());
    let pid = idle.pid();
    let usual = ["sample", "--record", "x.swtrace", "--pid", &pid, "--interval", "100ms", "--for", "1s"];
    let record = |more: &[&str]| swaptune(&[&usual[..], more].concat()).current_dir(folder.path()).output().unwrap();
    let output = record(&["--json"]);
    assert!(output.status.success(), "{}", text(&output));
    let printed: Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!((&printed["schema"], &printed["processes"], &printed["ended"]), (&1.into(), &1.into(), &0.into()));
    assert_eq!(printed["groups"][0]["name"], format!("cat[{}]", idle.pid()));
    assert!(printed["events"]["held"].as_u64().unwrap() > 10 && printed["looks"].as_u64().unwrap() >= 2, "{printed:#}");
    let again = record(&[]);
    assert!(again.status.code() == Some(3) && text(&again).contains("replace it with --overwrite"), "{}", text(&again));
    let replaced = record(&["--overwrite"]);
    assert!(replaced.status.success() && text(&replaced).contains("One event is one page"), "{}", text(&replaced));
    let output = swaptune(&["simulate", "replay", "--trace", "x.swtrace", "--json"]).current_dir(folder.path()).output().unwrap();
    let simulated: Value = serde_json::from_slice(&output.stdout).unwrap();
    assert!(simulated["pages"].as_u64().unwrap() > 10, "{}", text(&output));
    assert_eq!(names(folder.path()), ["x.swtrace"]);
}

#[test]
fn an_interrupt_ends_it_with_a_whole_file() {
    let (idle, folder) = (Running::idle(), folder());
    let mut running = endless(folder.path(), &idle);
    running.signal("-INT");
    assert!(running.0.wait().unwrap().success());
    assert_eq!(names(folder.path()), ["x.swtrace"]);
    let output = swaptune(&["simulate", "replay", "--trace", "x.swtrace"]).current_dir(folder.path()).output().unwrap();
    assert!(output.status.success(), "{}", text(&output));
}

#[test]
fn a_kill_leaves_no_file_of_that_name() {
    let (idle, folder) = (Running::idle(), folder());
    let mut running = endless(folder.path(), &idle);
    running.signal("-KILL");
    running.0.wait().unwrap();
    assert_eq!(names(folder.path()), [format!(".x.swtrace.{}.partial", running.pid())]);
}

#[test]
fn the_end_of_the_last_process_ends_it() {
    let (mut idle, folder) = (Running::idle(), folder());
    let mut running = endless(folder.path(), &idle);
    idle.0.kill().unwrap();
    idle.0.wait().unwrap();
    assert!(running.0.wait().unwrap().success() || names(folder.path()).is_empty(), "recorded, or nobody was there any more");
}

#[test]
fn what_cannot_be_is_said_with_a_hint() {
    let mut gone = Running::idle();
    gone.0.kill().unwrap();
    gone.0.wait().unwrap();
    let (folder, own) = (folder(), std::process::id().to_string());
    for (words, code, says) in [
        (vec!["--record", "x", "--pid", &gone.pid()], 2, format!("no process with memory of its own: pid {}", gone.pid())),
        (vec!["--record", "no/such/x", "--pid", &own], 1, "--record no/such/x: No such file".into()),
        (vec!["--record", "x", "--interval", "1ms"], 2, "from 50ms to 1h".into()),
        (vec!["--record", "x", "--pages", "10"], 2, "cannot be used with".into()),
        (vec!["--for", "10s"], 2, "--record <FILE>".into()),
        (
            vec!["--record", "x", "--root", concat!(env!("CARGO_MANIFEST_DIR"), "/../../tests/fixtures/hosts/microvm-6.18")],
            2,
            "a folder has no processes".into(),
        ),
    ] {
        let output = swaptune(&[&["sample"], &words[..]].concat()).current_dir(folder.path()).output().unwrap();
        assert_eq!(output.status.code(), Some(code), "{words:?}: {}", text(&output));
        assert!(text(&output).contains(&says), "{words:?}: {}", text(&output));
        assert!(names(folder.path()).is_empty(), "{words:?} left a file");
    }
}
