//! RAM, counters, pressure, huge pages.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use super::counted::CountersSinceBoot;
use crate::fact::Fact;
use crate::units::Bytes;

/// Memory as the kernel accounts it.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct MemoryFacts {
    /// `/proc/meminfo` by key, in bytes (`HugePages_*` are counts and left out).
    pub meminfo: Fact<BTreeMap<String, Bytes>>,
    /// `/proc/vmstat` by key.
    pub vmstat: Fact<BTreeMap<String, u64>>,
    /// Counters when the configuration was last changed in this boot.
    #[serde(default)]
    pub counted: Fact<CountersSinceBoot>,
    /// `/proc/pressure/memory`.
    pub pressure: Fact<Pressure>,
    /// Transparent huge pages.
    pub thp: Fact<ThpFacts>,
}

impl MemoryFacts {
    /// One line of meminfo.
    #[must_use]
    pub fn get(&self, key: &str) -> Option<Bytes> {
        self.meminfo.value().and_then(|map| map.get(key)).copied()
    }

    /// One counter of vmstat.
    #[must_use]
    pub fn count(&self, key: &str) -> Option<u64> {
        self.vmstat.value().and_then(|map| map.get(key)).copied()
    }

    /// `MemTotal`, zero when meminfo is unreadable.
    #[must_use]
    pub fn total(&self) -> Bytes {
        self.get("MemTotal").unwrap_or_default()
    }

    /// `MemTotal` less huge pages that are set aside (`Hugetlb`), which hold nothing but what maps them: what pools and all else share.
    #[must_use]
    pub fn shared(&self) -> Bytes {
        Bytes(self.total().0.saturating_sub(self.get("Hugetlb").unwrap_or_default().0))
    }

    /// A share of [`Self::shared`] as one of `MemTotal`, of which the kernel takes zswap's limit; whole percent, 1 at least.
    #[must_use]
    pub fn percent_of_total(&self, percent: u64) -> u64 {
        let (shared, total) = (u128::from(self.shared().0), u128::from(self.total().0));
        match total {
            0 => percent,
            _ => u64::try_from(u128::from(percent) * shared / total).unwrap_or(percent).max(1),
        }
    }
}

/// Pressure-stall information for memory: shares of time in percent over 10 s, 60 s, 300 s, and the total in µs.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Pressure {
    /// Some task stalled, last 10 s.
    pub some_avg10: f64,
    /// Some task stalled, last 60 s.
    pub some_avg60: f64,
    /// Some task stalled, total µs.
    pub some_total_us: u64,
    /// All tasks stalled, last 10 s.
    pub full_avg10: f64,
    /// All tasks stalled, last 60 s.
    pub full_avg60: f64,
    /// All tasks stalled, total µs.
    pub full_total_us: u64,
}

/// Transparent huge pages as chosen by the bracketed word.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ThpFacts {
    /// `always`, `madvise`, `never`.
    pub enabled: String,
    /// `always`, `defer`, `defer+madvise`, `madvise`, `never`.
    pub defrag: String,
}
