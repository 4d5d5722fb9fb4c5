//! Many replays of one trace, on several threads.

use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};

use super::lru::CURVE_FROM;
use super::{REPLAYS, ReplayRow};
use crate::trace::Trace;

/// Pages that the memories of one task may have together.
const TASK_PAGES: u64 = 32 << 20;

/// One replay.
#[derive(Clone, Copy, Debug)]
pub struct ReplayJob {
    /// The policy.
    pub policy: &'static ReplayRow,
    /// The size of memory, in pages.
    pub size: u32,
}

/// Misses of each job, in order, computed on this many threads. `done` is told, from any thread, how many jobs are finished.
#[must_use]
pub fn run_all(trace: &Trace, jobs: &[ReplayJob], threads: usize, done: &(dyn Fn(usize) + Sync)) -> Vec<u64> {
    let (tasks, next, finished) = (tasks(trace, jobs, threads), AtomicUsize::new(0), AtomicUsize::new(0));
    let misses = Mutex::new(vec![0; jobs.len()]);
    let work = || {
        while let Some(task) = tasks.get(next.fetch_add(1, Ordering::Relaxed)) {
            let sizes: Vec<u32> = task.iter().map(|&job| jobs[job].size).collect();
            let found = jobs[task[0]].policy.misses_of(trace, &sizes);
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

/// Jobs that are done in one pass over the trace: of one policy, of sizes near each other. First those of least recently used,
/// because many of them are one curve, which takes longest.
fn tasks(trace: &Trace, jobs: &[ReplayJob], threads: usize) -> Vec<Vec<usize>> {
    let mut tasks = Vec::new();
    for row in &REPLAYS {
        let mut own: Vec<usize> = (0..jobs.len()).filter(|&job| jobs[job].policy.name == row.name).collect();
        own.sort_by_key(|&job| jobs[job].size);
        let curve = row.together == usize::MAX && own.len() >= CURVE_FROM;
        // A share for every thread, and no more than memory allows.
        let share = if row.together == usize::MAX { 1 } else { row.together.min(own.len().div_ceil(threads.max(1))) };
        while !own.is_empty() {
            let mut sum = 0;
            let fits = |job: &&usize| {
                sum += u64::from(jobs[**job].size.min(trace.page_count()));
                sum <= TASK_PAGES
            };
            let most = share.min(most_of(trace.page_count()));
            let count = if curve { own.len() } else { own.iter().take(most).take_while(fits).count().max(1) };
            tasks.push(own.drain(..count).collect());
        }
    }
    tasks
}

/// Sizes of a task on a trace of `pages` pages: at most a number of each page is kept for each size, and that in 256 MiB.
fn most_of(pages: u32) -> usize {
    (TASK_PAGES * 2 / u64::from(pages.max(1))).clamp(1, 64) as usize
}
