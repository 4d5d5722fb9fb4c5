//! THE table of configurations that are compared: what people run, by name, and variations of it ([`Spec`]).
//!
//! A configuration is [`Settings`], whatever it came from; the planner says what has to change for it ([`prepare()`]), as it does for
//! `apply`.

mod outcome;
mod prepare;
mod spec;
#[cfg(test)]
mod tests;

use std::path::Path;

use swaptune_core::facts::Mount;
use swaptune_core::measurement::Evidence;
use swaptune_core::profiles;
use swaptune_core::settings::{Provenance, Setting, Settings, SettingsError, read_toml};
use swaptune_core::{Bytes, Facts};

pub use outcome::{Skipped, VariantOutcome};
pub use prepare::{Preparation, pose, prepare, switch_off};
pub use spec::{Spec, SpecError, split};

/// A configuration to compare.
#[derive(Clone, Debug)]
pub struct Variant {
    /// Its name in the table, or the file.
    pub name: String,
    /// The compressor that was named, which no other may stand for.
    pub algorithm: Option<String>,
    /// What is wanted; `None` for the machine as it is configured now.
    pub settings: Option<Settings>,
}

/// A configuration that `bench density` and `compare` bring along.
#[derive(Debug)]
pub struct BuiltIn {
    /// Its name.
    pub name: &'static str,
    /// What it is, in a sentence.
    pub doc: &'static str,
    // Below the kernel's own values, which `STOCK` has.
    base: BuiltInBase,
}

#[derive(Debug)]
enum BuiltInBase {
    Now,
    Profile(&'static str),
    Toml(fn(Bytes) -> String),
}

/// Every configuration, in the order in which a table shows them.
pub static BUILT_IN: &[BuiltIn] = &[
    BuiltIn { name: "none", doc: "no swap at all", base: BuiltInBase::Toml(|_| String::new()) },
    BuiltIn { name: "disk", doc: "a swap file, nothing compressed", base: BuiltInBase::Toml(|_| AREA.into()) },
    BuiltIn {
        name: "zswap",
        doc: "the swap file behind zswap as the kernel comes: 20 % of memory, its own compressor",
        base: BuiltInBase::Toml(|_| {
            format!("[zswap]\nenabled = true\nmax_pool_percent = 20\naccept_threshold_percent = 90\n{AREA}")
        }),
    },
    BuiltIn {
        name: "zram",
        doc: "zram of half of the memory and no disk, as zram-generator and Fedora set it up",
        base: BuiltInBase::Toml(|memory| zram(Bytes(memory.0 / 2), "[knobs]\n")),
    },
    BuiltIn {
        name: "zram-pop",
        doc: "zram of all of the memory, swappiness 180, page-cluster 0, as Pop!_OS sets it up",
        base: BuiltInBase::Toml(|memory| {
            let knobs = "[knobs]\n\"vm.swappiness\" = 180\n\"vm.page-cluster\" = 0\n\"vm.watermark_scale_factor\" = 125\n";
            zram(memory, knobs)
        }),
    },
    BuiltIn { name: "guide", doc: "the profile idle-guide, with the swap file", base: BuiltInBase::Profile("idle-guide") },
    BuiltIn { name: "auto", doc: "what `swaptune plan` proposes for a machine of this size", base: BuiltInBase::Profile("auto") },
    BuiltIn { name: NOW, doc: "this machine as it is configured now", base: BuiltInBase::Now },
];

/// The machine as it is, which is no configuration of the field.
pub const NOW: &str = "now";

/// The swap file of those that have one.
const AREA: &str = "[[swap]]\npath = \"AREA\"\nsize = \"SIZE\"\npriority = 10\n";
/// What a kernel does by itself, whatever this machine was told (mm/vmscan.c, mm/swap.c, mm/page_alloc.c).
const STOCK: &str =
    "[zswap]\nenabled = false\n[knobs]\n\"vm.swappiness\" = 60\n\"vm.page-cluster\" = 3\n\"vm.watermark_scale_factor\" = 10\n";

fn zram(size: Bytes, knobs: &str) -> String {
    format!("[[zram]]\nsize = \"{}\"\nalgorithm = [\"zstd\", \"lzo-rle\"]\n{knobs}", size.0)
}

impl BuiltIn {
    /// True for a zram device without a disk.
    fn is_zram(&self) -> bool {
        self.name.starts_with("zram")
    }

    /// The settings for a machine that `facts` describe, with `changes` laid over them; `None` for the machine as it is, which takes none.
    /// `area` is where a swap file is made.
    ///
    /// # Errors
    /// [`SettingsError`] for a path that TOML cannot hold.
    fn settings(
        &self,
        facts: &Facts,
        evidence: &Evidence,
        area: &Path,
        changes: Settings,
    ) -> Result<Option<Settings>, SettingsError> {
        let memory = facts.memory.total();
        let with_area = |text: &str| {
            let path = area.display().to_string().replace('\\', "\\\\").replace('"', "\\\"");
            text.replace("AREA", &path).replace("SIZE", &area_size(facts, area).0.to_string())
        };
        let read = |text: &str| read_toml(&format!("variant {}", self.name), &with_area(text), None);
        let stock = read(STOCK)?;
        let settings = match self.base {
            BuiltInBase::Now => return Ok(None),
            BuiltInBase::Toml(text) => stock.overlay(read(&text(memory))?).overlay(changes),
            BuiltInBase::Profile("auto") => profiles::resolve(vec![profile("auto"), changes], facts, evidence, None)?,
            BuiltInBase::Profile(name) => {
                stock.overlay(profiles::resolve(vec![profile(name), read(AREA)?, changes], facts, evidence, None)?)
            }
        };
        Ok(Some(settings))
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
