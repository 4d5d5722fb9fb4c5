//! `swaptune bench list` and `bench show`: results that are kept.

use std::fmt::Display;

use swaptune_bench::results::Results;
use swaptune_core::measurement::{Conditions, Measurement};

use super::store;
use crate::cli::{ResultsArgs, ShowArgs};
use crate::cmd::Context;
use crate::failure::{Failure, USAGE};
use crate::output::{self, measurement, text};

/// One line a run, oldest first.
pub fn list(context: &Context, args: &ResultsArgs) -> Result<u8, Failure> {
    let results = read(context, args)?;
    if context.json {
        output::json_versioned(&serde_json::json!({ "measurements": results.measurements }))?;
        return Ok(0);
    }
    if results.measurements.is_empty() {
        let path = store(context, args).path().display().to_string();
        output::data(&format!("nothing was measured yet ({path}); `swaptune bench --help` lists what can be\n"))?;
        return Ok(0);
    }
    let mut cells = vec![["RUN", "TIME", "RESULTS", "KERNEL", "COMMAND"].map(str::to_owned).to_vec()];
    let measurements = &results.measurements;
    cells.extend(measurements.chunk_by(|a, b| a.run == b.run).filter_map(|run| {
        let first = run.first()?;
        let count = run.len().to_string();
        Some(vec![first.run.clone(), first.at.clone(), count, first.conditions.kernel.clone(), first.command.clone()])
    }));
    output::data(&text::columns(&cells, &[2], 0))?;
    Ok(0)
}

/// Everything about one run.
pub fn show(context: &Context, args: &ResultsArgs, which: &ShowArgs) -> Result<u8, Failure> {
    let results = read(context, args)?;
    let run = find(&results.measurements, which.run.as_deref())?;
    let chosen: Vec<&Measurement> = results.measurements.iter().filter(|measurement| measurement.run == run).collect();
    if context.json {
        output::json_versioned(&serde_json::json!({ "measurements": chosen }))?;
        return Ok(0);
    }
    let mut shown: Option<&Conditions> = None;
    let mut page = String::new();
    for measurement in chosen {
        let conditions = &measurement.conditions;
        if shown.is_none_or(|shown| shown.parameters != conditions.parameters) {
            page += &measurement::conditions(measurement);
            shown = Some(conditions);
        }
        page += &measurement::line(&measurement.figures);
    }
    output::data(&page)?;
    Ok(0)
}

fn read(context: &Context, args: &ResultsArgs) -> Result<Results, Failure> {
    let store = store(context, args);
    let wrong =
        |why: &dyn Display| Failure::new(USAGE, why).hint("--results FILE takes a file that `--results` of a benchmark wrote");
    if let Some(path) = args.results.as_ref().filter(|path| !path.exists()) {
        return Err(wrong(&format_args!("{}: no such file", path.display())));
    }
    let results = store.read().map_err(|error| wrong(&error))?;
    if let ([], [(line, why), ..]) = (&results.measurements[..], &results.unread[..]) {
        return Err(wrong(&format_args!("{}: no result can be read: line {line}: {why}", store.path().display())));
    }
    for (line, why) in &results.unread {
        output::message(&format!("warning: {}:{line}: {why}", store.path().display()));
    }
    if let Some(why) = &results.hidden {
        output::message(&format!("{why}; put sudo before this command to see it"));
    }
    Ok(results)
}

/// The run of this name or beginning; the newest when none is asked for.
fn find(measurements: &[Measurement], asked: Option<&str>) -> Result<String, Failure> {
    let nothing = || Failure::new(USAGE, "nothing was measured yet").hint("`swaptune bench --help` lists what can be");
    let Some(asked) = asked else {
        return measurements.last().map(|newest| newest.run.clone()).ok_or_else(nothing);
    };
    let mut runs: Vec<&str> = measurements.iter().map(|m| m.run.as_str()).filter(|run| run.starts_with(asked)).collect();
    runs.dedup();
    match runs.as_slice() {
        [one] => Ok((*one).to_owned()),
        [] => Err(Failure::new(USAGE, format!("no run is called `{asked}`")).hint("`swaptune bench list` shows them")),
        several => Err(Failure::new(USAGE, format!("`{asked}` is the start of {} runs: {}", several.len(), several.join(", ")))),
    }
}
