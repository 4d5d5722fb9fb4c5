//! Swap areas, and the traffic by tier.

use super::MetricKind::{Counter, Gauge};
use super::{Metric, MetricUnit, Read, SampleLook, Values, row};
use crate::fact::Fact;
use crate::facts::SwapArea;
use crate::parse::block_stat::BlockStat;

/// Tiers with the counters of vmstat for the way in and the way out.
const TIERS: [(&str, &str, &str); 3] =
    [("zswap", "zswpin", "zswpout"), ("zero", "swpin_zero", "swpout_zero"), ("device", "pswpin", "pswpout")];

pub(super) const ROWS: &[Metric] = &[
    row(
        "swap_in_bytes",
        Counter,
        MetricUnit::Bytes,
        "Pages that came back, by tier: from zswap, as zero pages that take no room, from a device (vmstat)",
        Read::Each("tier", |look| tiers(look, |(_, counter, _)| counter)),
    ),
    row(
        "swap_out_bytes",
        Counter,
        MetricUnit::Bytes,
        "Pages that left RAM, by tier: into zswap, as zero pages that take no room, to a device, write-back included (vmstat)",
        Read::Each("tier", |look| tiers(look, |(_, _, counter)| counter)),
    ),
    row(
        "swap_resident_bytes",
        Gauge,
        MetricUnit::Bytes,
        "Where swapped memory is now: in zswap, in zram, at most this much on disks",
        Read::Each("tier", resident),
    ),
    row(
        "area_size_bytes",
        Gauge,
        MetricUnit::Bytes,
        "Size of a swap area (/proc/swaps)",
        Read::Each("area", |look| areas(look, |area| area.size.0)),
    ),
    row(
        "area_used_bytes",
        Gauge,
        MetricUnit::Bytes,
        "Slots in use of a swap area, those of pages in zswap included (/proc/swaps)",
        Read::Each("area", |look| areas(look, |area| area.used.0)),
    ),
    row(
        "area_read_bytes",
        Counter,
        MetricUnit::Bytes,
        "What was read from the device of a swap area, by anybody (/sys/class/block/*/stat)",
        Read::Each("area", |look| disks(look, |stat| stat.read.0 as f64)),
    ),
    row(
        "area_written_bytes",
        Counter,
        MetricUnit::Bytes,
        "What was written to the device of a swap area, by anybody (/sys/class/block/*/stat)",
        Read::Each("area", |look| disks(look, |stat| stat.written.0 as f64)),
    ),
    row(
        "area_read_latency_seconds",
        Gauge,
        MetricUnit::Seconds,
        "Mean time of a read of an area's device between two samples",
        Read::Each("area", |look| latency(look, |stat| (stat.reads, stat.read_ms))),
    ),
    row(
        "area_write_latency_seconds",
        Gauge,
        MetricUnit::Seconds,
        "Mean time of a write of an area's device between two samples",
        Read::Each("area", |look| latency(look, |stat| (stat.writes, stat.write_ms))),
    ),
];

type TierRow = (&'static str, &'static str, &'static str);

fn tiers(look: &SampleLook<'_>, counter: fn(TierRow) -> &'static str) -> Values {
    TIERS.iter().map(|tier| (tier.0.to_owned(), look.pages(counter(*tier)))).collect()
}

fn resident(look: &SampleLook<'_>) -> Values {
    let zswap = match &look.map.zswap {
        Fact::Known { value, .. } => super::size(&value.original),
        Fact::Absent { absent } => Fact::absent(absent.clone()),
    };
    let held: u64 = look
        .map
        .zram
        .iter()
        .filter(|device| device.is_swap)
        .filter_map(|device| device.original.value())
        .map(|bytes| bytes.0)
        .sum();
    vec![
        ("zswap".to_owned(), zswap),
        ("zram".to_owned(), Fact::known(held as f64, "zram mm_stat orig_data_size")),
        (
            "disk".to_owned(),
            Fact::known(look.map.swap.on_disk_at_most.0 as f64, "/proc/swaps less zswap, at most vmstat pswpout"),
        ),
    ]
}

fn areas(look: &SampleLook<'_>, pick: fn(&SwapArea) -> u64) -> Values {
    let value = |area: &SwapArea| (area.path.clone(), Fact::known(pick(area) as f64, "/proc/swaps"));
    look.map.swap.areas.iter().map(value).collect()
}

fn disks(look: &SampleLook<'_>, pick: fn(&BlockStat) -> f64) -> Values {
    let value = |area: &SwapArea| (area.path.clone(), stat(look, area).map(|stat| pick(&stat)));
    look.map.swap.areas.iter().map(value).collect()
}

/// Counters of the device below an area.
fn stat(look: &SampleLook<'_>, area: &SwapArea) -> Fact<BlockStat> {
    let name = match &area.device {
        Fact::Known { value, .. } => value,
        Fact::Absent { absent } => return Fact::absent(absent.clone()),
    };
    let path = format!("/sys/class/block/{name}/stat");
    match look.now.disks.get(name) {
        Some(stat) => Fact::known(*stat, path),
        None => Fact::absent(format!("{path} could not be read")),
    }
}

fn latency(look: &SampleLook<'_>, pick: fn(&BlockStat) -> (u64, u64)) -> Values {
    let mean = |area: &SwapArea| {
        let now = stat(look, area);
        let Some(was) = look.before.as_ref().and_then(|before| stat(before, area).value().copied()) else {
            return now.and_then(|_| Err("a mean between samples needs two".to_owned()));
        };
        now.and_then(|now| {
            let ((count, ms), (count_was, ms_was)) = (pick(&now), pick(&was));
            match (count.checked_sub(count_was), ms.checked_sub(ms_was)) {
                (Some(0), _) => Err("no request ended between the two samples".to_owned()),
                (Some(count), Some(ms)) => Ok(ms as f64 / 1e3 / count as f64),
                _ => Err("it began anew between the two samples".to_owned()),
            }
        })
    };
    look.map.swap.areas.iter().map(|area| (area.path.clone(), mean(area))).collect()
}
