//! What a configuration has brought since it was applied, from the kernel's counters.

use serde::{Deserialize, Serialize};

use super::{MemoryMap, ZramPool};
use crate::facts::{Facts, SwapArea};
use crate::measurement::{Evidence, MeasuredAnswer};
use crate::stats::Nanos;
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
    /// What compressing took; absent where it was not measured what one page takes.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub spent: Option<PoolTime>,
}

/// Processor time of pages on their way into the pools and back: counted pages, times what one was measured to take on this machine. The
/// kernel counts no such time itself.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct PoolTime {
    /// In all.
    pub time: Nanos,
    /// A page out, allocation and the kernel's own part of the path included.
    pub store: Nanos,
    /// A page back.
    pub load: Nanos,
    /// The results that this rests on.
    pub source: String,
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
            spent: None,
        })
    }

    /// What compressing took, where one page was measured on this machine.
    pub(super) fn spent(&self, map: &MemoryMap, evidence: &Evidence) -> Option<PoolTime> {
        let zswap = map.zswap.value().and_then(|pool| pool.compressor.value()).filter(|_| self.stores + self.loads > 0);
        let zram = map.zram.iter().find(|device| device.is_swap).and_then(|device| device.compressor.value());
        // With a disk beside it the counters do not say which pages zram took.
        let zram = zram.filter(|_| map.swap.areas.iter().all(SwapArea::is_zram));
        let (MeasuredAnswer { value: cost, source }, out, back) = match (zswap, zram) {
            (Some(name), _) => (evidence.zswap_cost(name)?, self.stores, self.loads),
            (None, Some(name)) => (evidence.zram_cost(name)?, self.swap_writes, self.swap_reads),
            (None, None) => return None,
        };
        let time = cost.store.0.saturating_mul(out).saturating_add(cost.load.0.saturating_mul(back));
        Some(PoolTime { time: Nanos(time), store: cost.store, load: cost.load, source })
    }

    /// True when no page was swapped at all.
    #[must_use]
    pub fn is_quiet(&self) -> bool {
        [self.stores, self.loads, self.swap_writes, self.swap_reads] == [0; 4]
    }
}
