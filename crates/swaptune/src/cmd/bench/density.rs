//! `swaptune bench density`.

use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::Command;

use swaptune_bench::density::{
    BUILT_IN, DensityError, KINDS, Launch, Options, Outcome, Variant, Wish, check, pose, run as measure, try_service,
};
use swaptune_bench::process::Program;
use swaptune_bench::sample::fresh_seed;
use swaptune_core::measurement::{Evidence, Figures, Measurement};
use swaptune_core::{Bytes, Facts};
use swaptune_host::child;
use swaptune_host::inspect::{Scope, inspect};
use swaptune_host::stop::Stop;
use swaptune_kernel::nearest;

use super::{needs_live, recorder, typed};
use crate::cli::{DensityArgs, DensityServiceArgs, LimitArg, ResultsArgs, WantedArgs};
use crate::cmd::Context;
use crate::configuration;
use crate::failure::{FINDINGS, Failure, REFUSED, USAGE};
use crate::output::progress::Progress;
use crate::output::{self, density};

/// Memory of the services where nothing else is said.
const USUAL: Bytes = Bytes::from_gib(1);
/// Wakes and step of a quick look.
const QUICK: (u32, u32) = (60, 20);

/// Measures, keeps, and prints how many services fitted.
pub fn run(context: &Context, results: &ResultsArgs, args: &DensityArgs) -> Result<u8, Failure> {
    needs_live(context)?;
    let facts = inspect(&context.machine, Scope::PLAN);
    check(&context.machine, &facts)?;
    let launch = launch(args)?;
    try_service(&launch)?;
    let options = options(args, &facts);
    let (evidence, _) = configuration::evidence(&context.machine, &WantedArgs::default())?;
    let variants = variants(context, args, &pose(&facts, options.memory), &evidence)?;
    let mut recorder = recorder(context, results, &command(args, options.seed));
    let stop = Stop::on_signals().map_err(|error| Failure::new(1, format!("signals: {error}")))?;
    let outcome = {
        let progress = Progress::start();
        measure(&context.machine, (&facts, &evidence), (&variants, &launch), &options, &stop, &mut |now| {
            progress.show(&density::progress(now), now.done, now.of);
        })?
    };
    if let Some(what) = &outcome.recovered {
        output::message(what);
    }
    let measurements = recorder.record_all(outcome.figures.iter().cloned().map(Figures::Density))?;
    print(context, &outcome, &measurements)?;
    Ok(if outcome.stopped || outcome.figures.is_empty() { FINDINGS } else { 0 })
}

fn print(context: &Context, outcome: &Outcome, measurements: &[Measurement]) -> Result<(), Failure> {
    if context.json {
        let Outcome { skipped, stopped, .. } = outcome;
        let json = serde_json::json!({ "measurements": measurements, "skipped": skipped, "stopped": stopped });
        return output::json_versioned(&json);
    }
    output::data(&density::text(outcome))
}

/// Becomes the command of a service; what it could not become.
pub fn become_service(args: &DensityServiceArgs) -> Failure {
    let failed = |error: std::io::Error| Failure::new(1, error);
    if let Err(error) = child::tether(args.parent) {
        return failed(error);
    }
    let Some((program, arguments)) = args.command.split_first() else { return Failure::new(USAGE, "no command") };
    failed(Command::new(program).args(arguments).exec())
}

fn launch(args: &DensityArgs) -> Result<Launch, Failure> {
    // This program again; the link stands for it even when its file was replaced.
    let program = |what: &str| Program { path: "/proc/self/exe".into(), arguments: vec!["bench".into(), what.into()] };
    let programs = (program("density-service"), program("memory-helper"));
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

fn options(args: &DensityArgs, facts: &Facts) -> Options {
    let available = facts.memory.get("MemAvailable").unwrap_or(USUAL);
    let (wakes, step_percent) = if args.quick { QUICK } else { (args.wakes, args.step) };
    Options {
        memory: args.memory.unwrap_or(USUAL.min(available)),
        limit: match args.limit {
            LimitArg::Best => Wish::Best,
            LimitArg::Group => Wish::Group,
            LimitArg::Machine => Wish::Machine,
        },
        bound: args.bound,
        wakes_per_second: args.rate,
        wakes,
        step_percent,
        most: args.most,
        rounds: if args.quick { 1 } else { args.rounds },
        stall_percent: f64::from(args.stall),
        folder: args.dir.clone(),
        seed: args.seed.unwrap_or_else(|| fresh_seed() >> 32),
    }
}

fn variants(context: &Context, args: &DensityArgs, posed: &Facts, evidence: &Evidence) -> Result<Vec<Variant>, Failure> {
    let all = || BUILT_IN.iter().map(|built_in| built_in.name.to_owned()).collect();
    let names: Vec<String> = if args.variant.is_empty() { all() } else { args.variant.clone() };
    let variant = |name: &String| {
        let settings = match BUILT_IN.iter().find(|built_in| built_in.name == name) {
            Some(built_in) => built_in.settings(posed, evidence, &args.dir.join("swaptune-density.swap"))?,
            None if !Path::new(name).exists() => return Err(unknown(name)),
            None => {
                let wanted = WantedArgs { config: Some(name.into()), ..WantedArgs::default() };
                configuration::resolve(&context.machine, posed, evidence, None, &wanted)?
            }
        };
        Ok(Variant { name: name.clone(), settings })
    };
    names.iter().map(variant).collect()
}

fn unknown(name: &str) -> Failure {
    let names = BUILT_IN.iter().map(|built_in| built_in.name);
    let hint = match nearest(name, names.clone()) {
        Some(near) => format!("did you mean `{near}`?"),
        None => format!("expected {}, or the path of a configuration file", names.collect::<Vec<_>>().join(", ")),
    };
    Failure::new(USAGE, format!("--variant: unknown configuration `{name}`, and no such file")).hint(hint)
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
            DensityError::Group(ref group) => Self::new(REFUSED, &error).hint(group.hint()),
            DensityError::Service { .. } => {
                let hint = "a service writes a line when it is ready, and one for each line that it reads; what it says on \
                            standard error is not shown";
                Self::new(USAGE, error).hint(hint)
            }
            other => Self::new(1, other),
        }
    }
}
