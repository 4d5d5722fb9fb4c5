//! What zswap takes, and what it refuses (mm/zswap.c: `zswap_store`, `zswap_check_limits`).

use swaptune_kernel::behaviours;

use super::Zswap;
use crate::alloc::PAGE_SIZE;
use crate::model::clock::Clock;
use crate::model::mm::Memory;
use crate::model::page::{POOLED, Tier};
use crate::model::swap::Swap;
use crate::policies::{Trigger, WritebackPayer};

impl Zswap {
    /// Stores a page (`zswap_store`). `false` if it is refused.
    pub(in crate::model) fn store(
        &mut self,
        memory: &mut Memory,
        swap: &mut Swap,
        clock: &mut Clock,
        page: u32,
        time: &mut u64,
    ) -> bool {
        if self.must_reject(memory, swap, clock, time) {
            self.pause(clock.now);
            return false;
        }
        let size = memory.size_of(page);
        if size > 0 {
            *time += self.settings.codec.compress;
        }
        let through = size > 0 && self.entries.pages() >= self.entries.through_from;
        if !self.insert(memory, page, size) {
            self.pause(clock.now);
            return false;
        }
        let filled = self.entries.pages();
        self.peak = self.peak.max(filled);
        let (early, cleans) = (filled >= self.entries.early_from, filled >= self.entries.cleans_from);
        if through {
            swap.write_copy(memory, page, *time);
        }
        self.gone(memory, page);
        if early {
            self.wake_worker(memory, swap, clock, *time);
        }
        if cleans {
            self.wake_cleaner(*time);
        }
        true
    }

    /// Makes the entry of a page of this compressed size. `false` if it does not compress, or the allocator has no place of that size.
    #[inline]
    fn insert(&mut self, memory: &mut Memory, page: u32, size: u16) -> bool {
        let keeps_raw = self.settings.policy.raw.unwrap_or(behaviours::RAW_PAGES.is_in(self.kernel));
        if size >= PAGE_SIZE && !keeps_raw {
            memory.vmstat.reject_compress_fail += u64::from(behaviours::COUNTS_COMPRESS_FAIL.is_in(self.kernel));
            return false;
        }
        let size = size.min(PAGE_SIZE);
        if !self.entries.insert(&mut memory.pages, page, size) {
            memory.vmstat.reject_compress_poor += 1;
            return false;
        }
        let state = memory.pages.state_mut(page);
        state.go(Tier::Zswap);
        state.set(POOLED);
        memory.charge_zswap(memory.pages.cgroup(page), size);
        memory.vmstat.zswpout += 1;
        true
    }

    /// Whether the pool takes nothing now (`zswap_check_limits`). Sets the worker going, or makes room on the spot.
    pub(in crate::model) fn must_reject(
        &mut self,
        memory: &mut Memory,
        swap: &mut Swap,
        clock: &mut Clock,
        time: &mut u64,
    ) -> bool {
        let full = self.entries.is_full();
        memory.vmstat.pool_limit_hit += u64::from(full);
        if full && self.settings.policy.context == WritebackPayer::Store {
            self.make_room(memory, swap, time);
            return self.entries.is_full();
        }
        let entries = &mut self.entries;
        if full {
            entries.reached_full = true;
        } else if entries.reached_full && (!self.settings.policy.hysteresis || entries.can_accept()) {
            entries.reached_full = false;
        }
        let reject = entries.reached_full;
        memory.vmstat.reject_draining += u64::from(reject && !full);
        if reject && (full || self.walk.trigger == Trigger::AnyReject) {
            self.wake_worker(memory, swap, clock, *time);
        }
        reject
    }
}
