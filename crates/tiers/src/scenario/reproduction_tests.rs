//! What the scenarios at the project's root show, and where that is not what their sources say.

use super::tests::{A13, A13_IDLE, A15, A18, B2, B3, C2, D1, D7, E16, Runs, SERVICES, UPKEEP, scenario};
use super::*;

/// C2 and C3, of three seeds together because the margins are small: write-back is ahead of write-through while the pool is not full for
/// good, write-through after that. Both are ahead of no zswap here, at 112 and 175 % of RAM too, where **the table has no zswap ahead of
/// both**: that the model does not show. Switching by fill costs up to a few percent more than the better of the two (single runs: 4 %),
/// cleaning ahead is level with it or better.
#[test]
fn c2_write_back_wins_before_the_pool_is_full_and_write_through_after() {
    let seeds = |scale: i64, percent: f64| -> Vec<Runs> {
        let of = |seed| {
            let set = [("scale", Value::Integer(scale)), ("workload.with.seed", Value::Integer(seed))];
            let sweep = format!("workload.with.percent={percent}");
            Runs::all(scenario(C2, &set, Some(&sweep)).unwrap())
        };
        (1..4).map(of).collect()
    };
    let elapsed = |runs: &[Runs], name: &str| runs.iter().map(|runs| runs.metric("elapsed", name, 0)).sum::<f64>();
    let fits = Runs::of(C2, 256, Some("workload.with.percent=75"));
    for name in ["no zswap", "write-through", "switching"] {
        assert_eq!(fits.metric("elapsed", name, 0), fits.metric("elapsed", "write-back", 0), "a heap that fits never swaps");
    }
    let (below, above) = (seeds(64, 112.5), seeds(128, 175.0));
    assert!(elapsed(&below, "write-back") < elapsed(&below, "write-through"));
    assert!(
        above.iter().all(|runs| runs.metric("elapsed", "write-through", 0) < 0.995 * runs.metric("elapsed", "write-back", 0))
    );
    for runs in [&below, &above] {
        let better = elapsed(runs, "write-back").min(elapsed(runs, "write-through"));
        assert!(
            better < 0.8 * elapsed(runs, "no zswap"),
            "the model disagrees with the table; if it does not any more, the page must say so"
        );
        assert!(elapsed(runs, "switching") < 1.05 * better, "{} {better}", elapsed(runs, "switching"));
        assert!(elapsed(runs, "switching") > 0.95 * better, "it is no more than a mixture of both");
        assert!(elapsed(runs, "cleaning") < 1.003 * better, "{} {better}", elapsed(runs, "cleaning"));
        let written = |name| runs[0].metric("disk-written", name, 0);
        assert!(written("cleaning") < 0.75 * written("write-through"));
        assert!(runs[0].metric("disk-written", "write-through", 0) > runs[0].metric("disk-written", "write-back", 0));
    }
}

/// D7: two ratios were fitted and stay near what they were fitted to. What was not fitted disagrees: system time of all six patches by that
/// of the first three is published as 0.727.
#[test]
fn d7_fitted_ratios_stay_and_system_time_disagrees() {
    let runs = Runs::of(D7, 8, None);
    for row in runs.comparisons() {
        assert!(row.difference().abs() < 0.1, "{row:?}");
    }
    let elapsed = |name: &str| runs.metric("elapsed", name, 0);
    assert!(elapsed("all six") < elapsed("zswap off") && elapsed("zswap off") < elapsed("patches 1-3"));
    assert!(elapsed("1-3 and 5") < 0.9 * elapsed("patches 1-3"), "keeping what does not compress is what gains");
    assert!(runs.metric("rejected", "patches 1-3", 0) > 0.0 && runs.metric("rejected", "all six", 0) == 0.0);
    assert_eq!(runs.metric("written-back", "1-3 and 6", 0), 0.0, "a page is rejected more often than the pause is long");
    assert!(runs.metric("system", "all six", 0) > 1.1 * runs.metric("system", "patches 1-3", 0), "published: it falls");
    assert_eq!(runs.metric("user", "all six", 0), runs.metric("user", "patches 1-3", 0), "published: it falls");
}

/// D7 with the other reading of "three quarters compressible", every page to three quarters: the first three patches are level with
/// zswap off, so that neither reading predicts what they cost.
#[test]
fn d7_with_the_other_reading_nothing_differs() {
    let set =
        [("scale", Value::Integer(8)), ("workload.with.poor", Value::Integer(0)), ("workload.with.size", Value::Integer(3072))];
    let runs = Runs::all(scenario(D7, &set, None).unwrap());
    let by_off = |name: &str| runs.metric("elapsed", name, 0) / runs.metric("elapsed", "zswap off", 0);
    assert!((by_off("patches 1-3") - 1.0).abs() < 0.01, "{}", by_off("patches 1-3"));
}

/// A15: zswap keeps the young pages, zram keeps what came first. That zram's pages are *older* than those on the disk, the inversion that is
/// claimed, is not shown: both are about as old.
#[test]
fn a15_zswap_keeps_the_young_and_zram_is_as_old_as_its_disk() {
    for seed in 1..4 {
        let set = [("scale", Value::Integer(64)), ("workload.with.seed", Value::Integer(seed))];
        let runs = Runs::all(scenario(A15, &set, None).unwrap());
        let age = |tier: &str, name: &str| runs.metric(tier, name, 0);
        let by_disk = |name: &str| age("age-pool", name) / age("age-disk", name);
        assert!((0.8..1.25).contains(&by_disk("zram, then disk")), "seed {seed}: {}", by_disk("zram, then disk"));
        assert!(by_disk("zswap, then disk") < 0.5, "seed {seed}: {}", by_disk("zswap, then disk"));
        assert!(
            runs.metric("disk-in", "zswap, then disk", 0) < 0.9 * runs.metric("disk-in", "zram, then disk", 0),
            "seed {seed}"
        );
    }
}

/// A18: areas share the queue of their disk; each turn is a seek where seeks cost.
#[test]
fn a18_areas_of_one_disk_are_one_disk() {
    let runs = Runs::of(A18, 64, None);
    for point in 0..2 {
        let elapsed = |name: &str| runs.metric("elapsed", name, point) / runs.metric("elapsed", "one area", point);
        assert!((elapsed("four areas of one disk") - 1.0).abs() < 0.01, "{}", elapsed("four areas of one disk"));
        assert!(elapsed("four disks") < 0.99, "{}", elapsed("four disks"));
        let seeks = elapsed("hard disk, four areas") / elapsed("hard disk, one area");
        // 64 slots a turn, and one.
        assert!(if point == 0 { (1.3..4.0).contains(&seeks) } else { seeks > 5.0 }, "{seeks}");
    }
}

/// D1 and D2: 60 empty groups end nearly each run of the broken walk; the mended one writes back instead of rejecting. Whether proactive
/// write-back is faster than the mended walk alone depends on the seed, and is not asserted.
#[test]
fn d1_the_broken_walk_rejects_what_the_fair_one_writes_back() {
    for seed in 1..4 {
        let set = [("scale", Value::Integer(64)), ("workload.with.seed", Value::Integer(seed))];
        let runs = Runs::all(scenario(D1, &set, None).unwrap());
        let of = |metric: &str, name: &str| runs.metric(metric, name, 0);
        for fair in ["fair walk", "fair walk, proactive"] {
            assert!(of("rejected", "broken walk") > 4.0 * of("rejected", fair), "seed {seed}, {fair}");
            assert!(of("written-back", "broken walk") < 0.5 * of("written-back", fair), "seed {seed}, {fair}");
            assert!(of("stall", fair) < of("stall", "zswap off"), "seed {seed}, {fair}");
        }
    }
}

/// E16: zeros are in zswap until 6.11 and in the swap map since, and on the disk only where neither knows them.
#[test]
fn e16_zeros_leave_zswap_for_the_swap_map() {
    let runs = Runs::of(E16, 64, None);
    let of = |metric: &str, name: &str, point| runs.metric(metric, name, point);
    for name in ["disk alone", "zswap, disk", "zram"] {
        assert_eq!(of("zero-in", name, 0), 0.0);
        assert!(of("zero-in", name, 1) > 0.25 * of("held", name, 1) / 4096.0 / 2.0, "{name}");
    }
    assert!(of("disk-written", "disk alone", 1) < 0.75 * of("disk-written", "disk alone", 0));
    assert!(of("zswap-out", "zswap, disk", 1) < 0.75 * of("zswap-out", "zswap, disk", 0));
    assert!(of("density", "zswap, disk", 0) > 1.3 * of("density", "zswap, disk", 1), "it counted them as stored");
}

/// Elapsed time of a tiering by that of the disk alone.
fn by_disk(runs: &Runs, name: &str) -> f64 {
    runs.metric("elapsed", name, 0) / runs.metric("elapsed", "disk alone", 0)
}

/// B2: with the programs that were there before, which are fitted, small zram hurts and large zram helps, in most seeds and by the median.
/// Small zram fills with what is never wanted, large zram keeps the disk out of it.
#[test]
fn b2_small_zram_hurts_and_large_zram_helps() {
    let of = |seed| {
        let set = [("scale", Value::Integer(128)), ("workload.with.seed", Value::Integer(seed))];
        Runs::all(scenario(B2, &set, None).unwrap())
    };
    let all: Vec<Runs> = (1..4).map(of).collect();
    let hurt = all.iter().filter(|runs| by_disk(runs, "zram 1 GiB") > 1.01).count();
    assert!(hurt >= 2, "{hurt} of 3 seeds");
    for runs in &all {
        assert!(by_disk(runs, "zram 3.5 GiB") < 0.96, "{}", by_disk(runs, "zram 3.5 GiB"));
        assert!(runs.metric("disk-in", "zram 3.5 GiB", 0) < 0.2 * runs.metric("disk-in", "zram 1 GiB", 0));
    }
    let crowded = Runs::with(B2, 256, ("workload.with.pages", Value::Integer(420_000)));
    assert!(crowded.metric("disk-in", "zram 3.5 GiB", 0) > crowded.metric("disk-in", "disk alone", 0));
}

/// B2: every zswap is slower than the disk alone here. **The table has one of three at 10 % faster** (0.986, taken for zsmalloc): the model
/// does not show it.
#[test]
fn b2_each_zswap_hurts_also_the_one_that_helped_in_the_table() {
    let runs = Runs::of(B2, 128, None);
    for name in ["zswap 10 % zbud", "zswap 10 % z3fold", "zswap 10 % zsmalloc", "zswap 20 % zbud"] {
        assert!((1.01..1.2).contains(&by_disk(&runs, name)), "{name}: {}", by_disk(&runs, name));
    }
}

/// B2 without the programs that were there before: small zram does no harm, against the table. That it hurts is the fit's.
#[test]
fn b2_without_idle_programs_small_zram_does_not_hurt() {
    let empty = Runs::with(B2, 128, ("workload.with.resident", Value::Integer(0)));
    let with = Runs::of(B2, 128, None);
    assert!(by_disk(&empty, "zram 1 GiB") < 1.01, "{}", by_disk(&empty, "zram 1 GiB"));
    assert!(by_disk(&with, "zram 1 GiB") > 1.02 * by_disk(&empty, "zram 1 GiB"));
}

/// B3: at most two and three pages in a page, and zsmalloc the densest where it matters: pages that compress well.
#[test]
fn b3_densities() {
    let runs = Runs::of(B3, 64, None);
    for point in 0..5 {
        let density = |name: &str| runs.metric("density", name, point);
        assert!(density("zbud") <= 2.0 && density("z3fold") <= 3.0, "point {point}");
    }
    for point in [0, 1] {
        assert!(runs.metric("density", "zsmalloc", point) > 1.3 * runs.metric("density", "z3fold", point));
        assert!(runs.metric("density", "z3fold", point) > 1.4 * runs.metric("density", "zbud", point));
    }
}

/// Upkeep of zram: recompression takes processor time and gives RAM, write-back gives more RAM and takes reads from the disk, and huge
/// pages give most for each that is written.
#[test]
fn zram_gains_room_by_upkeep_and_pays_for_it() {
    let runs = Runs::of(UPKEEP, 128, None);
    let of = |metric: &str, name: &str| runs.metric(metric, name, 0);
    let (alone, tighter, huge, idle) = ("zram alone", "zram, recompression", "zram, huge idle to disk", "zram, idle to disk");
    let saved = |name: &str| of("pool", alone) - of("pool", name);
    assert_eq!((of("recompressed", alone), of("bd-writes", alone), of("disk-written", tighter)), (0.0, 0.0, 0.0));
    assert!(saved(tighter) > 0.1 * of("pool", alone) && of("system", tighter) > 1.1 * of("system", alone));
    assert!(saved("zram, both") > saved(idle) && saved(idle) > saved(huge) && saved(huge) > 0.1 * of("pool", alone));
    let gain = |name: &str| saved(name) / of("bd-writes", name);
    assert!(gain(huge) > 1.2 * gain(idle), "{} and {} bytes for each page", gain(huge), gain(idle));
    for name in [huge, idle] {
        assert!(of("bd-reads", name) == of("disk-in", name) && of("disk-written", name) == of("bd-writes", name) * 4096.0);
        assert!(of("wake-p99", name) > of("wake-p99", alone), "{name}: reads from the disk");
    }
    assert!(of("huge", huge) < 0.5 * of("huge", alone));
}

/// A13: the rule counts RAM that the pool takes twice, and slots that zswap's pages keep on the disk.
#[test]
fn a13_what_fits_is_less_than_the_rule_says() {
    let runs = Runs::of(A13, 256, None);
    let held = |name: &str| runs.metric("held", name, 0) * 256.0 / f64::from(1 << 30);
    assert!((15.5..16.0).contains(&held("disk of 8 GB")), "{}", held("disk of 8 GB"));
    assert!((12.5..13.5).contains(&held("zswap, disk of 8 GB")), "8 GB of slots and what the pool leaves of RAM");
    assert!((19.0..20.5).contains(&held("zswap, disk of 15 GB")) && (19.0..20.5).contains(&held("zram, disk of 8 GB")));
    assert!(runs.runs[0].iter().all(|run| run.outcome.out_of_memory.is_some()));
}

/// Idle applications: with zram alone wakes are fastest while all fit, and the first to run out of memory.
#[test]
fn a13_idle_applications_wake_faster_from_a_pool() {
    let runs = Runs::of(A13_IDLE, 128, Some("workload.with.apps=60,120"));
    assert!(runs.metric("wake-p50", "zram alone", 0) < 0.5 * runs.metric("wake-p50", "disk alone", 0));
    assert!(runs.get("zram alone", 1).outcome.out_of_memory.is_some());
    assert!(runs.get("disk alone", 1).outcome.out_of_memory.is_none());
    assert!(runs.metric("disk-in", "zswap, disk", 1) < runs.metric("disk-in", "disk alone", 1));
}

/// Idle services beside what kernels counted: disk reads are near. What the shrinker writes back moves by more than a quarter from seed to seed.
#[test]
fn idle_services_read_as_much_from_the_disk_as_on_a_kernel() {
    let runs = Runs::of(SERVICES, 1, Some("workload.with.apps=34,46,62"));
    let near = |name: &str, point: usize, kernel: f64| {
        let ours = runs.metric("disk-in", name, point);
        assert!((ours / kernel - 1.0).abs() < 0.25, "{name} at {point}: {ours}, on a kernel {kernel}");
    };
    near("disk", 0, 37_439.0);
    near("disk", 1, 67_825.0);
    near("N 43", 1, 28_877.0);
    near("N 43", 2, 59_745.0);
    near("Y 43", 2, 61_029.0);
    assert_eq!(
        [0, 1].map(|point| runs.metric("disk-in", "N 70", point)),
        [0.0, 0.0],
        "with 46 a kernel has 5657, for its pool is at its limit by a few MiB"
    );
    assert!(runs.metric("disk-in", "Y 70", 1) > 1000.0, "the shrinker sends away what would fit");
    let by_worker = |point: usize| runs.metric("written-back", "N 43", point) / runs.metric("rejected", "N 43", point);
    assert!(by_worker(1) < 0.1 && by_worker(2) < 0.1, "the worker gets few turns: {} {}", by_worker(1), by_worker(2));
}
