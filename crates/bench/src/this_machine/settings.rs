//! The machine of some facts, as it is set up now, for the model.

use swaptune_core::Facts;
use swaptune_core::facts::{BlockDevice, SwapArea, Transport, ZswapFacts};
use swaptune_kernel::KernelVersion;
use swaptune_tiers::alloc::{AllocError, Allocator};
use swaptune_tiers::model::{
    AreaSettings, Backing, DeviceTimes, Figures, Lru, NamedDevice, Settings, SettingsError, ZswapSettings,
};
use swaptune_tiers::policies::named;
use swaptune_tiers::scenario::Now;

/// Bytes of a page of the model.
const PAGE: u64 = 4096;

/// Why a machine cannot be modelled.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ThisMachineError {
    /// Something that the model needs is not known.
    #[error("{what} is not known here: {why}")]
    Unknown {
        /// What.
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
    /// Kernel.
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
        if ![0, PAGE].contains(&facts.kernel.page_size.0) {
            return Err(ThisMachineError::PageSize(facts.kernel.page_size.0));
        }
        let unknown = || ThisMachineError::Unknown { what: "RAM", why: facts.memory.meminfo.source().to_owned() };
        Ok(Self {
            kernel: kernel_version(facts)?,
            ram: Some(facts.memory.total().0 / PAGE).filter(|pages| *pages > 0).ok_or_else(unknown)?,
            lru: if is_generational(facts) { Lru::Generational } else { Lru::Classic },
            // With 0 nothing of a group is swapped, but of the machine what must be.
            swappiness: number(facts, "vm.swappiness").map(|value: u32| value.clamp(1, 200)),
            page_cluster: number(facts, "vm.page-cluster"),
            watermark_scale_factor: number(facts, "vm.watermark_scale_factor"),
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
    let Machine { kernel, ram, lru, swappiness, page_cluster, watermark_scale_factor, charge_zswap, .. } = Machine::of(facts)?;
    let mut settings = Settings { kernel, lru, charge_zswap, costs: figures.costs, ..Settings::new(ram) };
    settings.swappiness = swappiness.unwrap_or(settings.swappiness);
    settings.page_cluster = page_cluster.unwrap_or(settings.page_cluster);
    settings.watermark_scale_factor = watermark_scale_factor.unwrap_or(settings.watermark_scale_factor);
    let mut disks = Vec::new();
    for area in &facts.swaps {
        let backing = backing(facts, figures, &mut disks, area)?;
        let slots = u32::try_from(area.size.0 / PAGE).unwrap_or(u32::MAX);
        settings.areas.push(AreaSettings { priority: area.priority, slots, backing });
    }
    settings.devices = disks.iter().map(|disk| disk.times).collect();
    if let Some(zswap) = facts.zswap.value().filter(|zswap| zswap.enabled && !settings.areas.is_empty()) {
        settings.zswap = Some(zswap_of(facts, figures, zswap)?);
    }
    settings.check()?;
    Ok(Now { settings, disks })
}

fn number<T: std::str::FromStr>(facts: &Facts, knob: &str) -> Option<T> {
    facts.knob(knob)?.trim().parse().ok()
}

/// The first bit of the mask that `lru_gen/enabled` shows, `0x0007`, is the main switch (mm/vmscan.c).
fn is_generational(facts: &Facts) -> bool {
    let mask = facts.knob("lru_gen.enabled").map(|text| text.trim().trim_start_matches("0x").to_owned());
    mask.and_then(|mask| u32::from_str_radix(&mask, 16).ok()).is_some_and(|mask| mask & 1 == 1)
}

fn chain(facts: &Facts) -> Option<u8> {
    facts.kernel.config.value().and_then(|config| config.get("CONFIG_ZSMALLOC_CHAIN_SIZE")?.parse().ok())
}

fn allocator(facts: &Facts, name: &str) -> Result<Allocator, ThisMachineError> {
    Ok(Allocator::of_kernel(name, kernel_version(facts)?, chain(facts))?)
}

fn zswap_of(facts: &Facts, figures: &Figures, zswap: &ZswapFacts) -> Result<ZswapSettings, ThisMachineError> {
    let unknown = || ThisMachineError::Unknown { what: "zswap's compressor", why: facts.zswap.source().to_owned() };
    let name = zswap.parameter("compressor").ok_or_else(unknown)?;
    let none = || ThisMachineError::Codec { place: "zswap".into(), name: name.to_owned() };
    let codec = figures.codec(false, name).ok_or_else(none)?;
    let mut settings = ZswapSettings::new(codec, allocator(facts, zswap.parameter("zpool").unwrap_or("zsmalloc"))?);
    let percent = |name: &str| zswap.parameter(name).and_then(|text| text.parse().ok());
    settings.max_pool_percent = percent("max_pool_percent").unwrap_or(settings.max_pool_percent);
    settings.accept_threshold_percent = percent("accept_threshold_percent").unwrap_or(settings.accept_threshold_percent);
    if zswap.parameter("shrinker_enabled") == Some("Y")
        && let Some(policy) = named("shrinker")
    {
        settings.policy = *policy;
    }
    Ok(settings)
}

/// What is behind an area; `disks` are those of the areas before it, by their kernel names.
fn backing(facts: &Facts, figures: &Figures, disks: &mut Vec<NamedDevice>, area: &SwapArea) -> Result<Backing, ThisMachineError> {
    if area.is_zram() {
        return zram(facts, figures, area);
    }
    let disk = disk(facts, figures, area);
    let rotational = disk.rotational;
    let known = disks.iter().position(|known| known.name == disk.name);
    let device = known.unwrap_or(disks.len());
    if known.is_none() {
        disks.push(disk);
    }
    Ok(Backing::Disk { device, rotational })
}

fn zram(facts: &Facts, figures: &Figures, area: &SwapArea) -> Result<Backing, ThisMachineError> {
    let name = area.path.trim_start_matches("/dev/");
    let unknown = |why: String| ThisMachineError::Unknown { what: "zram's algorithm", why };
    let device = facts.zram.devices.iter().find(|device| device.name == name);
    let device = device.ok_or_else(|| unknown(format!("{} is no device that was found", area.path)))?;
    let algorithm = device.algorithm.value().ok_or_else(|| unknown(device.algorithm.source().to_owned()))?;
    let none = || ThisMachineError::Codec { place: area.path.clone(), name: algorithm.clone() };
    let codec = figures.codec(true, algorithm).ok_or_else(none)?;
    let mem_limit = device.mm_stat.value().map(|stat| stat.mem_limit.0 / PAGE).filter(|limit| *limit > 0);
    Ok(Backing::Zram { codec, allocator: allocator(facts, "zsmalloc")?, mem_limit, upkeep: None })
}

/// The disk below an area, by its kernel name: as measured, else with the usual times of its kind.
fn disk(facts: &Facts, figures: &Figures, area: &SwapArea) -> NamedDevice {
    let disk = area.device.value().and_then(|name| facts.disk_of(name));
    let rotational = disk.is_some_and(is_rotational);
    let usual = match disk.map(|disk| disk.transport) {
        _ if disk.is_some_and(spins) => DeviceTimes::HDD,
        Some(Transport::Nvme) => DeviceTimes::NVME,
        _ => DeviceTimes::SSD,
    };
    let measured = disk.and_then(|disk| figures.device(&disk.name)).map(|device| device.times);
    let name = disk.map_or_else(|| area.path.clone(), |disk| disk.name.clone());
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
