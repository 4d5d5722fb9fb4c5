//! `swaptune simulate`: a trace, what memory and which policy, what misses; or scenarios, and what each tiering makes of them.

mod asked;
mod fit;
mod measured;
mod outside;
mod scenario;
mod source;
mod validate;
mod work;

use std::thread::available_parallelism;

use swaptune_tiers::generate::GENERATORS;
use swaptune_tiers::replay::{Job, REPLAYS, ReplayRow, Sizes, accesses, exact_curve, run_all, sampled_curve, sampled_ratios};
use swaptune_tiers::trace::{FORMATS, Keep, Trace};

use super::Context;
use crate::cli::{CurveKind, SimulateArgs};
use crate::failure::{Failure, USAGE};
use crate::output::progress::Progress;
use crate::output::simulate::{Outcome, Report};
use crate::output::{self, simulate, text};

/// Sizes when none are asked for.
const SIZES: &str = "1%,2%,5%,10%,20%,50%";
/// Sizes of a curve when none are asked for.
const CURVE_SIZES: &str = "0.1%..100%:20";

/// Simulates, runs scenarios, or writes the trace, or lists what there is.
pub fn run(context: &Context, args: &SimulateArgs) -> Result<u8, Failure> {
    if args.list {
        return output::data(&simulate::list(&REPLAYS, &GENERATORS, &FORMATS)).map(|()| 0);
    }
    if args.validate.validate {
        return validate::run(context, args);
    }
    if let Some(flag) = lost(args) {
        let message = format!("{flag}: there is no tiering that it could say something about");
        return Err(Failure::new(USAGE, message).hint("name one, for example --tiering zswap:zstd,disk, or a scenario file"));
    }
    if let Some(limit) = args.fit {
        return fit::run(context, args, limit);
    }
    if has_tierings(args) {
        return scenario::run(context, args);
    }
    let sizes = sizes(args)?;
    let policies = policies(&args.policy)?;
    if let Some(rate) = args.rate.filter(|rate| !(*rate > 0.0 && *rate <= 1.0)) {
        return Err(Failure::new(USAGE, format!("--rate {rate}: expected more than 0, at most 1")));
    }
    let keep = if args.output.is_some() { Keep::Everything } else { Keep::Pages };
    let trace = {
        let progress = Progress::start();
        progress.show(if args.trace.is_some() { "reading the trace" } else { "making the trace" }, 0, 1);
        source::trace(args, keep)?
    };
    if let Some(path) = &args.output {
        source::write(&trace, path)?;
        let pages = text::count(trace.page_count() as usize, "page");
        return output::data(&format!("{}: {} of {pages}\n", path.display(), text::count(trace.len(), "event"))).map(|()| 0);
    }
    let outcomes = match args.curve {
        Some(kind) => curve(&trace, kind, args.rate, &sizes.of(trace.page_count())),
        None => replay(&trace, &policies, &sizes.of(trace.page_count()), args.threads),
    };
    print(context, args, &Report { events: trace.len(), accesses: accesses(&trace), pages: trace.page_count(), outcomes })
}

/// True when tierings are run, not bare replays.
fn has_tierings(args: &SimulateArgs) -> bool {
    !args.scenarios.is_empty() || !args.tiering.is_empty() || args.fit.is_some()
}

/// The first flag that says something about tierings, where there are none.
fn lost(args: &SimulateArgs) -> Option<&'static str> {
    let flags = [
        ("--ram", args.ram.is_some()),
        ("--set", !args.set.is_empty()),
        ("--sweep", args.sweep.is_some()),
        ("--report", !args.report.is_empty()),
        ("--page-set", args.page_set.is_some()),
        ("--measured", args.measured),
    ];
    flags.into_iter().find(|(_, given)| *given && !has_tierings(args)).map(|(flag, _)| flag)
}

fn print(context: &Context, args: &SimulateArgs, report: &Report) -> Result<u8, Failure> {
    if context.json {
        output::json_versioned(report)?;
    } else if args.csv {
        output::data(&simulate::csv(report))?;
    } else {
        output::data(&simulate::table(report))?;
    }
    Ok(0)
}

fn sizes(args: &SimulateArgs) -> Result<Sizes, Failure> {
    let usual = if args.curve.is_some() { CURVE_SIZES } else { SIZES };
    args.size.as_deref().unwrap_or(usual).parse().map_err(|error| Failure::new(USAGE, format!("--size: {error}")))
}

fn policies(asked: &[String]) -> Result<Vec<&'static ReplayRow>, Failure> {
    if asked.is_empty() {
        return Ok(REPLAYS.iter().collect());
    }
    let find = |name: &String| {
        let unknown = || Failure::new(USAGE, format!("--policy: there is no policy `{name}`"));
        ReplayRow::named(name).ok_or_else(|| unknown().hint("`swaptune simulate --list` shows all of them"))
    };
    asked.iter().map(find).collect()
}

fn curve(trace: &Trace, kind: CurveKind, rate: Option<f64>, sizes: &[u32]) -> Vec<Outcome> {
    let sampled = match (kind, rate) {
        (CurveKind::Exact, _) => None,
        (CurveKind::Sampled, Some(rate)) => Some(sampled_curve(trace, rate).miss_ratios(sizes)),
        (CurveKind::Sampled, None) => sampled_ratios(trace, sizes),
    };
    // Where a sample would be nearly all pages, all are counted, and the answer bears that name.
    let policy = if sampled.is_some() { "lru-sampled" } else { "lru" };
    let ratios = sampled.unwrap_or_else(|| exact_curve(trace).miss_ratios(sizes));
    let accesses = accesses(trace) as f64;
    let outcome =
        |(&size, miss_ratio): (&u32, f64)| Outcome { policy, size, misses: (miss_ratio * accesses).round() as u64, miss_ratio };
    sizes.iter().zip(ratios).map(outcome).collect()
}

fn replay(trace: &Trace, policies: &[&'static ReplayRow], sizes: &[u32], threads: Option<u16>) -> Vec<Outcome> {
    let jobs: Vec<Job> = policies.iter().flat_map(|policy| sizes.iter().map(|&size| Job { policy, size })).collect();
    let threads = threads.map_or_else(|| available_parallelism().map_or(1, usize::from), usize::from);
    let progress = Progress::start();
    let misses = run_all(trace, &jobs, threads, &|done| progress.show("replays", done, jobs.len()));
    let accesses = accesses(trace).max(1) as f64;
    let outcome = |(job, misses): (&Job, u64)| Outcome {
        policy: job.policy.name,
        size: job.size,
        misses,
        miss_ratio: misses as f64 / accesses,
    };
    jobs.iter().zip(misses).map(outcome).collect()
}
