//! `simulate`: what was typed.

use std::path::PathBuf;

use clap::{Args, ValueEnum};
use swaptune_core::stats::Nanos;

/// `simulate`.
#[derive(Debug, Args)]
pub struct SimulateArgs {
    /// Run these scenario files: a machine, a workload, and several tierings of RAM, pool and disk side by side
    #[arg(value_name = "SCENARIO.toml", conflicts_with_all = ["trace", "generate", "list", "policy", "size", "curve", "output"])]
    pub scenarios: Vec<PathBuf>,
    /// Run this tiering, from its fastest tier to its slowest: zswap:zstd:30%,disk:nvme:8G; now: as this machine is set up; repeat it to compare several
    #[arg(long, value_name = "TIER,TIER…", conflicts_with_all = ["scenarios", "size", "curve", "list"])]
    pub tiering: Vec<String>,
    /// RAM of the machine with these tierings: 4G, 50% of the workload's pages, or this [default: 25%, 50% and 75%; with --fit 4G]
    #[arg(long, value_name = "SIZE", conflicts_with_all = ["size", "curve", "list"])]
    pub ram: Option<String>,
    /// Search how many idle applications fit so that 99 % of their wakes take no longer than this, for each tiering; of a machine made
    /// smaller with its applications, unless --set scale=1
    #[arg(long, value_name = "TIME", conflicts_with_all = ["trace", "size", "curve", "list", "output", "sweep"])]
    pub fit: Option<Nanos>,
    /// Give a key of the scenario another value: scale=8, machine.kernel=6.12, tiering.*.zswap.limit=30
    #[arg(long, value_name = "KEY=VALUE")]
    pub set: Vec<String>,
    /// Run the tierings for several values of a key instead of the scenario's own sweep: A..B (nine), A..B:STEP, or A,B,C
    #[arg(long, value_name = "KEY=A..B")]
    pub sweep: Option<String>,
    /// Columns of the table; --list shows all there are [default: as the scenario says, else those that can differ]
    #[arg(long, value_name = "METRIC,…", value_delimiter = ',')]
    pub report: Vec<String>,
    /// Take compressed sizes of pages from what `swaptune sample --save FILE` drew on a machine
    #[arg(long, value_name = "FILE")]
    pub page_set: Option<PathBuf>,
    /// Take times of codecs, of the swap path and of disks from the results of this machine, and say from which run each is
    #[arg(long)]
    pub measured: bool,
    /// Read the accesses from FILE, zstd-compressed or not: a recording of `swaptune sample`, of perf or of damo, CSV, libCacheSim's
    /// records; `-` is standard input
    #[arg(long, value_name = "FILE", required_unless_present_any = ["generate", "list", "scenarios", "fit", "validate"])]
    pub trace: Option<PathBuf>,
    /// Make the accesses, for example zipf:pages=100k,events=2M,seed=7; --list shows all generators
    #[arg(long, value_name = "NAME:PARAMETERS", conflicts_with = "trace")]
    pub generate: Option<String>,
    /// Format of the trace: swaptune, text, oracle-general, perf or damo [default: what its first bytes tell]
    #[arg(long, value_name = "NAME", requires = "trace")]
    pub format: Option<String>,
    /// Where in a line of text things stand, for example time_us=1,page=3,op=4 [default: as a first line with names says]
    #[arg(long, value_name = "NAME=FIELD,…", requires = "trace")]
    pub columns: Option<String>,
    /// Write the trace to FILE instead of simulating, in the format of its end (.swtrace, .csv, .oracleGeneral); with --tiering the
    /// scenario that the flags make (.toml)
    #[arg(long, value_name = "FILE", conflicts_with_all = ["size", "curve"])]
    pub output: Option<PathBuf>,
    /// What is evicted when memory is full: lru, fifo, clock [default: all]; with --tiering what keeps zswap below its limit
    #[arg(long, value_name = "NAME,…", value_delimiter = ',')]
    pub policy: Vec<String>,
    /// Sizes of memory: pages (1000, 64k), percent of the trace's pages (10%), or a range with a number of steps (1%..100%:20)
    #[arg(long, value_name = "SIZE,…")]
    pub size: Option<String>,
    /// The miss-ratio curve of lru: all sizes for the price of a few; sampled looks at a part of the pages only
    #[arg(long, value_name = "HOW", num_args = 0..=1, default_missing_value = "exact", conflicts_with = "policy")]
    pub curve: Option<CurveKind>,
    /// Share of the pages that a sampled curve looks at, the same for all sizes [default: more for small sizes, all below 20000 pages].
    /// With 0.01 small sizes are off by up to two points
    #[arg(long, value_name = "SHARE", requires = "curve")]
    pub rate: Option<f64>,
    /// Print comma-separated values
    #[arg(long)]
    pub csv: bool,
    /// Threads to work on [default: one for each processor]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u16).range(1..=4096))]
    pub threads: Option<u16>,
    /// List how tierings are written, policies, devices, codecs, metrics, generators with their parameters, and formats
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
