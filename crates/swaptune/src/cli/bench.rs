//! `bench` and its benchmarks: what was typed.

use std::path::PathBuf;

use clap::{Args, Subcommand};

#[path = "codecs.rs"]
mod codecs;

pub use codecs::*;

/// `bench`.
#[derive(Debug, Args)]
pub struct BenchArgs {
    /// Where results are kept.
    #[command(flatten)]
    pub results: ResultsArgs,
    /// What to measure.
    #[command(subcommand)]
    pub what: BenchCommand,
}

/// Where results are kept.
#[derive(Debug, Clone, Default, Args)]
pub struct ResultsArgs {
    /// Keep results in FILE [default: /var/lib/swaptune/measurements.jsonl, or below ~/.local/state without root]
    #[arg(long, global = true, value_name = "FILE")]
    pub results: Option<PathBuf>,
    /// Do not keep results
    #[arg(long, global = true, conflicts_with = "results")]
    pub no_save: bool,
}

/// The benchmarks, and what became of them.
#[derive(Debug, Subcommand)]
pub enum BenchCommand {
    /// Compress pages with every codec: speed, ratio, what a pool would hold, which of them this kernel has
    #[command(
        after_help = "Examples:\n  swaptune bench codecs --pages-of /usr/lib\n  swaptune bench codecs --pages-of dump.bin --codec lz4,lz4:17,zstd:1,zstd --seconds 5\n  swaptune bench codecs --pages-of synthetic:random --threads 1\n\nMB are 10⁶ bytes of original data for each second of processor time of one thread. Every page is compared with what it was.\nLZO is missing here: only the kernel has LZO-RLE, and no library of LZO is free to link."
    )]
    Codecs(CodecsArgs),
    /// List the runs whose results are kept
    List,
    /// Show all results of a run, with their conditions
    Show(ShowArgs),
}

/// `bench show`.
#[derive(Debug, Args)]
pub struct ShowArgs {
    /// The run, as `bench list` shows it, or the start of its name [default: the newest]
    pub run: Option<String>,
}
