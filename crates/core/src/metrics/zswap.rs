//! zswap's pool, its traffic, and what both compressed tiers come to.

use super::MetricKind::{Counter, Gauge};
use super::{Metric, MetricUnit, Read, SampleLook, Values, quotient, row, size};
use crate::fact::Fact;
use crate::memory_map::{ZramPool, ZswapPool};
use crate::units::Bytes;

/// RAM that the kernel needs beside the pool for each page that zswap holds: `struct zswap_entry` (mm/zswap.c), 56 bytes with 64-bit
/// pointers, and its slot in the xarray.
const ZSWAP_ENTRY: f64 = 64.0;
/// Counters of stores that zswap refused, by what follows `reject_`.
const REASONS: [&str; 5] = ["compress_poor", "compress_fail", "alloc_fail", "kmemcache_fail", "reclaim_fail"];
const EMPTY: &str = "nothing is stored";

pub(super) const ROWS: &[Metric] = &[
    row(
        "zswap_enabled",
        Gauge,
        MetricUnit::None,
        "1 while zswap stores new pages, 0 while it only keeps those it has",
        Read::One(|look| {
            pool(look, |pool| Fact::known(f64::from(u8::from(pool.enabled)), "/sys/module/zswap/parameters/enabled"))
        }),
    ),
    row(
        "zswap_pool_bytes",
        Gauge,
        MetricUnit::Bytes,
        "RAM that zswap's pool takes (meminfo Zswap)",
        Read::One(|look| pool(look, |pool| size(&pool.ram))),
    ),
    row(
        "zswap_original_bytes",
        Gauge,
        MetricUnit::Bytes,
        "Size of the pages in zswap before compression (meminfo Zswapped)",
        Read::One(|look| pool(look, |pool| size(&pool.original))),
    ),
    row(
        "zswap_pool_limit_bytes",
        Gauge,
        MetricUnit::Bytes,
        "Most RAM that zswap's pool may take (MemTotal and max_pool_percent)",
        Read::One(|look| pool(look, |pool| size(&pool.limit))),
    ),
    row(
        "zswap_accept_threshold_bytes",
        Gauge,
        MetricUnit::Bytes,
        "Once its pool was full, zswap takes pages again below this (accept_threshold_percent)",
        Read::One(|look| pool(look, |pool| size(&pool.accept_below))),
    ),
    row(
        "zswap_pool_fill_ratio",
        Gauge,
        MetricUnit::Ratio,
        "zswap's pool divided by its limit: at 1 new pages go to the disk",
        Read::One(|look| pool(look, |pool| quotient(&size(&pool.ram), &size(&pool.limit), "the limit is 0"))),
    ),
    row(
        "zswap_compression_ratio",
        Gauge,
        MetricUnit::Ratio,
        "Original size of the pages in zswap divided by the RAM of its pool",
        Read::One(|look| pool(look, |pool| quotient(&size(&pool.original), &size(&pool.ram), EMPTY))),
    ),
    row(
        "zswap_incompressible_bytes",
        Gauge,
        MetricUnit::Bytes,
        "Pages that zswap stores raw (debugfs stored_incompressible_pages, since Linux 6.18)",
        Read::One(|look| pool(look, |pool| size(&pool.incompressible))),
    ),
    row(
        "zswap_incompressible_ratio",
        Gauge,
        MetricUnit::Ratio,
        "Share of the pages in zswap that are stored raw because they do not compress",
        Read::One(|look| pool(look, |pool| quotient(&size(&pool.incompressible), &size(&pool.original), EMPTY))),
    ),
    row(
        "zswap_same_filled_bytes",
        Gauge,
        MetricUnit::Bytes,
        "Pages of one repeated word, which take no room in the pool (debugfs, up to Linux 6.11)",
        Read::One(|look| pool(look, |pool| size(&pool.same_filled))),
    ),
    row(
        "zswap_out_bytes",
        Counter,
        MetricUnit::Bytes,
        "Pages that were stored in zswap (vmstat zswpout)",
        Read::One(|look| look.pages("zswpout")),
    ),
    row(
        "zswap_in_bytes",
        Counter,
        MetricUnit::Bytes,
        "Pages that were loaded from zswap (vmstat zswpin)",
        Read::One(|look| look.pages("zswpin")),
    ),
    row(
        "zswap_written_back_bytes",
        Counter,
        MetricUnit::Bytes,
        "Pages that zswap wrote to a swap area to make room (vmstat zswpwb, else debugfs)",
        Read::One(written_back),
    ),
    row(
        "zswap_rejected",
        Counter,
        MetricUnit::None,
        "Stores that zswap refused, by reason (debugfs reject_*)",
        Read::Each("reason", rejected),
    ),
    row(
        "zswap_pool_limit_hits",
        Counter,
        MetricUnit::None,
        "How often the pool was found full (debugfs pool_limit_hit)",
        Read::One(|look| look.debug("pool_limit_hit")),
    ),
    row(
        "compressed_original_bytes",
        Gauge,
        MetricUnit::Bytes,
        "Size before compression of all pages in zswap and zram",
        Read::One(original),
    ),
    row(
        "compressed_metadata_bytes",
        Gauge,
        MetricUnit::Bytes,
        "RAM of the tables beside the pools, estimated: 64 B for each page in zswap, 16 B for each page of a zram device's size",
        Read::One(|look| original(look).and_then(|_| Ok(metadata(look)))),
    ),
    row(
        "compressed_effective_ratio",
        Gauge,
        MetricUnit::Ratio,
        "Original size of all compressed pages divided by the RAM of pools and tables",
        Read::One(|look| quotient(&original(look), &taken(look), EMPTY)),
    ),
    row(
        "ram_saved_bytes",
        Gauge,
        MetricUnit::Bytes,
        "Original size of all compressed pages less the RAM of pools and tables; below 0 compression costs RAM",
        Read::One(|look| {
            let taken = taken(look).value().copied().unwrap_or_default();
            original(look).map(|original| original - taken)
        }),
    ),
];

fn pool(look: &SampleLook<'_>, pick: fn(&ZswapPool) -> Fact<f64>) -> Fact<f64> {
    match &look.map.zswap {
        Fact::Known { value, .. } => pick(value),
        Fact::Absent { absent } => Fact::absent(absent.clone()),
    }
}

/// Before Linux 6.8 only debugfs counts them.
fn written_back(look: &SampleLook<'_>) -> Fact<f64> {
    let counted = look.pages("zswpwb");
    if counted.is_known() { counted } else { look.debug("written_back_pages").map(|pages| pages * look.page()) }
}

/// Reasons that this kernel counts; with none of them, one value without a name that says why.
fn rejected(look: &SampleLook<'_>) -> Values {
    let counted = |reason: &&str| ((*reason).to_owned(), look.debug(&format!("reject_{reason}")));
    let found: Values = REASONS.iter().map(counted).filter(|(_, count)| count.is_known()).collect();
    if found.is_empty() { vec![(String::new(), look.debug("reject_alloc_fail"))] } else { found }
}

/// What both compressed tiers hold. Absent when what zswap holds is not known, for then the sum is not either.
fn original(look: &SampleLook<'_>) -> Fact<f64> {
    let zram: u64 = look.map.zram.iter().filter_map(|device| device.original.value()).map(|bytes| bytes.0).sum();
    match &look.map.zswap {
        Fact::Known { value, .. } => size(&value.original).map(|zswap| zswap + zram as f64),
        Fact::Absent { absent } if look.map.zram.is_empty() => Fact::absent(absent.clone()),
        Fact::Absent { .. } => Fact::known(zram as f64, "zram mm_stat orig_data_size"),
    }
}

fn metadata(look: &SampleLook<'_>) -> f64 {
    let page = look.page().max(1.0);
    let zswap = look.map.zswap.value().and_then(|pool| pool.original.value()).map_or(0, |Bytes(bytes)| *bytes);
    let page_size = Bytes(page as u64);
    let tables: u64 = look.map.zram.iter().map(|device| ZramPool::table(device.disksize, page_size).0).sum();
    zswap as f64 / page * ZSWAP_ENTRY + tables as f64
}

fn taken(look: &SampleLook<'_>) -> Fact<f64> {
    look.map.ram.clone().map(|ram| ram.compressed_pool.0 as f64 + metadata(look))
}
