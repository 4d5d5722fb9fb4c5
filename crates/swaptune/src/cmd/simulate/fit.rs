//! `--fit`: how many applications fit, for each tiering of each scenario.

use swaptune_core::stats::Nanos;
use swaptune_tiers::scenario::{Changes, Look, Scenario, Search, Sweep, fill};

use super::asked::{Asked, Question, share_of_growing};
use super::work::{Job, work};
use crate::cli::SimulateArgs;
use crate::cmd::Context;
use crate::failure::{Failure, USAGE};
use crate::output::{self, fit as page};

/// What is searched.
const KEY: &str = "workload.with.apps";

/// Searches and prints.
pub fn run(context: &Context, args: &SimulateArgs, limit: Nanos) -> Result<u8, Failure> {
    let question = Question::of(context, args)?;
    let mut done = Vec::new();
    for asked in &question.asked {
        done.push(search(&question, asked, args, limit)?);
    }
    let scenarios: Vec<Scenario> = done.iter().map(|fitted| fitted.scenario.clone()).collect();
    let cites = question.measured.cites(&scenarios);
    if context.json {
        output::json_versioned(&page::json(&done, limit, &cites))?;
    } else if args.csv {
        output::data(&page::csv(&done))?;
    } else {
        output::data(&(page::tables(&done, limit) + &output::scenario::cited(&cites)))?;
    }
    Ok(0)
}

/// The searches of one scenario, all tierings in step: they share the workloads.
fn search(question: &Question, asked: &Asked, args: &SimulateArgs, limit: Nanos) -> Result<page::Fitted, Failure> {
    let at = |applications: &[u32]| {
        let values = applications.iter().map(|number| i64::from(*number).into()).collect();
        let changes = Changes { sweep: Some(Sweep { key: KEY.to_owned(), values }), ..question.changes.clone() };
        asked.read(&changes, &question.traces)
    };
    if matches!(asked, Asked::Flags(typed) if !typed.sleeps) {
        return Err(no_applications(asked));
    }
    let plain = asked.read(&question.changes, &question.traces)?;
    if plain.seeds > 1 {
        let message = format!("{}: --fit searches with one seed, and here are {}", asked.label(), plain.seeds);
        return Err(Failure::new(USAGE, message).hint("take one: --set seeds=1, and another: --set workload.with.seed=2"));
    }
    if plain.points.iter().any(|point| point.tierings.iter().any(|tiering| fill(tiering, &point.source).is_none())) {
        return Err(no_applications(asked));
    }
    let scenario = at(&[1, 2])?;
    let (one, two) = (&scenario.points[0], &scenario.points[1]);
    let fill_of = |tiering| fill(tiering, &one.source).ok_or_else(|| no_applications(asked));
    if one.tierings.iter().zip(&two.tierings).any(|(one, two)| one.settings.ram != two.settings.ram) {
        return Err(share_of_growing(&asked.label()));
    }
    let new = |tiering| Ok(Search::new(limit.0, fill_of(tiering)?));
    let mut searches = one.tierings.iter().map(new).collect::<Result<Vec<Search>, Failure>>()?;
    for round in 1.. {
        let wanted: Vec<Vec<u32>> = searches.iter().map(Search::next).collect();
        let mut numbers: Vec<u32> = wanted.iter().flatten().copied().collect();
        numbers.sort_unstable();
        numbers.dedup();
        if numbers.is_empty() {
            break;
        }
        let scenario = at(&numbers)?;
        let mut jobs = Vec::new();
        let mut places = Vec::new();
        for (number, point) in numbers.iter().zip(&scenario.points) {
            for (index, tiering) in point.tierings.iter().enumerate().filter(|(index, _)| wanted[*index].contains(number)) {
                jobs.push(Job { folder: asked.folder(), point, tiering });
                places.push((index, *number));
            }
        }
        let runs = work(&jobs, &question.traces, args.threads, &format!("round {round}, "));
        for ((index, number), run) in places.into_iter().zip(runs) {
            let run = run.map_err(|error| Failure::new(USAGE, format!("{}: {error}", asked.label())))?;
            searches[index].note(number, Look::of(&run, one.scale));
        }
    }
    Ok(page::Fitted { file: asked.label(), searches, scenario })
}

fn no_applications(asked: &Asked) -> Failure {
    let message = format!("{}: --fit counts applications, and this workload has none", asked.label());
    Failure::new(USAGE, message).hint("take a generator of applications, for example --generate idle:pages=25k,wake=120")
}
