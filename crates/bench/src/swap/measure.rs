//! One job, once: pages out, settled, back, compared.

use std::thread;
use std::time::{Duration, Instant};

use swaptune_core::measurement::{LandingFigures, MemoryOrder, SwapTier};
use swaptune_core::proof::{CanaryClass, Snapshot};
use swaptune_core::stats::{Nanos, Quantiles};
use swaptune_host::inspect::{InspectScope, inspect};
use swaptune_host::machine::Machine;
use swaptune_host::prove::counters::CounterFiles;
use swaptune_host::prove::pages::CanaryPages;
use swaptune_host::stop::Stop;
use swaptune_host::temporary::TemporarySettings;
use tracing::info;

use super::{BenchTier, SwapError, SwapJob, landing, places};

/// Longest time to wait until a disk has written the pages of a job, and to read them back one by one.
const PATIENCE: Duration = Duration::from_secs(20);
/// Readings of the clock that tell what one costs.
const CLOCK_READINGS: usize = 20_000;
/// How often a loop looks whether it shall stop.
const LOOK: usize = 256;
/// Pages that are stored and rejected until the pool is written back, and how many times without progress are enough.
const POKES: u64 = 32;
const TIRED: u32 = 200;

/// What one round of a job showed.
pub(super) struct RoundFigures {
    pub stores: Vec<u64>,
    pub loads: Vec<u64>,
    /// Nanoseconds that each sample contains and that are the clock's.
    pub overhead: u64,
    pub stores_per_second: f64,
    pub loads_per_second: f64,
    pub landing: LandingFigures,
    /// The tier by the kernel's counters, or how they disagree with what was meant.
    pub landed: Result<SwapTier, String>,
}

/// Samples of one thread, and when it worked.
struct TimedSamples {
    nanos: Vec<u64>,
    from: Instant,
    to: Instant,
}

/// Measures a job once; `None` when it was stopped.
pub(super) fn once(
    machine: &Machine,
    temporary: &mut TemporarySettings,
    job: &SwapJob,
    stop: &Stop,
) -> Result<Option<RoundFigures>, SwapError> {
    info!("measure {job}");
    let facts = inspect(machine, InspectScope { log: false, ..InspectScope::STATUS });
    let counters = CounterFiles::new(machine, &facts);
    let page = machine.page_size();
    let mut all = (0..job.threads)
        .map(|number| CanaryPages::new(job.class, job.pages, page, seed(number)))
        .collect::<Result<Vec<_>, _>>()?;
    let overhead = clock();
    let before = counters.read()?;
    let stored = store(&mut all, stop)?;
    if let BenchTier::Writeback { .. } = job.tier {
        write_back(machine, temporary, &counters, &before, job)?;
    }
    settle(&mut all, &counters, &before)?;
    let out = counters.read()?;
    let (loaded, skipped) = load(&mut all, job.order, stop)?;
    let back = counters.read()?;
    if stop.is_asked() {
        return Ok(None);
    }
    for canary in &all {
        if let Some(at) = canary.check() {
            return Err(SwapError::Corrupt { job: job.to_string(), at });
        }
    }
    drop(all);
    let landing = landing::landing(job.pages * u64::from(job.threads), &before, &out, &back);
    let touched = loaded.iter().map(|timed| timed.nanos.len() as u64).sum();
    let disks = places::disks(&facts);
    let landed = landing::judge(job, &landing, touched, skipped, disks, places::zswap(&facts));
    let (stores_per_second, loads_per_second) = (rate(&stored), rate(&loaded));
    Ok(Some(RoundFigures {
        stores: flat(stored),
        loads: flat(loaded),
        overhead,
        stores_per_second,
        loads_per_second,
        landing,
        landed,
    }))
}

/// Other pages in each round and thread: none may be found by another's content.
fn seed(thread: u32) -> u64 {
    let since = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).unwrap_or_default();
    (since.as_nanos() as u64) ^ (u64::from(thread) << 56)
}

/// Median time between two readings of the clock.
fn clock() -> u64 {
    let mut nanos: Vec<u64> = (0..CLOCK_READINGS).map(|_| since(Instant::now())).collect();
    Quantiles::of(&mut nanos, Nanos(0)).map_or(0, |quantiles| quantiles.p50.0)
}

fn since(start: Instant) -> u64 {
    u64::try_from(start.elapsed().as_nanos()).unwrap_or(u64::MAX)
}

/// Pages a second of all threads: from the first one's start to the last one's end.
fn rate(timed: &[TimedSamples]) -> f64 {
    let pages: usize = timed.iter().map(|timed| timed.nanos.len()).sum();
    let from = timed.iter().map(|timed| timed.from).min();
    let to = timed.iter().map(|timed| timed.to).max();
    let seconds = from.zip(to).map_or(0.0, |(from, to)| (to - from).as_secs_f64());
    if seconds > 0.0 { pages as f64 / seconds } else { 0.0 }
}

fn flat(timed: Vec<TimedSamples>) -> Vec<u64> {
    timed.into_iter().flat_map(|timed| timed.nanos).collect()
}

/// Does the same on each thread's pages at once.
fn on_each<T: Send>(
    all: &mut [CanaryPages],
    work: impl Fn(&mut CanaryPages) -> Result<T, SwapError> + Sync,
) -> Result<Vec<T>, SwapError> {
    let work = &work;
    thread::scope(|scope| {
        let threads: Vec<_> = all.iter_mut().map(|canary| scope.spawn(move || work(canary))).collect();
        let join = |thread: thread::ScopedJoinHandle<'_, Result<T, SwapError>>| {
            thread.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic))
        };
        threads.into_iter().map(join).collect()
    })
}

/// Pushes page by page. A page that did not go at the first try gives no sample.
fn store(all: &mut [CanaryPages], stop: &Stop) -> Result<Vec<TimedSamples>, SwapError> {
    on_each(all, |canary| {
        let mut samples = Vec::with_capacity(canary.count());
        let from = Instant::now();
        for number in 0..canary.count() {
            let start = Instant::now();
            canary.push_page(number).map_err(SwapError::PageOut)?;
            samples.push(since(start));
            if number % LOOK == 0 && stop.is_asked() {
                break;
            }
        }
        let to = Instant::now();
        let late = canary.push_stragglers().map_err(SwapError::PageOut)?;
        let mut is_late = vec![false; canary.count()];
        late.into_iter().for_each(|number| is_late[number] = true);
        let nanos = samples.into_iter().zip(is_late).filter(|(_, is_late)| !is_late).map(|(nanos, _)| nanos).collect();
        Ok(TimedSamples { nanos, from, to })
    })
}

/// Waits until a disk has written them and no copy is left in RAM.
fn settle(all: &mut [CanaryPages], counters: &CounterFiles<'_>, before: &Snapshot) -> Result<(), SwapError> {
    let keeps_slots = before.get("meminfo.SwapFree") > before.get("meminfo.SwapTotal").map(|total| total / 2);
    let written = counters.read()?.since(before, "vmstat.pswpout") != Some(0);
    let limit = if written { PATIENCE } else { Duration::from_millis(5) };
    on_each(all, |canary| Ok(canary.settle(limit, keeps_slots)?)).map(|_| ())
}

/// Touches every page and times each touch, but those of pages that are in RAM before it begins. Says how many these are.
fn load(all: &mut [CanaryPages], order: MemoryOrder, stop: &Stop) -> Result<(Vec<TimedSamples>, u64), SwapError> {
    let timed = on_each(all, |canary| {
        let mut here = vec![false; canary.count()];
        canary.resident()?.into_iter().for_each(|number| here[number] = true);
        let away: Vec<usize> = numbers(order, canary.count()).into_iter().filter(|number| !here[*number]).collect();
        let mut nanos = Vec::with_capacity(away.len());
        let from = Instant::now();
        for number in &away {
            let start = Instant::now();
            canary.touch_page(*number);
            nanos.push(since(start));
            if nanos.len() % LOOK == 0 && (stop.is_asked() || from.elapsed() > PATIENCE) {
                break;
            }
        }
        let skipped = (canary.count() - away.len()) as u64;
        Ok((TimedSamples { nanos, from, to: Instant::now() }, skipped))
    })?;
    let skipped = timed.iter().map(|(_, skipped)| skipped).sum();
    Ok((timed.into_iter().map(|(timed, _)| timed).collect(), skipped))
}

/// All pages in their order, or in one that no read-ahead can guess (Fisher and Yates, splitmix64).
fn numbers(order: MemoryOrder, count: usize) -> Vec<usize> {
    let mut numbers: Vec<usize> = (0..count).collect();
    if order == MemoryOrder::Random {
        let mut state = 0x5eed_u64;
        for last in (1..count).rev() {
            state = state.wrapping_add(0x9e37_79b9_7f4a_7c15);
            let mixed = (state ^ (state >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
            let mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
            numbers.swap(last, ((mixed ^ (mixed >> 31)) % (last as u64 + 1)) as usize);
        }
    }
    numbers
}

/// Makes zswap write its pool back: a limit of zero rejects every further store, and each rejection starts the worker that
/// drains the pool (mm/zswap.c, `shrink_worker`).
fn write_back(
    machine: &Machine,
    temporary: &mut TemporarySettings,
    counters: &CounterFiles<'_>,
    before: &Snapshot,
    job: &SwapJob,
) -> Result<(), SwapError> {
    temporary.knob("zswap.max_pool_percent", "0")?;
    let all = job.pages * u64::from(job.threads);
    let mut pokes = CanaryPages::new(CanaryClass::Text, POKES, machine.page_size(), seed(job.threads))?;
    let (begun, mut written, mut tired) = (Instant::now(), 0, 0);
    while written < all && tired < TIRED && begun.elapsed() < PATIENCE {
        for number in 0..pokes.count() {
            pokes.dirty_page(number);
            pokes.push_page(number).map_err(SwapError::PageOut)?;
        }
        thread::sleep(Duration::from_millis(2));
        let now = counters.read()?.since(before, "vmstat.zswpwb").unwrap_or(0).max(0).unsigned_abs();
        tired = if now > written { 0 } else { tired + 1 };
        written = now;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_order_is_complete() {
        for order in [MemoryOrder::Sequential, MemoryOrder::Random] {
            for count in [0, 1, 2, 1000] {
                let mut numbers = numbers(order, count);
                assert_eq!(numbers.is_sorted(), order == MemoryOrder::Sequential || count < 2 || numbers == [0, 1]);
                numbers.sort_unstable();
                assert!(numbers.into_iter().eq(0..count));
            }
        }
    }

    #[test]
    fn a_rate_is_that_of_all_threads_together() {
        let from = Instant::now();
        let timed = |pages: usize, from, to| TimedSamples { nanos: vec![1; pages], from, to };
        let (later, end) = (from + Duration::from_millis(500), from + Duration::from_secs(1));
        assert_eq!(rate(&[timed(10, from, later), timed(30, later, end)]), 40.0);
        assert_eq!(rate(&[]), 0.0);
    }
}
