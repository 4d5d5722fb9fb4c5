//! How many services fit into a small machine: `bench density`.

use serde::{Deserialize, Serialize};

use crate::stats::{Estimate, Nanos, Quantiles};
use crate::units::Bytes;

/// How many services one configuration held.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct DensityFigures {
    /// The configuration: a name of the table of variants, or a file.
    pub variant: String,
    /// What it set, change by change.
    pub settings: Vec<String>,
    /// Memory that the services had, zswap's pool included.
    pub memory: Bytes,
    /// What kept them from having more.
    pub limit: DensityLimit,
    /// zswap's pool limit in percent of `memory`: `max_pool_percent` is a whole percent of all RAM, so it is not what was asked for.
    /// `None` without zswap.
    pub pool_percent: Option<f64>,
    /// What was started, again and again.
    pub load: DensityLoad,
    /// Every round, in order.
    pub rounds: Vec<DensityRound>,
    /// Services that fit: the median of the rounds with its interval.
    pub fits: Estimate,
}

/// What kept services from having more memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum DensityLimit {
    /// `memory.max` of a group, which zswap's pool is charged to (cgroup v2).
    Group,
    /// The rest of RAM was held by a locked process: the kernel itself has no more, and reclaims for the whole machine.
    Machine,
    /// Nothing: the machine as it was, with all of its RAM and a daemon if one ran.
    InPlace,
}

/// The services and how they are used.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct DensityLoad {
    /// A name of the table of services, or the command.
    pub service: String,
    /// Heap of each.
    pub heap: Bytes,
    /// Share of its heap that a wake works on, in percent.
    pub work_percent: u32,
    /// Wakes a second over all services, at exponential intervals.
    pub wakes_per_second: f64,
    /// Zipf's exponent of how often each service is woken; 0, as in results without it: evenly.
    #[serde(default)]
    pub skew: f64,
    /// Wakes that a level measures.
    pub wakes: u32,
    /// A level is held when 99 of 100 wakes take no longer.
    pub bound: Nanos,
    /// What moments and orders were drawn from.
    pub seed: u64,
    /// Numbers of services that were asked for; empty when the largest that fits was searched for.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub at: Vec<u32>,
}

/// One round of one configuration: more and more services until they no longer fit.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct DensityRound {
    /// The most services at which a level was held, 0 when none was.
    pub fits: u32,
    /// Every level that was measured, in order.
    pub levels: Vec<DensityLevel>,
}

/// One number of services.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct DensityLevel {
    /// Services that ran.
    pub services: u32,
    /// How it ended.
    pub end: DensityEnd,
    /// Time from when a wake was due until it was answered; `None` when none was.
    pub wake: Option<Quantiles>,
    /// How long it was measured.
    pub seconds: f64,
    /// What the kernel counted meanwhile.
    pub counts: DensityCounts,
}

/// How a level ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum DensityEnd {
    /// All wakes were answered, 99 of 100 within the bound.
    Held,
    /// All wakes were answered, too late.
    Slow,
    /// Wakes fell so far behind that measuring was broken off.
    Behind,
    /// All tasks of the machine stalled on memory for too large a share of the time.
    Stalled,
    /// A service was killed or ended.
    Killed,
    /// One more could not be started: no more processes or open files are to be had.
    NotStarted,
}

impl DensityEnd {
    /// In a word.
    #[must_use]
    pub fn word(self) -> &'static str {
        match self {
            Self::Held => "held",
            Self::Slow => "slow",
            Self::Behind => "fell behind",
            Self::Stalled => "stalled",
            Self::Killed => "killed one",
            Self::NotStarted => "not started",
        }
    }
}

/// Counters of `/proc/vmstat` and `/proc/pressure/memory` over a level; 0 where this kernel does not count it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct DensityCounts {
    /// Pages read from swap devices, zram included: `pswpin`.
    pub swap_reads: u64,
    /// Pages written to swap devices: `pswpout`.
    pub swap_writes: u64,
    /// Pages that came from zswap's pool: `zswpin`.
    pub loads: u64,
    /// Pages that went into it: `zswpout`.
    pub stores: u64,
    /// Pages that it wrote back: `zswpwb`.
    pub written_back: u64,
    /// Time in which some task stalled on memory, µs.
    pub some_stall_us: u64,
    /// Time in which all did, µs.
    pub full_stall_us: u64,
}
