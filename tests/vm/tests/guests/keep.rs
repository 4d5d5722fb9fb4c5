//! The daemon on real kernels: control groups of version 2, a pool above its threshold, groups that sleep.

use anyhow::Result;
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
/// What moments are drawn from, unless the environment says otherwise.
const SEED: &str = "SWAPTUNE_VM_SEED";

/// How many idle services fit: evidence, with the figures on standard output. Every service must answer, and the daemon leave
/// everything as it was.
pub fn density(kernel: Kernel, limit: u32, how: &str) -> Result<()> {
    need_commands(&["bench", "daemon"])?;
    let seed = std::env::var(SEED).unwrap_or_else(|_| "1".into());
    let outcome = Minimal::new(kernel.fetch()?, payload::KEEP_DENSITY)
        .memory(MEMORY)
        .disks(&[2048])
        .file(swaptune::binary()?, "/usr/local/bin/swaptune")
        .file(swaptune::guest_tool()?, "/bin/guest-tool")
        .text("/density", format!("{limit} {how} {seed} {NUMBERS}\n"))
        .run()?;
    println!("{}", outcome.output);
    outcome.ensure_success()
}
