//! `sample`: what was typed.

use std::path::PathBuf;
use std::time::Duration;

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
    /// Also watch for SECONDS which pages are accessed (root). Without idle page tracking in the kernel this clears the accessed bits
    /// of the processes, which misleads reclaim for a while
    #[arg(long, value_name = "SECONDS", value_parser = clap::value_parser!(u32).range(1..=86_400))]
    pub cold: Option<u32>,
    /// Only these codecs, with a level if not the kernel's own [default: lz4, lz4hc, zstd, zstd:1, deflate]
    #[arg(long, value_name = "NAME", value_delimiter = ',')]
    pub codec: Vec<String>,
    /// One line for each unit or process [default: unit when all processes are sampled]
    #[arg(long, value_name = "WHAT")]
    pub by: Option<GroupBy>,
    /// Write sizes and classes of all sampled pages to FILE, never their contents
    #[arg(long, value_name = "FILE")]
    pub save: Option<PathBuf>,
    /// Write a report with pictures, one file that needs no other
    #[arg(long, value_name = "FILE")]
    pub html: Option<PathBuf>,
    /// Draw the same pages again while processes do not change
    #[arg(long, value_name = "NUMBER")]
    pub seed: Option<u64>,
    /// Record a trace of accesses for `swaptune simulate run --trace FILE` instead of sampling. A page that was accessed between two
    /// scans is one access; number and order of its accesses are unknown. Each scan clears the accessed bits of the processes, which
    /// misleads reclaim for a while, and their soft-dirty bits, which CRIU uses. Without idle page tracking in the kernel the pages are
    /// guessed from a count for each mapping, and the summary says how many are. Ctrl-C ends it early with a whole FILE
    #[arg(long, value_name = "FILE", conflicts_with_all = ["pages", "cold", "codec", "save", "html", "seed", "results", "no_save"])]
    pub record: Option<PathBuf>,
    /// Time between two scans of --record: 500ms, 2s, 1m
    #[arg(long, value_name = "TIME", default_value = "2s", requires = "record", value_parser = interval)]
    pub interval: Duration,
    /// Duration of the record: 30s, 10m, 2h
    #[arg(long = "for", value_name = "TIME", default_value = "60s", requires = "record", value_parser = length)]
    pub length: Duration,
    /// Let --record replace an existing FILE
    #[arg(long, requires = "record")]
    pub overwrite: bool,
}

/// From one look to the next: looking itself takes milliseconds.
fn interval(text: &str) -> Result<Duration, String> {
    within(text, Duration::from_millis(50), Duration::from_secs(3600), "from 50ms to 1h")
}

/// From the first look to the last.
fn length(text: &str) -> Result<Duration, String> {
    within(text, Duration::from_secs(1), Duration::from_secs(7 * 86_400), "from 1s to 168h")
}

pub(super) fn within(text: &str, least: Duration, most: Duration, range: &str) -> Result<Duration, String> {
    let digits = text.len() - text.trim_start_matches(|letter: char| letter.is_ascii_digit()).len();
    let (number, unit) = text.split_at(digits);
    let scale = match unit {
        "ms" => Some(1),
        "s" | "" => Some(1000),
        "m" | "min" => Some(60_000),
        "h" => Some(3_600_000),
        _ => None,
    };
    let time = number.parse().ok().zip(scale).and_then(|(number, scale): (u64, u64)| number.checked_mul(scale));
    let time = time.map(Duration::from_millis).filter(|time| (least..=most).contains(time));
    time.ok_or_else(|| format!("expected a time {range}, as 500ms, 2s or 1m"))
}

/// What a line of the table is about.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum GroupBy {
    /// A systemd unit, where a process belongs to one.
    Unit,
    /// A process.
    Process,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_have_units_and_limits() {
        for (text, millis) in [("50ms", 50), ("2s", 2000), ("3", 3000), ("1m", 60_000), ("2min", 120_000), ("1h", 3_600_000)] {
            assert_eq!(interval(text), Ok(Duration::from_millis(millis)), "{text}");
        }
        for text in ["", "ms", "49ms", "61m", "2 s", "2d", "-1s", "1.5s", "99999999999999999999h", "9999999999999999999h"] {
            assert!(interval(text).is_err(), "{text}");
        }
        assert_eq!(length("168h"), Ok(Duration::from_secs(604_800)));
        assert!(length("999ms").is_err() && length("169h").is_err());
    }
}
