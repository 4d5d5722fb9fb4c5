//! `sample` as it is typed: what it prints, keeps and saves, and what it says when it may not look.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on may panic")]

use std::fs;
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::{Child, Command, ExitCode, Output, Stdio};

use serde_json::Value;
use swaptune_trials::{End, TestResult, copy_program, root, run, trials};

#[path = "support/report.rs"]
mod report;

fn main() -> ExitCode {
    run(trials![
        one_process_is_sampled_kept_and_saved,
        everything_is_sampled_as_a_table,
        what_cannot_be_is_said_with_a_hint,
        without_root_processes_of_others_are_explained,
        a_report_shows_a_hostile_process_as_text,
    ])
}

fn sample(words: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_swaptune"));
    command.arg("sample").args(words);
    command
}

fn folder() -> tempfile::TempDir {
    tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR")).unwrap()
}

/// A process to look at, which ends with the test.
struct Sleeper(Child);

impl Sleeper {
    fn start() -> Self {
        Self(Command::new("sleep").arg("600").stdout(Stdio::null()).spawn().unwrap())
    }

    fn pid(&self) -> String {
        self.0.id().to_string()
    }
}

impl Drop for Sleeper {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

fn text(output: &Output) -> String {
    format!("{}{}", String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr))
}

fn one_process_is_sampled_kept_and_saved() -> TestResult {
    let (sleeper, folder) = (Sleeper::start(), folder());
    let (results, saved) = (folder.path().join("results.jsonl"), folder.path().join("pages.json"));
    let files = ["--results", results.to_str().unwrap(), "--save", saved.to_str().unwrap()];
    let words = ["--pid", &sleeper.pid(), "--pages", "20", "--codec", "lz4,zstd:1", "--seed", "7", "--json"];
    let output = sample(&[words.as_slice(), &files].concat()).output().unwrap();
    assert!(output.status.success(), "{}", text(&output));
    let printed: Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!((&printed["schema"], &printed["seed"], &printed["figures"]["sampled"]), (&1.into(), &7.into(), &20.into()));
    assert!(printed["figures"]["present"].as_u64().unwrap() > 20);
    assert_eq!(printed["groups"][0]["name"], format!("sleep[{}]", sleeper.pid()));
    let codecs: Vec<&str> =
        printed["figures"]["codecs"].as_array().unwrap().iter().map(|codec| codec["codec"].as_str().unwrap()).collect();
    assert_eq!(codecs, ["lz4", "zstd:1"]);
    assert!(printed["advice"].is_string() && printed["pool"]["size"].as_u64().unwrap() > 1 << 20);

    let kept: Value = serde_json::from_str(fs::read_to_string(&results).unwrap().trim()).unwrap();
    assert_eq!((&kept["kind"], &kept["figures"], &kept["run"]), (&"sample".into(), &printed["figures"], &printed["run"]));
    let command = kept["command"].as_str().unwrap();
    assert_eq!(command, format!("swaptune sample --pid {} --pages 20 --codec lz4,zstd:1", sleeper.pid()));

    let saved: Value = serde_json::from_str(&fs::read_to_string(&saved).unwrap()).unwrap();
    assert_eq!(saved["class"].as_str().unwrap().len(), 20);
    assert_eq!((&saved["origin"]["command"], &saved["origin"]["at"]), (&kept["command"], &kept["at"]));
    assert_eq!(saved["sizes"]["lz4"].as_array().unwrap().len(), 20);
    Ok(())
}

fn everything_is_sampled_as_a_table() -> TestResult {
    let sleeper = Sleeper::start();
    let output = sample(&["--pages", "300", "--no-save", "--by", "process"]).output().unwrap();
    let page = text(&output);
    assert!(output.status.success(), "{page}");
    for words in [" anonymous pages of all processes", "CODEC", "UNIT OR PROCESS", "deflate", "zstd:1", "\ntotal ", "advice: "] {
        assert!(page.contains(words), "no `{words}` in\n{page}");
    }
    drop(sleeper);
    Ok(())
}

fn what_cannot_be_is_said_with_a_hint() -> TestResult {
    for (words, code, says) in [
        (vec!["--pid", "4194305"], 2, "no process with memory of its own: pid 4194305"),
        (vec!["--unit", "no-such-unit"], 2, "no process with memory of its own: unit no-such-unit"),
        (vec!["--codec", "lzo"], 2, "bench codecs --kernel"),
        (vec!["--all", "--pid", "1"], 2, "cannot be used with"),
        (vec!["--root", "/nonexistent"], 2, "not a folder"),
        (vec!["--save", "/nonexistent/x.json", "--pages", "10"], 1, "--save /nonexistent/x.json"),
    ] {
        let output = sample(&words).arg("--no-save").output().unwrap();
        assert_eq!(output.status.code(), Some(code), "{words:?}: {}", text(&output));
        assert!(text(&output).contains(says), "{words:?}: {}", text(&output));
    }
    let capture = concat!(env!("CARGO_MANIFEST_DIR"), "/../../tests/fixtures/hosts/microvm-6.18");
    let output = sample(&["--root", capture]).output().unwrap();
    assert!(output.status.code() == Some(2) && text(&output).contains("a folder has no processes"), "{}", text(&output));
    Ok(())
}

fn without_root_processes_of_others_are_explained() -> TestResult {
    // Only root can become somebody else.
    root()?;
    let sleeper = Sleeper::start();
    // The program may lie where only root may go; nobody gets a copy.
    let folder = tempfile::tempdir().unwrap();
    let copy = folder.path().join("swaptune");
    copy_program(Path::new(env!("CARGO_BIN_EXE_swaptune")), &copy).map_err(End::Failed)?;
    fs::set_permissions(folder.path(), std::os::unix::fs::PermissionsExt::from_mode(0o755)).unwrap();
    let nobody =
        |words: &[&str]| Command::new(&copy).arg("sample").args(words).arg("--no-save").uid(65534).gid(65534).output().unwrap();
    let output = nobody(&["--pid", &sleeper.pid()]);
    assert_eq!(output.status.code(), Some(1), "{}", text(&output));
    let said = text(&output);
    assert!(said.contains("none of the 1 processes may be read") && said.contains("sudo swaptune sample"), "{said}");
    // Its own it may look at, and the others are counted.
    let own = Command::new("sleep").arg("600").uid(65534).gid(65534).spawn().map(Sleeper).unwrap();
    let output = nobody(&["--all", "--json", "--by", "process"]);
    assert!(output.status.success(), "{}", text(&output));
    let printed: Value = serde_json::from_slice(&output.stdout).unwrap();
    assert!(printed["tally"]["forbidden"].as_u64().unwrap() >= 1, "{printed:#}");
    let groups = printed["groups"].as_array().unwrap();
    assert!(groups.iter().any(|group| group["name"] == format!("sleep[{}]", own.pid())), "{printed:#}");
    assert!(groups.iter().all(|group| group["name"] != format!("sleep[{}]", sleeper.pid())), "{printed:#}");
    Ok(())
}

fn a_report_shows_a_hostile_process_as_text() -> TestResult {
    let folder = folder();
    // A process is called as its file is.
    let named = folder.path().join("<script>&'x");
    copy_program(Path::new("/bin/sleep"), &named).map_err(End::Failed)?;
    let hostile = Command::new(&named).arg("600").spawn().map(Sleeper).unwrap();
    let file = folder.path().join("report.html");
    let words = ["--pid", &hostile.pid(), "--pages", "20", "--codec", "lz4,zstd", "--no-save", "--json", "--html"];
    let output = sample(&words).arg(&file).output().unwrap();
    assert!(output.status.success(), "{}", text(&output));
    let printed: Value = serde_json::from_slice(&output.stdout).unwrap();
    assert!(printed["groups"][0]["name"].as_str().unwrap().starts_with("<script>&'x["), "{printed:#}");
    let page = fs::read_to_string(&file).unwrap();
    report::is_well_formed(&page).map_err(End::Failed)?;
    assert!(page.contains("&lt;script&gt;&amp;&#39;x[") && page.contains("seed ") && page.contains("Linux "), "{page}");
    report::browser()?;
    report::is_readable(&file, 2).map_err(End::Failed)
}
