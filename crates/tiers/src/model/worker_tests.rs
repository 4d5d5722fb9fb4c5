//! How zswap's worker and shrinker walk through a small pool, by kernel and by policy.

use swaptune_kernel::v;

use super::policy_tests::{ACCEPT, Bench, INCOMPRESSIBLE, LAST, LIMIT, SIZE};
use super::tests::policy;
use super::zswap::Worker;
use super::*;
use crate::alloc::Allocator;

/// What the worker of each kernel does to a full pool of entries that were never met before: how many stores are refused until the
/// first page is written back, how many pages there are then, and whether a store that is refused below the limit sets it going.
#[test]
fn the_worker_walks_as_that_of_its_kernel() {
    for (kernel, full, refused, left, in_band) in [
        // A pool of exactly the limit is not yet full before 6.10, and what can be accepted is below the threshold.
        (v(5, 10), 401, 1, 400, false),
        (v(6, 4), 401, 1, 400, false),
        (v(6, 5), 401, 1, 359, false),
        (v(6, 7), 401, 1, 359, false),
        (v(6, 8), 401, 1, 359, true),
        (v(6, 11), 400, 1, 360, true),
        // 16 entries lose their second chance with each store that is refused: 400 / 16.
        (v(6, 12), 400, 26, 360, true),
        (v(7, 2), 400, 26, 360, true),
        // 32 of them in each step: the first to be written back are met in the thirteenth, and the fourteenth is enough.
        (v(7, 3), 400, 1, 352, true),
    ] {
        let mut bench = Bench::on(kernel, 1, policy("limit"), Allocator::Zbud).fill(full);
        let stores = (1..100).find(|_| {
            bench.refused();
            bench.pages() < full
        });
        assert_eq!((stores, bench.pages()), (Some(refused), left), "{kernel:?}");
        let mut bench = Bench::on(kernel, 1, policy("limit"), Allocator::Zbud).fill(full);
        bench.stores(SIZE);
        bench.model.zswap().worker = Worker::default();
        (0..20).for_each(|page| bench.model.free(page));
        assert!(!bench.stores(SIZE), "between threshold and limit nothing is taken: {kernel:?}");
        assert_eq!(bench.model.zswap().worker.is_awake(), in_band, "{kernel:?}");
    }
}

/// A request while it waits to begin is the same request, one while it runs is another run, each of 16 entries that lose their chance.
#[test]
fn the_worker_runs_beside_the_stores_that_ask_for_it() {
    let wake = Costs::default().wake;
    for (round, asked, met) in [
        (0, &[0, 10, wake][..], 16),
        (0, &[0, wake + 1], 32),
        (0, &[0, wake + 1, wake + 2], 32),
        (0, &[0, 1_000_000, 2_000_000], 48),
        // The first run ends after 2.4 µs, and the second request is one of its own; or it takes 16 rounds more, and both meet it at work.
        (0, &[0, wake + 1, wake + 10_000], 48),
        (3_000, &[0, wake + 1, wake + 10_000], 32),
    ] {
        let mut bench = Bench::on(v(6, 12), 1, policy("limit"), Allocator::Zbud).fill(LIMIT);
        bench.model.zswap().costs.round = round;
        let (begin, system) = (bench.model.clock.now, bench.model.clock.system);
        asked.iter().for_each(|later| bench.model.wake_worker(begin + later));
        bench.model.clock.now = begin + 10_000_000_000;
        bench.model.run_worker();
        assert_eq!(bench.model.memory.vmstat.reject_reclaim_fail, met, "{asked:?}");
        let each = bench.model.settings.costs.scan + round;
        assert_eq!(bench.model.clock.system - system, met * each, "{asked:?}");
    }
}

/// On one processor all requests until whoever made them lets go of it, or until the next tick, are one run.
#[test]
fn the_worker_waits_for_the_only_processor() {
    for free in [Some(2_500_000), None] {
        let mut bench = Bench::on(v(6, 12), 1, policy("limit"), Allocator::Zbud).fill(LIMIT);
        bench.model.zswap().on_one_processor();
        let begin = bench.model.clock.now;
        (0..3).for_each(|later| bench.model.wake_worker(begin + later * 1_000_000));
        let met_by = |bench: &mut Bench, time: u64| {
            bench.model.clock.now = begin + time;
            bench.model.run_worker();
            bench.model.memory.vmstat.reject_reclaim_fail
        };
        assert_eq!(met_by(&mut bench, 3_999_999), 0);
        if let Some(free) = free {
            bench.model.zswap().worker.get_turn(begin + free);
            assert_eq!(met_by(&mut bench, 3_999_999), 16);
        }
        assert_eq!(met_by(&mut bench, 5_000_000), 16, "one run");
    }
}

/// Patches 1 and 2 of the series of 2024: an empty cgroup was a failure, and 16 of them in a row ended the walk.
#[test]
fn the_broken_walk_ends_at_16_empty_cgroups_and_the_fair_one_does_not() {
    for (name, empty, writes) in
        [("broken-walk", 15, true), ("broken-walk", 16, false), ("fair-walk", 16, true), ("fair-walk", 100, true)]
    {
        let mut bench = Bench::on(v(6, 12), empty + 1, policy(name), Allocator::Zbud).fill(LIMIT);
        bench.model.zswap().worker.start_at(1);
        bench.refused();
        assert_eq!(bench.pages() < LIMIT, writes, "{name} with {empty} empty cgroups");
    }
}

/// Whose pages go when all are equally many but one group's are older.
#[test]
fn the_oldest_go_or_one_of_each_group() {
    for (name, of_old, of_young) in [
        ("write-back", 1, 0),
        ("write-through", 1, 0),
        ("switching", 1, 0),
        ("cleaning", 1, 0),
        ("limit", 20, 20),
        ("broken-walk", 20, 20),
        ("fair-walk", 20, 20),
        ("proactive", 20, 20),
        ("no-writeback", 0, 0),
    ] {
        let mut bench = Bench::on(v(6, 11), 2, policy(name), Allocator::Zbud);
        bench.cgroup = 1;
        let mut bench = bench.fill(LIMIT / 2);
        bench.cgroup = 0;
        let mut bench = bench.fill(LIMIT);
        bench.stores(SIZE);
        bench.model.clock.now += 10_000_000_000;
        bench.model.run_worker();
        let gone = |from: u32, to: u32| (from..to).filter(|&page| bench.model.tier(page) != Tier::Zswap).count();
        assert_eq!((gone(0, 200), gone(200, 400)), (of_old, of_young), "{name}");
    }
    let mut global = Bench::on(v(6, 7), 3, policy("shrinker"), Allocator::Zbud).fill(LIMIT / 2);
    let mut time = global.model.clock.now;
    (0..4).for_each(|_| global.model.shrink_slab(2, 0, &mut time));
    assert!(global.pages() < LIMIT / 2, "one list for all groups before 6.8");
}

/// Refusals by their reason: at the limit, between threshold and limit, and because there is no place of that size.
#[test]
fn refusals_are_counted_by_their_reason() {
    for (name, draining) in [("limit", 1), ("no-writeback", 1), ("proactive", 0), ("write-back", 0)] {
        let mut bench = Bench::filled(policy(name), LIMIT);
        bench.stores(SIZE);
        bench.model.zswap().worker = Worker::default();
        (0..5).for_each(|page| bench.model.free(page));
        bench.stores(SIZE);
        let Counters { pool_limit_hit, reject_draining, reject_compress_poor, .. } = bench.model.memory.vmstat;
        assert_eq!((pool_limit_hit, reject_draining, reject_compress_poor), (1, draining, 0), "{name}");
    }
    let mut bench = Bench::with(policy("raw"), Allocator::Zbud);
    assert!(!bench.stores(INCOMPRESSIBLE));
    assert_eq!(bench.model.memory.vmstat.reject_compress_poor, 1, "zbud has no place for a whole page");
}

/// What the worker spends is the kernel's time, felt by the process or not, to the nanosecond.
#[test]
fn write_back_takes_what_its_parts_take() {
    let costs = Costs::default();
    let each = costs.scan + CodecCosts::named("lz4").unwrap().decompress + costs.swap_out;
    for (name, felt) in [("fair-walk", true), ("limit", false), ("background", false)] {
        let mut bench = Bench::filled(policy(name), LIMIT);
        bench.model.wake_worker(bench.model.clock.now);
        let (system, begin) = (bench.model.clock.system, bench.model.clock.now);
        bench.model.clock.now += 1_000_000;
        // A policy without a pause does not lose the time until the next refusal.
        bench.model.pause_worker();
        bench.model.run_worker();
        assert_eq!(bench.pages(), ACCEPT, "{name}");
        let spent = (LIMIT - ACCEPT) * each;
        assert!(begin + spent < bench.model.clock.now);
        assert_eq!(bench.model.clock.system - system, spent, "{name}");
        assert_eq!(bench.model.clock.stolen, if felt { spent } else { 0 }, "{name}");
    }
    for (write_back, taken) in [(each - 1, each), (each + 1000, each + 1000)] {
        let mut bench = Bench::filled(policy("limit"), LIMIT);
        bench.model.zswap().costs.write_back = write_back;
        let system = bench.model.clock.system;
        bench.model.wake_worker(bench.model.clock.now);
        bench.model.clock.now += 1_000_000;
        bench.model.run_worker();
        assert_eq!(bench.model.clock.system - system, (LIMIT - ACCEPT) * taken, "the worker waits for the disk's queue");
    }
    let mut bench = Bench::with(policy("limit"), Allocator::Zbud);
    let (zram, disk) = (super::tests::zram(1, 1000), bench.model.settings.areas[0].clone());
    let settings = ModelSettings { areas: vec![zram, disk], ..bench.model.machine() };
    bench.model = Model::new(settings, LAST + 1).unwrap();
    let mut bench = bench.fill(LIMIT);
    let system = bench.model.clock.system;
    bench.refused();
    assert_eq!(bench.model.clock.system - system, (LIMIT - ACCEPT) * (each + CodecCosts::named("lz4").unwrap().compress));
}

/// Pages written back one after the other are requests of their own, wherever their slots lie.
#[test]
fn write_back_is_a_request_for_each_page() {
    let costs = Costs::default();
    let each = costs.scan + CodecCosts::named("lz4").unwrap().decompress + costs.swap_out;
    let device = DeviceTimes { request: each / 2, page: 0, seek: 0, read_latency: 0, write_latency: 0 };
    let mut bench = Bench::with(policy("limit"), Allocator::Zbud);
    bench.model = Model::new(ModelSettings { devices: vec![device], ..bench.model.machine() }, LAST + 1).unwrap();
    let mut bench = bench.fill(LIMIT);
    bench.model.wake_worker(bench.model.clock.now);
    let begin = bench.model.clock.now + costs.wake;
    bench.model.clock.now += 1_000_000;
    bench.model.run_worker();
    for (time, written) in [(each + device.request - 1, 0), (2 * each, 1), (2 * each + device.request, 2), (3 * each, 2)] {
        bench.model.end_writes(begin + time);
        let on_disk = (0..bench.next).filter(|&page| bench.model.tier(page) == Tier::Disk).count();
        assert_eq!(on_disk, written, "{time} ns after the worker began");
    }
}

/// Since 6.12 the shrinker passes over what it meets for the first time, and a batch of 128 of them ends the call.
#[test]
fn the_shrinker_gives_a_second_chance_since_6_12() {
    for (kernel, first) in [(v(6, 11), true), (v(6, 12), false)] {
        let mut bench = Bench::on(kernel, 1, policy("shrinker"), Allocator::Zbud).fill(300);
        let mut time = bench.model.clock.now;
        let mut writes = || {
            let before = bench.pages();
            bench.model.shrink_slab(0, 1, &mut time);
            bench.pages() < before
        };
        assert_eq!([(); 3].map(|()| writes()), [first, first, true], "{kernel:?}");
    }
}

/// One page in a step, where the policy and not the kernel says how to walk: whoever looks in between sees one less.
#[test]
fn a_step_writes_back_one_page() {
    for name in ["broken-walk", "fair-walk", "proactive", "background", "raw", "interrupted", "responsive"] {
        let mut bench = Bench::filled(policy(name), LIMIT);
        bench.model.wake_worker(bench.model.clock.now);
        bench.model.clock.now += 1;
        bench.model.run_worker();
        assert_eq!(bench.pages(), LIMIT - 1, "{name}");
    }
}

/// The worker that cleans ahead copies the oldest pages by 32, one batch after the other, until as many are clean as leave next: a tenth.
#[test]
fn pages_are_cleaned_by_batches_that_take_their_time() {
    let bench = Bench::filled(policy("cleaning"), LIMIT);
    let Model { settings, clock, .. } = &bench.model;
    let zswap = bench.model.zswap.as_ref().unwrap();
    let (begin, each) = (zswap.cleaner.unwrap(), settings.costs.swap_out + zswap.decompressed(SIZE));
    assert!(each > settings.costs.swap_out);
    for (later, cleaned) in [(0, 0), (1, 32), (32 * each, 32), (32 * each + 1, 40), (10_000_000_000, 40)] {
        let mut model = bench.model.clone();
        model.clock.now = begin + later;
        model.run_cleaner();
        assert_eq!(model.memory.vmstat.disk_out, cleaned, "{later} ns later");
        assert_eq!(model.clock.system - clock.system, cleaned * each);
        assert_eq!(model.zswap().cleaner.is_some(), cleaned < 40);
        assert_eq!(
            model.swap.disks.plugs() - bench.model.swap.disks.plugs(),
            cleaned.div_ceil(32),
            "each batch is a plug of its own"
        );
    }
}

/// What is in the swap cache, and what is on the disk already, is passed over.
#[test]
fn what_need_not_be_cleaned_is_passed_over() {
    let mut model = Bench::filled(policy("cleaning"), LIMIT).model;
    model.memory.pages.go(0, Tier::Ram);
    model.memory.pages.set(1, page::CLEAN);
    model.clock.now += 10_000_000_000;
    model.run_cleaner();
    let clean: Vec<u32> = (0..LIMIT as u32).filter(|&page| model.memory.pages.has(page, page::CLEAN)).collect();
    assert_eq!(clean, (1..42).collect::<Vec<u32>>());
    assert_eq!(model.memory.vmstat.disk_out, 40);
    // Of 390 entries 39 are to be clean, and 30 of them are.
    (2..12).for_each(|page| model.free(page));
    let now = model.clock.now;
    model.zswap().wake_cleaner(now);
    model.clock.now += 10_000_000_000;
    model.run_cleaner();
    assert_eq!(model.memory.vmstat.disk_out, 49, "who was clean and has gone makes room for another");
}
