//! What has to change for a configuration, for a moment: what the planner says of it, as for an `apply`. Only what takes effect at once
//! is carried out, and swap files are made in the folder of the benchmark.

use std::path::Path;

use swaptune_core::change::Change;
use swaptune_core::facts::SwapArea;
use swaptune_core::knobs;
use swaptune_core::measurement::Evidence;
use swaptune_core::plan::{PlanRequest, When, active_state, plan};
use swaptune_core::settings::Settings;
use swaptune_core::{Bytes, Facts};

use super::Variant;
use crate::space::{CompressedPools, pool_percent};

/// What a machine would be that has only `memory`, and no swap yet.
#[must_use]
pub fn pose(facts: &Facts, memory: Bytes) -> Facts {
    let mut posed = facts.clone();
    let mut lines = facts.memory.meminfo.value().cloned().unwrap_or_default();
    for key in ["MemTotal", "MemAvailable", "MemFree"] {
        lines.insert(key.to_owned(), memory);
    }
    posed.memory.meminfo = swaptune_core::Fact::known(lines, "--memory");
    posed.swaps.clear();
    posed
}

/// What has to change for a variant.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Preparation {
    /// Step by step.
    pub changes: Vec<Change>,
    /// zswap's limit in percent of the memory that the services have; `None` without zswap.
    pub pool_percent: Option<f64>,
}

impl Preparation {
    /// What compresses pages while it is set.
    pub(crate) fn pools(&self) -> CompressedPools {
        let is_zram = |change: &Change| match change {
            Change::Zram { after, .. } => after.is_some(),
            Change::Swap { path, after, .. } => after.is_some() && path.starts_with("/dev/zram"),
            _ => false,
        };
        CompressedPools { zswap: self.pool_percent.is_some(), zram: self.changes.iter().any(is_zram) }
    }
}

/// Switches off what swap there is: every configuration begins without. The last area goes first, so that undoing it, newest first, brings
/// them back in the order in which they were: areas without a priority of their own get theirs by that order.
#[must_use]
pub fn switch_off(facts: &Facts) -> Vec<Change> {
    let off = |area: &SwapArea| Change::Swap { path: area.path.clone(), before: Some(active_state(facts, area)), after: None };
    facts.swaps.iter().rev().map(off).collect()
}

/// The changes, on a machine whose swap is off, or why it cannot do it. `facts` are of the machine as it was; the configuration is one
/// for a machine that has only `memory`.
///
/// # Errors
/// A sentence for the user.
pub fn prepare(
    variant: &Variant,
    (facts, memory): (&Facts, Bytes),
    evidence: &Evidence,
    folder: &Path,
) -> Result<Preparation, String> {
    let posed = pose(facts, memory);
    let total = facts.memory.total();
    let pool_limit = |wanted: u64| {
        let scaled = pool_percent(wanted, memory, total);
        (set(&posed, MAX_POOL, scaled), Some(scaled as f64 * total.0 as f64 / memory.0.max(1) as f64))
    };
    let live = || posed.knob(MAX_POOL).and_then(|text| text.parse().ok());
    let Some(settings) = &variant.settings else {
        let mut changes: Vec<Change> = switch_off(facts).iter().rev().map(Change::inverse).collect();
        scale_watermarks(&mut changes, &posed, (memory, total));
        let Some(percent) = live().filter(|_| posed.knob("zswap.enabled") == Some("Y")) else {
            return Ok(Preparation { changes, pool_percent: None });
        };
        let (limit, pool_percent) = pool_limit(percent);
        changes.splice(0..0, limit);
        return Ok(Preparation { changes, pool_percent });
    };
    let plan = plan(&PlanRequest {
        facts: &posed,
        settings,
        evidence,
        forecast: None,
        now: true,
        boot: false,
        record: false,
        wipe: &[],
        binary: "",
        installed: false,
        seed: crate::sample::fresh_seed(),
    });
    if let Some(refusal) = plan.refusals.first() {
        return Err(format!("{}: {}", refusal.what, refusal.why));
    }
    let wants_zswap = settings.wants_zswap();
    if wants_zswap && !posed.zswap.is_known() {
        return Err("this kernel has no zswap".into());
    }
    let now = plan.steps.into_iter().filter(|step| step.when == When::Now).map(|step| step.change);
    let mut changes = in_folder(now.filter(is_momentary).collect(), folder);
    has_algorithm(variant, settings, &posed, &changes)?;
    scale_watermarks(&mut changes, &posed, (memory, total));
    if !wants_zswap {
        return Ok(Preparation { changes, pool_percent: None });
    }
    let wanted = settings.zswap.pool().and_then(|pool| pool.value.percent(memory)).or_else(live).unwrap_or(20);
    let (limit, pool_percent) = pool_limit(wanted);
    changes.retain(|change| !matches!(change, Change::Knob { name, .. } if name == MAX_POOL));
    changes.splice(0..0, limit);
    Ok(Preparation { changes, pool_percent })
}

/// A plan takes the next best compressor where the kernel lacks one; who names one for a comparison wants that one.
fn has_algorithm(variant: &Variant, settings: &Settings, posed: &Facts, changes: &[Change]) -> Result<(), String> {
    let Some(wanted) = &variant.algorithm else { return Ok(()) };
    let set = changes.iter().find_map(|change| match change {
        Change::Knob { name, after, .. } if name == COMPRESSOR => Some(after.as_str()),
        Change::Zram { after: Some(state), .. } => Some(state.algorithm.as_str()),
        _ => None,
    });
    let live = || posed.knob(COMPRESSOR).filter(|_| settings.wants_zswap());
    match set.or_else(live) {
        Some(set) if set == wanted => Ok(()),
        Some(set) => Err(format!("this kernel has no {wanted} there; it would take {set}")),
        None => Err(format!("nothing of it compresses, with {wanted} or otherwise")),
    }
}

const COMPRESSOR: &str = "zswap.compressor";
const MAX_POOL: &str = "zswap.max_pool_percent";

/// The distance between watermarks as it would be with only `memory`: the factor is a share of all RAM (`__setup_per_zone_wmarks()`), also of
/// what is held, so that 125 would keep half of a small machine free that is made of a large one. No configuration is spared: a kernel's own
/// 10 is scaled too.
fn scale_watermarks(changes: &mut Vec<Change>, facts: &Facts, (memory, total): (Bytes, Bytes)) {
    let is_watermark = |change: &Change| matches!(change, Change::Knob { name, .. } if name == WATERMARK);
    let planned = changes.iter().find_map(|change| match change {
        Change::Knob { name, after, .. } if name == WATERMARK => Some(after.as_str()),
        _ => None,
    });
    let wanted = planned.or_else(|| facts.knob(WATERMARK)).and_then(|factor| factor.parse::<u64>().ok());
    let Some(wanted) = wanted.filter(|_| memory < total) else { return };
    let scaled = (wanted as f64 * memory.0 as f64 / total.0 as f64).round().max(1.0);
    changes.retain(|change| !is_watermark(change));
    changes.splice(0..0, set(facts, WATERMARK, scaled as u64));
}

const WATERMARK: &str = "vm.watermark_scale_factor";

/// The change of a knob, where it is not so already.
fn set(facts: &Facts, name: &str, value: u64) -> Option<Change> {
    let (knob, before) = (knobs::find(name)?, facts.knob(name)?);
    let after = value.to_string();
    (before != after).then(|| Change::Knob {
        name: name.to_owned(),
        path: knob.path.to_owned(),
        before: before.to_owned(),
        after,
        fallbacks: Vec::new(),
    })
}

/// Files of the configuration are of no use to a benchmark.
fn is_momentary(change: &Change) -> bool {
    use Change::{Knob, Module, Swap, SwapFile, SwapHeader, Zram};
    matches!(change, Knob { .. } | Module { .. } | Swap { .. } | SwapFile { .. } | SwapHeader { .. } | Zram { .. })
}

/// The same with every new swap file in `folder`, whatever path it was planned at.
fn in_folder(mut changes: Vec<Change>, folder: &Path) -> Vec<Change> {
    let new: Vec<String> = changes
        .iter()
        .filter_map(|change| match change {
            Change::SwapFile { path, before: None, .. } => Some(path.clone()),
            _ => None,
        })
        .collect();
    let place = |path: &str| new.iter().position(|new| new == path).map(|number| area(folder, number));
    for change in &mut changes {
        if let Change::SwapFile { path, .. } | Change::SwapHeader { path, .. } | Change::Swap { path, .. } = change {
            if let Some(moved) = place(path) {
                *path = moved;
            }
        }
    }
    changes
}

/// Where the swap file of this number is made.
fn area(folder: &Path, number: usize) -> String {
    folder.join(format!("swaptune-variant-{number}.swap")).display().to_string()
}
