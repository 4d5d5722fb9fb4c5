//! Compressed pools: zswap's, and one per zram device.
//!
//! zswap shows its size to everybody since Linux 5.19 (`/proc/meminfo`, `Zswap` and `Zswapped`); before that only
//! debugfs has it, which needs root. zram's `mm_stat` is readable by all.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use super::ratio::{PlanningRatio, Ratio};
use crate::fact::Fact;
use crate::facts::{Facts, ZramDevice, ZswapFacts};
use crate::units::Bytes;

/// zswap's pool.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ZswapPool {
    /// New pages are stored. Stored ones stay when it is switched off.
    pub enabled: bool,
    /// Compressor for new pages.
    pub compressor: Fact<String>,
    /// RAM that the pool takes, allocator overhead included (meminfo `Zswap`, debugfs `pool_total_size`).
    pub ram: Fact<Bytes>,
    /// What is stored, uncompressed (meminfo `Zswapped`, debugfs `stored_pages` × page size).
    pub original: Fact<Bytes>,
    /// `original` ÷ `ram`, same-filled and incompressible pages included.
    pub ratio: Fact<Ratio>,
    /// Uncompressed size of same-filled pages, which take no room in the pool (debugfs, up to Linux 6.11).
    pub same_filled: Fact<Bytes>,
    /// Size of pages that are stored raw because they do not compress (debugfs, since Linux 6.18).
    pub incompressible: Fact<Bytes>,
    /// Most RAM that the pool may take: MemTotal × `max_pool_percent`.
    pub limit: Fact<Bytes>,
    /// Once the limit was hit, pages are accepted again below this: `limit` × `accept_threshold_percent`.
    pub accept_below: Fact<Bytes>,
    /// The ratio that forecasts use.
    pub planning: PlanningRatio,
}

/// One zram device.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ZramPool {
    /// `zram0`.
    pub name: String,
    /// True when it is an active swap area.
    pub is_swap: bool,
    /// The compressor, by the kernel's name.
    pub compressor: Fact<String>,
    /// Uncompressed capacity.
    pub disksize: Bytes,
    /// RAM that it takes (mm_stat `mem_used_total`).
    pub ram: Fact<Bytes>,
    /// What is stored, uncompressed, same-filled pages included (mm_stat `orig_data_size`).
    pub original: Fact<Bytes>,
    /// `original` ÷ `ram`.
    pub ratio: Fact<Ratio>,
    /// Uncompressed size of same-filled pages (mm_stat `same_pages` × page size).
    pub same_filled: Fact<Bytes>,
    /// Size of pages that do not compress (mm_stat `huge_pages` × page size).
    pub incompressible: Fact<Bytes>,
    /// Most RAM it may take; absent when there is no limit.
    pub limit: Fact<Bytes>,
    /// The ratio that forecasts use.
    pub planning: PlanningRatio,
}

impl ZramPool {
    /// RAM that a device of this size takes as soon as it has it: `struct zram_table_entry` of each page (drivers/block/zram/zram_drv.h), 16
    /// bytes, and 8 more where the kernel keeps when a page was used. A device of 47 GiB took 188 MiB of Linux 6.18.
    #[must_use]
    pub fn table(disksize: Bytes, page_size: Bytes) -> Bytes {
        Bytes(disksize.0 / page_size.0.max(1) * 16)
    }
}

impl ZswapPool {
    pub(super) fn from_facts(facts: &Facts, zswap: &ZswapFacts, zram_ram: Bytes) -> Self {
        let page = facts.kernel.page_size;
        let ram = pool_ram(facts, zswap, zram_ram);
        let original = sized(facts, zswap, "Zswapped", "stored_pages", page);
        let ratio = ratio(&original, &ram);
        let compressor = parameter(zswap, "compressor");
        let pages = pages(&original, page);
        let limit = limit(facts, zswap);
        Self {
            enabled: zswap.enabled,
            planning: PlanningRatio::choose(
                ratio.value().copied(),
                pages,
                compressor.value().map(String::as_str),
                zswap.parameter("zpool"),
            ),
            accept_below: limit.clone().and_then(|limit| {
                let percent = percent(zswap, "accept_threshold_percent")?;
                Ok(limit.percent(percent))
            }),
            same_filled: gauge(
                zswap,
                "same_filled_pages",
                page,
                "since Linux 6.12 zero pages are marked in the swap map, which has no gauge",
            ),
            incompressible: gauge(
                zswap,
                "stored_incompressible_pages",
                page,
                "up to Linux 6.17 zswap refuses pages that do not compress",
            ),
            compressor,
            ram,
            original,
            ratio,
            limit,
        }
    }
}

impl ZramPool {
    pub(super) fn from_facts(facts: &Facts, device: &ZramDevice) -> Self {
        let page = facts.kernel.page_size;
        let stat =
            |pick: fn(&crate::facts::ZramMmStat) -> u64, unit: Bytes| device.mm_stat.clone().map(|stat| times(pick(&stat), unit));
        let ram = stat(|stat| stat.mem_used_total.0, Bytes(1));
        let original = stat(|stat| stat.orig_data_size.0, Bytes(1));
        let ratio = ratio(&original, &ram);
        let path = format!("/dev/{}", device.name);
        Self {
            name: device.name.clone(),
            is_swap: facts.swaps.iter().any(|area| area.path == path),
            disksize: device.disksize,
            same_filled: stat(|stat| stat.same_pages, page),
            incompressible: stat(|stat| stat.huge_pages, page),
            limit: device.mm_stat.clone().and_then(|stat| match stat.mem_limit {
                Bytes(0) => Err("no limit is set".into()),
                limit => Ok(limit),
            }),
            planning: PlanningRatio::choose(
                ratio.value().copied(),
                pages(&original, page),
                device.algorithm.value().map(String::as_str),
                None,
            ),
            compressor: device.algorithm.clone(),
            ram,
            original,
            ratio,
        }
    }
}

/// `count` things of this size.
fn times(count: u64, unit: Bytes) -> Bytes {
    Bytes(count.saturating_mul(unit.0))
}

fn pages(size: &Fact<Bytes>, page: Bytes) -> u64 {
    size.value().map_or(0, |size| size.0 / page.0.max(1))
}

fn ratio(original: &Fact<Bytes>, ram: &Fact<Bytes>) -> Fact<Ratio> {
    match (original, ram) {
        (Fact::Absent { absent }, _) | (_, Fact::Absent { absent }) => Fact::absent(absent.clone()),
        (Fact::Known { value: original, source }, Fact::Known { value: ram, source: below }) => {
            match (Ratio::of(*original, *ram), original.0) {
                (Some(ratio), _) => Fact::known(ratio, format!("{source} ÷ {below}")),
                (None, 0) => Fact::absent("nothing is stored"),
                (None, _) => Fact::absent("what is stored is same-filled and takes no RAM"),
            }
        }
    }
}

fn parameter(zswap: &ZswapFacts, name: &str) -> Fact<String> {
    let path = format!("/sys/module/zswap/parameters/{name}");
    match zswap.parameter(name) {
        Some(value) => Fact::known(value.to_owned(), path),
        None => Fact::absent(format!("{path} is not there")),
    }
}

fn percent(zswap: &ZswapFacts, name: &str) -> Result<u64, String> {
    let text = zswap.parameter(name).ok_or_else(|| format!("this kernel has no zswap.{name}"))?;
    text.trim().parse().map_err(|_| format!("zswap.{name} is `{text}`, not a number"))
}

/// `totalram_pages() * max_pool_percent / 100`, as mm/zswap.c computes it. Nothing caps the percentage at 100.
fn limit(facts: &Facts, zswap: &ZswapFacts) -> Fact<Bytes> {
    let Some(total) = facts.memory.get("MemTotal") else {
        return Fact::absent(facts.memory.meminfo.source());
    };
    match percent(zswap, "max_pool_percent") {
        Ok(percent) => Fact::known(total.percent(percent), "MemTotal × zswap.max_pool_percent"),
        Err(why) => Fact::absent(why),
    }
}

/// A size that meminfo has since 5.19 and debugfs always has, for root.
fn sized(facts: &Facts, zswap: &ZswapFacts, line: &str, counter: &str, unit: Bytes) -> Fact<Bytes> {
    if let Some(size) = facts.memory.get(line) {
        return Fact::known(size, format!("/proc/meminfo {line}"));
    }
    match zswap.counters.value().and_then(|counters| counters.get(counter)) {
        Some(count) => Fact::known(times(*count, unit), format!("debugfs zswap/{counter}")),
        None => Fact::absent(format!(
            "/proc/meminfo has {line} since Linux 5.19, and debugfs: {}",
            why_no_counter(&zswap.counters, counter)
        )),
    }
}

fn why_no_counter(counters: &Fact<BTreeMap<String, u64>>, counter: &str) -> String {
    match counters {
        Fact::Known { .. } => format!("there is no {counter}"),
        Fact::Absent { absent } => absent.clone(),
    }
}

/// The pool's RAM; on old kernels without root, from the count of all zsmalloc pages less those of zram.
fn pool_ram(facts: &Facts, zswap: &ZswapFacts, zram_ram: Bytes) -> Fact<Bytes> {
    let direct = sized(facts, zswap, "Zswap", "pool_total_size", Bytes(1));
    let zspages = facts.memory.count("nr_zspages").filter(|_| zswap.parameter("zpool") == Some("zsmalloc"));
    match (&direct, zspages) {
        (Fact::Absent { .. }, Some(count)) => {
            let all = times(count, facts.kernel.page_size);
            Fact::known(Bytes(all.0.saturating_sub(zram_ram.0)), "/proc/vmstat nr_zspages less what zram takes")
        }
        _ => direct,
    }
}

/// A debugfs gauge in pages that only some kernels have.
fn gauge(zswap: &ZswapFacts, name: &str, page: Bytes, elsewhere: &str) -> Fact<Bytes> {
    match &zswap.counters {
        Fact::Absent { absent } => Fact::absent(absent.clone()),
        Fact::Known { value, .. } => match value.get(name) {
            Some(count) => Fact::known(times(*count, page), format!("debugfs zswap/{name}")),
            None => Fact::absent(format!("no debugfs zswap/{name} here: {elsewhere}")),
        },
    }
}
