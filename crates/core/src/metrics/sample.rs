//! What is read of a machine at one moment, and two moments put beside each other.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::control::DaemonReport;
use crate::fact::Fact;
use crate::facts::Facts;
use crate::memory_map::MemoryMap;
use crate::parse::block_stat::BlockStat;
use crate::units::Bytes;

/// One look at a machine. Everything that a metric shows comes from one of these, or from two.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Sample {
    /// When, in milliseconds since 1970, by the machine's clock: for people and files.
    pub unix_ms: u64,
    /// When, in microseconds of a clock that never jumps: for rates.
    pub steady_us: u64,
    /// Memory, swap areas, zswap and zram; the other parts stay absent.
    pub facts: Facts,
    /// Counters of the block devices that hold a swap area, by kernel name.
    pub disks: BTreeMap<String, BlockStat>,
    /// systemd units and other control groups with memory of their own.
    pub units: Fact<Vec<UnitUse>>,
    /// Processes with memory in swap, the largest first.
    pub processes: Fact<Vec<ProcessUse>>,
    /// What the daemon says of itself, with its last decisions; absent where none has run, and in older recordings.
    #[serde(default)]
    pub daemon: Fact<DaemonReport>,
}

/// What one control group has outside of RAM. A file that was not read this time keeps its earlier value.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct UnitUse {
    /// The unit (`nginx.service`), else the path of the group.
    pub name: String,
    /// `memory.swap.current`: slots, those of pages in zswap included.
    pub swap: Option<Bytes>,
    /// `memory.zswap.current`: compressed bytes in zswap's pool (since Linux 5.19).
    pub pool: Option<Bytes>,
    /// `workingset_refault_anon` and `workingset_refault_file` of `memory.stat`, pages that came back since the group began.
    pub refaults: Option<u64>,
    /// The same a second, between the last two times that the file was read: most groups are not read at each look.
    #[serde(default)]
    pub refaults_per_second: Option<f64>,
}

/// What one process has in swap.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct ProcessUse {
    /// Its number.
    pub pid: u32,
    /// Its name, at most 15 bytes.
    pub name: String,
    /// `VmSwap`: anonymous memory in swap, zswap included.
    pub swap: Bytes,
}

/// A sample with what follows from it, and the one before where there is one.
#[derive(Debug)]
pub struct SampleLook<'a> {
    /// The sample.
    pub now: &'a Sample,
    /// The look at the sample before it: rates need two.
    pub before: Option<Box<SampleLook<'a>>>,
    /// The map of [`SampleLook::now`].
    pub map: MemoryMap,
}

impl<'a> SampleLook<'a> {
    /// Puts a sample beside the one before it.
    #[must_use]
    pub fn new(now: &'a Sample, before: Option<&'a Sample>) -> Self {
        Self { now, before: before.map(|before| Box::new(Self::new(before, None))), map: MemoryMap::from_facts(&now.facts) }
    }

    /// Seconds between the two samples; `None` with one sample, or when the clock did not go on.
    #[must_use]
    pub fn seconds(&self) -> Option<f64> {
        let passed = self.now.steady_us.checked_sub(self.before.as_ref()?.now.steady_us)?;
        (passed > 0).then_some(passed as f64 / 1e6)
    }

    /// A counter of `/proc/vmstat` that counts pages, in bytes; the reason when this kernel has none.
    #[must_use]
    pub fn pages(&self, counter: &str) -> Fact<f64> {
        match (&self.now.facts.memory.vmstat, self.now.facts.memory.count(counter)) {
            (_, Some(pages)) => Fact::known(self.page() * pages as f64, format!("/proc/vmstat {counter}")),
            (Fact::Known { .. }, None) => Fact::absent(format!("/proc/vmstat of this kernel has no {counter}")),
            (Fact::Absent { absent }, None) => Fact::absent(absent.clone()),
        }
    }

    /// A counter of zswap's folder of debugfs, as it is.
    #[must_use]
    pub fn debug(&self, counter: &str) -> Fact<f64> {
        let zswap = match &self.now.facts.zswap {
            Fact::Known { value, .. } => value,
            Fact::Absent { absent } => return Fact::absent(absent.clone()),
        };
        match &zswap.counters {
            Fact::Absent { absent } => Fact::absent(absent.clone()),
            Fact::Known { value, source } => match value.get(counter) {
                Some(count) => Fact::known(*count as f64, format!("{source}/{counter}")),
                None => Fact::absent(format!("{source} of this kernel has no {counter}")),
            },
        }
    }

    /// Bytes of a page.
    #[must_use]
    pub fn page(&self) -> f64 {
        self.now.facts.kernel.page_size.0 as f64
    }
}
