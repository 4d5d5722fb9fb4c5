//! `bench codecs --kernel` on the running kernel: what its zram and zswap make of pages, beside what the libraries predict.
//!
//! Needs root and a machine without active swap; says so and is ignored otherwise. The machine must be as before, also when the
//! benchmark is killed half-way.

use std::fs;
use std::io::{BufRead, BufReader};
use std::path::Path;
use std::process::{Command, ExitCode, Stdio};
use std::time::{Duration, Instant};

use libtest_mimic::Failed;
use serde_json::Value;
use swaptune_trials::{TestResult, file, needing, no_swap, root, run_one_by_one, swap_lock, zswap};

const PAGES: &str = "1500";

fn main() -> ExitCode {
    // Temporary settings are one process's at a time.
    run_one_by_one(vec![
        needing("every_codec_of_this_kernel_is_measured_and_the_machine_is_as_before", ready, every_codec),
        needing("a_benchmark_that_is_killed_leaves_nothing_behind", ready, killed),
    ])
}

/// Whether this machine can show it.
fn ready() -> TestResult {
    root()?;
    no_swap()?;
    zswap()?;
    file("/sys/block/zram0")
}

/// What must be as before.
fn picture() -> String {
    let zswap = ["enabled", "compressor", "max_pool_percent", "shrinker_enabled"]
        .map(|name| format!("/sys/module/zswap/parameters/{name}"));
    let others = ["/proc/swaps", "/proc/sys/vm/page-cluster", "/sys/block/zram0/disksize"].map(str::to_owned);
    let paths = zswap.iter().chain(&others);
    paths.map(|path| format!("{path}: {}\n", fs::read_to_string(path).unwrap_or_default().trim())).collect()
}

fn command(folder: &Path) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_swaptune"));
    command.args(["bench", "codecs", "--kernel", "--no-save", "--json", "--threads", "1", "--seconds", "0"]);
    command.args(["--pages-of", "synthetic:text", "--pages", PAGES, "--dir"]).arg(folder);
    command
}

fn every_codec() -> Result<(), Failed> {
    let _lock = swap_lock()?;
    let (before, folder) = (picture(), tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR"))?);
    let output = command(folder.path()).args(["--codec", "memcpy,lz4,lzo,lzo-rle,deflate"]).output()?;
    if !output.status.success() {
        return Err(String::from_utf8_lossy(&output.stderr).into_owned().into());
    }
    let printed: Value = serde_json::from_slice(&output.stdout)?;
    let rows = printed["kernel"]["rows"].as_array().ok_or("no rows")?;
    for (path, offered) in [("zram", in_zram()), ("zswap", in_zswap())] {
        for name in offered.iter().filter(|name| ["lz4", "lzo", "lzo-rle", "deflate"].contains(&name.as_str())) {
            let found = rows.iter().find(|row| row["figures"]["path"] == path && row["figures"]["codec"] == name.as_str());
            check(found.ok_or(format!("{path} {name} is missing: {printed:#}"))?)?;
        }
    }
    let after = picture();
    if before == after { Ok(()) } else { Err(format!("before:\n{before}\nafter:\n{after}").into()) }
}

fn in_zram() -> Vec<String> {
    let text = fs::read_to_string("/sys/block/zram0/comp_algorithm").unwrap_or_default();
    text.split_whitespace().map(|word| word.trim_matches(['[', ']']).to_owned()).collect()
}

fn in_zswap() -> Vec<String> {
    let text = fs::read_to_string("/proc/crypto").unwrap_or_default();
    text.lines().filter_map(|line| line.strip_prefix("name         : ").map(str::to_owned)).collect()
}

/// One row: everything is in the pool, which is smaller, and is what was predicted.
fn check(row: &Value) -> Result<(), Failed> {
    let figures = &row["figures"];
    let number = |value: &Value| value.as_u64().ok_or(format!("a number is missing: {row:#}"));
    let (original, used) = (number(&figures["pools"][0]["original"])?, number(&figures["pools"][0]["used"])?);
    let wrong = |what: &str| Err(Failed::from(format!("{what}: {row:#}")));
    // zswap counts pages of others too, and a page of ours may have stayed.
    if original.abs_diff(PAGES.parse::<u64>()? * 4096) > 64 * 4096 || used * 2 > original {
        return wrong("not these pages, or not compressed");
    }
    if figures["compress_mb_s"].as_f64().is_none_or(|rate| rate <= 0.0) || figures["pools"][0]["allocator"]["measured"] != true {
        return wrong("not measured");
    }
    if let Some(predicted) = row.get("predicted") {
        let error = number(&predicted["used"])? as f64 / used as f64 - 1.0;
        if error.abs() > 0.02 {
            return wrong("the pool is not what was predicted");
        }
        // The kernel's LZ4 is older and does not look for a match at the last position where the format allows one, twelve bytes
        // before the end: a page whose match is there takes up to five bytes more, and no page takes less.
        if let Some(compressed) = row.get("compressed").filter(|_| figures["codec"] == "lz4") {
            let (found, expected) = (number(compressed)?, number(&predicted["compressed"])?);
            if found < expected || found - expected > expected / 10_000 {
                return wrong("the kernel's LZ4 compresses to another size");
            }
        }
    }
    Ok(())
}

fn killed() -> Result<(), Failed> {
    let _lock = swap_lock()?;
    let (before, folder) = (picture(), tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR"))?);
    let mut child = command(folder.path()).args(["--codec", "lzo"]).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn()?;
    let deadline = Instant::now() + Duration::from_secs(60);
    // The swap file is on: in the middle of it.
    while !fs::read_to_string("/proc/swaps")?.contains("swaptune-scratch") {
        if child.try_wait()?.is_some() || Instant::now() > deadline {
            let output = child.stdout.take().map(BufReader::new).and_then(|mut out| out.fill_buf().ok().map(<[u8]>::to_vec));
            return Err(
                format!("no swap file was seen: {:?}", output.map(|bytes| String::from_utf8_lossy(&bytes).into_owned())).into()
            );
        }
        std::thread::sleep(Duration::from_millis(1));
    }
    child.kill()?;
    // Standard error is the guardian's too: it ends when everything is put back.
    child.wait_with_output()?;
    let (after, left) = (picture(), folder.path().read_dir()?.count());
    if before == after && left == 0 { Ok(()) } else { Err(format!("{left} files; before:\n{before}\nafter:\n{after}").into()) }
}
