//! The benchmarks on real kernels: compressors and zpools that the development machine may lack, and pools as predicted.

use anyhow::Result;
use swaptune_vm::guest::Minimal;
use swaptune_vm::kernels::{Kernel, Tree};
use swaptune_vm::{payload, swaptune};

use crate::support::need_commands;

/// RAM that holds the pages, their pool and the program, MiB.
const MEMORY: u32 = 1024;

/// Workloads in which counters of the simulator are set beside those of the kernel: one with each of the compressors that the
/// development machine lacks, on zsmalloc, zbud and several areas.
const VALIDATIONS: [&str; 2] = ["sequential lz4", "zipf zstd"];

/// Rows name what was measured, what was set for a moment is put back, a kill leaves nothing, pools are as predicted.
pub fn run(kernel: Kernel) -> Result<()> {
    need_commands(&["bench"])?;
    let tree = kernel.fetch()?;
    let (rounds, pools) = (rounds(&tree).join("\n") + "\n", pools(&tree).join("\n") + "\n");
    Minimal::new(tree, payload::MEASURE)
        .memory(MEMORY)
        .ext4(512)
        .file(swaptune::binary()?, "/usr/local/bin/swaptune")
        .file(swaptune::validate()?, "/usr/local/bin/swaptune-validate")
        .file(swaptune::guest_tool()?, "/bin/guest-tool")
        .file(swaptune::pool_size()?, "/bin/pool-size")
        .text("/rounds", rounds)
        .text("/pools", pools)
        .text("/validations", VALIDATIONS.join("\n") + "\n")
        .run()?
        .ensure_success()
}

/// Compressors and zpools that `bench memory` goes through.
fn rounds(tree: &Tree) -> Vec<&'static str> {
    match tree.version() {
        (6, ..=11) => vec!["zstd zsmalloc", "lz4 z3fold", "lz4 zbud"],
        (6, ..=17) => vec!["zstd zsmalloc", "lz4 zbud"],
        _ => vec!["zstd -", "lz4 -"],
    }
}

/// Pools that are compared with their prediction: each allocator once, each codec once; emulation makes them slow.
fn pools(tree: &Tree) -> Vec<&'static str> {
    match tree.version() {
        (6, ..=11) => vec!["lz4 zbud", "lz4 z3fold", "zstd zsmalloc"],
        (6, ..=17) => vec!["lz4 zsmalloc", "zstd zsmalloc", "lz4 zbud"],
        _ => vec!["lz4 -", "zstd -"],
    }
}
