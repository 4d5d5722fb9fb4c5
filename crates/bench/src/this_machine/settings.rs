//! The machine of some facts, as it is set up now, for the model.

use swaptune_core::facts::{BlockDevice, SwapArea, Transport, ZswapFacts};
use swaptune_core::{Bytes, Facts};
use swaptune_kernel::KernelVersion;
use swaptune_tiers::alloc::{AllocError, Allocator, PAGE_SIZE};
use swaptune_tiers::model::{
    AreaSettings, Backing, Codec, DeviceTimes, Figures, Lru, NamedDevice, Settings, SettingsError, ZswapSettings,
};
use swaptune_tiers::policies::named;
use swaptune_tiers::scenario::Now;

/// Bytes of a page of the model.
pub(crate) const PAGE: u64 = PAGE_SIZE as u64;

/// Why a machine cannot be modelled.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ThisMachineError {
    /// Something that the model needs is not known.
    #[error("{what} is not known here: {why}")]
    Unknown {
        /// What is not known.
        what: &'static str,
        /// Why not.
        why: String,
    },
    /// Pages of another size.
    #[error("pages have {0} bytes here; the model has 4096")]
    PageSize(u64),
    /// A codec that the model has no times for.
    #[error(
        "{place} compresses with `{name}`, of which the model knows nothing; it has lz4, lz4hc, lzo, lzo-rle, zstd and deflate"
    )]
    Codec {
        /// zswap, or the area.
        place: String,
        /// The kernel's name.
        name: String,
    },
    /// An allocator that the model does not have for this kernel.
    #[error(transparent)]
    Allocator(#[from] AllocError),
    /// What came of it is no machine.
    #[error(transparent)]
    Settings(#[from] SettingsError),
}

/// Major and minor of the kernel.
///
/// # Errors
/// When it is not known.
pub fn kernel_version(facts: &Facts) -> Result<KernelVersion, ThisMachineError> {
    let version = facts.kernel.version.value().copied();
    let why = || facts.kernel.version.source().to_owned();
    version.ok_or_else(|| ThisMachineError::Unknown { what: "the kernel's version", why: why() })
}

/// The part of [`Settings`] that is the same whatever the tiers are.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Machine {
    /// Its release, major and minor.
    pub kernel: KernelVersion,
    /// MemTotal in pages.
    pub ram: u64,
    /// How RAM keeps its pages in order.
    pub lru: Lru,
    /// vm.swappiness, 1 in place of 0; `None` where it is not known.
    pub swappiness: Option<u32>,
    /// vm.page-cluster; `None` where it is not known.
    pub page_cluster: Option<u32>,
    /// vm.watermark_scale_factor; `None` where it is not known.
    pub watermark_scale_factor: Option<u64>,
    /// CONFIG_ZSMALLOC_CHAIN_SIZE; `None` where it is not known.
    pub zsmalloc_chain: Option<u8>,
    /// Whether zswap counts against limits of cgroups: version 2.
    pub charge_zswap: bool,
}

impl Machine {
    /// The machine of these facts.
    ///
    /// # Errors
    /// When kernel or RAM are unknown, or pages have another size than those of the model.
    pub fn of(facts: &Facts) -> Result<Self, ThisMachineError> {
        Self::with(facts, |knob| facts.knob(knob))
    }

    /// The same with other values of knobs than those that the facts know.
    fn with<'a>(facts: &'a Facts, knob: impl Fn(&str) -> Option<&'a str>) -> Result<Self, ThisMachineError> {
        if ![0, PAGE].contains(&facts.kernel.page_size.0) {
            return Err(ThisMachineError::PageSize(facts.kernel.page_size.0));
        }
        let unknown = || ThisMachineError::Unknown { what: "RAM", why: facts.memory.meminfo.source().to_owned() };
        Ok(Self {
            kernel: kernel_version(facts)?,
            ram: Some(facts.memory.total().0 / PAGE).filter(|pages| *pages > 0).ok_or_else(unknown)?,
            lru: if knob("lru_gen.enabled").is_some_and(is_generational) { Lru::Generational } else { Lru::Classic },
            // With 0 nothing of a group is swapped, but of the machine what must be.
            swappiness: number(knob("vm.swappiness")).map(|value: u32| value.clamp(1, 200)),
            page_cluster: number(knob("vm.page-cluster")),
            watermark_scale_factor: number(knob("vm.watermark_scale_factor")),
            zsmalloc_chain: chain(facts),
            charge_zswap: facts.system.cgroup_version.value() == Some(&2),
        })
    }
}

/// The machine as it is: RAM, kernel, `vm` settings, zswap, the chain of zsmalloc, swap areas on their devices.
///
/// RAM is all of MemTotal: nothing is reserved, and the one cgroup has no limit, because only who asks knows what else runs. Sizes
/// of pages are those of [`Settings::new`]; give a page set or a trace with sizes. zswap is left out where there is no area, because
/// it stores nothing then. An area on a disk that was not measured gets the usual times of its kind.
///
/// # Errors
/// When facts that decide are unknown, or name what the model does not have.
pub fn settings(facts: &Facts, figures: &Figures) -> Result<Settings, ThisMachineError> {
    now(facts, figures).map(|now| now.settings)
}

/// The same with the names of its disks, for a tiering beside others.
///
/// # Errors
/// As [`settings()`].
pub fn now(facts: &Facts, figures: &Figures) -> Result<Now, ThisMachineError> {
    let mut machine = MachineBuilder::new(facts, figures, |knob| facts.knob(knob))?;
    for area in &facts.swaps {
        if area.is_zram() {
            let (algorithm, mem_limit) = zram_of(facts, area)?;
            machine.zram(&area.path, area.size, area.priority, algorithm, mem_limit)?;
        } else {
            machine.disk(&area.path, area.size, area.priority, area.device.value().map(String::as_str));
        }
    }
    if let Some(zswap) = facts.zswap.value().filter(|zswap| zswap.enabled) {
        machine.zswap(ZswapParameters::of(zswap))?;
    }
    machine.finish()
}

/// zswap by its parameters; `None`: as the kernel comes.
#[derive(Clone, Copy, Debug)]
pub struct ZswapParameters<'a> {
    /// `compressor`.
    pub compressor: Option<&'a str>,
    /// `zpool`.
    pub zpool: &'a str,
    /// `max_pool_percent`, of RAM.
    pub max_pool_percent: Option<u64>,
    /// `accept_threshold_percent`, of the limit.
    pub accept_threshold_percent: Option<u64>,
    /// `shrinker_enabled`.
    pub shrinker_enabled: bool,
}

impl<'a> ZswapParameters<'a> {
    /// Those of a machine.
    #[must_use]
    pub fn of(zswap: &'a ZswapFacts) -> Self {
        let percent = |name: &str| zswap.parameter(name).and_then(|text| text.parse().ok());
        Self {
            compressor: zswap.parameter("compressor"),
            zpool: zswap.parameter("zpool").unwrap_or("zsmalloc"),
            max_pool_percent: percent("max_pool_percent"),
            accept_threshold_percent: percent("accept_threshold_percent"),
            shrinker_enabled: zswap.parameter("shrinker_enabled") == Some("Y"),
        }
    }
}

/// A machine with the kernel and the RAM of some facts, whose areas and zswap are given one by one.
#[derive(Debug)]
pub struct MachineBuilder<'a> {
    facts: &'a Facts,
    figures: &'a Figures,
    settings: Settings,
    /// Disks of the areas so far, by their kernel names.
    disks: Vec<NamedDevice>,
}

impl<'a> MachineBuilder<'a> {
    /// A machine without swap, with these values of knobs.
    ///
    /// # Errors
    /// As [`Machine::of`].
    pub fn new(facts: &'a Facts, figures: &'a Figures, knob: impl Fn(&str) -> Option<&'a str>) -> Result<Self, ThisMachineError> {
        let machine = Machine::with(facts, knob)?;
        let Machine { kernel, ram, lru, charge_zswap, .. } = machine;
        let mut settings = Settings { kernel, lru, charge_zswap, costs: figures.costs, ..Settings::new(ram) };
        settings.swappiness = machine.swappiness.unwrap_or(settings.swappiness);
        settings.page_cluster = machine.page_cluster.unwrap_or(settings.page_cluster);
        settings.watermark_scale_factor = machine.watermark_scale_factor.unwrap_or(settings.watermark_scale_factor);
        Ok(Self { facts, figures, settings, disks: Vec::new() })
    }

    /// Adds an area on a disk, of which the block device may be known.
    pub fn disk(&mut self, path: &str, size: Bytes, priority: i32, device: Option<&str>) {
        let disk = disk(self.facts, self.figures, path, device);
        let rotational = disk.rotational;
        let known = self.disks.iter().position(|known| known.name == disk.name);
        let device = known.unwrap_or(self.disks.len());
        if known.is_none() {
            self.disks.push(disk);
        }
        self.area(size, priority, Backing::Disk { device, rotational });
    }

    /// Adds an area on zram; `mem_limit` in pages.
    ///
    /// # Errors
    /// An algorithm that the model has no times for.
    pub fn zram(
        &mut self,
        path: &str,
        size: Bytes,
        priority: i32,
        algorithm: &str,
        mem_limit: Option<u64>,
    ) -> Result<(), ThisMachineError> {
        let codec = self.codec(true, path, algorithm)?;
        let allocator = allocator(self.facts, "zsmalloc")?;
        self.area(size, priority, Backing::Zram { codec, allocator, mem_limit, upkeep: None });
        Ok(())
    }

    fn area(&mut self, size: Bytes, priority: i32, backing: Backing) {
        let slots = u32::try_from(size.0 / PAGE).unwrap_or(u32::MAX);
        self.settings.areas.push(AreaSettings { priority, slots, backing });
    }

    fn codec(&self, in_zram: bool, place: &str, name: &str) -> Result<Codec, ThisMachineError> {
        let none = || ThisMachineError::Codec { place: place.to_owned(), name: name.to_owned() };
        self.figures.codec(in_zram, name).ok_or_else(none)
    }

    /// Puts zswap in front of the areas, if there are any.
    ///
    /// # Errors
    /// A compressor or an allocator that the model does not have.
    pub fn zswap(&mut self, zswap: ZswapParameters<'_>) -> Result<(), ThisMachineError> {
        if self.settings.areas.is_empty() {
            return Ok(());
        }
        let unknown = || ThisMachineError::Unknown { what: "zswap's compressor", why: self.facts.zswap.source().to_owned() };
        let codec = self.codec(false, "zswap", zswap.compressor.ok_or_else(unknown)?)?;
        let mut settings = ZswapSettings::new(codec, allocator(self.facts, zswap.zpool)?);
        settings.max_pool_percent = zswap.max_pool_percent.unwrap_or(settings.max_pool_percent);
        settings.accept_threshold_percent = zswap.accept_threshold_percent.unwrap_or(settings.accept_threshold_percent);
        if zswap.shrinker_enabled
            && let Some(policy) = named("shrinker")
        {
            settings.policy = *policy;
        }
        self.settings.zswap = Some(settings);
        Ok(())
    }

    /// The machine, and the names of its disks.
    ///
    /// # Errors
    /// What makes no machine.
    pub fn finish(mut self) -> Result<Now, ThisMachineError> {
        self.settings.devices = self.disks.iter().map(|disk| disk.times).collect();
        self.settings.check()?;
        Ok(Now { settings: self.settings, disks: self.disks })
    }
}

fn number<T: std::str::FromStr>(text: Option<&str>) -> Option<T> {
    text?.trim().parse().ok()
}

/// The first bit of the mask that `lru_gen/enabled` shows, `0x0007`, is the main switch (mm/vmscan.c).
fn is_generational(mask: &str) -> bool {
    u32::from_str_radix(mask.trim().trim_start_matches("0x"), 16).is_ok_and(|mask| mask & 1 == 1)
}

fn chain(facts: &Facts) -> Option<u8> {
    facts.kernel.config.value().and_then(|config| config.get("CONFIG_ZSMALLOC_CHAIN_SIZE")?.parse().ok())
}

fn allocator(facts: &Facts, name: &str) -> Result<Allocator, ThisMachineError> {
    Ok(Allocator::of_kernel(name, kernel_version(facts)?, chain(facts))?)
}

/// Algorithm and limit, in pages, of the zram device of an area.
fn zram_of<'a>(facts: &'a Facts, area: &SwapArea) -> Result<(&'a str, Option<u64>), ThisMachineError> {
    let name = area.path.trim_start_matches("/dev/");
    let unknown = |why: String| ThisMachineError::Unknown { what: "zram's algorithm", why };
    let device = facts.zram.devices.iter().find(|device| device.name == name);
    let device = device.ok_or_else(|| unknown(format!("{} is no device that was found", area.path)))?;
    let algorithm = device.algorithm.value().ok_or_else(|| unknown(device.algorithm.source().to_owned()))?;
    Ok((algorithm, device.mm_stat.value().map(|stat| stat.mem_limit.0 / PAGE).filter(|limit| *limit > 0)))
}

/// The disk below an area, by its kernel name: as measured, else with the usual times of its kind.
fn disk(facts: &Facts, figures: &Figures, path: &str, device: Option<&str>) -> NamedDevice {
    let disk = device.and_then(|name| facts.disk_of(name));
    let rotational = disk.is_some_and(is_rotational);
    let usual = match disk.map(|disk| disk.transport) {
        _ if disk.is_some_and(spins) => DeviceTimes::HDD,
        Some(Transport::Nvme) => DeviceTimes::NVME,
        _ => DeviceTimes::SSD,
    };
    let measured = disk.and_then(|disk| figures.device(&disk.name)).map(|device| device.times);
    let name = disk.map_or_else(|| path.to_owned(), |disk| disk.name.clone());
    NamedDevice { name, times: measured.unwrap_or(usual), rotational }
}

/// What the kernel takes it for.
pub(super) fn is_rotational(disk: &BlockDevice) -> bool {
    disk.rotational.value().copied().unwrap_or(false)
}

/// What it is: a hypervisor's disk says that it spins and has no head that moves.
pub(super) fn spins(disk: &BlockDevice) -> bool {
    is_rotational(disk) && disk.transport != Transport::Virtual
}
