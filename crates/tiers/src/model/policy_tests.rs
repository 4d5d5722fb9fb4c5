//! What each policy does to a small pool, measured: one line of expectations for each row of [`POLICIES`].
//!
//! Nothing here compares a constant with itself. A pool of zbud is filled page by page, emptied page by page, or made of entries that
//! cannot be written back, and what the model then does is noted. Whoever changes a threshold changes a line.

use swaptune_kernel::{KernelVersion, v};

use super::page::CLEAN;
use super::tests::{policy, with_zswap, zsmalloc};
use super::zswap::Worker;
use super::*;
use crate::alloc::Allocator;
use crate::policies::{POLICIES, Policy, WritebackPayer};

/// Two pages of this size do not fit into one: a stored page is a page of the pool.
pub(super) const SIZE: u16 = 2500;
/// The last page does not compress at all.
pub(super) const INCOMPRESSIBLE: u16 = 4096;
pub(super) const LAST: u32 = 500;
/// Pages of RAM; the pool may have 400 and accepts again at 360.
const RAM: u64 = 2000;
pub(super) const LIMIT: u64 = 400;
pub(super) const ACCEPT: u64 = 360;

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

const EXPECTED: &[Behaviour] = &[
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
    let names: Vec<&str> = POLICIES.iter().map(|policy| policy.name).collect();
    assert_eq!(
        EXPECTED.iter().map(|line| line.name).collect::<Vec<_>>(),
        names,
        "one line for each policy, in the order of the table"
    );
    for expected in EXPECTED {
        assert_eq!(measure(policy(expected.name)), *expected);
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
pub(super) struct Bench {
    pub(super) model: Model,
    pub(super) next: u32,
    /// Whose pages are stored.
    pub(super) cgroup: u16,
}

impl Bench {
    pub(super) fn with(policy: Policy, allocator: Allocator) -> Self {
        Self::on(v(6, 11), 1, policy, allocator)
    }

    pub(super) fn on(kernel: KernelVersion, cgroups: usize, policy: Policy, allocator: Allocator) -> Self {
        let mut settings = ModelSettings { kernel, cgroups: vec![None; cgroups], ..with_zswap(RAM, policy, 20) };
        settings.zswap.as_mut().unwrap().allocator = allocator;
        settings.sizes = CompressedSizes::Each((0..=LAST).map(|page| if page < LAST { SIZE } else { INCOMPRESSIBLE }).collect());
        Self { model: Model::new(settings, LAST + 1).unwrap(), next: 0, cgroup: 0 }
    }

    /// With no page in the pool, with one, and so on. Whatever the worker was asked to do it has not begun.
    pub(super) fn fills(policy: Policy) -> impl Iterator<Item = Self> {
        let empty = Self::with(policy, Allocator::Zbud);
        let another = |bench: &Self| {
            let mut bench = bench.clone();
            assert!(bench.stores(SIZE));
            bench.model.zswap().worker = Worker::default();
            Some(bench)
        };
        std::iter::successors(Some(empty), another).take(LIMIT as usize)
    }

    pub(super) fn filled(policy: Policy, pages: u64) -> Self {
        Self::with(policy, Allocator::Zbud).fill(pages)
    }

    pub(super) fn fill(mut self, pages: u64) -> Self {
        while self.pages() < pages {
            assert!(self.stores(SIZE));
            self.model.zswap().worker = Worker::default();
        }
        self
    }

    pub(super) fn pages(&self) -> u64 {
        self.model.pools().zswap
    }

    /// Swaps a page out. Tells whether zswap took it.
    pub(super) fn stores(&mut self, size: u16) -> bool {
        let page = if size == SIZE { self.next } else { LAST };
        self.next += 1;
        self.model.memory.pages.set_cgroup(page, self.cgroup);
        self.model.memory.add_new(page);
        self.model.memory.lruvecs.remove(&self.model.memory.pages, page);
        let slot = self.model.swap.slots.alloc(page).unwrap();
        self.model.memory.pages.set_slot(page, slot);
        let mut time = self.model.clock.now;
        self.model.swap_out(page, &mut time);
        self.model.clock.now = time;
        self.model.tier(page) == Tier::Zswap
    }

    pub(super) fn store_wakes(mut self) -> bool {
        let taken = self.stores(SIZE);
        taken && self.model.zswap().worker.is_awake()
    }

    pub(super) fn store_cleans(mut self) -> bool {
        self.stores(SIZE) && self.model.zswap().cleaner.is_some()
    }

    /// Pages of a full pool that are copied ahead; those are the oldest, and all stay in the pool.
    pub(super) fn cleaned(mut self) -> u64 {
        self.model.clock.now += 10_000_000_000;
        let before = self.model.memory.vmstat.disk_out;
        self.model.run_cleaner();
        let cleaned = self.model.memory.vmstat.disk_out - before;
        let clean: Vec<u32> = (0..self.next).filter(|&page| self.model.memory.pages.has(page, CLEAN)).collect();
        assert!(clean.is_empty() || before > 0 || clean == (0..cleaned as u32).collect::<Vec<_>>());
        assert_eq!(self.pages(), LIMIT);
        cleaned
    }

    pub(super) fn store_copies(mut self) -> bool {
        let before = self.model.memory.vmstat.disk_out;
        self.stores(SIZE) && self.model.memory.vmstat.disk_out > before
    }

    /// Whether a pool that was full takes a page when it has come down to `pages` without write-back.
    pub(super) fn takes_at(mut self, pages: u64) -> bool {
        self.stores(SIZE);
        self.model.zswap().worker = Worker::default();
        let stored: Vec<u32> = (0..self.next).filter(|&page| self.model.tier(page) == Tier::Zswap).collect();
        for page in &stored[pages as usize..] {
            self.model.free(*page);
        }
        self.stores(SIZE)
    }

    /// Pages of the pool after a store into a full one, and after the worker; whether the process felt that.
    pub(super) fn at_the_limit(mut self) -> (u64, u64, bool) {
        self.stores(SIZE);
        let after_store = self.pages();
        self.model.clock.now += 10_000_000_000;
        self.model.run_worker();
        (after_store, self.pages(), self.model.clock.stolen > 0)
    }

    /// Every entry is in the swap cache too: how often is the oldest of them tried for one refused store?
    pub(super) fn attempts(mut self) -> u64 {
        for page in 0..self.next {
            self.model.memory.pages.go(page, Tier::Ram);
        }
        let (mut time, begin) = (self.model.clock.now, self.model.clock.now);
        if self.model.settings.zswap.as_ref().unwrap().policy.context == WritebackPayer::Store {
            self.model.make_room_in_pool(&mut time);
            return (time - begin) / self.model.settings.costs.scan;
        }
        self.model.wake_worker(begin);
        self.model.clock.now += 10_000_000_000;
        self.model.run_worker();
        self.model.memory.vmstat.reject_reclaim_fail
    }

    /// Stores a page, which a full pool refuses, and lets the worker end.
    pub(super) fn refused(&mut self) {
        assert!(!self.stores(SIZE));
        self.model.clock.now += 10_000_000_000;
        self.model.run_worker();
    }

    /// When the first page is written back after a refused store: counted from the refusal.
    pub(super) fn pause(&self) -> u64 {
        let writes = |later: u64| {
            let mut bench = self.clone();
            bench.model.pause_worker();
            bench.model.wake_worker(bench.model.clock.now);
            let before = bench.pages();
            bench.model.clock.now += later;
            bench.model.run_worker();
            bench.pages() < before || !bench.model.zswap().worker.is_awake()
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
    pub(super) fn reclaim_writes_back(mut self) -> bool {
        let (before, mut time) = (self.pages(), self.model.clock.now);
        for _ in 0..4 {
            self.model.shrink_slab(0, 0, &mut time);
        }
        self.pages() < before
    }
}
