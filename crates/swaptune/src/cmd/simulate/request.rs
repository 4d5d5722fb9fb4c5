//! What `simulate run` and `simulate fit` are asked for: scenario files, or the scenario that flags make.

use std::path::{Path, PathBuf};

use swaptune_kernel::nearest;
use swaptune_tiers::scenario::{Changes, Scenario, ScenarioError, Size, Sweep, Typed, WorkloadSource};
use swaptune_tiers::trace::KeptColumns;

use super::measured::{self, MeasuredMachine};
use super::traces::{TraceFiles, Traces};
use super::{LIST, trace_file};
use crate::cli::{FitArgs, RunArgs, TieringArgs, TraceArgs};
use crate::cmd::Context;
use crate::failure::{Failure, USAGE};

/// Tierings without `--tiering`: what most people choose from.
const USUAL: [&str; 4] = ["disk", "zram:zstd,disk", "zswap:zstd,disk", "zswap:zstd:shrinker,disk"];
/// RAM of a search without `--ram`: a share of the workload would grow with it.
const RAM_OF_FIT: &str = "4G";
/// The generator of applications that a search counts.
const IDLE: &str = "idle";
/// The workload of a search without `--generate`: 100 MB each, as many wakes of each as tell 99 % of them all, and a trace of which
/// several fit into RAM.
const WORKLOAD_OF_FIT: &str = "idle:pages=25k,seconds=900,wake=120";
/// `--ram this`: RAM of this machine.
const THIS: &str = "this";

/// Where a scenario comes from.
pub enum ScenarioOrigin {
    /// A file.
    File {
        /// Its path.
        path: PathBuf,
        /// Its text.
        text: String,
    },
    /// Tierings and a workload, typed as flags.
    Flags(Box<Typed>),
}

/// A whole request.
pub struct SimulateRequest {
    /// The scenarios.
    pub origins: Vec<ScenarioOrigin>,
    /// What flags change in them.
    pub changes: Changes,
    /// Figures of this machine; the usual ones without `--measured`.
    pub measured: MeasuredMachine,
    /// Their workloads.
    pub traces: Traces,
}

/// What flags say of a machine and its workload.
struct Flags {
    source: WorkloadSource,
    sleeps: bool,
    ram: Option<Size>,
    one_ram: bool,
}

impl ScenarioOrigin {
    /// The folder that paths in it are relative to.
    pub fn folder(&self) -> &Path {
        match self {
            Self::File { path, .. } => path.parent().unwrap_or(Path::new("")),
            Self::Flags(_) => Path::new(""),
        }
    }

    /// Its name in errors and in JSON.
    pub fn label(&self) -> String {
        match self {
            Self::File { path, .. } => path.display().to_string(),
            Self::Flags(_) => "--tiering".to_owned(),
        }
    }

    /// The scenario with these changes.
    pub fn read(&self, changes: &Changes, traces: &Traces) -> Result<Scenario, Failure> {
        let outside = TraceFiles { folder: self.folder(), traces };
        let (scenario, name) = match self {
            Self::File { text, path } => (Scenario::read(text, changes, &outside), format!("{}: ", path.display())),
            Self::Flags(typed) => (Scenario::typed(typed, changes, &outside), String::new()),
        };
        scenario.map_err(|error| {
            let near = error.misspelt().and_then(|(found, known)| nearest(found, known.into_iter()).map(str::to_owned));
            let failure = Failure::new(USAGE, format!("{name}{error}"));
            if error.misspelt().is_some_and(|(found, _)| found == THIS) {
                return failure.hint(
                    "with --measured this machine's disk is called `this`, once `sudo swaptune bench disk` has measured it",
                );
            }
            match (near, self) {
                (Some(near), _) => failure.hint(format!("did you mean `{near}`?")),
                (None, Self::File { .. }) => failure.hint("docs/guides/simulate.md lists every key"),
                (None, Self::Flags(_)) => failure.hint(LIST),
            }
        })
    }
}

impl SimulateRequest {
    /// What `simulate run` asks for.
    pub fn run(context: &Context, args: &RunArgs) -> Result<Self, Failure> {
        let traces = Traces::default();
        let flags = || {
            let (source, sleeps) = workload(&args.workload, &traces)?;
            let ram = args.ram.as_deref().map(|ram| self::ram(context, ram)).transpose()?;
            let one_ram = args.sweep.is_some() || args.tierings.set.iter().any(|set| set.trim_start().starts_with("machine.ram"));
            Ok(Flags { source, sleeps, ram, one_ram })
        };
        let (origins, measured, changes) = of(context, &args.scenarios, args.ram.as_deref(), &args.tierings, flags)?;
        let sweep = args.sweep.as_deref().map(Sweep::parse).transpose().map_err(wrong_key)?;
        Ok(Self { origins, changes: Changes { sweep, report: args.report.clone(), ..changes }, measured, traces })
    }

    /// What `simulate fit` asks for.
    pub fn fit(context: &Context, args: &FitArgs) -> Result<Self, Failure> {
        let flags = || {
            let ram = args.ram.as_deref().unwrap_or(RAM_OF_FIT);
            if ram.trim().ends_with('%') {
                return Err(share_of_growing("--ram"));
            }
            let spec = args.generate.as_deref().unwrap_or(WORKLOAD_OF_FIT);
            let ram = Some(self::ram(context, ram)?);
            Ok(Flags { source: WorkloadSource::Generated(spec.to_owned()), sleeps: is_idle(spec), ram, one_ram: true })
        };
        let (origins, measured, changes) = of(context, &args.scenarios, args.ram.as_deref(), &args.tierings, flags)?;
        Ok(Self { origins, changes, measured, traces: Traces::default() })
    }
}

/// The scenarios: those of the files, or the one that flags make.
fn of(
    context: &Context,
    files: &[PathBuf],
    ram: Option<&str>,
    args: &TieringArgs,
    flags: impl FnOnce() -> Result<Flags, Failure>,
) -> Result<(Vec<ScenarioOrigin>, MeasuredMachine, Changes), Failure> {
    let measured = MeasuredMachine::of(context, args)?;
    let changes = Changes { figures: measured.figures().clone(), ..changes(args)? };
    let origins = match (files, ram) {
        ([], _) => vec![ScenarioOrigin::Flags(Box::new(typed(context, args, &measured, flags()?)?))],
        (_, Some(_)) => {
            let message = "--ram: a scenario file says how much RAM there is";
            return Err(Failure::new(USAGE, message).hint("--set machine.ram=4G changes it"));
        }
        (files, None) => files.iter().map(|path| file(path)).collect::<Result<_, _>>()?,
    };
    Ok((origins, measured, changes))
}

fn file(path: &Path) -> Result<ScenarioOrigin, Failure> {
    let unreadable = |error: std::io::Error| {
        Failure::new(USAGE, format!("{}: {error}", path.display()))
            .hint("name a scenario file, for example scenarios/b3-densities.toml")
    };
    Ok(ScenarioOrigin::File { path: path.to_owned(), text: std::fs::read_to_string(path).map_err(unreadable)? })
}

fn typed(context: &Context, args: &TieringArgs, measured: &MeasuredMachine, flags: Flags) -> Result<Typed, Failure> {
    let tierings = if args.tiering.is_empty() { USUAL.map(str::to_owned).to_vec() } else { args.tiering.clone() };
    let now = tierings.iter().any(|line| Typed::is_now(line)).then(|| measured.now(context)).transpose()?;
    let Flags { source, sleeps, ram, one_ram } = flags;
    Ok(Typed { tierings, policies: args.write_back.clone(), ram, one_ram, source, sleeps, base: measured.base().cloned(), now })
}

/// The workload of the flags, and whether it sleeps and wakes.
fn workload(args: &TraceArgs, traces: &Traces) -> Result<(WorkloadSource, bool), Failure> {
    let Some(path) = &args.trace else {
        let spec = args.generate.clone().unwrap_or_default();
        let sleeps = is_idle(&spec);
        return Ok((WorkloadSource::Generated(spec), sleeps));
    };
    let source = WorkloadSource::Trace(path.display().to_string());
    let trace = trace_file::read(args, KeptColumns::Everything)?;
    let sleeps = trace.iter().any(|event| event.cgroup > 0);
    traces.put(Path::new(""), &source, trace);
    Ok((source, sleeps))
}

fn is_idle(spec: &str) -> bool {
    spec.split(':').next() == Some(IDLE)
}

fn ram(context: &Context, asked: &str) -> Result<Size, Failure> {
    let wrong = |error| Failure::new(USAGE, error).hint("for example --ram 4G");
    if asked == THIS { measured::ram(context) } else { Size::parse("--ram", asked).map_err(wrong) }
}

/// A search needs RAM that stays as it is.
pub fn share_of_growing(of: &str) -> Failure {
    let message = format!("{of}: RAM is a share of the workload, which grows with each application");
    Failure::new(USAGE, message).hint("say how much RAM there is: --ram 4G, or --set machine.ram=4G in a scenario")
}

fn wrong_key(error: ScenarioError) -> Failure {
    Failure::new(USAGE, error).hint("for example --sweep machine.ram=512M,1G or --set scale=8")
}

fn changes(args: &TieringArgs) -> Result<Changes, Failure> {
    let mut set = Vec::new();
    for text in &args.set {
        if !text.contains('=') {
            return Err(Failure::new(USAGE, format!("--set {text}: found no value, expected KEY=VALUE"))
                .hint("for example --set scale=8"));
        }
        let Sweep { key, mut values } = Sweep::parse(text).map_err(wrong_key)?;
        if values.len() != 1 {
            let message = format!("--set {text}: found {} values, expected one", values.len());
            return Err(Failure::new(USAGE, message).hint("`swaptune simulate run --sweep` takes several"));
        }
        set.extend(values.drain(..).map(|value| (key.clone(), value)));
    }
    if let Some(path) = &args.page_set {
        // The path is relative to the working directory, not to the scenario.
        let path = std::path::absolute(path).map_err(|error| Failure::new(USAGE, format!("{}: {error}", path.display())))?;
        set.push(("workload.page-set".to_owned(), path.display().to_string().into()));
    }
    Ok(Changes { set, daemon: args.daemon, ..Changes::default() })
}
