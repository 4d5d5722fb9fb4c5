//! What a program beside the trace sees of a machine and can do to it, as a daemon does through `/proc`, `/sys` and cgroup v2.
//!
//! It runs on a processor of its own: what it does takes processor time of the kernel and none of the process that the trace plays. Nothing
//! of this is asked for, and nothing kept, where no such program runs, but for two counters on the way of a page that comes back.

use super::machine::Model;
use super::mm::ObservedGroup;

/// A machine as an observer finds it: sizes in pages, times in nanoseconds since the start.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct MachineSeen {
    /// Time of the process.
    pub now: u64,
    /// RAM (`MemTotal`).
    pub ram: u64,
    /// RAM that zswap's pool takes (`Zswap` of meminfo).
    pub pool: u64,
    /// Pages in it (`Zswapped`).
    pub stored: u64,
    /// Slots of all areas (`SwapTotal`).
    pub slots: u64,
    /// Those that no page has (`SwapFree`).
    pub slots_free: u64,
    /// `max_pool_percent`; 0 without zswap.
    pub max_pool_percent: u64,
    /// `accept_threshold_percent`; 0 without zswap.
    pub accept_threshold_percent: u64,
    /// Pages read from swap areas (`pswpin`).
    pub pswpin: u64,
    /// Pages written to swap areas, write-back included (`pswpout`).
    pub pswpout: u64,
    /// Pages written back from zswap (`zswpwb`).
    pub zswpwb: u64,
    /// Time that the process has waited for memory (`some total` of /proc/pressure/memory).
    pub memory_stall: u64,
    /// Time that it has waited for reads of disks (/proc/pressure/io).
    pub io_stall: u64,
}

impl Model {
    /// The machine as it is now.
    #[must_use]
    pub fn seen(&self) -> MachineSeen {
        let zswap = self.zswap.as_ref();
        let (used, slots) = self.swap.slots.fill();
        let counters = &self.memory.vmstat;
        MachineSeen {
            now: self.clock.now,
            ram: self.settings.ram,
            pool: zswap.map_or(0, |zswap| zswap.entries.pages()),
            stored: zswap.map_or(0, |zswap| zswap.entries.stored_pages),
            slots,
            slots_free: slots - used,
            max_pool_percent: zswap.map_or(0, |zswap| zswap.settings.max_pool_percent),
            accept_threshold_percent: zswap.map_or(0, |zswap| zswap.settings.accept_threshold_percent),
            pswpin: counters.pswpin,
            pswpout: counters.pswpout,
            zswpwb: counters.zswpwb,
            memory_stall: self.outcome.stall,
            io_stall: self.disk_wait,
        }
    }

    /// A control group as it is now.
    ///
    /// # Panics
    /// If there is no such group.
    #[must_use]
    pub fn group(&self, cgroup: u16) -> ObservedGroup {
        self.memory.group(cgroup)
    }

    /// How many there are.
    #[must_use]
    pub fn groups(&self) -> u16 {
        self.settings.cgroups.len() as u16
    }

    /// Nothing is wanted until `until`, in nanoseconds since the start: kswapd, zswap's workers and writes go on meanwhile.
    pub fn wait(&mut self, until: u64) {
        self.clock.now = self.clock.now.max(until);
        self.end_writes(self.clock.now);
        self.catch_up();
    }

    /// Sets `max_pool_percent` and `accept_threshold_percent`. As in the kernel, what the pool holds stays, and a worker that runs asks
    /// again after each entry. Without zswap nothing happens.
    pub fn set_pool_limits(&mut self, max_pool_percent: u64, accept_threshold_percent: u64) {
        let ram = self.settings.ram;
        if let Some(zswap) = &mut self.zswap {
            zswap.set_limits(ram, max_pool_percent, accept_threshold_percent);
        }
    }

    /// Offers zswap a page of a group that is kept from the disk (`memory.zswap.writeback` = 0). Tells whether it was refused: then it
    /// stays in RAM, and the worker is queued if the pool is at its limit. One that is taken is taken out again at once, because its
    /// owner writes to it: the few pages of such an owner are not modelled. It counts as no refused store of the trace.
    pub fn offer_canary(&mut self) -> bool {
        let Self { clock, memory, zswap, swap, settings, .. } = self;
        let Some(zswap) = zswap else { return false };
        let (hits, draining) = (memory.vmstat.pool_limit_hit, memory.vmstat.reject_draining);
        let mut time = clock.now;
        let refused = zswap.must_reject(memory, swap, clock, &mut time);
        clock.system += settings.costs.swap_out;
        (memory.vmstat.pool_limit_hit, memory.vmstat.reject_draining) = (hits, draining);
        refused
    }

    /// Has reclaim take this many pages of a group, or as many as it finds (`memory.reclaim`): a batch more at most. Tells how many left.
    ///
    /// # Panics
    /// If there is no such group.
    pub fn reclaim(&mut self, cgroup: u16, pages: u64) -> u64 {
        let (begin, mut left) = (self.clock.now, 0);
        let mut time = begin;
        while left < pages {
            let evicted = self.shrink(Some(cgroup), &mut time) as u64;
            if evicted == 0 {
                break;
            }
            left += evicted;
        }
        self.clock.system += time - begin;
        self.end_writes(begin);
        left
    }
}
