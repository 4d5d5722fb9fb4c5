//! The `auto` profile: settings derived from facts, each value with its reason and what the reason rests on.
//!
//! First the tiering is decided ([`tiering`]): zswap over a disk, zram, or neither. Everything else follows from it. The
//! figures that rules assume are in `auto.toml`, none is hidden in code.

mod assume;
mod reclaim;
pub mod tiering;

use crate::facts::Facts;
use crate::memory_map::PlanningRatio;
use crate::settings::{BootSettings, PoolLimit, Provenance, Setting, Settings, SwapWanted, ZramWanted, ZswapSettings};
use crate::units::Bytes;

use assume::{ASSUMED, Choice};
pub use tiering::Tiering;

/// Priority of disk areas, below zram's.
const DISK_PRIORITY: i32 = 10;
/// Priority of zram devices.
const ZRAM_PRIORITY: i32 = 100;

/// A derived value.
fn derived<T>(value: T, reason: impl Into<String>, evidence: impl Into<String>) -> Setting<T> {
    Setting::new(value, Provenance::Derived { reason: reason.into(), evidence: evidence.into() })
}

/// The settings for this machine below what the user configured.
#[must_use]
pub fn derive(facts: &Facts, above: &Settings) -> Settings {
    let tiering = tiering::decide(facts, above);
    let mut settings = Settings::default();
    if tiering.tier == tiering::Tier::Nothing {
        return settings;
    }
    let zswap_on = tiering.tier == tiering::Tier::Zswap;
    settings.zswap = zswap(facts, above, &tiering, zswap_on);
    settings.swap = Some(derived(
        wanted_areas(&tiering.areas),
        "the areas that are there, or one file on the root disk",
        ASSUMED.swap_file.source.clone(),
    ));
    settings.zram = (tiering.tier == tiering::Tier::Zram && above.zram.is_none()).then(|| zram(facts, &tiering)).flatten();
    settings.knobs = reclaim::knobs(facts, &tiering);
    settings.boot = boot(facts);
    settings
}

fn zswap(facts: &Facts, above: &Settings, tiering: &Tiering, on: bool) -> ZswapSettings {
    if facts.zswap.value().is_none() {
        return ZswapSettings::default();
    }
    let enabled = Some(derived(on, tiering.reason.clone(), tiering.evidence.clone()));
    if !on {
        return ZswapSettings { enabled, ..ZswapSettings::default() };
    }
    let choice = compressors(facts);
    let first = above.zswap.compressor.as_ref().map_or(&choice.names, |wanted| &wanted.value);
    let first = crate::plan::first_usable(facts, first).unwrap_or_else(|| "lzo".into());
    ZswapSettings {
        enabled,
        compressor: Some(compressor(choice, &first)),
        zpool: Some(derived(
            vec!["zsmalloc".into(), "zbud".into()],
            "zsmalloc is the densest allocator",
            "zbud holds at most 2 pages a page, z3fold 3 (kernel documents of the allocators)",
        )),
        pool: Some(pool(facts, above, tiering, &first)),
        accept_threshold_percent: Some(derived(
            90,
            "the kernel's default; a pool that stays below its limit never uses it",
            "Documentation/admin-guide/mm/zswap.rst",
        )),
        shrinker_enabled: Some(derived(
            true,
            "lets reclaim write cold pages back before the pool is full, so that hot pages are not rejected to the disk",
            "mm/zswap.c, zswap_shrinker_count (6.8 and later)",
        )),
    }
}

/// The list of preference, with a reason that fits what this kernel has of it.
fn compressor(choice: &Choice, first: &str) -> Setting<Vec<String>> {
    let reason = if choice.names.first().is_some_and(|name| name == first) {
        choice.reason.clone()
    } else {
        format!("the best that this kernel has of {}", choice.names.join(", "))
    };
    derived(choice.names.clone(), reason, choice.source.clone())
}

fn compressors(facts: &Facts) -> &'static Choice {
    if facts.kernel.cpus == 1 { &ASSUMED.compressors_one_cpu } else { &ASSUMED.compressors }
}

/// The pool is sized so that all of the swap fits into it at the assumed ratio: then the limit is never the working point.
fn pool(facts: &Facts, above: &Settings, tiering: &Tiering, compressor: &str) -> Setting<PoolLimit> {
    let ram = facts.memory.total();
    let ratio = PlanningRatio::choose(None, 0, Some(compressor), Some("zsmalloc")).ratio;
    let swap = match &above.swap {
        Some(areas) => areas.value.iter().filter_map(|area| tiering::size_of(facts, area)).sum(),
        None => tiering.areas.iter().map(|area| area.size.0).sum::<u64>(),
    };
    let needed = ratio.ram_for(Bytes(swap));
    let percent = needed.percent_of(ram).unwrap_or(20).clamp(ASSUMED.pool.min_percent, ASSUMED.pool.max_percent);
    let reason = format!(
        "{} of swap at an assumed {ratio} : 1 takes {needed} = {} % of RAM (kept within {} to {} %), so that the limit is not reached",
        Bytes(swap),
        needed.percent_of(ram).unwrap_or(0),
        ASSUMED.pool.min_percent,
        ASSUMED.pool.max_percent,
    );
    derived(PoolLimit::Percent(percent), reason, ASSUMED.pool.source.clone())
}

/// The disk areas that are on, as they would be wanted.
#[must_use]
pub fn existing_areas(facts: &Facts) -> Vec<SwapWanted> {
    wanted_areas(&tiering::active_areas(facts))
}

fn wanted_areas(areas: &[tiering::Area]) -> Vec<SwapWanted> {
    let wanted = |area: &tiering::Area| SwapWanted {
        path: area.path.clone(),
        size: area.create.then_some(area.size),
        priority: DISK_PRIORITY,
        optional: true,
        discard_once: false,
    };
    areas.iter().map(wanted).collect()
}

fn zram(facts: &Facts, tiering: &Tiering) -> Option<Setting<Vec<ZramWanted>>> {
    let figures = &ASSUMED.zram;
    let size = facts.memory.total().percent(figures.percent).min(figures.max);
    // Whole 64 MiB, so that the size reads well and survives a reboot that finds a little less RAM.
    let size = Bytes::from_mib(size.mib() / 64 * 64);
    let mut device =
        ZramWanted { size, algorithm: compressors(facts).names.clone(), priority: ZRAM_PRIORITY, mem_limit: Bytes(0) };
    if let Some(area) = facts.swaps.iter().find(|area| area.is_zram()) {
        // What a manager set up is the manager's; what nobody sets up at boot is kept as it is.
        if facts.managers_of_zram().any(|manager| manager.active) {
            return None;
        }
        device.priority = area.priority;
        device.size =
            facts.zram.devices.iter().find(|zram| area.path.ends_with(&zram.name)).map_or(device.size, |zram| zram.disksize);
    }
    Some(derived(vec![device], tiering.reason.clone(), figures.source.clone()))
}

/// Without systemd nothing runs our unit, so the kernel's own command line must carry zswap.
fn boot(facts: &Facts) -> BootSettings {
    let systemd = facts.system.init.value() == Some(&crate::facts::InitSystem::Systemd);
    let kernel_arguments = (!systemd && facts.boot.arguments.is_known()).then(|| {
        derived(true, "without systemd only the kernel command line sets zswap at boot", facts.system.init.source().to_owned())
    });
    BootSettings { kernel_arguments, initramfs: None }
}
