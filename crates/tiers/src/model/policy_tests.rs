//! What each policy does to a small pool, measured: one line of expectations for each row of [`POLICIES`].
//!
//! Nothing here compares a constant with itself. A pool of zbud is filled page by page, emptied page by page, or made of entries that
//! cannot be written back, and what the model then does is noted. Whoever changes a threshold changes a line.

use super::tests::{policy, with_zswap, zsmalloc};
use super::*;
use crate::alloc::Allocator;
use crate::policies::{Context, POLICIES, Policy};

/// Two pages of this size do not fit into one: a stored page is a page of the pool.
const SIZE: u16 = 2500;
/// The last page does not compress at all.
const INCOMPRESSIBLE: u16 = 4096;
const LAST: u32 = 500;
/// Pages of RAM; the pool may have 400 and accepts again at 360.
const RAM: u64 = 2000;
const LIMIT: u64 = 400;
const ACCEPT: u64 = 360;

/// What a policy does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Behaviour {
    name: &'static str,
    /// Fewest pages of the pool after a store that set the worker going although nothing was refused.
    starts_at: Option<u64>,
    /// Fewest pages of the pool before a store that sent a copy to the disk at once.
    copies_from: Option<u64>,
    /// Fewest pages of the pool after a store that set the worker going that cleans ahead, and the pages of a full pool that it copies.
    cleans_from: Option<u64>,
    cleaned: u64,
    /// Most pages of a pool that was full and takes a page again.
    takes_again_at: u64,
    /// Pages that a full pool has after the next store, and after the worker has ended.
    after_store: u64,
    after_worker: u64,
    /// Attempts after which write-back gives up when no entry can be written back.
    attempts: u64,
    /// Nanoseconds after a refused store before which nothing is written back.
    pause: u64,
    /// Whether a page that does not compress is stored by a kernel that by itself would not.
    raw: bool,
    /// Whether the process pays for what the worker does.
    felt: bool,
    /// Whether reclaim writes back from a pool that has room.
    shrinks: bool,
}

/// The kernel as it comes, 6.11: what rows leave out.
const USUAL: Behaviour = Behaviour {
    name: "",
    starts_at: None,
    copies_from: None,
    cleans_from: None,
    cleaned: 0,
    takes_again_at: ACCEPT,
    after_store: LIMIT,
    after_worker: ACCEPT,
    attempts: 16,
    pause: 0,
    raw: false,
    felt: true,
    shrinks: false,
};
/// One page over the limit is refused, the store waits and no worker runs.
const WAITING: Behaviour = Behaviour { takes_again_at: LIMIT - 1, after_worker: LIMIT, felt: false, ..USUAL };
/// A hundredth of the limit above the threshold.
const EARLY: Behaviour = Behaviour { starts_at: Some(ACCEPT + 4 + 1), takes_again_at: LIMIT - 1, ..USUAL };

const EXPECTED: [Behaviour; 14] = [
    Behaviour { name: "limit", felt: false, ..USUAL },
    Behaviour { name: "shrinker", felt: false, shrinks: true, ..USUAL },
    Behaviour { name: "no-writeback", after_worker: LIMIT, attempts: 0, felt: false, ..USUAL },
    Behaviour { name: "write-back", ..WAITING },
    Behaviour { name: "write-through", copies_from: Some(0), ..WAITING },
    Behaviour { name: "switching", copies_from: Some(LIMIT - LIMIT / 100), ..WAITING },
    Behaviour { name: "cleaning", cleans_from: Some(2 * ACCEPT - LIMIT + 1), cleaned: LIMIT - ACCEPT, ..WAITING },
    Behaviour { name: "broken-walk", ..USUAL },
    Behaviour { name: "fair-walk", ..USUAL },
    Behaviour { name: "proactive", ..EARLY },
    Behaviour { name: "background", felt: false, ..EARLY },
    Behaviour { name: "raw", raw: true, ..EARLY },
    Behaviour { name: "interrupted", pause: 500_000_000, ..EARLY },
    Behaviour { name: "responsive", pause: 500_000_000, raw: true, felt: false, ..EARLY },
];

#[test]
fn every_policy_does_what_its_line_says() {
    assert_eq!(EXPECTED.map(|line| line.name), POLICIES.map(|policy| policy.name), "one line for each policy");
    for expected in EXPECTED {
        assert_eq!(measure(policy(expected.name)), expected);
    }
}

fn measure(policy: Policy) -> Behaviour {
    let full = Bench::filled(policy, LIMIT);
    let (after_store, after_worker, felt) = full.clone().at_the_limit();
    Behaviour {
        name: policy.name,
        starts_at: Bench::fills(policy).find(|bench| bench.clone().store_wakes()).map(|bench| bench.pages() + 1),
        copies_from: Bench::fills(policy).find(|bench| bench.clone().store_copies()).map(|bench| bench.pages()),
        cleans_from: Bench::fills(policy).find(|bench| bench.clone().store_cleans()).map(|bench| bench.pages() + 1),
        cleaned: full.clone().cleaned(),
        takes_again_at: (0..LIMIT).rev().find(|&pages| full.clone().takes_at(pages)).unwrap_or(0),
        after_store,
        after_worker,
        attempts: full.clone().attempts(),
        pause: full.pause(),
        raw: Bench::with(policy, zsmalloc()).stores(INCOMPRESSIBLE),
        felt,
        shrinks: Bench::filled(policy, LIMIT / 2).reclaim_writes_back(),
    }
}

/// A machine with pages that are put into its pool one by one.
#[derive(Clone)]
struct Bench {
    model: Model,
    next: u32,
    /// Whose pages are stored.
    cgroup: u16,
}

impl Bench {
    fn with(policy: Policy, allocator: Allocator) -> Self {
        Self::on((6, 11), 1, policy, allocator)
    }

    fn on(kernel: (u16, u16), cgroups: usize, policy: Policy, allocator: Allocator) -> Self {
        let mut settings = Settings { kernel, cgroups: vec![None; cgroups], ..with_zswap(RAM, policy, 20) };
        settings.zswap.as_mut().unwrap().allocator = allocator;
        settings.sizes = Sizes::Each((0..=LAST).map(|page| if page < LAST { SIZE } else { INCOMPRESSIBLE }).collect());
        Self { model: Model::new(settings, LAST + 1).unwrap(), next: 0, cgroup: 0 }
    }

    /// With no page in the pool, with one, and so on. Whatever the worker was asked to do it has not begun.
    fn fills(policy: Policy) -> impl Iterator<Item = Self> {
        let empty = Self::with(policy, Allocator::Zbud);
        let another = |bench: &Self| {
            let mut bench = bench.clone();
            assert!(bench.stores(SIZE));
            bench.model.worker = Worker::default();
            Some(bench)
        };
        std::iter::successors(Some(empty), another).take(LIMIT as usize)
    }

    fn filled(policy: Policy, pages: u64) -> Self {
        Self::with(policy, Allocator::Zbud).fill(pages)
    }

    fn fill(mut self, pages: u64) -> Self {
        while self.pages() < pages {
            assert!(self.stores(SIZE));
            self.model.worker = Worker::default();
        }
        self
    }

    fn pages(&self) -> u64 {
        self.model.pools().zswap
    }

    /// Swaps a page out. Tells whether zswap took it.
    fn stores(&mut self, size: u16) -> bool {
        let page = if size == SIZE { self.next } else { LAST };
        self.next += 1;
        self.model.pages.set_cgroup(page, self.cgroup);
        self.model.enter(page);
        self.model.lists.remove(&self.model.pages, page);
        let slot = self.model.slots.alloc(page).unwrap();
        self.model.pages.set_slot(page, slot);
        let mut time = self.model.now;
        self.model.swap_out(page, &mut time);
        self.model.now = time;
        self.model.tier(page) == Tier::Zswap
    }

    fn store_wakes(mut self) -> bool {
        let taken = self.stores(SIZE);
        taken && self.model.worker.is_awake()
    }

    fn store_cleans(mut self) -> bool {
        self.stores(SIZE) && self.model.cleaner.is_some()
    }

    /// Pages of a full pool that are copied ahead; those are the oldest, and all stay in the pool.
    fn cleaned(mut self) -> u64 {
        self.model.now += 10_000_000_000;
        let before = self.model.outcome.counters.disk_out;
        self.model.run_cleaner();
        let cleaned = self.model.outcome.counters.disk_out - before;
        let clean: Vec<u32> = (0..self.next).filter(|&page| self.model.pages.has(page, CLEAN)).collect();
        assert!(clean.is_empty() || before > 0 || clean == (0..cleaned as u32).collect::<Vec<_>>());
        assert_eq!(self.pages(), LIMIT);
        cleaned
    }

    fn store_copies(mut self) -> bool {
        let before = self.model.outcome.counters.disk_out;
        self.stores(SIZE) && self.model.outcome.counters.disk_out > before
    }

    /// Whether a pool that was full takes a page when it has come down to so many without write-back.
    fn takes_at(mut self, pages: u64) -> bool {
        self.stores(SIZE);
        self.model.worker = Worker::default();
        let stored: Vec<u32> = (0..self.next).filter(|&page| self.model.tier(page) == Tier::Zswap).collect();
        for page in &stored[pages as usize..] {
            self.model.free(*page);
        }
        self.stores(SIZE)
    }

    /// Pages of the pool after a store into a full one, and after the worker; whether the process felt that.
    fn at_the_limit(mut self) -> (u64, u64, bool) {
        self.stores(SIZE);
        let after_store = self.pages();
        self.model.now += 10_000_000_000;
        self.model.run_worker();
        (after_store, self.pages(), self.model.stolen > 0)
    }

    /// Every entry is in the swap cache too: how often is the oldest of them tried for one refused store?
    fn attempts(mut self) -> u64 {
        for page in 0..self.next {
            self.model.pages.go(page, Tier::Ram);
        }
        let (mut time, begin) = (self.model.now, self.model.now);
        if self.model.settings.zswap.as_ref().unwrap().policy.context == Context::Store {
            self.model.make_room_in_pool(&mut time);
            return (time - begin) / self.model.settings.costs.scan;
        }
        self.model.wake_worker(begin);
        self.model.now += 10_000_000_000;
        self.model.run_worker();
        self.model.outcome.counters.reject_reclaim_fail
    }

    /// Stores a page, which a full pool refuses, and lets the worker end.
    fn refused(&mut self) {
        assert!(!self.stores(SIZE));
        self.model.now += 10_000_000_000;
        self.model.run_worker();
    }

    /// When the first page is written back after a refused store: counted from the refusal.
    fn pause(&self) -> u64 {
        let writes = |later: u64| {
            let mut bench = self.clone();
            bench.model.pause_worker();
            bench.model.wake_worker(bench.model.now);
            let before = bench.pages();
            bench.model.now += later;
            bench.model.run_worker();
            bench.pages() < before || !bench.model.worker.is_awake()
        };
        let (mut none, mut some) = (0, 10_000_000_000);
        while some - none > 1 {
            let middle = u64::midpoint(none, some);
            if writes(middle) { some = middle } else { none = middle }
        }
        // Waking it takes a moment in any case.
        if none <= self.model.settings.costs.wake { 0 } else { none }
    }

    /// Reclaim that finds RAM empty still calls the shrinkers.
    fn reclaim_writes_back(mut self) -> bool {
        let (before, mut time) = (self.pages(), self.model.now);
        for _ in 0..4 {
            self.model.shrink(0, 0, &mut time);
        }
        self.pages() < before
    }
}

/// What the worker of each kernel does to a full pool of entries that were never met before: how many stores are refused until the
/// first page is written back, how many pages there are then, and whether a store that is refused below the limit sets it going.
#[test]
fn the_worker_walks_as_that_of_its_kernel() {
    for (kernel, full, refused, left, in_band) in [
        // A pool of exactly the limit is not yet full before 6.10, and what can be accepted is below the threshold.
        ((5, 10), 401, 1, 400, false),
        ((6, 4), 401, 1, 400, false),
        ((6, 5), 401, 1, 359, false),
        ((6, 7), 401, 1, 359, false),
        ((6, 8), 401, 1, 359, true),
        ((6, 11), 400, 1, 360, true),
        // 16 entries lose their second chance with each store that is refused: 400 / 16.
        ((6, 12), 400, 26, 360, true),
        ((7, 2), 400, 26, 360, true),
        // 32 of them in each step: the first to be written back are met in the thirteenth, and the fourteenth is enough.
        ((7, 3), 400, 1, 352, true),
    ] {
        let mut bench = Bench::on(kernel, 1, policy("limit"), Allocator::Zbud).fill(full);
        let stores = (1..100).find(|_| {
            bench.refused();
            bench.pages() < full
        });
        assert_eq!((stores, bench.pages()), (Some(refused), left), "{kernel:?}");
        let mut bench = Bench::on(kernel, 1, policy("limit"), Allocator::Zbud).fill(full);
        bench.stores(SIZE);
        bench.model.worker = Worker::default();
        (0..20).for_each(|page| bench.model.free(page));
        assert!(!bench.stores(SIZE), "between threshold and limit nothing is taken: {kernel:?}");
        assert_eq!(bench.model.worker.is_awake(), in_band, "{kernel:?}");
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
        let mut bench = Bench::on((6, 12), 1, policy("limit"), Allocator::Zbud).fill(LIMIT);
        bench.model.settings.costs.round = round;
        let begin = bench.model.now;
        asked.iter().for_each(|later| bench.model.wake_worker(begin + later));
        bench.model.now = begin + 10_000_000_000;
        bench.model.run_worker();
        assert_eq!(bench.model.outcome.counters.reject_reclaim_fail, met, "{asked:?}");
    }
}

/// Patches 1 and 2 of the series of 2024: an empty cgroup was a failure, and 16 of them in a row ended the walk.
#[test]
fn the_broken_walk_ends_at_16_empty_cgroups_and_the_fair_one_does_not() {
    for (name, empty, writes) in
        [("broken-walk", 15, true), ("broken-walk", 16, false), ("fair-walk", 16, true), ("fair-walk", 100, true)]
    {
        let mut bench = Bench::on((6, 12), empty + 1, policy(name), Allocator::Zbud).fill(LIMIT);
        bench.model.worker.start_at(1);
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
        let mut bench = Bench::on((6, 11), 2, policy(name), Allocator::Zbud);
        bench.cgroup = 1;
        let mut bench = bench.fill(LIMIT / 2);
        bench.cgroup = 0;
        let mut bench = bench.fill(LIMIT);
        bench.stores(SIZE);
        bench.model.now += 10_000_000_000;
        bench.model.run_worker();
        let gone = |from: u32, to: u32| (from..to).filter(|&page| bench.model.tier(page) != Tier::Zswap).count();
        assert_eq!((gone(0, 200), gone(200, 400)), (of_old, of_young), "{name}");
    }
    let mut global = Bench::on((6, 7), 3, policy("shrinker"), Allocator::Zbud).fill(LIMIT / 2);
    let mut time = global.model.now;
    (0..4).for_each(|_| global.model.shrink(2, 0, &mut time));
    assert!(global.pages() < LIMIT / 2, "one list for all groups before 6.8");
}

/// Refusals by their reason: at the limit, between threshold and limit, and because there is no place of that size.
#[test]
fn refusals_are_counted_by_their_reason() {
    for (name, draining) in [("limit", 1), ("no-writeback", 1), ("proactive", 0), ("write-back", 0)] {
        let mut bench = Bench::filled(policy(name), LIMIT);
        bench.stores(SIZE);
        bench.model.worker = Worker::default();
        (0..5).for_each(|page| bench.model.free(page));
        bench.stores(SIZE);
        let Counters { pool_limit_hit, reject_draining, reject_compress_poor, .. } = bench.model.outcome.counters;
        assert_eq!((pool_limit_hit, reject_draining, reject_compress_poor), (1, draining, 0), "{name}");
    }
    let mut bench = Bench::with(policy("raw"), Allocator::Zbud);
    assert!(!bench.stores(INCOMPRESSIBLE));
    assert_eq!(bench.model.outcome.counters.reject_compress_poor, 1, "zbud has no place for a whole page");
}

/// What the worker spends is the kernel's time, felt by the process or not, to the nanosecond.
#[test]
fn write_back_takes_what_its_parts_take() {
    let costs = Costs::default();
    let each = costs.scan + Codec::named("lz4").unwrap().decompress + costs.swap_out;
    for (name, felt) in [("fair-walk", true), ("limit", false), ("background", false)] {
        let mut bench = Bench::filled(policy(name), LIMIT);
        bench.model.wake_worker(bench.model.now);
        let (system, begin) = (bench.model.outcome.system, bench.model.now);
        bench.model.now += 1_000_000;
        // A policy without a pause does not lose the time until the next refusal.
        bench.model.pause_worker();
        bench.model.run_worker();
        assert_eq!(bench.pages(), ACCEPT, "{name}");
        let spent = (LIMIT - ACCEPT) * each;
        assert!(begin + spent < bench.model.now);
        assert_eq!(bench.model.outcome.system - system, spent, "{name}");
        assert_eq!(bench.model.stolen, if felt { spent } else { 0 }, "{name}");
    }
    for (write_back, taken) in [(each - 1, each), (each + 1000, each + 1000)] {
        let mut bench = Bench::filled(policy("limit"), LIMIT);
        bench.model.settings.costs.write_back = write_back;
        let system = bench.model.outcome.system;
        bench.model.wake_worker(bench.model.now);
        bench.model.now += 1_000_000;
        bench.model.run_worker();
        assert_eq!(bench.model.outcome.system - system, (LIMIT - ACCEPT) * taken, "the worker waits for the disk's queue");
    }
    let mut bench = Bench::with(policy("limit"), Allocator::Zbud);
    let (zram, disk) = (super::tests::zram(1, 1000), bench.model.settings.areas[0].clone());
    let settings = Settings { areas: vec![zram, disk], ..bench.model.settings.clone() };
    bench.model = Model::new(settings, LAST + 1).unwrap();
    let mut bench = bench.fill(LIMIT);
    let system = bench.model.outcome.system;
    bench.refused();
    assert_eq!(bench.model.outcome.system - system, (LIMIT - ACCEPT) * (each + Codec::named("lz4").unwrap().compress));
}

/// Pages written back one after the other are requests of their own, wherever their slots lie.
#[test]
fn write_back_is_a_request_for_each_page() {
    let costs = Costs::default();
    let each = costs.scan + Codec::named("lz4").unwrap().decompress + costs.swap_out;
    let device = DeviceTimes { request: each / 2, page: 0, seek: 0, read_latency: 0, write_latency: 0 };
    let mut bench = Bench::with(policy("limit"), Allocator::Zbud);
    bench.model = Model::new(Settings { devices: vec![device], ..bench.model.settings.clone() }, LAST + 1).unwrap();
    let mut bench = bench.fill(LIMIT);
    bench.model.wake_worker(bench.model.now);
    let begin = bench.model.now + costs.wake;
    bench.model.now += 1_000_000;
    bench.model.run_worker();
    for (time, written) in [(each + device.request - 1, 0), (2 * each, 1), (2 * each + device.request, 2), (3 * each, 2)] {
        bench.model.settle_by(begin + time);
        let on_disk = (0..bench.next).filter(|&page| bench.model.tier(page) == Tier::Disk).count();
        assert_eq!(on_disk, written, "{time} ns after the worker began");
    }
}

/// Since 6.12 the shrinker passes over what it meets for the first time.
#[test]
fn the_shrinker_gives_a_second_chance_since_6_12() {
    for (kernel, first) in [((6, 11), true), ((6, 12), false)] {
        let mut bench = Bench::on(kernel, 1, policy("shrinker"), Allocator::Zbud).fill(300);
        let mut time = bench.model.now;
        let mut writes = || {
            let before = bench.pages();
            bench.model.shrink(0, 1, &mut time);
            bench.pages() < before
        };
        assert_eq!((writes(), writes()), (first, true), "{kernel:?}");
    }
}

/// One page in a step, where the policy and not the kernel says how to walk: whoever looks in between sees one less.
#[test]
fn a_step_writes_back_one_page() {
    for name in ["broken-walk", "fair-walk", "proactive", "background", "raw", "interrupted", "responsive"] {
        let mut bench = Bench::filled(policy(name), LIMIT);
        bench.model.wake_worker(bench.model.now);
        bench.model.now += 1;
        bench.model.run_worker();
        assert_eq!(bench.pages(), LIMIT - 1, "{name}");
    }
}
