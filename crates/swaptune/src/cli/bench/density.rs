//! `bench density`: what was typed.

use std::ffi::OsString;
use std::path::PathBuf;

use clap::{Args, ValueEnum};
use swaptune_bench::density::KINDS;
use swaptune_bench::space::SpaceWish;
use swaptune_bench::variant::{BUILT_IN, NOW};
use swaptune_core::Bytes;
use swaptune_core::stats::Nanos;

/// `bench density`.
#[derive(Debug, Args)]
pub struct DensityArgs {
    /// Memory that the services have, zswap's pool included [default: 1G, or what is available less a tenth (64M at least) if that is less]
    #[arg(long, value_name = "SIZE")]
    pub memory: Option<Bytes>,
    /// Measure this machine as it is, with all of its memory: nothing is set or switched off, and `swaptune daemon` goes on
    #[arg(long, conflicts_with_all = ["variant", "memory", "limit", "dir"])]
    pub in_place: bool,
    /// What makes memory small: a control group, or a process that holds the rest of it from the whole machine
    #[arg(long, value_enum, default_value = "best")]
    pub limit: LimitArg,
    /// A number of services is held when 99 of 100 wakes take no longer than this
    #[arg(long, value_name = "TIME", default_value = "100ms")]
    pub bound: Nanos,
    /// Configurations to compare: none, disk, zswap, zram, zram-pop, guide, auto, or a configuration file; with a compressor and
    /// changes, for example zswap:lz4,pool=25%; as a list, or repeated [default: all of these]
    #[arg(long, value_name = "NAME|FILE[:COMPRESSOR][,KEY=VALUE]")]
    pub variant: Vec<String>,
    /// What is started: python, node or sqlite
    #[arg(long, value_name = "NAME", default_value = "python", conflicts_with = "command")]
    pub service: String,
    /// Memory of each service: a command finds it in bytes in SWAPTUNE_HEAP
    #[arg(long, value_name = "SIZE", default_value = "40M")]
    pub heap: Bytes,
    /// Share of its memory that a wake works on, in percent: SWAPTUNE_WORK
    #[arg(long, value_name = "PERCENT", default_value_t = 30, value_parser = clap::value_parser!(u32).range(1..=100))]
    pub work: u32,
    /// Wakes a second over all services, at exponential intervals
    #[arg(long, value_name = "PER SECOND", default_value_t = 5.0, value_parser = rate)]
    pub rate: f64,
    /// Wake some services more often than others: the n-th 1/n^SKEW times as often as the first; 0 wakes all evenly
    #[arg(long, default_value_t = 0.0, value_parser = skew)]
    pub skew: f64,
    /// Wakes that are measured for each number of services
    #[arg(long, value_name = "N", default_value_t = 200, value_parser = clap::value_parser!(u32).range(20..=100_000))]
    pub wakes: u32,
    /// Growth of the number of services per step, in percent: the resolution of the answer
    #[arg(long, value_name = "PERCENT", default_value_t = 8, value_parser = clap::value_parser!(u32).range(1..=100))]
    pub step: u32,
    /// The most services that are started
    #[arg(long, value_name = "N", default_value_t = 1000, value_parser = clap::value_parser!(u32).range(1..=10_000))]
    pub most: u32,
    /// Measure these numbers of services, past what fits too, and search for none
    #[arg(long, value_name = "N,N", value_delimiter = ',', value_parser = clap::value_parser!(u32).range(1..=10_000), conflicts_with_all = ["step", "most"])]
    pub at: Vec<u32>,
    /// Rounds; each runs every configuration once, in random order
    #[arg(long, value_name = "N", default_value_t = 5, value_parser = clap::value_parser!(u32).range(1..=1000))]
    pub rounds: u32,
    /// One round with few wakes and large steps: a first impression, not evidence
    #[arg(long, conflicts_with_all = ["wakes", "step", "rounds"])]
    pub quick: bool,
    /// Give up a number of services when all tasks stall on memory for more than this share of 10 s, in percent
    #[arg(long, value_name = "PERCENT", default_value_t = 90, value_parser = clap::value_parser!(u32).range(1..=100))]
    pub stall: u32,
    /// Folder of the temporary swap files: its disk takes part in the result
    #[arg(long, value_name = "DIR", default_value = "/var/tmp")]
    pub dir: PathBuf,
    /// Draw moments and orders from this number [default: another one each time]
    #[arg(long, value_name = "N")]
    pub seed: Option<u64>,
    /// A service of your own: it must write a line when it is ready, and one for each line that it reads
    #[arg(last = true, value_name = "COMMAND")]
    pub command: Vec<OsString>,
}

fn rate(text: &str) -> Result<f64, String> {
    let rate: f64 = text.parse().map_err(|_| "expected a number, for example 5".to_owned())?;
    if (0.01..=10_000.0).contains(&rate) { Ok(rate) } else { Err("expected 0.01 to 10000 a second".into()) }
}

fn skew(text: &str) -> Result<f64, String> {
    let skew: f64 = text.parse().map_err(|_| "expected a number, for example 1".to_owned())?;
    if (0.0..=4.0).contains(&skew) { Ok(skew) } else { Err("expected 0 to 4".into()) }
}

/// What makes memory small.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum LimitArg {
    /// A group where all that is compressed is charged to it (cgroup v2, Linux 5.19, no zram), else the whole machine
    Best,
    /// A control group of version 2; refused where a configuration compresses what is not charged to it
    Group,
    /// The rest of RAM is held, locked, by a process of ours
    Machine,
}

impl LimitArg {
    /// As it is typed.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Best => "best",
            Self::Group => "group",
            Self::Machine => "machine",
        }
    }

    /// The one of this name.
    #[must_use]
    pub fn named(name: &str) -> Option<Self> {
        [Self::Best, Self::Group, Self::Machine].into_iter().find(|limit| limit.name() == name)
    }
}

impl From<LimitArg> for SpaceWish {
    fn from(limit: LimitArg) -> Self {
        match limit {
            LimitArg::Best => Self::Best,
            LimitArg::Group => Self::Group,
            LimitArg::Machine => Self::Machine,
        }
    }
}

/// What follows the flags in the help: examples, and the tables that flags choose from.
pub(super) fn examples() -> String {
    let rows = |rows: &mut dyn Iterator<Item = (&str, &str)>| -> String {
        rows.map(|(name, doc)| format!("  {name:<9} {doc}\n")).collect()
    };
    // The machine as it is, with all of its memory, is what --in-place measures.
    let variants = rows(&mut BUILT_IN.iter().filter(|row| row.name != NOW).map(|built_in| (built_in.name, built_in.doc)));
    let services = rows(&mut KINDS.iter().map(|kind| (kind.name, kind.doc)));
    format!("{EXAMPLES}\n\nConfigurations:\n{variants}\nServices:\n{services}\n{HARM}")
}

const EXAMPLES: &str = "Examples:
  sudo swaptune bench density --quick                           a first impression, some minutes
  sudo swaptune bench density                                   all configurations, five rounds: hours
  sudo swaptune bench density --variant none,zram,auto --rounds 3
  sudo swaptune bench density --variant mine.toml --variant auto --memory 2G
  sudo swaptune bench density --at 24,36,46,56 --rounds 3       how each of them does at these numbers, past what fits too
  sudo swaptune bench density --service node --heap 80M --bound 250ms
  sudo swaptune bench density --in-place --at 24,36,46          this machine as it is: once with the daemon, once without
  sudo swaptune bench density -- ./service.sh                   a service of your own";

const HARM: &str = "Services are the first to be killed when memory ends, and other programs may be swapped out meanwhile. Swap that is on is \
                    switched off meanwhile, and everything is put back, also on Ctrl-C and when this is killed. See \
                    docs/guides/density.md.";
