//! The machine of some facts, as it is set up now, for the model.

use std::collections::BTreeMap;

use swaptune_core::facts::{BlockDevice, SwapArea, Transport, ZswapFacts};
use swaptune_core::{Bytes, Facts};
use swaptune_kernel::KernelVersion;
use swaptune_tiers::alloc::PAGE_SIZE;
use swaptune_tiers::model::{Lru, ModelFigures};
use swaptune_tiers::scenario::{AreaSpec, BaseSpec, DeviceSpec, MachineSpec, ScenarioError, Size, ZswapSpec};

/// Bytes of a page of the model.
const PAGE: u64 = PAGE_SIZE as u64;

/// Bytes of a page of this machine.
pub(crate) fn page_of(facts: &Facts) -> u64 {
    facts.kernel.page_size.0.max(PAGE)
}

/// How many times as large as those of the model its pages are. The model counts pages: of a machine with larger ones each stands for one of
/// those, and bytes within a page are divided by this. zsmalloc's classes are shares of a page too (`ZS_SIZE_CLASS_DELTA`).
pub(crate) fn page_times(facts: &Facts) -> u64 {
    page_of(facts) / PAGE
}

/// Why a machine cannot be modelled.
#[derive(Debug, thiserror::Error)]
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
    /// What came of it is no machine, or names what the model does not have.
    #[error(transparent)]
    Spec(#[from] ScenarioError),
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

/// RAM, kernel and settings of `vm`.
///
/// # Errors
/// When kernel or RAM are unknown, or pages have another size than those of the model.
pub fn base(facts: &Facts) -> Result<BaseSpec, ThisMachineError> {
    same_pages(facts)?;
    base_with(facts, |knob| facts.knob(knob))
}

/// Refuses a machine whose pages are not those that bytes of the model's answers mean.
fn same_pages(facts: &Facts) -> Result<(), ThisMachineError> {
    if page_times(facts) == 1 { Ok(()) } else { Err(ThisMachineError::PageSize(page_of(facts))) }
}

/// The same with other values of knobs than those that the facts know, in pages of any size.
fn base_with<'a>(facts: &'a Facts, knob: impl Fn(&str) -> Option<&'a str>) -> Result<BaseSpec, ThisMachineError> {
    let unknown = || ThisMachineError::Unknown { what: "RAM", why: facts.memory.meminfo.source().to_owned() };
    let ram = Some(facts.memory.total().0 / page_of(facts)).filter(|pages| *pages > 0).ok_or_else(unknown)?;
    let is_generational = knob("lru_gen.enabled").is_some_and(is_generational);
    Ok(BaseSpec {
        lru: Some(if is_generational { Lru::Generational } else { Lru::Classic }),
        processors: facts.kernel.cpus.value().copied(),
        // With 0 nothing of a group is swapped, but of the machine what must be.
        swappiness: number(knob("vm.swappiness")).map(|value: u32| value.clamp(1, 200)),
        page_cluster: number(knob("vm.page-cluster")),
        watermark_scale_factor: number(knob("vm.watermark_scale_factor")),
        zsmalloc_chain: facts.kernel.config.value().and_then(|config| config.get("CONFIG_ZSMALLOC_CHAIN_SIZE")?.parse().ok()),
        charge_zswap: Some(facts.system.cgroup_version.value() == Some(&2)),
        ..BaseSpec::new(kernel_version(facts)?, Size::Pages(ram))
    })
}

/// The machine as it is: RAM, kernel, `vm` settings, zswap, the chain of zsmalloc, swap areas on their devices.
///
/// RAM is all of MemTotal: nothing is reserved, and the one cgroup has no limit, because only who asks knows what else runs. zswap is
/// left out where there is no area, because it stores nothing then. An area on a disk that figures do not know gets the usual times
/// of its kind.
///
/// # Errors
/// When facts that decide are unknown, or pages have another size than those of the model.
pub fn now(facts: &Facts, figures: &ModelFigures) -> Result<MachineSpec, ThisMachineError> {
    same_pages(facts)?;
    as_it_is(facts, figures)
}

/// The same in pages of any size.
pub(crate) fn as_it_is(facts: &Facts, figures: &ModelFigures) -> Result<MachineSpec, ThisMachineError> {
    let mut machine = MachineBuilder::new(facts, figures, |knob| facts.knob(knob))?;
    for area in &facts.swaps {
        if area.is_zram() {
            let (algorithm, mem_limit) = zram_of(facts, area)?;
            machine.zram(area.size, area.priority, algorithm, mem_limit);
        } else {
            machine.disk(&area.path, area.size, area.priority, area.device.value().map(String::as_str));
        }
    }
    if let Some(zswap) = facts.zswap.value().filter(|zswap| zswap.enabled) {
        machine.zswap(zswap_of(zswap));
    }
    Ok(machine.finish())
}

/// zswap with its parameters.
pub(crate) fn zswap_of(zswap: &ZswapFacts) -> ZswapSpec {
    let text = |name: &str| zswap.parameter(name).map(str::to_owned);
    let percent = |name: &str| zswap.parameter(name).and_then(|text| text.parse().ok());
    ZswapSpec {
        compressor: text("compressor").unwrap_or_default(),
        allocator: text("zpool"),
        limit: percent("max_pool_percent"),
        accept: percent("accept_threshold_percent"),
        policy: shrinker(zswap.parameter("shrinker_enabled") == Some("Y")),
    }
}

/// The policy of a kernel with its shrinker; `None`: as it comes.
pub(crate) fn shrinker(is_on: bool) -> Option<String> {
    is_on.then(|| "shrinker".to_owned())
}

/// A machine with the kernel and the RAM of some facts, whose areas and zswap are given one by one.
#[derive(Debug)]
pub(crate) struct MachineBuilder<'a> {
    facts: &'a Facts,
    figures: &'a ModelFigures,
    spec: MachineSpec,
    /// Pages of RAM.
    ram: u64,
}

impl<'a> MachineBuilder<'a> {
    /// A machine without swap, with these values of knobs, in pages of any size.
    ///
    /// # Errors
    /// When kernel or RAM are unknown.
    pub(crate) fn new(
        facts: &'a Facts,
        figures: &'a ModelFigures,
        knob: impl Fn(&str) -> Option<&'a str>,
    ) -> Result<Self, ThisMachineError> {
        let spec = MachineSpec { base: base_with(facts, knob)?, zswap: None, swap: Vec::new(), devices: BTreeMap::new() };
        Ok(Self { facts, figures, spec, ram: facts.memory.total().0 / page_of(facts) })
    }

    /// Adds an area on a disk, of which the block device may be known.
    pub(crate) fn disk(&mut self, path: &str, size: Bytes, priority: i32, device: Option<&str>) {
        let disk = device.and_then(|name| self.facts.disk_of(name));
        let name = disk.map_or(path, |disk| &disk.name);
        let rotational = disk.is_some_and(is_rotational);
        if disk.is_none() || self.figures.device(name).is_none() {
            let like = match disk.map(|disk| disk.transport) {
                _ if disk.is_some_and(BlockDevice::spins) => "hdd",
                Some(Transport::Nvme) => "nvme",
                _ => "ssd",
            };
            let device = DeviceSpec { like: Some(like.to_owned()), rotational: Some(rotational), ..DeviceSpec::default() };
            self.spec.devices.insert(name.to_owned(), device);
        }
        self.spec.swap.push(AreaSpec::disk(name, self.share(size.0 / page_of(self.facts)), priority));
    }

    /// Adds an area on zram; `mem_limit` in pages.
    pub(crate) fn zram(&mut self, size: Bytes, priority: i32, algorithm: &str, mem_limit: Option<u64>) {
        let mem_limit = mem_limit.map(|pages| self.share(pages));
        self.spec.swap.push(AreaSpec::zram(algorithm, self.share(size.0 / page_of(self.facts)), priority, mem_limit));
    }

    /// Of RAM.
    fn share(&self, pages: u64) -> Size {
        Size::Percent(pages as f64 * 100.0 / self.ram as f64)
    }

    /// Puts zswap in front of the areas.
    pub(crate) fn zswap(&mut self, zswap: ZswapSpec) {
        self.spec.zswap = Some(zswap);
    }

    /// The machine.
    pub(crate) fn finish(mut self) -> MachineSpec {
        self.spec.zswap = self.spec.zswap.filter(|_| !self.spec.swap.is_empty());
        self.spec
    }
}

fn number<T: std::str::FromStr>(text: Option<&str>) -> Option<T> {
    text?.trim().parse().ok()
}

/// The first bit of the mask that `lru_gen/enabled` shows, `0x0007`, is the main switch (mm/vmscan.c).
fn is_generational(mask: &str) -> bool {
    u32::from_str_radix(mask.trim().trim_start_matches("0x"), 16).is_ok_and(|mask| mask & 1 == 1)
}

/// Algorithm and limit, in pages, of the zram device of an area.
pub(crate) fn zram_of<'a>(facts: &'a Facts, area: &SwapArea) -> Result<(&'a str, Option<u64>), ThisMachineError> {
    let name = area.path.trim_start_matches("/dev/");
    let unknown = |why: String| ThisMachineError::Unknown { what: "zram's algorithm", why };
    let device = facts.zram.devices.iter().find(|device| device.name == name);
    let device = device.ok_or_else(|| unknown(format!("{} is no device that was found", area.path)))?;
    let algorithm = device.algorithm.value().ok_or_else(|| unknown(device.algorithm.source().to_owned()))?;
    Ok((algorithm, device.mm_stat.value().map(|stat| stat.mem_limit.0 / page_of(facts)).filter(|limit| *limit > 0)))
}

/// What the kernel takes it for.
pub(super) fn is_rotational(disk: &BlockDevice) -> bool {
    disk.rotational.value().copied().unwrap_or(false)
}
