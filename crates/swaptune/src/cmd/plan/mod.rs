//! `swaptune plan`: what would change, and why.

mod file;
mod next;
mod predict;
mod weigh;

use std::collections::hash_map::RandomState;
use std::hash::{BuildHasher, Hasher};

use swaptune_core::facts::Facts;
use swaptune_core::forecast::Forecast;
use swaptune_core::measurement::Evidence;
use swaptune_core::plan::{Plan, PlanRequest, Planned, When, planned};
use swaptune_core::settings::{Setting, Settings};
use swaptune_host::inspect::{InspectScope, inspect, look_at_places, look_into_initramfs};

use crate::cli::{PlanArgs, SimulatedArgs, WantedArgs, WhenArgs};
use crate::cmd::Context;
use crate::cmd::unfinished::Unfinished;
use crate::failure::{FINDINGS as SOMETHING_TO_DO, Failure, REFUSED};
use crate::{configuration, output};

pub use file::read as reviewed;
pub use predict::{Proposal, first_look};
use weigh::Planner;
pub use weigh::only_comments_differ;

/// Prints the plan. Exit code 3 when it may not be carried out as it stands.
pub fn run(context: &Context, args: &PlanArgs) -> Result<u8, Failure> {
    let mut made = make(context, &args.wanted, &args.simulated, &args.when, &args.wipe)?;
    if made.plan.gain.is_none() && !made.plan.is_empty() && made.plan.refusals.is_empty() {
        let (evidence, _) = configuration::evidence(&context.machine, &args.wanted)?;
        let proposal = Proposal { facts: &made.facts, evidence: &evidence, settings: &made.settings, after: &made.after };
        made.plan.gain = first_look(&proposal).and_then(|forecast| forecast.gain());
    }
    if let Some(path) = &args.out {
        file::write(context, path, &made, &args.when, &args.wipe)?;
    }
    let mut plan = made.plan;
    // A journal that cannot be read forbids an apply, which says so; a plan only reads.
    if let Ok(Ok(Some(unfinished))) = Unfinished::look(context) {
        plan.notes.insert(0, unfinished.note());
    }
    if context.json {
        output::json(&plan)?;
    } else {
        let live = plan.steps.iter().any(|step| step.when == When::Now);
        let next = context.machine.is_live().then(|| next::command(args, live));
        let text = || output::plan::summary(&plan, next.as_deref());
        output::data(&if args.explain { output::plan::steps(&plan, true) } else { text() })?;
    }
    Ok(match (plan.refusals.is_empty(), args.detailed_exitcode && !plan.is_empty()) {
        (false, _) => REFUSED,
        (true, true) => SOMETHING_TO_DO,
        (true, false) => 0,
    })
}

/// What was planned, and what it follows from.
pub struct Made {
    /// The machine.
    pub facts: Facts,
    /// What is wanted, resolved.
    pub settings: Settings,
    /// What new headers take their UUIDs from.
    pub seed: u64,
    /// The plan.
    pub plan: Plan,
    /// The machine as it leaves it.
    pub after: Facts,
}

/// Looks at the machine and plans for what is wanted.
pub fn make(
    context: &Context,
    wanted: &WantedArgs,
    simulated: &SimulatedArgs,
    when: &WhenArgs,
    wipe: &[String],
) -> Result<Made, Failure> {
    let mut facts = inspect(&context.machine, InspectScope::PLAN);
    if facts.image.is_some() && when.now {
        let message = "live changes need a running kernel, and --root is not one";
        return Err(Failure::new(REFUSED, message).hint("leave out --now: an image takes what takes effect when it boots"));
    }
    configuration::assume(&context.machine, &mut facts, wanted)?;
    let (evidence, unread) = configuration::evidence(&context.machine, wanted)?;
    let planner = Planner { context, wanted, when, wipe, evidence: &evidence, seed: fresh_seed(context) };
    let mut settings = planner.resolve(&facts, None)?;
    let forecast = simulated.simulate.then(|| {
        let after = planner.plan(&facts, &settings, None).after;
        predict::forecast(&planner.proposal(&facts, &settings, &after), simulated)
    });
    let forecast = forecast.transpose()?;
    if forecast.is_some() {
        settings = planner.resolve(&facts, forecast.as_ref())?;
    }
    look_if_needed(context, &mut facts, Some(&settings));
    let mut planned = planner.plan(&facts, &settings, forecast.as_ref());
    // A plan that may not be carried out brings nothing.
    planned.plan.gain = forecast.as_ref().and_then(Forecast::gain).filter(|_| planned.plan.refusals.is_empty());
    if !planned.plan.is_empty() && is_our_own(context, &facts, wanted)? {
        (settings, planned) = planner.weigh(&mut facts, settings, planned, forecast)?;
    }
    let Planned { mut plan, after } = planned;
    plan.notes.extend(unread);
    plan.notes.extend(configuration::adopted(&facts, wanted)?.into_iter().flat_map(|taken| taken.notes));
    Ok(Made { facts, settings, seed: planner.seed, plan, after })
}

/// Whether the plan is our own proposal, which no flag or file asks for: then it must be worth it, or cure something. Else what was applied is kept
/// in order, whoever chose it: one of the choices of `quickstart`, or a flag. What was asked for is planned in any case.
fn is_our_own(context: &Context, facts: &Facts, wanted: &WantedArgs) -> Result<bool, Failure> {
    Ok(facts.image.is_none() && configuration::is_silent(&context.machine, wanted)?)
}

/// Unpacking the initramfs takes longer than everything else together, and only kernel arguments depend on what is in it.
pub fn look_if_needed(context: &Context, facts: &mut Facts, settings: Option<&Settings>) {
    let on = |setting: &Option<Setting<bool>>| setting.as_ref().is_some_and(|on| on.value);
    let asked = settings.is_some_and(|settings| on(&settings.boot.kernel_arguments) || on(&settings.boot.initramfs));
    let words = facts.boot.arguments.value().is_some_and(|store| store.configured.contains("zswap."));
    if asked || words {
        look_into_initramfs(&context.machine, facts);
    }
}

/// What a plan rests on beside the facts.
#[derive(Clone, Copy, Debug)]
pub struct PlanBasis<'a> {
    /// What is wanted, resolved.
    pub settings: &'a Settings,
    /// What was measured.
    pub evidence: &'a Evidence,
    /// What was simulated, where it was asked for.
    pub forecast: Option<&'a Forecast>,
    /// What new headers take their UUIDs from.
    pub seed: u64,
}

impl<'a> PlanBasis<'a> {
    /// Settings that were resolved and written down by an earlier apply.
    pub fn recorded(context: &Context, settings: &'a Settings, evidence: &'a Evidence) -> Self {
        Self { settings, evidence, forecast: None, seed: fresh_seed(context) }
    }
}

/// Whether a plan writes down what was resolved, for `verify` and the boot service.
#[derive(Clone, Copy, Debug)]
pub struct RecordResolved(pub bool);

/// The plan for settings that are resolved already.
pub fn for_settings(
    context: &Context,
    facts: &Facts,
    basis: PlanBasis<'_>,
    when: &WhenArgs,
    RecordResolved(record): RecordResolved,
    wipe: &[String],
) -> Plan {
    outcome(context, facts, basis, when, RecordResolved(record), wipe).plan
}

/// The same, with the machine that the plan makes.
pub fn outcome(
    context: &Context,
    facts: &Facts,
    basis: PlanBasis<'_>,
    when: &WhenArgs,
    RecordResolved(record): RecordResolved,
    wipe: &[String],
) -> Planned {
    let PlanBasis { settings, evidence, forecast, seed } = basis;
    let (binary, installed) = installed_at(context);
    let facts = &with_places(context, facts, settings);
    planned(&PlanRequest {
        facts,
        settings,
        evidence,
        forecast,
        now: !when.boot && facts.image.is_none(),
        boot: !when.now,
        record,
        wipe,
        binary: &binary,
        installed,
        seed,
    })
}

/// The facts with what lies where the settings want swap: an existing file or device may hold what is still needed.
fn with_places(context: &Context, facts: &Facts, settings: &Settings) -> Facts {
    let mut facts = facts.clone();
    look_at_places(&context.machine, &mut facts, settings);
    facts
}

/// Where this program is usually installed.
pub const USUAL_BINARY: &str = "/usr/local/bin/swaptune";
/// Where the packages have it.
const PACKAGED_BINARY: &str = "/usr/bin/swaptune";

/// Where the boot service finds this program, and whether it is there: its own path when that lasts, else the usual one.
pub fn installed_at(context: &Context) -> (String, bool) {
    const LASTING: &[&str] = &["/usr/", "/opt/", "/bin/", "/sbin/", "/nix/store/"];
    let own = std::env::current_exe().map(|path| path.display().to_string()).unwrap_or_default();
    let lasts = context.machine.is_live() && LASTING.iter().any(|place| own.starts_with(place)) && !own.contains("/target/");
    let there = [USUAL_BINARY, PACKAGED_BINARY].into_iter().find(|path| context.machine.exists(path));
    if lasts { (own, true) } else { (there.unwrap_or(USUAL_BINARY).into(), there.is_some()) }
}

/// New UUIDs must differ from machine to machine; the standard library's hasher keys are random enough for that. Headers are only written on
/// a live machine; a plan for a folder must be the same each time.
pub fn fresh_seed(context: &Context) -> u64 {
    if context.machine.is_live() { RandomState::new().build_hasher().finish() } else { 0 }
}
