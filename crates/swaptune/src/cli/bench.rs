//! `bench` and its benchmarks: what was typed.

use std::path::PathBuf;

use clap::{Args, Subcommand};

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
