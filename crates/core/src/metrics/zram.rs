//! zram devices.

use super::MetricKind::Gauge;
use super::{Metric, MetricUnit, Read, SampleLook, quotient, row, size};
use crate::fact::Fact;
use crate::memory_map::ZramPool;

pub(super) const ROWS: &[Metric] = &[
    row(
        "zram_size_bytes",
        Gauge,
        MetricUnit::Bytes,
        "Uncompressed capacity of a zram device (disksize)",
        Read::Each("device", |look| each(look, |device| Fact::known(device.disksize.0 as f64, "disksize"))),
    ),
    row(
        "zram_original_bytes",
        Gauge,
        MetricUnit::Bytes,
        "Size before compression of what a zram device holds (mm_stat orig_data_size)",
        Read::Each("device", |look| each(look, |device| size(&device.original))),
    ),
    row(
        "zram_pool_bytes",
        Gauge,
        MetricUnit::Bytes,
        "RAM that a zram device takes, allocator overhead included (mm_stat mem_used_total)",
        Read::Each("device", |look| each(look, |device| size(&device.ram))),
    ),
    row(
        "zram_limit_bytes",
        Gauge,
        MetricUnit::Bytes,
        "Most RAM that a zram device may take (mm_stat mem_limit)",
        Read::Each("device", |look| each(look, |device| size(&device.limit))),
    ),
    row(
        "zram_compression_ratio",
        Gauge,
        MetricUnit::Ratio,
        "Original size of what a zram device holds divided by the RAM it takes",
        Read::Each("device", |look| {
            each(look, |device| quotient(&size(&device.original), &size(&device.ram), "nothing is stored"))
        }),
    ),
    row(
        "zram_incompressible_bytes",
        Gauge,
        MetricUnit::Bytes,
        "Pages that a zram device stores raw (mm_stat huge_pages)",
        Read::Each("device", |look| each(look, |device| size(&device.incompressible))),
    ),
    row(
        "zram_same_filled_bytes",
        Gauge,
        MetricUnit::Bytes,
        "Pages of one repeated word, which take no room in a zram device (mm_stat same_pages)",
        Read::Each("device", |look| each(look, |device| size(&device.same_filled))),
    ),
];

/// Devices that are set up.
fn each(look: &SampleLook<'_>, pick: fn(&ZramPool) -> Fact<f64>) -> Vec<(String, Fact<f64>)> {
    look.map.zram.iter().filter(|device| device.disksize.0 > 0).map(|device| (device.name.clone(), pick(device))).collect()
}
