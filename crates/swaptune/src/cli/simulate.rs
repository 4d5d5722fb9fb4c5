//! `simulate` and its subcommands: what was typed.

use std::path::PathBuf;

use clap::{ArgGroup, Args, Subcommand, ValueEnum};
use swaptune_core::stats::Nanos;

/// `simulate`.
#[derive(Debug, Args)]
pub struct SimulateArgs {
    /// What to simulate.
    #[command(subcommand)]
    pub what: SimulateCommand,
}

/// The questions that `simulate` answers.
#[derive(Debug, Subcommand)]
pub enum SimulateCommand {
    /// Run a workload on several tierings of RAM, pool and disk: time, stalls, faults, disk traffic
    #[command(
        after_help = "Examples:\n  swaptune simulate run scenarios/c2-write-through.toml\n  swaptune simulate run scenarios/*.toml --csv > outcomes.csv\n  swaptune simulate run my.toml --sweep machine.ram=1G,2G,4G\n  swaptune simulate run --generate compile --tiering disk --tiering zswap:zstd,disk --tiering zram:lz4,disk\n  swaptune simulate run --trace web.swtrace --ram 4G --tiering zswap:zstd:30%,disk:nvme:8G --write-back limit,shrinker\n  swaptune simulate run --generate zipf --tiering now --tiering zswap:zstd,disk --ram this\n  swaptune simulate run scenarios/idle-services.toml --daemon     what `swaptune daemon` would gain or lose there\n\nThe workload comes from scenario files, a trace or a generator. Without --tiering it runs on a disk, on zram before a disk, and on zswap with and without its shrinker. Equal input gives equal results, except that --measured takes this machine's figures."
    )]
    Run(Box<RunArgs>),
    /// Find how many idle applications fit before their wakes take too long, for each tiering
    #[command(
        after_help = "Examples:\n  swaptune simulate fit\n  swaptune simulate fit --within 50ms --ram 8G --page-set mine.json\n  swaptune simulate fit --ram this --measured --tiering now --tiering zswap:zstd,disk:this\n  swaptune simulate fit scenarios/a13-idle-applications.toml --within 1s\n\nMachine and applications are made smaller together, so that an answer takes seconds; --set scale=1 takes them as they are."
    )]
    Fit(Box<FitArgs>),
    /// Count exactly what a trace misses under lru, fifo and clock, for several sizes of memory
    #[command(
        after_help = "Examples:\n  swaptune simulate replay --generate zipf:pages=100k,events=2M\n  swaptune simulate replay --trace web.oracleGeneral.zst --size 1%..50%:20 --policy lru,clock --csv\n  swaptune simulate replay --trace web.csv --columns time_us=1,page=3 --curve\n  swaptune simulate replay --trace web.swtrace --curve sampled     a long trace in seconds, within half a point of each size\n\nA size is a number of pages that fit in memory. A miss is an access to a page that is not there; the first access to a page is one."
    )]
    Replay(ReplayArgs),
    /// Write a trace, read or generated, in another format
    #[command(
        after_help = "Examples:\n  swaptune simulate convert --trace web.csv --columns time_us=1,page=3 --output web.swtrace\n  swaptune simulate convert --generate idle:apps=80,wake=300 --output idle.swtrace\n\nPages are numbered in the order of their first access."
    )]
    Convert(ConvertArgs),
    /// Put the lines of `run --item` together: each item once, in order; says which are lost (exit code 1) or came twice
    #[command(
        after_help = "Examples:\n  seq 0 $(($(swaptune simulate run grid.toml --items) - 1)) | parallel swaptune simulate run grid.toml --item {} > lines\n  swaptune simulate merge lines\n  swaptune simulate merge lines/* --csv > outcomes.csv     as `run --csv` prints them\n\nLines of another grid, and an item that came to two different outcomes, are errors: other flags, files or another version."
    )]
    Merge(MergeArgs),
    /// List how tierings are written, policies, devices, codecs, metrics, generators with their parameters, and formats
    List,
}

/// Tierings side by side: scenario files, or lines.
#[derive(Debug, Args)]
pub struct TieringArgs {
    /// Run this tiering, from its fastest tier to its slowest: zswap:zstd:30%,disk:nvme:8G; now: as this machine is set up. Repeat it
    /// to compare several [default: disk, zram before disk, zswap before disk, the same with the shrinker]
    #[arg(long, value_name = "TIER,TIER…", conflicts_with = "scenarios")]
    pub tiering: Vec<String>,
    /// Run every tiering with zswap once for each of these write-back policies: limit, shrinker, …
    #[arg(long, value_name = "NAME,…", value_delimiter = ',', conflicts_with = "scenarios")]
    pub write_back: Vec<String>,
    /// Set each tiering beside the same one with `swaptune daemon`, its laws deciding on what the simulated machine shows
    #[arg(long)]
    pub daemon: bool,
    /// Give a key of the scenario another value: scale=8, machine.kernel=6.12, tiering.*.zswap.limit=30
    #[arg(long, value_name = "KEY=VALUE")]
    pub set: Vec<String>,
    /// Take compressed sizes of pages from FILE, written by `swaptune sample --save FILE`
    #[arg(long, value_name = "FILE")]
    pub page_set: Option<PathBuf>,
    /// Take times of codecs, of the swap path and of disks from the results of this machine, and cite the run of each
    #[arg(long)]
    pub measured: bool,
    /// Print comma-separated values
    #[arg(long)]
    pub csv: bool,
    /// Threads to work on [default: one for each processor]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u16).range(1..=4096))]
    pub threads: Option<u16>,
}

/// A trace: read, or generated.
#[derive(Debug, Args)]
pub struct TraceArgs {
    /// Read the accesses from FILE, zstd-compressed or not: a recording of `swaptune sample`, of perf or of damo, CSV, libCacheSim's
    /// records; `-` is standard input
    #[arg(long, value_name = "FILE")]
    pub trace: Option<PathBuf>,
    /// Generate the accesses, for example zipf:pages=100k,events=2M,seed=7; `swaptune simulate list` shows all generators
    #[arg(long, value_name = "NAME:PARAMETERS")]
    pub generate: Option<String>,
    /// Format of the trace: swaptune, text, oracle-general, perf or damo [default: what its first bytes tell]
    #[arg(long, value_name = "NAME", requires = "trace")]
    pub format: Option<String>,
    /// Fields of a line of text, for example time_us=1,page=3,op=4 [default: the names in its first line]
    #[arg(long, value_name = "NAME=FIELD,…", requires = "trace")]
    pub columns: Option<String>,
}

/// `simulate run`.
#[derive(Debug, Args)]
#[command(group = ArgGroup::new("workload").args(["scenarios", "trace", "generate"]).required(true))]
pub struct RunArgs {
    /// Run these scenario files: each has a machine, a workload and its tierings
    #[arg(value_name = "SCENARIO.toml")]
    pub scenarios: Vec<PathBuf>,
    /// The workload.
    #[command(flatten)]
    pub workload: TraceArgs,
    /// RAM of the machine: 4G, 50% of the workload's pages, or this: what this machine has [default: 25%, 50% and 75%]
    #[arg(long, value_name = "SIZE")]
    pub ram: Option<String>,
    /// The tierings.
    #[command(flatten)]
    pub tierings: TieringArgs,
    /// Run with several values of a key instead of the scenario's own sweep: A..B (nine), A..B:STEP, or A,B,C
    #[arg(long, value_name = "KEY=A..B")]
    pub sweep: Option<String>,
    /// Columns of the table; `swaptune simulate list` shows all metrics [default: the scenario's, else those that can differ]
    #[arg(long, value_name = "METRIC,…", value_delimiter = ',')]
    pub report: Vec<String>,
    /// Write a report with pictures, one file that needs no other
    #[arg(long, value_name = "FILE")]
    pub html: Option<PathBuf>,
    /// Run only the item with this number, from 0, of the grid scenario × value × seed × tiering, and print it as one line of JSON:
    /// for job arrays. `swaptune simulate merge` puts the lines together
    #[arg(long, value_name = "K", conflicts_with_all = ["csv", "html", "write_scenario", "report"])]
    pub item: Option<usize>,
    /// Run nothing; print how many items there are
    #[arg(long, conflicts_with_all = ["item", "csv", "html", "write_scenario", "report"])]
    pub items: bool,
    /// Run nothing; write the scenario that the flags make to FILE, which ends in .toml
    #[arg(long, value_name = "FILE", conflicts_with_all = ["scenarios", "html"])]
    pub write_scenario: Option<PathBuf>,
    /// Let --write-scenario replace an existing FILE
    #[arg(long, requires = "write_scenario")]
    pub overwrite: bool,
}

/// `simulate fit`.
#[derive(Debug, Args)]
pub struct FitArgs {
    /// Search in these scenario files, whose workload is the generator `idle`
    #[arg(value_name = "SCENARIO.toml")]
    pub scenarios: Vec<PathBuf>,
    /// Longest time that 99 % of the wakes may take
    #[arg(long, value_name = "TIME", default_value = "200ms")]
    pub within: Nanos,
    /// Generate these applications [default: idle:pages=25k,seconds=900,wake=120, 100 MB each]
    #[arg(long, value_name = "NAME:PARAMETERS", conflicts_with = "scenarios")]
    pub generate: Option<String>,
    /// RAM of the machine: 4G, or this: what this machine has [default: 4G]
    #[arg(long, value_name = "SIZE")]
    pub ram: Option<String>,
    /// The tierings.
    #[command(flatten)]
    pub tierings: TieringArgs,
}

/// `simulate replay`.
#[derive(Debug, Args)]
#[command(group = ArgGroup::new("workload").args(["trace", "generate"]).required(true))]
pub struct ReplayArgs {
    /// The trace.
    #[command(flatten)]
    pub workload: TraceArgs,
    /// Evict by these policies: lru, fifo, clock [default: all]
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
    /// Write a report with pictures, one file that needs no other
    #[arg(long, value_name = "FILE")]
    pub html: Option<PathBuf>,
    /// Print comma-separated values
    #[arg(long)]
    pub csv: bool,
    /// Threads to work on [default: one for each processor]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u16).range(1..=4096))]
    pub threads: Option<u16>,
}

/// `simulate convert`.
#[derive(Debug, Args)]
#[command(group = ArgGroup::new("workload").args(["trace", "generate"]).required(true))]
pub struct ConvertArgs {
    /// The trace.
    #[command(flatten)]
    pub workload: TraceArgs,
    /// Write it to FILE, in the format of its ending: .swtrace, .csv or .oracleGeneral
    #[arg(long, value_name = "FILE")]
    pub output: PathBuf,
    /// Let --output replace an existing FILE
    #[arg(long)]
    pub overwrite: bool,
}

/// `simulate merge`.
#[derive(Debug, Args)]
pub struct MergeArgs {
    /// Files with lines of `swaptune simulate run --item`; `-` is standard input
    #[arg(value_name = "LINES", required = true)]
    pub lines: Vec<PathBuf>,
    /// Print comma-separated values, as `run --csv` does
    #[arg(long)]
    pub csv: bool,
}

/// How a curve is made.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum CurveKind {
    /// Every access counts.
    Exact,
    /// A sample of the pages.
    Sampled,
}
