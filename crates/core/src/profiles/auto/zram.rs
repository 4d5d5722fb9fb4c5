//! The zram device of a plan: its size, and where it goes before a disk although zswap could.
//!
//! A page in zswap's pool keeps its slot on the disk, so that a pool never holds more than the areas behind it have slots. A page in zram
//! needs none there. Where the disk has fewer slots than a device has pages, zram in front of it holds more (docs/evidence/density.md, "With
//! few slots"). zram has no limit of RAM but its size, so that what pages of this machine were measured to take bounds it.

use super::areas::demand;
use super::assume::ASSUMED;
use super::{RuleGround, ZRAM_PRIORITY, derived, largest_pool, measured, priorities};
use crate::facts::{Facts, ZramDevice};
use crate::measurement::{Evidence, MeasuredAnswer};
use crate::memory_map::ZramPool;
use crate::settings::{Provenance, Setting, ZramWanted};
use crate::units::Bytes;

/// Uncompressed capacity of the machine's zram device with this algorithm, and why so much. A device that is swap keeps its size. Where the
/// ratio of its pages was measured, a new one takes at most what a full pool of zswap may take ([`largest_pool`]), and holds no more than
/// slots are planned for; without, the share that distributions give it counts.
#[must_use]
pub fn zram_size(facts: &Facts, evidence: &Evidence, algorithm: Option<&str>) -> Setting<Bytes> {
    match in_use(facts) {
        Some(device) => derived(device.disksize, "the device keeps its size", facts.zram.driver.source()),
        None => new_size(facts, evidence, algorithm),
    }
}

fn new_size(facts: &Facts, evidence: &Evidence, algorithm: Option<&str>) -> Setting<Bytes> {
    let (figures, ram) = (&ASSUMED.zram, facts.memory.shared());
    match algorithm.and_then(|name| evidence.stored_ratio_or_near(name, "zsmalloc")) {
        Some(MeasuredAnswer { value: ratio, source }) => {
            let size = in_steps(pool_holds(ratio, ram).min(demand(facts)));
            let percent = size.0 as f64 / facts.memory.total().0 as f64 * 100.0;
            let reason = format!(
                "full, a device of {percent:.0} % of RAM takes {:.0} % at a measured {ratio:.2} : 1, and its table {}",
                percent / ratio,
                ZramPool::table(size, facts.kernel.page_size)
            );
            measured(size, reason, format!("{source}; {}", figures.source))
        }
        None => {
            let size = in_steps(ram.percent(figures.percent).min(figures.max));
            let reason = format!(
                "the ratio of its pages is not measured, so that it has {} % of RAM, {} at most",
                figures.percent, figures.max
            );
            derived(size, reason, figures.source.clone())
        }
    }
}

/// Whole 64 MiB, so that the size reads well and survives a reboot that finds a little less RAM; less than that in whole MiB.
fn in_steps(size: Bytes) -> Bytes {
    let mib = size.mib();
    Bytes::from_mib(if mib < 64 { mib } else { mib / 64 * 64 })
}

/// What as much RAM as a full pool holds, uncompressed.
fn pool_holds(ratio: f64, ram: Bytes) -> Bytes {
    Bytes((ram.percent(largest_pool(Some(ratio), ram)).0 as f64 * ratio) as u64)
}

/// The device that is swap here.
fn in_use(facts: &Facts) -> Option<&ZramDevice> {
    let area = facts.swaps.iter().find(|area| area.is_zram())?;
    facts.zram.devices.iter().find(|zram| area.path.ends_with(&zram.name))
}

impl RuleGround<'_> {
    fn algorithm<'b>(&self, compressors: &'b Setting<Vec<String>>) -> Option<&'b str> {
        compressors.value.iter().find(|name| self.has(name)).map(String::as_str)
    }

    /// `None` where a manager set one up: that is the manager's; and where RAM is not known, without which it has no size. What no manager
    /// sets up at boot is kept as it is.
    pub(super) fn zram(&self, compressors: &Setting<Vec<String>>) -> Option<Setting<Vec<ZramWanted>>> {
        let size = zram_size(self.facts, self.evidence, self.algorithm(compressors));
        let algorithm = compressors.value.clone();
        let mut device = ZramWanted { size: size.value, algorithm, priority: ZRAM_PRIORITY, ..ZramWanted::default() };
        if let Some(area) = self.facts.swaps.iter().find(|area| area.is_zram()) {
            if self.facts.managers_of_zram().any(|manager| manager.active) {
                return None;
            }
            // A negative one is the kernel's own, which swapon(2) does not take.
            device.priority = if area.priority < 0 { ZRAM_PRIORITY } else { area.priority };
        }
        device.priority = priorities::above(device.priority, self.tiering.areas.iter().map(|area| area.priority).max());
        if device.size == Bytes(0) {
            return None;
        }
        let (so_large, source) = size.provenance.reasoning().unwrap_or_default();
        let (reason, source) = (format!("{}; {so_large}", self.tiering.reason), source.to_owned());
        Some(match (&compressors.provenance, &size.provenance) {
            (Provenance::Simulated { .. }, _) => Setting::new(vec![device], compressors.provenance.clone()),
            (Provenance::Measured { reason: chosen, evidence }, _) => {
                // Both may rest on the same run.
                let source = if source.contains(evidence) { source } else { format!("{evidence}; {source}") };
                measured(vec![device], format!("{reason}; {chosen}"), source)
            }
            (_, Provenance::Measured { .. }) => measured(vec![device], reason, source),
            _ => derived(vec![device], reason, source),
        })
    }

    /// Why zram goes before these areas although zswap could: they have fewer slots than the device pages. `None` where they have as many.
    pub(super) fn too_few_slots(&self) -> Option<(String, String)> {
        let areas = &self.tiering.areas;
        // What is not there, and what an image's machine will have, has no size.
        if areas.iter().any(|area| area.size == Bytes(0)) {
            return None;
        }
        let slots = Bytes(areas.iter().map(|area| area.size.0).sum());
        let new = new_size(self.facts, self.evidence, self.algorithm(&self.compressors_by_rule())).value;
        // One that is there and larger is not taken away for fewer slots.
        let device = in_use(self.facts).map_or(new, |device| device.disksize.max(new));
        let reason = format!(
            "a page in zswap's pool keeps its slot on the disk, so that the pool holds no more than {slots} of swap; a page in zram needs \
             none, and the disk takes what zram cannot hold"
        );
        (slots < device).then(|| (reason, ASSUMED.zram.before_disk.clone()))
    }
}
