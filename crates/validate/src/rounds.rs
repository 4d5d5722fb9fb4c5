//! Playing the cases on the running kernel.

use std::collections::{BTreeMap, BTreeSet};

use swaptune_core::Bytes;
use swaptune_host::cgroup::HierarchyVersion;
use swaptune_host::error_chain;
use swaptune_host::temporary::TemporaryError;
use swaptune_tiers::model::ModelSettings;

use crate::bench::ValidationBench;
use crate::compare::KernelRound;
use crate::content::PAGE;
use crate::passes::Passes;
use crate::player::{PAGES_MAX, Script};
use crate::sequence::{ContentSizes, Sequence};
use crate::tiering::{Case, PoolKind, full_pool};
use crate::times::MachineTimes;
use crate::workload::PlayedWorkload;
use crate::{ValidateError, sizes};

/// Memory that must be left beside a workload that fills a pool.
const SPARE: u64 = 1 << 30;

/// A case at work.
pub(super) struct CaseAtWork {
    pub case: Case,
    /// The machine that it ran on, as the simulator has it.
    pub machine: Option<ModelSettings>,
    /// Version of the hierarchy of its group.
    pub version: Option<HierarchyVersion>,
    pub seen: Vec<KernelRound>,
    pub failed: Option<String>,
}

impl CaseAtWork {
    /// The case in words.
    pub fn words(&self) -> String {
        format!("{}, {}", self.case.workload.name, self.case.tiering)
    }
}

/// What was played.
pub(super) struct Everything {
    pub works: Vec<CaseAtWork>,
    /// By workload.
    pub sequences: BTreeMap<&'static str, Sequence>,
    pub sizes: ContentSizes,
    pub times: MachineTimes,
    pub stopped: bool,
}

impl ValidationBench<'_> {
    /// Plays all cases in all rounds.
    pub fn all(&mut self, cases: Vec<Case>, show: &mut dyn FnMut(&str, usize, usize)) -> Result<Everything, ValidateError> {
        let mut works: Vec<CaseAtWork> = cases
            .into_iter()
            .map(|case| CaseAtWork { case, machine: None, version: None, seen: Vec::new(), failed: None })
            .collect();
        let (mut sequences, mut sizes) = (BTreeMap::new(), ContentSizes::new());
        for work in &mut works {
            if let Some(pool) = work.case.tiering.pool.as_ref().filter(|pool| !sizes.contains_key(&pool.compressor)) {
                match sizes::of_contents(self.machine, self.temporary, self.facts, &pool.compressor)? {
                    Some(found) => _ = sizes.insert(pool.compressor.clone(), found),
                    None => work.failed = Some(format!("nothing here says what {} makes of a page", pool.compressor)),
                }
            }
            let workload = work.case.workload;
            if !sequences.contains_key(workload.name) {
                match self.sequence(workload)? {
                    Ok(sequence) => _ = sequences.insert(workload.name, sequence),
                    Err(why) => work.failed = Some(why),
                }
            }
        }
        let mut pools: Vec<PoolKind> = works.iter().filter_map(|work| work.case.tiering.pool.clone()).collect();
        let mut seen = BTreeSet::new();
        pools.retain(|pool| sizes.contains_key(&pool.compressor) && seen.insert(pool.compressor.clone()));
        let fills = works.iter().filter(|work| work.failed.is_none() && work.case.workload.fills_pool);
        let mut passes = self.passes(&pools, fills.filter_map(|work| work.case.tiering.pool.clone()).next())?;
        let stopped = !self.rounds(&mut works, &sequences, &mut passes, show)?;
        let times = self.times(&passes, &sizes)?;
        Ok(Everything { works, sequences, sizes, times, stopped })
    }

    /// The accesses of a workload, or why they do not fit here.
    fn sequence(&self, workload: &'static PlayedWorkload) -> Result<Result<Sequence, String>, ValidateError> {
        let pool = full_pool(self.facts);
        let needed = 2 * pool * PAGE as u64 + SPARE;
        if workload.fills_pool && self.facts.memory.get("MemAvailable").unwrap_or_default().0 < needed {
            return Ok(Err(format!("{} of memory would have to be available", Bytes(needed))));
        }
        let (trace, pauses) = workload.trace(self.options.limit.0 / PAGE as u64, pool, self.options.seed)?;
        if trace.page_count() >= PAGES_MAX {
            return Ok(Err("it has too many pages".into()));
        }
        let contents = (0..).zip(trace.sizes()).map(|(page, size)| workload.content(page, *size)).collect();
        Ok(Ok(Sequence { script: Script::new(&trace, pauses, contents), trace }))
    }

    /// Plays the cases, and the passes of what is measured between them. False when it was stopped.
    fn rounds(
        &mut self,
        works: &mut [CaseAtWork],
        sequences: &BTreeMap<&'static str, Sequence>,
        passes: &mut Passes,
        show: &mut dyn FnMut(&str, usize, usize),
    ) -> Result<bool, ValidateError> {
        let (count, mut done) = (works.len(), 0);
        let all = count * self.options.rounds as usize;
        for round in 0..self.options.rounds as usize {
            for number in 0..count {
                self.measure(passes, (done, all), show)?;
                if self.stop.is_asked() {
                    works.iter_mut().for_each(|work| work.seen.truncate(round));
                    return Ok(false);
                }
                let work = &mut works[(number + round) % count];
                show(&work.words(), done, all);
                done += 1;
                let Some(sequence) = sequences.get(work.case.workload.name).filter(|_| work.failed.is_none()) else { continue };
                let mark = self.temporary.mark()?;
                let played = self.play(&work.case.tiering, sequence);
                self.temporary.back_to(mark)?;
                self.note(work, played)?;
            }
        }
        self.measure(passes, (all, all), show)?;
        Ok(true)
    }

    /// What this kernel or machine lacks is told of, and the other cases are played.
    fn note(
        &self,
        work: &mut CaseAtWork,
        played: Result<(KernelRound, ModelSettings, HierarchyVersion), ValidateError>,
    ) -> Result<(), ValidateError> {
        match played {
            Ok((seen, machine, version)) => {
                work.seen.push(seen);
                (work.machine, work.version) = (Some(machine), Some(version));
            }
            Err(ValidateError::Corrupt { count, .. }) => return Err(ValidateError::Corrupt { case: work.words(), count }),
            Err(ValidateError::Temporary(error @ (TemporaryError::Step { .. } | TemporaryError::Refused { .. }))) => {
                work.failed = Some(error_chain(&error));
            }
            Err(ValidateError::Player(_)) if self.stop.is_asked() => {}
            Err(ValidateError::Player(why)) => work.failed = Some(why),
            Err(error) => return Err(error),
        }
        Ok(())
    }
}
