//! Swap-out of one page: the zero map, zswap's store, zram, the disk (mm/page_io.c, mm/zswap.c).

use swaptune_kernel::behaviours;

use super::device::Written;
use super::page::{CLEAN, POOLED, Tier};
use super::zswap::Zswap;
use super::{Backing, Model};
use crate::alloc::PAGE_SIZE;
use crate::policies::{Context, Trigger};

impl Model {
    /// Writes a page, which has a slot and is in no list, to where the kernel would. `false` if it stays in RAM.
    pub(super) fn swap_out(&mut self, page: u32, time: &mut u64) -> bool {
        if self.is_remembered_as_zeros(page) {
            self.outcome.counters.swpout_zero += 1;
            self.pages.go(page, Tier::Zero);
            self.gone(page);
            return true;
        }
        let size = self.settings.sizes.of(page, self.settings.seed);
        if self.zswap.is_some() && self.store(page, size, time) {
            return true;
        }
        let area = self.slots.area(self.pages.slot(page));
        if self.zrams[area].is_none() {
            self.write_to_disk(page, *time, self.round);
            return true;
        }
        let Some(spent) = self.write_to_zram(area, page, *time) else { return false };
        *time += spent;
        self.gone(page);
        true
    }

    /// Whether the swap map remembers such a page, so that it is written nowhere.
    pub(super) fn is_remembered_as_zeros(&self, page: u32) -> bool {
        self.maps_zeros && self.settings.sizes.of(page, self.settings.seed) == 0
    }

    /// Starts the write of a page; its RAM is free when that has ended.
    pub(super) fn write_to_disk(&mut self, page: u32, time: u64, round: u64) {
        self.writes = self.writes.wrapping_add(1);
        self.pages.set_place(page, self.writes);
        let state = self.pages.state_mut(page);
        state.go(Tier::Writing);
        state.set(CLEAN);
        self.submit(page, time, round, Written::Page { page, write: self.writes });
    }

    #[inline(always)]
    fn submit(&mut self, page: u32, time: u64, round: u64, written: Written) {
        let slot = self.pages.slot(page);
        self.outcome.counters.pswpout += 1;
        self.outcome.counters.disk_out += 1;
        if let Backing::Disk { device, .. } = self.settings.areas[self.slots.area(slot)].backing {
            self.devices[device].write(time, slot, round, written);
        }
    }

    /// zswap_store(): `false` if the page is refused.
    fn store(&mut self, page: u32, size: u16, time: &mut u64) -> bool {
        if self.must_reject(time) {
            self.pause_worker();
            return false;
        }
        let Some(zswap) = self.zswap.as_mut() else { return false };
        let Some(settings) = &self.settings.zswap else { return false };
        let keeps_raw = settings.policy.raw.unwrap_or(behaviours::RAW_PAGES.is_in(self.settings.kernel));
        if size > 0 {
            *time += settings.codec.compress;
        }
        if size >= PAGE_SIZE && !keeps_raw {
            self.outcome.counters.reject_compress_fail += u64::from(behaviours::COUNTS_COMPRESS_FAIL.is_in(self.settings.kernel));
            self.pause_worker();
            return false;
        }
        let size = size.min(PAGE_SIZE);
        let through = size > 0 && zswap.pages() >= zswap.through_from;
        if !zswap.insert(&mut self.pages, page, size) {
            self.outcome.counters.reject_compress_poor += 1;
            self.pause_worker();
            return false;
        }
        let state = self.pages.state_mut(page);
        state.go(Tier::Zswap);
        state.set(POOLED);
        let cgroup = self.pages.cgroup(page);
        self.cgroups[usize::from(cgroup)].zswap += u64::from(size);
        self.outcome.counters.zswpout += 1;
        let filled = zswap.pages();
        self.outcome.pool_peak = self.outcome.pool_peak.max(filled);
        let (early, cleans) = (filled >= zswap.early_from, filled >= zswap.cleans_from);
        if through {
            self.write_copy(page, *time);
        }
        self.gone(page);
        if early {
            self.wake_worker(*time);
        }
        if cleans {
            self.wake_cleaner(*time);
        }
        true
    }

    /// The copy that goes to the disk of a page that stays in the pool: RAM is taken until its end.
    pub(super) fn write_copy(&mut self, page: u32, time: u64) {
        let area = self.slots.area(self.pages.slot(page));
        if self.zrams[area].is_none() {
            self.pages.set(page, CLEAN);
            self.used += 1;
            self.submit(page, time, self.round, Written::Copy);
        }
    }

    /// zswap_check_limits(): whether the pool takes nothing now. Sets the worker going, or makes room on the spot.
    fn must_reject(&mut self, time: &mut u64) -> bool {
        let Some(settings) = &self.settings.zswap else { return true };
        let policy = &settings.policy;
        if policy.context == Context::Store && self.zswap.as_ref().is_some_and(Zswap::is_full) {
            self.outcome.counters.pool_limit_hit += 1;
            self.make_room_in_pool(time);
            return self.zswap.as_ref().is_some_and(Zswap::is_full);
        }
        let Some(zswap) = self.zswap.as_mut() else { return true };
        let full = zswap.is_full();
        if full {
            self.outcome.counters.pool_limit_hit += 1;
            zswap.reached_full = true;
        } else if zswap.reached_full && (!policy.hysteresis || zswap.can_accept()) {
            zswap.reached_full = false;
        }
        let reject = zswap.reached_full;
        if reject && !full {
            self.outcome.counters.reject_draining += 1;
        }
        if reject && (full || self.walk.trigger == Trigger::AnyReject) {
            self.wake_worker(*time);
        }
        reject
    }
}
