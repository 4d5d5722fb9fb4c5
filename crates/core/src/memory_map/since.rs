//! What a configuration has brought since it was applied, from the kernel's counters.

use serde::{Deserialize, Serialize};

use super::{MemoryMap, ZramPool};
use crate::facts::Facts;
use crate::units::Bytes;

/// What was counted since an apply of this boot.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Since {
    /// Which: `apply 20261121-054801-a1b2`.
    pub by: String,
    /// When, UTC.
    pub at: String,
    /// RAM that is free at this moment because pages are compressed: what the pools hold less what they take. Negative where they take more.
    pub saved: i64,
    /// Pages that went into zswap's pool (`zswpout`).
    pub stores: u64,
    /// Pages that came back from it, each without a read of the disk (`zswpin`).
    pub loads: u64,
    /// Pages that were written to swap areas (`pswpout`), zram's among them.
    pub swap_writes: u64,
    /// Pages that were read from swap areas (`pswpin`), zram's among them.
    pub swap_reads: u64,
}

impl Since {
    /// `None` where nothing was applied in this boot, or the newest change was a rollback.
    pub(super) fn of(facts: &Facts, map: &MemoryMap) -> Option<Self> {
        let counted = facts.memory.counted.value().filter(|counted| counted.by.starts_with("apply "))?;
        // An apply of an older version kept fewer counters; nothing is said of it.
        let since = |key: &str| {
            let then = counted.vmstat.get(key).copied()?;
            facts.memory.count(key).map(|now| now.saturating_sub(then))
        };
        let pools = map.zswap.value().map(|pool| (&pool.original, &pool.ram)).into_iter();
        let zram = map.zram.iter().filter(|device| device.is_swap).map(|device: &ZramPool| (&device.original, &device.ram));
        let size = |size: Option<&Bytes>| size.map_or(0, |size| i64::try_from(size.0).unwrap_or(i64::MAX));
        let saved = pools.chain(zram).map(|(original, ram)| size(original.value()) - size(ram.value())).sum();
        Some(Self {
            by: counted.by.clone(),
            at: counted.at.clone(),
            saved,
            stores: since("zswpout").unwrap_or(0),
            loads: since("zswpin").unwrap_or(0),
            swap_writes: since("pswpout")?,
            swap_reads: since("pswpin")?,
        })
    }

    /// True when no page was swapped at all.
    #[must_use]
    pub fn is_quiet(&self) -> bool {
        [self.stores, self.loads, self.swap_writes, self.swap_reads] == [0; 4]
    }
}
