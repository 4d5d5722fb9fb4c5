//! What is compared, within which bounds, and what came of it.

use serde::Serialize;
use swaptune_core::measurement::Estimate;
use swaptune_core::proof::Snapshot;
use swaptune_core::stats::paired_ratio;
use swaptune_tiers::model::Counters;

use crate::content::PAGE;
use crate::model::SimulatorCounts;
use swaptune_bench::codecs::Rates;

/// Differences up to this many pages are within every bound: the kernel charges memory to a group in batches of this size
/// (`MEMCG_CHARGE_BATCH`).
const BATCH: f64 = 64.0;
/// Two tierings differ clearly when the 95 % interval of the ratio excludes 1, the ratio is further from 1 than this, and the difference
/// is more than a batch.
const CLEAR: f64 = 0.02;

/// What the kernel showed in one round.
#[derive(Clone, Debug)]
pub(super) struct KernelRound {
    pub before: Snapshot,
    pub after: Snapshot,
    /// Time it took, if that can be compared.
    pub nanos: Option<u64>,
    /// Bytes that the pool held in the mean, where it fills.
    pub level: Option<f64>,
}

impl KernelRound {
    fn vmstat(&self, name: &str) -> Option<f64> {
        self.moved(&format!("vmstat.{name}"))
    }

    fn zswap(&self, name: &str) -> Option<f64> {
        self.moved(&format!("zswap.{name}"))
    }

    fn moved(&self, name: &str) -> Option<f64> {
        self.after.since(&self.before, name).map(|count| count as f64)
    }
}

/// One number that both sides have.
#[derive(Clone, Copy, Debug)]
pub struct ComparedNumber {
    /// What it is called: as the kernel calls it, where the kernel does.
    pub name: &'static str,
    /// Its unit.
    pub unit: &'static str,
    /// What it is.
    pub about: &'static str,
    /// Largest difference, and the one that is aimed for; without one it is only shown.
    pub bound: Option<(f64, f64)>,
    /// Whether pairs of tierings are compared by it.
    pub paired: bool,
    kernel: fn(&KernelRound) -> Option<f64>,
    model: fn(&SimulatorCounts) -> f64,
}

/// Counts of pages must be within a quarter, better within a tenth.
const COUNT: Option<(f64, f64)> = Some((0.25, 0.10));

/// Elapsed time must be within a fifth.
const TIME: Option<(f64, f64)> = Some((0.20, 0.10));

const fn shown(
    name: &'static str,
    about: &'static str,
    kernel: fn(&KernelRound) -> Option<f64>,
    model: fn(&SimulatorCounts) -> f64,
) -> ComparedNumber {
    ComparedNumber { name, unit: "pages", about, bound: None, paired: false, kernel, model }
}

/// THE table of what is compared.
pub const METRICS: [ComparedNumber; 21] = [
    ComparedNumber {
        name: "pool_total_size",
        unit: "bytes",
        about: "RAM of zswap's pool at the end; where it fills, in the mean from when it first was at the threshold",
        bound: Some((0.02, 0.02)),
        paired: true,
        kernel: |seen| seen.level.or_else(|| seen.zswap("pool_total_size")).or_else(|| seen.moved("meminfo.Zswap")),
        model: |simulated| simulated.level.unwrap_or((simulated.pools.zswap * PAGE as u64) as f64),
    },
    ComparedNumber {
        bound: COUNT,
        ..shown(
            "stored_pages",
            "pages in zswap at the end",
            |seen| seen.zswap("stored_pages").or_else(|| seen.moved("meminfo.Zswapped").map(|bytes| bytes / PAGE as f64)),
            |simulated| simulated.pools.stored as f64,
        )
    },
    ComparedNumber {
        bound: COUNT,
        ..shown("zswpout", "pages stored in zswap", |seen| seen.vmstat("zswpout"), |s| s.outcome.counters.zswpout as f64)
    },
    ComparedNumber {
        bound: COUNT,
        ..shown(
            "zswpwb",
            "pages written back from zswap",
            |seen| seen.vmstat("zswpwb").or_else(|| seen.zswap("written_back_pages")),
            |simulated| simulated.outcome.counters.zswpwb as f64,
        )
    },
    ComparedNumber {
        bound: COUNT,
        paired: true,
        ..shown(
            "swap-in",
            "pages that came back, read-ahead included: pswpin, zswpin and swpin_zero, which were zswap's before Linux 6.12",
            |seen| {
                Some(["zswpin", "swpin_zero"].iter().filter_map(|name| seen.vmstat(name)).sum::<f64>() + seen.vmstat("pswpin")?)
            },
            |simulated| {
                let Counters { zswpin, pswpin, swpin_zero, .. } = simulated.outcome.counters;
                (zswpin + pswpin + swpin_zero) as f64
            },
        )
    },
    ComparedNumber {
        unit: "ns",
        bound: TIME,
        paired: true,
        ..shown(
            "elapsed",
            "time of the workload, less what it waited for a processor that others had",
            |seen| seen.nanos.map(|nanos| nanos as f64),
            |s| s.outcome.elapsed as f64,
        )
    },
    ComparedNumber {
        paired: true,
        ..shown("pswpin", "pages read from the disk", |seen| seen.vmstat("pswpin"), |s| s.outcome.counters.pswpin as f64)
    },
    ComparedNumber {
        paired: true,
        ..shown("pswpout", "pages written to the disk", |seen| seen.vmstat("pswpout"), |s| s.outcome.counters.pswpout as f64)
    },
    shown("zswpin", "pages loaded from zswap", |seen| seen.vmstat("zswpin"), |s| s.outcome.counters.zswpin as f64),
    shown("swap_ra", "pages read ahead", |seen| seen.vmstat("swap_ra"), |s| s.outcome.counters.swap_ra as f64),
    shown(
        "swap_ra_hit",
        "pages read ahead that were used",
        |seen| seen.vmstat("swap_ra_hit"),
        |s| s.outcome.counters.swap_ra_hit as f64,
    ),
    shown("pgactivate", "pages activated", |seen| seen.vmstat("pgactivate"), |s| s.outcome.counters.pgactivate as f64),
    shown("pgdeactivate", "pages deactivated", |seen| seen.vmstat("pgdeactivate"), |s| s.outcome.counters.pgdeactivate as f64),
    shown(
        "workingset_refault_anon",
        "pages that came back",
        |seen| seen.vmstat("workingset_refault_anon"),
        |s| s.outcome.counters.workingset_refault_anon as f64,
    ),
    shown(
        "workingset_activate_anon",
        "pages that came back soon enough to be active at once",
        |seen| seen.vmstat("workingset_activate_anon"),
        |s| s.outcome.counters.workingset_activate_anon as f64,
    ),
    shown(
        "workingset_restore_anon",
        "such that had been active",
        |seen| seen.vmstat("workingset_restore_anon"),
        |s| s.outcome.counters.workingset_restore_anon as f64,
    ),
    shown(
        "pgsteal",
        "pages that reclaim took",
        // Those by who reclaims leave out what is reclaimed for the sake of a group's limit.
        |seen| seen.vmstat("pgsteal_anon"),
        |s| s.outcome.counters.pgsteal as f64,
    ),
    shown("pgmajfault", "faults that waited", |seen| seen.vmstat("pgmajfault"), |s| s.outcome.counters.pgmajfault as f64),
    shown("swpout_zero", "pages of zeros", |seen| seen.vmstat("swpout_zero"), |s| s.outcome.counters.swpout_zero as f64),
    shown(
        "pool_limit_hit",
        "stores refused at the limit",
        |seen| seen.zswap("pool_limit_hit"),
        |simulated| simulated.outcome.counters.pool_limit_hit as f64,
    ),
    shown(
        "reject_compress_fail",
        "stores refused because the page did not compress",
        |seen| seen.zswap("reject_compress_fail"),
        |simulated| simulated.outcome.counters.reject_compress_fail as f64,
    ),
];

/// Whether a difference is small enough.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Agreement {
    /// Within what is aimed for.
    Good,
    /// Within the bound.
    Within,
    /// Beyond the bound.
    Missed,
}

/// One metric of one case.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Compared {
    /// The metric.
    pub metric: &'static str,
    /// Its unit.
    pub unit: &'static str,
    /// The kernel: median of the rounds.
    pub kernel: f64,
    /// The kernel: smallest and largest of the rounds.
    pub range: [f64; 2],
    /// The simulator.
    pub simulator: f64,
    /// Simulator by kernel, less 1; `None` when the kernel counted nothing.
    pub difference: Option<f64>,
    /// The bound, as a share.
    pub bound: Option<f64>,
    /// The kernel's own spread: how far its most distant round is from the median, by the median; `None` when it counted nothing.
    pub spread: Option<f64>,
    /// What the difference from the median comes to; `None` without a bound.
    pub verdict: Option<Agreement>,
    /// What the difference from the nearest round comes to: between its least and its most the kernel did nothing else.
    pub nearest: Option<Agreement>,
}

impl Compared {
    /// Whether a round of the kernel is further from the median than the bound: then no single number can be within it.
    #[must_use]
    pub fn differs_from_itself(&self) -> bool {
        let beyond =
            |bound: f64| self.range.iter().any(|end| (end - self.kernel).abs() > (bound * self.kernel).max(batch(self.unit)));
        self.bound.is_some_and(beyond)
    }
}

/// Differences up to this are within every bound.
fn batch(unit: &str) -> f64 {
    match unit {
        "bytes" => BATCH * PAGE as f64,
        "ns" => 0.0,
        _ => BATCH,
    }
}

/// Compares a case by every metric of which either side saw something.
pub(super) fn compare(rounds: &[KernelRound], simulated: &SimulatorCounts) -> Vec<Compared> {
    METRICS.iter().filter_map(|metric| compared(metric, rounds, (metric.model)(simulated))).collect()
}

fn compared(metric: &ComparedNumber, rounds: &[KernelRound], simulator: f64) -> Option<Compared> {
    let values: Vec<f64> = rounds.iter().filter_map(metric.kernel).collect();
    if values.is_empty() || values.iter().all(|value| *value == 0.0) && simulator == 0.0 {
        return None;
    }
    let kernel = Rates::median(&values);
    let ends = [values.iter().copied().fold(f64::INFINITY, f64::min), values.iter().copied().fold(f64::NEG_INFINITY, f64::max)];
    let by_median = |value: f64| (kernel > 0.0).then(|| value / kernel - 1.0);
    let spread = ends.iter().filter_map(|end| by_median(*end)).map(f64::abs).reduce(f64::max);
    Some(Compared {
        metric: metric.name,
        unit: metric.unit,
        kernel,
        range: ends,
        simulator,
        difference: by_median(simulator),
        bound: metric.bound.map(|(bound, _)| bound),
        spread,
        verdict: verdict(metric, simulator, kernel),
        // Where the kernel itself differs from round to round, what it did lies between the ends.
        nearest: verdict(metric, simulator, simulator.clamp(ends[0], ends[1])),
    })
}

/// How far the simulator is from what the kernel counted, by the metric's bounds.
fn verdict(metric: &ComparedNumber, simulator: f64, counted: f64) -> Option<Agreement> {
    metric.bound.map(|(bound, goal)| {
        let within = |share: f64| (simulator - counted).abs() <= (share * counted).max(batch(metric.unit));
        match () {
            () if within(goal) => Agreement::Good,
            () if within(bound) => Agreement::Within,
            () => Agreement::Missed,
        }
    })
}

/// One tiering against another, by one metric.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Pair {
    /// The workload.
    pub workload: &'static str,
    /// One tiering.
    pub a: String,
    /// The other.
    pub b: String,
    /// The metric.
    pub metric: &'static str,
    /// The kernel: a by b, each with 1 added, with its 95 % interval over the rounds.
    pub kernel: Estimate,
    /// The simulator: the same ratio.
    pub simulator: f64,
    /// Whether the simulator has the sign of the kernel.
    pub agrees: bool,
}

/// Compares two tierings of a workload by all metrics in which they differ clearly in the kernel.
pub(super) fn pairs(
    workload: &'static str,
    a: (&str, &[KernelRound], &SimulatorCounts),
    b: (&str, &[KernelRound], &SimulatorCounts),
) -> Vec<Pair> {
    let pair = |metric: &ComparedNumber| {
        let values = a.1.iter().zip(b.1).map(|(a, b)| Some(((metric.kernel)(a)? + 1.0, (metric.kernel)(b)? + 1.0)));
        let values = values.collect::<Option<Vec<_>>>()?;
        let kernel = paired_ratio(&values)?;
        let apart = Rates::median(&values.iter().map(|(a, b)| (a - b).abs()).collect::<Vec<_>>()) > batch(metric.unit);
        let clear = (kernel.low > 1.0 || kernel.high < 1.0) && (kernel.value - 1.0).abs() > CLEAR && apart;
        let simulator = ((metric.model)(a.2) + 1.0) / ((metric.model)(b.2) + 1.0);
        let agrees = (simulator > 1.0) == (kernel.value > 1.0) && simulator != 1.0;
        clear.then(|| Pair { workload, a: a.0.into(), b: b.0.into(), metric: metric.name, kernel, simulator, agrees })
    };
    METRICS.iter().filter(|metric| metric.paired).filter_map(pair).collect()
}

#[cfg(test)]
mod tests {
    use swaptune_tiers::model::{Outcome, PoolContents};

    use super::*;

    fn seen(counters: &[(&str, u64)]) -> KernelRound {
        let snapshot =
            |scale: u64| Snapshot(counters.iter().map(|(name, count)| ((*name).into(), 1000 + count * scale)).collect());
        KernelRound { before: snapshot(0), after: snapshot(1), nanos: Some(7), level: None }
    }

    fn simulated(zswpout: u64, pswpin: u64) -> SimulatorCounts {
        let counters = Counters { zswpout, pswpin, ..Counters::default() };
        SimulatorCounts {
            outcome: Outcome { counters, elapsed: 9, ..Outcome::default() },
            pools: PoolContents::default(),
            level: None,
        }
    }

    fn verdict(kernel: u64, simulator: u64) -> Option<Agreement> {
        let compared = compare(&[seen(&[("vmstat.zswpout", kernel)])], &simulated(simulator, 0));
        compared.iter().find(|row| row.metric == "zswpout")?.verdict
    }

    #[test]
    fn bounds_are_on_both_sides_and_a_batch_is_no_difference() {
        for (kernel, simulator, expected) in [
            (10_000, 11_000, Some(Agreement::Good)),
            (10_000, 8_999, Some(Agreement::Within)),
            (10_000, 12_500, Some(Agreement::Within)),
            (10_000, 12_501, Some(Agreement::Missed)),
            (10_000, 7_499, Some(Agreement::Missed)),
            (0, 64, Some(Agreement::Good)),
            (0, 65, Some(Agreement::Missed)),
            (0, 0, None),
        ] {
            assert_eq!(verdict(kernel, simulator), expected, "{kernel} {simulator}");
        }
    }

    #[test]
    fn a_counter_that_this_kernel_lacks_is_not_compared() {
        let rows = compare(&[seen(&[("vmstat.pswpin", 100)])], &simulated(500, 100));
        let names: Vec<&str> = rows.iter().map(|row| row.metric).collect();
        assert_eq!(names, ["swap-in", "elapsed", "pswpin"]);
        assert_eq!(rows[0].difference, Some(0.0));
    }

    #[test]
    fn what_comes_back_from_anywhere_in_swap_is_a_swap_in() {
        let kernel = seen(&[("vmstat.pswpin", 400), ("vmstat.zswpin", 200), ("vmstat.swpin_zero", 1000)]);
        let counters = Counters { pswpin: 100, zswpin: 300, swpin_zero: 1200, ..Counters::default() };
        let outcome = Outcome { counters, ..Outcome::default() };
        let rows = compare(&[kernel], &SimulatorCounts { outcome, pools: PoolContents::default(), level: None });
        let swap_in = rows.iter().find(|row| row.metric == "swap-in").unwrap();
        assert_eq!((swap_in.kernel, swap_in.simulator), (1600.0, 1600.0));
    }

    #[test]
    fn the_median_of_the_rounds_is_compared() {
        let rounds = [100, 300, 110].map(|count| seen(&[("vmstat.pswpin", count)]));
        let rows = compare(&rounds, &simulated(0, 121));
        assert_eq!((rows[0].kernel, rows[0].range), (110.0, [100.0, 300.0]));
        assert!((rows[0].difference.unwrap() - 0.1).abs() < 1e-9);
    }

    #[test]
    fn the_median_and_the_nearest_round_are_judged_each_for_itself() {
        let rounds = [1000, 9000, 2000].map(|count| seen(&[("vmstat.zswpout", count)]));
        let of = |simulator| compare(&rounds, &simulated(simulator, 0)).into_iter().find(|row| row.metric == "zswpout").unwrap();
        let simulators = [700, 750, 950, 1500, 2100, 5000, 9900, 11_250, 11_251];
        use Agreement::{Good, Missed, Within};
        let nearest = simulators.map(|simulator| of(simulator).nearest.unwrap());
        assert_eq!(nearest, [Missed, Within, Good, Good, Good, Good, Good, Within, Missed]);
        let median = simulators.map(|simulator| of(simulator).verdict.unwrap());
        assert_eq!(median, [Missed, Missed, Missed, Within, Good, Missed, Missed, Missed, Missed], "2000 is the median");
        assert!(of(5000).differs_from_itself(), "and it is said");
        assert!((of(5000).spread.unwrap() - 3.5).abs() < 1e-9, "9000 by 2000");
        let alike = [1000, 1200, 1100].map(|count| seen(&[("vmstat.zswpout", count)]));
        assert!(compare(&alike, &simulated(1000, 0)).iter().all(|row| row.metric != "zswpout" || !row.differs_from_itself()));
        let none = [0, 0, 64].map(|count| seen(&[("vmstat.zswpout", count)]));
        assert!(compare(&none, &simulated(1000, 0)).iter().all(|row| !row.differs_from_itself()), "a batch is no difference");
    }

    #[test]
    fn only_clear_differences_of_the_kernel_have_a_sign() {
        let rounds = |counts: [u64; 3]| counts.map(|count| seen(&[("vmstat.pswpin", count)])).to_vec();
        let signs = |a: [u64; 3], b: [u64; 3], simulator: (u64, u64)| {
            let (one, other) = (simulated(0, simulator.0), simulated(0, simulator.1));
            let found = pairs("w", ("a", &rounds(a), &one), ("b", &rounds(b), &other));
            found.into_iter().filter(|pair| pair.metric == "pswpin").map(|pair| pair.agrees).collect::<Vec<_>>()
        };
        assert_eq!(signs([200, 210, 190], [100, 101, 99], (30, 20)), [true]);
        assert_eq!(signs([200, 210, 190], [100, 101, 99], (20, 30)), [false]);
        assert_eq!(signs([200, 210, 190], [100, 101, 99], (30, 30)), [false]);
        assert!(signs([200, 50, 100], [100, 101, 99], (30, 20)).is_empty(), "noise");
        assert!(signs([101, 101, 101], [100, 100, 100], (30, 20)).is_empty(), "too little to matter");
        assert_eq!(signs([1000, 1000, 1000], [0, 0, 0], (30, 0)), [true], "nothing at all on one side");
        assert!(signs([64, 64, 64], [0, 0, 0], (30, 0)).is_empty(), "no more than a batch");
        assert_eq!(signs([65, 65, 65], [0, 0, 0], (30, 0)), [true]);
    }
}
