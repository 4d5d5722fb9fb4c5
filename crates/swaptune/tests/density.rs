//! `bench density` with the real binary and services of a line of shell: what fits, what is too slow, what is no service, and killed
//! half-way.
//!
//! All but two GiB of what is available stays available: these tests count services, they do not press the machine. What else this machine
//! does meanwhile may take some of that. Whatever happens, the machine is left as it was.

use std::fs;
use std::path::Path;
use std::process::{Command, ExitCode, Output, Stdio};

use libtest_mimic::Failed;
use rustix::process::{Pid, Signal, kill_process};
use serde_json::Value;
use swaptune_trials::{TestResult, children, needing, root, run, swap_lock, wait_for};

/// What a test is.
type Test = fn() -> Result<(), Failed>;

/// Memory that is held from the machine.
const HELD_MIB: u64 = 2048;
/// A service that has next to no memory and answers at once.
const ECHO: &str = "echo ready; while read line; do echo done; done";

fn main() -> ExitCode {
    let tests: [(&str, Test); 6] = [
        ("services_that_fit_are_counted", counted),
        ("a_service_that_is_too_slow_does_not_fit", slow),
        ("in_place_nothing_is_set_and_a_daemon_goes_on", in_place),
        ("a_service_that_ends_does_not_fit", ended),
        ("what_cannot_be_measured_changes_nothing", refused),
        ("killed_half_way_it_leaves_nothing", killed),
    ];
    run(tests.map(|(name, test)| needing(name, ready, move || alone(test))).into())
}

/// Whether this machine can show it.
fn ready() -> TestResult {
    root()
}

/// One at a time among all tests of this project that swap; all is as before in the end.
fn alone(test: Test) -> Result<(), Failed> {
    let _lock = swap_lock()?;
    let before = picture();
    test()?;
    let after = picture();
    if before == after { Ok(()) } else { Err(format!("before:\n{before}\nafter:\n{after}").into()) }
}

/// What must be as before.
fn picture() -> String {
    let zswap = ["enabled", "compressor", "max_pool_percent"].map(|name| format!("/sys/module/zswap/parameters/{name}"));
    let sysctls = ["swappiness", "page-cluster", "watermark_scale_factor"].map(|name| format!("/proc/sys/vm/{name}"));
    let paths = ["/proc/swaps", "/sys/block/zram0/disksize"].map(str::to_owned).into_iter().chain(zswap).chain(sysctls);
    paths.map(|path| format!("{path}: {}\n", fs::read_to_string(&path).unwrap_or_default().trim())).collect()
}

fn available_mib() -> u64 {
    let text = fs::read_to_string("/proc/meminfo").unwrap_or_default();
    let line = text.lines().find_map(|line| line.strip_prefix("MemAvailable:"));
    line.and_then(|line| line.split_whitespace().next()?.parse::<u64>().ok()).unwrap_or(0) / 1024
}

/// The benchmark with a service of this script. A service of so large a heap begins with one of them.
fn bench(words: &[&str], script: &str) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_swaptune"));
    let memory = format!("{}M", available_mib().saturating_sub(HELD_MIB));
    command.args(["bench", "density", "--json", "--no-save", "--heap", "1024G", "--step", "100", "--most", "4", "--seed", "1"]);
    let usual = [("--memory", memory.as_str()), ("--wakes", "20"), ("--rate", "100")];
    for (flag, value) in usual.iter().filter(|(flag, _)| !words.contains(flag)) {
        command.args([flag, value]);
    }
    command.args(words);
    command.args(["--dir", env!("CARGO_TARGET_TMPDIR"), "--", "/bin/sh", "-c", script]);
    command
}

fn answer(output: &Output) -> Result<Value, Failed> {
    if !output.status.success() {
        return Err(format!("{}: {}", output.status, String::from_utf8_lossy(&output.stderr)).into());
    }
    Ok(serde_json::from_slice(&output.stdout)?)
}

fn ensure(is_so: bool, found: &Value) -> Result<(), Failed> {
    if is_so { Ok(()) } else { Err(format!("{found:#}").into()) }
}

fn counted() -> Result<(), Failed> {
    let answer = answer(&bench(&["--variant", "none,zram", "--rounds", "2", "--bound", "60s"], ECHO).output()?)?;
    let rows = answer["measurements"].as_array().ok_or("measurements")?;
    // A kernel without zram tells so and measures the other.
    ensure(
        rows.len() + answer["skipped"].as_array().map_or(0, Vec::len) == 2 && rows[0]["figures"]["variant"] == "none",
        &answer,
    )?;
    for figures in rows.iter().map(|row| &row["figures"]) {
        ensure(figures["fits"] == serde_json::json!({ "value": 4.0, "low": 4.0, "high": 4.0 }), figures)?;
        for (number, round) in figures["rounds"].as_array().ok_or("rounds")?.iter().enumerate() {
            let levels = round["levels"].as_array().ok_or("levels")?;
            let services: Vec<_> = levels.iter().filter_map(|level| level["services"].as_u64()).collect();
            // The second round begins a little below what fitted in the first.
            ensure(services == if number == 0 { vec![1, 2, 4] } else { vec![4] }, round)?;
            ensure(levels.iter().all(|level| level["end"] == "held" && level["wake"]["samples"] == 20), round)?;
        }
    }
    Ok(())
}

fn slow() -> Result<(), Failed> {
    let script = "echo ready; while read line; do sleep 0.2; echo done; done";
    let answer = answer(&bench(&["--variant", "none", "--rounds", "1", "--bound", "100ms"], script).output()?)?;
    let round = &answer["measurements"][0]["figures"]["rounds"][0];
    ensure(round["fits"] == 0 && round["levels"][0]["end"] == "slow", round)?;
    let p99 = round["levels"][0]["wake"]["p99"].as_u64();
    // Twenty wakes of one service, due within a fifth of a second, wait for each other.
    ensure(p99 > Some(200_000_000 * 18), round)
}

fn in_place() -> Result<(), Failed> {
    let program = env!("CARGO_BIN_EXE_swaptune");
    let mut daemon = Command::new(program).arg("daemon").stderr(Stdio::null()).spawn()?;
    let status = || Command::new(program).args(["daemon", "status", "--json"]).output();
    let works = || status().is_ok_and(|said| String::from_utf8_lossy(&said.stdout).contains("\"working\""));
    let began = wait_for("the daemon works", works);
    // It looks at settings and at the daemon while it is woken, which a benchmark that takes the machine would change.
    let seen = tempfile::NamedTempFile::new()?;
    let look = format!("{program} daemon status --json | grep '\"mode\"' >> {}; cat /proc/swaps >> {0}", seen.path().display());
    let script = format!("echo ready; while read line; do {look}; echo done; done");
    let words = ["bench", "density", "--in-place", "--json", "--no-save", "--heap", "1024G", "--at", "1,2", "--rounds", "1"];
    let more = ["--wakes", "20", "--rate", "100", "--bound", "600s", "--seed", "1", "--", "/bin/sh", "-c", &script];
    let output = Command::new(program).args(words).args(more).output();
    kill_process(Pid::from_child(&daemon), Signal::TERM)?;
    ensure(daemon.wait()?.success(), &Value::Null)?;
    began?;
    let answer = answer(&output?)?;
    let figures = &answer["measurements"][0]["figures"];
    ensure(figures["variant"] == "now" && figures["limit"] == "in-place" && figures["fits"]["value"] == 2.0, figures)?;
    let said = figures["settings"][0].as_str().unwrap_or_default();
    ensure(said.starts_with("swaptune daemon ran: 0 moves"), figures)?;
    let seen = fs::read_to_string(seen.path())?;
    let modes: Vec<&str> = seen.lines().filter(|line| line.contains("mode")).collect();
    let all_work = modes.len() >= 40 && modes.iter().all(|line| line.contains("working"));
    if all_work { Ok(()) } else { Err(seen.into()) }
}

fn ended() -> Result<(), Failed> {
    let script = "echo ready; for i in 1 2 3 4 5; do read line; echo done; done";
    let answer = answer(&bench(&["--variant", "none", "--rounds", "1", "--bound", "60s"], script).output()?)?;
    let round = &answer["measurements"][0]["figures"]["rounds"][0];
    ensure(round["fits"] == 0 && round["levels"][0]["end"] == "killed", round)
}

fn refused() -> Result<(), Failed> {
    let cases: [(&[&str], &str, i32, &str); 4] = [
        (&["--variant", "zwsap"], ECHO, 2, "did you mean `zswap`?"),
        (&[], "exit 7", 2, "ended with exit status: 7"),
        (&["--memory", "1000T"], ECHO, 3, "are available, and 1000 TiB shall be used"),
        (&["--rate", "0"], ECHO, 2, "expected 0.01 to 10000 a second"),
    ];
    for (words, script, code, text) in cases {
        let output = bench(words, script).output()?;
        let told = String::from_utf8_lossy(&output.stderr);
        if output.status.code() != Some(code) || !told.contains(text) || !output.stdout.is_empty() {
            return Err(format!("{words:?}: {}: {told}", output.status).into());
        }
    }
    Ok(())
}

fn killed() -> Result<(), Failed> {
    let script = "echo ready; while read line; do sleep 0.05; echo done; done";
    let words = ["--variant", "disk", "--rounds", "1", "--bound", "60s", "--wakes", "100000"];
    let mut bench = bench(&words, script).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn()?;
    let swaps = || fs::read_to_string("/proc/swaps").is_ok_and(|swaps| swaps.contains("swaptune-variant-0.swap"));
    let id = bench.id();
    let mut ended = || bench.try_wait().is_ok_and(|status| status.is_some());
    let began = wait_for("a service with the swap file on", || swaps() && children(id, measures).len() >= 2 || ended());
    let children = children(id, measures);
    bench.kill()?;
    // Standard error is the guardian's too: it ends when everything is put back.
    let output = bench.wait_with_output()?;
    if output.status.code().is_some() {
        return Err(format!("it ended by itself: {output:?}").into());
    }
    began.map_err(|error| format!("{}: {output:?}", error.message().unwrap_or("")))?;
    wait_for("what was started to die", || children.iter().all(|child| !Path::new(&format!("/proc/{child}")).exists()))?;
    let file = Path::new(env!("CARGO_TARGET_TMPDIR")).join("swaptune-variant-0.swap");
    if swaps() || file.exists() { Err(format!("{} is left", file.display()).into()) } else { Ok(()) }
}

/// Services, and what holds memory.
fn measures(words: &str) -> bool {
    !words.contains("guardian")
}
