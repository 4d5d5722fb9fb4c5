//! The real binary on the running kernel: a swap file in a scratch folder, applied live, proved, and taken back.
//!
//! Needs root and a machine without active swap; says so and is ignored otherwise. Whatever happens, the machine is left
//! as it was.

use std::fs;
use std::path::Path;
use std::process::{Command, ExitCode, Output};

use libtest_mimic::Failed;
use swaptune_trials::{TestResult, needing, no_swap, root, run, swap_lock, zswap};

fn main() -> ExitCode {
    run(vec![needing("apply_prove_and_rollback_on_this_kernel", ready, circle)])
}

/// Whether this machine can show it.
fn ready() -> TestResult {
    root()?;
    no_swap()?;
    zswap()
}

fn swaptune(words: &[&str]) -> Result<Output, Failed> {
    Ok(Command::new(env!("CARGO_BIN_EXE_swaptune")).args(words).output()?)
}

fn expect(words: &[&str], codes: &[i32]) -> Result<String, Failed> {
    let output = swaptune(words)?;
    let text = format!("{}{}", String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
    if output.status.code().is_some_and(|code| codes.contains(&code)) {
        Ok(text)
    } else {
        Err(format!("{words:?} ended with {}:\n{text}", output.status).into())
    }
}

/// Rolls this one transaction back when the test ends early, and no other.
struct Restore(String);

impl Drop for Restore {
    fn drop(&mut self) {
        // Taken back already is the usual case and no error here.
        let _ = swaptune(&["rollback", "--yes", &self.0]);
    }
}

/// What must be as before.
fn picture() -> String {
    let files = ["/proc/swaps", "/proc/sys/vm/swappiness", "/proc/sys/vm/page-cluster", "/proc/sys/vm/watermark_scale_factor"];
    let parameters = ["enabled", "compressor", "max_pool_percent", "shrinker_enabled"];
    let paths = files
        .iter()
        .map(|path| (*path).to_owned())
        .chain(parameters.iter().map(|name| format!("/sys/module/zswap/parameters/{name}")));
    paths.map(|path| format!("{path}: {}\n", fs::read_to_string(&path).unwrap_or_default().trim())).collect()
}

fn circle() -> Result<(), Failed> {
    // Other tests of this project swap too; one at a time.
    let _lock = swap_lock()?;
    let before = picture();
    let dir = tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR"))?;
    let config = dir.path().join("config.toml");
    fs::write(&config, format!("[[swap]]\npath = \"{}\"\nsize = \"256M\"\n", dir.path().join("swapfile").display()))?;
    let config = config.display().to_string();
    existing_file_stays(&dir.path().join("swapfile"), &config)?;
    let report: serde_json::Value =
        serde_json::from_str(&expect(&["apply", "--now", "--yes", "--json", "--config", &config], &[0])?)?;
    let id = report["id"].as_str().ok_or("an apply that changed something has an id")?.to_owned();
    let restore = Restore(id.clone());
    let again = expect(&["plan", "--now", "--config", &config], &[0])?;
    if !again.starts_with("Nothing to do") {
        return Err(format!("a plan after the apply is not empty:\n{again}").into());
    }
    // The development machine may have findings of its own (exit code 1); the proof must stand.
    let proof = expect(&["verify", "--prove", "--json"], &[0, 1])?;
    let proof: serde_json::Value = serde_json::from_str(&proof)?;
    if proof["proof"]["verdict"] != "proved" || proof["drift"]["steps"] != serde_json::json!([]) {
        return Err(format!("not proved, or drifted: {proof:#}").into());
    }
    off_and_on_again(&dir.path().join("swapfile"), &config)?;
    expect(&["rollback", "--yes", &id], &[0])?;
    drop(restore);
    let after = picture();
    if before == after { Ok(()) } else { Err(format!("before:\n{before}\nafter:\n{after}").into()) }
}

/// A file of the wanted size that swaptune did not make is not written to.
fn existing_file_stays(path: &Path, config: &str) -> Result<(), Failed> {
    let bytes: Vec<u8> = (0..(256_u32 << 20)).map(|n| (n.wrapping_mul(2_654_435_761) >> 11) as u8).collect();
    fs::write(path, &bytes)?;
    let said = expect(&["apply", "--now", "--yes", "--config", config], &[3])?;
    let same = fs::read(path)? == bytes;
    fs::remove_file(path)?;
    if same && said.contains("is there; it is not a swap file") { Ok(()) } else { Err(format!("same: {same}; {said}").into()) }
}

/// What `verify` gives as the cure after a swapoff cures it.
fn off_and_on_again(path: &Path, config: &str) -> Result<(), Failed> {
    let text = path.display().to_string();
    if !Command::new("swapoff").arg(path).status()?.success() {
        return Err("swapoff failed".into());
    }
    let drift = expect(&["verify"], &[1])?;
    let report = expect(&["apply", "--now", "--yes", "--json", "--config", config], &[0])?;
    let report: serde_json::Value = serde_json::from_str(&report)?;
    let restore = Restore(report["id"].as_str().unwrap_or_default().to_owned());
    let is_on = fs::read_to_string("/proc/swaps")?.lines().any(|line| line.starts_with(&text));
    let steps = report["steps"].as_array().map_or(0, Vec::len);
    expect(&["rollback", "--yes", &restore.0], &[0])?;
    // The first apply finds its area as it left it.
    let on = Command::new("swapon").args(["-p", "10"]).arg(path).status()?.success();
    if is_on && on && steps == 1 && drift.contains(&text) {
        Ok(())
    } else {
        Err(format!("on: {is_on} {on}; {steps} steps; {drift}").into())
    }
}
