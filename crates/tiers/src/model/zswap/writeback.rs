//! Write-back (mm/zswap.c: `shrink_worker`, `shrink_memcg`, `zswap_writeback_entry`).

use swaptune_kernel::behaviours;

use super::Zswap;
use crate::model::clock::Clock;
use crate::model::mm::Memory;
use crate::model::page::{CLEAN, REFERENCED, Tier};
use crate::model::swap::{Sent, Swap};
use crate::policies::{GroupOrder, Until, WritebackPayer};

/// Nanoseconds from a tick of the scheduler to the next (`CONFIG_HZ` of 250): at the latest then a worker that waits for the one processor has its
/// turn.
const TICK: u64 = 4_000_000;

impl Zswap {
    /// Queues the worker, unless it is queued already (`queue_work`).
    pub(in crate::model) fn wake_worker(&mut self, memory: &mut Memory, swap: &mut Swap, clock: &mut Clock, time: u64) {
        if self.walk.failures == 0 {
            return;
        }
        let unbound = self.is_unbound();
        if unbound {
            self.run_worker_by(memory, swap, clock, time);
        }
        self.worker.held |= unbound && self.one_processor && !self.worker.is_awake();
        self.worker.queue(time + if unbound && !self.one_processor { self.costs.wake } else { 0 });
    }

    /// Lets the worker do what it could do by now.
    pub(in crate::model) fn run_worker(&mut self, memory: &mut Memory, swap: &mut Swap, clock: &mut Clock) {
        self.run_worker_by(memory, swap, clock, clock.now);
    }

    fn run_worker_by(&mut self, memory: &mut Memory, swap: &mut Swap, clock: &mut Clock, now: u64) {
        let Some(queued) = self.worker.clock else { return };
        if self.worker.held && now < queued + TICK {
            return;
        }
        self.worker.get_turn(queued + TICK);
        let queued = self.worker.clock.unwrap_or(queued);
        let begin = queued.max(self.worker.paused_until);
        let (mut time, mut goes_on) = (begin, true);
        while goes_on && time < now {
            self.worker.begun = true;
            goes_on = self.shrink_step(memory, swap, &mut time) || self.worker.begins_anew();
        }
        if time > begin {
            clock.system += time - begin;
            if self.settings.policy.context == WritebackPayer::SameProcessor && !self.is_unbound() {
                clock.stolen += time - begin;
            }
        }
        // Before it has done anything its clock stays as it is: a pause may end otherwise.
        if begin < now {
            self.worker.clock = goes_on.then_some(time);
        }
    }

    /// Policies with a walk of their own say where theirs runs.
    fn is_unbound(&self) -> bool {
        behaviours::WORKER_UNBOUND.is_in(self.kernel) && self.settings.policy.walk.is_none()
    }

    /// One step of `shrink_worker`. `false` when it has done enough or gives up.
    #[inline(always)]
    fn shrink_step(&mut self, memory: &mut Memory, swap: &mut Swap, time: &mut u64) -> bool {
        let mut written = 0;
        if self.walk.groups == GroupOrder::Fair {
            *time += self.costs.round;
        }
        if let Some(group) = self.next_group() {
            for _ in 0..self.walk.per_step {
                let begin = *time;
                if self.write_back_oldest(memory, swap, group, self.walk.second_chance, time) == Some(true) {
                    *time = (*time).max(begin + self.costs.write_back);
                    written += 1;
                }
            }
        }
        if written > 0 {
            return self.walk.until != Until::OneEntry && !self.entries.can_accept();
        }
        memory.vmstat.reject_reclaim_fail += 1;
        self.worker.fails(self.walk.failures) && !self.entries.can_accept()
    }

    /// Whose entries are next; `None` counts as a failure.
    fn next_group(&mut self) -> Option<u16> {
        let (entries, groups) = (&self.entries, self.entries.groups());
        if groups == 1 {
            return (entries.listed(0) > 0).then_some(0);
        }
        let looked_at = if self.walk.groups == GroupOrder::Fair { groups } else { 1 };
        self.worker.next_group(groups, looked_at, |group| entries.listed(group) > 0)
    }

    /// Writes back the oldest entry of a group, or passes it over (`shrink_memcg_cb`). `None` if there is none.
    #[inline]
    pub(in crate::model) fn write_back_oldest(
        &mut self,
        memory: &mut Memory,
        swap: &mut Swap,
        group: u16,
        second_chance: bool,
        time: &mut u64,
    ) -> Option<bool> {
        let (place, entry) = self.entries.oldest(group)?;
        *time += self.costs.scan;
        let passed_over = second_chance && entry.chance;
        // In the swap cache: -EEXIST.
        if passed_over || memory.pages.state(entry.page).is_in_ram() {
            self.entries.pass_over(&mut memory.pages, group, place);
            return Some(false);
        }
        self.entries.prefetch_next(&memory.pages, group, place);
        self.write_back(memory, swap, entry.page, entry.size, time);
        Some(true)
    }

    /// Decompresses a page into fresh RAM and starts its write (`zswap_writeback_entry`).
    fn write_back(&mut self, memory: &mut Memory, swap: &mut Swap, page: u32, size: u16, time: &mut u64) {
        self.invalidate(memory, page);
        if memory.pages.has(page, CLEAN) {
            // Written through when it was stored.
            memory.pages.go(page, Tier::Disk);
            return;
        }
        *time += self.decompressed(size) + self.costs.swap_out;
        memory.vmstat.zswpwb += 1;
        swap.disks.start_plug();
        match swap.write(memory, page, *time) {
            Sent::UnderWrite => memory.charge(memory.pages.cgroup(page)),
            Sent::Stored(spent) => *time += spent,
            Sent::Refused => memory.refault(page, REFERENCED, swap.has_free()),
        }
    }

    /// Evicts the oldest entries until a store fits; whoever stores waits.
    pub(in crate::model) fn make_room(&mut self, memory: &mut Memory, swap: &mut Swap, time: &mut u64) {
        for _ in 0..self.walk.failures {
            if !self.entries.is_full() || self.write_back_oldest(memory, swap, 0, false, time).is_none() {
                return;
            }
        }
    }
}
