//! `swaptune bench swap` on the running kernel: every tier at a small size, and the machine as before, also when it is
//! interrupted or killed half-way.
//!
//! Needs root and a machine without active swap; says so and is ignored otherwise.

use std::fs;
use std::path::Path;
use std::process::{Child, Command, ExitCode, Output, Stdio};
use std::time::{Duration, Instant};

use libtest_mimic::Failed;
use rustix::process::{Pid, Signal, kill_process};
use serde_json::Value;
use swaptune_trials::{TestResult, lacks, needing, no_swap, root, run_one_by_one, swap_lock, zswap};

type Test = fn() -> Result<(), Failed>;

const TESTS: [(&str, Test); 4] = [
    ("bench_swap_measures_every_tier", every_tier),
    ("bench_swap_interrupted_puts_everything_back", interrupted),
    ("bench_swap_killed_puts_everything_back", killed),
    ("bench_swap_refuses_what_it_cannot_measure", refused),
];

fn main() -> ExitCode {
    // What other tests of this project have on is not this machine's.
    let lock = swap_lock();
    let is_ours = lock.is_ok();
    let needs = move || if is_ours { ready() } else { lacks("other tests of swap cannot be kept out") };
    run_one_by_one(TESTS.into_iter().map(|(name, test)| needing(name, needs, test)).collect())
}

/// Whether this machine can show it.
fn ready() -> TestResult {
    root()?;
    no_swap()?;
    zswap()
}

/// What must be as before.
fn picture() -> String {
    let mut paths = vec!["/proc/swaps".to_owned(), "/proc/sys/vm/page-cluster".into(), "/proc/sys/vm/swappiness".into()];
    let mut add = |folder: &str, wanted: fn(&str) -> bool, files: &[&str]| {
        let entries = fs::read_dir(folder).into_iter().flatten().flatten();
        let names = entries.map(|entry| entry.path().display().to_string()).filter(|path| wanted(path));
        paths.extend(names.flat_map(|path| files.iter().map(move |file| format!("{path}{file}")).collect::<Vec<_>>()));
    };
    add("/sys/module/zswap/parameters", |_| true, &[""]);
    add("/sys/block", |path| path.contains("zram"), &["/disksize", "/comp_algorithm", "/initstate"]);
    paths.sort();
    paths.iter().map(|path| format!("{path}: {}\n", fs::read_to_string(path).unwrap_or_default().trim())).collect()
}

fn same(before: &str, folder: &Path, when: &str) -> Result<(), Failed> {
    let after = picture();
    if before != after {
        return Err(format!("{when}: before:\n{before}\nafter:\n{after}").into());
    }
    let left: Vec<_> = fs::read_dir(folder)?.flatten().map(|entry| entry.path()).collect();
    if left.is_empty() { Ok(()) } else { Err(format!("{when}: left: {left:?}").into()) }
}

fn swaptune(folder: &Path, words: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_swaptune"));
    command.args(["bench", "swap", "--json", "--no-save", "--dir"]).arg(folder).args(words);
    command
}

fn folder() -> Result<tempfile::TempDir, Failed> {
    Ok(tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR"))?)
}

fn measured(output: &Output) -> Result<(Vec<Value>, Vec<Value>), Failed> {
    let text = String::from_utf8_lossy(&output.stdout);
    let json: Value =
        serde_json::from_str(&text).map_err(|error| format!("{error}: {text}{}", String::from_utf8_lossy(&output.stderr)))?;
    let list = |name: &str| json[name].as_array().cloned().unwrap_or_default();
    Ok((list("measurements"), list("missed")))
}

fn every_tier() -> Result<(), Failed> {
    let (folder, before) = (folder()?, picture());
    let words = ["--pages", "1024", "--disk-pages", "512", "--rounds", "2", "--areas", "1,3"];
    let output = swaptune(folder.path(), &words).output()?;
    let (rows, missed) = measured(&output)?;
    same(&before, folder.path(), "afterwards")?;
    let tiers: Vec<&str> = rows.iter().filter_map(|row| row["figures"]["tier"]["type"].as_str()).collect();
    let zram = Path::new("/sys/class/zram-control").exists();
    // Disks and write-back depend on what other processes do to the page cache, so what was missed must say why.
    let wanted = ["zswap"].into_iter().chain(zram.then_some("zram"));
    for tier in wanted {
        if !tiers.contains(&tier) {
            return Err(format!("no {tier} in {tiers:?}; missed: {missed:?}").into());
        }
    }
    for tier in ["disk", "writeback"] {
        let words = if tier == "disk" { "disk" } else { "written back" };
        let said = missed.iter().any(|job| job["job"].as_str().is_some_and(|job| job.contains(words)) && job["why"] != "");
        if !tiers.contains(&tier) && !said {
            return Err(format!("no {tier}, and no word why: {tiers:?}").into());
        }
    }
    rows.iter().try_for_each(sensible)
}

/// A row's numbers fit together, and its pages were where it says.
fn sensible(row: &Value) -> Result<(), Failed> {
    let figures = &row["figures"];
    let number = |value: &Value| value.as_f64().unwrap_or(0.0);
    let pages = number(&figures["landing"]["pages"]);
    let counter = |phase: &str, name: &str| number(&figures["landing"][phase][name]);
    let (out, back) = match figures["tier"]["type"].as_str() {
        Some("zswap") => (counter("stored", "zswpout"), counter("loaded", "zswpin")),
        Some("zero") => (counter("stored", "swpout_zero"), pages),
        Some("writeback") => (counter("stored", "zswpwb"), counter("loaded", "pswpin")),
        _ => (counter("stored", "pswpout"), counter("loaded", "pswpin")),
    };
    let ordered = ["store", "load"].iter().all(|side| {
        let q = |name: &str| number(&figures[*side][name]);
        q("p50") > 0.0 && q("p50") <= q("p90") && q("p90") <= q("p99") && q("p99") <= q("max")
    });
    let rounds = figures["rounds"].as_array().map_or(0, Vec::len);
    if pages > 0.0 && out >= 0.8 * pages && back >= 0.4 * pages && ordered && rounds == 2 {
        return Ok(());
    }
    Err(format!("does not fit together: {figures:#}").into())
}

/// A benchmark that has set something by now.
fn started(folder: &Path, before: &str) -> Result<Child, Failed> {
    let mut command = swaptune(folder, &["--rounds", "100", "--pages", "2048", "--disk-pages", "512"]);
    let mut child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn()?;
    let begun = Instant::now();
    while picture() == before {
        if begun.elapsed() > Duration::from_secs(60) {
            child.kill()?;
            return Err("it set nothing in a minute".into());
        }
        std::thread::sleep(Duration::from_millis(2));
    }
    // Half-way through some job.
    std::thread::sleep(Duration::from_millis(300));
    Ok(child)
}

fn interrupted() -> Result<(), Failed> {
    let (folder, before) = (folder()?, picture());
    let child = started(folder.path(), &before)?;
    kill_process(Pid::from_child(&child), Signal::INT)?;
    let output = child.wait_with_output()?;
    same(&before, folder.path(), "after SIGINT")?;
    if output.status.code() == Some(1) { Ok(()) } else { Err(format!("{output:?}").into()) }
}

fn killed() -> Result<(), Failed> {
    let (folder, before) = (folder()?, picture());
    let mut child = started(folder.path(), &before)?;
    child.kill()?;
    // Standard error is the guardian's too: it ends when everything is put back.
    let output = child.wait_with_output()?;
    same(&before, folder.path(), "after SIGKILL")?;
    let said = String::from_utf8_lossy(&output.stderr);
    if said.contains("is put back") { Ok(()) } else { Err(format!("the guardian said nothing: {said}").into()) }
}

/// A machine that does not run.
const CAPTURE: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../tests/fixtures/hosts/microvm-6.18");

fn refused() -> Result<(), Failed> {
    let (folder, before) = (folder()?, picture());
    let cases: [(&[&str], i32, &str); 3] = [
        (&["--root", CAPTURE], 3, "a folder has no swap path"),
        (&["--compressor", "nosuch", "--tier", "zram"], 3, "nothing of what was asked for"),
        (&["--compressor", "nosuch", "--tier", "zswap", "--quick"], 1, "nosuch"),
    ];
    for (words, code, said) in cases {
        let output = swaptune(folder.path(), words).output()?;
        let text = format!("{}{}", String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
        if output.status.code() != Some(code) || !text.contains(said) {
            return Err(format!("{words:?}: {}: {text}", output.status).into());
        }
        same(&before, folder.path(), &words.join(" "))?;
    }
    Ok(())
}
