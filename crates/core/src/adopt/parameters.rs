//! Knobs that are set one by one: words of the kernel command line, sysctl files, other files that a boot acts on.

use super::{Taken, at};
use crate::facts::{Facts, KnobWriter};
use crate::knobs::{self, Knob, KnobKind};
use crate::parse::cmdline;
use crate::plan::SYSCTL_FILE;
use crate::settings::{Provenance, Setting, SettingsError, WantedParameter, ZswapSettings};

/// Wants a value of a knob; one of zswap is wanted in the form of its section.
pub(super) fn want(taken: &mut Taken, row: &'static Knob, value: &str, place: Provenance) -> Result<(), SettingsError> {
    let error = |problem: knobs::KnobError| SettingsError { place: place.to_string(), problem: problem.to_string() };
    let value = row.normalise(value).map_err(error)?.into_owned();
    if !ZswapSettings::rows().any(|known| known.name == row.name) {
        taken.settings.want_knob(row.name.to_owned(), Setting::new(value, place));
        return Ok(());
    }
    let wanted = match row.kind {
        KnobKind::Bool => WantedParameter::Flag(value == "Y"),
        KnobKind::Integer { .. } => {
            value.parse().map_or_else(|_| WantedParameter::Names(vec![value.clone()]), WantedParameter::Number)
        }
        _ => WantedParameter::Names(vec![value]),
    };
    taken.settings.zswap.set(row, Setting::new(wanted, place));
    Ok(())
}

/// zswap's words, as they are configured for the next boot.
pub(super) fn words(facts: &Facts, taken: &mut Taken) -> Result<(), SettingsError> {
    let store = facts.boot.arguments.value();
    let (text, path) = match (store, facts.kernel.cmdline.value()) {
        (Some(store), _) => (store.configured.as_str(), store.path.as_str()),
        (None, Some(line)) => (line.as_str(), "/proc/cmdline"),
        (None, None) => return Ok(()),
    };
    let mut first = None;
    for word in cmdline::parse(text).iter().filter(|word| word.name.starts_with("zswap.")) {
        let place = place_of(facts, path, &word.raw);
        match ZswapSettings::rows().find(|row| word.is(row.name)) {
            // The kernel takes any number, and swaptune those that its documentation has.
            Some(row) if is_beyond(row, word) => {
                taken.note(format!("{} is beyond what swaptune sets: it is left out", word.raw), place.to_string());
            }
            Some(row) => {
                first.get_or_insert_with(|| place.clone());
                want(taken, row, &value(row, word), place)?;
            }
            None => taken.note(format!("{} is no parameter of zswap: it is left out", word.name), place.to_string()),
        }
    }
    if let Some(place) = first.filter(|_| store.is_some()) {
        taken.settings.boot.kernel_arguments = Some(Setting::new(true, place));
    }
    Ok(())
}

fn is_beyond(row: &Knob, word: &cmdline::Argument) -> bool {
    let is_number = word.value.as_ref().is_some_and(|text| text.parse::<u32>().is_ok());
    matches!(row.kind, KnobKind::Integer { .. }) && is_number && row.normalise(&value(row, word)).is_err()
}

/// A bare word switches on.
fn value(row: &Knob, word: &cmdline::Argument) -> String {
    let text = word.value.clone().unwrap_or_default();
    let flag = (row.kind == KnobKind::Bool).then(|| cmdline::boolean(&text)).flatten();
    flag.map_or(text, |on| if on { "Y" } else { "N" }.to_owned())
}

/// The line that has a word: in the main file or, where the loader reads them, a drop-in; the last one is the one that counts.
fn place_of(facts: &Facts, path: &str, word: &str) -> Provenance {
    let is_read = |file: &&String| file.as_str() == path || file.starts_with(&format!("{path}.d/"));
    let lines = facts.files.iter().filter(|(file, _)| is_read(file)).flat_map(|(file, text)| {
        let lines = text.value().map(String::as_str).unwrap_or_default().lines().zip(1..);
        lines.filter(|(line, _)| !line.trim_start().starts_with('#') && line.contains(word)).map(move |(_, line)| (file, line))
    });
    lines.last().map_or_else(|| at(path, 1), |(file, line)| at(file, line))
}

/// Knobs that a file of the administrator sets last; those of a distribution stay with it.
pub(super) fn sysctls(facts: &Facts, taken: &mut Taken) -> Result<(), SettingsError> {
    for (name, sources) in &facts.sysctl_sources {
        let Some(last) = sources.iter().rfind(|source| source.path != SYSCTL_FILE) else { continue };
        let Some(row) = knobs::find(name).filter(|_| !last.path.starts_with("/usr/lib/") && !last.path.starts_with("/lib/"))
        else {
            continue;
        };
        // Of two that exclude each other the one that is in effect is not zero.
        if row.excluded().is_some() && facts.knob(name).is_some_and(|live| row.same(live, "0")) {
            taken.note(format!("{name} is 0 now: {} counts", row.excludes), format!("{}:{}", last.path, last.line));
            continue;
        }
        want(taken, row, &last.value, at(&last.path, last.line))?;
    }
    Ok(())
}

/// Plain lines elsewhere that set a knob.
pub(super) fn writers(facts: &Facts, taken: &mut Taken) -> Result<(), SettingsError> {
    for writer in facts.system.writers.iter().filter(|writer| !writer.path.contains("swaptune")) {
        let KnobWriter { knob, path, line, .. } = writer;
        let Some(row) = knobs::find(knob) else { continue };
        match &writer.value {
            _ if row.is_pattern() => {
                taken.note(format!("{knob} is one file for each device: {path} goes on setting it"), format!("{path}:{line}"));
            }
            Some(value) => want(taken, row, value, at(path, *line))?,
            None => taken.note(format!("{knob} is set there to what only running it would tell"), format!("{path}:{line}")),
        }
    }
    Ok(())
}
