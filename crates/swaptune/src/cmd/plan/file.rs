//! A plan in a file: what was reviewed is what is applied.
//!
//! The file has the settings as they were resolved, so that neither a later measurement nor a later simulation changes what follows from them.
//! Before it is carried out they are planned for again on the machine as it is then: the same steps, or nothing is done.

use std::path::Path;

use serde::{Deserialize, Serialize};
use swaptune_bench::conditions::machine_name;
use swaptune_core::change::Change;
use swaptune_core::measurement::Evidence;
use swaptune_core::plan::{Plan, Step, When, assume};
use swaptune_core::settings::{read_toml, to_toml};
use swaptune_host::inspect::{InspectScope, inspect};

use super::{Made, PlanBasis, RecordResolved, for_settings, look_if_needed};
use crate::cli::WhenArgs;
use crate::cmd::Context;
use crate::failure::{Failure, REFUSED, USAGE};
use crate::output;

/// Version of the form; raised when a field changes its meaning.
const SCHEMA: u32 = 1;

/// What the file holds.
#[derive(Debug, Serialize, Deserialize)]
struct Reviewed {
    /// Version of this form.
    schema: u32,
    /// The machine that it was planned on, as results of benchmarks name it.
    machine: String,
    /// What is wanted, resolved, as TOML.
    settings: String,
    /// Only for the running system.
    now: bool,
    /// Only for the next boot.
    boot: bool,
    /// What may be made swap even if it holds data.
    wipe: Vec<String>,
    /// New headers take their UUIDs from it.
    seed: u64,
    /// The plan, for those who review it.
    plan: Plan,
}

/// Writes what was planned.
pub fn write(context: &Context, path: &Path, made: &Made, when: &WhenArgs, wipe: &[String]) -> Result<(), Failure> {
    let reviewed = Reviewed {
        schema: SCHEMA,
        machine: machine_name(&context.machine),
        settings: to_toml(&made.settings),
        now: when.now,
        boot: when.boot,
        wipe: wipe.to_vec(),
        seed: made.seed,
        plan: made.plan.clone(),
    };
    let failed = |why: String| Failure::new(1, format!("--out {}: {why}", path.display()));
    let mut text = serde_json::to_string_pretty(&reviewed).map_err(|error| failed(error.to_string()))?;
    text.push('\n');
    std::fs::write(path, text).map_err(|error| failed(error.to_string()))?;
    output::message(&format!("plan: {}", path.display()));
    Ok(())
}

/// The plan of a file, when it is still what follows on this machine.
pub fn read(context: &Context, path: &Path) -> Result<Plan, Failure> {
    let named = |why: &dyn std::fmt::Display| format!("{}: {why}", path.display());
    let wrong =
        |why: &dyn std::fmt::Display| Failure::new(USAGE, named(why)).hint("`swaptune plan --out FILE` writes such a file");
    let text = std::fs::read_to_string(path).map_err(|error| wrong(&error))?;
    let reviewed: Reviewed = serde_json::from_str(&text).map_err(|error| wrong(&format!("this is no plan: {error}")))?;
    if reviewed.schema != SCHEMA {
        return Err(wrong(&format!("version {} of the form, expected {SCHEMA}", reviewed.schema)));
    }
    let refused = |why: &dyn std::fmt::Display| {
        Failure::new(REFUSED, named(why)).hint("plan again and review that: swaptune plan --out FILE")
    };
    if reviewed.machine != machine_name(&context.machine) {
        return Err(refused(&"it was made on another machine"));
    }
    if reviewed.plan.is_empty() {
        return Ok(reviewed.plan);
    }
    let now = again(context, path, &reviewed)?;
    // What forbids it now is the better answer.
    crate::cmd::apply::refuse(&now, "swaptune plan")?;
    let (planned, left) = (deeds(&reviewed.plan), deeds(&now));
    // Done already: a second run changes nothing.
    if left.is_empty() {
        return Ok(Plan { steps: Vec::new(), ..now });
    }
    let Some((planned, now)) = difference(&planned, &left) else { return Ok(reviewed.plan) };
    let told = |change: Option<&Deed>| change.map_or_else(|| "nothing".to_owned(), |(change, _)| change.to_string());
    let (planned, now) = (told(planned), told(now));
    let other = if planned == now { "another change".to_owned() } else { now };
    Err(refused(&format!("the machine has changed since: where it was to {planned}, it would now be {other}")))
}

/// What follows from the same settings on this machine as it is.
fn again(context: &Context, path: &Path, reviewed: &Reviewed) -> Result<Plan, Failure> {
    let settings = read_toml(&path.display().to_string(), &reviewed.settings, None)?;
    let mut facts = inspect(&context.machine, InspectScope::PLAN);
    assume(&mut facts, &settings);
    look_if_needed(context, &mut facts, Some(&settings));
    let when = WhenArgs { now: reviewed.now, boot: reviewed.boot };
    let evidence = Evidence::default();
    let basis = PlanBasis { seed: reviewed.seed, ..PlanBasis::recorded(context, &settings, &evidence) };
    Ok(for_settings(context, &facts, basis, &when, RecordResolved(true), &reviewed.wipe))
}

/// A change without the comments that it writes, and when it is made.
type Deed = (Change, When);

/// What a plan does. Comments say who asked for a value, which settings that were written down no longer know: a step that only changes
/// these is none.
fn deeds(plan: &Plan) -> Vec<Deed> {
    let bare = |text: &mut String| {
        let said = |line: &str| line.split_once(" # ").map_or(line, |(said, _)| said).to_owned();
        *text = text.lines().filter(|line| !line.starts_with('#')).map(said).collect::<Vec<_>>().join("\n");
    };
    let deed = |step: &Step| {
        let mut change = step.change.clone();
        let Change::File { before, after, .. } = &mut change else { return Some((change, step.when)) };
        let mut was = before.clone();
        was.iter_mut().chain(after.iter_mut()).for_each(bare);
        (was != *after).then_some((change, step.when))
    };
    plan.steps.iter().filter_map(deed).collect()
}

/// The first that differs.
fn difference<'a>(planned: &'a [Deed], now: &'a [Deed]) -> Option<(Option<&'a Deed>, Option<&'a Deed>)> {
    let pairs = (0..planned.len().max(now.len())).map(|place| (planned.get(place), now.get(place)));
    pairs.into_iter().find(|(planned, now)| planned != now)
}
