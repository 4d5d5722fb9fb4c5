//! How soon zswap's worker begins here, and how long one of its steps takes: what a pool that is full writes back hangs on both.
//!
//! They cannot be told from how long a sequence takes, for the worker has a processor of its own. So the kernel's own trace events are
//! read while a sequence fills a pool and goes on: when the worker was asked, when it began, when it ended. Nothing is counted of what
//! it did. User space cannot stand in for it: a thread that another wakes is put on the same processor as often as not, the worker is not.

use swaptune_core::parse::work_trace::Runs;
use swaptune_core::stats::Nanos;
use swaptune_host::work_trace::WorkTrace;
use swaptune_tiers::generate::generate;
use swaptune_tiers::policies::{Groups, Walk};

use super::ValidateError;
use super::content::{self, PAGE};
use super::kernel::{Bench, Sequence};
use super::player::Script;
use super::tiering::{FULL_PERCENT, Pool, Tiering, full_pool};
use super::times::{Timed, Times};

/// The kernel's function.
const WORKER: &str = "shrink_worker";
/// Fewer runs than this say nothing.
const FEWEST: usize = 100;

impl Bench<'_> {
    /// Measures both, where the kernel has an own worker that goes on beside the stores and trace events that tell of it.
    pub(super) fn worker(&mut self, pool: &Pool, times: &mut Times) -> Result<(), ValidateError> {
        let Ok(trace) = WorkTrace::start(self.machine) else { return Ok(()) };
        let sequence = self.overfilling()?;
        let tiering = Tiering { pool: Some(pool.clone()), percent: FULL_PERCENT, ..Tiering::plain() };
        let mark = self.scratch.mark()?;
        let played = self.play(&tiering, &sequence);
        self.scratch.back_to(mark)?;
        let (_, machine, _) = played?;
        if let Ok(runs) = trace.runs(WORKER) {
            times.learn(&runs, Walk::of_kernel(machine.kernel));
        }
        Ok(())
    }

    /// Half more than fits into RAM and a pool of 1 %, of pages that take two thirds of one there.
    fn overfilling(&self) -> Result<Sequence, ValidateError> {
        let pages = self.options.limit.0 / PAGE as u64 + full_pool(self.facts) * 9 / 4;
        let trace = generate(&format!("hold:pages={pages},reads=0,same=0,poor=0,size=2700,seed={}", self.options.seed))?;
        let contents = (0..).zip(trace.sizes()).map(|(page, size)| content::suiting(page, *size)).collect();
        Ok(Sequence { script: Script::new(&trace, None, contents), trace })
    }
}

impl Times {
    /// Takes over what was seen of a worker that walks like this.
    fn learn(&mut self, runs: &Runs, walk: Walk) {
        if let Some(wake) = median(&runs.waits) {
            self.costs.wake = wake;
            self.told.push(Timed { what: "zswap's worker, until it begins".into(), time: Nanos(wake) });
        }
        // A run of which no entry is written back ends after so many steps, and is by far the most frequent one.
        let passes_over = walk.groups == Groups::Fair && walk.second_chance;
        if let Some(length) = median(&runs.lengths).filter(|_| passes_over) {
            let step = length / u64::from(walk.failures);
            self.costs.round = step.saturating_sub(u64::from(walk.per_step) * self.costs.scan);
            self.told.push(Timed { what: "zswap's worker, a step".into(), time: Nanos(step) });
        }
    }
}

/// The middle one; none if there are too few.
fn median(nanos: &[u64]) -> Option<u64> {
    let mut nanos = nanos.to_vec();
    nanos.sort_unstable();
    (nanos.len() >= FEWEST).then(|| nanos[nanos.len() / 2])
}

#[cfg(test)]
mod tests {
    use super::*;

    fn learnt(kernel: (u16, u16), waits: Vec<u64>, lengths: Vec<u64>) -> (u64, u64, usize) {
        let mut times = Times::default();
        times.learn(&Runs { waits, lengths }, Walk::of_kernel(kernel));
        (times.costs.wake, times.costs.round, times.told.len())
    }

    #[test]
    fn the_middle_of_many_runs_counts_and_a_few_say_nothing() {
        let usual = Times::default().costs;
        // One run in ten drains the pool.
        let lengths: Vec<u64> = (0..200).map(|number| if number % 10 == 0 { 90_000_000 } else { 48_000 }).collect();
        assert_eq!(learnt((6, 18), vec![32_000; 150], lengths.clone()), (32_000, 3000 - usual.scan, 2));
        assert_eq!(learnt((7, 3), vec![32_000; 150], vec![160_000; 200]), (32_000, 10_000 - 32 * usual.scan, 2));
        assert_eq!(learnt((6, 18), vec![32_000; 99], vec![48_000; 99]), (usual.wake, usual.round, 0));
        assert_eq!(learnt((6, 18), vec![32_000; 100], vec![1000; 100]), (32_000, 0, 2), "a step is no shorter than its entry");
        assert_eq!(learnt((6, 9), vec![32_000; 100], lengths), (32_000, usual.round, 1), "this one passes nothing over");
    }
}
