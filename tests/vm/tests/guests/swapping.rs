//! Real pages through real zswap: shows that the guests are fit to judge swaptune.

use anyhow::Result;
use swaptune_vm::guest::Minimal;
use swaptune_vm::kernels::Kernel;
use swaptune_vm::{payload, swaptune};

/// Swaps pages out to four areas of one priority and has each one verified after its return.
pub fn run(kernel: Kernel) -> Result<()> {
    Minimal::new(kernel.fetch()?, payload::SWAPPING).file(swaptune::guest_tool()?, "/bin/guest-tool").run()?.ensure_success()
}
