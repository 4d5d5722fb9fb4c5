//! What a command took with several configurations: `compare`.

use serde::{Deserialize, Serialize};

use crate::stats::{Estimate, Quantiles};
use crate::units::Bytes;

/// One configuration beside the first.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct CompareFigures {
    /// The configuration: a name of the table of variants with its changes, or a file.
    pub variant: String,
    /// What it set, change by change.
    pub settings: Vec<String>,
    /// The configuration that it is set against; `None` for that one itself.
    pub against: Option<String>,
    /// Memory that the command had, zswap's pool included; `None` for all of the machine's.
    pub memory: Option<Bytes>,
    /// zswap's pool limit in percent of `memory`, `None` without zswap.
    pub pool_percent: Option<f64>,
    /// Every run, by block.
    pub runs: Vec<CompareRun>,
    /// Elapsed seconds: the median of the runs that ended well, and its interval; `None` when none did.
    pub elapsed: Option<Estimate>,
    /// Elapsed time against the first configuration's in the same block; `None` for that one itself, or without two such blocks.
    pub comparison: Option<Comparison>,
    /// Why there is no comparison; not in results from before it was told, nor of the first configuration.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub incomparable: Option<Incomparable>,
    /// The ratio of elapsed times that two runs of the first configuration may show.
    pub resolution: Option<f64>,
}

/// What blocks of two configurations say.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Comparison {
    /// The median of the ratios within blocks, with the 95 % interval of resampled blocks. Below 1 took less.
    pub ratio: Estimate,
    /// The chance of a difference as large between equal configurations, corrected for how many there are.
    pub p: f64,
    /// What may be said.
    pub verdict: CompareVerdict,
}

/// What may be said of two configurations.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum CompareVerdict {
    /// It takes less.
    Better,
    /// It takes more.
    Worse,
    /// The interval lies within what counts as equal.
    Equivalent,
    /// More runs are needed, or a quieter machine.
    Inconclusive,
}

impl CompareVerdict {
    /// In a word.
    #[must_use]
    pub fn word(self) -> &'static str {
        match self {
            Self::Better => "better",
            Self::Worse => "worse",
            Self::Equivalent => "equivalent",
            Self::Inconclusive => "inconclusive",
        }
    }
}

/// Why two configurations have no ratio: only runs that ended well have a time.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Incomparable {
    /// No run of the first configuration ended well, and some of this one did.
    FirstNeverEnded,
    /// No run of this one ended well, and some of the first did.
    NeverEnded,
    /// No run of either did.
    NeitherEnded,
    /// Both ended well in fewer than two blocks.
    TooFewEnded,
}

impl Incomparable {
    /// In words.
    #[must_use]
    pub fn words(self) -> &'static str {
        match self {
            Self::FirstNeverEnded => "the first never ended",
            Self::NeverEnded => "never ended",
            Self::NeitherEnded => "neither ever ended",
            Self::TooFewEnded => "too few runs ended",
        }
    }
}

/// One run of the command.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct CompareRun {
    /// The block, from 0; every configuration runs once in each, the first one twice.
    pub block: u32,
    /// True for the second run of the first configuration, which shows what the machine can tell apart.
    pub again: bool,
    /// Its place in the block's order, from 0.
    pub place: u32,
    /// Time from start to end, s.
    pub elapsed_s: f64,
    /// Processor time of the command and what it waited for, in its own code, s.
    pub user_s: f64,
    /// The same in the kernel, s: reclaim and decompression in the command's faults count here.
    pub system_s: f64,
    /// How it ended: `None` for success, else in words (`exit status: 2`, `signal: 9`).
    pub failed: Option<String>,
    /// What the kernel counted meanwhile, over the whole machine.
    pub counts: CompareCounts,
    /// Wakes of another program of ours meanwhile, each from when it was due; `None` when it was killed, or in results before it was there.
    #[serde(default)]
    pub bystander: Option<Quantiles>,
    /// Looks at the machine meanwhile, in order.
    pub timeline: Vec<CompareLook>,
}

/// Differences of `/proc/vmstat` and `/proc/pressure/memory`; 0 where this kernel does not count it. Pages unless named otherwise.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct CompareCounts {
    /// Read from swap devices, zram included: `pswpin`.
    pub swap_reads: u64,
    /// Written to swap devices: `pswpout`.
    pub swap_writes: u64,
    /// Loaded from zswap's pool: `zswpin`.
    pub loads: u64,
    /// Stored in it: `zswpout`.
    pub stores: u64,
    /// Written back from it: `zswpwb`.
    pub written_back: u64,
    /// Faults that waited for a read: `pgmajfault`.
    pub major_faults: u64,
    /// Anonymous pages that came back soon after they went: `workingset_refault_anon`.
    pub refaults_anon: u64,
    /// File pages likewise: `workingset_refault_file`.
    pub refaults_file: u64,
    /// Processes killed for want of memory: `oom_kill`.
    pub oom_kills: u64,
    /// Time in which some task stalled on memory, µs.
    pub some_stall_us: u64,
    /// Time in which all did, µs.
    pub full_stall_us: u64,
}

/// The machine at a moment of a run.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct CompareLook {
    /// Since the start of the run, s.
    pub at_s: f64,
    /// zswap's pool: `Zswap` of `/proc/meminfo`.
    pub pool: Bytes,
    /// Swap in use.
    pub swap: Bytes,
    /// Share of the time since the last look in which some task stalled on memory, percent.
    pub some_stall_percent: f64,
}
