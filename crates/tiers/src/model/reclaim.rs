//! Reclaim: making room in RAM, by the process that needs it and by kswapd (mm/vmscan.c).

use std::ops::Range;

use swaptune_kernel::behaviours;

use super::lru::{BATCH, Lru, Scan};
use super::page::{AHEAD, CLEAN, DIRTY, NONE, POOLED, Tier};
use super::{Model, OutOfMemory};

/// Priority at which reclaim begins (`DEF_PRIORITY`).
pub(super) const DEFAULT_PRIORITY: u32 = 12;
/// Rounds of direct reclaim that evicted, for one page, after which there is no room: pages only go round, as from zswap back into RAM
/// because the zram behind it takes no more. A kernel may go on like this for ever. Waiting for writes is no such round: they end.
pub(super) const HOPELESS: u32 = 1 << 12;

impl Model {
    /// Makes room for one page of a cgroup; the process waits as long as that takes.
    #[inline(always)]
    pub(super) fn make_room(&mut self, cgroup: u16) -> Result<(), OutOfMemory> {
        if self.free_pages() > self.marks.low as i64 && !self.is_over_limit(cgroup) {
            return Ok(());
        }
        self.find_room(cgroup)
    }

    fn find_room(&mut self, cgroup: u16) -> Result<(), OutOfMemory> {
        let mut rounds = 0..HOPELESS;
        while self.is_over_limit(cgroup) {
            self.direct(Some(cgroup), &mut rounds)?;
        }
        let mut free = self.free_pages();
        if free <= self.marks.low as i64 && self.kswapd.is_none() {
            self.kswapd = Some(self.now);
        }
        while free <= self.marks.min as i64 {
            self.direct(None, &mut rounds)?;
            free = self.free_pages();
        }
        Ok(())
    }

    fn is_over_limit(&self, cgroup: u16) -> bool {
        let group = &self.cgroups[usize::from(cgroup)];
        let Some(limit) = group.limit else { return false };
        let zswap = if self.settings.charge_zswap { group.zswap.div_ceil(4096) } else { 0 };
        group.charged + zswap >= limit
    }

    /// One round of direct reclaim: evicts a batch, of which there may be so many more, or waits for a write if one is under way already.
    fn direct(&mut self, cgroup: Option<u16>, rounds: &mut Range<u32>) -> Result<(), OutOfMemory> {
        self.outcome.counters.allocstall += 1;
        let mut time = self.now;
        let evicted = if self.under_write() < BATCH { self.reclaim(cgroup, &mut time) } else { 0 };
        self.outcome.system += time - self.now;
        self.now = time;
        if evicted > 0 {
            rounds.next().ok_or(OutOfMemory)?;
        } else {
            let end = self.devices.iter().filter_map(|device| device.next_end()).min().ok_or(OutOfMemory)?;
            self.now = self.now.max(end);
        }
        self.settle();
        self.catch_up();
        Ok(())
    }

    /// Pages of RAM whose write has not ended.
    fn under_write(&self) -> usize {
        self.used as usize - self.lists.resident()
    }

    /// Lets kswapd, zswap's workers and whoever visits zram do what they could do by now.
    #[inline(always)]
    pub(super) fn catch_up(&mut self) {
        if self.kswapd.is_some() || self.worker.is_awake() || self.cleaner.is_some() || self.has_caretakers {
            self.catch_up_all();
        }
    }

    fn catch_up_all(&mut self) {
        while let Some(mut time) = self.kswapd.filter(|&time| time < self.now) {
            self.settle_by(time);
            let free = self.free_pages();
            let wanted = self.marks.high as i64;
            self.kswapd = if free >= wanted {
                None
            } else if free + self.under_write() as i64 >= wanted {
                Some(self.next_end_after(time))
            } else {
                let begin = time;
                let evicted = self.reclaim(None, &mut time);
                self.outcome.system += time - begin;
                // Without success it sleeps until it is woken again.
                (evicted > 0).then_some(time)
            };
        }
        self.run_worker();
        self.run_cleaner();
        self.run_caretakers();
    }

    fn next_end_after(&self, time: u64) -> u64 {
        self.devices.iter().filter_map(|device| device.next_end()).min().map_or(self.now, |end| end.max(time + 1))
    }

    /// Evicts a batch or more of a cgroup that is at its limit, or a batch of all in turn by their size. Tells how many pages left the lists.
    fn reclaim(&mut self, cgroup: Option<u16>, time: &mut u64) -> usize {
        self.round += 1;
        if let Some(cgroup) = cgroup {
            return match self.settings.lru {
                Lru::Classic => self.reclaim_at_limit(cgroup, time),
                Lru::Exact | Lru::Generational => self.reclaim_from(cgroup, BATCH, time),
            };
        }
        let (groups, total) = (self.cgroups.len(), self.lists.resident().max(1));
        let mut evicted = 0;
        for _ in 0..groups {
            let cgroup = self.cursor as u16;
            self.cursor = (self.cursor + 1) % groups;
            let share = (BATCH * self.lists.len(cgroup)).div_ceil(total);
            evicted += self.reclaim_from(cgroup, share, time);
            if evicted >= BATCH {
                break;
            }
        }
        evicted
    }

    fn reclaim_from(&mut self, cgroup: u16, count: usize, time: &mut u64) -> usize {
        let size = self.lists.len(cgroup);
        let (mut evicted, mut left, mut kept, mut scan) = (0, count, 0, Scan::default());
        while left > 0 && kept <= size {
            let before = scan.scanned;
            let victim = self.lists.victim(&mut self.pages, cgroup, &mut scan);
            *time += (scan.scanned - before) * self.settings.costs.scan;
            let Some(page) = victim else { break };
            if self.cannot_be_written(page) {
                self.lists.activate(&mut self.pages, page, &mut scan);
                kept += 1;
                continue;
            }
            left -= 1;
            match self.evict(page, time) {
                true => evicted += 1,
                false => self.lists.insert(&mut self.pages, page),
            }
        }
        let before = scan.scanned;
        self.lists.end_batch(&mut self.pages, cgroup, &mut scan);
        *time += (scan.scanned - before) * self.settings.costs.scan;
        self.count(scan, evicted);
        self.shrink_beside(cgroup, size, time);
        evicted
    }

    pub(super) fn count(&mut self, scan: Scan, evicted: usize) {
        let counters = &mut self.outcome.counters;
        counters.pgscan += scan.scanned;
        counters.pgactivate += scan.activated;
        counters.pgdeactivate += scan.deactivated;
        counters.pgsteal += evicted as u64;
    }

    /// Lets the shrinkers do what a batch from lists of so many pages asks of them.
    pub(super) fn shrink_beside(&mut self, cgroup: u16, size: usize, time: &mut u64) {
        let priority = (size / BATCH).max(1).ilog2().min(DEFAULT_PRIORITY);
        self.shrink(cgroup, priority, time);
    }

    /// Whether a page was read ahead from zswap, which keeps no copy of it, and has not been used: `pageout()` takes what no process has
    /// mapped for a page of a file, which is not its to write, and makes it active. It stays until it is used or given back.
    pub(super) fn cannot_be_written(&self, page: u32) -> bool {
        let state = self.pages.state(page);
        state.has(AHEAD) && !state.has(CLEAN) && behaviours::READ_AHEAD_STAYS.is_in(self.settings.kernel)
    }

    /// Moves a page out of RAM; it is in no list. `false` if there is no place for it.
    pub(super) fn evict(&mut self, page: u32, time: &mut u64) -> bool {
        let state = self.pages.state_mut(page);
        state.clear(AHEAD);
        if state.has(DIRTY) {
            state.clear(DIRTY | CLEAN);
            if state.has(POOLED) {
                self.remove_from_zswap(page);
            }
        }
        let state = self.pages.state(page);
        if state.has(POOLED | CLEAN) {
            let tier = if self.is_remembered_as_zeros(page) {
                Tier::Zero
            } else if state.has(POOLED) {
                Tier::Zswap
            } else {
                Tier::Disk
            };
            self.pages.go(page, tier);
            self.gone(page);
            return true;
        }
        if self.pages.slot(page) == NONE {
            let Some(slot) = self.slots.alloc(page).or_else(|| self.slot_of_another(page)) else {
                self.outcome.counters.swap_full += 1;
                return false;
            };
            self.pages.set_slot(page, slot);
        }
        *time += self.settings.costs.swap_out;
        self.swap_out(page, time)
    }

    /// Takes back the slots that pages in RAM have kept, where no other is free (`swap_reclaim_full_clusters`), and one of them for this page.
    #[cold]
    pub(super) fn slot_of_another(&mut self, page: u32) -> Option<u32> {
        // There are none but from when swap was not short: once found none, there are none for long.
        if self.misses < self.look_for_slots {
            return None;
        }
        self.look_for_slots = self.misses + self.pages.len() as u64;
        for other in self.pages.numbers() {
            if self.pages.state(other).is_mapped() && self.pages.slot(other) != NONE {
                self.drop_copies(other);
            }
        }
        self.slots.alloc(page)
    }
}
