//! The pool is drained without `memory.zswap.writeback`: canaries go to the disk, and each of them counts.

use std::fs;
use std::path::Path;

use libtest_mimic::Failed;
use serde_json::Value;
use swaptune_host::sys::{MadviseAdvice, OwnRegion};
use swaptune_trials::{TestResult, lacks, wait_for};

use crate::world::{Swap, daemon, end, hide_the_machine, in_a_world, read, status};

pub const NAME: &str = "the_pool_is_drained_without_groups_of_version_2";

/// Drained from a half of the limit on; stalls and paging of a busy machine are no matter here.
const CONFIG: &str = "[keep]\nlimit = false\nreclaim = false\npacing_start_percent = 50\npacing_target_percent = 40\n\
                      pacing_pages = 100000\npacing_io_stall_us = 900000\n";
/// `max_pool_percent`: the least of which a limit can be lowered by a step.
const LIMIT: u64 = 2;

/// Whether this kernel can show it: without the controller some write nothing back.
pub fn ready() -> TestResult {
    let text = fs::read_to_string("/proc/cgroups").unwrap_or_default();
    let has = text.lines().any(|line| line.starts_with("memory\t") && line.ends_with("\t1"));
    if has { Ok(()) } else { lacks("/proc/cgroups names no memory controller that is enabled") }
}

/// `MemTotal`, bytes.
fn ram() -> Result<u64, Failed> {
    let text = fs::read_to_string("/proc/meminfo")?;
    let line = text.lines().find_map(|line| line.strip_prefix("MemTotal:")).ok_or("no MemTotal")?;
    Ok(line.split_whitespace().next().ok_or("no number")?.parse::<u64>()? << 10)
}

fn count(name: &str) -> Result<u64, Failed> {
    let text = fs::read_to_string("/proc/vmstat")?;
    let line = text.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(' ')).ok_or("no such counter")?;
    Ok(line.parse()?)
}

/// What is paged out: pages that compress to about a half, so that they fill the pool to three quarters of its limit.
fn size() -> Result<u64, Failed> {
    Ok((ram()? * LIMIT * 3 / 200) & !0xfff)
}

pub fn outside() -> Result<(), Failed> {
    let folder = tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR"))?;
    let limit = LIMIT.to_string();
    let parameters =
        [("max_pool_percent", limit.as_str()), ("accept_threshold_percent", "90"), ("shrinker_enabled", "N"), ("enabled", "Y")];
    let _swap = Swap::on(folder.path().join("swapfile"), 2 * size()?, &parameters)?;
    in_a_world(NAME, folder.path(), CONFIG)
}

/// Half of each page is noise, the rest compresses.
fn word(number: usize) -> u64 {
    if number % 2 == 0 { (number as u64).wrapping_mul(0x9e37_79b9_7f4a_7c15).rotate_left(29) } else { 7 }
}

pub fn inside(folder: &Path) -> Result<(), Failed> {
    hide_the_machine()?;
    let size = usize::try_from(size()?)?;
    let mut region = OwnRegion::new(size)?;
    for (number, bytes) in region.bytes_mut().chunks_exact_mut(8).enumerate() {
        bytes.copy_from_slice(&word(number).to_le_bytes());
    }
    region.advise(0, size, MadviseAdvice::PageOut)?;
    let (written, settings) = (count("zswpwb")?, [read("max_pool_percent")?, read("accept_threshold_percent")?]);

    let (working, lines) = daemon(folder, &[])?;
    let told = std::thread::spawn(|| lines.collect::<Vec<_>>());
    let mut report = Value::Null;
    let drained = wait_for("the pool to be drained", || {
        report = status().unwrap_or_default();
        report["totals"]["drained"].as_u64() > Some(1 << 20)
    });
    end(working)?;
    let told = told.join().map_err(|_| "a thread panicked")?;
    drained.map_err(|failed| format!("{}: {told:#?}", failed.message().unwrap_or_default()))?;

    let totals = &report["totals"];
    // Each canary is a page of its own.
    if totals["canaries"].as_u64() < Some(1) || totals["written"].as_u64() < Some(totals["canaries"].as_u64().unwrap_or(0) << 12)
    {
        return Err(format!("it counts otherwise: {report:#}").into());
    }
    if count("zswpwb")? <= written {
        return Err("the kernel has written nothing back".into());
    }
    if [read("max_pool_percent")?, read("accept_threshold_percent")?] != settings {
        return Err("limits are not as they were".into());
    }
    let is_whole = region.bytes().chunks_exact(8).enumerate().all(|(number, bytes)| bytes == word(number).to_le_bytes());
    if is_whole { Ok(()) } else { Err("a page was changed".into()) }
}
