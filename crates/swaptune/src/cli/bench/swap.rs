//! `bench swap`: what was typed.

use std::path::PathBuf;

use clap::{Args, ValueEnum};

/// `bench swap`.
#[derive(Debug, Args)]
pub struct SwapArgs {
    /// Only these tiers
    #[arg(long, value_enum, value_delimiter = ',', default_value = "all")]
    pub tier: Vec<TierArg>,
    /// Only these compressors, for zswap and zram [default: all that this kernel has]
    #[arg(long, value_name = "NAME", value_delimiter = ',')]
    pub compressor: Vec<String>,
    /// Contents of the pages [default: what suits each tier]
    #[arg(long, value_enum, value_delimiter = ',')]
    pub class: Vec<ClassArg>,
    /// Pages of each thread, for tiers in memory
    #[arg(long, value_name = "N", default_value_t = 12_288, value_parser = clap::value_parser!(u64).range(256..=4_194_304))]
    pub pages: u64,
    /// Pages of each thread, for tiers on a disk
    #[arg(long, value_name = "N", default_value_t = 4096, value_parser = clap::value_parser!(u64).range(256..=4_194_304))]
    pub disk_pages: u64,
    /// Numbers of threads, each on pages of its own [default: 1 and one for each processor]
    #[arg(long, value_name = "N", value_delimiter = ',', value_parser = clap::value_parser!(u32).range(1..=1024))]
    pub threads: Vec<u32>,
    /// Values of vm.page-cluster [default: 0, and 1 to 3 for the disk and one compressor]
    #[arg(long, value_name = "N", value_delimiter = ',', value_parser = clap::value_parser!(u32).range(0..=10))]
    pub page_cluster: Vec<u32>,
    /// Numbers of swap files on the disk [default: 1 and 8]
    #[arg(long, value_name = "N", value_delimiter = ',', value_parser = clap::value_parser!(u32).range(1..=20))]
    pub areas: Vec<u32>,
    /// Folder of the temporary swap files: its disk is measured
    #[arg(long, value_name = "DIR", default_value = "/var/tmp")]
    pub dir: PathBuf,
    /// Use this swap area, which must not be in use, instead of swap files
    #[arg(long, value_name = "DEVICE", conflicts_with_all = ["dir", "areas"])]
    pub device: Option<PathBuf>,
    /// Number of rounds, each in another order
    #[arg(long, value_name = "N", default_value_t = 3, value_parser = clap::value_parser!(u32).range(1..=1000))]
    pub rounds: u32,
    /// One round of few pages: a first impression, not evidence
    #[arg(long, conflicts_with_all = ["pages", "disk_pages", "rounds"])]
    pub quick: bool,
}

/// Where pages can be.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum TierArg {
    /// The pool of zswap
    Zswap,
    /// A zram device
    Zram,
    /// A swap file or area, straight and by way of zswap
    Disk,
    /// All of them
    All,
}

/// What pages hold.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum ClassArg {
    /// Words and small numbers, as application memory
    Text,
    /// Random bytes, which do not compress
    Random,
    /// One word over and over
    Same,
    /// Zero bytes
    Zero,
}
