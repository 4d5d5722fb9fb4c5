//! The laws on a simulated machine.

use swaptune_core::settings::read_toml;
use swaptune_tiers::generate::generate;
use swaptune_tiers::scenario::{Changes, NoFiles, Scenario, WorkloadSource, run as run_alone};

use super::*;

/// By how much the machine is smaller: it stands for one of 3 GiB.
const SCALE: u32 = 256;

/// Applications of `pages` pages that wake seldom, on a machine of 3072 pages.
fn machine(apps: u32, pages: u32, wake: u32, limit: u32) -> (Tiering, Trace) {
    let text = format!(
        r#"
        title = "a test"
        [machine]
        kernel = "6.12"
        lru = "classic"
        ram = 12582912
        page-cluster = 0
        [workload]
        generator = "idle"
        with = {{ apps = {apps}, pages = {pages}, seconds = 2400, wake = {wake}, touch = 0.3, core = 0.5, size = 1000, poor = 0 }}
        [[tiering]]
        name = "zswap"
        zswap = {{ compressor = "lz4", limit = {limit} }}
        swap = [{{ disk = "ssd" }}]
        "#
    );
    let scenario = Scenario::read(&text, &Changes::default(), &NoFiles).unwrap();
    let point = &scenario.points[0];
    let WorkloadSource::Generated(spec) = &point.source else { panic!("{:?}", point.source) };
    (point.tierings[0].clone(), generate(spec).unwrap())
}

fn only(limit: bool, pacing: bool, reclaim: bool) -> Wishes {
    let text = format!("[keep]\nlimit = {limit}\npacing = {pacing}\nreclaim = {reclaim}\n");
    read_toml("a test", &text, None).unwrap().keep.wishes()
}

#[test]
fn pacing_keeps_the_pool_below_a_limit_that_it_would_meet() {
    // One more starts each second, and stores less than a burst takes.
    let (tiering, trace) = machine(64, 100, 4000, 35);
    let alone = run_alone(&tiering, &trace).unwrap();
    let mut settings = Vec::new();
    let kept = run_and_tell(&tiering, &trace, SCALE, only(false, true, false), |now, _| {
        settings.push((now.limit_percent, now.accept_percent));
    });
    let kept = kept.unwrap();
    let refused = |run: &TieringRun| run.outcome.counters.pool_limit_hit + run.outcome.counters.reject_draining;
    let did = kept.kept.unwrap();
    assert!(refused(&alone) > 0);
    assert_eq!(refused(&kept), 0, "{} alone, {did:?}", refused(&alone));
    assert!(did.bursts > 0 && did.canaries > did.bursts && did.written > 0, "{did:?}");
    assert_eq!((did.probes, did.moves), (0, 0));
    assert!(settings.len() > 1 && settings.iter().all(|now| *now == (35, 90)), "limits are put back: {settings:?}");
}

#[test]
fn idle_applications_give_memory_up_without_pressure() {
    let (tiering, trace) = machine(5, 400, 1200, 20);
    let alone = run_alone(&tiering, &trace).unwrap();
    let kept = run(&tiering, &trace, SCALE, only(false, false, true)).unwrap();
    let did = kept.kept.unwrap();
    assert_eq!((alone.pools.stored, alone.kept), (0, None));
    assert!(did.probes > 10 && did.taken > 400 && kept.pools.stored >= did.taken / 2, "{did:?} {:?}", kept.pools);
    assert!(kept.in_ram < alone.in_ram && did.freed < did.taken, "{} {} {did:?}", kept.in_ram, alone.in_ram);
}

#[test]
fn none_is_probed_before_it_was_idle_for_long_enough() {
    let (tiering, trace) = machine(5, 400, 1200, 20);
    let mut first = None;
    let wishes = only(false, false, true);
    let idle_ms = wishes.figures.reclaim_idle_s * 1000;
    let tell = |now: &Moment, _: &[Decision]| _ = first.get_or_insert(now.at_ms);
    run_and_tell(&tiering, &trace, SCALE, wishes, tell).unwrap();
    assert!(first.unwrap() >= idle_ms, "{first:?}");
}

#[test]
fn equal_runs_make_equal_decisions() {
    let (tiering, trace) = machine(18, 400, 400, 20);
    let once = || {
        let mut all = Vec::new();
        let run = run_and_tell(&tiering, &trace, SCALE, only(true, true, true), |now, decisions| {
            all.push((now.at_ms, decisions.to_vec()));
        });
        (all, run.unwrap().outcome)
    };
    let first = once();
    assert!(!first.0.is_empty());
    assert_eq!(first, once());
}

#[test]
fn a_daemon_that_wants_nothing_changes_nothing_that_counts() {
    let (tiering, trace) = machine(8, 400, 400, 20);
    let alone = run_alone(&tiering, &trace).unwrap();
    let kept = run(&tiering, &trace, SCALE, only(false, false, false)).unwrap();
    let counts =
        |run: &TieringRun| (run.outcome.counters.accesses, run.outcome.counters.pool_limit_hit, run.kept.unwrap_or_default());
    assert_eq!(counts(&alone), counts(&kept));
    let swapped = |run: &TieringRun| run.outcome.counters.zswpout as f64;
    assert!((swapped(&kept) / swapped(&alone) - 1.0).abs() < 0.05, "{} {}", swapped(&alone), swapped(&kept));
}
