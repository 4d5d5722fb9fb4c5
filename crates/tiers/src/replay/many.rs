//! Many replays of one trace, on several threads.

use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};

use super::{ReplayRow, exact_curve};
use crate::trace::Trace;

/// From this many sizes, the exact curve takes less time than a replay of each.
const CURVE_FROM: usize = 8;

/// One replay.
#[derive(Clone, Copy, Debug)]
pub struct Job {
    /// The policy.
    pub policy: &'static ReplayRow,
    /// The size of memory, in pages.
    pub size: u32,
}

/// Misses of each job, in order, computed on this many threads. `done` is told, from any thread, how many jobs are finished.
#[must_use]
pub fn run_all(trace: &Trace, jobs: &[Job], threads: usize, done: &(dyn Fn(usize) + Sync)) -> Vec<u64> {
    let (tasks, next, finished) = (tasks(jobs), AtomicUsize::new(0), AtomicUsize::new(0));
    let misses = Mutex::new(vec![0; jobs.len()]);
    let work = || {
        while let Some(task) = tasks.get(next.fetch_add(1, Ordering::Relaxed)) {
            let sizes: Vec<u32> = task.iter().map(|&job| jobs[job].size).collect();
            let found = match task[..] {
                [job] => vec![jobs[job].policy.misses(trace, jobs[job].size)],
                _ => exact_curve(trace).misses(&sizes),
            };
            // A thread that panicked has left no half-written numbers behind: each stands alone.
            let mut misses = misses.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
            task.iter().zip(found).for_each(|(&job, found)| misses[job] = found);
            done(finished.fetch_add(task.len(), Ordering::Relaxed) + task.len());
        }
    };
    std::thread::scope(|scope| {
        for _ in 1..threads.min(tasks.len()) {
            scope.spawn(work);
        }
        work();
    });
    misses.into_inner().unwrap_or_else(std::sync::PoisonError::into_inner)
}

/// Jobs that are done together: many sizes of least recently used are one curve, which comes first because it takes longest.
fn tasks(jobs: &[Job]) -> Vec<Vec<usize>> {
    let (curve, mut tasks): (Vec<usize>, Vec<usize>) = (0..jobs.len()).partition(|&job| jobs[job].policy.name == "lru");
    let mut all = Vec::new();
    if curve.len() >= CURVE_FROM {
        all.push(curve)
    } else {
        tasks.extend(curve)
    }
    all.extend(tasks.into_iter().map(|job| vec![job]));
    all
}
