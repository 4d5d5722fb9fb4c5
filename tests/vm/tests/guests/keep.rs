//! The daemon on real kernels: control groups of version 2, a pool above its threshold, groups that sleep.

use std::time::Duration;

use anyhow::{Context, Result};
use swaptune_vm::guest::Minimal;
use swaptune_vm::kernels::Kernel;
use swaptune_vm::{payload, swaptune};

use crate::support::need_commands;

/// RAM, MiB: a percent of it is what the limit of the pool can be told apart by.
const MEMORY: u32 = 512;

/// Kernels that keep a group from the disk (Linux 6.8); on the others the daemon says why it drains nothing.
pub fn runs_on(kernel: Kernel) -> bool {
    kernel.name != "6.1"
}

/// Idle groups give memory, the pool is drained without a canary on the disk, no page is lost, and everything is put back, also when the
/// daemon is killed in a burst.
pub fn run(kernel: Kernel) -> Result<()> {
    need_commands(&["daemon"])?;
    Minimal::new(kernel.fetch()?, payload::KEEP)
        .memory(MEMORY)
        .disks(&[1024])
        .file(swaptune::binary()?, "/usr/local/bin/swaptune")
        .file(swaptune::guest_tool()?, "/bin/guest-tool")
        .run()?
        .ensure_success()
}

/// Limits of the pool, percent of RAM: fixed, beside a daemon as it comes, or moved by it.
pub const DENSITIES: [(&str, u32, &str); 5] = [
    ("fixed-25", 25, "FIXED"),
    ("fixed-47", 47, "FIXED"),
    ("fixed-70", 70, "FIXED"),
    ("keep-70", 70, "KEEP"),
    ("moves-47", 47, "MOVES"),
];
/// Numbers of services of 8 MiB: from what fits with a small pool to more than any holds.
const NUMBERS: &str = "64,88,104,120";
/// What moments and faults are drawn from, unless the environment says otherwise.
const SEED: &str = "SWAPTUNE_VM_SEED";

/// How long faults go on, s, unless the environment says otherwise.
const SOAK: (&str, u64) = ("SWAPTUNE_VM_SOAK", 600);
/// What the guest may take for its start, its end, and the fault that it is at.
const AROUND: Duration = Duration::from_secs(1800);

/// Random faults, one after the other: nothing is stuck, no page is lost, and every setting is put back. Each fault and what came of it is on
/// standard output.
pub fn soak(kernel: Kernel) -> Result<()> {
    need_commands(&["daemon"])?;
    let seconds = match std::env::var(SOAK.0) {
        Ok(text) => text.parse().with_context(|| format!("{}: found `{text}`, expected seconds", SOAK.0))?,
        Err(_) => SOAK.1,
    };
    let outcome = Minimal::new(kernel.fetch()?, payload::KEEP_SOAK)
        .memory(MEMORY)
        .disks(&[1024])
        .file(swaptune::binary()?, "/usr/local/bin/swaptune")
        .file(swaptune::guest_tool()?, "/bin/guest-tool")
        .text("/soak", format!("{seconds} {}\n", seed()))
        .limit(Duration::from_secs(seconds) + AROUND)
        .run()?;
    println!("{}", outcome.output);
    outcome.ensure_success()
}

fn seed() -> String {
    std::env::var(SEED).unwrap_or_else(|_| "1".into())
}

/// How many idle services fit: evidence, with the figures on standard output. Every service must answer, and the daemon leave
/// everything as it was.
pub fn density(kernel: Kernel, limit: u32, how: &str) -> Result<()> {
    need_commands(&["bench", "daemon"])?;
    let outcome = Minimal::new(kernel.fetch()?, payload::KEEP_DENSITY)
        .memory(MEMORY)
        .disks(&[2048])
        .file(swaptune::binary()?, "/usr/local/bin/swaptune")
        .file(swaptune::guest_tool()?, "/bin/guest-tool")
        .text("/density", format!("{limit} {how} {} {NUMBERS}\n", seed()))
        .run()?;
    println!("{}", outcome.output);
    outcome.ensure_success()
}
