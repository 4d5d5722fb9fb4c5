//! What a machine is to the model.

use swaptune_kernel::{Behaviour, KernelVersion, behaviours};

use super::costs::{CodecCosts, Costs, DeviceTimes};
use super::sizes::CompressedSizes;
use super::upkeep::Upkeep;
use crate::alloc::Allocator;
use crate::policies::{POLICIES, Policy};

/// How RAM keeps its pages in order.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, serde::Deserialize, serde::Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Lru {
    /// By time of the last access, as no kernel can: for comparison.
    Exact,
    /// Active and inactive list with reference bits (mm/vmscan.c, without CONFIG_LRU_GEN or with it off).
    #[default]
    Classic,
    /// Generations (MGLRU, since 6.1): referenced pages become young when reclaim or a walk of page tables meets them.
    Generational,
}

impl Lru {
    /// What distributions ship: generations where the kernel has them. The kernel's own default is `CONFIG_LRU_GEN_ENABLED=n`; Debian
    /// since 12, Fedora, Arch and Ubuntu set it.
    #[must_use]
    pub fn of_kernel(version: KernelVersion) -> Self {
        if behaviours::GENERATIONS.is_in(version) { Self::Generational } else { Self::Classic }
    }
}

/// zswap of a machine.
#[derive(Clone, Debug, PartialEq)]
pub struct ModelZswapSettings {
    /// Its compressor.
    pub codec: CodecCosts,
    /// Its allocator.
    pub allocator: Allocator,
    /// `max_pool_percent`: the limit of the pool, of RAM.
    pub max_pool_percent: u64,
    /// `accept_threshold_percent`, of the limit.
    pub accept_threshold_percent: u64,
    /// What keeps it below its limit.
    pub policy: Policy,
}

/// What is behind a swap area.
#[derive(Clone, Debug, PartialEq)]
pub enum Backing {
    /// A disk, by its index in [`ModelSettings::devices`].
    Disk {
        /// Index of the device.
        device: usize,
        /// Whether the kernel takes it for a rotational one.
        rotational: bool,
    },
    /// A zram device.
    Zram {
        /// Its algorithm.
        codec: CodecCosts,
        /// Its allocator: zsmalloc.
        allocator: Allocator,
        /// mem_limit in pages.
        mem_limit: Option<u64>,
        /// Recompression and write-back at intervals.
        upkeep: Option<Box<Upkeep>>,
    },
}

/// A swap area.
#[derive(Clone, Debug, PartialEq)]
pub struct AreaSettings {
    /// Higher is filled first; equal ones take turns.
    pub priority: i32,
    /// Pages that it holds.
    pub slots: u32,
    /// What is behind it.
    pub backing: Backing,
}

/// A machine and its tiers.
#[derive(Clone, Debug, PartialEq)]
pub struct ModelSettings {
    /// Its release, which decides how reclaim, zswap and zram behave.
    pub kernel: KernelVersion,
    /// Pages of RAM (MemTotal).
    pub ram: u64,
    /// Pages of RAM that others hold and keep.
    pub reserved: u64,
    /// Processors. With one, zswap's worker gets its turn when whoever had it called lets go of the processor: kswapd sleeps, or the
    /// process waits for a disk.
    pub processors: u32,
    /// How RAM keeps its pages in order.
    pub lru: Lru,
    /// Limit of each memory cgroup in pages (memory.max); `None`: no limit. One entry for each cgroup of the trace; where there are
    /// fewer, the last one has the pages of all that have none.
    pub cgroups: Vec<Option<u64>>,
    /// Whether zswap's compressed bytes count against those limits: cgroup v2. Where they do not, zswap's shrinker finds that the group
    /// has stored nothing, and never runs.
    pub charge_zswap: bool,
    /// zswap in front of all areas.
    pub zswap: Option<ModelZswapSettings>,
    /// Swap areas.
    pub areas: Vec<AreaSettings>,
    /// Disks behind areas and behind zram, by the index that those name.
    pub devices: Vec<DeviceTimes>,
    /// vm.swappiness, 1 to 200: how much of the lists of a group at its limit is looked at in one go. With 0 the kernel swaps nothing of a group.
    pub swappiness: u32,
    /// vm.page-cluster.
    pub page_cluster: u32,
    /// vm.watermark_scale_factor.
    pub watermark_scale_factor: u64,
    /// What the kernel takes beside codecs and devices, in nanoseconds.
    pub costs: Costs,
    /// Compressed size of each page.
    pub sizes: CompressedSizes,
    /// What draws are made from.
    pub seed: u64,
}

/// Why settings make no machine.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ModelSettingsError {
    /// Nothing would be swapped, or more than all.
    #[error("swappiness is {0}, expected 1 to 200")]
    Swappiness(u32),
    /// Nothing left for the trace.
    #[error("of {ram} pages of RAM {reserved} are reserved and {high} are kept free: nothing is left")]
    NoRam {
        /// RAM in pages.
        ram: u64,
        /// Reserved pages.
        reserved: u64,
        /// The high watermark in pages.
        high: u64,
    },
    /// A cgroup is needed.
    #[error("no cgroup: give at least one, without a limit if it has none")]
    NoCgroup,
    /// A device that does not exist.
    #[error("area {area} is on device {device}, and there are {devices}")]
    NoDevice {
        /// Index of the area.
        area: usize,
        /// Index of the device.
        device: usize,
        /// How many devices there are.
        devices: usize,
    },
    /// zswap without an area cannot store.
    #[error("zswap needs a swap area: it reserves a slot for each page")]
    ZswapWithoutArea,
    /// Slots are counted in 32 bits.
    #[error("the areas and the backing devices of zram have {0} slots together; 4294967294 is the most")]
    TooManySlots(u64),
    /// The kernel does not have it.
    #[error("Linux {kernel} has no {what}: it is there {}", behaviour.versions())]
    KernelLacks {
        /// What it lacks.
        what: &'static str,
        /// The kernel.
        kernel: KernelVersion,
        /// What kernels have it.
        behaviour: &'static Behaviour,
    },
    /// Visits need time between them.
    #[error("area {0}: visits to a zram device need an interval of more than nothing")]
    NoInterval(usize),
}

impl ModelSettings {
    /// A machine of `ram` pages of RAM without any swap, kernel 6.18, one cgroup without a limit, and pages that compress to 1365
    /// bytes, a third.
    #[must_use]
    pub fn new(ram: u64) -> Self {
        Self {
            kernel: KernelVersion::ASSUMED,
            ram,
            reserved: 0,
            processors: 2,
            lru: Lru::default(),
            cgroups: vec![None],
            charge_zswap: true,
            zswap: None,
            areas: Vec::new(),
            devices: Vec::new(),
            swappiness: 60,
            page_cluster: 3,
            watermark_scale_factor: 10,
            costs: Costs::default(),
            sizes: CompressedSizes::Each(vec![1365]),
            seed: 1,
        }
    }

    /// Whether these settings make a machine.
    ///
    /// # Errors
    /// The first thing that is wrong.
    pub fn check(&self) -> Result<(), ModelSettingsError> {
        let high = self.watermarks().high;
        if self.reserved + high >= self.ram {
            return Err(ModelSettingsError::NoRam { ram: self.ram, reserved: self.reserved, high });
        }
        if self.cgroups.is_empty() {
            return Err(ModelSettingsError::NoCgroup);
        }
        if !(1..=200).contains(&self.swappiness) {
            return Err(ModelSettingsError::Swappiness(self.swappiness));
        }
        if self.zswap.is_some() && self.areas.is_empty() {
            return Err(ModelSettingsError::ZswapWithoutArea);
        }
        let slots: u64 = self.areas.iter().map(|area| u64::from(area.slots) + u64::from(area.backing.blocks())).sum();
        if slots >= u64::from(u32::MAX) {
            return Err(ModelSettingsError::TooManySlots(slots));
        }
        let devices = self.devices.len();
        for (area, settings) in self.areas.iter().enumerate() {
            if let Some(device) = settings.backing.device().filter(|&device| device >= devices) {
                return Err(ModelSettingsError::NoDevice { area, device, devices });
            }
            let Some(upkeep) = settings.backing.upkeep() else { continue };
            if upkeep.interval == 0 {
                return Err(ModelSettingsError::NoInterval(area));
            }
            if let Some((what, behaviour)) = upkeep.lacks(self.kernel) {
                return Err(ModelSettingsError::KernelLacks { what, kernel: self.kernel, behaviour });
            }
        }
        Ok(())
    }

    /// Free pages at which reclaim starts and stops.
    #[must_use]
    pub fn watermarks(&self) -> Watermarks {
        Watermarks::of(self.ram, self.watermark_scale_factor)
    }

    /// Whether the page of a slot is asked for: by read-ahead by slots, or by upkeep of zram.
    pub(crate) fn needs_owners(&self) -> bool {
        self.reads_ahead_by_slots() || self.areas.iter().any(|area| area.backing.upkeep().is_some())
    }

    /// Whether one area is rotational: then the whole system reads ahead by slots and not by addresses.
    #[must_use]
    pub fn reads_ahead_by_slots(&self) -> bool {
        self.areas.iter().any(|area| matches!(area.backing, Backing::Disk { rotational: true, .. }))
    }
}

impl Backing {
    /// The disk that is needed: the area itself, or the backing device of zram.
    fn device(&self) -> Option<usize> {
        match self {
            Self::Disk { device, .. } => Some(*device),
            Self::Zram { .. } => self.upkeep()?.writeback.map(|writeback| writeback.device),
        }
    }

    pub(crate) fn upkeep(&self) -> Option<&Upkeep> {
        if let Self::Zram { upkeep, .. } = self { upkeep.as_deref() } else { None }
    }

    /// Pages of its backing device.
    pub(crate) fn blocks(&self) -> u32 {
        self.upkeep().and_then(|upkeep| upkeep.writeback).map_or(0, |writeback| writeback.blocks)
    }
}

impl ModelZswapSettings {
    /// zswap as the kernel comes: 20 % of RAM, threshold 90 %, policy `limit`.
    #[must_use]
    pub const fn new(codec: CodecCosts, allocator: Allocator) -> Self {
        Self { codec, allocator, max_pool_percent: 20, accept_threshold_percent: 90, policy: POLICIES[0] }
    }
}

/// Free pages at which reclaim starts and stops, of one zone (mm/page_alloc.c, `__setup_per_zone_wmarks`).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Watermarks {
    /// Below it a process that needs memory reclaims.
    pub min: u64,
    /// Below it kswapd wakes.
    pub low: u64,
    /// At it kswapd sleeps.
    pub high: u64,
}

impl Watermarks {
    /// Those of `ram` pages, with min_free_kbytes as the kernel computes it at boot.
    #[must_use]
    pub fn of(ram: u64, scale_factor: u64) -> Self {
        let min = (ram * 4 * 16).isqrt().clamp(128, 262_144) / 4;
        let step = (min / 4).max(ram * scale_factor / 10_000);
        Self { min, low: min + step, high: min + 2 * step }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::{Which, Writeback};

    #[test]
    fn watermarks_of_a_machine_of_8_gb() {
        let marks = Watermarks::of(2_000_000, 10);
        assert_eq!(marks, Watermarks { min: 2828, low: 4828, high: 6828 });
        assert_eq!(Watermarks::of(2_000_000, 125).high, 2828 + 2 * 25_000);
        assert_eq!(Watermarks::of(100, 10).min, 32);
    }

    #[test]
    fn what_makes_no_machine_is_refused() {
        let good = ModelSettings::new(100_000);
        assert_eq!(good.check(), Ok(()));
        assert!(matches!(ModelSettings { reserved: 99_900, ..good.clone() }.check(), Err(ModelSettingsError::NoRam { .. })));
        let marks = Watermarks::of(1000, 10);
        for (reserved, fits) in [(1000 - marks.high, false), (999 - marks.high, true)] {
            assert_eq!(ModelSettings { reserved, ..ModelSettings::new(1000) }.check().is_ok(), fits, "one page is enough");
        }
        assert_eq!(ModelSettings { cgroups: Vec::new(), ..good.clone() }.check(), Err(ModelSettingsError::NoCgroup));
        let swappiness = |swappiness| ModelSettings { swappiness, ..ModelSettings::new(1000) }.check().err();
        assert_eq!(
            [0, 1, 200, 201].map(swappiness),
            [Some(ModelSettingsError::Swappiness(0)), None, None, Some(ModelSettingsError::Swappiness(201))]
        );
        let area = AreaSettings { priority: 0, slots: 10, backing: Backing::Disk { device: 1, rotational: false } };
        let lost = ModelSettings { areas: vec![area.clone()], devices: vec![DeviceTimes::NVME], ..good.clone() };
        assert_eq!(lost.check(), Err(ModelSettingsError::NoDevice { area: 0, device: 1, devices: 1 }));
        let huge = AreaSettings { slots: u32::MAX, ..area };
        assert!(matches!(ModelSettings { areas: vec![huge], ..good.clone() }.check(), Err(ModelSettingsError::TooManySlots(_))));
        for (slots, error) in
            [(u32::MAX - 11, None), (u32::MAX - 10, Some(ModelSettingsError::TooManySlots(u64::from(u32::MAX))))]
        {
            let tended = ModelSettings { areas: vec![tended(slots)], devices: vec![DeviceTimes::NVME], ..good.clone() };
            assert_eq!(tended.check().err(), error, "slots and 10 blocks of a backing device");
        }
    }

    /// A zram device that writes back to ten blocks of the first disk.
    fn tended(slots: u32) -> AreaSettings {
        let writeback = Writeback { device: 0, blocks: 10, which: Which::Huge, age: 0, limit: None };
        let upkeep = Upkeep { interval: 1, recompress: None, writeback: Some(writeback) };
        let (codec, allocator) = (CodecCosts::named("lz4").unwrap(), Allocator::Zbud);
        let backing = Backing::Zram { codec, allocator, mem_limit: None, upkeep: Some(Box::new(upkeep)) };
        AreaSettings { priority: 0, slots, backing }
    }

    /// Who is in which slot takes memory for each slot.
    #[test]
    fn owners_of_slots_are_kept_where_they_are_asked_for() {
        let disk = |rotational| AreaSettings { priority: 0, slots: 10, backing: Backing::Disk { device: 0, rotational } };
        for (areas, by_slots, owners) in [
            (vec![disk(false)], false, false),
            (vec![disk(false), disk(true)], true, true),
            (vec![disk(false), tended(10)], false, true),
        ] {
            let settings = ModelSettings { areas, ..ModelSettings::new(1000) };
            assert_eq!((settings.reads_ahead_by_slots(), settings.needs_owners()), (by_slots, owners));
        }
    }
}
