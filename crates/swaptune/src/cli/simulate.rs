//! `simulate`: what was typed.

use std::path::PathBuf;

use clap::{Args, ValueEnum};

/// `simulate`.
#[derive(Debug, Args)]
pub struct SimulateArgs {
    /// Run these scenario files: a machine, a workload, and several tierings of RAM, pool and disk side by side
    #[arg(value_name = "SCENARIO.toml", conflicts_with_all = ["trace", "generate", "list", "policy", "size", "curve", "output"])]
    pub scenarios: Vec<PathBuf>,
    /// Give a key of the scenarios another value: scale=8, machine.ram=512M, tiering.*.zswap.limit=30
    #[arg(long, value_name = "KEY=VALUE", requires = "scenarios")]
    pub set: Vec<String>,
    /// Run the scenarios for several values of a key instead of their own sweep: A..B (nine), A..B:STEP, or A,B,C
    #[arg(long, value_name = "KEY=A..B", requires = "scenarios")]
    pub sweep: Option<String>,
    /// Read the accesses from FILE, zstd-compressed or not; `-` is standard input
    #[arg(long, value_name = "FILE", required_unless_present_any = ["generate", "list", "scenarios", "validate"])]
    pub trace: Option<PathBuf>,
    /// Make the accesses, for example zipf:pages=100k,events=2M,seed=7; --list shows all generators
    #[arg(long, value_name = "NAME:PARAMETERS", conflicts_with = "trace")]
    pub generate: Option<String>,
    /// Format of the trace: swaptune, text or oracle-general [default: what its first bytes tell]
    #[arg(long, value_name = "NAME", requires = "trace")]
    pub format: Option<String>,
    /// Where in a line of text things stand, for example time_us=1,page=3,op=4 [default: as a first line with names says]
    #[arg(long, value_name = "NAME=FIELD,…", requires = "trace")]
    pub columns: Option<String>,
    /// Write the trace to FILE instead of simulating; its end says the format: .swtrace, .csv, .oracleGeneral
    #[arg(long, value_name = "FILE", conflicts_with_all = ["policy", "size", "curve"])]
    pub output: Option<PathBuf>,
    /// What is evicted when memory is full: lru, fifo, clock [default: all]
    #[arg(long, value_name = "NAME,…", value_delimiter = ',')]
    pub policy: Vec<String>,
    /// Sizes of memory: pages (1000, 64k), percent of the trace's pages (10%), or a range with a number of steps (1%..100%:20)
    #[arg(long, value_name = "SIZE,…")]
    pub size: Option<String>,
    /// The miss-ratio curve of lru: all sizes for the price of a few; sampled looks at a part of the pages only
    #[arg(long, value_name = "HOW", num_args = 0..=1, default_missing_value = "exact", conflicts_with = "policy")]
    pub curve: Option<CurveKind>,
    /// Share of the pages that a sampled curve looks at
    #[arg(long, value_name = "SHARE", default_value_t = 0.01, requires = "curve")]
    pub rate: f64,
    /// Print comma-separated values
    #[arg(long)]
    pub csv: bool,
    /// Threads to work on [default: one for each processor]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u16).range(1..=4096))]
    pub threads: Option<u16>,
    /// List policies, generators with their parameters, and formats
    #[arg(long, conflicts_with_all = ["trace", "generate"])]
    pub list: bool,
    /// The kernel.
    #[command(flatten)]
    pub validate: super::ValidateArgs,
}

/// How a curve is made.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum CurveKind {
    /// Every access counts.
    Exact,
    /// A sample of the pages.
    Sampled,
}
