//! `bench memory` with the real binary: in RAM, under a limit with swap that is made for it, and killed half-way.
//!
//! What needs root, zswap, or a machine without active swap says so and is ignored otherwise. Whatever happens, the machine
//! is left as it was.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode, Output, Stdio};

use libtest_mimic::{Failed, Trial};
use serde_json::Value;
use swaptune_trials::{TestResult, children, needing, root, run, swap_lock, wait_for};

/// What a test is.
type Test = fn() -> Result<(), Failed>;

fn main() -> ExitCode {
    let swapping: [(&str, Test); 4] = [
        ("without_swap_a_limit_is_refused", refused),
        ("under_a_limit_pages_go_through_zswap", zswap),
        ("under_a_limit_pages_go_to_the_disk", disk),
        ("killed_half_way_it_leaves_nothing", killed),
    ];
    let mut trials = vec![Trial::test("in_ram_nothing_is_swapped_and_all_is_kept", in_ram)];
    trials.extend(swapping.map(|(name, test)| needing(name, ready, move || alone(test))));
    run(trials)
}

/// Whether this machine can show it.
fn ready() -> TestResult {
    root()?;
    swaptune_trials::zswap()
}

/// One at a time among all tests of this project that swap, on a machine that nobody else swaps on; all is as before in
/// the end.
fn alone(test: Test) -> Result<(), Failed> {
    let _lock = swap_lock()?;
    // The guardian of a test that was killed may still be putting its settings back.
    wait_for("swap to be off on this machine, which these tests must not touch", no_swap)?;
    let before = picture();
    test()?;
    let after = picture();
    if before == after { Ok(()) } else { Err(format!("before:\n{before}\nafter:\n{after}").into()) }
}

/// True when no swap is on.
fn no_swap() -> bool {
    fs::read_to_string("/proc/swaps").is_ok_and(|swaps| swaps.lines().count() == 1)
}

/// What must be as before.
fn picture() -> String {
    let parameters = ["enabled", "compressor", "max_pool_percent"].map(|name| format!("/sys/module/zswap/parameters/{name}"));
    let paths = ["/proc/swaps".to_owned(), "/proc/sys/vm/page-cluster".to_owned()].into_iter().chain(parameters);
    let files: String = paths.map(|path| format!("{path}: {}\n", fs::read_to_string(&path).unwrap_or_default().trim())).collect();
    format!("{files}groups: {:?}\n", groups(Path::new("/sys/fs/cgroup"), 4))
}

/// Control groups that swaptune made.
fn groups(below: &Path, depth: u32) -> Vec<PathBuf> {
    let mut found = Vec::new();
    for entry in fs::read_dir(below).into_iter().flatten().flatten().filter(|_| depth > 0) {
        if entry.file_type().is_ok_and(|kind| kind.is_dir()) {
            if entry.file_name().to_string_lossy().starts_with("swaptune-memory-") {
                found.push(entry.path());
            }
            found.extend(groups(&entry.path(), depth - 1));
        }
    }
    found
}

/// A folder on a disk: a temporary file system holds no swap.
fn folder() -> Result<tempfile::TempDir, Failed> {
    Ok(tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR"))?)
}

fn bench(words: &[&str], folder: &Path) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_swaptune"));
    command
        .args(["bench", "memory", "--json", "--results"])
        .arg(folder.join("results"))
        .arg("--swap-dir")
        .arg(folder)
        .args(words);
    command
}

fn rows(output: &Output) -> Result<Vec<Value>, Failed> {
    if !output.status.success() {
        return Err(format!("{}: {}", output.status, String::from_utf8_lossy(&output.stderr)).into());
    }
    let answer: Value = serde_json::from_slice(&output.stdout)?;
    let rows = answer["measurements"].as_array().ok_or("measurements")?;
    Ok(rows.iter().map(|row| row["figures"].clone()).collect())
}

fn ensure(is_so: bool, row: &Value) -> Result<(), Failed> {
    if is_so { Ok(()) } else { Err(format!("{row:#}").into()) }
}

fn count(row: &Value, when: &str, name: &str) -> u64 {
    row[when][name].as_u64().unwrap_or(0)
}

fn in_ram() -> Result<(), Failed> {
    let folder = folder()?;
    let words = ["--size", "8M", "--seconds", "0.1", "--data", "high,low", "--block", "1,64K", "--threads", "2"];
    let rows = rows(&bench(&words, folder.path()).output()?)?;
    if rows.len() != 8 {
        return Err(format!("2 contents × 2 orders × 2 blocks, found {}", rows.len()).into());
    }
    for row in &rows {
        ensure(row["mb_per_second"].as_f64() > Some(0.0) && row["tier"].is_null() && row["limit"].is_null(), row)?;
        ensure(row["size"] == 8 << 20 && row["threads"] == 2, row)?;
    }
    let kept = fs::read_to_string(folder.path().join("results"))?;
    if kept.lines().count() == 8 { Ok(()) } else { Err(kept.into()) }
}

fn refused() -> Result<(), Failed> {
    let folder = folder()?;
    let output = bench(&["--limit", "64M"], folder.path()).output()?;
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    if output.status.code() == Some(3) && said.contains("--swap zswap:lzo") { Ok(()) } else { Err(said.into()) }
}

fn zswap() -> Result<(), Failed> {
    let folder = folder()?;
    let words = ["--limit", "64M", "--swap", "zswap:lzo", "--seconds", "0.5", "--data", "low,zero", "--order", "sequential"];
    let rows = rows(&bench(&words, folder.path()).output()?)?;
    let [low_free, low, zero_free, zero] = rows.as_slice() else {
        return Err(format!("two contents, each free and pressed, found {}", rows.len()).into());
    };
    ensure(low_free["tier"].is_null() && zero_free["tier"].is_null(), low_free)?;
    ensure(low["tier"]["type"] == "zswap" && low["tier"]["compressor"] == "lzo" && low["limit"] == 64 << 20, low)?;
    // 128 MiB in 64: at least the half of it less what the kernel keeps for others goes out while it is filled.
    let half = (60 << 20) / 4096;
    let has_zero_map = low["filling"].get("swpout_zero").is_some();
    ensure(count(low, "filling", "zswpout") >= half && count(low, "swapping", "zswpin") > 0, low)?;
    let zero_out = if has_zero_map { "swpout_zero" } else { "zswpout" };
    ensure(count(zero, "filling", zero_out) >= half, zero)?;
    if has_zero_map {
        ensure(count(zero, "filling", "zswpout") < half / 4, zero)?;
    }
    Ok(())
}

fn disk() -> Result<(), Failed> {
    let folder = folder()?;
    let words = ["--limit", "32M", "--swap", "disk", "--seconds", "0.5", "--data", "high", "--order", "random", "--write"];
    let rows = rows(&bench(&words, folder.path()).output()?)?;
    let pressed = rows.get(1).ok_or("free and pressed")?;
    ensure(pressed["tier"]["type"] == "disk" && pressed["write"] == true, pressed)?;
    ensure(count(pressed, "filling", "pswpout") >= (28 << 20) / 4096 && count(pressed, "filling", "zswpout") == 0, pressed)?;
    ensure(count(pressed, "swapping", "pswpin") > 0, pressed)
}

fn killed() -> Result<(), Failed> {
    let folder = folder()?;
    // Beside a hog the free pattern comes first, the pressed one after it is what is killed.
    let words = ["--limit", "64M", "--hog=16M", "--swap", "zswap:lzo", "--seconds", "4", "--data", "low", "--order", "random"];
    let mut bench = bench(&words, folder.path()).stdout(Stdio::null()).stderr(Stdio::piped()).spawn()?;
    let helpers = half_way(bench.id());
    bench.kill()?;
    // Standard error is the guardian's too: it ends when everything is put back.
    bench.wait_with_output()?;
    let helpers = helpers?;
    wait_for("the helpers to die", || helpers.iter().all(|helper| !Path::new(&format!("/proc/{helper}")).exists()))?;
    wait_for("the group to go", || groups(Path::new("/sys/fs/cgroup"), 4).is_empty())?;
    let enabled = fs::read_to_string("/sys/module/zswap/parameters/enabled")?;
    let files: Vec<_> = folder.path().read_dir()?.flatten().filter(|entry| entry.file_name() != "results").collect();
    ensure(no_swap() && enabled == "N\n" && files.is_empty(), &format!("zswap {enabled}, {files:?}").into())
}

/// Waits until a helper swaps in its group beside the hog; says which they are.
fn half_way(pid: u32) -> Result<Vec<String>, Failed> {
    wait_for("a helper in its group beside the hog", || {
        children(pid, is_helper).len() >= 2 && !groups(Path::new("/sys/fs/cgroup"), 4).is_empty()
    })?;
    Ok(children(pid, is_helper))
}

fn is_helper(words: &str) -> bool {
    words.contains("memory-helper")
}
