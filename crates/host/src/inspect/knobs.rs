//! The live value of every knob that stands for one file.

use std::collections::BTreeMap;

use swaptune_core::Fact;
use swaptune_core::knobs::{self, KnobKind};
use swaptune_core::parse::choice;

use crate::machine::Machine;

pub(super) fn inspect(machine: &Machine) -> BTreeMap<String, Fact<String>> {
    let single = knobs::all().filter(|knob| !knob.is_pattern() && knob.kind != KnobKind::Trigger);
    single
        .map(|knob| {
            let value = match machine.read_text(knob.path) {
                Ok(text) => Fact::known(choice::value(&text), knob.path),
                Err(error) => error.absent(),
            };
            (knob.name.to_owned(), value)
        })
        .collect()
}
