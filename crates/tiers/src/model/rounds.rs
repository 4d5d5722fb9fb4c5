//! Reclaim of a group that is at its limit, with classic lists: ever larger shares of them are looked at, until that was enough
//! (mm/vmscan.c: `do_try_to_free_pages`, `shrink_lruvec`).
//!
//! What was enough is asked after each share, so that a round evicts 32 pages or up to about twice as many. What a process uses while
//! there is room left is not evicted in that time, so that more of it is found used, or less.
//!
//! On a disk it is a batch. The kernel does not count what it has asked to be written, and asks for more until some has been; but such
//! pages stay in the swap cache until a later round finds them. Here they go when they are written.

use super::Model;
use super::lru::{BATCH, Scan};
use super::page::Tier;
use super::reclaim::DEFAULT_PRIORITY;

/// So often a page is asked for before a group is out of memory (`MAX_RECLAIM_RETRIES`).
const RETRIES: usize = 16;

/// What of a list reclaim looks at, at a priority: it weighs anonymous pages against those of files also where there are none of these, by
/// `vm.swappiness` and by what it cost to take either so far (`get_scan_count`): swappiness / 2 and 200 − swappiness, when only anonymous
/// pages cost anything. At the last priority it is all.
const fn share(pages: usize, priority: u32, swappiness: u32) -> usize {
    let swappiness = swappiness as usize;
    if priority == 0 { pages } else { (pages >> priority) * swappiness / (400 - swappiness) }
}

/// Pages that were taken out of a list together.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Isolated {
    pages: [u32; BATCH],
    count: usize,
}

impl Isolated {
    pub(super) const fn push(&mut self, page: u32) {
        self.pages[self.count] = page;
        self.count += 1;
    }

    pub(super) fn pages(&self) -> &[u32] {
        &self.pages[..self.count]
    }
}

/// What a round has come to.
#[derive(Clone, Copy, Debug, Default)]
struct Round {
    evicted: usize,
    /// Those of them that a disk is still to get.
    written: usize,
}

impl Model {
    /// Evicts a batch or more of a group. Tells how many pages left the lists.
    pub(super) fn reclaim_at_limit(&mut self, cgroup: u16, time: &mut u64) -> usize {
        let size = self.lists.len(cgroup);
        // Where nothing was found, active pages are taken whatever the lists look like, and all that is tried again.
        let mut rounds = (0..2 * RETRIES).map(|number| self.go_through(cgroup, number % 2 == 1, time));
        let evicted = rounds.find(|&evicted| evicted > 0).unwrap_or(0);
        self.shrink_beside(cgroup, size, time);
        evicted
    }

    /// From the least share to the largest; `deactivates`: whatever the lists look like, active pages are taken too.
    fn go_through(&mut self, cgroup: u16, deactivates: bool, time: &mut u64) -> usize {
        let mut round = Round::default();
        for priority in (0..=DEFAULT_PRIORITY).rev() {
            self.look_at_share(cgroup, priority, deactivates, &mut round, time);
            if round.evicted >= BATCH {
                break;
            }
        }
        self.lists.end_round(cgroup);
        round.evicted
    }

    fn look_at_share(&mut self, cgroup: u16, priority: u32, deactivates: bool, round: &mut Round, time: &mut u64) {
        let swappiness = self.settings.swappiness;
        let (mut inactive, mut active) = self.lists.targets(cgroup, |pages| share(pages, priority, swappiness), deactivates);
        let enough = round.evicted + BATCH;
        while inactive > 0 && round.evicted < enough && round.written < BATCH {
            // Who looks at fewer pages of the one list does so of the other.
            let (most, looked_at) = (inactive.min(BATCH), inactive.min(BATCH - round.written));
            self.look_at(cgroup, looked_at, active.min(BATCH) * looked_at / most, round, time);
            (inactive, active) = (inactive.saturating_sub(BATCH), active.saturating_sub(BATCH));
        }
        if self.lists.inactive_is_low(cgroup) {
            self.look_at(cgroup, 0, BATCH, round, time);
        }
    }

    /// Looks at so many pages of the inactive list, then of the active one.
    fn look_at(&mut self, cgroup: u16, inactive: usize, active: usize, round: &mut Round, time: &mut u64) {
        let (mut scan, before) = (Scan::default(), round.evicted);
        let isolated = self.lists.isolate(&mut self.pages, cgroup, inactive, &mut scan);
        for &page in isolated.pages() {
            if self.cannot_be_written(page) {
                self.lists.activate(&mut self.pages, page, &mut scan);
            } else if self.evict(page, time) {
                round.evicted += 1;
                round.written += usize::from(self.pages.tier(page) == Tier::Writing);
            } else {
                self.lists.insert(&mut self.pages, page);
            }
        }
        self.lists.deactivate(&mut self.pages, cgroup, active, &mut scan);
        *time += scan.scanned * self.settings.costs.scan;
        self.lists.note(cgroup, scan);
        self.count(scan, round.evicted - before);
    }
}

#[cfg(test)]
mod tests {
    use swaptune_kernel::v;

    use super::*;
    use crate::model::page::AHEAD;
    use crate::model::tests::{cycles, disk, machine, policy, with_zswap};
    use crate::model::{Model, Settings};

    /// How many pages the rounds evicted while 20 000 pages that are used once came through 8192 of RAM.
    fn evicted(settings: Settings) -> Vec<u64> {
        let mut model = Model::new(Settings { cgroups: vec![Some(8192)], ..settings }, 20_000).unwrap();
        let steal = |event| {
            let before = model.outcome.counters.pgsteal;
            model.advance(event).unwrap();
            model.outcome.counters.pgsteal - before
        };
        cycles(20_000, 1).map(steal).filter(|&count| count > 0).collect()
    }

    #[test]
    fn shares_of_the_list_are_looked_at_until_they_were_enough() {
        let counts = evicted(Settings { charge_zswap: false, ..with_zswap(40_000, policy("limit"), 90) });
        // 1, 2, 5, 11 and 22, as the trace events of a kernel showed for such a group; but where the list has been gone through and
        // begins anew with pages that were just used.
        let others = counts.iter().filter(|&&count| count != 41).count();
        assert!(counts.len() > 250 && others <= 2, "{counts:?}");
        assert_eq!([10, 9, 8, 7, 6].map(|priority| share(8192 - 1, priority, 60)), [1, 2, 5, 11, 22]);
        assert_eq!((share(8191, 11, 60), share(8191, 0, 60)), (0, 8191));
        assert_eq!([1, 100, 180, 200].map(|swappiness| share(8191, 4, swappiness)), [1, 170, 418, 511]);
    }

    #[test]
    fn no_more_than_a_batch_is_written() {
        let counts = evicted(Settings { areas: vec![disk(0, 20_000)], ..machine(40_000) });
        assert!(counts.len() > 300 && counts[1..].iter().all(|&count| count == 32), "{counts:?}");
    }

    /// Of a share that is larger than a batch the rest is not looked at when a batch was enough.
    #[test]
    fn a_large_share_is_left_when_there_is_enough() {
        let mut model =
            Model::new(Settings { cgroups: vec![Some(9000)], ..with_zswap(20_000, policy("limit"), 90) }, 9000).unwrap();
        for page in 0..8000 {
            model.enter(page);
        }
        let mut round = Round::default();
        model.look_at_share(0, 0, false, &mut round, &mut 0);
        assert_eq!((round.evicted, model.outcome.counters.pgscan), (0, 8000), "each was used once");
        model.look_at_share(0, 2, false, &mut round, &mut 0);
        model.look_at_share(0, 2, false, &mut round, &mut 0);
        assert_eq!((round.evicted, model.outcome.counters.pgscan), (64, 8000 + 64), "of 352 and 347");
    }

    /// 100 pages of a group that were used, and 20 active ones.
    fn used_and_active(settings: Settings) -> Model {
        let mut model = Model::new(Settings { cgroups: vec![Some(200)], ..settings }, 200).unwrap();
        let mut scan = Scan::default();
        for page in 0..100 {
            model.enter(page);
        }
        for page in 100..120 {
            model.charge(0);
            model.pages.go(page, Tier::Ram);
            model.lists.activate(&mut model.pages, page, &mut scan);
        }
        model.lists.note(0, scan);
        model
    }

    #[test]
    fn a_look_takes_its_time_for_each_page() {
        let mut model = used_and_active(with_zswap(4000, policy("limit"), 90));
        let (mut round, mut time) = (Round::default(), 1000);
        model.look_at(0, 10, 5, &mut round, &mut time);
        assert_eq!((round.evicted, time - 1000), (0, 15 * model.settings.costs.scan));
    }

    /// 24 pages of the round are on their way to a disk, so that 8 of 32 are looked at, and of the 20 active ones as small a part.
    #[test]
    fn who_waits_for_a_disk_looks_at_less_of_both_lists() {
        let mut model = used_and_active(machine(4000));
        model.look_at_share(0, 0, true, &mut Round { evicted: 0, written: 24 }, &mut 0);
        let counters = model.outcome.counters;
        assert_eq!((counters.pgdeactivate, counters.pgscan), (5, 8 + 5 + 8 + 8 + 4));
    }

    /// Pages that cannot go fill the inactive list, of active ones there are few: those go all the same.
    #[test]
    fn active_pages_go_where_nothing_else_can() {
        let mut model = used_and_active(Settings { kernel: v(6, 18), ..with_zswap(4000, policy("limit"), 90) });
        (0..100).for_each(|page| model.pages.set(page, AHEAD));
        assert_eq!(model.go_through(0, false, &mut 0), 0);
        assert!(model.reclaim_at_limit(0, &mut 0) > 0);
        assert!((0..100).all(|page| model.tier(page) == Tier::Ram) && (100..120).any(|page| model.tier(page) == Tier::Zswap));
        model.check();
    }
}
