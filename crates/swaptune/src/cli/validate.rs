//! `simulate --validate`: what was typed.

use std::path::PathBuf;

use clap::Args;
use swaptune_core::Bytes;

/// `simulate --validate`.
#[derive(Debug, Args)]
pub struct ValidateArgs {
    /// Play workloads on this kernel and in the simulator, and compare what both count; needs root
    #[arg(long, conflicts_with_all = ["scenarios", "trace", "generate", "list", "policy", "size", "curve", "output"])]
    pub validate: bool,
    /// Only these workloads: sequential, zipf, idle, poor, same, full, paced [default: all but full and paced]
    #[arg(long, value_name = "NAME,…", value_delimiter = ',', requires = "validate")]
    pub workload: Vec<String>,
    /// Only these compressors of zswap [default: all that this kernel has]
    #[arg(long, value_name = "NAME,…", value_delimiter = ',', requires = "validate")]
    pub compressor: Vec<String>,
    /// RAM of the control group that the workloads run in; they are larger
    #[arg(long, value_name = "SIZE", default_value = "32M", requires = "validate")]
    pub limit: Bytes,
    /// How often each is played on the kernel; signs of differences need three
    #[arg(long, value_name = "N", default_value_t = 3, value_parser = clap::value_parser!(u32).range(1..=100), requires = "validate")]
    pub rounds: u32,
    /// Start of the random numbers of the workloads
    #[arg(long, value_name = "N", default_value_t = 1, requires = "validate")]
    pub seed: u64,
    /// Where the temporary swap files lie
    #[arg(long, value_name = "DIR", default_value = "/var/tmp", requires = "validate")]
    pub swap_dir: PathBuf,
}
