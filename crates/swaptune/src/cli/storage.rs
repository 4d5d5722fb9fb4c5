//! `bench disk` and `bench cipher`: what was typed.

use std::path::PathBuf;

use clap::Args;
use swaptune_core::Bytes;
use swaptune_core::stats::Nanos;

/// `bench disk`.
#[derive(Debug, Args)]
pub struct DiskArgs {
    /// Measure a scratch file in DIR; several times for several disks [default: where a swap file is, else /var/tmp]
    #[arg(long, value_name = "DIR")]
    pub dir: Vec<PathBuf>,
    /// Measure DEVICE, an unused swap area: its header stays, its contents do not
    #[arg(long, value_name = "DEVICE")]
    pub device: Vec<String>,
    /// Measure DEVICE and destroy what it holds; refused while it is in use
    #[arg(long, value_name = "DEVICE")]
    pub wipe: Vec<String>,
    /// Compare one area with N on the same disk; 1 compares nothing
    #[arg(long, value_name = "N", default_value_t = 4, value_parser = clap::value_parser!(u32).range(1..=24))]
    pub areas: u32,
    /// Numbers of jobs at once
    #[arg(long, value_name = "N,…", value_delimiter = ',', default_values_t = [1, 8, 16, 32], value_parser = clap::value_parser!(u32).range(1..=1024))]
    pub jobs: Vec<u32>,
    /// Length of one round of one point
    #[arg(long, value_name = "SECONDS", default_value_t = 2.0, value_parser = seconds)]
    pub seconds: f64,
    /// Rounds of each point; what is compared runs in turn
    #[arg(long, value_name = "N", default_value_t = 3, value_parser = clap::value_parser!(u32).range(1..=1000))]
    pub rounds: u32,
    /// Size of the area that a load covers; scratch files take up to twice as much
    #[arg(long, value_name = "SIZE", default_value_t = TypedSize(Bytes::from_gib(1)), value_parser = some_size)]
    pub size: TypedSize,
    /// Longest time that 99 % of reads may take
    #[arg(long, value_name = "TIME", default_value = "1ms")]
    pub p99: Nanos,
}

/// A size that is shown as it can be typed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TypedSize(pub Bytes);

impl std::str::FromStr for TypedSize {
    type Err = swaptune_core::units::BytesError;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        text.parse().map(Self)
    }
}

impl std::fmt::Display for TypedSize {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.pad(&self.0.compact())
    }
}

fn some_size(text: &str) -> Result<TypedSize, String> {
    super::some(text).map(TypedSize)
}

fn seconds(text: &str) -> Result<f64, String> {
    let seconds: f64 = text.parse().map_err(|_| "write a number of seconds, for example 2 or 0.5")?;
    if (0.1..=3600.0).contains(&seconds) { Ok(seconds) } else { Err("between 0.1 and 3600 seconds".into()) }
}
