//! How soon zswap's worker begins here, how long one of its steps takes, and a page that it writes back: what a pool that is full writes
//! back hangs on all three.
//!
//! The simulator's clock is the process's own, without what it waits for a processor. Where the scheduler puts the worker on the processor
//! of the process, that waits until a walk has ended, and takes turns with a drain: then a walk takes nothing of its time, and a
//! drain half of it.
//!
//! They cannot be told from how long a sequence takes, for the worker has a processor of its own. So the kernel's own trace events are
//! read while a sequence fills a pool and goes on: when the worker was asked, when it began, when it ended. User space cannot stand in
//! for it: a thread that another wakes is put on the same processor as often as not, the worker is not.

use swaptune_core::parse::work_trace::{Runs, WorkRun};
use swaptune_core::stats::Nanos;
use swaptune_host::work_trace::WorkTrace;
use swaptune_tiers::generate::generate;
use swaptune_tiers::policies::{GroupOrder, Walk};

use crate::ValidateError;
use crate::bench::ValidationBench;
use crate::content::{self, PAGE};
use crate::player::Script;
use crate::sequence::Sequence;
use crate::tiering::{FULL_PERCENT, KernelTiering, PoolKind, full_pool};
use crate::times::{MachineTimes, MeasuredTime};

/// The kernel's function.
const WORKER: &str = "shrink_worker";
/// Fewer runs than this say nothing, and fewer pages.
const FEWEST: usize = 100;
/// A run that takes this many times as long as the usual one, which writes nothing back, drains the pool.
const DRAINS: u64 = 20;

impl ValidationBench<'_> {
    /// Looks at one, where the kernel has an own worker that goes on beside the stores and trace events that tell of it.
    pub(super) fn worker(&mut self, pool: &PoolKind) -> Result<Option<Worked>, ValidateError> {
        let Ok(trace) = WorkTrace::start(self.machine) else { return Ok(None) };
        let sequence = self.overfilling()?;
        let tiering = KernelTiering { pool: Some(pool.clone()), percent: FULL_PERCENT, ..KernelTiering::plain() };
        let mark = self.temporary.mark()?;
        let played = self.play(&tiering, &sequence);
        self.temporary.back_to(mark)?;
        let (seen, machine, _) = played?;
        let written = seen.after.since(&seen.before, "vmstat.zswpwb").and_then(|pages| u64::try_from(pages).ok());
        let worked = |runs| Worked { runs, written: written.unwrap_or_default(), walk: Walk::of_kernel(machine.kernel) };
        Ok(trace.runs(WORKER).ok().map(worked))
    }

    /// More than twice what fits into RAM and a pool of 1 %, of pages that take two thirds of one there.
    fn overfilling(&self) -> Result<Sequence, ValidateError> {
        let pages = self.options.limit.0 / PAGE as u64 + full_pool(self.facts) * 7 / 2;
        let trace = generate(&format!("hold:pages={pages},reads=0,same=0,poor=0,size=2700,seed={}", self.options.seed))?;
        let contents = (0..).zip(trace.sizes()).map(|(page, size)| content::suiting(page, *size)).collect();
        Ok(Sequence { script: Script::new(&trace, None, contents), trace })
    }
}

/// What was seen of a worker that walks like this and wrote this many pages back.
#[derive(Clone, Debug)]
pub(super) struct Worked {
    runs: Runs,
    written: u64,
    walk: Walk,
}

impl MachineTimes {
    /// Takes over what was seen of the worker that was in the middle by how soon it began: where the other processor is busy for a moment,
    /// it shares that of the process, and all that is measured of it is another thing.
    pub(super) fn learn_of(&mut self, workers: &[Worked]) {
        let mut workers: Vec<&Worked> = workers.iter().collect();
        workers.sort_by_key(|worked| middle(&worked.runs.waits));
        if let Some(worked) = workers.get(workers.len() / 2) {
            self.learn(worked);
        }
    }

    fn learn(&mut self, Worked { runs, written, walk }: &Worked) {
        let (written, walk) = (*written, *walk);
        let mut tell =
            |what: &str, nanos| self.told.push(MeasuredTime { what: format!("zswap's worker, {what}"), time: Nanos(nanos) });
        if let Some(wake) = middle(&runs.waits) {
            self.costs.wake = wake;
            tell("until it begins", wake);
        }
        // Before 6.12 each run writes back.
        let passes_over = walk.groups == GroupOrder::Fair && walk.second_chance;
        let lengths: Vec<u64> = runs.runs.iter().map(|run| run.length).collect();
        let Some(usual) = middle(&lengths).filter(|_| passes_over) else { return };
        let (drains, others): (Vec<WorkRun>, Vec<WorkRun>) = runs.runs.iter().partition(|run| run.length > DRAINS * usual);
        // How many there are while others store is a matter of their mean. Each ends after a fixed number of steps.
        let walks: u64 = others.iter().filter(|run| run.beside).map(|run| run.length).sum();
        let step = walks / others.len() as u64 / u64::from(walk.failures);
        self.costs.round = step.saturating_sub(u64::from(walk.per_step) * self.costs.scan);
        tell("a step", step);
        if written >= FEWEST as u64 && !drains.is_empty() {
            let own = |run: &WorkRun| if run.beside { run.length } else { run.length / 2 };
            let page = drains.iter().map(own).sum::<u64>() / written;
            self.costs.write_back = page.saturating_sub(self.costs.round / u64::from(walk.per_step));
            tell("a page written back", page);
        }
    }
}

/// The one in the middle; none if there are too few.
fn middle(nanos: &[u64]) -> Option<u64> {
    let mut nanos = nanos.to_vec();
    nanos.sort_unstable();
    (nanos.len() >= FEWEST).then(|| nanos[nanos.len() / 2])
}

#[cfg(test)]
mod tests {
    use swaptune_kernel::{KernelVersion, v};
    use swaptune_tiers::model::Costs;

    use super::*;

    fn learnt(kernel: KernelVersion, waits: Vec<u64>, lengths: Vec<u64>, written: u64) -> ([u64; 3], usize) {
        learnt_where(true, kernel, waits, &lengths, written)
    }

    fn learnt_where(beside: bool, kernel: KernelVersion, waits: Vec<u64>, lengths: &[u64], written: u64) -> ([u64; 3], usize) {
        let mut times = MachineTimes::default();
        let runs = lengths.iter().map(|length| WorkRun { length: *length, beside }).collect();
        times.learn_of(&[Worked { runs: Runs { waits, runs }, written, walk: Walk::of_kernel(kernel) }]);
        let Costs { wake, round, write_back, .. } = times.costs;
        ([wake, round, write_back], times.told.len())
    }

    #[test]
    fn the_worker_in_the_middle_counts() {
        let worked = |wait: u64| Worked {
            runs: Runs { waits: vec![wait; 100], runs: vec![WorkRun { length: wait, beside: true }; 100] },
            written: 0,
            walk: Walk::of_kernel(v(6, 9)),
        };
        let mut times = MachineTimes::default();
        times.learn_of(&[worked(27_000), worked(3000), worked(25_000)]);
        assert_eq!(times.costs.wake, 25_000);
        let mut times = MachineTimes::default();
        times.learn_of(&[]);
        assert_eq!((times.costs.wake, times.told.len()), (Costs::default().wake, 0));
    }

    #[test]
    fn drains_are_told_from_runs_that_pass_entries_over_and_a_few_say_nothing() {
        let Costs { wake, round, scan, write_back, .. } = Costs::default();
        // One run in a hundred drains the pool; one is late for some other reason, and counts as it happened.
        let lengths = |usual: u64| {
            let run = |number: u64| if number == 7 { 17 * usual } else { usual };
            (0..200).map(|number| if number % 100 == 0 { 90_000_000 } else { run(number) }).collect::<Vec<u64>>()
        };
        let step = 48_000 * (197 + 17) / 198 / 16;
        assert_eq!(learnt(v(6, 18), vec![32_000; 150], lengths(48_000), 9000), ([32_000, step - scan, 20_000 - step + scan], 3));
        assert_eq!(learnt(v(6, 18), vec![32_000; 150], lengths(48_000), 99), ([32_000, step - scan, write_back], 2));
        let same = learnt_where(false, v(6, 18), vec![2000; 150], &lengths(48_000), 9000);
        assert_eq!(same, ([2000, 0, 10_000], 3), "the process waits for the walk and shares its processor with the drain");
        let of_32 = 160_000 * (197 + 17) / 198 / 16 - 32 * scan;
        assert_eq!(learnt(v(7, 3), vec![32_000; 150], lengths(160_000), 9000), ([32_000, of_32, 20_000 - of_32 / 32], 3));
        assert_eq!(learnt(v(6, 18), vec![32_000; 99], vec![48_000; 99], 0), ([wake, round, write_back], 0));
        assert_eq!(
            learnt(v(6, 18), vec![32_000; 100], vec![1000; 100], 0),
            ([32_000, 0, write_back], 2),
            "shorter than its entry"
        );
        assert_eq!(learnt(v(6, 9), vec![32_000; 100], lengths(48_000), 9000), ([32_000, round, write_back], 1), "all write back");
    }
}
