//! Scenarios as they are asked for: files, or flags.

use std::path::{Path, PathBuf};

use swaptune_kernel::nearest;
use swaptune_tiers::scenario::{Changes, Scenario, ScenarioError, Source, Sweep, Typed};
use swaptune_tiers::trace::Keep;

use super::measured::Measured;
use super::outside::{Beside, Traces};
use super::source;
use crate::cli::SimulateArgs;
use crate::cmd::Context;
use crate::failure::{Failure, USAGE};
use crate::output::progress::Progress;

/// Tierings of a search for which none are given: what most people choose from.
const USUAL: [&str; 4] = ["disk", "zram:zstd,disk", "zswap:zstd,disk", "zswap:zstd:shrinker,disk"];
/// RAM of a search, where a share of the workload would grow with it.
const RAM_OF_FIT: &str = "4G";
/// The generator that a search counts applications of, and its workload where none is given: 100 MB each, as many wakes of each as
/// tell 99 % of them all, and a trace of which several fit into RAM.
const IDLE: &str = "idle";
const WORKLOAD_OF_FIT: &str = "idle:pages=25k,seconds=900,wake=120";
/// RAM of this machine, where that is asked for.
const THIS: &str = "this";

/// One scenario that is asked for.
pub enum Asked {
    /// A file.
    File {
        /// Its path.
        path: PathBuf,
        /// What it says.
        text: String,
    },
    /// Flags.
    Flags(Box<Typed>),
}

/// Everything that is asked for.
pub struct Question {
    /// The scenarios.
    pub asked: Vec<Asked>,
    /// What flags change of them.
    pub changes: Changes,
    /// Figures of this machine, where they are wanted.
    pub measured: Measured,
    /// Their workloads.
    pub traces: Traces,
}

impl Asked {
    /// Where files that it names are looked for.
    pub fn folder(&self) -> &Path {
        match self {
            Self::File { path, .. } => path.parent().unwrap_or(Path::new("")),
            Self::Flags(_) => Path::new(""),
        }
    }

    /// What it is called in errors and for programs.
    pub fn label(&self) -> String {
        match self {
            Self::File { path, .. } => path.display().to_string(),
            Self::Flags(_) => "--tiering".to_owned(),
        }
    }

    /// The scenario with these changes.
    pub fn read(&self, changes: &Changes, traces: &Traces) -> Result<Scenario, Failure> {
        let outside = Beside { folder: self.folder(), traces };
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
                (None, Self::Flags(_)) => {
                    failure.hint("`swaptune simulate --list` shows how tierings are written, and all names")
                }
            }
        })
    }
}

impl Question {
    /// What the flags ask.
    pub fn of(context: &Context, args: &SimulateArgs) -> Result<Self, Failure> {
        let (measured, traces) = (Measured::of(context, args)?, Traces::default());
        let changes = Changes { figures: measured.figures().clone(), ..changes(args)? };
        let asked = match args.scenarios.as_slice() {
            [] => vec![Asked::Flags(Box::new(typed(context, args, &measured, &traces)?))],
            paths => paths.iter().map(|path| file(path, args)).collect::<Result<_, _>>()?,
        };
        Ok(Self { asked, changes, measured, traces })
    }
}

fn file(path: &Path, args: &SimulateArgs) -> Result<Asked, Failure> {
    if args.ram.is_some() {
        return Err(
            Failure::new(USAGE, "--ram: a scenario says itself how much RAM there is").hint("--set machine.ram=4G changes it")
        );
    }
    let unreadable = |error: std::io::Error| {
        Failure::new(USAGE, format!("{}: {error}", path.display()))
            .hint("name a scenario file, for example scenarios/b3-densities.toml")
    };
    Ok(Asked::File { path: path.to_owned(), text: std::fs::read_to_string(path).map_err(unreadable)? })
}

fn typed(context: &Context, args: &SimulateArgs, measured: &Measured, traces: &Traces) -> Result<Typed, Failure> {
    if args.fit.is_some() && args.ram.as_deref().is_some_and(|ram| ram.trim().ends_with('%')) {
        return Err(share_of_growing("--ram"));
    }
    let tierings = if args.tiering.is_empty() { USUAL.map(str::to_owned).to_vec() } else { args.tiering.clone() };
    let ram = match args.ram.as_deref() {
        Some(THIS) => Some(super::measured::ram(context)?),
        None if args.fit.is_some() => Some(RAM_OF_FIT.to_owned()),
        given => given.map(str::to_owned),
    };
    let source = match &args.trace {
        Some(path) => Source::Trace(path.display().to_string()),
        None => Source::Generated(args.generate.clone().unwrap_or_else(|| WORKLOAD_OF_FIT.to_owned())),
    };
    if args.trace.is_some() {
        let progress = Progress::start();
        progress.show("reading the trace", 0, 1);
        traces.put(Path::new(""), &source, source::trace(args, Keep::Everything)?);
    }
    let trace = args.trace.as_ref().map(|_| traces.get(Path::new(""), &source));
    let sleeps = match trace {
        Some(Ok(trace)) => trace.iter().any(|event| event.cgroup > 0),
        _ => matches!(&source, Source::Generated(spec) if spec.split(':').next() == Some(IDLE)),
    };
    let policies = args.policy.clone();
    let one_ram = args.sweep.is_some() || args.set.iter().any(|set| set.trim_start().starts_with("machine.ram"));
    let (now, machine) = match tierings.iter().any(|line| Typed::is_now(line)) {
        true => measured.now(context).map(|(now, machine)| (Some(now), machine))?,
        false => (None, measured.machine().to_vec()),
    };
    Ok(Typed { tierings, policies, ram, one_ram, source, sleeps, machine, now })
}

/// A search needs RAM that stays as it is.
pub fn share_of_growing(of: &str) -> Failure {
    let message = format!("{of}: RAM is a share of the workload, which grows with each application");
    Failure::new(USAGE, message).hint("say how much RAM there is: --ram 4G, or --set machine.ram=4G in a scenario")
}

fn changes(args: &SimulateArgs) -> Result<Changes, Failure> {
    let usage =
        |error: ScenarioError| Failure::new(USAGE, error).hint("for example --sweep machine.ram=512M,1G or --set scale=8");
    let sweep = args.sweep.as_deref().map(Sweep::parse).transpose().map_err(usage)?;
    let mut set = Vec::new();
    for text in &args.set {
        let Sweep { key, mut values } = Sweep::parse(text).map_err(usage)?;
        if values.len() != 1 {
            let message = format!("--set {text}: found {} values, expected one", values.len());
            return Err(Failure::new(USAGE, message).hint("--sweep takes several"));
        }
        set.extend(values.drain(..).map(|value| (key.clone(), value)));
    }
    if let Some(path) = &args.page_set {
        // It is looked for where we are, and not beside a scenario.
        let path = std::path::absolute(path).map_err(|error| Failure::new(USAGE, format!("{}: {error}", path.display())))?;
        set.push(("workload.page-set".to_owned(), path.display().to_string().into()));
    }
    Ok(Changes { set, sweep, report: args.report.clone(), ..Changes::default() })
}
