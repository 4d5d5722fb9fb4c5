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

/// Limits of the pool, percent of RAM, and the law of the daemon that works beside them.
pub const DENSITIES: [(&str, u32, &str); 7] = [
    ("fixed-25", 25, "none"),
    ("fixed-47", 47, "none"),
    ("fixed-70", 70, "none"),
    ("fixed-85", 85, "none"),
    ("paced-70", 70, "pacing"),
    ("moves-25", 25, "limit"),
    ("moves-47", 47, "limit"),
];
/// What the environment may change, and what counts where it does not: what moments are drawn from, wakes a second, numbers of services of
/// 8 MiB from what fits with a small pool to more than any holds.
const LOAD: [(&str, &str); 3] = [("SWAPTUNE_VM_SEED", "1"), ("SWAPTUNE_VM_RATE", "1"), ("SWAPTUNE_VM_NUMBERS", "64,88,104,120")];

/// How many idle services fit: evidence, with the figures on standard output. Every service must answer, and the daemon leave
/// everything as it was.
pub fn density(kernel: Kernel, limit: u32, law: &str) -> Result<()> {
    need_commands(&["bench", "daemon"])?;
    let load = LOAD.map(|(name, usual)| std::env::var(name).unwrap_or_else(|_| usual.into())).join(" ");
    let outcome = Minimal::new(kernel.fetch()?, payload::KEEP_DENSITY)
        .memory(MEMORY)
        .disks(&[2048])
        .file(swaptune::binary()?, "/usr/local/bin/swaptune")
        .file(swaptune::guest_tool()?, "/bin/guest-tool")
        .text("/density", format!("{limit} {law} {load}\n"))
        .run()?;
    println!("{}", outcome.output);
    outcome.ensure_success()
}
