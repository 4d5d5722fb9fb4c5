//! A plan in the making, and the facts and settings that it is made from.

use super::{Note, Plan, Planned, Refusal, SCHEMA, Step, When};
use crate::change::Change;
use crate::facts::Facts;
use crate::forecast::Forecast;
use crate::knobs;
use crate::measurement::Evidence;
use crate::settings::{Setting, Settings};
use uuid::Uuid;

/// Everything a plan is a function of.
#[derive(Clone, Debug)]
pub struct PlanRequest<'a> {
    /// The machine.
    pub facts: &'a Facts,
    /// What is wanted, resolved.
    pub settings: &'a Settings,
    /// What was measured on it.
    pub evidence: &'a Evidence,
    /// What a simulation says of the candidates that the settings were chosen from.
    pub forecast: Option<&'a Forecast>,
    /// Plan live changes.
    pub now: bool,
    /// Plan what makes them last.
    pub boot: bool,
    /// Record what was resolved, so that `verify` and the boot service know it.
    pub record: bool,
    /// Devices that may be overwritten whatever they carry.
    pub wipe: &'a [String],
    /// Where the binary is installed, for the boot service.
    pub binary: &'a str,
    /// Whether it is there.
    pub installed: bool,
    /// Source of new UUIDs; two plans with the same seed are equal.
    pub seed: u64,
}

/// Why a step is made, apart from the change itself.
pub(super) struct Why<'a> {
    pub(super) reason: String,
    pub(super) evidence: String,
    pub(super) provenance: String,
    pub(super) risk: &'a str,
}

impl Why<'_> {
    /// A step that follows from a rule of the planner.
    pub(super) fn rule(reason: impl Into<String>, evidence: impl Into<String>) -> Self {
        Why { reason: reason.into(), evidence: evidence.into(), provenance: "rule".into(), risk: "" }
    }

    /// A step that carries out a setting; `name` is the knob, for the remark on it.
    pub(super) fn setting<T>(setting: &Setting<T>, name: &str, settings: &Settings) -> Self {
        let remark = settings.remarks.get(name);
        let doc = knobs::find(name).map_or_else(String::new, |knob| knob.doc.to_owned());
        let source = knobs::find(name).map_or_else(String::new, |knob| knob.source.to_owned());
        let provenance = setting.provenance.to_string();
        match setting.provenance.reasoning() {
            Some((reason, evidence)) => Why { reason: reason.to_owned(), evidence: evidence.to_owned(), provenance, risk: "" },
            None => Why { reason: remark.cloned().unwrap_or(doc), evidence: source, provenance, risk: "" },
        }
    }
}

/// The plan so far.
pub(super) struct Draft<'a> {
    pub(super) request: &'a PlanRequest<'a>,
    plan: Plan,
    /// Every live change, also where only the next boot is planned.
    live: Vec<Change>,
}

impl<'a> Draft<'a> {
    pub(super) fn new(request: &'a PlanRequest<'a>) -> Self {
        let profile = request.settings.profile.as_ref().map_or_else(String::new, |profile| profile.value.clone());
        let forecast = request.forecast.cloned();
        Self { request, plan: Plan { schema: SCHEMA, profile, forecast, ..Plan::default() }, live: Vec::new() }
    }

    /// Another word in the place of the profile, for a plan that rests on none.
    pub(super) fn rename(&mut self, name: &str) {
        self.plan.profile = name.to_owned();
    }

    /// True when something forbids the plan already.
    pub(super) fn is_refused(&self) -> bool {
        !self.plan.refusals.is_empty()
    }

    pub(super) fn facts(&self) -> &'a Facts {
        self.request.facts
    }

    pub(super) fn settings(&self) -> &'a Settings {
        self.request.settings
    }

    /// Every live change so far.
    pub(super) fn live(&self) -> &[Change] {
        &self.live
    }

    pub(super) fn step(&mut self, when: When, change: Change, why: Why<'_>) {
        if when == When::Now {
            self.live.push(change.clone());
        }
        let wanted = match when {
            When::Now => self.request.now,
            When::Boot => self.request.boot,
        };
        if wanted {
            let Why { reason, evidence, provenance, risk } = why;
            self.plan.steps.push(Step { change, when, reason, evidence, provenance, risk: risk.into() });
        }
    }

    pub(super) fn note(&mut self, about: impl Into<String>, text: impl Into<String>, evidence: impl Into<String>) {
        self.add_note(Note { about: about.into(), text: text.into(), evidence: evidence.into(), pending: false });
    }

    /// A note on what is not as wanted and is not changed before the next boot.
    pub(super) fn pending(&mut self, about: impl Into<String>, text: impl Into<String>, evidence: impl Into<String>) {
        // Only the running system can wait for a boot.
        let pending = self.request.now;
        self.add_note(Note { about: about.into(), text: text.into(), evidence: evidence.into(), pending });
    }

    fn add_note(&mut self, note: Note) {
        if !self.plan.notes.contains(&note) {
            self.plan.notes.push(note);
        }
    }

    pub(super) fn refuse(&mut self, what: impl Into<String>, why: impl Into<String>, hint: impl Into<String>) {
        self.plan.refusals.push(Refusal { what: what.into(), why: why.into(), hint: hint.into() });
    }

    /// An owned or edited text file brought to `after` for the next boot; nothing when it is already so.
    pub(super) fn file(&mut self, path: &str, after: Option<String>, mode: u32, why: Why<'_>) -> bool {
        self.file_when(When::Boot, path, after, mode, why)
    }

    /// The same, for a file that matters at another time.
    pub(super) fn file_when(&mut self, when: When, path: &str, after: Option<String>, mode: u32, why: Why<'_>) -> bool {
        let before = self.facts().file(path).map(str::to_owned);
        if before == after {
            return false;
        }
        self.step(when, Change::File { path: path.into(), before, after, mode }, why);
        true
    }

    /// The steps so far.
    pub(super) fn steps(&self) -> &[Step] {
        &self.plan.steps
    }

    /// Takes steps out again that a refusal found later forbids.
    pub(super) fn drop_changes(&mut self, forbidden: impl Fn(&Change) -> bool) {
        self.plan.steps.retain(|step| !forbidden(&step.change));
        self.live.retain(|change| !forbidden(change));
    }

    pub(super) fn finish(mut self) -> Planned {
        let after = super::after::facts(self.facts(), self.settings(), &self.live);
        self.plan.capacity = super::capacity::of(&mut self, &after);
        Planned { plan: self.plan, after }
    }
}

/// The UUID of what a plan makes: the same for the same seed and purpose (version 5, RFC 9562).
pub(super) fn uuid(seed: u64, purpose: &str) -> String {
    Uuid::new_v5(&Uuid::from_u64_pair(seed, 0), purpose.as_bytes()).to_string()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn uuids_are_well_formed_and_differ() {
        let a = uuid(1, "/dev/vdb");
        assert_eq!(a.len(), 36);
        assert_eq!(a, uuid(1, "/dev/vdb"));
        assert_ne!(a, uuid(2, "/dev/vdb"));
        assert_ne!(a, uuid(1, "/dev/vdc"));
    }
}
