//! `swaptune-validate` with the real binary: small workloads on this kernel beside the simulator. What needs root, zswap, or a
//! machine without active swap says so and is ignored otherwise. Whatever happens, the machine is left as it was.

use std::fs;
use std::io::Read as _;
use std::path::Path;
use std::process::{Child, Command, ExitCode, Stdio};

use libtest_mimic::{Failed, Trial};
use serde_json::Value;
use swaptune_trials::{TestResult, needing, root, run, swap_lock, wait_for, zswap};

/// What a test is.
type Test = fn() -> Result<(), Failed>;

fn main() -> ExitCode {
    let tests: [(&str, Test); 3] = [
        ("a_report_is_whole_and_all_is_put_back", compared),
        ("stopped_half_way_it_leaves_nothing", stopped),
        ("killed_half_way_it_leaves_nothing", killed),
    ];
    let mut trials = vec![Trial::test("what_makes_no_sense_is_refused", refused)];
    trials.extend(tests.map(|(name, test)| needing(name, ready, move || alone(test))));
    run(trials)
}

/// Whether this machine can show it.
fn ready() -> TestResult {
    root()?;
    zswap()
}

/// One at a time among all tests of this project that swap; all is as before in the end.
fn alone(test: Test) -> Result<(), Failed> {
    let _lock = swap_lock()?;
    wait_for("swap to be off on this machine, which these tests must not touch", no_swap)?;
    let before = picture();
    test()?;
    let after = picture();
    if before == after { Ok(()) } else { Err(format!("before:\n{before}\nafter:\n{after}").into()) }
}

fn no_swap() -> bool {
    fs::read_to_string("/proc/swaps").is_ok_and(|swaps| swaps.lines().count() == 1)
}

/// What must be as before.
fn picture() -> String {
    let names = ["enabled", "compressor", "max_pool_percent", "shrinker_enabled"];
    let parameters = names.map(|name| format!("/sys/module/zswap/parameters/{name}"));
    let paths = ["/proc/swaps".to_owned(), "/sys/block/zram0/disksize".to_owned()].into_iter().chain(parameters);
    paths.map(|path| format!("{path}: {}\n", fs::read_to_string(&path).unwrap_or_default().trim())).collect()
}

fn validate(words: &[&str], folder: &Path) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_swaptune-validate"));
    command.args(["--json", "--swap-dir"]).arg(folder).args(words);
    command
}

/// A folder on a disk: a temporary file system holds no swap.
fn folder() -> Result<tempfile::TempDir, Failed> {
    Ok(tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR"))?)
}

fn refused() -> Result<(), Failed> {
    let folder = folder()?;
    for (words, code, says) in [
        (&["--workload", "zip"][..], 2, "did you mean `zipf`?"),
        (&["--limit", "1M"], 3, "--limit 16M or more"),
        (&["--root", "/"], 2, "unexpected argument '--root'"),
    ] {
        let output = validate(words, folder.path()).output()?;
        let said = String::from_utf8_lossy(&output.stderr).into_owned();
        // Without root there is nothing to look at beyond the first word.
        let no_root = root().is_err() && code == 3;
        if !no_root && (output.status.code() != Some(code) || !said.contains(says)) {
            return Err(format!("{words:?}: {:?}: {said}", output.status.code()).into());
        }
    }
    Ok(())
}

/// One workload, with a compressor that every kernel has: what the report must hold on any machine, however busy. Whether the simulator
/// counts what the kernel counts is measured by `make validate`, and asserted nowhere: other programs take part in it.
fn compared() -> Result<(), Failed> {
    let folder = folder()?;
    let words = ["--workload", "sequential", "--compressor", "lzo", "--limit", "16M", "--rounds", "1"];
    let output = validate(&words, folder.path()).output()?;
    if !output.status.success() {
        return Err(String::from_utf8_lossy(&output.stderr).into_owned().into());
    }
    let answer: Value = serde_json::from_slice(&output.stdout)?;
    let rows = answer["rows"].as_array().ok_or("rows")?;
    let left_out = answer["left_out"].as_array().ok_or("left_out")?;
    if rows.is_empty() || rows.len() + left_out.len() < 4 || answer["times"].as_array().is_none_or(Vec::is_empty) {
        return Err(format!("{answer:#}").into());
    }
    let whole = |row: &Value| {
        let swap_in = row["compared"].as_array()?.iter().find(|found| found["metric"] == "swap-in")?;
        let is = |key: &str, kind: fn(&Value) -> bool| kind(&swap_in[key]);
        let counted = swap_in["kernel"].as_f64()? > 0.0 && swap_in["simulator"].as_f64()? > 0.0;
        (counted && is("verdict", Value::is_string) && is("nearest", Value::is_string) && is("spread", Value::is_number))
            .then_some(())
    };
    match rows.iter().find(|row| whole(row).is_none()) {
        Some(row) => Err(format!("{row:#}").into()),
        None => Ok(()),
    }
}

/// No signal that could be caught: the guardian puts back what was set.
fn killed() -> Result<(), Failed> {
    let (folder, before) = (folder()?, picture());
    let words = ["--workload", "sequential", "--compressor", "lzo", "--limit", "16M", "--rounds", "50"];
    let mut child = validate(&words, folder.path()).stdout(Stdio::null()).stderr(Stdio::piped()).spawn()?;
    wait_for_swap(&mut child)?;
    child.kill()?;
    // Standard error is the guardian's too: it ends when everything is put back.
    child.wait_with_output()?;
    let (after, left) = (picture(), folder.path().read_dir()?.count());
    if before == after && left == 0 { Ok(()) } else { Err(format!("{left} files; before:\n{before}\nafter:\n{after}").into()) }
}

/// A signal in the middle: whole rounds count, there is none, and everything is put back.
fn stopped() -> Result<(), Failed> {
    let folder = folder()?;
    let words = ["--workload", "sequential", "--compressor", "lzo", "--limit", "16M", "--rounds", "50"];
    let mut child = validate(&words, folder.path()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn()?;
    wait_for_swap(&mut child)?;
    rustix::process::kill_process(rustix::process::Pid::from_child(&child), rustix::process::Signal::INT)?;
    let code = child.wait()?.code();
    let mut answer = String::new();
    child.stdout.as_mut().ok_or("no pipe")?.read_to_string(&mut answer)?;
    let answer: Value = serde_json::from_str(&answer)?;
    if code == Some(1) && answer["stopped"] == true { Ok(()) } else { Err(format!("{code:?}: {answer:#}").into()) }
}

/// Waits for the swap area of the first case; a program that ends before that says why.
fn wait_for_swap(child: &mut Child) -> Result<(), Failed> {
    wait_for("swap of the first case", || !no_swap() || !matches!(child.try_wait(), Ok(None)))?;
    if let Some(status) = child.try_wait()? {
        let mut said = String::new();
        child.stderr.take().ok_or("no pipe")?.read_to_string(&mut said)?;
        return Err(format!("ended before its first case, {status}: {said}").into());
    }
    Ok(())
}
