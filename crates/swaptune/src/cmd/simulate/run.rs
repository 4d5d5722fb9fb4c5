//! `simulate run`: tierings side by side, run on all cores.

use std::io::Write;
use std::path::Path;

use swaptune_tiers::scenario::{Changes, Scenario, TieringRun, Typed, WorkloadSource};

use super::jobs::{ScenarioJob, work};
use super::request::{ScenarioOrigin, SimulateRequest};
use super::{LIST, items};
use crate::cli::{RunArgs, TraceArgs};
use crate::cmd::Context;
use crate::cmd::bench::typed;
use crate::cmd::partial::{Partial, refuse_existing};
use crate::failure::{Failure, USAGE};
use crate::output::scenario_html::html;
use crate::output::{self, scenario as page};

/// Runs all scenarios and prints them in their order.
pub fn run(context: &Context, args: &RunArgs) -> Result<u8, Failure> {
    if args.write_scenario.is_some() {
        can_be_named(&args.workload)?;
    }
    let request = SimulateRequest::run(context, args)?;
    if let (Some(path), [ScenarioOrigin::Flags(typed)]) = (&args.write_scenario, request.origins.as_slice()) {
        return write(path, typed, &request.changes, args.overwrite);
    }
    let read = |origin: &ScenarioOrigin| origin.read(&request.changes, &request.traces);
    let scenarios = request.origins.iter().map(read).collect::<Result<Vec<_>, _>>()?;
    match (args.items, args.item) {
        (true, _) => return items::count(&request, &scenarios),
        (false, Some(number)) => return items::one(&request, &scenarios, number),
        (false, None) => {}
    }
    let runs = runs(&request, &scenarios, args)?;
    let cites = request.measured.cites(&scenarios);
    let each = request.origins.iter().zip(&scenarios).zip(runs);
    let done: Vec<page::ScenarioDone> = each
        .map(|((origin, scenario), points)| page::ScenarioDone {
            file: origin.label(),
            is_typed: matches!(origin, ScenarioOrigin::Flags(_)),
            scenario,
            points,
        })
        .collect();
    if context.json {
        output::json_versioned(&page::json(&done, &cites))?;
    } else if args.tierings.csv {
        output::data(&page::csv(&done))?;
    } else {
        output::data(&(page::tables(&done) + &page::cited(&cites)))?;
    }
    if let Some(path) = &args.html {
        output::report::write(path, &html(&done, &cites, &typed(), env!("SWAPTUNE_VERSION")))?;
    }
    Ok(0)
}

/// A scenario file has a key for the path of a trace, and none for how it is read.
fn can_be_named(args: &TraceArgs) -> Result<(), Failure> {
    let is_pipe = args.trace.as_deref() == Some(Path::new("-"));
    let flags = [("--trace -", is_pipe), ("--columns", args.columns.is_some()), ("--format", args.format.is_some())];
    let Some((flag, _)) = flags.into_iter().find(|(_, is_given)| *is_given) else { return Ok(()) };
    let message = format!("--write-scenario: found {flag}, expected a trace that a scenario file can name by its path alone");
    let hint = "convert it first: `swaptune simulate convert --trace FILE … --output FILE.swtrace`, then --trace FILE.swtrace";
    Err(Failure::new(USAGE, message).hint(hint))
}

/// The workload as a file in another folder names it.
fn named_from(path: &Path, source: &WorkloadSource) -> std::io::Result<WorkloadSource> {
    match source {
        WorkloadSource::Trace(name) if path.parent().is_some_and(|folder| folder != Path::new("")) => {
            Ok(WorkloadSource::Trace(std::path::absolute(name)?.display().to_string()))
        }
        other => Ok(other.clone()),
    }
}

/// Writes the scenario that flags make.
fn write(path: &Path, typed: &Typed, changes: &Changes, overwrite: bool) -> Result<u8, Failure> {
    if path.extension().is_none_or(|end| end != "toml") {
        let message = format!("--write-scenario {}: expected a name that ends in .toml", path.display());
        return Err(Failure::new(USAGE, message).hint("`swaptune simulate convert` writes a trace"));
    }
    refuse_existing("--write-scenario", path, overwrite)?;
    let unwritten = |error| Failure::new(1, format!("{}: {error}", path.display()));
    let source = named_from(path, &typed.source).map_err(unwritten)?;
    let text = Typed { source, ..typed.clone() }.text(changes).map_err(|error| Failure::new(USAGE, error).hint(LIST))?;
    let store = || {
        let (partial, mut out) = Partial::beside(path)?;
        out.write_all(text.as_bytes())?;
        partial.finished(out, path)
    };
    store().map_err(unwritten)?;
    output::data(&format!("{}: run it with `swaptune simulate run {0}`\n", path.display())).map(|()| 0)
}

/// Of each scenario and point the run of each tiering.
fn runs(request: &SimulateRequest, scenarios: &[Scenario], args: &RunArgs) -> Result<Vec<Vec<Vec<TieringRun>>>, Failure> {
    let mut jobs = Vec::new();
    for (origin, scenario) in request.origins.iter().zip(scenarios) {
        for point in &scenario.points {
            jobs.extend(point.tierings.iter().map(|tiering| ScenarioJob { folder: origin.folder(), point, tiering }));
        }
    }
    let mut runs = work(&jobs, &request.traces, args.tierings.threads, "").into_iter();
    let mut done = Vec::new();
    for (origin, scenario) in request.origins.iter().zip(scenarios) {
        let fails = |error| Failure::new(USAGE, format!("{}: {error}", origin.label()));
        let of_point = |tierings: usize, runs: &mut dyn Iterator<Item = Result<TieringRun, String>>| {
            runs.take(tierings).collect::<Result<Vec<TieringRun>, String>>().map_err(fails)
        };
        let points = scenario.points.iter().map(|point| of_point(point.tierings.len(), &mut runs));
        done.push(points.collect::<Result<Vec<_>, _>>()?);
    }
    Ok(done)
}
