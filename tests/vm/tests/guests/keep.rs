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
