//! `compare`: what was typed.

use std::ffi::OsString;
use std::path::PathBuf;

use clap::Args;
use swaptune_bench::variant::BUILT_IN;
use swaptune_bench::workload::WORKLOADS;
use swaptune_core::Bytes;

use super::{LimitArg, ResultsArgs};

/// `compare`.
#[derive(Debug, Args)]
pub struct CompareArgs {
    /// Where results are kept.
    #[command(flatten)]
    pub results: ResultsArgs,
    /// Configurations to compare, each against the first: a name or a configuration file, with a compressor and changes, for example
    /// zswap:lz4,pool=25%; as a list, or repeated [default: now and auto]
    #[arg(long, value_name = "NAME|FILE[:COMPRESSOR][,KEY=VALUE]")]
    pub variant: Vec<String>,
    /// Memory that the command has, zswap's pool included [default: all of this machine's]
    #[arg(long, value_name = "SIZE")]
    pub memory: Option<Bytes>,
    /// What makes memory small: a control group, or a process that holds the rest of it from the whole machine
    #[arg(long, value_enum, default_value = "best", requires = "memory")]
    pub limit: LimitArg,
    /// Runs of each configuration; fewer than six prove nothing, more configurations need more
    #[arg(long, value_name = "N", default_value_t = 10, value_parser = clap::value_parser!(u32).range(2..=1000))]
    pub runs: u32,
    /// Differences within this are called equivalent, in percent
    #[arg(long, value_name = "PERCENT", default_value_t = 3.0, value_parser = percent)]
    pub delta: f64,
    /// Keep the page cache between runs [default: drop it before each run]; where the rest of RAM is held it is dropped all the same
    #[arg(long)]
    pub keep_caches: bool,
    /// Folder of the temporary swap files: its disk takes part in the result
    #[arg(long, value_name = "DIR", default_value = "/var/tmp")]
    pub dir: PathBuf,
    /// Seed of the random order [default: random]
    #[arg(long, value_name = "N")]
    pub seed: Option<u64>,
    /// Write a report with pictures, one file that needs no other
    #[arg(long, value_name = "FILE")]
    pub html: Option<PathBuf>,
    /// Write the output of the command to FILE instead of discarding it
    #[arg(long, value_name = "FILE")]
    pub output: Option<PathBuf>,
    /// Run a built-in workload instead of a command, on memory of this size [default: what the table of workloads says]
    #[arg(long, value_name = "NAME[:SIZE]", conflicts_with = "command")]
    pub workload: Option<String>,
    /// Go on with a comparison that was stopped: the file that it named
    #[arg(long, value_name = "FILE", conflicts_with_all = ["variant", "memory", "runs", "delta", "keep_caches", "dir", "seed", "workload", "command"])]
    pub resume: Option<PathBuf>,
    /// The command: it runs as it is, without a shell
    #[arg(last = true, value_name = "COMMAND", required_unless_present_any = ["resume", "workload"])]
    pub command: Vec<OsString>,
}

fn percent(text: &str) -> Result<f64, String> {
    let percent: f64 = text.parse().map_err(|_| "expected a number of percent, for example 3".to_owned())?;
    if (0.1..=50.0).contains(&percent) { Ok(percent) } else { Err("expected 0.1 to 50".into()) }
}

/// What follows the flags in the help: examples, and the table of configurations.
pub(super) fn examples() -> String {
    let variants: String = BUILT_IN.iter().map(|built_in| format!("  {:<9} {}\n", built_in.name, built_in.doc)).collect();
    let workloads: String =
        WORKLOADS.iter().map(|row| format!("  {:<9} {} ({} % of the memory)\n", row.name, row.doc, row.percent)).collect();
    format!("{EXAMPLES}\n\nConfigurations:\n{variants}\nWorkloads:\n{workloads}\n{METHOD}")
}

const EXAMPLES: &str = "Examples:
  sudo swaptune compare -- make -j2                            as configured now, and as planned
  sudo swaptune compare --memory 1G --variant disk --variant zram:lz4 --variant auto -- make -j2
  sudo swaptune compare --variant zswap --variant zswap,pool=40% --runs 24 -- ./batch.sh
  sudo swaptune compare --memory 1G --workload alloc:2G --variant disk --variant zswap --variant auto
  sudo swaptune compare --html report.html -- make -j2         with pictures
  sudo swaptune compare --resume /var/lib/swaptune/compare-20260102-030405-a1b2.jsonl";

const METHOD: &str = "Every configuration runs once in each block, in an order by chance, and the first one twice: what two runs of it differ by \
                      is what this machine cannot tell apart. A verdict needs an interval that leaves 1 out, an exact test corrected for \
                      the number of configurations, and a difference beyond that. Everything is put back, also on Ctrl-C and when \
                      this is killed. See docs/guides/compare.md.";
