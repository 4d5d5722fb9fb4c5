//! Tierings side by side: read, run on all cores, printed.

use std::path::Path;

use swaptune_tiers::scenario::{Run, Scenario};

use super::asked::{Asked, Question};
use super::work::{Job, work};
use crate::cli::SimulateArgs;
use crate::cmd::Context;
use crate::failure::{Failure, USAGE};
use crate::output::{self, scenario as page};

/// Runs all scenarios and prints them in their order.
pub fn run(context: &Context, args: &SimulateArgs) -> Result<u8, Failure> {
    let question = Question::of(context, args)?;
    if let (Some(path), [Asked::Flags(typed)]) = (&args.output, question.asked.as_slice()) {
        let wrong = |error| Failure::new(USAGE, error).hint("`swaptune simulate --list` shows how tierings are written");
        return write(path, &typed.text(&question.changes).map_err(wrong)?);
    }
    let read = |asked: &Asked| asked.read(&question.changes, &question.traces);
    let scenarios = question.asked.iter().map(read).collect::<Result<Vec<_>, _>>()?;
    let runs = runs(&question, &scenarios, args)?;
    let cites = question.measured.cites(&scenarios);
    let each = question.asked.iter().zip(&scenarios).zip(runs);
    let done: Vec<page::Done> = each
        .map(|((asked, scenario), points)| page::Done {
            file: asked.label(),
            is_typed: matches!(asked, Asked::Flags(_)),
            scenario,
            points,
        })
        .collect();
    if context.json {
        output::json_versioned(&page::json(&done, &cites))?;
    } else if args.csv {
        output::data(&page::csv(&done))?;
    } else {
        output::data(&(page::tables(&done) + &page::cited(&cites)))?;
    }
    Ok(0)
}

/// Writes the scenario that flags make.
fn write(path: &Path, text: &str) -> Result<u8, Failure> {
    if path.extension().is_none_or(|end| end != "toml") {
        let message = format!("--output {}: with --tiering the scenario is written", path.display());
        return Err(Failure::new(USAGE, message).hint("end the name with .toml, or leave --tiering away to write the trace"));
    }
    std::fs::write(path, text).map_err(|error| Failure::new(1, format!("{}: {error}", path.display())))?;
    output::data(&format!("{}: run it with `swaptune simulate {0}`\n", path.display())).map(|()| 0)
}

/// Of each scenario and point the run of each tiering.
fn runs(question: &Question, scenarios: &[Scenario], args: &SimulateArgs) -> Result<Vec<Vec<Vec<Run>>>, Failure> {
    let mut jobs = Vec::new();
    for (asked, scenario) in question.asked.iter().zip(scenarios) {
        for point in &scenario.points {
            jobs.extend(point.tierings.iter().map(|tiering| Job { folder: asked.folder(), point, tiering }));
        }
    }
    let mut runs = work(&jobs, &question.traces, args.threads, "").into_iter();
    let mut done = Vec::new();
    for (asked, scenario) in question.asked.iter().zip(scenarios) {
        let fails = |error| Failure::new(USAGE, format!("{}: {error}", asked.label()));
        let of_point = |tierings: usize, runs: &mut dyn Iterator<Item = Result<Run, String>>| {
            runs.take(tierings).collect::<Result<Vec<Run>, String>>().map_err(fails)
        };
        let points = scenario.points.iter().map(|point| of_point(point.tierings.len(), &mut runs));
        done.push(points.collect::<Result<Vec<_>, _>>()?);
    }
    Ok(done)
}
