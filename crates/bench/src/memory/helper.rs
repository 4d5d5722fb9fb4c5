//! The helper process: fills memory and accesses it, or holds it.
//!
//! A process of its own, so that a memory limit applies to it alone and the out-of-memory killer takes it alone.

use std::io::{self, BufRead, Write};
use std::panic::resume_unwind;
use std::sync::atomic::{AtomicU8, AtomicU64};
use std::time::{Duration, Instant};

use swaptune_core::Bytes;
use swaptune_core::measurement::{MemoryData, MemoryOrder};
use swaptune_host::child;
use swaptune_host::sys::OwnRegion;

use super::access::Loop;
use super::cell::{Cell, PAGE, fill};
use super::wake;
use super::work::{HelperTask, MemoryReady, PARTS, Pattern, WorkDone};
use crate::process::say;

/// Memory that fits into any first cache, for each thread.
const CACHED: usize = 4 * PAGE;
/// How long the loop itself is measured.
const CEILING: Duration = Duration::from_millis(30);

/// Serves the process `parent`, which is ours: does the task of the first line, and dies with it.
///
/// # Errors
/// What the kernel says when there is no memory, or a pipe is closed.
pub fn serve(parent: u32, mut input: impl BufRead, output: impl Write) -> io::Result<()> {
    child::die_with(parent)?;
    let task = task(&mut input)?;
    if !matches!(task, HelperTask::Hold { spared: true, .. }) {
        child::go_first()?;
    }
    work(task, input, output)
}

/// What the first line says.
fn task(input: &mut impl BufRead) -> io::Result<HelperTask> {
    let mut line = String::new();
    input.read_line(&mut line)?;
    Ok(serde_json::from_str(&line)?)
}

fn work(task: HelperTask, mut input: impl BufRead, mut output: impl Write) -> io::Result<()> {
    match task {
        HelperTask::Access { pattern, size, millis } if pattern.block.0 == 1 => {
            access::<AtomicU8>(&pattern, size, Duration::from_millis(millis), input, output)
        }
        HelperTask::Access { pattern, size, millis } => {
            access::<AtomicU64>(&pattern, size, Duration::from_millis(millis), input, output)
        }
        HelperTask::Hold { size, spared } => {
            let mut held = OwnRegion::new(length(size)?)?;
            let locked = child::lock_memory().is_ok();
            // Locking has taken the pages already; what may be swapped out must not compress.
            if !(locked && spared) {
                fill(MemoryData::High, held.word_cells(), 99);
            }
            say(&mut output, &MemoryReady { ceiling_mb_per_second: 0.0, locked })?;
            io::copy(&mut input, &mut io::sink()).map(drop)
        }
        HelperTask::Wake { size, seed } => wake::serve(length(size)?, seed, input, output),
    }
}

fn length(size: Bytes) -> io::Result<usize> {
    usize::try_from(size.0).map_err(io::Error::other)
}

fn access<C: Cell>(
    pattern: &Pattern,
    size: Bytes,
    time: Duration,
    mut input: impl BufRead,
    mut output: impl Write,
) -> io::Result<()> {
    let ceiling = ceiling::<C>(pattern)?;
    let mut region = OwnRegion::new(length(size)?)?;
    fill_all(pattern, &mut region);
    say(&mut output, &MemoryReady { ceiling_mb_per_second: ceiling, locked: false })?;
    let mut go = String::new();
    if input.read_line(&mut go)? == 0 {
        return Ok(());
    }
    say(&mut output, &timed(C::of(&mut region), pattern, time))
}

/// Speed of the loop over memory that fits into the first cache, all threads.
fn ceiling<C: Cell>(pattern: &Pattern) -> io::Result<f64> {
    let threads = pattern.threads.max(1);
    let mut region = OwnRegion::new(CACHED * threads as usize)?;
    fill_all(pattern, &mut region);
    // At random, too, each thread has memory of its own here.
    let parts: Vec<&[C]> = C::of(&mut region).chunks(CACHED / C::SIZE).collect();
    let done = race(&parts, &Pattern { block: Bytes(pattern.block.0.min(CACHED as u64)), ..*pattern }, CEILING, PARTS);
    // The best part: what others took of the processor is no limit of the loop.
    Ok(done.parts.into_iter().fold(0.0, f64::max))
}

fn fill_all(pattern: &Pattern, region: &mut OwnRegion) {
    let words = region.word_cells();
    let share = words.len().div_ceil(pattern.threads.max(1) as usize).max(1);
    std::thread::scope(|scope| {
        for (number, part) in words.chunks(share).enumerate() {
            scope.spawn(move || fill(pattern.data, part, number as u64));
        }
    });
}

/// Accesses all memory for a time.
fn timed<C: Cell>(memory: &[C], pattern: &Pattern, time: Duration) -> WorkDone {
    let threads = pattern.threads.max(1) as usize;
    let share = memory.len() * C::SIZE / threads / PAGE * PAGE / C::SIZE;
    let parts: Vec<&[C]> = match pattern.order {
        MemoryOrder::Random => vec![memory; threads],
        MemoryOrder::Sequential => memory.chunks_exact(share.max(1)).take(threads).collect(),
    };
    race(&parts, pattern, time, PARTS)
}

/// One thread for each part of the memory, all at once; the time is divided into `slices`.
fn race<C: Cell>(parts: &[&[C]], pattern: &Pattern, time: Duration, slices: u32) -> WorkDone {
    let start = Instant::now();
    let run = |seed: usize, part: &[C]| {
        let mut cells = Loop::new(part, pattern, seed as u64);
        (1..=slices)
            .map(|slice| {
                let begun = Instant::now();
                let bytes = cells.run(start + time * slice / slices);
                (bytes, begun.elapsed())
            })
            .collect::<Vec<_>>()
    };
    let threads: Vec<Vec<(u64, Duration)>> = std::thread::scope(|scope| {
        let handles: Vec<_> = parts.iter().enumerate().map(|(seed, part)| scope.spawn(move || run(seed, part))).collect();
        handles.into_iter().map(|handle| handle.join().unwrap_or_else(|panic| resume_unwind(panic))).collect()
    });
    // A part of the time that an access of the part before took away tells nothing.
    let tells = |(bytes, took): &&(u64, Duration)| *bytes > 0 || *took > time / slices / 2;
    let speed = |slice: usize| {
        let of_threads = threads.iter().filter_map(|thread| thread.get(slice)).filter(tells);
        of_threads.map(|(bytes, took)| mb_s(*bytes, *took)).reduce(|sum, speed| sum + speed)
    };
    WorkDone {
        bytes: threads.iter().flatten().map(|(bytes, _)| bytes).sum(),
        nanos: u64::try_from(start.elapsed().as_nanos()).unwrap_or(u64::MAX),
        parts: (0..slices as usize).filter_map(speed).collect(),
    }
}

/// 10⁶ bytes a second.
pub fn mb_s(bytes: u64, time: Duration) -> f64 {
    bytes as f64 / 1e6 / time.as_secs_f64().max(1e-9)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn answers(task: &HelperTask, go: &str) -> Vec<serde_json::Value> {
        let input = format!("{}\n{go}", serde_json::to_string(task).unwrap());
        let (mut input, mut output) = (input.as_bytes(), Vec::new());
        let task = super::task(&mut input).unwrap();
        work(task, input, &mut output).unwrap();
        String::from_utf8(output).unwrap().lines().map(|line| serde_json::from_str(line).unwrap()).collect()
    }

    fn task(order: MemoryOrder, write: bool, block: u64, threads: u32) -> HelperTask {
        let pattern = Pattern { data: MemoryData::High, order, write, block: Bytes(block), threads };
        HelperTask::Access { pattern, size: Bytes::from_mib(1), millis: 20 }
    }

    #[test]
    fn every_pattern_gives_a_speed_for_each_part_of_the_time() {
        for order in [MemoryOrder::Sequential, MemoryOrder::Random] {
            for (write, block, threads) in [(false, 1, 1), (true, 1, 3), (false, 4096, 2), (true, 1 << 20, 1)] {
                let answers = answers(&task(order, write, block, threads), "go\n");
                let ready: MemoryReady = serde_json::from_value(answers[0].clone()).unwrap();
                let done: WorkDone = serde_json::from_value(answers[1].clone()).unwrap();
                assert!(ready.ceiling_mb_per_second > 0.0);
                assert!(done.bytes > 0 && done.nanos >= 20_000_000, "{done:?}");
                assert!(!done.parts.is_empty() && done.parts.len() <= PARTS as usize, "{done:?}");
            }
        }
    }

    #[test]
    fn a_parent_that_says_nothing_more_gets_no_measurement() {
        assert_eq!(answers(&task(MemoryOrder::Sequential, false, 1, 1), "").len(), 1);
    }

    #[test]
    fn one_that_wakes_says_how_long_it_took_until_it_was_told_to_end() {
        let answers = answers(&HelperTask::Wake { size: Bytes::from_mib(1), seed: 1 }, "");
        assert_eq!(answers.len(), 2, "ready, and what it found: {answers:?}");
    }

    #[test]
    fn what_is_no_task_is_not_begun() {
        assert!(super::task(&mut &b"{}\n"[..]).is_err());
        assert!(super::task(&mut &b""[..]).is_err());
    }
}
