//! `simulate fit`: how many applications fit, for each tiering of each scenario.

use swaptune_bench::predict::PAGES;
use swaptune_tiers::scenario::{Applications, Changes, FitLook, Scenario, Search, Sweep};

use super::jobs::{ScenarioJob, work};
use super::request::{ScenarioOrigin, SimulateRequest, share_of_growing};
use crate::cli::FitArgs;
use crate::cmd::Context;
use crate::failure::{Failure, USAGE};
use crate::output::{self, fit as page};

/// What is searched.
const KEY: &str = "workload.with.apps";
/// By how much machine and applications are smaller than they are.
const SCALE: &str = "scale";
/// How long a run lasts.
const SECONDS: &str = "workload.with.seconds";

/// Searches and prints.
pub fn run(context: &Context, args: &FitArgs) -> Result<u8, Failure> {
    let request = SimulateRequest::fit(context, args)?;
    let mut done = Vec::new();
    for origin in &request.origins {
        done.push(search(&request, origin, args)?);
    }
    let scenarios: Vec<Scenario> = done.iter().map(|fitted| fitted.scenario.clone()).collect();
    let cites = request.measured.cites(&scenarios);
    if context.json {
        output::json_versioned(&page::json(&done, args.within, &cites))?;
    } else if args.tierings.csv {
        output::data(&page::csv(&done))?;
    } else {
        output::data(&(page::tables(&done, args.within) + &output::scenario::cited(&cites)))?;
    }
    Ok(0)
}

/// The searches of one scenario, all tierings in step: they share the workloads.
fn search(request: &SimulateRequest, origin: &ScenarioOrigin, args: &FitArgs) -> Result<page::Fitted, Failure> {
    let mut changes = request.changes.clone();
    if matches!(origin, ScenarioOrigin::Flags(typed) if !typed.sleeps) {
        return Err(no_applications(origin));
    }
    let first = at(request, origin, &changes, &[1])?;
    if first.seeds > 1 {
        let message = format!("{}: found {} seeds, expected one", origin.label(), first.seeds);
        return Err(Failure::new(USAGE, message).hint("--set seeds=1; --set workload.with.seed=2 takes another seed"));
    }
    if let Some(scale) = scale(origin, &changes, &first)? {
        changes.set.push((SCALE.to_owned(), scale.into()));
    }
    let scenario = at(request, origin, &changes, &[1, 2])?;
    let (one, two) = (&scenario.points[0], &scenario.points[1]);
    if one.tierings.iter().zip(&two.tierings).any(|(one, two)| one.settings.ram != two.settings.ram) {
        return Err(share_of_growing(&origin.label()));
    }
    let workload = applications(origin, &scenario)?;
    let new = |tiering| Search::new(args.within.0, workload.fill(tiering));
    let mut searches: Vec<Search> = one.tierings.iter().map(new).collect();
    for round in 1.. {
        let wanted: Vec<Vec<u32>> = searches.iter().map(Search::next).collect();
        let mut numbers: Vec<u32> = wanted.iter().flatten().copied().collect();
        numbers.sort_unstable();
        numbers.dedup();
        if numbers.is_empty() {
            break;
        }
        let of = |number: &u32| long_enough(request, origin, &changes, &workload, *number);
        let scenarios = numbers.iter().map(of).collect::<Result<Vec<Scenario>, Failure>>()?;
        let mut jobs = Vec::new();
        let mut places = Vec::new();
        for (number, point) in numbers.iter().zip(scenarios.iter().flat_map(|scenario| &scenario.points)) {
            for (index, tiering) in point.tierings.iter().enumerate().filter(|(index, _)| wanted[*index].contains(number)) {
                jobs.push(ScenarioJob { folder: origin.folder(), point, tiering });
                places.push((index, *number));
            }
        }
        let runs = work(&jobs, &request.traces, args.tierings.threads, &format!("round {round}, "));
        for ((index, number), run) in places.into_iter().zip(runs) {
            let run = run.map_err(|error| Failure::new(USAGE, format!("{}: {error}", origin.label())))?;
            let look = FitLook::of(&run, one.scale);
            if !look.is_answer() {
                return Err(no_wakes(origin, number));
            }
            searches[index].note(number, look);
        }
    }
    Ok(page::Fitted { file: origin.label(), searches, scenario, workload })
}

/// The scenario with each of these numbers of applications.
fn at(request: &SimulateRequest, origin: &ScenarioOrigin, changes: &Changes, applications: &[u32]) -> Result<Scenario, Failure> {
    let values = applications.iter().map(|number| i64::from(*number).into()).collect();
    let sweep = Some(Sweep { key: KEY.to_owned(), values });
    origin.read(&Changes { sweep, ..changes.clone() }, &request.traces)
}

/// The scenario with this number of them, and as long as they need.
fn long_enough(
    request: &SimulateRequest,
    origin: &ScenarioOrigin,
    changes: &Changes,
    workload: &Applications,
    number: u32,
) -> Result<Scenario, Failure> {
    let mut changes = changes.clone();
    changes.set.extend(workload.longer(number).map(|seconds| (SECONDS.to_owned(), i64::from(seconds).into())));
    at(request, origin, &changes, &[number])
}

/// How much smaller machine and applications are made together, as `plan --simulate` does: at its full size a search takes hours. A
/// scenario file and whoever sets `scale` say themselves.
fn scale(origin: &ScenarioOrigin, changes: &Changes, first: &Scenario) -> Result<Option<i64>, Failure> {
    let is_said = matches!(origin, ScenarioOrigin::File { .. }) || changes.set.iter().any(|(key, _)| key == SCALE);
    let most = applications(origin, first)?.scale_max();
    let ram = first.points[0].tierings.first().map_or(0, |tiering| tiering.settings.ram);
    Ok(i64::try_from(most.min(ram / PAGES)).ok().filter(|scale| !is_said && *scale > 1))
}

fn applications(origin: &ScenarioOrigin, scenario: &Scenario) -> Result<Applications, Failure> {
    Applications::of(&scenario.points[0].source).ok_or_else(|| no_applications(origin))
}

fn no_wakes(origin: &ScenarioOrigin, number: u32) -> Failure {
    let found = if number == 1 { "1 application that does".to_owned() } else { format!("{number} applications that do") };
    let message =
        format!("{}: found {found} not wake before the end, expected wakes, whose times are what is searched by", origin.label());
    Failure::new(USAGE, message)
        .hint("--set workload.with.wake=120 and workload.with.touch=0.3 are usual; a smaller scale keeps pages to touch")
}

fn no_applications(origin: &ScenarioOrigin) -> Failure {
    let message = format!("{}: found a workload without applications, expected the generator `idle`", origin.label());
    Failure::new(USAGE, message).hint("for example --generate idle:pages=25k,wake=120")
}
