//! THE table of configurations that are compared, and how one is set for a moment.
//!
//! A configuration is [`Settings`], whatever it came from; the planner says what has to change for it, as it does for `apply`. Only what
//! takes effect at once is carried out, and swap files are made in the folder of the benchmark.

use std::path::Path;

use swaptune_core::change::Change;
use swaptune_core::facts::Mount;
use swaptune_core::knobs;
use swaptune_core::measurement::Evidence;
use swaptune_core::plan::{Request, When, plan};
use swaptune_core::profiles;
use swaptune_core::settings::{Provenance, Setting, Settings, SettingsError, read_toml};
use swaptune_core::{Bytes, Facts};

use super::space::pool_percent;

/// A configuration to compare.
#[derive(Clone, Debug)]
pub struct Variant {
    /// Its name in the table, or the file.
    pub name: String,
    /// What is wanted.
    pub settings: Settings,
}

/// A configuration that `bench density` brings along.
#[derive(Debug)]
pub struct BuiltIn {
    /// Its name.
    pub name: &'static str,
    /// What it is, in a sentence.
    pub doc: &'static str,
    // Below the kernel's own values, which `STOCK` has.
    base: Base,
}

#[derive(Debug)]
enum Base {
    Profile(&'static str),
    Toml(fn(Bytes) -> String),
}

/// Every configuration, in the order in which a table shows them.
pub static BUILT_IN: &[BuiltIn] = &[
    BuiltIn { name: "none", doc: "no swap at all", base: Base::Toml(|_| String::new()) },
    BuiltIn { name: "disk", doc: "a swap file, nothing compressed", base: Base::Toml(|_| AREA.into()) },
    BuiltIn {
        name: "zswap",
        doc: "the swap file behind zswap as the kernel comes: 20 % of memory, its own compressor",
        base: Base::Toml(|_| format!("[zswap]\nenabled = true\nmax_pool_percent = 20\naccept_threshold_percent = 90\n{AREA}")),
    },
    BuiltIn {
        name: "zram",
        doc: "zram of half of the memory and no disk, as zram-generator and Fedora set it up",
        base: Base::Toml(|memory| zram(Bytes(memory.0 / 2), "[knobs]\n")),
    },
    BuiltIn {
        name: "zram-pop",
        doc: "zram of all of the memory, swappiness 180, page-cluster 0, as Pop!_OS sets it up",
        base: Base::Toml(|memory| {
            let knobs = "[knobs]\n\"vm.swappiness\" = 180\n\"vm.page-cluster\" = 0\n\"vm.watermark_scale_factor\" = 125\n";
            zram(memory, knobs)
        }),
    },
    BuiltIn { name: "guide", doc: "the profile idle-guide, with the swap file", base: Base::Profile("idle-guide") },
    BuiltIn { name: "auto", doc: "what `swaptune plan` proposes for a machine of this size", base: Base::Profile("auto") },
];

/// The swap file of those that have one.
const AREA: &str = "[[swap]]\npath = \"AREA\"\nsize = \"SIZE\"\npriority = 10\n";
/// What a kernel does by itself, whatever this machine was told (mm/vmscan.c, mm/swap.c, mm/page_alloc.c).
const STOCK: &str =
    "[zswap]\nenabled = false\n[knobs]\n\"vm.swappiness\" = 60\n\"vm.page-cluster\" = 3\n\"vm.watermark_scale_factor\" = 10\n";

fn zram(size: Bytes, knobs: &str) -> String {
    format!("[[zram]]\nsize = \"{}\"\nalgorithm = [\"zstd\", \"lzo-rle\"]\n{knobs}", size.0)
}

impl BuiltIn {
    /// The settings for a machine that `facts` describe. `area` is where a swap file is made.
    ///
    /// # Errors
    /// [`SettingsError`] for a path that TOML cannot hold.
    pub fn settings(&self, facts: &Facts, evidence: &Evidence, area: &Path) -> Result<Settings, SettingsError> {
        let memory = facts.memory.total();
        let with_area = |text: &str| {
            let path = area.display().to_string().replace('\\', "\\\\").replace('"', "\\\"");
            text.replace("AREA", &path).replace("SIZE", &area_size(facts, area).0.to_string())
        };
        let read = |text: &str| read_toml(&format!("variant {}", self.name), &with_area(text), None);
        let stock = read(STOCK)?;
        match self.base {
            Base::Toml(text) => Ok(stock.overlay(read(&text(memory))?)),
            Base::Profile("auto") => profiles::resolve(vec![profile("auto")], facts, evidence, None),
            Base::Profile(name) => Ok(stock.overlay(profiles::resolve(vec![profile(name), read(AREA)?], facts, evidence, None)?)),
        }
    }
}

/// Four times the memory, so that swap space is never the limit, but at most half of what the file system has left.
fn area_size(facts: &Facts, area: &Path) -> Bytes {
    let holds = |mount: &&Mount| area.starts_with(&mount.at);
    let mount = facts.mounts.iter().filter(holds).max_by_key(|mount| mount.at.len());
    let free = mount.and_then(|mount| mount.free.value()).map_or(u64::MAX, |free| free.0 / 2);
    // Whole pages, of whatever size.
    Bytes((facts.memory.total().0 * 4).min(free) >> 20 << 20)
}

fn profile(name: &str) -> Settings {
    let provenance = Provenance::Flag("--variant".into());
    Settings { profile: Some(Setting::new(name.to_owned(), provenance)), ..Settings::default() }
}

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
pub(super) struct Preparation {
    pub(super) changes: Vec<Change>,
    /// zswap's limit in percent of the memory that the services have; `None` without zswap.
    pub(super) pool_percent: Option<f64>,
}

/// The changes, or why this machine cannot do it. `total` is its real RAM, and `posed` what it would be with less.
pub(super) fn prepare(
    variant: &Variant,
    posed: &Facts,
    total: Bytes,
    evidence: &Evidence,
    folder: &Path,
) -> Result<Preparation, String> {
    let plan = plan(&Request {
        facts: posed,
        settings: &variant.settings,
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
    let wants_zswap = variant.settings.zswap.enabled().is_some_and(|on| on.value);
    if wants_zswap && !posed.zswap.is_known() {
        return Err("this kernel has no zswap".into());
    }
    let now = plan.steps.into_iter().filter(|step| step.when == When::Now).map(|step| step.change);
    let mut changes = in_folder(now.filter(is_momentary).collect(), folder);
    if !wants_zswap {
        return Ok(Preparation { changes, pool_percent: None });
    }
    let memory = posed.memory.total();
    let live = || posed.knob(MAX_POOL).and_then(|text| text.parse().ok());
    let wanted = variant.settings.zswap.pool().and_then(|pool| pool.value.percent(memory)).or_else(live).unwrap_or(20);
    let scaled = pool_percent(wanted, memory, total);
    changes.retain(|change| !matches!(change, Change::Knob { name, .. } if name == MAX_POOL));
    changes.splice(0..0, limit(posed, scaled));
    Ok(Preparation { changes, pool_percent: Some(scaled as f64 * total.0 as f64 / memory.0.max(1) as f64) })
}

const MAX_POOL: &str = "zswap.max_pool_percent";

/// The change of the pool's limit, where it is not so already.
fn limit(facts: &Facts, percent: u64) -> Option<Change> {
    let (knob, before) = (knobs::find(MAX_POOL)?, facts.knob(MAX_POOL)?);
    let after = percent.to_string();
    let change = |before: String| {
        let (name, path) = (MAX_POOL.to_owned(), knob.path.to_owned());
        Change::Knob { name, path, before, after: after.clone(), fallbacks: Vec::new() }
    };
    (before != after).then(|| change(before.to_owned()))
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
        if let Change::SwapFile { path, .. } | Change::SwapHeader { path, .. } | Change::Swap { path, .. } = change
            && let Some(moved) = place(path)
        {
            *path = moved;
        }
    }
    changes
}

/// Where the swap file of this number is made.
pub(super) fn area(folder: &Path, number: usize) -> String {
    folder.join(format!("swaptune-density-{number}.swap")).display().to_string()
}
