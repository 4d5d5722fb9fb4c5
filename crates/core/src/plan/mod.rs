//! Plans: an ordered list of changes, each with its reason, its evidence and its risk.
//!
//! A plan is a pure function of facts and settings. A plan for a machine that is already right is empty.

mod after;
mod areas;
#[cfg(test)]
mod boot_tests;
mod capacity;
mod conflicts;
mod declared;
pub mod device;
mod draft;
mod encryption;
mod image;
mod initramfs;
mod initramfs_tools;
mod kubernetes;
mod live;
mod managers;
#[cfg(test)]
mod managers_tests;
#[cfg(test)]
mod names_tests;
mod off;
mod owned;
mod persist;
mod sizes;
#[cfg(test)]
mod tests;
pub(crate) mod writers;
mod zram;
mod zram_upkeep;

use serde::{Deserialize, Serialize};
use swaptune_kernel::KernelVersion;

use crate::change::Change;
use crate::facts::Facts;
use crate::forecast::{Forecast, Gain};

pub use areas::active_state;
pub use capacity::{CAPACITY, CapacityChange, SLOTS};
use draft::Draft;
pub use draft::PlanRequest;
pub use image::assume;
pub use initramfs_tools::{INITRAMFS_BUILDERS, InitramfsBuilder};
pub(crate) use managers::sets_up_swap;
pub use managers::treats_manager;
pub(crate) use owned::ZRAM_GENERATOR_FILE;
pub use owned::{APPLIED_FILE, APPLIED_NOW_FILE, CONFIG_FILE, SYSCTL_FILE, UNIT_FILE, UNIT_LINK};
pub use sizes::FILE_RESERVE;

/// Version of the JSON form of [`Plan`].
pub const SCHEMA: u32 = 1;

/// What the note is about that says what a plan of little gain puts right.
pub const FINDINGS: &str = "findings";

/// When a step takes effect.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum When {
    /// Live, at once.
    Now,
    /// From the next boot on.
    Boot,
}

/// One change and why it is made.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Step {
    /// What is changed.
    pub change: Change,
    /// When it takes effect.
    pub when: When,
    /// Why, as one sentence.
    pub reason: String,
    /// What the reason rests on: a kernel document, a fact's source, a measurement.
    pub evidence: String,
    /// Who asked for it: a profile, a file, a flag, a derivation.
    pub provenance: String,
    /// What can go wrong; empty when nothing that matters can.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub risk: String,
}

/// Something that was decided without a change, or that the user should know.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Note {
    /// What it is about: a knob, a device, a manager.
    pub about: String,
    /// What was decided or found, as one sentence.
    pub text: String,
    /// What it rests on.
    pub evidence: String,
    /// True when the running system is not as wanted and a plan does not change that now: `verify` counts it.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub pending: bool,
}

/// Why a plan may not be carried out as it stands.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Refusal {
    /// What is refused.
    pub what: String,
    /// The reason, as one sentence for the user.
    pub why: String,
    /// What to type or change next.
    pub hint: String,
}

/// The whole plan.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Plan {
    /// Version of this structure.
    pub schema: u32,
    /// The profile that it started from.
    pub profile: String,
    /// The steps in the order in which they are made.
    pub steps: Vec<Step>,
    /// What was decided without a change.
    pub notes: Vec<Note>,
    /// What forbids to carry it out; nothing is changed while there is one.
    pub refusals: Vec<Refusal>,
    /// What fits before the plan and after it; absent where the size of RAM is unknown.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub capacity: Option<CapacityChange>,
    /// The forecast, where one was asked for.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub forecast: Option<Forecast>,
    /// What it brings, where that was simulated.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub gain: Option<Gain>,
    /// How many changes were left out because `gain` is too small for them.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub held_back: usize,
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde passes fields by reference")]
fn is_zero(number: &usize) -> bool {
    *number == 0
}

impl Plan {
    /// True when there is nothing to do.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.steps.is_empty()
    }

    /// True when the machine is as the settings want it: nothing to do, nothing refused, nothing left for later.
    #[must_use]
    pub fn is_in_effect(&self) -> bool {
        self.steps.is_empty() && self.refusals.is_empty() && self.pending().next().is_none()
    }

    /// What is not as wanted and waits for the next boot.
    pub fn pending(&self) -> impl Iterator<Item = &Note> {
        self.notes.iter().filter(|note| note.pending)
    }

    /// The plan without its changes when its settings are swaptune's own proposal and not worth it. What is refused, and what the model has no
    /// figures for, stays as it is.
    #[must_use]
    pub fn if_worth_it(self) -> Self {
        let is_worth_it = self.gain.as_ref().is_none_or(Gain::is_worth_it);
        if is_worth_it || !self.refusals.is_empty() {
            return self;
        }
        // The other notes and capacity are about the changes.
        let notes = self.notes.into_iter().filter(|note| note.about == SLOTS).collect();
        Self { held_back: self.steps.len(), steps: Vec::new(), notes, capacity: None, ..self }
    }

    /// The plan less the steps that do not count.
    #[must_use]
    pub fn without(mut self, unwanted: impl Fn(&Step) -> bool) -> Self {
        self.steps.retain(|step| !unwanted(step));
        self
    }
}

/// A plan, and what comes of it.
#[derive(Clone, Debug)]
pub struct Planned {
    /// The plan.
    pub plan: Plan,
    /// The machine as it leaves it, as far as capacity and the model depend on it.
    pub after: Facts,
}

/// Makes the plan: what has to change on this machine for the settings to be in effect, now and at every boot.
#[must_use]
pub fn plan(request: &PlanRequest<'_>) -> Plan {
    planned(request).plan
}

/// The same, with the machine that it makes.
#[must_use]
pub fn planned(request: &PlanRequest<'_>) -> Planned {
    let asked = request;
    let request = &declared::narrowed(asked);
    let mut draft = Draft::new(request);
    if let Some(container) = request.facts.system.container.value() {
        let why = format!("this is a {} container: kernel settings and swap belong to its host", container.kind);
        draft.refuse("this machine", why, "run swaptune on the host");
        return draft.finish();
    }
    if let Some(version) = request.facts.kernel.version.value().filter(|version| !version.is_known()) {
        let why = format!("Linux {version} found, {} or later expected", KernelVersion::OLDEST);
        draft.refuse("this kernel", why, "boot a newer one: what is known of settings begins there");
        return draft.finish();
    }
    declared::note(&mut draft, asked);
    if request.settings.profile.as_ref().is_some_and(|profile| profile.value == "off") {
        live::zswap(&mut draft);
        live::knobs(&mut draft);
        off::plan(&mut draft);
        return draft.finish();
    }
    if let Some(forecast) = request.forecast {
        draft.note("simulation", forecast.summary(), forecast.source());
    }
    image::note(&mut draft);
    live::knobs(&mut draft);
    areas::plan(&mut draft);
    capacity::slots(&mut draft);
    encryption::note(&mut draft);
    zram::plan(&mut draft);
    live::zswap(&mut draft);
    conflicts::zswap_without_an_area(&mut draft);
    conflicts::zram_beside_zswap(&mut draft);
    conflicts::inverted_tiers(&mut draft);
    managers::plan(&mut draft);
    conflicts::page_size(&mut draft);
    if request.boot {
        writers::notes(&mut draft);
        persist::plan(&mut draft);
    }
    if request.record {
        persist::record(&mut draft);
    }
    kubernetes::guard(&mut draft);
    draft.finish()
}
