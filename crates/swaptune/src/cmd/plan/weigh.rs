//! Whether our own proposal is worth it, and what takes its place where it is not.

use swaptune_core::change::Change;
use swaptune_core::facts::Facts;
use swaptune_core::findings::examine;
use swaptune_core::forecast::{Forecast, Gain};
use swaptune_core::measurement::Evidence;
use swaptune_core::plan::{APPLIED_FILE, APPLIED_NOW_FILE, FINDINGS, Note, Plan, Planned, SYSCTL_FILE, Step};
use swaptune_core::settings::Settings;

use super::predict::{self, Proposal};
use super::{PlanBasis, RecordResolved, look_if_needed, outcome};
use crate::cli::{WantedArgs, WhenArgs};
use crate::cmd::Context;
use crate::configuration;
use crate::failure::Failure;

/// What each plan of one call is made with.
pub struct Planner<'a> {
    pub context: &'a Context,
    pub wanted: &'a WantedArgs,
    pub when: &'a WhenArgs,
    pub wipe: &'a [String],
    /// What was measured.
    pub evidence: &'a Evidence,
    /// What new headers take their UUIDs from.
    pub seed: u64,
}

impl Planner<'_> {
    /// What is wanted, resolved; a forecast has its say where there is one.
    pub fn resolve(&self, facts: &Facts, forecast: Option<&Forecast>) -> Result<Settings, Failure> {
        configuration::resolve(&self.context.machine, facts, self.evidence, forecast, self.wanted)
    }

    /// The plan for settings that are resolved, and the machine that it makes.
    pub fn plan(&self, facts: &Facts, settings: &Settings, forecast: Option<&Forecast>) -> Planned {
        let basis = PlanBasis { settings, evidence: self.evidence, forecast, seed: self.seed };
        outcome(self.context, facts, basis, self.when, RecordResolved(true), self.wipe)
    }

    /// Our own proposal, in whose place comes a tier that is clearly better, and which must be worth it. Else what was applied is kept in order; else it
    /// is made only where it puts something right.
    pub fn weigh(
        &self,
        facts: &mut Facts,
        settings: Settings,
        Planned { plan, after }: Planned,
        simulated: Option<Forecast>,
    ) -> Result<(Settings, Planned), Failure> {
        // A plan that is refused is shown as it is.
        if !plan.refusals.is_empty() {
            return Ok((settings, Planned { plan, after }));
        }
        // What was simulated has had its choice.
        let is_settled = simulated.is_some();
        let first = simulated.or_else(|| predict::first_look(&self.proposal(facts, &settings, &after)));
        let applied = configuration::applied(facts)?;
        if let Some(first) = first.as_ref().filter(|_| applied.is_none() && !is_settled) {
            if let Some(better) = self.of_another_tier(facts, &settings, &after, first)? {
                return Ok(better);
            }
        }
        let plan = Plan { gain: first.as_ref().and_then(Forecast::gain), ..plan };
        if plan.gain.as_ref().is_none_or(Gain::is_worth_it) {
            return Ok((settings, Planned { plan, after }));
        }
        if let Some((applied, _)) = applied {
            let Planned { plan: kept, after } = self.plan(facts, &applied, None);
            let kept = kept.without(only_comments_differ);
            if !kept.is_in_effect() {
                return Ok((applied, Planned { plan: kept, after }));
            }
        }
        let wrong = wrong(facts);
        // What it puts right is no reason to hold fewer applications.
        let is_held_back = wrong.is_none() || plan.gain.as_ref().is_some_and(Gain::is_loss);
        let verdict = wrong.map(|wrong| verdict(&wrong, is_held_back));
        let plan = if is_held_back { plan.if_worth_it() } else { plan };
        let plan = Plan { notes: verdict.into_iter().chain(plan.notes).collect(), ..plan };
        Ok((settings, Planned { plan, after }))
    }

    /// What a simulation is asked about.
    pub fn proposal<'a>(&'a self, facts: &'a Facts, settings: &'a Settings, after: &'a Facts) -> Proposal<'a> {
        Proposal { facts, evidence: self.evidence, settings, after }
    }

    fn of_another_tier(
        &self,
        facts: &mut Facts,
        settings: &Settings,
        after: &Facts,
        first: &Forecast,
    ) -> Result<Option<(Settings, Planned)>, Failure> {
        let Some(forecast) = predict::other_tier(&self.proposal(facts, settings, after), first) else { return Ok(None) };
        let settings = self.resolve(facts, Some(&forecast))?;
        look_if_needed(self.context, facts, Some(&settings));
        let Planned { plan, after } = self.plan(facts, &settings, Some(&forecast));
        let plan = Plan { gain: forecast.gain(), ..plan };
        // One that may not be carried out does not replace one that may.
        Ok(plan.refusals.is_empty().then_some((settings, Planned { plan, after })))
    }
}

/// What is wrong and would be put right, where something is.
fn wrong(facts: &Facts) -> Option<String> {
    let found: Vec<&str> = examine(facts).iter().filter(|found| found.is_cured_by_apply()).map(|found| found.title).collect();
    (!found.is_empty()).then(|| found.join("; that "))
}

/// A note on it: why a plan of little gain is proposed, or what stays wrong without one of a loss.
fn verdict(wrong: &str, is_held_back: bool) -> Note {
    let text = match is_held_back {
        false => format!("proposed although it gains little, for it puts right that {wrong}"),
        true => format!(
            "with the plan fewer applications fit, so it stays as it is that {wrong}; `swaptune apply --profile auto` changes it"
        ),
    };
    Note { about: FINDINGS.into(), text, evidence: "`swaptune verify`".into(), pending: false }
}

/// True for a file of ours in which no value changes: settings that were read back from a record have another origin, which comments name.
pub fn only_comments_differ(step: &Step) -> bool {
    let Change::File { path, before: Some(before), after: Some(after), .. } = &step.change else { return false };
    let values = |text: &str| {
        let lines = text.lines().filter(|line| !line.starts_with('#'));
        lines.map(|line| without_comment(line).to_owned()).collect::<Vec<_>>()
    };
    [SYSCTL_FILE, APPLIED_FILE, APPLIED_NOW_FILE].contains(&path.as_str()) && values(before) == values(after)
}

/// A line of a record without its provenance: a `#` within a string is part of the value.
fn without_comment(line: &str) -> &str {
    line.rsplit_once(" # ").filter(|(_, comment)| !comment.contains('"')).map_or(line, |(value, _)| value)
}

#[cfg(test)]
mod tests {
    use swaptune_core::plan::When;

    use super::*;

    #[test]
    fn a_loss_is_never_called_a_little_gain() {
        let [proposed, held] = [false, true].map(|is_held_back| verdict("a disk claims to spin", is_held_back).text);
        assert!(proposed.contains("gains little"), "{proposed}");
        assert!(held.contains("fewer applications fit") && !held.contains("gains"), "{held}");
    }

    #[test]
    fn a_changed_value_is_no_changed_comment() {
        let step = |before: &str, after: &str| Step {
            change: Change::File {
                path: APPLIED_FILE.into(),
                before: Some(before.into()),
                after: Some(after.into()),
                mode: 0o644,
            },
            when: When::Boot,
            reason: String::new(),
            evidence: String::new(),
            provenance: String::new(),
            risk: String::new(),
        };
        assert!(only_comments_differ(&step("enabled = true # derived\n", "enabled = true # applied.toml:5\n")));
        assert!(!only_comments_differ(&step("enabled = true # derived\n", "enabled = false # derived\n")));
        assert!(!only_comments_differ(&step("path = \"/a # b\"\n", "path = \"/a # c\"\n")));
    }
}
