//! Throughput: every codec in every round, so that what else the machine does meets them all alike.

use std::sync::Barrier;
use std::thread;
use std::time::{Duration, Instant};

use rustix::time::{ClockId, clock_gettime};
use tracing::info;

use super::BenchError;
use super::pages::BenchPages;
use super::pass::{Buffers, CodecPass};
use swaptune_core::stats::median;

use crate::codec::CodecSetting;

/// A codec on a number of threads.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CodecJob {
    /// The codec.
    pub setting: CodecSetting,
    /// Threads that compress at the same time.
    pub threads: usize,
}

/// Work done, and the processor time that it took.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct CodecWork {
    /// Original data.
    pub bytes: u64,
    /// Of all threads.
    pub time: Duration,
}

impl CodecWork {
    /// Megabytes (10⁶ B) a second of processor time.
    pub fn rate(self) -> f64 {
        self.bytes as f64 / 1e6 / self.time.as_secs_f64().max(1e-9)
    }

    fn add(&mut self, other: Self) {
        self.bytes += other.bytes;
        self.time += other.time;
    }
}

/// What the rounds said of one job, in megabytes (10⁶ B) of original data a second of processor time of each thread.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Rates {
    /// One for each round.
    pub compress: Vec<f64>,
    /// One for each round.
    pub decompress: Vec<f64>,
}

impl Rates {
    /// Median of the rounds.
    #[must_use]
    pub fn median(rates: &[f64]) -> f64 {
        median(rates).unwrap_or(0.0)
    }
}

/// One round of one job: whole passes of one direction until `time` is over, then of the other; every page is looked at.
///
/// # Errors
/// [`BenchError`] of any thread.
pub fn round(
    job: CodecJob,
    pages: &BenchPages,
    buffers: &mut Buffers,
    time: Duration,
    rates: &mut Rates,
) -> Result<(), BenchError> {
    info!("measure {job:?} for {time:?}");
    let benches = CodecPass::split(job.setting, pages, buffers, job.threads)?;
    let barrier = Barrier::new(benches.len());
    let results: Vec<Result<(CodecWork, CodecWork), BenchError>> = thread::scope(|scope| {
        let start = |mut bench: CodecPass<'_>| one_thread(&mut bench, &barrier, time);
        // Without a thread of its own where one is enough.
        let mut benches = benches.into_iter();
        let own = benches.next();
        let handles: Vec<_> = benches.map(|bench| scope.spawn(move || start(bench))).collect();
        let own = own.map(start);
        own.into_iter().chain(handles.into_iter().map(|handle| handle.join().unwrap_or(Err(BenchError::Thread)))).collect()
    });
    let (mut compress, mut decompress) = (CodecWork::default(), CodecWork::default());
    for result in results {
        let (packed, unpacked) = result?;
        compress.add(packed);
        decompress.add(unpacked);
    }
    rates.compress.push(compress.rate());
    rates.decompress.push(decompress.rate());
    Ok(())
}

fn one_thread(bench: &mut CodecPass<'_>, barrier: &Barrier, time: Duration) -> Result<(CodecWork, CodecWork), BenchError> {
    barrier.wait();
    // An error must not keep the other threads waiting.
    let compress = passes(bench, time, CodecPass::compress);
    barrier.wait();
    let compress = compress?;
    let decompress = passes(bench, time, CodecPass::decompress)?;
    bench.verify()?;
    Ok((compress, decompress))
}

/// Whole passes, at least one, until `time` is over.
fn passes<'a>(
    bench: &mut CodecPass<'a>,
    time: Duration,
    pass: impl Fn(&mut CodecPass<'a>) -> Result<(), BenchError>,
) -> Result<CodecWork, BenchError> {
    let (start, mut work) = (Instant::now(), CodecWork::default());
    loop {
        let before = processor_time();
        pass(bench)?;
        work.add(CodecWork { bytes: bench.bytes() as u64, time: processor_time() - before });
        if start.elapsed() >= time {
            return Ok(work);
        }
    }
}

/// Processor time of this thread: what others do on the machine does not count, what they do to the caches does.
#[must_use]
pub fn processor_time() -> Duration {
    let time = clock_gettime(ClockId::ThreadCPUTime);
    Duration::new(u64::try_from(time.tv_sec).unwrap_or_default(), u32::try_from(time.tv_nsec).unwrap_or_default())
}
