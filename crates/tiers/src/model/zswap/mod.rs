//! zswap: a pool in front of all swap areas (mm/zswap.c).

mod cleaner;
mod entries;
mod limit;
mod list_lru;
mod shrinker;
mod store;
mod worker;
mod writeback;

pub use limit::ZswapLimit;
pub(super) use worker::Worker;

use swaptune_kernel::{KernelVersion, behaviours};

use super::clock::Clock;
use super::mm::Memory;
use super::page::{POOLED, Tier};
use super::shrinker::Shrinker;
use super::spec::{COPY, Costs, ModelSettings, ModelZswapSettings};
use super::swap::Swap;
use crate::alloc::{PAGE_SIZE, Pool};
use crate::policies::{GroupOrder, Walk};
use entries::Entries;

/// What zswap's shrinker of a group has put off, and what it protects.
#[derive(Clone, Copy, Debug, Default)]
struct ZswapLruvec {
    shrinker: Shrinker,
    /// Pages that had to be read from the disk since the shrinker last counted (`nr_disk_swapins`).
    disk_swapins: u64,
}

/// zswap with its worker and its shrinker.
#[derive(Clone, Debug)]
pub(super) struct Zswap {
    pub(super) settings: ModelZswapSettings,
    walk: Walk,
    kernel: KernelVersion,
    one_processor: bool,
    pub(super) costs: Costs,
    pub(super) entries: Entries,
    pub(super) worker: Worker,
    /// Time of the worker that cleans ahead, while it is awake.
    pub(super) cleaner: Option<u64>,
    /// By group of entries.
    lruvecs: Vec<ZswapLruvec>,
    /// Whether the shrinker runs.
    shrinks: bool,
    /// Most pages of RAM that the pool held.
    pub(super) peak: u64,
}

impl Zswap {
    /// zswap of a machine, if it has one.
    pub(super) fn of(machine: &ModelSettings) -> Option<Self> {
        let settings = machine.zswap.clone()?;
        let walk = settings.policy.walk.unwrap_or_else(|| Walk::of_kernel(machine.kernel));
        let groups = if walk.groups == GroupOrder::Global { 1 } else { machine.cgroups.len() };
        let limit = limit(machine.ram, &settings, machine.kernel);
        Some(Self {
            walk,
            kernel: machine.kernel,
            one_processor: machine.processors == 1,
            costs: machine.costs,
            entries: Entries::new(limit, &settings.policy, Pool::new(&settings.allocator), groups),
            worker: Worker::default(),
            cleaner: None,
            lruvecs: vec![ZswapLruvec::default(); groups],
            // It goes by what the group is charged for: in a hierarchy that charges nothing it has nothing to do.
            shrinks: machine.charge_zswap && settings.policy.shrinker,
            peak: 0,
            settings,
        })
    }

    /// Another `max_pool_percent` and `accept_threshold_percent` count from now on, on a machine of so much RAM.
    pub(super) fn set_limits(&mut self, ram: u64, max_pool_percent: u64, accept_threshold_percent: u64) {
        let settings = &mut self.settings;
        (settings.max_pool_percent, settings.accept_threshold_percent) = (max_pool_percent, accept_threshold_percent);
        self.entries.set_limit(limit(ram, settings, self.kernel), &settings.policy);
    }

    /// Whether a worker has something to do.
    #[inline(always)]
    pub(super) const fn is_busy(&self) -> bool {
        self.worker.is_awake() || self.cleaner.is_some()
    }

    /// Loads a page, as the kernel of that version does, and tells what decompressing takes (`zswap_load`).
    pub(super) fn load(&mut self, memory: &mut Memory, page: u32) -> u64 {
        memory.vmstat.zswpin += 1;
        let size = if behaviours::LOADS_ARE_EXCLUSIVE.is_in(self.kernel) {
            self.invalidate(memory, page)
        } else {
            self.entries.rotate(&mut memory.pages, page)
        };
        if size == 0 { COPY } else { self.decompressed(size) }
    }

    /// The entry of a page leaves zswap (`zswap_invalidate`). Tells the size of its object.
    #[inline]
    pub(super) fn invalidate(&mut self, memory: &mut Memory, page: u32) -> u16 {
        let size = self.entries.remove(&mut memory.pages, page);
        memory.pages.clear(page, POOLED);
        memory.uncharge_zswap(memory.pages.cgroup(page), size);
        size
    }

    /// The RAM of a page is free, its content in the pool or in its slot: what is left is a shadow.
    #[inline]
    pub(super) fn gone(&mut self, memory: &mut Memory, page: u32) {
        if memory.pages.share_places() && memory.pages.tier(page) == Tier::Zswap {
            let shadow = memory.evict(page);
            self.entries.set_shadow(&memory.pages, page, shadow);
        } else {
            memory.gone(page);
        }
    }

    /// What it takes to have the content of a stored page.
    pub(super) fn decompressed(&self, size: u16) -> u64 {
        if size >= PAGE_SIZE { COPY } else { self.settings.codec.decompress }
    }

    /// A page was read from a disk (`zswap_folio_swapin`); a policy may let the worker pause.
    pub(super) fn note_disk_read(&mut self, cgroup: u16, now: u64) {
        if let Some(lruvec) = self.lruvecs.get_mut(usize::from(cgroup)) {
            lruvec.disk_swapins += 1;
        }
        self.pause(now);
    }

    /// A page was rejected or read from a disk: a policy may let the worker pause.
    pub(super) fn pause(&mut self, now: u64) {
        if self.settings.policy.pause > 0 {
            self.worker.paused_until = now + self.settings.policy.pause;
        }
    }

    /// Lets the workers do what they could do by now.
    pub(super) fn run_workers(&mut self, memory: &mut Memory, swap: &mut Swap, clock: &mut Clock) {
        self.run_worker(memory, swap, clock);
        self.run_cleaner(memory, swap, clock);
    }
}

/// The limit that settings make on a machine of so much RAM.
fn limit(ram: u64, settings: &ModelZswapSettings, kernel: KernelVersion) -> ZswapLimit {
    let ModelZswapSettings { max_pool_percent, accept_threshold_percent, .. } = *settings;
    ZswapLimit { ram, max_pool_percent, accept_threshold_percent, kernel }
}

#[cfg(test)]
impl Zswap {
    /// As on a machine of one processor.
    pub(super) const fn on_one_processor(&mut self) {
        self.one_processor = true;
    }

    /// Pages of the first group that had to be read from the disk since the shrinker last counted.
    pub(super) fn disk_swapins(&self) -> u64 {
        self.lruvecs[0].disk_swapins
    }
}
