//! What was seen while canary pages went out and came back: the input of [`super::judge()`].
//!
//! The host room fills it without judging. Counters belong to the whole machine and other processes swap too, so a
//! counter's movement is an upper bound of what happened to our own pages; the page table entries of our own pages
//! are exact.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use super::behaviour::SwapBehaviour;
use crate::canary::{CanaryClass, Corruption};
use crate::stats::{Nanos, Quantiles};
use crate::units::Bytes;

/// Counters at one moment, named by their file: `vmstat.pswpout` (pages), `meminfo.Zswap` (bytes),
/// `zswap.stored_pages` (debugfs), `zram.zram0.huge_pages` (mm_stat), `swaps./dev/vda3` (slots in use, bytes).
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Snapshot(pub BTreeMap<String, u64>);

impl Snapshot {
    /// One counter.
    #[must_use]
    pub fn get(&self, name: &str) -> Option<u64> {
        self.0.get(name).copied()
    }

    /// How far a counter moved since `earlier`; `None` when this machine does not show it.
    #[must_use]
    pub fn since(&self, earlier: &Self, name: &str) -> Option<i64> {
        let (now, then) = (self.get(name)?, earlier.get(name)?);
        Some(now.wrapping_sub(then) as i64)
    }
}

/// One class of pages on its way.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ClassObservation {
    /// What was in the pages.
    pub class: CanaryClass,
    /// How many pages.
    pub pages: u64,
    /// Pages whose page table entry was a swap entry after the push.
    pub swapped: u64,
    /// Of these, pages of which a copy was still in RAM (swap cache) when they were read back.
    pub cached: u64,
    /// Swapped pages per area, for pages whose area is known.
    pub areas: BTreeMap<String, u64>,
    /// Counters before the push, after it and the end of all writing, and after everything was read back.
    pub before: Snapshot,
    /// See `before`.
    pub stored: Snapshot,
    /// See `before`.
    pub loaded: Snapshot,
    /// Time to push one page out. For a disk this is the time to submit the write, not to finish it.
    pub store: Option<Quantiles>,
    /// Time of the fault that brings one page back, its read-ahead included.
    pub load: Option<Quantiles>,
    /// Bytes that were compared after they had left RAM as a whole, without those of pages of which a copy was still there.
    pub bytes_checked: Bytes,
    /// Pages that the kernel could not bring back (a device or decompression error).
    pub unreadable: u64,
    /// The first byte that was wrong, if any.
    pub corrupt: Option<Corruption>,
}

/// Limits of the control group this ran in; `None` for what has no limit or no file.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct CgroupLimits {
    /// The group.
    pub path: String,
    /// The smallest `memory.swap.max` on the way up.
    pub swap_max: Option<Bytes>,
    /// The smallest `memory.zswap.max` on the way up.
    pub zswap_max: Option<Bytes>,
    /// True when `memory.zswap.writeback` is 0 anywhere on the way up.
    pub writeback_off: bool,
}

/// Why nothing could be pushed, and what to do about it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Impossible {
    /// The reason.
    pub reason: String,
    /// The remedy.
    pub remedy: String,
}

/// Everything that was seen.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Observation {
    /// How this kernel should behave.
    pub behaviour: SwapBehaviour,
    /// Set when the pages could not even be tried; the rest is empty then.
    pub impossible: Option<Impossible>,
    /// Limits of our own control group.
    pub cgroup: CgroupLimits,
    /// The classes that were pushed.
    pub classes: Vec<ClassObservation>,
    /// What could not be seen, and why.
    pub blind: Vec<String>,
    /// What each latency sample had taken off: the cost of the same call when there is nothing to do.
    pub overhead_store: Nanos,
    /// As `overhead_store`, for reading a page that is there.
    pub overhead_load: Nanos,
    /// Time from start to end.
    pub elapsed: Nanos,
}
