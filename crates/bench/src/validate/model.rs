//! The same case in the simulator: its machine made from the same facts, and what it counts.

use swaptune_core::Facts;
use swaptune_host::cgroup::Version;
use swaptune_tiers::model::{
    AreaSettings, Backing, Codec, DeviceTimes, Lru, Model, Outcome, Pools, Settings, Sizes, ZswapSettings,
};
use swaptune_tiers::policies;
use swaptune_tiers::trace::{Event, Trace};

use super::content::PAGE;
use super::kernel::Place;
use super::tiering::{ACCEPT_PERCENT, Tiering};
use super::{Options, ValidateError};
use crate::codecs::pools;

/// Entries of a page table, and page tables above the lowest level that a small process has.
const ENTRIES: u64 = 512;
const UPPER_TABLES: u64 = 3;

/// What the simulator counted.
#[derive(Clone, Debug)]
pub(super) struct Simulated {
    pub outcome: Outcome,
    pub pools: Pools,
}

/// Runs a case. `sizes` are those of each page.
pub(super) fn run(
    facts: &Facts,
    options: &Options,
    tiering: &Tiering,
    place: &Place,
    trace: &Trace,
    sizes: Vec<u16>,
) -> Result<Simulated, ValidateError> {
    let settings = settings(facts, options, tiering, place, trace.page_count(), sizes)?;
    let mut model = Model::new(settings, trace.page_count()).map_err(|error| ValidateError::Model(error.to_string()))?;
    for event in trace.iter() {
        // One process, one group, one access after the other.
        if model.advance(Event { time: 0, cgroup: 0, ..event }).is_none() {
            return Err(ValidateError::Model("it ran out of memory".into()));
        }
    }
    let pools = model.pools();
    Ok(Simulated { outcome: model.finish(), pools })
}

fn settings(
    facts: &Facts,
    options: &Options,
    tiering: &Tiering,
    place: &Place,
    pages: u32,
    sizes: Vec<u16>,
) -> Result<Settings, ValidateError> {
    let lacks = |what: &str| ValidateError::Model(format!("{what} is not known"));
    let kernel = facts.kernel.version.value().map(|version| (version.major, version.minor)).ok_or_else(|| lacks("the kernel"))?;
    let in_pages = |key: &str| facts.memory.get(key).map(|bytes| bytes.0 / PAGE as u64).ok_or_else(|| lacks(key));
    let (ram, available) = (in_pages("MemTotal")?, in_pages("MemAvailable")?);
    // Page tables are charged to the group too.
    let tables = u64::from(pages).div_ceil(ENTRIES) + UPPER_TABLES;
    let number = |name: &str| facts.knob(name).and_then(|text| text.trim().parse().ok());
    let zswap = tiering.pool.as_ref().map(|pool| {
        let name = pool.zpool.as_deref().unwrap_or("zsmalloc");
        let allocator = pools::allocators(&facts.kernel).into_iter().find(|known| known.name() == name);
        let policy = if tiering.shrinker == Some(true) { "shrinker" } else { "limit" };
        Ok::<_, ValidateError>(ZswapSettings {
            codec: Codec::named(&pool.compressor).ok_or_else(|| lacks(&format!("the speed of {}", pool.compressor)))?,
            allocator: allocator.ok_or_else(|| lacks(&format!("the allocator {name}")))?,
            max_pool_percent: tiering.percent,
            accept_threshold_percent: ACCEPT_PERCENT,
            policy: *policies::named(policy).ok_or_else(|| lacks(policy))?,
        })
    });
    let area = |(slots, rotational): &(u32, bool)| AreaSettings {
        priority: 0,
        slots: *slots,
        backing: Backing::Disk { device: 0, rotational: *rotational },
    };
    Ok(Settings {
        kernel,
        reserved: ram.saturating_sub(available),
        lru: lru(facts),
        cgroups: vec![Some((options.limit.0 / PAGE as u64).saturating_sub(tables))],
        charge_zswap: place.version == Version::V2,
        zswap: zswap.transpose()?,
        areas: place.areas.iter().map(area).collect(),
        devices: vec![DeviceTimes::NVME],
        page_cluster: number("vm.page-cluster").unwrap_or(3),
        watermark_scale_factor: number("vm.watermark_scale_factor").map_or(10, u64::from),
        sizes: Sizes::Each(sizes),
        seed: options.seed,
        ..Settings::new(ram)
    })
}

/// By whether generations are switched on (bit 0 of `lru_gen/enabled`).
fn lru(facts: &Facts) -> Lru {
    let text = facts.knob("lru_gen.enabled").unwrap_or("0").trim();
    let bits = text
        .strip_prefix("0x")
        .map_or_else(|| u32::from(matches!(text, "1" | "y" | "Y")), |hex| u32::from_str_radix(hex, 16).unwrap_or(0));
    if bits & 1 == 1 { Lru::Generational } else { Lru::Classic }
}
