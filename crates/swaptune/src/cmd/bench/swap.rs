//! `swaptune bench swap`.

use std::thread::available_parallelism;

use swaptune_bench::swap::{DiskPlace, SwapError, SwapOutcome, SwapPlan, SwapWish, check, jobs, run as measure};
use swaptune_core::Facts;
use swaptune_core::measurement::{Measurement, ResultFigures};
use swaptune_core::proof::CanaryClass;
use swaptune_host::inspect::{InspectScope, inspect};
use swaptune_host::stop::Stop;

use super::recorder;
use crate::cli::{ClassArg, ResultsArgs, SwapArgs, TierArg};
use crate::cmd::Context;
use crate::failure::{FINDINGS, Failure, REFUSED};
use crate::output::progress::ProgressLine;
use crate::output::{self, swap};

/// Pages of a quick look.
const QUICK: (u64, u64) = (2048, 512);

/// Measures, keeps, and prints the ladder.
pub fn run(context: &Context, results: &ResultsArgs, args: &SwapArgs) -> Result<u8, Failure> {
    let facts = inspect(&context.machine, InspectScope { log: false, config: true, ..InspectScope::STATUS });
    check(&context.machine, &facts)?;
    let plan = plan(args, &facts);
    if plan.jobs.is_empty() {
        let message = "this kernel has nothing of what was asked for";
        return Err(Failure::new(REFUSED, message).hint("`swaptune inspect` shows its zswap, zram and compressors"));
    }
    let mut recorder = recorder(context, results, &command(args))?;
    let stop = Stop::on_signals().map_err(|error| Failure::new(1, format!("signals: {error}")))?;
    let outcome = {
        let progress = ProgressLine::start();
        measure(&context.machine, &plan, &stop, &mut |what, done, of| progress.show(what, done, of))?
    };
    if let Some(what) = &outcome.recovered {
        output::message(what);
    }
    let figures = outcome.figures.iter().cloned().map(ResultFigures::Swap);
    let measurements = recorder.record_under(figures.zip(outcome.parameters.iter().cloned()))?;
    print(context, &outcome, &measurements)?;
    Ok(if outcome.stopped || outcome.figures.is_empty() { FINDINGS } else { 0 })
}

fn print(context: &Context, outcome: &SwapOutcome, measurements: &[Measurement]) -> Result<(), Failure> {
    if context.json {
        let SwapOutcome { missed, stopped, .. } = outcome;
        let json = serde_json::json!({ "measurements": measurements, "missed": missed, "stopped": stopped });
        return output::json_versioned(&json);
    }
    output::data(&swap::table(outcome))
}

fn plan(args: &SwapArgs, facts: &Facts) -> SwapPlan {
    let wants = |tier| args.tier.contains(&tier) || args.tier.contains(&TierArg::All);
    let (pages, disk_pages) = if args.quick { QUICK } else { (args.pages, args.disk_pages) };
    let cpus = available_parallelism().map_or(1, |cpus| u32::try_from(cpus.get()).unwrap_or(1));
    let mut threads = if args.threads.is_empty() { vec![1, cpus] } else { args.threads.clone() };
    threads.dedup();
    let wish = SwapWish {
        zswap: wants(TierArg::Zswap),
        zram: wants(TierArg::Zram),
        disk: wants(TierArg::Disk),
        compressors: args.compressor.clone(),
        classes: args.class.iter().copied().map(class).collect(),
        threads,
        page_clusters: args.page_cluster.clone(),
        areas: if args.device.is_some() { vec![1] } else { args.areas.clone() },
        pages,
        disk_pages,
    };
    let place = args.device.clone().map_or_else(|| DiskPlace::Folder(args.dir.clone()), DiskPlace::Area);
    SwapPlan { jobs: jobs(&wish, facts), rounds: if args.quick { 1 } else { args.rounds }, place }
}

fn class(class: ClassArg) -> CanaryClass {
    match class {
        ClassArg::Text => CanaryClass::Text,
        ClassArg::Random => CanaryClass::Random,
        ClassArg::Same => CanaryClass::Same,
        ClassArg::Zero => CanaryClass::Zero,
    }
}

/// What to type to measure the same again.
fn command(args: &SwapArgs) -> String {
    let mut words = "swaptune bench swap".to_owned();
    let mut list = |flag: &str, values: Vec<String>| {
        if !values.is_empty() {
            words += &format!(" --{flag} {}", values.join(","));
        }
    };
    let text = |numbers: &[u32]| numbers.iter().map(u32::to_string).collect();
    let lower = |debug: String| debug.to_lowercase();
    list("tier", args.tier.iter().map(|tier| lower(format!("{tier:?}"))).collect());
    list("compressor", args.compressor.clone());
    list("class", args.class.iter().map(|class| lower(format!("{class:?}"))).collect());
    list("threads", text(&args.threads));
    list("page-cluster", text(&args.page_cluster));
    list("areas", text(&args.areas));
    match &args.device {
        Some(device) => words += &format!(" --device {}", device.display()),
        None => words += &format!(" --dir {}", args.dir.display()),
    }
    if args.quick {
        return words + " --quick";
    }
    words + &format!(" --pages {} --disk-pages {} --rounds {}", args.pages, args.disk_pages, args.rounds)
}

impl From<SwapError> for Failure {
    fn from(error: SwapError) -> Self {
        match error {
            SwapError::Refused { why, hint } => Self::new(REFUSED, why).hint(hint),
            SwapError::Temporary(error) => error.into(),
            other => Self::new(1, other),
        }
    }
}
