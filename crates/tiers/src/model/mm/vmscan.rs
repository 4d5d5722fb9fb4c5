//! Reclaim: which pages leave the lists (mm/vmscan.c: `shrink_node_memcgs`, `shrink_lruvec`, `do_try_to_free_pages`).
//!
//! Of a group with classic lists that is at its limit ever larger shares are scanned, until that was enough. That is asked after each
//! share, so that a round evicts 32 pages or up to about twice as many. What a process uses while there is room left is not evicted
//! in that time, so that more of it is found used, or less.
//!
//! On a disk it is a batch. The kernel does not count what it has asked to be written, and asks for more until some has been; but such
//! pages stay in the swap cache until a later round finds them. Here they do with generations; with classic lists they go when they are
//! written.

use super::lruvec::{BATCH, Scan};
use super::{Memory, Pageout};
use crate::model::page::{AHEAD, CLEAN, Tier};
use crate::model::spec::Lru;

/// Priority at which reclaim begins (`DEF_PRIORITY`).
pub(super) const DEFAULT_PRIORITY: u32 = 12;
/// Attempts for one page before a group is out of memory (`MAX_RECLAIM_RETRIES`).
const RETRIES: usize = 16;

/// Pages of a list that reclaim scans at a priority: it weighs anonymous pages against those of files also where there are none of these,
/// by `vm.swappiness` and by what it cost to take either so far (`get_scan_count`): swappiness / 2 and 200 − swappiness, when only
/// anonymous pages cost anything. At the last priority it is all.
pub(super) const fn share(pages: usize, priority: u32, swappiness: u32) -> usize {
    let swappiness = swappiness as usize;
    if priority == 0 { pages } else { (pages >> priority) * swappiness / (400 - swappiness) }
}

/// What a round has come to.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Round {
    pub(super) evicted: usize,
    /// Those of them that a disk is still to get.
    pub(super) written: usize,
}

impl Memory {
    /// Evicts a batch of all cgroups in turn by their size (`shrink_node_memcgs`). Tells how many pages left the lists.
    pub(in crate::model) fn shrink_node(&mut self, below: &mut impl Pageout, time: &mut u64) -> usize {
        if self.lruvecs.kind() == Lru::Generational {
            return self.retried(|memory| memory.shrink_generations(below, time));
        }
        let (groups, total) = (self.memcgs.len(), self.lruvecs.resident().max(1));
        let mut evicted = 0;
        for _ in 0..groups {
            let cgroup = self.cursor as u16;
            self.cursor = (self.cursor + 1) % groups;
            let share = (BATCH * self.lruvecs.len(cgroup)).div_ceil(total);
            evicted += self.shrink_lruvec(cgroup, share, below, time);
            if evicted >= BATCH {
                break;
            }
        }
        evicted
    }

    /// Evicts a batch or more of a cgroup that is at its limit (`try_to_free_mem_cgroup_pages`).
    pub(in crate::model) fn shrink_memcg(&mut self, cgroup: u16, below: &mut impl Pageout, time: &mut u64) -> usize {
        match self.lruvecs.kind() {
            Lru::Exact => return self.shrink_lruvec(cgroup, BATCH, below, time),
            Lru::Generational => return self.retried(|memory| memory.shrink_generations_of(cgroup, below, time)),
            Lru::Classic => {}
        }
        let size = self.lruvecs.len(cgroup);
        // Where nothing was found, active pages are taken whatever the lists look like, and all that is tried again.
        let mut rounds = (0..2 * RETRIES).map(|number| self.scan_at_priorities(cgroup, number % 2 == 1, below, time));
        let evicted = rounds.find(|&evicted| evicted > 0).unwrap_or(0);
        below.shrink_slab(self, cgroup, priority(size), time);
        evicted
    }

    /// As often as the kernel tries where nothing leaves.
    fn retried(&mut self, mut round: impl FnMut(&mut Self) -> usize) -> usize {
        (0..RETRIES).map(|_| round(self)).find(|&evicted| evicted > 0).unwrap_or(0)
    }

    /// From the least share to the largest; `deactivates`: whatever the lists look like, active pages are taken too.
    pub(super) fn scan_at_priorities(
        &mut self,
        cgroup: u16,
        deactivates: bool,
        below: &mut impl Pageout,
        time: &mut u64,
    ) -> usize {
        let mut round = Round::default();
        for priority in (0..=DEFAULT_PRIORITY).rev() {
            self.scan_at_priority(cgroup, (priority, deactivates), &mut round, below, time);
            if round.evicted >= BATCH {
                break;
            }
        }
        self.lruvecs.end_round(cgroup);
        round.evicted
    }

    pub(super) fn scan_at_priority(
        &mut self,
        cgroup: u16,
        (priority, deactivates): (u32, bool),
        round: &mut Round,
        below: &mut impl Pageout,
        time: &mut u64,
    ) {
        let swappiness = self.rules.swappiness;
        let (mut inactive, mut active) = self.lruvecs.targets(cgroup, |pages| share(pages, priority, swappiness), deactivates);
        let enough = round.evicted + BATCH;
        while inactive > 0 && round.evicted < enough && round.written < BATCH && below.can_reclaim_anon() {
            // Who scans fewer pages of the one list does so of the other.
            let (most, scanned) = (inactive.min(BATCH), inactive.min(BATCH - round.written));
            self.shrink_lists(cgroup, (scanned, active.min(BATCH) * scanned / most), round, below, time);
            (inactive, active) = (inactive.saturating_sub(BATCH), active.saturating_sub(BATCH));
        }
        if self.lruvecs.inactive_is_low(cgroup) {
            self.shrink_lists(cgroup, (0, BATCH), round, below, time);
        }
    }

    /// Scans pages of the inactive list, then of the active one (`shrink_inactive_list`, `shrink_active_list`).
    pub(super) fn shrink_lists(
        &mut self,
        cgroup: u16,
        (inactive, active): (usize, usize),
        round: &mut Round,
        below: &mut impl Pageout,
        time: &mut u64,
    ) {
        let (mut scan, before) = (Scan::default(), round.evicted);
        let isolated = self.lruvecs.isolate(&mut self.pages, cgroup, inactive, &mut scan);
        for &page in isolated.pages() {
            if self.cannot_be_written(page) {
                self.lruvecs.activate(&mut self.pages, page, &mut scan);
            } else if below.pageout(self, page, time) {
                round.evicted += 1;
                round.written += usize::from(self.pages.tier(page) == Tier::Writing);
            } else {
                self.lruvecs.insert(&mut self.pages, page);
            }
        }
        self.lruvecs.shrink_active_list(&mut self.pages, cgroup, active, &mut scan);
        *time += scan.scanned * self.rules.scan;
        self.lruvecs.note(cgroup, scan);
        self.count(scan, round.evicted - before);
    }

    /// Evicts pages of a cgroup one by one.
    fn shrink_lruvec(&mut self, cgroup: u16, count: usize, below: &mut impl Pageout, time: &mut u64) -> usize {
        let size = self.lruvecs.len(cgroup);
        let (mut evicted, mut left, mut kept, mut scan) = (0, count, 0, Scan::default());
        while left > 0 && kept <= size && below.can_reclaim_anon() {
            let before = scan.scanned;
            let victim = self.lruvecs.victim(&mut self.pages, cgroup, &mut scan);
            *time += (scan.scanned - before) * self.rules.scan;
            let Some(page) = victim else { break };
            if self.cannot_be_written(page) {
                self.lruvecs.activate(&mut self.pages, page, &mut scan);
                kept += 1;
                continue;
            }
            left -= 1;
            match below.pageout(self, page, time) {
                true => evicted += 1,
                false => self.lruvecs.insert(&mut self.pages, page),
            }
        }
        let before = scan.scanned;
        self.lruvecs.end_batch(&mut self.pages, cgroup, &mut scan);
        *time += (scan.scanned - before) * self.rules.scan;
        self.count(scan, evicted);
        below.shrink_slab(self, cgroup, priority(size), time);
        evicted
    }

    pub(super) fn count(&mut self, scan: Scan, evicted: usize) {
        let vmstat = &mut self.vmstat;
        vmstat.pgscan += scan.scanned;
        vmstat.pgactivate += scan.activated;
        vmstat.pgdeactivate += scan.deactivated;
        vmstat.pgsteal += evicted as u64;
    }

    /// Whether a page was read ahead from zswap, which keeps no copy of it, and has not been used: `pageout()` takes what no process has
    /// mapped for a page of a file, which is not its to write, and makes it active. It stays until it is used or given back. Nor can the
    /// one that is locked.
    pub(in crate::model) fn cannot_be_written(&self, page: u32) -> bool {
        let state = self.pages.state(page);
        self.locked == Some(page) || (state.has(AHEAD) && !state.has(CLEAN) && self.rules.read_ahead_stays)
    }
}

/// The priority that a batch from lists of this many pages amounts to.
fn priority(pages: usize) -> u32 {
    (pages / BATCH).max(1).ilog2().min(DEFAULT_PRIORITY)
}
