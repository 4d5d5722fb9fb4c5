//! swaptune on real kernels, live: nothing is written for the next boot.

use anyhow::Result;
use swaptune_vm::guest::Minimal;
use swaptune_vm::kernels::{Kernel, Tree};
use swaptune_vm::{payload, swaptune};

use crate::support::need_commands;

/// Apply, prove, roll back with each compressor and each zpool that matters on this kernel.
pub fn circle(kernel: Kernel) -> Result<()> {
    need_commands(&["inspect", "status", "plan", "apply", "verify", "rollback", "history"])?;
    let tree = kernel.fetch()?;
    let rounds = rounds(&tree).join("\n") + "\n";
    with_swaptune(tree, payload::APPLY_LIVE)?.text("/rounds", rounds).run()?.ensure_success()
}

/// A kernel that is built without zswap.
pub fn without_zswap(kernel: Kernel) -> Result<()> {
    need_commands(&["inspect", "status", "plan", "apply", "rollback"])?;
    with_swaptune(kernel.fetch()?, payload::NO_ZSWAP)?.run()?.ensure_success()
}

fn with_swaptune(tree: Tree, script: &str) -> Result<Minimal> {
    Ok(Minimal::new(tree, script)
        .file(swaptune::binary()?, "/usr/local/bin/swaptune")
        .file(swaptune::guest_tool()?, "/bin/guest-tool"))
}

fn rounds(tree: &Tree) -> Vec<&'static str> {
    match tree.version() {
        (5, _) | (6, ..=11) => vec!["zstd zsmalloc", "lz4 zbud", "lz4 z3fold"],
        (6, ..=17) => vec!["zstd zsmalloc", "lz4 zbud"],
        _ => vec!["zstd -", "lz4 -"],
    }
}
