//! `simulate replay`: what memories of several sizes miss of a trace, counted exactly.

use std::thread::available_parallelism;

use swaptune_tiers::replay::{
    REPLAYS, ReplayJob, ReplayRow, Sizes, accesses, exact_curve, run_all, sampled_curve, sampled_pages, sampled_ratios,
};
use swaptune_tiers::trace::{KeptColumns, Trace};

use super::trace_file;
use crate::cli::{CurveKind, ReplayArgs};
use crate::cmd::Context;
use crate::cmd::bench::typed;
use crate::failure::{Failure, USAGE};
use crate::output::progress::ProgressLine;
use crate::output::simulate::{PolicyMisses, ReplayReport};
use crate::output::{self, simulate};

/// Sizes when none are asked for.
const SIZES: &str = "1%,2%,5%,10%,20%,50%";
/// Sizes of a curve when none are asked for.
const CURVE_SIZES: &str = "0.1%..100%:20";
/// Pages of a sample that say something: with fewer one hot page more or less moves a ratio by several points.
const LEAST_SAMPLED: u32 = 300;

/// Replays and prints.
pub fn run(context: &Context, args: &ReplayArgs) -> Result<u8, Failure> {
    let sizes = sizes(args)?;
    let policies = policies(&args.policy)?;
    if let Some(rate) = args.rate.filter(|rate| !(*rate > 0.0 && *rate <= 1.0)) {
        return Err(Failure::new(USAGE, format!("--rate {rate}: expected more than 0, at most 1")));
    }
    let trace = trace_file::read(&args.workload, KeptColumns::Pages)?;
    if let (Some(CurveKind::Sampled), Some(rate)) = (args.curve, args.rate) {
        enough(&trace, rate)?;
    }
    let sizes = sizes.of(trace.page_count());
    let outcomes = match args.curve {
        Some(kind) => curve(&trace, kind, args.rate, &sizes),
        None => replay(&trace, &policies, &sizes, args.threads),
    };
    let report = ReplayReport { events: trace.len(), accesses: accesses(&trace), pages: trace.page_count(), outcomes };
    if context.json {
        output::json_versioned(&report)?;
    } else {
        output::data(&if args.csv { simulate::csv(&report) } else { simulate::table(&report) })?;
    }
    if let Some(path) = &args.html {
        output::report::write(path, &simulate::html(&report, &typed(), env!("SWAPTUNE_VERSION")))?;
    }
    Ok(0)
}

/// Whether a sample of this rate says anything; with all pages it does.
fn enough(trace: &Trace, rate: f64) -> Result<(), Failure> {
    let (sampled, pages) = (sampled_pages(trace, rate), trace.page_count());
    if sampled >= LEAST_SAMPLED.min(pages) {
        return Ok(());
    }
    let message = format!("--rate {rate}: found {sampled} of {pages} pages in the sample, expected {LEAST_SAMPLED} or more");
    let share = (f64::from(LEAST_SAMPLED) / f64::from(pages) * 110.0).ceil().min(100.0) / 100.0;
    Err(Failure::new(USAGE, message).hint(format!("--rate {share} has enough; without --rate it follows from the sizes")))
}

fn sizes(args: &ReplayArgs) -> Result<Sizes, Failure> {
    let usual = if args.curve.is_some() { CURVE_SIZES } else { SIZES };
    args.size.as_deref().unwrap_or(usual).parse().map_err(|error| Failure::new(USAGE, format!("--size: {error}")))
}

fn policies(asked: &[String]) -> Result<Vec<&'static ReplayRow>, Failure> {
    if asked.is_empty() {
        return Ok(REPLAYS.iter().collect());
    }
    let find = |name: &String| {
        let known = REPLAYS.iter().map(|row| row.name).collect::<Vec<_>>().join(", ");
        let unknown = || Failure::new(USAGE, format!("--policy: unknown policy `{name}`; expected one of {known}"));
        ReplayRow::named(name).ok_or_else(unknown)
    };
    asked.iter().map(find).collect()
}

fn curve(trace: &Trace, kind: CurveKind, rate: Option<f64>, sizes: &[u32]) -> Vec<PolicyMisses> {
    let sampled = match (kind, rate) {
        (CurveKind::Exact, _) => None,
        (CurveKind::Sampled, Some(rate)) => Some(sampled_curve(trace, rate).miss_ratios(sizes)),
        (CurveKind::Sampled, None) => sampled_ratios(trace, sizes),
    };
    // Where a sample would be nearly all pages, all are counted, and the answer bears that name.
    let policy = if sampled.is_some() { "lru-sampled" } else { "lru" };
    let ratios = sampled.unwrap_or_else(|| exact_curve(trace).miss_ratios(sizes));
    let accesses = accesses(trace) as f64;
    let outcome = |(&size, miss_ratio): (&u32, f64)| PolicyMisses {
        policy,
        size,
        misses: (miss_ratio * accesses).round() as u64,
        miss_ratio,
    };
    sizes.iter().zip(ratios).map(outcome).collect()
}

fn replay(trace: &Trace, policies: &[&'static ReplayRow], sizes: &[u32], threads: Option<u16>) -> Vec<PolicyMisses> {
    let jobs: Vec<ReplayJob> = policies.iter().flat_map(|policy| sizes.iter().map(|&size| ReplayJob { policy, size })).collect();
    let threads = threads.map_or_else(|| available_parallelism().map_or(1, usize::from), usize::from);
    let progress = ProgressLine::start();
    let misses = run_all(trace, &jobs, threads, &|done| progress.show("replays", done, jobs.len()));
    let accesses = accesses(trace).max(1) as f64;
    let outcome = |(job, misses): (&ReplayJob, u64)| PolicyMisses {
        policy: job.policy.name,
        size: job.size,
        misses,
        miss_ratio: misses as f64 / accesses,
    };
    jobs.iter().zip(misses).map(outcome).collect()
}
