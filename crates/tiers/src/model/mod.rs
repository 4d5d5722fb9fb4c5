//! The model: what a machine with RAM, zswap, zram and disks makes of a trace, in virtual time.
//!
//! [`Model`] is a function of (trace, [`Settings`]): no clock, no randomness but [`Settings::seed`]. One process at a time does what the
//! trace says; kswapd and zswap's worker have clocks of their own and catch up whenever the trace faults. What is modelled of each
//! part, and from which source, stands in its file.

mod ages;
mod caretaker;
#[cfg(test)]
mod caretaker_tests;
mod cleaner;
mod clusters;
mod costs;
mod counters;
mod device;
mod fault;
#[cfg(test)]
mod fault_tests;
mod figures;
mod limit;
mod lru;
#[cfg(test)]
mod lru_tests;
mod observe;
mod outcome;
mod page;
#[cfg(test)]
mod policy_tests;
mod readahead;
#[cfg(test)]
mod readahead_tests;
mod reclaim;
#[cfg(test)]
mod reclaim_tests;
mod replay;
mod requests;
mod ring;
mod rounds;
mod settings;
mod shrinkers;
mod sizes;
mod slots;
#[cfg(test)]
mod slots_tests;
mod store;
#[cfg(test)]
mod tests;
mod upkeep;
mod worker;
#[cfg(test)]
mod worker_tests;
mod workingset;
mod zram;
mod zswap;

pub use costs::{CODECS, Codec, Costs};
pub use counters::Counters;
pub use device::DeviceTimes;
pub use figures::{Figures, NamedDevice};
pub use limit::Limit;
pub use lru::Lru;
pub use observe::Pools;
pub use outcome::{Histogram, Outcome};
pub use page::Tier;
pub use settings::{AreaSettings, Backing, Settings, SettingsError, Watermarks, ZswapSettings};
pub use sizes::Sizes;
pub use upkeep::{Recompress, Second, Upkeep, Which, Writeback};
pub use zram::COPY;

use swaptune_kernel::behaviours;

use crate::policies::{Groups, Walk};
use device::Device;
use lru::RamLists;
use page::{CLEAN, NONE, POOLED, Pages};
use readahead::Window;
use shrinkers::Shrinkers;
use slots::Slots;
use worker::Worker;
use zram::Zram;
use zswap::Zswap;

/// Neither RAM nor swap has room.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct OutOfMemory;

/// What the model keeps of a memory cgroup.
#[derive(Clone, Copy, Debug, Default)]
struct Cgroup {
    /// Pages in RAM and such that are still being written.
    charged: u64,
    /// Bytes that zswap holds of it.
    zswap: u64,
    limit: Option<u64>,
}

/// A machine at work on a trace.
#[derive(Clone, Debug)]
pub struct Model {
    settings: Settings,
    walk: Walk,
    marks: Watermarks,
    pages: Pages,
    lists: RamLists,
    cgroups: Vec<Cgroup>,
    zswap: Option<Zswap>,
    /// For each area: the device of this index, or zram.
    zrams: Vec<Option<Zram>>,
    devices: Vec<Device>,
    slots: Slots,
    window: Window,
    shrinkers: Shrinkers,
    worker: Worker,
    /// Time of the worker that cleans ahead, while it is awake.
    cleaner: Option<u64>,
    /// Time of the process, and of kswapd while it is awake.
    now: u64,
    kswapd: Option<u64>,
    /// Pages of RAM taken by pages of the trace, those under write and copies under write.
    used: u64,
    /// Processor time of the worker that the process has yet to feel.
    stolen: u64,
    /// Number of the round of reclaim, and of the write.
    round: u64,
    writes: u32,
    /// Cgroup that global reclaim visits next.
    cursor: usize,
    /// Whether somebody visits a zram device.
    has_caretakers: bool,
    /// Whether there are pages that only the swap map remembers.
    maps_zeros: bool,
    /// So many misses from now on it is worth looking for slots that pages in RAM have kept.
    look_for_slots: u64,
    /// Accesses that found their page mapped, and all others.
    hits: u64,
    misses: u64,
    outcome: Outcome,
}

impl Model {
    /// A machine on which pages 0 to `pages` − 1 exist and are untouched.
    ///
    /// # Errors
    /// Settings that make no machine.
    pub fn new(settings: Settings, pages: u32) -> Result<Self, SettingsError> {
        settings.check()?;
        let walk =
            settings.zswap.as_ref().and_then(|zswap| zswap.policy.walk).unwrap_or_else(|| Walk::of_kernel(settings.kernel));
        let groups = if walk.groups == Groups::Global { 1 } else { settings.cgroups.len() };
        let cgroups = settings.cgroups.iter().map(|&limit| Cgroup { limit, ..Cgroup::default() });
        let has_zram = settings.areas.iter().any(|area| matches!(area.backing, Backing::Zram { .. }));
        Ok(Self {
            walk,
            marks: settings.watermarks(),
            pages: Pages::new(
                pages as usize,
                settings.cgroups.len() > 1,
                has_zram || (settings.zswap.is_some() && behaviours::SAME_FILLED_IN_ZSWAP.is_in(settings.kernel)),
            ),
            lists: RamLists::new(settings.lru, settings.cgroups.iter().map(Option::is_some)),
            cgroups: cgroups.collect(),
            zswap: settings.zswap.as_ref().map(|zswap| zswap.build(settings.ram, settings.kernel, groups)),
            has_caretakers: settings.areas.iter().any(|area| area.backing.upkeep().is_some()),
            zrams: settings.zrams(),
            devices: settings.devices.iter().map(|&times| Device::new(times)).collect(),
            slots: Slots::new(settings.kernel, &settings.turns(), settings.needs_owners()),
            window: Window::new(settings.reads_ahead_by_slots()),
            shrinkers: Shrinkers::new(groups),
            worker: Worker::default(),
            cleaner: None,
            now: 0,
            kswapd: None,
            used: 0,
            stolen: 0,
            round: 0,
            writes: 0,
            cursor: 0,
            maps_zeros: behaviours::ZERO_MAP.is_in(settings.kernel) && settings.sizes.has_zeros(),
            look_for_slots: 0,
            hits: 0,
            misses: 0,
            outcome: Outcome::default(),
            settings,
        })
    }

    /// Forgets what zswap and the swap area hold of a page that is in RAM.
    fn drop_copies(&mut self, page: u32) {
        if self.pages.has(page, POOLED) {
            self.remove_from_zswap(page);
        }
        let slot = self.pages.slot(page);
        if slot != NONE {
            self.slots.release(slot);
            self.pages.set_slot(page, NONE);
        }
        self.pages.clear(page, CLEAN);
    }

    /// Whether swap is more than half full: then what is brought from there leaves its slot (`vm_swap_full`).
    fn is_swap_short(&self) -> bool {
        let (used, all) = self.slots.fill();
        used * 2 > all
    }

    /// The page is given back.
    fn free(&mut self, page: u32) {
        self.settle();
        match self.pages.tier(page) {
            Tier::Absent => return,
            Tier::Ram => {
                self.lists.remove(&self.pages, page);
                self.uncharge(self.pages.cgroup(page));
            }
            // The end of the write finds another page there.
            Tier::Writing => self.uncharge(self.pages.cgroup(page)),
            Tier::Zram => {
                self.remove_from_zram(page);
            }
            Tier::WrittenBack => self.forget_block(page),
            Tier::Zero | Tier::Zswap | Tier::Disk => {}
        }
        self.drop_copies(page);
        self.pages.forget(page);
    }

    /// A page of RAM is taken for a cgroup.
    fn charge(&mut self, cgroup: u16) {
        self.used += 1;
        self.cgroups[usize::from(cgroup)].charged += 1;
    }

    /// A page of RAM of a cgroup is free again.
    fn uncharge(&mut self, cgroup: u16) {
        self.used -= 1;
        self.cgroups[usize::from(cgroup)].charged -= 1;
    }

    /// Pages of RAM that are free; less than none when pools took reserves.
    #[inline]
    fn free_pages(&self) -> i64 {
        let mut pools = self.zswap.as_ref().map_or(0, Zswap::pages);
        for zram in self.zrams.iter().flatten() {
            pools += zram.pages();
        }
        self.settings.ram as i64 - (self.settings.reserved + self.used + pools) as i64
    }

    /// What it came to so far.
    #[must_use]
    pub fn finish(mut self) -> Outcome {
        self.outcome.counters.accesses = self.hits + self.misses;
        self.outcome.latency.add(self.settings.costs.access, self.hits);
        self.outcome.elapsed = self.now;
        self.outcome
    }
}
