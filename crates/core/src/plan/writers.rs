//! Others who set at boot what this plan sets, outside of sysctl files: said with who wins.
//!
//! The boot service comes before `swap.target`. A unit with default dependencies comes after `sysinit.target`, which comes
//! after `swap.target`, and systemd-tmpfiles-setup comes after file systems in memory, which do so too: to be ordered after any
//! of them would close a cycle, and systemd would drop a unit to break it. So swaptune stays first, and a writer that comes
//! later wins until it is taken away.

use super::draft::Draft;
use crate::facts::{Facts, KnobWriter, WriterKind};
use crate::knobs;
use crate::settings::{Settings, WantedParameter};

/// The writers that do not set what is wanted, each with that.
#[must_use]
pub fn contested<'a>(facts: &'a Facts, settings: &Settings) -> Vec<(&'a KnobWriter, String)> {
    let differs = |writer: &&KnobWriter, wanted: &str| {
        let row = knobs::find(&writer.knob);
        !writer.value.as_deref().is_some_and(|value| row.is_some_and(|row| row.same(value, wanted)))
    };
    let counts = |writer: &&KnobWriter| writer.kind != WriterKind::Modprobe || !zswap_is_built_in(facts);
    let writers = facts.system.writers.iter().filter(counts);
    writers
        .filter_map(|writer| Some((writer, wanted(facts, settings, &writer.knob).filter(|value| differs(&writer, value))?)))
        .collect()
}

/// Options of a module do not reach what is built in.
fn zswap_is_built_in(facts: &Facts) -> bool {
    facts.kernel.config.value().and_then(|config| config.get("CONFIG_ZSWAP")).is_none_or(|value| value == "y")
}

/// What the settings want of a knob, as it is written.
fn wanted(facts: &Facts, settings: &Settings, knob: &str) -> Option<String> {
    if let Some(setting) = settings.knobs.get(knob) {
        return Some(setting.value.clone());
    }
    let parameter = knob.strip_prefix("zswap.").filter(|name| settings.wants_zswap() || *name == "enabled")?;
    match &settings.zswap.get(parameter)?.value {
        WantedParameter::Names(names) if parameter == "compressor" => facts.first_usable(names),
        wanted => wanted.text(facts.memory.total()),
    }
}

/// One line for each of them.
pub(super) fn notes(draft: &mut Draft<'_>) {
    for (writer, wanted) in contested(draft.facts(), draft.settings()) {
        let text = format!("{}, not {wanted}: {}", says(writer), wins(writer.kind));
        draft.note(writer.knob.clone(), text, format!("{}:{}", writer.path, writer.line));
    }
}

/// What a writer does, with file and line.
#[must_use]
pub fn says(writer: &KnobWriter) -> String {
    let value = writer.value.as_deref().unwrap_or("what its command says");
    let place = format!("{}:{}", writer.path, writer.line);
    if writer.by == writer.path { format!("{place} sets {value}") } else { format!("{} sets {value} ({place})", writer.by) }
}

/// Who has the last word.
#[must_use]
pub fn wins(kind: WriterKind) -> &'static str {
    match kind {
        WriterKind::Unit | WriterKind::RcLocal | WriterKind::Cron => "it runs after swaptune's service and wins",
        WriterKind::Tmpfiles | WriterKind::Udev => "it has no order with swaptune's service, so either may win",
        WriterKind::Modprobe => "it counts when the module is loaded, and swaptune's service sets it again",
    }
}
