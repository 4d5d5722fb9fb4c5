//! `sample`: what was typed.

use std::path::PathBuf;

use clap::{Args, ValueEnum};

use super::ResultsArgs;

/// `sample`.
#[derive(Debug, Args)]
pub struct SampleArgs {
    /// Where the result is kept.
    #[command(flatten)]
    pub results: ResultsArgs,
    /// Only these processes
    #[arg(long, value_name = "PID", num_args = 1.., value_delimiter = ',')]
    pub pid: Vec<u32>,
    /// Only the processes of this systemd unit (nginx means nginx.service; user@1000 is everything of that user)
    #[arg(long, value_name = "UNIT")]
    pub unit: Vec<String>,
    /// Only the processes in this control group and below it
    #[arg(long, value_name = "PATH")]
    pub cgroup: Vec<String>,
    /// All processes [default when none are named]
    #[arg(long, conflicts_with_all = ["pid", "unit", "cgroup"])]
    pub all: bool,
    /// How many pages to draw
    #[arg(long, value_name = "N", default_value_t = 4096, value_parser = clap::value_parser!(u32).range(2..=4_194_304))]
    pub pages: u32,
    /// Also watch for SECONDS which pages are touched (root). Without idle page tracking in the kernel this clears the
    /// accessed marks of the processes, which for a while misleads reclaim: it takes all of their pages for unused
    #[arg(long, value_name = "SECONDS", value_parser = clap::value_parser!(u32).range(1..=86_400))]
    pub cold: Option<u32>,
    /// Only these codecs, with a level if not the kernel's own [default: lz4, lz4hc, zstd, zstd:1, deflate]
    #[arg(long, value_name = "NAME", value_delimiter = ',')]
    pub codec: Vec<String>,
    /// One line a unit or a process [default: a unit where all processes are meant]
    #[arg(long, value_name = "WHAT")]
    pub by: Option<GroupBy>,
    /// Keep the sizes and classes of all sampled pages in FILE, never what they hold
    #[arg(long, value_name = "FILE")]
    pub save: Option<PathBuf>,
    /// Draw the same pages again as long as processes do not change
    #[arg(long, value_name = "NUMBER")]
    pub seed: Option<u64>,
}

/// What a line of the table is about.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum GroupBy {
    /// A systemd unit, where a process belongs to one.
    Unit,
    /// A process.
    Process,
}
