//! `swaptune verify`: is what was applied in effect, what else is wrong, and the proof.

use serde::Serialize;
use swaptune_core::facts::Facts;
use swaptune_core::findings::{Found, Severity, examine};
use swaptune_core::measurement::Evidence;
use swaptune_core::plan::{Plan, When};
use swaptune_core::proof::{Proof, Verdict};
use swaptune_core::settings::Settings;
use swaptune_host::inspect::{InspectScope, inspect};
use swaptune_host::prove::{ProofOptions, prove};

use super::unfinished::Unfinished;
use super::{Context, plan};
use crate::cli::{VerifyArgs, WhenArgs};
use crate::failure::{FINDINGS, Failure, REFUSED, at_root};
use crate::{configuration, output};

/// The JSON form of the answer.
#[derive(Serialize)]
struct VerifyJson<'a> {
    /// 0 when nothing is wrong.
    ok: bool,
    /// What was cut short; nothing else counts before it is finished or taken back.
    unfinished: Option<&'a Unfinished>,
    /// Why that is not known.
    not_known: Option<&'a str>,
    /// Whether there is something to compare the machine with.
    applied: bool,
    /// What is not in effect, as the changes that would bring it into effect.
    drift: Option<&'a Plan>,
    findings: &'a [Found],
    proof: Option<&'a Proof>,
}

/// Prints drift, findings and the proof. Exit code 0 only when nothing is wrong.
pub fn run(context: &Context, args: &VerifyArgs) -> Result<u8, Failure> {
    let looked = Unfinished::look(context)?;
    // Only root may read the journals.
    if !context.machine.is_live() || context.machine.is_root() {
        super::history::remind(context)?;
    }
    let mut facts = inspect(&context.machine, InspectScope::PLAN);
    configuration::assume(&context.machine, &mut facts, &args.wanted)?;
    let wanted = wanted(context, &facts, args)?;
    if let Some((settings, _)) = &wanted {
        swaptune_core::plan::assume(&mut facts, settings);
    }
    plan::look_if_needed(context, &mut facts, wanted.as_ref().map(|(settings, _)| settings));
    let drift = wanted.as_ref().map(|(settings, when)| {
        plan::for_settings(
            context,
            &facts,
            plan::PlanBasis::recorded(context, settings, &Evidence::default()),
            when,
            plan::RecordResolved(false),
            &[],
        )
        .without(plan::only_comments_differ)
    });
    let findings = examine(&facts);
    let proof = args.prove.then(|| canary(context)).transpose()?;
    let answer = VerifyJson {
        ok: !matches!(looked, Ok(Some(_)))
            && drift.as_ref().is_none_or(Plan::is_in_effect)
            && findings.iter().all(|finding| finding.severity == Severity::Info)
            && proof.as_ref().is_none_or(|proof| proof.verdict == Verdict::Proved),
        unfinished: looked.as_ref().ok().and_then(Option::as_ref),
        not_known: looked.as_ref().err().map(String::as_str),
        applied: wanted.is_some(),
        drift: drift.as_ref(),
        findings: &findings,
        proof: proof.as_ref(),
    };
    if context.json {
        output::json_versioned(&answer)?;
    } else {
        // What is said of a capture is meant for its machine.
        let root = facts.image.as_ref().and(context.root());
        output::data(&at_root(&text(&answer), root))?;
    }
    Ok(if answer.ok { 0 } else { FINDINGS })
}

/// What the flags name, else what the last apply resolved.
fn wanted(context: &Context, facts: &Facts, args: &VerifyArgs) -> Result<Option<(Settings, WhenArgs)>, Failure> {
    let flags = &args.wanted;
    if flags.profile.is_none() && !flags.adopt && flags.config.is_none() && flags.set.is_empty() {
        return configuration::applied(facts);
    }
    let (evidence, _) = configuration::evidence(&context.machine, flags)?;
    Ok(Some((configuration::resolve(&context.machine, facts, &evidence, None, flags)?, WhenArgs::default())))
}

fn canary(context: &Context) -> Result<Proof, Failure> {
    if !context.machine.is_live() {
        return Err(Failure::new(REFUSED, "a proof needs the running kernel, and --root is not one").hint("leave --root out"));
    }
    prove(&context.machine, &ProofOptions::default()).map_err(|error| Failure::new(FINDINGS, error))
}

fn text(answer: &VerifyJson<'_>) -> String {
    let mut out = match (answer.unfinished, answer.not_known) {
        (Some(unfinished), _) => output::text::wrap(&format!("Unfinished: {}", unfinished.sentence()), 0) + "\n",
        (None, Some(why)) => output::text::wrap(&format!("Whether an apply was interrupted is not known: {why}"), 0),
        (None, None) => String::new(),
    };
    out += &match answer.drift {
        Some(plan) => drift(plan),
        None => "Nothing has been applied on this machine; looking for what is wrong with it as it is\n".to_owned(),
    };
    let count = |severity| answer.findings.iter().filter(|finding| finding.severity == severity).count();
    let (errors, warnings, infos) = (count(Severity::Error), count(Severity::Warning), count(Severity::Info));
    out += &match (errors, warnings) {
        (0, 0) => "Findings: none\n".to_owned(),
        _ => format!("Findings: {}, {}\n", output::text::count(errors, "error"), output::text::count(warnings, "warning")),
    };
    out += &output::findings::text(answer.findings, false);
    if infos > 0 {
        out += &format!("\nWorth knowing\n{}", infos_text(answer.findings));
    }
    if let Some(proof) = answer.proof {
        out += &format!("\n{}", output::proof::text(proof));
    }
    out
}

fn infos_text(found: &[Found]) -> String {
    let infos = found.iter().filter(|finding| finding.severity == Severity::Info);
    infos.map(|finding| output::text::wrap(&format!("{}: {}", finding.code, finding.what), 2)).collect()
}

fn drift(plan: &Plan) -> String {
    if plan.is_in_effect() {
        return "In effect: every line of what was applied, live and for the next boot\n".into();
    }
    let pending: String = plan.pending().map(|note| output::text::wrap(&format!("{}: {}", note.about, note.text), 2)).collect();
    if plan.is_empty() && plan.refusals.is_empty() {
        return format!("In effect for the next boot, but not yet:\n{pending}  cure: a reboot\n\n");
    }
    let mut out = String::from("Not in effect:\n");
    for step in &plan.steps {
        let when = if step.when == When::Now { "now" } else { "at boot" };
        out += &output::text::wrap(&format!("{} ({when})", step.change), 2);
    }
    for refusal in &plan.refusals {
        out += &output::text::wrap(&format!("{}: {}", refusal.what, refusal.why), 2);
    }
    out + &pending + "  cure: swaptune apply\n\n"
}
