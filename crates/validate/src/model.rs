//! The same case in the simulator: its machine made from the same facts, and what it counts.

use swaptune_core::{Bytes, Facts};
use swaptune_host::cgroup::HierarchyVersion;
use swaptune_host::temporary::TOP_PRIORITY;
use swaptune_tiers::model::{CompressedSizes, Model, ModelFigures, ModelSettings, Outcome, PoolContents};
use swaptune_tiers::trace::Event;

use crate::ValidateError;
use crate::content::PAGE;
use crate::level::{LOOK, Level};
use crate::sequence::Sequence;
use swaptune_bench::this_machine;

/// Entries of a page table, and page tables above the lowest level that a small process has.
const ENTRIES: u64 = 512;
const UPPER_TABLES: u64 = 3;

/// What the simulator counted.
#[derive(Clone, Debug)]
pub(super) struct SimulatorCounts {
    pub outcome: Outcome,
    pub pools: PoolContents,
    /// Bytes that the pool held in the mean, if that is compared.
    pub level: Option<f64>,
}

/// The machine while a case is set up on it: facts of that moment, and the group.
pub(super) fn machine(facts: &Facts, version: HierarchyVersion, limit: Bytes) -> Result<ModelSettings, ValidateError> {
    let mut facts = facts.clone();
    // Nothing reaches areas of lower priority.
    facts.swaps.retain(|area| area.priority == TOP_PRIORITY);
    let figures = ModelFigures::default();
    let settings = this_machine::now(&facts, &figures).and_then(|now| Ok(now.settings(&figures)?));
    let mut settings = settings.map_err(|error| ValidateError::Model(error.to_string()))?;
    let available = facts.memory.get("MemAvailable").unwrap_or_default().0 / PAGE as u64;
    settings.reserved = settings.ram.saturating_sub(available);
    settings.cgroups = vec![Some(limit.0 / PAGE as u64)];
    settings.charge_zswap = version == HierarchyVersion::V2;
    Ok(settings)
}

/// Runs a case on that machine. `sizes` are those of each page; what the pool holds is noted in `level`.
pub(super) fn run(
    machine: &ModelSettings,
    sequence: &Sequence,
    sizes: Vec<u16>,
    seed: u64,
    mut level: Option<Level>,
) -> Result<SimulatorCounts, ValidateError> {
    let (trace, pauses) = (&sequence.trace, sequence.script.task.pauses);
    let mut settings = ModelSettings { sizes: CompressedSizes::Each(sizes), seed, ..machine.clone() };
    // Page tables are charged to the group too.
    let tables = u64::from(trace.page_count()).div_ceil(ENTRIES) + UPPER_TABLES;
    settings.cgroups.iter_mut().flatten().for_each(|limit| *limit = limit.saturating_sub(tables));
    let mut model = Model::new(settings, trace.page_count()).map_err(|error| ValidateError::Model(error.to_string()))?;
    let (mut now, mut look) = (0, 0);
    for (index, event) in trace.iter().enumerate() {
        // One process, one group, one access after the other, or after a pause.
        let pause = pauses.filter(|pauses| pauses.is_before(index)).map_or(0, |pauses| pauses.nanos);
        let Some((_, done)) = model.advance(Event { time: now + pause, cgroup: 0, ..event }) else {
            return Err(ValidateError::Model("it ran out of memory".into()));
        };
        now = done;
        if let Some(level) = level.as_mut().filter(|_| now >= look) {
            level.see(model.pools().zswap * PAGE as u64);
            look = now + LOOK.as_nanos() as u64;
        }
    }
    let pools = model.pools();
    Ok(SimulatorCounts { outcome: model.finish(), pools, level: level.and_then(|level| level.mean()) })
}
