//! What a scenario can report: one table.

use super::{DaemonDeeds, ScenarioError, TieringRun};

/// What a number is a number of.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ColumnUnit {
    /// Shown as seconds.
    Seconds,
    /// Shown as bytes, in binary multiples.
    Bytes,
    /// Pages or events.
    Count,
    /// Of one.
    Ratio,
    /// Shown as percent.
    Percent,
    /// Accesses a second.
    PerSecond,
}

/// A column of the report.
#[derive(Clone, Copy, Debug)]
pub struct ReportColumn {
    /// What it is called in a scenario and in JSON.
    pub name: &'static str,
    /// Its unit.
    pub unit: ColumnUnit,
    /// What it is, in one sentence.
    pub about: &'static str,
    /// Its value; `None` where there is nothing of the kind.
    pub of: fn(&TieringRun) -> Option<f64>,
}

impl PartialEq for ReportColumn {
    fn eq(&self, other: &Self) -> bool {
        self.name == other.name
    }
}

const PAGE: f64 = crate::alloc::PAGE_SIZE as f64;
const NANO: f64 = 1e-9;

/// THE table of what can be reported.
pub const METRICS: [ReportColumn; 40] = [
    metric("elapsed", ColumnUnit::Seconds, "from the first access to the last", |run| Some(run.outcome.elapsed as f64 * NANO)),
    metric("speed", ColumnUnit::PerSecond, "accesses a second", |run| {
        (run.outcome.elapsed > 0).then(|| run.outcome.counters.accesses as f64 / (run.outcome.elapsed as f64 * NANO))
    }),
    metric("stall", ColumnUnit::Seconds, "of that: waiting for memory, as PSI counts it", |run| {
        Some(run.outcome.stall as f64 * NANO)
    }),
    metric("user", ColumnUnit::Seconds, "time of the program itself: the same for each access, whatever the tiering", |run| {
        Some(run.own as f64 * NANO)
    }),
    metric("system", ColumnUnit::Seconds, "processor time of the kernel for swap, wherever it ran", |run| {
        Some(run.outcome.system as f64 * NANO)
    }),
    metric("faults", ColumnUnit::Count, "faults that waited for a codec or a device (pgmajfault)", |run| {
        Some(run.outcome.counters.pgmajfault as f64)
    }),
    metric("zswap-in", ColumnUnit::Count, "pages loaded from zswap (zswpin)", |run| Some(run.outcome.counters.zswpin as f64)),
    metric("zswap-out", ColumnUnit::Count, "pages stored in zswap (zswpout)", |run| Some(run.outcome.counters.zswpout as f64)),
    metric("written-back", ColumnUnit::Count, "pages written back from zswap (zswpwb)", |run| {
        Some(run.outcome.counters.zswpwb as f64)
    }),
    metric("rejected", ColumnUnit::Count, "stores that zswap refused", |run| {
        let counters = &run.outcome.counters;
        let poor = counters.reject_compress_fail + counters.reject_compress_poor;
        Some((counters.pool_limit_hit + counters.reject_draining + poor) as f64)
    }),
    metric(
        "limit-hits",
        ColumnUnit::Count,
        "of those: because the pool was at its limit, or had been and was not yet below its threshold",
        |run| Some((run.outcome.counters.pool_limit_hit + run.outcome.counters.reject_draining) as f64),
    ),
    metric("refaults", ColumnUnit::Count, "pages that came back after they were evicted (workingset_refault_anon)", |run| {
        Some(run.outcome.counters.workingset_refault_anon as f64)
    }),
    metric("zram-in", ColumnUnit::Count, "pages loaded from zram", |run| {
        Some((run.outcome.counters.pswpin - run.outcome.counters.disk_in) as f64)
    }),
    metric("recompressed", ColumnUnit::Count, "pages of zram that a secondary algorithm made smaller", |run| {
        Some(run.outcome.counters.recompressed as f64)
    }),
    metric("bd-writes", ColumnUnit::Count, "pages that zram wrote to its backing device (bd_writes)", |run| {
        Some(run.outcome.counters.bd_writes as f64)
    }),
    metric("bd-reads", ColumnUnit::Count, "pages that zram read from there (bd_reads)", |run| {
        Some(run.outcome.counters.bd_reads as f64)
    }),
    metric("huge", ColumnUnit::Count, "pages that pools keep as they are, at the end", |run| {
        Some((run.pools.zram_huge + run.pools.incompressible) as f64)
    }),
    metric("disk-in", ColumnUnit::Count, "pages read from disks, read-ahead included", |run| {
        Some(run.outcome.counters.disk_in as f64)
    }),
    metric("disk-written", ColumnUnit::Bytes, "written to disks", |run| Some(run.outcome.counters.disk_out as f64 * PAGE)),
    metric("zero-in", ColumnUnit::Count, "pages of zeros restored without any tier", |run| {
        Some(run.outcome.counters.swpin_zero as f64)
    }),
    metric("access-p50", ColumnUnit::Seconds, "half of all accesses take no longer", |run| {
        quantile(run.outcome.latency.quantile(0.5))
    }),
    metric("access-p99", ColumnUnit::Seconds, "99 % of all accesses take no longer", |run| {
        quantile(run.outcome.latency.quantile(0.99))
    }),
    metric("wakes", ColumnUnit::Count, "wakes of applications that had slept a second or more", |run| {
        (run.wakes.count() > 0).then(|| run.wakes.count() as f64)
    }),
    metric("wake-p50", ColumnUnit::Seconds, "half of all wakes take no longer", |run| wake(run, 0.5)),
    metric("wake-p99", ColumnUnit::Seconds, "99 % of all wakes take no longer", |run| wake(run, 0.99)),
    metric("pool", ColumnUnit::Bytes, "RAM that the pools hold, in the mean", |run| Some(run.pool_mean * PAGE)),
    metric("pool-peak", ColumnUnit::Bytes, "RAM that the pools held at most", |run| Some(run.pool_peak as f64 * PAGE)),
    metric("in-ram", ColumnUnit::Bytes, "RAM that pages and pools take, in the mean over time", |run| Some(run.in_ram * PAGE)),
    metric("density", ColumnUnit::Ratio, "pages in the pools by pages of RAM that they take, at the end", |run| {
        let ram = run.pools.zswap + run.pools.zram;
        (ram > 0).then(|| (run.pools.stored + run.in_zram) as f64 / ram as f64)
    }),
    metric("held", ColumnUnit::Bytes, "content of all tiers at the end, or when memory ran out", |run| {
        Some(run.held as f64 * PAGE)
    }),
    metric("out-of-memory", ColumnUnit::Percent, "how far the workload came before neither RAM nor swap had room", |run| {
        run.outcome.out_of_memory.map(|event| event as f64 * 100.0 / run.events as f64)
    }),
    metric("age-ram", ColumnUnit::Seconds, "median time since the last access of pages in RAM, at the end", |run| age(run, 0)),
    metric("age-pool", ColumnUnit::Seconds, "the same of pages in zswap and zram", |run| age(run, 1)),
    metric("age-disk", ColumnUnit::Seconds, "the same of pages on disks", |run| age(run, 2)),
    metric("moves", ColumnUnit::Count, "the daemon: moves of the limit", |run| kept(run, |kept| kept.moves)),
    metric("bursts", ColumnUnit::Count, "the daemon: bursts of write-back", |run| kept(run, |kept| kept.bursts)),
    metric("drained", ColumnUnit::Bytes, "the daemon: written back in them", |run| {
        kept(run, |kept| kept.written).map(|pages| pages * PAGE)
    }),
    metric("probes", ColumnUnit::Count, "the daemon: probes of idle groups", |run| kept(run, |kept| kept.probes)),
    metric("taken", ColumnUnit::Bytes, "the daemon: what they took", |run| {
        kept(run, |kept| kept.taken).map(|pages| pages * PAGE)
    }),
    metric(
        "freed",
        ColumnUnit::Bytes,
        "the daemon: by how much less RAM these groups had then, their part of the pool included",
        |run| kept(run, |kept| kept.freed).map(|pages| pages * PAGE),
    ),
];

/// What is reported where a scenario does not say.
pub(super) const USUAL: [&str; 8] =
    ["elapsed", "stall", "zswap-in", "zram-in", "disk-in", "disk-written", "access-p99", "pool-peak"];

/// What is reported besides where a tiering is set beside itself with a daemon.
pub(super) const OF_DAEMON: [&str; 6] = ["refaults", "limit-hits", "in-ram", "bursts", "probes", "taken"];

const fn metric(name: &'static str, unit: ColumnUnit, about: &'static str, of: fn(&TieringRun) -> Option<f64>) -> ReportColumn {
    ReportColumn { name, unit, about, of }
}

fn quantile(nanos: Option<u64>) -> Option<f64> {
    nanos.map(|nanos| nanos as f64 * NANO)
}

fn wake(run: &TieringRun, share: f64) -> Option<f64> {
    quantile(run.wakes.quantile(share).filter(|_| run.wakes.count() > 0))
}

fn kept(run: &TieringRun, of: fn(&DaemonDeeds) -> u64) -> Option<f64> {
    run.kept.as_ref().map(|kept| of(kept) as f64)
}

fn age(run: &TieringRun, place: usize) -> Option<f64> {
    quantile(run.ages[place])
}

/// The metric of a name.
///
/// # Errors
/// When there is none.
pub(super) fn named(key: &str, name: &str) -> Result<&'static ReportColumn, ScenarioError> {
    static TABLE: [ReportColumn; 40] = METRICS;
    let found = TABLE.iter().find(|metric| metric.name == name);
    found.ok_or_else(|| ScenarioError::name(key, name, TABLE.iter().map(|metric| metric.name)))
}

/// The metrics of these names, or the usual ones. Where memory may run out, that is told as well.
pub(super) fn chosen(names: &[String]) -> Result<Vec<&'static ReportColumn>, ScenarioError> {
    if names.is_empty() {
        return USUAL.iter().map(|name| named("report", name)).collect();
    }
    names.iter().map(|name| named("report", name)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_unique_and_the_usual_ones_exist() {
        for (index, metric) in METRICS.iter().enumerate() {
            assert!(
                METRICS[..index].iter().all(|other| other.name != metric.name) && !metric.about.is_empty(),
                "{}",
                metric.name
            );
        }
        assert_eq!(chosen(&[]).unwrap().len(), USUAL.len());
        assert!(OF_DAEMON.iter().all(|name| named("report", name).is_ok()));
        let error = chosen(&["elapsd".to_owned()]).unwrap_err();
        assert_eq!(error.misspelt().map(|(found, known)| (found, known.len())), Some(("elapsd", METRICS.len())));
    }
}
