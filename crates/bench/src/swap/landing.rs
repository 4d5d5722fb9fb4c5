//! Whether pages went where they were meant to go, by the kernel's counters.

use std::collections::BTreeMap;

use swaptune_core::measurement::{LandingFigures, SwapTier};
use swaptune_core::proof::{CanaryClass, Snapshot};

use super::{BenchTier, SwapJob};

/// Share of the pages, in percent, that must have gone where they were meant.
const MOST: u64 = 95;
/// The same for write-back, which gives up now and then.
const MOST_WRITTEN_BACK: u64 = 80;
/// Counters that are kept with a result.
const KEPT: [&str; 9] =
    ["pswpin", "pswpout", "zswpin", "zswpout", "zswpwb", "swpin_zero", "swpout_zero", "swap_ra", "swap_ra_hit"];

/// What the counters did while pages were stored and while they were loaded.
pub(super) fn landing(pages: u64, before: &Snapshot, out: &Snapshot, back: &Snapshot) -> LandingFigures {
    let moved = |from: &Snapshot, to: &Snapshot| -> BTreeMap<String, u64> {
        let delta = |name: &&str| Some(((*name).to_owned(), to.since(from, &format!("vmstat.{name}"))?.max(0).unsigned_abs()));
        KEPT.iter().filter_map(delta).collect()
    };
    LandingFigures { pages, stored: moved(before, out), loaded: moved(out, back) }
}

/// The tier that a job measured, or how the counters disagree with what was meant. `touched` pages were timed, `skipped`
/// were still in RAM.
pub(super) fn judge(
    job: &SwapJob,
    landing: &LandingFigures,
    touched: u64,
    skipped: u64,
    disks: Vec<String>,
    (compressor, zpool): (String, String),
) -> Result<SwapTier, String> {
    let out = |name: &str| landing.stored.get(name).copied();
    let back = |name: &str| landing.loaded.get(name).copied();
    let direct = out("pswpout").unwrap_or(0).saturating_sub(out("zswpwb").unwrap_or(0));
    let most = |percent: u64, of: u64| of * percent / 100;
    // A counter that this kernel lacks cannot disagree.
    let at_least = |found: Option<u64>, percent: u64, of: u64| found.is_none_or(|found| found >= most(percent, of));
    let n = landing.pages;
    if job.class == CanaryClass::Zero && out("swpout_zero").is_some_and(|zero| zero >= most(MOST, n)) {
        return Ok(SwapTier::Zero);
    }
    if touched < most(50, n) {
        return Err(format!("{skipped} of {n} pages were still in RAM when they were to be loaded"));
    }
    let said = |what: &str| format!("{what}: {}", words(landing));
    match &job.tier {
        BenchTier::Zswap { .. } if !at_least(out("zswpout"), MOST, n) || direct > n - most(MOST, n) => {
            Err(said("the pages did not stay in zswap"))
        }
        BenchTier::Zswap { .. } if !at_least(back("zswpin"), MOST, touched) => Err(said("the pages were not loaded from zswap")),
        BenchTier::Zswap { .. } => Ok(SwapTier::Zswap { compressor, zpool }),
        _ if out("zswpout").unwrap_or(0) > n - most(MOST, n) && !matches!(job.tier, BenchTier::Writeback { .. }) => {
            Err(said("the pages went to zswap"))
        }
        BenchTier::Zram { .. } | BenchTier::Disk { .. } if direct < most(MOST, n) => Err(said("the pages were not written")),
        BenchTier::Writeback { .. } if !at_least(out("zswpwb"), MOST_WRITTEN_BACK, n) => {
            Err(said("zswap did not write the pages back"))
        }
        _ if !at_least(back("pswpin"), MOST_WRITTEN_BACK, touched) => Err(said("the pages were not read back")),
        BenchTier::Zram { algorithm } => Ok(SwapTier::Zram { algorithm: algorithm.clone() }),
        BenchTier::Disk { areas } => Ok(SwapTier::Disk { disks, areas: *areas }),
        BenchTier::Writeback { .. } => Ok(SwapTier::Writeback { compressor, disks }),
    }
}

/// `of 4096 pages: zswpout 12, …`, the counters that moved.
fn words(landing: &LandingFigures) -> String {
    let moved = |counters: &BTreeMap<String, u64>| {
        let moved: Vec<String> =
            counters.iter().filter(|(_, count)| **count > 0).map(|(name, count)| format!("{name} {count}")).collect();
        if moved.is_empty() { "nothing".into() } else { moved.join(", ") }
    };
    format!("of {} pages, out: {}; back: {}", landing.pages, moved(&landing.stored), moved(&landing.loaded))
}

#[cfg(test)]
mod tests {
    use swaptune_core::measurement::MemoryOrder;

    use super::*;

    fn judged(tier: BenchTier, class: CanaryClass, stored: &[(&str, u64)], loaded: &[(&str, u64)]) -> Result<SwapTier, String> {
        let job = SwapJob { tier, class, page_cluster: 0, order: MemoryOrder::Random, threads: 1, pages: 1000 };
        let counters = |list: &[(&str, u64)]| list.iter().map(|(name, count)| ((*name).to_owned(), *count)).collect();
        let landing = LandingFigures { pages: 1000, stored: counters(stored), loaded: counters(loaded) };
        judge(&job, &landing, 1000, 0, vec!["vda".into()], ("lzo".into(), "zsmalloc".into()))
    }

    fn zswap() -> BenchTier {
        BenchTier::Zswap { compressor: "lzo".into(), zpool: None }
    }

    #[test]
    fn pages_that_went_where_they_were_meant_are_that_tier() {
        let in_pool = SwapTier::Zswap { compressor: "lzo".into(), zpool: "zsmalloc".into() };
        let good = judged(zswap(), CanaryClass::Text, &[("zswpout", 1000), ("pswpout", 3)], &[("zswpin", 998)]);
        assert_eq!(good, Ok(in_pool));
        let disk =
            judged(BenchTier::Disk { areas: 2 }, CanaryClass::Text, &[("zswpout", 0), ("pswpout", 1000)], &[("pswpin", 990)]);
        assert_eq!(disk, Ok(SwapTier::Disk { disks: vec!["vda".into()], areas: 2 }));
        let back = BenchTier::Writeback { compressor: "lzo".into() };
        let moved = [("zswpout", 1000), ("zswpwb", 950), ("pswpout", 1100)];
        assert!(matches!(judged(back, CanaryClass::Text, &moved, &[("pswpin", 950)]), Ok(SwapTier::Writeback { .. })));
        assert_eq!(judged(zswap(), CanaryClass::Zero, &[("swpout_zero", 1000)], &[]), Ok(SwapTier::Zero));
    }

    #[test]
    fn pages_that_went_elsewhere_are_no_result() {
        let text = |tier, stored: &[_], loaded: &[_]| judged(tier, CanaryClass::Text, stored, loaded).unwrap_err();
        let why = text(zswap(), &[("zswpout", 10), ("pswpout", 990)], &[("pswpin", 990)]);
        assert!(why.starts_with("the pages did not stay in zswap: of 1000 pages, out: pswpout 990, zswpout 10"), "{why}");
        let cached = text(BenchTier::Disk { areas: 1 }, &[("pswpout", 1000)], &[("pswpin", 10)]);
        assert!(cached.starts_with("the pages were not read back"), "{cached}");
        let swallowed = text(BenchTier::Disk { areas: 1 }, &[("zswpout", 1000), ("pswpout", 0)], &[("zswpin", 1000)]);
        assert!(swallowed.starts_with("the pages went to zswap"), "{swallowed}");
        let stuck = text(BenchTier::Writeback { compressor: "lzo".into() }, &[("zswpout", 1000), ("zswpwb", 12)], &[]);
        assert!(stuck.starts_with("zswap did not write"), "{stuck}");
    }
}
