//! What reclaim does to a whole machine: who is reclaimed from, how much at once, when it stops, and what it takes.

use swaptune_kernel::v;

use super::page::NONE;
use super::tests::{cycles, disk, event, machine, policy, run, with_zswap, zram, zsmalloc};
use super::*;
use crate::trace::{Event, Op};

/// What the processor does for pages that go out, and for one that comes in again, to the nanosecond: a page of one value is neither
/// compressed nor decompressed, and what zram finds too large is tried first and then kept as it is.
#[test]
fn a_page_takes_the_time_of_its_codec() {
    let (costs, lz4) = (Costs::default(), CodecCosts::named("lz4").unwrap());
    let in_zram = ModelSettings { areas: vec![zram(0, 10_000)], ..machine(2000) };
    for (settings, large) in [(with_zswap(2000, policy("limit"), 90), lz4.decompress), (in_zram, COPY)] {
        let settings = ModelSettings { kernel: v(6, 11), sizes: CompressedSizes::Each(vec![0, 1000, 3700]), ..settings };
        let mut model = Model::new(settings, 2100).unwrap();
        cycles(2100, 1).for_each(|event| _ = model.advance(event).unwrap());
        let away: Vec<u32> = (0..2100).filter(|&page| model.tier(page) != Tier::Ram).collect();
        let compressed = away.iter().filter(|&page| page % 3 > 0).count() as u64;
        let expected = away.len() as u64 * costs.swap_out + compressed * lz4.compress;
        assert_eq!(model.clock.system, model.memory.vmstat.pgscan * costs.scan + expected);
        assert_eq!(model.memory.vmstat.pgsteal, away.len() as u64);
        for (page, load) in [(0, COPY), (1, lz4.decompress), (2, large)] {
            let mut model = model.clone();
            let begin = model.clock.now;
            model.advance(event(page, Op::Read)).unwrap();
            assert_eq!(model.clock.now - begin, costs.swap_in + load + costs.access, "page {page}");
        }
    }
}

/// kswapd wakes at the low watermark and goes on to the high one, so that no process that leaves it the time has to reclaim.
#[test]
fn kswapd_keeps_ram_free_between_its_watermarks() {
    let slowly = |pages: u32| (0..pages).map(|page| Event { time: u64::from(page) * 1_000_000, ..event(page, Op::Write) });
    let mut model = Model::new(with_zswap(4000, policy("limit"), 90), 6000).unwrap();
    let (low, high) = (model.memory.marks.low as i64, model.memory.marks.high as i64);
    for event in slowly(6000) {
        let (before, stolen) = (model.pools().free, model.memory.vmstat.pgsteal);
        model.advance(event).unwrap();
        let after = model.pools().free;
        assert!(after >= low - 1, "{after}");
        if model.memory.vmstat.pgsteal > stolen {
            assert!(before < low && (high - 1..high + 32).contains(&after), "from {before} to {after}");
        }
    }
    assert!(model.memory.vmstat.pgsteal > 1000);
    assert_eq!(model.memory.vmstat.allocstall, 0);
    let fast = run(with_zswap(4000, policy("limit"), 90), 6000, cycles(6000, 1));
    assert!(fast.counters.allocstall > 0, "kswapd has one processor");
}

/// Nothing can be evicted when swap is full, and lists are not scanned in vain.
#[test]
fn nothing_is_scanned_for_a_swap_that_is_full() {
    let mut model = Model::new(ModelSettings { areas: vec![disk(0, 50)], ..machine(2000) }, 2100).unwrap();
    let mut scans = |page: u32| {
        let before = model.memory.vmstat.pgscan;
        model.advance(Event { time: u64::from(page) * 1_000_000, ..event(page, Op::Write) }).unwrap();
        let full = model.swap.slots.fill().0 == 50 && model.pools().free <= model.memory.marks.low as i64;
        (model.memory.vmstat.pgscan - before, full)
    };
    let full = (0..2100).find(|&page| scans(page).1).unwrap();
    let scans: Vec<u64> = (full + 1..full + 5).map(|page| scans(page).0).collect();
    assert_eq!(scans, [0; 4]);
    let refused = model.memory.vmstat.swap_full;
    assert!((1..=32).contains(&refused), "those of the batch that used the last slot: {refused}");
}

/// Pages under write will be free: reclaim does not write more of them than it needs, and who needs one page waits.
#[test]
fn reclaim_counts_on_pages_that_are_being_written() {
    let writing = |model: &Model| (0..3000).filter(|&page| model.tier(page) == Tier::Writing).count() as i64;
    let most = |settings: ModelSettings, of: &dyn Fn(&Model) -> i64| {
        let slow = DeviceTimes { request: 0, page: 1_000_000, seek: 0, read_latency: 0, write_latency: 0 };
        let mut model = Model::new(ModelSettings { devices: vec![slow], ..settings }, 3000).unwrap();
        let most = cycles(3000, 1).map(|event| {
            model.advance(event).unwrap();
            of(&model)
        });
        most.max().unwrap()
    };
    // A batch more when one page less than a batch is under write; until the page is there one of them has ended.
    assert_eq!(most(ModelSettings { cgroups: vec![Some(500)], ..machine(4000) }, &writing), 62);
    let high = Watermarks::of(2000, 500).high as i64;
    let coming = most(ModelSettings { watermark_scale_factor: 500, ..machine(2000) }, &|model| {
        if writing(model) > 0 { model.pools().free + writing(model) } else { 0 }
    });
    assert!((high..high + 32).contains(&coming), "{coming} of {high}");
}

/// The pages of a round are one request, those of the next another, though their slots are adjacent.
#[test]
fn each_round_of_reclaim_is_a_request() {
    let device = DeviceTimes { request: 10_000_000, page: 0, seek: 0, read_latency: 0, write_latency: 0 };
    let settings = ModelSettings { cgroups: vec![Some(500)], devices: vec![device], ..machine(4000) };
    let outcome = run(settings, 3000, cycles(3000, 1));
    let rounds = outcome.counters.pswpout / 32;
    assert!(
        rounds > 70 && (rounds - 2..=rounds + 2).contains(&(outcome.elapsed / device.request)),
        "{rounds} {}",
        outcome.elapsed
    );
}

/// 200 pages are used again and again while 4000 others come once. With generations kswapd does not wait for what it has sent to the disk,
/// and takes pages in use too; all of them would be 1000.
#[test]
fn pages_in_use_stay_in_ram() {
    for (lru, most) in [(Lru::Exact, 0), (Lru::Classic, 200), (Lru::Generational, 600)] {
        let mut model = Model::new(ModelSettings { lru, ..machine(1000) }, 4200).unwrap();
        for index in 0..4000 {
            model.advance(event(200 + index, Op::Write)).unwrap();
            model.advance(event(index % 200, Op::Read)).unwrap();
        }
        let refaults = model.memory.vmstat.workingset_refault_anon;
        assert!(refaults <= most, "{lru:?}: {refaults} of 4000 uses");
        model.check();
    }
}

/// What zswap holds of a cgroup counts against its limit, where cgroups are those of version 2.
#[test]
fn a_cgroup_pays_for_what_zswap_holds_of_it() {
    for (charge_zswap, in_ram) in [(true, 200), (false, 500)] {
        let zswap = with_zswap(4000, policy("limit"), 60);
        let settings =
            ModelSettings { cgroups: vec![Some(500)], charge_zswap, sizes: CompressedSizes::Each(vec![2048]), ..zswap };
        let mut model = Model::new(settings, 800).unwrap();
        cycles(800, 1).for_each(|event| _ = model.advance(event).unwrap());
        let ram = (0..800).filter(|&page| model.tier(page) == Tier::Ram).count();
        assert!((in_ram - 32..=in_ram).contains(&ram), "{ram} of 800, the others take half: {charge_zswap}");
    }
}

/// mem_limit is the most that the device takes; what it holds and has held is counted.
#[test]
fn a_zram_device_fills_up_to_its_limit() {
    let full =
        Backing::Zram { codec: CodecCosts::named("lz4").unwrap(), allocator: zsmalloc(), mem_limit: Some(20), upkeep: None };
    let areas = vec![AreaSettings { priority: 0, slots: 1000, backing: full }];
    let mut model = Model::new(ModelSettings { areas, sizes: CompressedSizes::Each(vec![4096]), ..machine(1000) }, 2000).unwrap();
    let written = cycles(2000, 1).take_while(|&event| model.advance(event).is_some()).count();
    let Counters { huge_pages_since, pswpout, .. } = model.memory.vmstat;
    assert_eq!((model.pools().zram, model.pools().zram_huge, huge_pages_since, pswpout), (20, 20, 20, 20));
    let away = (0..written as u32).find(|&page| model.tier(page) == Tier::Zram).unwrap();
    model.advance(event(away, Op::Free)).unwrap();
    assert_eq!((model.pools().zram, model.pools().zram_huge), (19, 19));
}

/// Global reclaim goes on where it ended: 64 equal cgroups lose one page each, 32 of them in one round and the others in the next.
#[test]
fn global_reclaim_visits_all_cgroups() {
    let groups = cycles(4000, 1).map(|event| Event { cgroup: (event.page % 64) as u16, ..event });
    let settings = ModelSettings { cgroups: vec![None; 64], ..with_zswap(2000, policy("limit"), 90) };
    let mut model = Model::new(settings, 4000).unwrap();
    groups.for_each(|event| _ = model.advance(event).unwrap());
    let Counters { pgsteal, allocstall, .. } = model.memory.vmstat;
    assert!(allocstall > 10 && pgsteal >= 32 * allocstall, "a round is a batch: {pgsteal} {allocstall}");
    let charged = model.memory.charged().0.into_iter();
    let (least, most) = (charged.clone().min().unwrap(), charged.max().unwrap());
    assert!(most - least <= 3, "{least} {most}");
}

/// The pressure on zswap's shrinker follows the length of the list of RAM: 2^5 batches of it call for a sixteenth of what is offered,
/// and a batch of pages comes in meanwhile. Pages take a third and are passed over once, so the pool comes to 32 × 16 × 3 × 2 at most.
#[test]
fn the_shrinker_takes_as_much_as_comes_in() {
    let mut model = Model::new(with_zswap(2000, policy("shrinker"), 90), 12_000).unwrap();
    cycles(12_000, 1).for_each(|event| _ = model.advance(event).unwrap());
    let stored = model.pools().stored;
    assert!((2000..3072).contains(&stored), "{stored}");
}

/// Where no slot is free, those that pages in RAM have kept are taken back, all at once, but of such as were read ahead and not used yet.
/// The next look comes after as many faults as there are pages.
#[test]
fn slots_of_pages_in_ram_are_taken_back_where_swap_is_full() {
    let mut model = Model::new(ModelSettings { areas: vec![disk(0, 300)], ..machine(2000) }, 1000).unwrap();
    (0..10).for_each(|page| model.memory.add_new(page));
    let keep = |model: &mut Model, page| {
        let slot = model.swap.slots.alloc(page).unwrap();
        model.memory.pages.set_slot(page, slot);
    };
    (0..5).for_each(|page| keep(&mut model, page));
    model.memory.pages.set(4, super::page::AHEAD);
    while model.swap.slots.alloc(999).is_some() {}
    assert!(model.reclaim_slots(9).is_some());
    assert_eq!((0..10).filter(|&page| model.memory.pages.slot(page) != NONE).collect::<Vec<u32>>(), [4]);
    assert_eq!(model.swap.slots.fill(), (297, 300), "four were taken back, and one of them used");
    keep(&mut model, 7);
    while model.swap.slots.alloc(999).is_some() {}
    for (misses, found) in [(0, false), (999, false), (1000, true)] {
        model.misses = misses;
        assert_eq!(model.reclaim_slots(9).is_some(), found, "after {misses} faults");
    }
}
