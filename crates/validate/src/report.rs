//! From what was played to what is told: the simulator runs each case once, for it needs no rounds.

use swaptune_core::Facts;
use swaptune_host::cgroup::HierarchyVersion;

use crate::compare::{compare, pairs};
use crate::level::Level;
use crate::model::{self, SimulatorCounts};
use crate::rounds::{CaseAtWork, Everything};
use crate::tiering::full_pool;
use crate::{CaseLeftOut, CaseResult, ValidateError, ValidationOptions, ValidationReport};

/// Runs the simulator and compares.
pub(super) fn of(facts: &Facts, options: &ValidationOptions, played: &Everything) -> Result<ValidationReport, ValidateError> {
    let mut report = ValidationReport {
        kernel: facts.kernel.release.value().cloned().unwrap_or_default(),
        limit: options.limit,
        rounds: options.rounds,
        seed: options.seed,
        stopped: played.stopped,
        times: played.times.told.clone(),
        ..ValidationReport::default()
    };
    let mut simulated: Vec<(&CaseAtWork, SimulatorCounts)> = Vec::new();
    for work in &played.works {
        if let Some(why) = &work.failed {
            report.left_out.push(CaseLeftOut { case: work.words(), why: why.clone() });
            continue;
        }
        let (Some(sequence), Some(machine)) = (played.sequences.get(work.case.workload.name), &work.machine) else { continue };
        if work.seen.is_empty() {
            continue;
        }
        let pool = work.case.tiering.pool.as_ref();
        let sizes = pool.and_then(|pool| played.sizes.get(&pool.compressor));
        let mut machine = machine.clone();
        played.times.put(&mut machine);
        // Where a round has no mean, meminfo says nothing of the pool, or it did not fill: then the end is compared.
        let level = work.seen.iter().all(|seen| seen.level.is_some()).then(|| Level::of(full_pool(facts)));
        let outcome = model::run(&machine, sequence, sequence.sizes(&played.sizes, pool), options.seed, level)?;
        report.cgroup = if work.version == Some(HierarchyVersion::V2) { 2 } else { 1 };
        report.rows.push(CaseResult {
            workload: work.case.workload.name,
            tiering: work.case.tiering.to_string(),
            pages: sequence.trace.page_count(),
            events: sequence.trace.len(),
            sizes: sizes.map(|(_, source)| *source),
            compared: compare(&work.seen, &outcome),
        });
        simulated.push((work, outcome));
    }
    for (number, (a, outcome)) in simulated.iter().enumerate() {
        let others = simulated[number + 1..].iter().filter(|(b, _)| b.case.workload.name == a.case.workload.name);
        for (b, other) in others {
            let (first, second) = (a.case.tiering.to_string(), b.case.tiering.to_string());
            report.pairs.extend(pairs(a.case.workload.name, (&first, &a.seen, outcome), (&second, &b.seen, other)));
        }
    }
    Ok(report)
}
