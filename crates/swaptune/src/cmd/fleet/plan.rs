//! `swaptune fleet plan`: plans for machines from their facts.

use std::path::{Path, PathBuf};

use swaptune_core::facts::{Facts, SCHEMA};
use swaptune_core::fleet::{Fleet, MachineGroup};
use swaptune_core::forecast::Gain;
use swaptune_core::measurement::Evidence;
use swaptune_core::plan::{PlanRequest, Planned, assume, planned};
use swaptune_core::profiles::resolve;
use swaptune_core::settings::Settings;

use super::{files, kept, name, sum};
use crate::cli::{FleetPlanArgs, WantedArgs};
use crate::cmd::Context;
use crate::cmd::plan::{Proposal, USUAL_BINARY, first_look};
use crate::configuration;
use crate::failure::{FINDINGS, Failure};
use crate::output;
use crate::output::fleet::plan as shown;
use crate::output::progress::ProgressLine;

/// The number of groups, the largest first, of which it is simulated what their plan brings.
const SIMULATED: usize = 20;

/// Plans and prints.
pub(super) fn run(context: &Context, args: &FleetPlanArgs) -> Result<u8, Failure> {
    let files = files(&args.facts, "`swaptune inspect --json > NAME.json` on each machine")?;
    let layers = layers(args)?;
    let one = |path: &Path| facts(path).and_then(|facts| plan_of(&facts, &layers));
    let (fleet, unread) = sum(&files, "planning", one, |fleet: &mut Fleet, name, (_, planned)| fleet.add(name, &planned.plan))?;
    let groups = simulated(fleet.groups(), &files, &layers);
    let is_our_own = layers.iter().cloned().fold(Settings::default(), Settings::overlay) == Settings::default();
    let report = shown::FleetPlanReport { machines: files.len() as u64, is_our_own, groups, unread };
    if context.json {
        output::json_versioned(&report)?;
    } else {
        output::data(&shown::text(&report))?;
    }
    Ok(if report.is_whole() { 0 } else { FINDINGS })
}

/// What is wanted of every machine, lowest first.
fn layers(args: &FleetPlanArgs) -> Result<Vec<Settings>, Failure> {
    let wanted =
        WantedArgs { profile: args.profile.clone(), config: args.config.clone(), set: args.set.clone(), ..WantedArgs::default() };
    configuration::asked_for(&wanted)
}

/// The facts of a file, or why there are none.
fn facts(path: &Path) -> Result<Facts, String> {
    let facts: Facts = kept(path, "facts")?;
    if facts.schema == SCHEMA { Ok(facts) } else { Err(format!("version {} of facts, expected {SCHEMA}", facts.schema)) }
}

/// What is wanted of this machine, and the plan for it.
fn plan_of(facts: &Facts, layers: &[Settings]) -> Result<(Settings, Planned), String> {
    let evidence = Evidence::default();
    let mut facts = facts.clone();
    assume(&mut facts, &layers.iter().cloned().fold(Settings::default(), Settings::overlay));
    let settings = resolve(layers.to_vec(), &facts, &evidence, None).map_err(|error| error.to_string())?;
    let planned = planned(&PlanRequest {
        facts: &facts,
        settings: &settings,
        evidence: &evidence,
        forecast: None,
        now: facts.image.is_none(),
        boot: true,
        record: true,
        wipe: &[],
        binary: USUAL_BINARY,
        installed: true,
        seed: 0,
    });
    Ok((settings, planned))
}

/// The groups with what their plan brings, for the largest.
fn simulated(groups: Vec<MachineGroup>, files: &[PathBuf], layers: &[Settings]) -> Vec<shown::GroupRow> {
    let progress = ProgressLine::start();
    let of = groups.iter().filter(|group| group.is_change()).count().min(SIMULATED);
    let mut done = 0;
    let row = |group: MachineGroup| {
        let is_simulated = group.is_change() && done < SIMULATED;
        let gain = is_simulated.then(|| {
            progress.show("simulating a machine of each plan", done, of);
            done += 1;
            brings(&group, files, layers)
        });
        shown::GroupRow { group, gain: gain.flatten() }
    };
    groups.into_iter().map(row).collect()
}

/// What the plan of a group brings on the first of its machines.
fn brings(group: &MachineGroup, files: &[PathBuf], layers: &[Settings]) -> Option<Gain> {
    let first = group.examples.first()?;
    let facts = facts(files.iter().find(|path| name(path, files) == *first)?).ok()?;
    let (settings, Planned { plan, after }) = plan_of(&facts, layers).ok()?;
    let evidence = Evidence::default();
    let proposal = Proposal { facts: &facts, evidence: &evidence, settings: &settings, after: &after };
    plan.refusals.is_empty().then(|| first_look(&proposal)).flatten()?.gain()
}
