//! Write-back of zswap: its worker, and what writes back one page (mm/zswap.c: `shrink_worker`, `zswap_writeback_entry`).

use swaptune_kernel::behaviours;

use super::Model;
use super::page::{CLEAN, Tier};
use super::zram::COPY;
use super::zswap::Zswap;
use crate::policies::{Context, Groups, Until};

/// The worker.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Worker {
    /// Its time while it runs, or when it begins.
    clock: Option<u64>,
    begun: bool,
    /// It was asked again while it ran: it begins anew at once.
    again: bool,
    paused_until: u64,
    failures: u32,
    /// Cgroup whose entries are next.
    cursor: u16,
}

impl Worker {
    /// Whether it has been asked to work and has not ended.
    pub(super) const fn is_awake(&self) -> bool {
        self.clock.is_some()
    }
}

#[cfg(test)]
impl Worker {
    /// Lets the walk begin at this cgroup.
    pub(super) const fn start_at(&mut self, cgroup: u16) {
        self.cursor = cgroup;
    }
}

impl Model {
    /// Queues the worker, unless it is queued already (`queue_work`).
    pub(super) fn wake_worker(&mut self, time: u64) {
        if self.walk.failures == 0 {
            return;
        }
        let unbound = self.is_worker_unbound();
        if unbound {
            self.run_worker_by(time);
        }
        if self.worker.clock.is_none() {
            self.worker.clock = Some(time + if unbound { self.settings.costs.wake } else { 0 });
            self.worker.failures = 0;
        } else {
            self.worker.again = self.worker.begun;
        }
    }

    /// A page was rejected, or read from the disk: a policy may let the worker pause.
    pub(super) fn pause_worker(&mut self) {
        let pause = self.settings.zswap.as_ref().map_or(0, |zswap| zswap.policy.pause);
        if pause > 0 {
            self.worker.paused_until = self.now + pause;
        }
    }

    /// Lets the worker do what it could do by now.
    pub(super) fn run_worker(&mut self) {
        self.run_worker_by(self.now);
    }

    fn run_worker_by(&mut self, now: u64) {
        let Some(clock) = self.worker.clock else { return };
        let begin = clock.max(self.worker.paused_until);
        let (mut time, mut goes_on) = (begin, true);
        while goes_on && time < now {
            self.worker.begun = true;
            goes_on = self.step(&mut time) || self.worker_begins_anew();
        }
        if time > begin {
            self.outcome.system += time - begin;
            if self.context() == Context::SameProcessor && !self.is_worker_unbound() {
                self.stolen += time - begin;
            }
        }
        // Before it has done anything its clock stays as it is: a pause may end otherwise.
        if begin < now {
            self.worker.clock = goes_on.then_some(time);
        }
    }

    /// A run has ended. `true` if it was asked for another one meanwhile.
    fn worker_begins_anew(&mut self) -> bool {
        self.worker.begun = false;
        self.worker.failures = 0;
        std::mem::take(&mut self.worker.again)
    }

    /// Policies with a walk of their own say where theirs runs.
    fn is_worker_unbound(&self) -> bool {
        let own_walk = self.settings.zswap.as_ref().is_some_and(|zswap| zswap.policy.walk.is_some());
        behaviours::WORKER_UNBOUND.is_in(self.settings.kernel) && !own_walk
    }

    fn context(&self) -> Context {
        self.settings.zswap.as_ref().map_or(Context::Background, |zswap| zswap.policy.context)
    }

    /// One step. `false` when the worker has done enough or gives up.
    #[inline(always)]
    fn step(&mut self, time: &mut u64) -> bool {
        let mut written = 0;
        if self.walk.groups == Groups::Fair {
            *time += self.settings.costs.round;
        }
        if let Some(group) = self.next_group() {
            for _ in 0..self.walk.per_step {
                let begin = *time;
                if self.write_back_oldest(group, self.walk.second_chance, time) == Some(true) {
                    *time = (*time).max(begin + self.settings.costs.write_back);
                    written += 1;
                }
            }
        }
        if written > 0 {
            return self.walk.until != Until::OneEntry && !self.zswap.as_ref().is_some_and(Zswap::can_accept);
        }
        self.outcome.counters.reject_reclaim_fail += 1;
        self.worker.failures += 1;
        self.worker.failures < self.walk.failures && !self.zswap.as_ref().is_some_and(Zswap::can_accept)
    }

    /// Whose entries are next; `None` counts as a failure.
    fn next_group(&mut self) -> Option<u16> {
        let zswap = self.zswap.as_ref()?;
        let groups = zswap.groups();
        if groups == 1 {
            return (zswap.listed(0) > 0).then_some(0);
        }
        let looked_at = if self.walk.groups == Groups::Fair { groups } else { 1 };
        for _ in 0..looked_at {
            let group = self.worker.cursor % groups;
            self.worker.cursor = group + 1;
            if zswap.listed(group) > 0 {
                return Some(group);
            }
        }
        None
    }

    /// Writes back the oldest entry of a group, or passes it over. `None` if there is none.
    #[inline]
    pub(super) fn write_back_oldest(&mut self, group: u16, second_chance: bool, time: &mut u64) -> Option<bool> {
        let zswap = self.zswap.as_mut()?;
        let (place, entry) = zswap.oldest(group)?;
        *time += self.settings.costs.scan;
        let passed_over = second_chance && entry.chance;
        // In the swap cache: -EEXIST.
        if passed_over || self.pages.state(entry.page).is_in_ram() {
            zswap.pass_over(&mut self.pages, group, place);
            return Some(false);
        }
        zswap.bring_near(&self.pages, group, place);
        self.write_back(entry.page, entry.size, time);
        Some(true)
    }

    /// zswap_writeback_entry(): decompresses a page into fresh RAM and starts its write.
    fn write_back(&mut self, page: u32, size: u16, time: &mut u64) {
        self.remove_from_zswap(page);
        if self.pages.has(page, CLEAN) {
            // Written through when it was stored.
            self.pages.go(page, Tier::Disk);
            return;
        }
        *time += self.decompressed(size) + self.settings.costs.swap_out;
        self.outcome.counters.zswpwb += 1;
        self.round += 1;
        let area = self.slots.area(self.pages.slot(page));
        if self.zrams[area].is_some() {
            match self.write_to_zram(area, page, *time) {
                Some(spent) => *time += spent,
                None => self.come_back(page),
            }
            return;
        }
        self.charge(self.pages.cgroup(page));
        self.write_to_disk(page, *time, self.round);
    }

    /// What it takes to have the content of a stored page at hand.
    pub(super) fn decompressed(&self, size: u16) -> u64 {
        let decompress = self.settings.zswap.as_ref().map_or(0, |zswap| zswap.codec.decompress);
        if size >= crate::alloc::PAGE_SIZE { COPY } else { decompress }
    }

    /// Evicts the oldest entries until a store fits; whoever stores waits.
    pub(super) fn make_room_in_pool(&mut self, time: &mut u64) {
        for _ in 0..self.walk.failures {
            if !self.zswap.as_ref().is_some_and(Zswap::is_full) || self.write_back_oldest(0, false, time).is_none() {
                return;
            }
        }
    }
}
