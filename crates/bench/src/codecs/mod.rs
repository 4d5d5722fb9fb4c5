//! `bench codecs`: what each codec makes of pages, how fast, and what the kernel's pools make of that.
//!
//! All codecs run in every round, so that the noise of a shared machine meets them alike; rates are per second of processor time, and
//! the median of the rounds is reported. Each page is compared with what it was, in every round.

mod choice;
mod kernel;
mod kernel_has;
mod pages;
mod pass;
mod rounds;
mod synthetic;
#[cfg(test)]
mod tests;
mod verdict;
mod walk;

use std::time::Duration;

use swaptune_core::Facts;
use swaptune_core::measurement::{CodecFigures, CodecPath};
use swaptune_core::stats::Quantiles;
use thiserror::Error;

pub use kernel::{
    CodecLeftOut, KernelError, KernelOutcome, KernelPlan, KernelRow, NAMES, Predicted, measure_kernel, open_kernel,
};
pub use kernel_has::in_zram;
pub use kernel_has::{CodecPresence, InKernel};
pub use pages::{BenchPages, PageSource, PagesError, SourceError};
pub use pass::{Buffers, CodecPass, Laps, clock_overhead};
pub use rounds::{CodecJob, Rates, processor_time, round};
pub use synthetic::Content;
pub use verdict::{CodecVerdict, verdicts};
pub use walk::WalkError;

use crate::codec::{CodecError, CodecSetting, counted};
use crate::pools;

/// How often each codec takes its turn.
const ROUNDS: u32 = 5;

/// The rows of a table when none are asked for. The first is the bound; those without a level are what zswap can use.
pub const USUAL: &[&str] = &[
    "memcpy", "lz4", "lz4:3", "lz4:17", "lz4hc", "zstd:-5", "zstd:-4", "zstd:-3", "zstd:-2", "zstd:-1", "zstd:1", "zstd",
    "zstd:6", "deflate",
];

/// A benchmark that cannot go on.
#[derive(Debug, Error)]
pub enum BenchError {
    /// A library refuses.
    #[error(transparent)]
    Codec(#[from] CodecError),
    /// A page came back different.
    #[error("{}: page {page} came back different from what was compressed", .setting)]
    Changed {
        /// The codec.
        setting: CodecSetting,
        /// Which page, from 0.
        page: u64,
    },
    /// A page grew to more than twice its size.
    #[error("{}: page {page} does not fit into two pages", .setting)]
    NoRoom {
        /// The codec.
        setting: CodecSetting,
        /// Which page, from 0.
        page: u64,
    },
    /// A thread of the benchmark panicked.
    #[error("a thread of the benchmark died")]
    Thread,
}

/// What to measure.
#[derive(Clone, Debug)]
pub struct CodecsPlan {
    /// Codecs, in the order of the table.
    pub settings: Vec<CodecSetting>,
    /// Numbers of threads, ascending, beginning with 1.
    pub threads: Vec<usize>,
    /// Codecs that are also measured on more than one thread.
    pub scaled: Vec<CodecSetting>,
    /// Time for each codec, number of threads and direction, at least; a round takes whole passes.
    pub time: Duration,
}

/// What was measured of one codec.
#[derive(Clone, Debug)]
pub struct CodecRow {
    /// The codec.
    pub setting: CodecSetting,
    /// The numbers.
    pub figures: CodecFigures,
    /// Where this kernel has it.
    pub in_kernel: InKernel,
}

impl CodecRow {
    /// True for the row that is no codec.
    #[must_use]
    pub fn is_memcpy(&self) -> bool {
        self.setting.codec().name == "memcpy"
    }
}

/// One job and what is known of it so far.
struct CodecProgress {
    job: CodecJob,
    rates: Rates,
    sizes: Vec<usize>,
    latencies: (Option<Quantiles>, Option<Quantiles>),
}

/// Measures everything in [`CodecsPlan`]; `tell` is called before each step with what it is and how many of how many are done.
///
/// # Errors
/// [`BenchError`] when a codec fails, above all when a page comes back different.
pub fn measure(
    plan: &CodecsPlan,
    pages: &BenchPages,
    facts: &Facts,
    mut tell: impl FnMut(&CodecJob, usize, usize),
) -> Result<Vec<CodecRow>, BenchError> {
    let mut jobs: Vec<CodecProgress> = jobs(plan).map(CodecProgress::new).collect();
    let mut buffers = Buffers::new(pages, plan.threads.iter().copied().max().unwrap_or(1));
    let steps = jobs.len() * (ROUNDS as usize + 1);
    let mut done = 0;
    for progress in &mut jobs {
        tell(&progress.job, done, steps);
        progress.warm_up(pages, &mut buffers)?;
        done += 1;
    }
    for _ in 0..ROUNDS {
        for progress in &mut jobs {
            tell(&progress.job, done, steps);
            round(progress.job, pages, &mut buffers, plan.time / ROUNDS, &mut progress.rates)?;
            done += 1;
        }
    }
    Ok(jobs.into_iter().map(|progress| progress.row(pages, facts)).collect())
}

fn jobs(plan: &CodecsPlan) -> impl Iterator<Item = CodecJob> {
    let one = plan.settings.iter().map(|setting| CodecJob { setting: *setting, threads: 1 });
    let several = plan.threads.iter().filter(|threads| **threads > 1);
    one.chain(several.flat_map(|threads| plan.scaled.iter().map(|setting| CodecJob { setting: *setting, threads: *threads })))
}

impl CodecProgress {
    fn new(job: CodecJob) -> Self {
        Self { job, rates: Rates::default(), sizes: Vec::new(), latencies: (None, None) }
    }

    /// Sizes and the time of each page, which do not need rounds; brings code and data into the caches.
    fn warm_up(&mut self, pages: &BenchPages, buffers: &mut Buffers) -> Result<(), BenchError> {
        for bench in &mut CodecPass::split(self.job.setting, pages, buffers, self.job.threads)? {
            bench.compress()?;
            bench.decompress()?;
            bench.verify()?;
            if self.job.threads == 1 {
                self.latencies = bench.latencies()?;
            }
            self.sizes.extend(bench.sizes());
        }
        Ok(())
    }

    fn row(self, pages: &BenchPages, facts: &Facts) -> CodecRow {
        let setting = self.job.setting;
        let in_kernel = InKernel::of(setting, facts);
        let page_size = pages.page_size();
        let stored: usize = self.sizes.iter().map(|size| counted(Some(*size), page_size)).sum();
        let pools =
            if setting.codec().name == "memcpy" { Vec::new() } else { pools::pools(&facts.kernel, page_size, &self.sizes) };
        let figures = CodecFigures {
            codec: setting.to_string(),
            path: CodecPath::Library,
            pages_of: pages.of.clone(),
            pages: pages.count() as u64,
            threads: u32::try_from(self.job.threads).unwrap_or(u32::MAX),
            compress_mb_s: Some(Rates::median(&self.rates.compress)),
            decompress_mb_s: Some(Rates::median(&self.rates.decompress)),
            compress: self.latencies.0,
            decompress: self.latencies.1,
            ratio: pages.bytes().len() as f64 / stored.max(1) as f64,
            pools,
            in_kernel: in_kernel.text(),
        };
        CodecRow { setting, figures, in_kernel }
    }
}
