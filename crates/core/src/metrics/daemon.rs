//! What the daemon does and what came of it, by its own account; the kernel's counters of the same are in the other families.

use super::MetricKind::{Counter, Gauge};
use super::{Metric, MetricKind, MetricUnit, Read, SampleLook, row};
use crate::control::{DaemonReport, Mode};
use crate::fact::Fact;

pub(super) const ROWS: &[Metric] = &[
    one(
        "daemon_running",
        Gauge,
        MetricUnit::None,
        "1 while `swaptune daemon` runs, paused or not; 0 when it has ended",
        |look| said(look, |report| f64::from(u8::from(report.mode.is_running()))),
    ),
    one(
        "daemon_paused",
        Gauge,
        MetricUnit::None,
        "1 while it is paused or stands aside for a command: everything is as configured",
        |look| running(look, |report| Some(f64::from(u8::from(matches!(report.mode, Mode::Paused | Mode::Aside))))),
    ),
    one(
        "daemon_pool_limit_ratio",
        Gauge,
        MetricUnit::Ratio,
        "The limit of zswap's pool that it has in effect, share of RAM",
        |look| running(look, |report| Some(report.limit_percent as f64 / 100.0)),
    ),
    one(
        "daemon_pool_limit_configured_ratio",
        Gauge,
        MetricUnit::Ratio,
        "The limit that is configured and comes back when it ends, share of RAM",
        |look| running(look, |report| Some(report.home_percent as f64 / 100.0)),
    ),
    one(
        "daemon_idle_units",
        Gauge,
        MetricUnit::None,
        "Units that have hardly run for as long as its configuration asks",
        |look| running(look, |report| Some(report.idle as f64)),
    ),
    one(
        "daemon_taken_bytes",
        Counter,
        MetricUnit::Bytes,
        "What probes of idle units took from them since it began: memory.current less memory.zswap.current before and after each",
        |look| said(look, |report| report.totals.taken.0 as f64),
    ),
    one(
        "daemon_freed_bytes",
        Counter,
        MetricUnit::Bytes,
        "By how much less RAM idle units had right after probes, their part of the pool included",
        |look| said(look, |report| report.totals.freed.0 as f64),
    ),
    one(
        "daemon_still_swapped_bytes",
        Gauge,
        MetricUnit::Bytes,
        "Of what probes took, how much the same units have in swap now at most, zswap's pool included (memory.swap.current)",
        |look| running(look, |report| report.out.map(|bytes| bytes.0 as f64)),
    ),
    one("daemon_probes", Counter, MetricUnit::None, "Probes of idle units since it began (memory.reclaim)", |look| {
        said(look, |report| report.totals.probes as f64)
    }),
    one(
        "daemon_drained_bytes",
        Counter,
        MetricUnit::Bytes,
        "What left zswap's pool in its bursts since it began (meminfo Zswap)",
        |look| said(look, |report| report.totals.drained.0 as f64),
    ),
    one(
        "daemon_written_bytes",
        Counter,
        MetricUnit::Bytes,
        "What zswap wrote back to swap areas in its bursts since it began (vmstat zswpwb)",
        |look| said(look, |report| report.totals.written.0 as f64),
    ),
    one("daemon_bursts", Counter, MetricUnit::None, "Bursts in which it drained the pool since it began", |look| {
        said(look, |report| report.totals.bursts as f64)
    }),
    one(
        "daemon_zram_rounds",
        Counter,
        MetricUnit::None,
        "Rounds over zram devices since it began: how often pages were marked idle",
        |look| said(look, |report| report.totals.zram_rounds as f64),
    ),
    one(
        "daemon_zram_written_bytes",
        Counter,
        MetricUnit::Bytes,
        "What zram devices wrote to their backing devices when it asked them to, since it began (bd_stat)",
        |look| said(look, |report| report.totals.zram_written.0 as f64),
    ),
    one(
        "daemon_zram_freed_bytes",
        Counter,
        MetricUnit::Bytes,
        "By how much less RAM zram devices took after it asked them to write back or to compress again (mm_stat)",
        |look| said(look, |report| report.totals.zram_freed.0 as f64),
    ),
    one(
        "daemon_zram_recompressions",
        Counter,
        MetricUnit::None,
        "How often it asked zram devices to compress idle pages again",
        |look| said(look, |report| report.totals.zram_recompressed as f64),
    ),
    one("daemon_limit_moves", Counter, MetricUnit::None, "Moves of the pool's limit since it began", |look| {
        said(look, |report| report.totals.moves as f64)
    }),
    one(
        "daemon_decisions",
        Counter,
        MetricUnit::None,
        "Decisions that it wrote down since it began, with a reason each",
        |look| said(look, |report| report.totals.decisions as f64),
    ),
    one("daemon_failures", Counter, MetricUnit::None, "Decisions that it could not carry out since it began", |look| {
        said(look, |report| report.totals.failures as f64)
    }),
];

const fn one(
    name: &'static str,
    kind: MetricKind,
    unit: MetricUnit,
    help: &'static str,
    read: fn(&SampleLook<'_>) -> Fact<f64>,
) -> Metric {
    row(name, kind, unit, help, Read::One(read))
}

/// What stays true when it has ended.
fn said(look: &SampleLook<'_>, pick: fn(&DaemonReport) -> f64) -> Fact<f64> {
    look.now.daemon.clone().map(|report| pick(&report))
}

/// What is so only while it runs; `None` is what the kernel does not count.
fn running(look: &SampleLook<'_>, pick: fn(&DaemonReport) -> Option<f64>) -> Fact<f64> {
    look.now.daemon.clone().and_then(|report| match report.mode.is_running() {
        true => pick(&report).ok_or_else(|| "this kernel does not count it by group".to_owned()),
        false => Err("the daemon does not run".to_owned()),
    })
}
