//! The model behind `status`: what memory really is.
//!
//! RAM is divided into parts that add up to MemTotal exactly; the compressed pools, which the kernel counts under no
//! process, are one of them. Beside RAM stand the pools with what they hold, the swap areas, and the capacity that all
//! this makes. Everything is a function of [`Facts`]; with root some absent values become known, nothing else changes.

mod advice;
mod capacity;
mod pools;
mod ratio;
mod since;
#[cfg(test)]
mod tests;

use serde::{Deserialize, Serialize};

pub use advice::Advice;
pub use capacity::Capacity;
pub use pools::{ZramPool, ZswapPool};
pub use ratio::{PAGES_TO_TRUST, PlanningRatio, Ratio, RatioBasis};
pub use since::{PoolTime, Since};

use crate::control::DaemonReport;
use crate::fact::Fact;
use crate::facts::{Facts, MemoryFacts, SwapArea};
use crate::measurement::{Evidence, MeasuredAnswer};
use crate::units::Bytes;

/// What memory is at one moment.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct MemoryMap {
    /// RAM in parts; absent when meminfo is.
    pub ram: Fact<Ram>,
    /// zswap's pool; absent when the kernel has no zswap.
    pub zswap: Fact<ZswapPool>,
    /// zram devices, also those that are not swap.
    pub zram: Vec<ZramPool>,
    /// Swap areas.
    pub swap: SwapUse,
    /// What this machine can hold; absent when meminfo is.
    pub capacity: Fact<Capacity>,
    /// What the configuration has brought since it was applied; absent where none was applied in this boot.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub since: Option<Since>,
    /// What the daemon does and what came of it; absent where none runs and none should.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub daemon: Option<DaemonReport>,
    /// The one thing to do first, if anything is wrong.
    pub advice: Option<Advice>,
}

/// RAM in parts that add up to `total`. All from `/proc/meminfo` unless said otherwise.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Ram {
    /// `MemTotal`: what the kernel manages, not what is soldered in.
    pub total: Bytes,
    /// `MemFree`.
    pub free: Bytes,
    /// RAM of zswap (`Zswap`) and of all zram devices (`mm_stat`); what cannot be read is in `other`.
    pub compressed_pool: Bytes,
    /// Memory of processes that is not in the page cache and not compressed: `AnonPages` + `Shmem`.
    pub applications: Bytes,
    /// Huge pages set aside for hugetlbfs: `Hugetlb`.
    pub huge_pages: Bytes,
    /// `Slab`, other reclaimable kernel memory, page tables, `Percpu`, and the larger of `VmallocUsed` and
    /// `KernelStack`, since stacks are usually vmalloc memory themselves.
    pub kernel: Bytes,
    /// `Cached` + `Buffers` − `Shmem`.
    pub page_cache: Bytes,
    /// The rest: pages that drivers took directly, swap-cache pages that no process maps, per-CPU lists, and the error of
    /// counters that are read at slightly different moments.
    pub other: Bytes,
    /// `MemAvailable`: an estimate that overlaps the parts; `None` when this kernel does not say.
    pub available: Option<Bytes>,
    /// `SwapCached`: pages in RAM that also keep a swap slot; overlaps `applications` and `other`.
    pub swap_cached: Option<Bytes>,
}

impl Ram {
    /// The parts with their names, in display order. They add up to `total`.
    #[must_use]
    pub fn parts(&self) -> [(&'static str, Bytes); 7] {
        [
            ("applications", self.applications),
            ("page cache", self.page_cache),
            ("kernel", self.kernel),
            ("compressed pool", self.compressed_pool),
            ("huge pages", self.huge_pages),
            ("other", self.other),
            ("free", self.free),
        ]
    }

    fn from_memory(memory: &MemoryFacts, compressed: Bytes) -> Option<Self> {
        let total = memory.get("MemTotal")?;
        let line = |key: &str| memory.get(key).unwrap_or_default().0;
        let shared = line("Shmem");
        let reclaimable = line("KReclaimable").saturating_sub(line("SReclaimable"));
        let stacks = line("VmallocUsed").max(line("KernelStack"));
        // Counters move while they are read. What exceeds the total is cut from the least certain part: the last.
        let mut left = total;
        let mut take = |parts: &[u64]| {
            let sum = parts.iter().fold(0_u64, |sum, part| sum.saturating_add(*part)).min(left.0);
            left.0 -= sum;
            Bytes(sum)
        };
        let mut ram = Self {
            total,
            free: take(&[line("MemFree")]),
            compressed_pool: take(&[compressed.0]),
            applications: take(&[line("AnonPages"), shared]),
            huge_pages: take(&[line("Hugetlb")]),
            kernel: take(&[line("Slab"), reclaimable, line("PageTables"), line("SecPageTables"), line("Percpu"), stacks]),
            page_cache: take(&[(line("Cached").saturating_add(line("Buffers"))).saturating_sub(shared)]),
            available: memory.get("MemAvailable"),
            swap_cached: memory.get("SwapCached"),
            other: Bytes(0),
        };
        ram.other = left;
        Some(ram)
    }
}

/// Swap areas and their slots. A slot in use does not mean a page on the disk.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct SwapUse {
    /// The areas as `/proc/swaps` has them, in the order in which they are filled: highest priority first.
    pub areas: Vec<SwapArea>,
    /// Size of all areas.
    pub total: Bytes,
    /// Slots in use of all areas, in bytes.
    pub used: Bytes,
    /// Slots in use that are not on zram.
    pub used_disk_slots: Bytes,
    /// At most this much is really on disks: slots in use that are not on zram, less the pages that are in zswap, and
    /// no more than was ever written (`pswpout`). The kernel cannot say it exactly: zero pages and pages that are back
    /// in RAM keep their slots too.
    pub on_disk_at_most: Bytes,
    /// Pages that went to swap devices other than by zswap's own write-back since boot (vmstat `pswpout` − `zswpwb`):
    /// with zswap on, stores that it refused. Absent before Linux 6.8, where write-back is not counted.
    pub past_zswap: Fact<Bytes>,
}

impl SwapUse {
    fn from_facts(facts: &Facts, zswapped: Bytes) -> Self {
        let mut areas = facts.swaps.clone();
        areas.sort_by_key(|area| std::cmp::Reverse(area.priority));
        let sum = |pick: fn(&SwapArea) -> Bytes, keep: fn(&SwapArea) -> bool| {
            Bytes(areas.iter().filter(|area| keep(area)).map(|area| pick(area).0).sum())
        };
        let used = sum(|area| area.used, |_| true);
        let used_disk_slots = sum(|area| area.used, |area| !area.is_zram());
        // Pages in zswap may keep slots of zram; at least the rest of them keep slots of disks.
        let zram_slots = used.0 - used_disk_slots.0;
        let without_zswap = used_disk_slots.0.saturating_sub(zswapped.0.saturating_sub(zram_slots));
        let page = facts.kernel.page_size.0;
        let written = facts.memory.count("pswpout").map_or(u64::MAX, |pages| pages.saturating_mul(page));
        Self {
            total: sum(|area| area.size, |_| true),
            used,
            used_disk_slots,
            on_disk_at_most: Bytes(without_zswap.min(written)),
            past_zswap: past_zswap(facts, page),
            areas,
        }
    }

    /// Size of the areas that lie on disks.
    #[must_use]
    pub fn disk_total(&self) -> Bytes {
        Bytes(self.areas.iter().filter(|area| !area.is_zram()).map(|area| area.size.0).sum())
    }
}

fn past_zswap(facts: &Facts, page: u64) -> Fact<Bytes> {
    match (facts.memory.count("pswpout"), facts.memory.count("zswpwb")) {
        (Some(out), Some(back)) => {
            Fact::known(Bytes(out.saturating_sub(back).saturating_mul(page)), "/proc/vmstat pswpout − zswpwb")
        }
        (None, _) => Fact::absent("/proc/vmstat has no pswpout"),
        (_, None) => Fact::absent("/proc/vmstat has no zswpwb: zswap's write-back is counted since Linux 6.8"),
    }
}

impl MemoryMap {
    /// The map of a machine.
    #[must_use]
    pub fn from_facts(facts: &Facts) -> Self {
        let zram: Vec<_> = facts.zram.devices.iter().map(|device| ZramPool::from_facts(facts, device)).collect();
        let zram_ram = Bytes(zram.iter().filter_map(|device| device.ram.value()).map(|ram| ram.0).sum());
        let zswap = facts.zswap.clone().map(|zswap| ZswapPool::from_facts(facts, &zswap, zram_ram));
        let known =
            |pick: fn(&ZswapPool) -> &Fact<Bytes>| zswap.value().and_then(|pool| pick(pool).value()).copied().unwrap_or_default();
        let (pool, zswapped) = (known(|pool| &pool.ram), known(|pool| &pool.original));
        let compressed = Bytes(zram_ram.0.saturating_add(pool.0));
        let swap = SwapUse::from_facts(facts, zswapped);
        let ram = match Ram::from_memory(&facts.memory, compressed) {
            Some(ram) => Fact::known(ram, facts.memory.meminfo.source()),
            None => Fact::absent(format!("no MemTotal: {}", facts.memory.meminfo.source())),
        };
        let mut map = Self { ram, zswap, zram, swap, capacity: Fact::absent(""), since: None, daemon: None, advice: None };
        map.capacity = map.ram.clone().map(|_| map.capacity_with(Bytes(0)));
        map.since = Since::of(facts, &map);
        map.advice = advice::first(facts, &map);
        map
    }

    /// The same with what compressing took since the apply, where it was measured on this machine what a page takes.
    #[must_use]
    pub fn with_costs(mut self, evidence: &Evidence) -> Self {
        if let Some(mut since) = self.since.take() {
            since.spent = since.spent(&self, evidence);
            self.since = Some(since);
        }
        self
    }

    /// The same with what a daemon says of itself.
    #[must_use]
    pub fn with_daemon(self, daemon: Option<DaemonReport>) -> Self {
        Self { daemon, ..self }
    }

    /// The map with ratios that were measured before, by compressor and allocator, in the place of assumed ones; `zpool` is zswap's.
    #[must_use]
    pub fn with_ratios(mut self, zpool: &str, known: impl Fn(&str, &str) -> Option<MeasuredAnswer<f64>>) -> Self {
        let take = |planning: &mut PlanningRatio, compressor: &Fact<String>, allocator: &str| {
            let measured = compressor.value().and_then(|compressor| known(compressor, allocator));
            if let Some(measured) = measured.filter(|_| !planning.is_measured()) {
                *planning = PlanningRatio::of_a_run(measured);
            }
        };
        if let Fact::Known { value: pool, .. } = &mut self.zswap {
            take(&mut pool.planning, &pool.compressor, zpool);
        }
        self.zram.iter_mut().for_each(|device| take(&mut device.planning, &device.compressor, "zsmalloc"));
        self.capacity = self.ram.clone().map(|_| self.capacity_with(Bytes(0)));
        self
    }

    /// How much more disk swap it takes for so much to fit; `None` where none is missing, or none would do.
    #[must_use]
    pub fn swap_that_holds(&self, total: Bytes) -> Option<Bytes> {
        const ROUNDS: usize = 64;
        let mut more = Bytes(0);
        for _ in 0..ROUNDS {
            let missing = total.0.saturating_sub(self.capacity_with(more).total.0);
            if missing == 0 {
                return Some(more).filter(|more| more.0 > 0);
            }
            // Of an area that zswap holds a part of in RAM less than its size is won, so the rest is asked for again.
            more = Bytes::from_mib(more.0.saturating_add(missing).div_ceil(1 << 20));
        }
        None
    }

    fn capacity_with(&self, more_swap: Bytes) -> Capacity {
        let ram = self.ram.value().map_or(Bytes(0), |ram| Bytes(ram.total.0 - ram.huge_pages.0));
        let swap = Bytes(self.swap.disk_total().0.saturating_add(more_swap.0));
        Capacity::new(ram, swap, self.zswap.value(), &self.zram)
    }
}
