//! Shrinkers that reclaim calls on its way: zswap's dynamic shrinker and zsmalloc's compaction (mm/shrinker.c, mm/zswap.c).

use swaptune_kernel::behaviours;

use super::Model;
use super::page::{NONE, State, Tier};
use super::zswap::Zswap;

/// Objects of one call (`SHRINK_BATCH`).
const BATCH: u64 = 128;

/// What a shrinker has put off, and what zswap's protects.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Shrinker {
    deferred: u64,
    /// Pages that had to be read from the disk since the shrinker last counted (`nr_disk_swapins`).
    pub(super) disk_swapins: u64,
}

/// All shrinkers: zswap's for each of its groups, and the pools'.
#[derive(Clone, Debug, Default)]
pub(super) struct Shrinkers {
    pub(super) groups: Vec<Shrinker>,
    compaction: Shrinker,
}

impl Shrinkers {
    pub(super) fn new(groups: usize) -> Self {
        Self { groups: vec![Shrinker::default(); groups], compaction: Shrinker::default() }
    }
}

impl Shrinker {
    /// How many of `freeable` objects to scan now: `do_shrink_slab` with DEFAULT_SEEKS.
    fn scan(&mut self, freeable: u64, priority: u32) -> u64 {
        let delta = (freeable >> priority) * 2;
        let total = ((self.deferred >> priority) + delta).min(2 * freeable);
        let mut scanned = 0;
        while total - scanned >= BATCH.min(freeable).max(1) {
            scanned += BATCH.min(total - scanned);
        }
        self.deferred = (self.deferred + delta).saturating_sub(scanned).min(2 * freeable);
        scanned
    }
}

impl Model {
    /// What reclaim of a cgroup makes the shrinkers do.
    pub(super) fn shrink(&mut self, cgroup: u16, priority: u32, time: &mut u64) {
        // It goes by what the group is charged for: in a hierarchy that charges nothing it has nothing to do.
        if self.settings.charge_zswap && self.settings.zswap.as_ref().is_some_and(|zswap| zswap.policy.shrinker) {
            self.shrink_zswap(cgroup, priority, time);
        }
        let freeable = self.compactable();
        if self.shrinkers.compaction.scan(freeable, priority) > 0 {
            self.compact_pools();
        }
    }

    fn shrink_zswap(&mut self, cgroup: u16, priority: u32, time: &mut u64) {
        let Some(zswap) = &self.zswap else { return };
        let group = cgroup.min(zswap.groups() - 1);
        let second_chance = behaviours::SHRINKER_SECOND_CHANCE.is_in(self.settings.kernel);
        let shrinker = &mut self.shrinkers.groups[usize::from(group)];
        let offered = offered(zswap, group, shrinker, second_chance);
        let scan = shrinker.scan(offered, priority);
        for _ in 0..scan {
            if self.write_back_oldest(group, second_chance, time).is_none() {
                return;
            }
        }
    }

    pub(super) fn compactable(&self) -> u64 {
        self.zswap.as_ref().map_or(0, Zswap::freeable) + self.zrams.iter().flatten().map(|zram| zram.freeable()).sum::<u64>()
    }

    fn compact_pools(&mut self) {
        let mut freed = self.zswap.as_mut().map_or(0, Zswap::compact);
        for (area, zram) in self.zrams.iter_mut().enumerate() {
            let Some(zram) = zram else { continue };
            let slots = &self.slots;
            let here = |&(state, slot, _): &(State, u32, &mut u32)| state.tier() == Tier::Zram && slots.area(slot) == area;
            freed += zram.compact(self.pages.entries().filter(here).map(|(.., entry)| entry).filter(|entry| **entry != NONE));
        }
        self.outcome.counters.pages_compacted += freed;
    }
}

/// zswap_shrinker_count(): entries by how well they compress, without those that swap-in from the disk speaks for; before 6.12
/// without the quarter that is protected at least.
fn offered(zswap: &Zswap, group: u16, shrinker: &mut Shrinker, second_chance: bool) -> u64 {
    let listed = zswap.listed(group);
    let spoken_for = shrinker.disk_swapins.min(listed);
    shrinker.disk_swapins -= spoken_for;
    let protected = if second_chance { 0 } else { listed / 4 };
    let free = listed.saturating_sub(spoken_for.max(protected));
    (free * zswap.pages()).checked_div(zswap.stored_pages).unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use swaptune_kernel::v;

    use super::*;

    #[test]
    fn small_lists_are_scanned_only_at_high_pressure() {
        let mut shrinker = Shrinker::default();
        assert_eq!(shrinker.scan(10_000, 12), 0);
        assert_eq!(shrinker.deferred, 4);
        assert_eq!(shrinker.scan(262_144, 12), 128);
        assert_eq!(shrinker.scan(100, 0), 128, "one batch, and what is left is too little for another");
        assert_eq!(Shrinker::default().scan(0, 0), 0);
    }

    #[test]
    fn no_more_than_twice_what_there_is_is_put_off() {
        let mut shrinker = Shrinker::default();
        assert!((0..10_000).all(|_| shrinker.scan(5_000, 12) == 0));
        assert_eq!(shrinker.deferred, 10_000);
    }

    #[test]
    fn the_shrinker_is_offered_what_compresses_badly_and_is_not_spoken_for() {
        let limit = crate::model::Limit { ram: 10_000, max_pool_percent: 50, accept_threshold_percent: 90, kernel: v(6, 12) };
        let pool = |allocator: &crate::alloc::Allocator, size| {
            let mut zswap = Zswap::new(limit, &crate::policies::POLICIES[0], crate::alloc::Pool::new(allocator), 1);
            let mut pages = crate::model::Pages::new(200, false, true);
            (0..200).for_each(|page| assert!(zswap.insert(&mut pages, page, size)));
            zswap
        };
        let zswap = pool(&crate::alloc::Allocator::Zbud, 2500);
        let mut shrinker = Shrinker { disk_swapins: 30, ..Shrinker::default() };
        assert_eq!([(); 2].map(|()| offered(&zswap, 0, &mut shrinker, true)), [170, 200], "what came from the disk counts once");
        assert_eq!(offered(&zswap, 0, &mut shrinker, false), 150, "a quarter is protected before 6.12");
        let mut shrinker = Shrinker { disk_swapins: 80, ..Shrinker::default() };
        assert_eq!(offered(&zswap, 0, &mut shrinker, false), 120);
        let two = pool(&crate::alloc::Allocator::Zbud, 1000);
        assert_eq!(offered(&two, 0, &mut shrinker, true), 100, "two in a page: half as many");
    }

    #[test]
    fn what_is_put_off_comes_later() {
        let mut shrinker = Shrinker::default();
        let calls = (0..10_000).take_while(|_| shrinker.scan(60_000, 9) == 0).count();
        assert_eq!(calls, 0, "234 at once");
        let mut shrinker = Shrinker::default();
        let calls = (0..10_000).take_while(|_| shrinker.scan(30_000, 9) == 0).count();
        assert!((50..100).contains(&calls), "{calls}");
    }
}
