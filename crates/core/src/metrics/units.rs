//! Control groups: systemd's units, and others by path.

use super::MetricKind::{Counter, Gauge};
use super::{Metric, MetricUnit, Read, SampleLook, UnitUse, row};
use crate::fact::Fact;

pub(super) const ROWS: &[Metric] = &[
    row(
        "unit_swap_bytes",
        Gauge,
        MetricUnit::Bytes,
        "Swap slots of a unit, those of pages in zswap included (memory.swap.current)",
        Read::Each("unit", |look| each(look, "memory.swap.current", |unit| unit.swap.map(|bytes| bytes.0 as f64))),
    ),
    row(
        "unit_zswap_bytes",
        Gauge,
        MetricUnit::Bytes,
        "Compressed bytes of a unit in zswap's pool (memory.zswap.current)",
        Read::Each("unit", |look| each(look, "memory.zswap.current", |unit| unit.pool.map(|bytes| bytes.0 as f64))),
    ),
    row(
        "unit_refault_bytes",
        Counter,
        MetricUnit::Bytes,
        "Pages of a unit that came back soon after they left RAM (memory.stat workingset_refault_*)",
        Read::EachWithRate(
            "unit",
            |look| bytes(look, |unit| unit.refaults.map(|pages| pages as f64)),
            |look| bytes(look, |unit| unit.refaults_per_second),
        ),
    ),
];

/// Pages of memory.stat in bytes.
fn bytes(look: &SampleLook<'_>, pick: fn(&UnitUse) -> Option<f64>) -> Vec<(String, Fact<f64>)> {
    let page = look.page();
    let pages = each(look, "memory.stat", pick);
    pages.into_iter().map(|(unit, pages)| (unit, pages.map(|pages| pages * page))).collect()
}

/// Units of which this file was read.
fn each(look: &SampleLook<'_>, file: &str, pick: fn(&UnitUse) -> Option<f64>) -> Vec<(String, Fact<f64>)> {
    let units = look.now.units.value().map(Vec::as_slice).unwrap_or_default();
    units.iter().filter_map(|unit| Some((unit.name.clone(), Fact::known(pick(unit)?, file)))).collect()
}
