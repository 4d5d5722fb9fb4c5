use proptest::prelude::*;

use super::*;
use crate::generate::generate;
use crate::trace::{Event, KeptColumns, TraceBuilder};

fn trace(list: &[(u32, u8)]) -> Trace {
    let mut builder = TraceBuilder::new(KeptColumns::Everything);
    let highest = list.iter().map(|(page, _)| *page).max().unwrap_or(0);
    // Every page is accessed at least once, so that numbers have no gaps.
    for page in 0..=highest {
        builder.push(Event { page, ..Event::default() }).unwrap();
    }
    for &(page, op) in list {
        let op = [Op::Read, Op::Write, Op::Free][usize::from(op)];
        builder.push(Event { page, op, ..Event::default() }).unwrap();
    }
    builder.finish(None).unwrap()
}

/// Accesses to few pages, with or without giving back.
fn accesses_to(pages: u32) -> impl Strategy<Value = Trace> {
    let one = move |ops: u8| prop::collection::vec((0..pages, 0..ops), 0..400);
    prop_oneof![one(2), one(3)].prop_map(|list| trace(&list))
}

proptest! {
    #[test]
    fn replays_are_those_of_a_plain_list(trace in accesses_to(24), size in 0..26u32) {
        for row in &REPLAYS {
            prop_assert_eq!(row.misses(&trace, size), naive::misses(row.name, &trace, size as usize), "{}", row.name);
        }
    }

    /// More sizes than any policy takes in one pass.
    #[test]
    fn sizes_replayed_together_are_those_replayed_alone(trace in accesses_to(40), counts in 1..80u32) {
        let sizes: Vec<u32> = (0..counts).map(|index| index * 7 % 45).collect();
        for row in &REPLAYS {
            let alone: Vec<u64> = sizes.iter().map(|&size| naive::misses(row.name, &trace, size as usize)).collect();
            prop_assert_eq!(row.misses_of(&trace, &sizes), alone, "{}", row.name);
        }
    }

    #[test]
    fn the_curve_is_a_replay_of_each_size(trace in accesses_to(40)) {
        let sizes: Vec<u32> = (0..45).collect();
        let expected: Vec<u64> = sizes.iter().map(|&size| naive::misses("lru", &trace, size as usize)).collect();
        prop_assert_eq!(exact_curve(&trace).misses(&sizes), expected.clone());
        prop_assert_eq!(sampled_curve(&trace, 1.0).misses(&sizes), expected);
    }
}

/// One page of memory comes and goes so often that places in the queue are cleared, while others stay.
#[test]
fn places_that_pages_left_are_cleared_without_harm() {
    let goes = (0..300).flat_map(|_| [(9, 2), (9, 0)]);
    let list: Vec<(u32, u8)> = goes.chain((10..16).chain(0..9).map(|page| (page, 0))).collect();
    let trace = trace(&list);
    for (row, size) in REPLAYS.iter().flat_map(|row| [10, 12, 16].map(|size| (row, size))) {
        assert_eq!(row.misses(&trace, size), naive::misses(row.name, &trace, size as usize), "{} {size}", row.name);
    }
}

/// Small enough for a test, of the same kind as the two reference traces.
fn reference() -> Trace {
    generate("zipf:pages=20k,events=300k,theta=1,seed=1").unwrap()
}

#[test]
fn misses_are_those_of_another_simulator() {
    // Counted by the PyPI package libcachesim 0.3.5 on this trace written as oracleGeneral; `make bench-sim` compares the large ones.
    let trace = reference();
    for (name, size, expected) in [
        ("lru", 2000, 91_984),
        ("fifo", 2000, 104_303),
        ("clock", 2000, 89_212),
        ("lru", 200, 171_781),
        ("fifo", 200, 185_620),
        ("clock", 200, 167_828),
    ] {
        assert_eq!(ReplayRow::named(name).unwrap().misses(&trace, size), expected, "{name} {size}");
    }
}

#[test]
fn a_sample_comes_near_and_the_correction_brings_it_there() {
    let trace = generate("zipf:pages=200k,events=2M,theta=1,seed=5").unwrap();
    let sizes: Vec<u32> = (1..=20).map(|i| i * 5000).collect();
    let (exact, mut sampled) = (exact_curve(&trace), sampled_curve(&trace, 0.05));
    let worst = |curve: &Curve| {
        let pairs = exact.miss_ratios(&sizes).into_iter().zip(curve.miss_ratios(&sizes));
        pairs.map(|(exact, sampled)| (exact - sampled).abs()).fold(0.0, f64::max)
    };
    let corrected = worst(&sampled);
    assert!(corrected < 0.005, "{corrected}");
    for (exact, sampled) in exact.misses(&sizes).into_iter().zip(sampled.misses(&sizes)) {
        assert!(exact.abs_diff(sampled) < accesses(&trace) / 200, "{exact} {sampled}");
    }
    sampled.expected = sampled.counted as f64;
    let uncorrected = worst(&sampled);
    assert!(uncorrected > 2.0 * corrected, "{uncorrected} {corrected}");
}

#[test]
fn threads_change_nothing() {
    let trace = generate("compile:units=6,pages=300,link=3").unwrap();
    let jobs = |sizes: u32| -> Vec<ReplayJob> {
        REPLAYS.iter().flat_map(|policy| (0..sizes).map(move |i| ReplayJob { policy, size: i * 37 })).collect()
    };
    for jobs in [jobs(3), jobs(90), Vec::new()] {
        let expected: Vec<u64> = jobs.iter().map(|job| job.policy.misses(&trace, job.size)).collect();
        let most = std::sync::atomic::AtomicUsize::new(0);
        let done = |count| _ = most.fetch_max(count, std::sync::atomic::Ordering::Relaxed);
        assert_eq!(run_all(&trace, &jobs, 3, &done), expected);
        assert_eq!(most.into_inner(), jobs.len());
    }
}

#[test]
fn accesses_are_all_events_but_frees() {
    assert_eq!(accesses(&trace(&[(0, 0), (1, 2), (1, 2), (0, 1)])), 4);
    assert_eq!(accesses(&reference()), 300_000);
}
