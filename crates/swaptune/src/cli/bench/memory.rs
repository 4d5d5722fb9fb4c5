//! `bench memory`: what was typed.

use std::path::PathBuf;

use clap::{Args, ValueEnum};
use swaptune_core::Bytes;

/// `bench memory`.
#[derive(Debug, Args)]
pub struct MemoryArgs {
    /// Size of the accessed memory [default: twice the limit, else 1G or a quarter of what is free]
    #[arg(long)]
    pub size: Option<Bytes>,
    /// Contents of its pages: high (random bytes), low (i mod 8), zero
    #[arg(long, value_delimiter = ',', value_name = "KINDS", default_value = "high,low,zero", hide_possible_values = true)]
    pub data: Vec<DataArg>,
    /// Orders of access: sequential, random
    #[arg(long, value_delimiter = ',', value_name = "ORDERS", default_value = "sequential,random", hide_possible_values = true)]
    pub order: Vec<OrderArg>,
    /// Write instead of read
    #[arg(long)]
    pub write: bool,
    /// Block size: 1 accesses byte by byte, larger blocks word by word
    #[arg(long, value_delimiter = ',', value_name = "SIZES", default_value = "1")]
    pub block: Vec<Bytes>,
    /// Numbers of threads
    #[arg(long, value_delimiter = ',', value_name = "NUMBERS", default_value = "1")]
    pub threads: Vec<u32>,
    /// Measure each pattern also in a control group with this much RAM; the rest is swapped
    #[arg(long, value_name = "SIZE")]
    pub limit: Option<Bytes>,
    /// Measure each pattern also while another process holds this much RAM [default: 95 % of what is available]
    #[arg(long, value_name = "SIZE", num_args = 0..=1, require_equals = true)]
    pub hog: Option<Option<Bytes>>,
    /// Seconds for each pattern
    #[arg(long, value_name = "SECONDS", default_value = "2")]
    pub seconds: f64,
    /// Set up temporary swap: zswap:COMPRESSOR, zswap:COMPRESSOR/ZPOOL, zram:ALGORITHM, disk
    #[arg(long, value_name = "TIER")]
    pub swap: Option<String>,
    /// Folder of the temporary swap file
    #[arg(long, value_name = "DIR", default_value = "/var/tmp")]
    pub swap_dir: PathBuf,
}

/// Contents of pages, as they are typed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum DataArg {
    /// Random bytes.
    High,
    /// `i mod 8`.
    Low,
    /// Zero bytes.
    Zero,
}

/// Orders of access, as they are typed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum OrderArg {
    /// One after the other.
    Sequential,
    /// At random.
    Random,
}

/// `bench memory-helper`.
#[derive(Debug, Args)]
pub struct MemoryHelperArgs {
    /// The process that started it.
    pub parent: u32,
}
