//! `swaptune bench density`.

use swaptune_bench::density::{
    DensityError, DensityOptions, DensityOutcome, KINDS, Launch, check, run as measure, run_in_place, sample_service, try_service,
};
use swaptune_bench::results::ResultRecorder;
use swaptune_bench::sample::fresh_seed;
use swaptune_bench::space::SpaceError;
use swaptune_bench::variant::{BUILT_IN, NOW, Spec, SpecError, Variant, VariantOutcome, pose, split};
use swaptune_core::measurement::{DensityFigures, Evidence, Measurement, ResultFigures};
use swaptune_core::{Bytes, Facts};
use swaptune_host::daemon_status;
use swaptune_host::inspect::{InspectScope, inspect};
use swaptune_host::stop::Stop;

use super::{helper, needs_live, recorder, say_what_else_swaps, typed};
use crate::cli::{DensityArgs, ResultsArgs, WantedArgs};
use crate::cmd::Context;
use crate::configuration;
use crate::failure::{FINDINGS, Failure, REFUSED, USAGE};
use crate::output::progress::ProgressLine;
use crate::output::{self, density};

/// Memory of the services where nothing else is said.
const USUAL: Bytes = Bytes::from_gib(1);
/// What the usual memory leaves of what is available: between the look at it and the first round other programs take some.
const MARGIN: Bytes = Bytes::from_mib(64);
/// Wakes and step of a quick look.
const QUICK: (u32, u32) = (60, 20);

/// Measures, keeps, and prints how many services fitted.
pub fn run(context: &Context, results: &ResultsArgs, args: &DensityArgs) -> Result<u8, Failure> {
    needs_live(context)?;
    let facts = inspect(&context.machine, InspectScope::PLAN);
    if !args.in_place {
        check(&context.machine, &facts)?;
    }
    let launch = launch(args)?;
    try_service(&launch)?;
    let options = options(args, &facts);
    let mut recorder = recorder(context, results, &command(args, options.seed))?;
    // Hours of rounds must not end at a file that cannot be written.
    recorder.can_keep()?;
    let stop = Stop::on_signals().map_err(|error| Failure::new(1, format!("signals: {error}")))?;
    let (outcome, failed) = match args.in_place {
        true => as_it_is(context, &facts, &launch, &options, &stop)?,
        false => compared(context, args, &facts, &launch, &options, &stop)?,
    };
    if let Some(what) = &outcome.recovered {
        output::message(what);
    }
    let measurements = recorder.measured(outcome.figures.iter().cloned().map(ResultFigures::Density));
    let printed = print(context, &outcome, &measurements);
    let kept = recorder.keep(&measurements).map_err(Failure::from);
    printed.and(kept)?;
    if let Some(error) = failed {
        output::message("an error ended it: the figures are of the rounds before");
        return Err(error.into());
    }
    Ok(if outcome.stopped || outcome.figures.is_empty() { FINDINGS } else { 0 })
}

/// The machine as it is, with its daemon if one runs.
fn as_it_is(
    context: &Context,
    facts: &Facts,
    launch: &Launch,
    options: &DensityOptions,
    stop: &Stop,
) -> Result<DensityOutcome, Failure> {
    let daemon = || daemon_status::look(&context.machine).value().filter(|report| report.mode.is_running()).cloned();
    let before = daemon();
    let progress = ProgressLine::start();
    let (mut outcome, failed) = run_in_place(&context.machine, facts, launch, options, stop, &mut |now| {
        progress.show(&density::progress(now), now.done, now.of);
    })?;
    // What a daemon did meanwhile belongs to the result.
    if let Some((before, after)) = before.zip(daemon()) {
        let said = density::kept(&before, &after);
        outcome.figures.iter_mut().for_each(|figures| figures.settings.push(said.clone()));
    }
    Ok((outcome, failed))
}

/// Configurations one after another, each set for a moment.
fn compared(
    context: &Context,
    args: &DensityArgs,
    facts: &Facts,
    launch: &Launch,
    options: &DensityOptions,
    stop: &Stop,
) -> Result<DensityOutcome, Failure> {
    let (evidence, _) = configuration::evidence(&context.machine, &WantedArgs::default())?;
    let evidence = match sample_service(&context.machine, facts, launch)? {
        Some(sample) => {
            output::message(&density::sampled(&sample));
            evidence.and(
                ResultRecorder::start(&context.machine, None, "swaptune bench density", env!("SWAPTUNE_VERSION"))
                    .record(ResultFigures::Sample(sample))?,
            )
        }
        None => evidence,
    };
    let variants = variants(args, &pose(facts, options.memory), &evidence)?;
    say_what_else_swaps(facts, options.memory, options.limit);
    let progress = ProgressLine::start();
    Ok(measure(&context.machine, (facts, &evidence), (&variants, launch), options, stop, &mut |now| {
        progress.show(&density::progress(now), now.done, now.of);
    })?)
}

fn print(context: &Context, outcome: &VariantOutcome<DensityFigures>, measurements: &[Measurement]) -> Result<(), Failure> {
    if context.json {
        let VariantOutcome { skipped, stopped, .. } = outcome;
        let json = serde_json::json!({ "measurements": measurements, "skipped": skipped, "stopped": stopped });
        return output::json_versioned(&json);
    }
    output::data(&density::text(outcome))
}

fn launch(args: &DensityArgs) -> Result<Launch, Failure> {
    let programs = (helper("tethered"), helper("memory-helper"));
    if !args.command.is_empty() {
        return Ok(Launch::own(&args.command, programs, args.heap, args.work)?);
    }
    let Some(kind) = KINDS.iter().find(|kind| kind.name == args.service) else {
        let names: Vec<&str> = KINDS.iter().map(|kind| kind.name).collect();
        let message = format!("--service: unknown service `{}`; expected {}", args.service, names.join(", "));
        return Err(
            Failure::new(USAGE, message).hint("a command of your own stands behind --: swaptune bench density -- COMMAND")
        );
    };
    Ok(Launch::kind(kind, programs, args.heap, args.work)?)
}

fn options(args: &DensityArgs, facts: &Facts) -> DensityOptions {
    let available = facts.memory.get("MemAvailable").unwrap_or(USUAL);
    let (wakes, step_percent) = if args.quick { QUICK } else { (args.wakes, args.step) };
    DensityOptions {
        memory: args.memory.unwrap_or(if args.in_place { available } else { usual(available) }),
        limit: args.limit.into(),
        bound: args.bound,
        wakes_per_second: args.rate,
        skew: args.skew,
        wakes,
        step_percent,
        most: args.most,
        at: at(&args.at),
        rounds: if args.quick { 1 } else { args.rounds },
        stall_percent: f64::from(args.stall),
        folder: args.dir.clone(),
        seed: args.seed.unwrap_or_else(|| fresh_seed() >> 32),
    }
}

/// Memory of the services where none was named: a default must not be refused a moment later.
fn usual(available: Bytes) -> Bytes {
    let margin = MARGIN.max(available.percent(10)).min(available.percent(50));
    let left = available.0.saturating_sub(margin.0);
    // Whole MiB, to be typed again.
    USUAL.min(Bytes::from_mib(left >> 20))
}

/// Ascending, each once: services are only added.
fn at(numbers: &[u32]) -> Vec<u32> {
    let mut at = numbers.to_vec();
    at.sort_unstable();
    at.dedup();
    at
}

fn variants(args: &DensityArgs, posed: &Facts, evidence: &Evidence) -> Result<Vec<Variant>, Failure> {
    let field = BUILT_IN.iter().map(|built_in| built_in.name).filter(|name| *name != NOW);
    let names: Vec<String> = match args.variant.as_slice() {
        [] => field.map(str::to_owned).collect(),
        lists => lists.iter().flat_map(|list| split(list)).collect(),
    };
    let area = args.dir.join("swaptune-density.swap");
    names.iter().map(|name| Ok(Spec::read(name)?.resolve(posed, evidence, &area)?)).collect()
}

/// What to type to measure the same again.
fn command(args: &DensityArgs, seed: u64) -> String {
    let typed = typed();
    if args.seed.is_some() {
        return typed;
    }
    match typed.split_once(" -- ") {
        Some((flags, command)) => format!("{flags} --seed {seed} -- {command}"),
        None => format!("{typed} --seed {seed}"),
    }
}

impl From<DensityError> for Failure {
    fn from(error: DensityError) -> Self {
        match error {
            DensityError::Refused { why, hint } => Self::new(REFUSED, why).hint(hint),
            DensityError::Temporary(error) => error.into(),
            DensityError::Space(error) => error.into(),
            DensityError::Lock(_) => Self::new(REFUSED, error).hint("run as root: what measures must stay in RAM"),
            DensityError::Service { .. } => {
                let hint = "a service writes a line when it is ready, and one for each line that it reads; what it says on \
                            standard error is not shown";
                Self::new(USAGE, error).hint(hint)
            }
            other => Self::new(1, other),
        }
    }
}

impl From<SpaceError> for Failure {
    fn from(error: SpaceError) -> Self {
        let class = if matches!(error, SpaceError::Refused { .. } | SpaceError::Group(_)) { REFUSED } else { 1 };
        Self::new(class, &error).hint(error.hint())
    }
}

impl From<SpecError> for Failure {
    fn from(error: SpecError) -> Self {
        match error {
            SpecError::Unknown { ref hint, .. } => Self::new(USAGE, format!("--variant: {error}")).hint(hint),
            SpecError::Settings(error) => error.into(),
            SpecError::Change { .. } => {
                let hint = "for example zswap:lz4,pool=25%,swappiness=100; any knob of `swaptune knobs` may stand there";
                Self::new(USAGE, format!("--variant: {error}")).hint(hint)
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_usual_memory_leaves_some_of_what_is_available() {
        let mib = Bytes::from_mib;
        assert_eq!(usual(Bytes::from_gib(24)), mib(1024));
        assert_eq!(usual(mib(1024)), mib(921), "a tenth");
        assert_eq!(usual(mib(400)), mib(336), "64 MiB at least");
        assert_eq!(usual(mib(10)), mib(5), "but something");
    }
}
