//! What is in front of the disk while a workload runs, and how it is set up for a moment.

use std::fmt;
use std::path::Path;

use swaptune_core::facts::KernelFacts;
use swaptune_core::parse::choice;
use swaptune_core::{Bytes, Facts, knobs};
use swaptune_host::machine::Machine;
use swaptune_host::temporary::{TOP_PRIORITY, TemporaryError, TemporarySettings};
use swaptune_kernel::behaviours;

use crate::content::PAGE;
use crate::workload::PlayedWorkload;
use swaptune_bench::codecs::NAMES;

/// max_pool_percent of a pool that is meant to fill, and of one that is not.
pub(super) const FULL_PERCENT: u64 = 1;
const ROOMY_PERCENT: u64 = 20;
/// accept_threshold_percent, the kernel's own.
pub(super) const ACCEPT_PERCENT: u64 = 90;

/// Pages of the least pool that can be asked for, the one that is meant to fill.
pub(super) fn full_pool(facts: &Facts) -> u64 {
    facts.memory.get("MemTotal").unwrap_or_default().0 / PAGE as u64 * FULL_PERCENT / 100
}

/// A compressor and, where the kernel has a choice, an allocator.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PoolKind {
    /// Compressor, by the kernel's name.
    pub compressor: String,
    /// Allocator; `None` on a kernel that has no choice.
    pub zpool: Option<String>,
}

/// One tiering.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct KernelTiering {
    /// zswap; `None`: the disk alone.
    pub pool: Option<PoolKind>,
    /// max_pool_percent.
    pub percent: u64,
    /// shrinker_enabled; `None` on a kernel without it.
    pub shrinker: Option<bool>,
    /// Swap files of equal priority.
    pub areas: u32,
}

/// A workload under a tiering.
#[derive(Clone, Debug)]
pub struct Case {
    /// The workload.
    pub workload: &'static PlayedWorkload,
    /// The tiering.
    pub tiering: KernelTiering,
}

/// All cases of these workloads, with these compressors, or all that the kernel has.
#[must_use]
pub fn cases(workloads: &[&'static PlayedWorkload], compressors: &[String], facts: &Facts) -> Vec<Case> {
    let pools = pools(compressors, facts);
    let tierings = |workload: &PlayedWorkload| {
        let percent = if workload.fills_pool { FULL_PERCENT } else { ROOMY_PERCENT };
        let shrinker = facts.zswap.value().is_some_and(|zswap| zswap.parameter("shrinker_enabled").is_some());
        let tiering = |pool: Option<&PoolKind>| KernelTiering {
            pool: pool.cloned(),
            percent,
            shrinker: (shrinker && pool.is_some()).then_some(false),
            areas: 1,
        };
        let mut tierings = vec![tiering(None)];
        if !workload.fills_pool {
            tierings.push(KernelTiering { areas: 2, ..tiering(None) });
        }
        let few = if workload.fills_pool { 1 } else { pools.len() };
        tierings.extend(pools.iter().take(few).map(|pool| tiering(Some(pool))));
        if let Some(first) = pools.first() {
            tierings.extend(shrinker.then(|| KernelTiering { shrinker: Some(true), ..tiering(Some(first)) }));
            tierings.push(KernelTiering { areas: 2, ..tiering(Some(first)) });
        }
        tierings
    };
    workloads.iter().flat_map(|workload| tierings(workload).into_iter().map(|tiering| Case { workload, tiering })).collect()
}

/// Each compressor with the usual allocator, and the first one with the others.
fn pools(compressors: &[String], facts: &Facts) -> Vec<PoolKind> {
    let usable = |name: &&&str| facts.compressors.iter().any(|found| found.name == **name && found.availability.usable());
    let names: Vec<String> = if !facts.zswap.is_known() {
        Vec::new()
    } else if compressors.is_empty() {
        NAMES.iter().filter(usable).map(|name| (*name).to_owned()).collect()
    } else {
        compressors.to_vec()
    };
    let zpools = zpools(&facts.kernel, facts.zswap.value().and_then(|zswap| zswap.parameter("zpool")).is_some());
    let usual = zpools.first().copied().flatten();
    let pool =
        |compressor: &String, zpool: Option<&str>| PoolKind { compressor: compressor.clone(), zpool: zpool.map(str::to_owned) };
    let others = names.first().into_iter().flat_map(|name| zpools.iter().skip(1).map(|zpool| pool(name, *zpool)));
    names.iter().map(|name| pool(name, usual)).chain(others).collect()
}

/// Allocators to choose among; z3fold is modelled for the static case only, so that it is not among them.
fn zpools(kernel: &KernelFacts, has_choice: bool) -> Vec<Option<&'static str>> {
    let has_zbud = kernel.does(&behaviours::ONLY_ZSMALLOC) == Some(false);
    if has_choice && has_zbud { vec![Some("zsmalloc"), Some("zbud")] } else { vec![None] }
}

impl KernelTiering {
    /// One area, a pool that does not fill if there is one, and no shrinker.
    pub(super) const fn plain() -> Self {
        Self { pool: None, percent: ROOMY_PERCENT, shrinker: None, areas: 1 }
    }

    /// Whether its pool is meant to fill.
    pub(super) fn fills_pool(&self) -> bool {
        self.pool.is_some() && self.percent == FULL_PERCENT
    }

    /// Sets it up: areas that hold `room` bytes together.
    pub(super) fn set_up(
        &self,
        machine: &Machine,
        temporary: &mut TemporarySettings,
        folder: &Path,
        room: Bytes,
    ) -> Result<(), TemporaryError> {
        let each = Bytes(room.0 / u64::from(self.areas));
        (0..self.areas).try_for_each(|_| temporary.swap_file(folder, each, TOP_PRIORITY).map(|_| ()))?;
        let mut set = |name: &str, value: &str| {
            let current = knobs::find(name).and_then(|knob| machine.read_text(knob.path).ok());
            match current {
                Some(current) if choice::value(&current) == value => Ok(()),
                Some(_) => temporary.knob(name, value),
                None if name == "zswap.enabled" && value == "N" => Ok(()),
                None => temporary.knob(name, value),
            }
        };
        let Some(pool) = &self.pool else { return set("zswap.enabled", "N") };
        if let Some(zpool) = &pool.zpool {
            set("zswap.zpool", zpool)?;
        }
        set("zswap.compressor", &pool.compressor)?;
        set("zswap.max_pool_percent", &self.percent.to_string())?;
        set("zswap.accept_threshold_percent", &ACCEPT_PERCENT.to_string())?;
        if let Some(shrinker) = self.shrinker {
            set("zswap.shrinker_enabled", if shrinker { "Y" } else { "N" })?;
        }
        set("zswap.enabled", "Y")
    }
}

impl fmt::Display for KernelTiering {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut text = match &self.pool {
            None => "disk".to_owned(),
            Some(PoolKind { compressor, zpool: None }) => format!("zswap {compressor}"),
            Some(PoolKind { compressor, zpool: Some(zpool) }) => format!("zswap {compressor}/{zpool}"),
        };
        if self.shrinker == Some(true) {
            text += ", shrinker";
        }
        if self.areas > 1 {
            text += &format!(", {} areas", self.areas);
        }
        f.pad(&text)
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;
    use swaptune_kernel::v;

    use swaptune_core::Fact;
    use swaptune_core::facts::{Availability, Compressor, ZswapFacts};

    use super::*;

    fn facts(minor: u16, parameters: &[&str]) -> Facts {
        let mut facts = Facts::default();
        facts.kernel.version = Fact::known(v(6, minor), "test");
        let parameters: BTreeMap<String, String> = parameters.iter().map(|name| ((*name).to_owned(), "N".to_owned())).collect();
        facts.zswap = Fact::known(ZswapFacts { parameters, ..ZswapFacts::default() }, "test");
        facts.compressors = ["lzo", "zstd"]
            .map(|name| Compressor { name: name.into(), availability: Availability::BuiltIn, source: "test".into() })
            .into();
        facts
    }

    fn names(workload: &str, facts: &Facts, compressors: &[&str]) -> Vec<String> {
        let compressors: Vec<String> = compressors.iter().map(|name| (*name).to_owned()).collect();
        cases(&[PlayedWorkload::named(workload).unwrap()], &compressors, facts)
            .iter()
            .map(|case| case.tiering.to_string())
            .collect()
    }

    #[test]
    fn a_kernel_has_the_tierings_of_its_time() {
        let new = facts(18, &["shrinker_enabled"]);
        let expected = ["disk", "disk, 2 areas", "zswap lzo", "zswap zstd", "zswap lzo, shrinker", "zswap lzo, 2 areas"];
        assert_eq!(names("zipf", &new, &[]), expected);
        assert_eq!(names("full", &new, &["zstd"]), ["disk", "zswap zstd", "zswap zstd, shrinker", "zswap zstd, 2 areas"]);
        let old = facts(1, &["zpool"]);
        let expected = ["disk", "disk, 2 areas", "zswap lz4/zsmalloc", "zswap lz4/zbud", "zswap lz4/zsmalloc, 2 areas"];
        assert_eq!(names("zipf", &old, &["lz4"]), expected);
        let none = Facts { zswap: Fact::absent("test"), ..facts(18, &[]) };
        assert_eq!(names("zipf", &none, &["lz4"]), ["disk", "disk, 2 areas"]);
    }
}
