//! Scenario files: read, run on all cores, printed.

use std::fs::File;
use std::path::Path;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread::available_parallelism;

use swaptune_core::nearest::nearest;
use swaptune_tiers::generate::generate;
use swaptune_tiers::page_set::PageSet;
use swaptune_tiers::scenario::{Changes, Run, Scenario, ScenarioError, Source, Sweep, Tiering, run as run_tiering};
use swaptune_tiers::trace::{Keep, Reading, Trace, read};

use crate::cli::SimulateArgs;
use crate::cmd::Context;
use crate::failure::{Failure, USAGE};
use crate::output::progress::Progress;
use crate::output::{self, scenario as page};

/// Runs all scenarios and prints them in their order.
pub fn run(context: &Context, args: &SimulateArgs) -> Result<u8, Failure> {
    let changes = changes(args)?;
    let scenarios = args.scenarios.iter().map(|path| load(path, &changes)).collect::<Result<Vec<_>, _>>()?;
    let done = simulate(&scenarios, &args.scenarios)?;
    if context.json {
        output::json_versioned(&page::json(&done))?;
    } else if args.csv {
        output::data(&page::csv(&done))?;
    } else {
        output::data(&page::tables(&done))?;
    }
    Ok(0)
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
        set.append(&mut values.drain(..).map(|value| (key.clone(), value)).collect());
    }
    Ok(Changes { set, sweep })
}

/// Reads a scenario; files that it names are looked for beside it.
fn load(path: &Path, changes: &Changes) -> Result<Scenario, Failure> {
    let text = std::fs::read_to_string(path).map_err(|error| unreadable(path, &error))?;
    let page_set = |name: &str| {
        let text = std::fs::read_to_string(beside(path, name)).map_err(|error| format!("{name}: {error}"))?;
        PageSet::from_json(&text).map_err(|error| format!("{name}: {error}"))
    };
    Scenario::read(&text, changes, &page_set).map_err(|error| {
        let near = error.misspelt().and_then(|(found, known)| nearest(found, known.into_iter()).map(str::to_owned));
        let failure = Failure::new(USAGE, format!("{}: {error}", path.display()));
        match near {
            Some(name) => failure.hint(format!("did you mean `{name}`?")),
            None => failure.hint("docs/guides/simulate.md lists every key"),
        }
    })
}

fn unreadable(path: &Path, error: &std::io::Error) -> Failure {
    Failure::new(USAGE, format!("{}: {error}", path.display()))
        .hint("name a scenario file, for example scenarios/b3-densities.toml")
}

fn beside(scenario: &Path, name: &str) -> std::path::PathBuf {
    scenario.parent().unwrap_or(Path::new("")).join(name)
}

/// One tiering at one point of one scenario.
struct Job<'a> {
    tiering: &'a Tiering,
    workload: usize,
    run: OnceLock<Result<Run, String>>,
}

/// A workload that several jobs share; it is made by the first that needs it.
struct Workload<'a> {
    source: &'a Source,
    scenario: &'a Path,
    trace: OnceLock<Result<Trace, String>>,
}

impl Workload<'_> {
    fn trace(&self) -> Result<&Trace, String> {
        let made = self.trace.get_or_init(|| match self.source {
            Source::Generated(spec) => generate(spec).map_err(|error| error.to_string()),
            Source::Trace(name) => {
                let file = File::open(beside(self.scenario, name)).map_err(|error| format!("{name}: {error}"))?;
                let reading = Reading { format: None, layout: None, keep: Keep::Everything };
                read(file, &reading).map_err(|error| format!("{name}: {error}"))
            }
        });
        made.as_ref().map_err(Clone::clone)
    }
}

fn simulate<'a>(scenarios: &'a [Scenario], paths: &'a [std::path::PathBuf]) -> Result<Vec<page::Done<'a>>, Failure> {
    let mut workloads: Vec<Workload> = Vec::new();
    let mut jobs = Vec::new();
    for (scenario, path) in scenarios.iter().zip(paths) {
        for point in &scenario.points {
            let known = workloads.iter().position(|known| *known.source == point.source && known.scenario == path);
            let workload = known.unwrap_or(workloads.len());
            if known.is_none() {
                workloads.push(Workload { source: &point.source, scenario: path, trace: OnceLock::new() });
            }
            jobs.extend(point.tierings.iter().map(|tiering| Job { tiering, workload, run: OnceLock::new() }));
        }
    }
    work(&jobs, &workloads);
    let mut runs = jobs.into_iter().map(|job| job.run.into_inner());
    let mut done = Vec::new();
    for (scenario, path) in scenarios.iter().zip(paths) {
        let mut points = Vec::new();
        for point in &scenario.points {
            let each = runs.by_ref().take(point.tierings.len()).map(|run| run.unwrap_or_else(|| Err("it was not run".into())));
            let each = each.collect::<Result<Vec<Run>, String>>();
            points.push(each.map_err(|error| Failure::new(USAGE, format!("{}: {error}", path.display())))?);
        }
        done.push(page::Done { path, scenario, points });
    }
    Ok(done)
}

/// Does all jobs on all cores. Each is a function of its scenario, so that their order does not matter.
fn work(jobs: &[Job], workloads: &[Workload]) {
    let (next, finished, progress) = (AtomicUsize::new(0), AtomicUsize::new(0), Progress::start());
    let threads = available_parallelism().map_or(1, usize::from).min(jobs.len());
    let worker = || {
        while let Some(job) = jobs.get(next.fetch_add(1, Ordering::Relaxed)) {
            progress.show(&job.tiering.name, finished.load(Ordering::Relaxed), jobs.len());
            job.run.get_or_init(|| {
                let trace = workloads[job.workload].trace()?;
                run_tiering(job.tiering, trace).map_err(|error| format!("tiering `{}`: {error}", job.tiering.name))
            });
            finished.fetch_add(1, Ordering::Relaxed);
        }
    };
    std::thread::scope(|scope| (0..threads).for_each(|_| _ = scope.spawn(worker)));
}
