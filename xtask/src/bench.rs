//! Figures that anyone can repeat: start-up, inspect and plan, a live apply, the canary proof.
//!
//! Commands are timed as whole processes, interleaved with a peer, and reported as best, median, and the median of the paired
//! ratios with its quartiles; a shared machine makes single times worthless. Nothing is asserted.

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use anyhow::{Context, bail};

use crate::{bench_codecs, bench_pools, bench_sampling};

const ROUNDS: usize = 60;

/// Prints all figures.
pub fn run() -> anyhow::Result<()> {
    let binary = binary()?;
    conditions();
    println!("\nwhole processes, {ROUNDS} interleaved pairs against `bash -c :`");
    println!("{:<44} {:>9} {:>9}  ratio to the peer (quartiles)", "command", "best", "median");
    let fixture = fixture();
    let mut rows: Vec<Vec<&str>> = vec![vec!["--version"], vec!["status"], vec!["plan", "--now"], vec!["inspect"]];
    if let Some(root) = &fixture {
        rows.push(vec!["--root", root, "plan"]);
    }
    for words in rows {
        startup(binary, &words)?;
    }
    live_apply(binary)?;
    bench_pools::run()?;
    bench_codecs::run(binary)?;
    bench_sampling::run()
}

/// Prints those of the codecs.
pub fn run_codecs() -> anyhow::Result<()> {
    let binary = binary()?;
    conditions();
    bench_codecs::run(binary)
}

fn binary() -> anyhow::Result<&'static Path> {
    let binary = Path::new("target/release/swaptune");
    if !binary.exists() {
        bail!("{}: not there; `make bench` builds it", binary.display());
    }
    Ok(binary)
}

/// Kernel, processor, load, commit.
pub fn conditions() {
    let read = |path: &str| std::fs::read_to_string(path).unwrap_or_default().trim().to_owned();
    let cpu = read("/proc/cpuinfo").lines().find(|line| line.starts_with("model name")).map(str::to_owned).unwrap_or_default();
    let commit = Command::new("git")
        .args(["rev-parse", "--short", "HEAD"])
        .output()
        .map(|out| String::from_utf8_lossy(&out.stdout).trim().to_owned());
    println!(
        "kernel {}; {}; load {}; commit {}",
        read("/proc/sys/kernel/osrelease"),
        cpu.replace('\t', ""),
        read("/proc/loadavg"),
        commit.unwrap_or_default()
    );
}

/// A captured Debian 13 machine, to plan for.
fn fixture() -> Option<String> {
    let path = "tests/fixtures/hosts/debian13-6.12";
    Path::new(path).is_dir().then(|| path.to_owned())
}

fn time(command: &mut Command) -> anyhow::Result<Duration> {
    let start = Instant::now();
    command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null()).status()?;
    Ok(start.elapsed())
}

fn startup(binary: &Path, words: &[&str]) -> anyhow::Result<()> {
    let (mut ours, mut ratios) = (Vec::new(), Vec::new());
    for round in 0..ROUNDS + 5 {
        let mine = time(Command::new(binary).args(words))?;
        let peer = time(Command::new("bash").args(["-c", ":"]))?;
        // The first rounds warm the caches.
        if round >= 5 {
            ours.push(mine.as_secs_f64() * 1e3);
            ratios.push(mine.as_secs_f64() / peer.as_secs_f64());
        }
    }
    ours.sort_by(f64::total_cmp);
    ratios.sort_by(f64::total_cmp);
    let at = |values: &[f64], share: f64| values[((values.len() - 1) as f64 * share) as usize];
    println!(
        "{:<44} {:>6.2} ms {:>6.2} ms  {:.2} ({:.2}–{:.2})",
        format!("swaptune {}", words.join(" ")),
        ours[0],
        at(&ours, 0.5),
        at(&ratios, 0.5),
        at(&ratios, 0.25),
        at(&ratios, 0.75)
    );
    Ok(())
}

/// Applies live to a swap file in a scratch folder, proves, and rolls back; needs root and a machine without swap.
fn live_apply(binary: &Path) -> anyhow::Result<()> {
    println!();
    let swaps = std::fs::read_to_string("/proc/swaps").unwrap_or_default();
    let root = Command::new("id").arg("-u").output().is_ok_and(|out| out.stdout.starts_with(b"0"));
    if !root || swaps.lines().count() > 1 {
        println!("live apply and canary proof: left out (needs root and a machine without active swap)");
        return Ok(());
    }
    let dir = tempfile::tempdir_in("target")?;
    let config = dir.path().join("config.toml");
    let swapfile: PathBuf = std::fs::canonicalize(dir.path())?.join("swapfile");
    std::fs::write(&config, format!("[[swap]]\npath = \"{}\"\nsize = \"512M\"\n", swapfile.display()))?;
    let outcome = apply_and_prove(binary, &config, dir.path());
    // Whatever happened, nothing may stay on.
    let back = Command::new(binary).args(["rollback", "--yes"]).stdout(Stdio::null()).status()?;
    println!("rollback: {}", if back.success() { "everything is as before" } else { "FAILED, see `swaptune history`" });
    outcome
}

fn apply_and_prove(binary: &Path, config: &Path, dir: &Path) -> anyhow::Result<()> {
    let trace = dir.join("trace");
    let strace = Command::new("strace").arg("-V").stdout(Stdio::null()).stderr(Stdio::null()).status().is_ok();
    let mut command = if strace {
        let mut command = Command::new("strace");
        command.args(["-f", "-e", "trace=execve,clone,clone3,fork,vfork", "-o"]).arg(&trace).arg(binary);
        command
    } else {
        Command::new(binary)
    };
    let start = Instant::now();
    let status = command.args(["apply", "--now", "--yes", "--config"]).arg(config).stdout(Stdio::null()).status()?;
    let elapsed = start.elapsed();
    if !status.success() {
        bail!("apply --now failed with {status}");
    }
    match std::fs::read_to_string(&trace) {
        Ok(text) => {
            let children = text.lines().filter(|line| line.contains("execve(")).count().saturating_sub(1);
            println!("live apply with a 512 MiB swap file: {children} child processes (counted by strace, so untimed)");
        }
        Err(_) => println!(
            "live apply with a 512 MiB swap file: {:.0} ms (children not counted: apt install strace)",
            elapsed.as_secs_f64() * 1e3
        ),
    }
    let mut times = Vec::new();
    for _ in 0..5 {
        let output = Command::new(binary).args(["verify", "--prove", "--json"]).output()?;
        let answer: serde_json::Value = serde_json::from_slice(&output.stdout).context("verify --prove --json")?;
        times.push(answer["proof"]["elapsed"].as_f64().unwrap_or_default() / 1e6);
    }
    times.sort_by(f64::total_cmp);
    println!("canary proof of 8 MiB: best {:.0} ms, median {:.0} ms of {}", times[0], times[times.len() / 2], times.len());
    Ok(())
}
