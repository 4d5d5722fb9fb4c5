//! What a plan changes, by subject, in a page.

use swaptune_core::adopt::ADOPTED;
use swaptune_core::change::{Change, SwapState};
use swaptune_core::plan::{CAPACITY, FINDINGS, Note, Plan, SLOTS, When};

use super::{capacity, gain, heading, refusals};
use crate::output::text::{count, labelled};

/// Blanks before what stands behind a label.
const INDENT: usize = 11;
/// Areas that are shown one by one.
const AREAS: usize = 4;

/// The gain, what changes, the risks, and what to type next: `next` is the command that carries it out, where there is one.
pub fn summary(plan: &Plan, next: Option<&str>) -> String {
    let mut out = gain(plan) + &heading(plan) + &capacity(plan);
    let rows = rows(plan);
    if !rows.is_empty() {
        out.push('\n');
    }
    for (subject, words) in &rows {
        out += &labelled(&format!("  {subject}"), words, INDENT.max(subject.chars().count() + 4));
    }
    let footer = footer(plan, next.filter(|_| plan.refusals.is_empty()));
    if !footer.is_empty() {
        out.push('\n');
    }
    for (label, words) in &footer {
        out += &labelled(label, words, INDENT);
    }
    out + &refusals(plan)
}

/// What changes: a subject and what becomes of it.
fn rows(plan: &Plan) -> Vec<(String, String)> {
    let changes = |when| plan.steps.iter().filter(move |step| step.when == when).map(|step| &step.change);
    let live: Vec<&Change> = changes(When::Now).collect();
    let mut rows = Vec::new();
    let knobs = |of_zswap: bool| {
        let words: Vec<String> = live.iter().filter_map(|change| knob(change, of_zswap)).collect();
        words.join(", ")
    };
    rows.push(("zswap".to_owned(), knobs(true)));
    rows.extend(areas(&live));
    rows.push(("kernel".to_owned(), knobs(false)));
    rows.push(("files".to_owned(), files(&live)));
    rows.push(("at boot".to_owned(), files(&changes(When::Boot).collect::<Vec<_>>())));
    rows.retain(|(_, words)| !words.is_empty());
    rows
}

/// A knob from one value to another, of zswap under its short name or of the rest.
fn knob(change: &Change, of_zswap: bool) -> Option<String> {
    let Change::Knob { name, before, after, .. } = change else { return None };
    match name.strip_prefix("zswap.") {
        Some(short) if of_zswap => Some(format!("{short} {before} → {after}")),
        None if !of_zswap => Some(format!("{name} {before} → {after}")),
        _ => None,
    }
}

/// Swap areas and zram devices, each with all that is done to it.
fn areas(changes: &[&Change]) -> Vec<(String, String)> {
    let mut names: Vec<&str> = Vec::new();
    for name in changes.iter().filter_map(|change| area(change)) {
        if !names.contains(&name) {
            names.push(name);
        }
    }
    let words = |name: &&str| {
        let of_it: Vec<&Change> = changes.iter().filter(|change| area(change) == Some(name)).copied().collect();
        ((*name).to_owned(), area_words(&of_it))
    };
    // Areas of which the same becomes share a row.
    let mut rows: Vec<(String, String)> = Vec::new();
    for (name, words) in names.iter().take(AREAS).map(words) {
        match rows.iter_mut().find(|row| row.1 == words) {
            Some(row) => row.0 += &format!(", {name}"),
            None => rows.push((name, words)),
        }
    }
    if names.len() > AREAS {
        rows.push(("others".to_owned(), count(names.len() - AREAS, "more swap area")));
    }
    rows
}

/// The area that a change is about: a path, or the name of a zram device.
fn area(change: &Change) -> Option<&str> {
    match change {
        Change::SwapFile { path, .. } | Change::SwapHeader { path, .. } | Change::Swap { path, .. } => {
            Some(path.strip_prefix("/dev/").filter(|name| name.starts_with("zram")).unwrap_or(path))
        }
        Change::Zram { name, .. } => Some(name),
        _ => None,
    }
}

fn area_words(changes: &[&Change]) -> String {
    let mut words = Vec::new();
    let is_made = changes.iter().any(|change| matches!(change, Change::SwapFile { .. } | Change::Zram { .. }));
    for change in changes {
        match change {
            Change::SwapFile { after: Some(file), .. } => words.push(format!("new file of {}", file.size)),
            Change::SwapFile { after: None, .. } => words.push("deleted".to_owned()),
            Change::Zram { .. } => {
                let (before, after) = change.sides();
                words.push(format!("{before} → {after}"));
            }
            Change::SwapHeader { after: Some(_), .. } if !is_made => words.push("becomes a swap area".to_owned()),
            _ => {}
        }
    }
    words.extend(switched(changes));
    words.join(", ")
}

/// From how an area is on to how it will be.
fn switched(changes: &[&Change]) -> Option<String> {
    let sides = changes.iter().filter_map(|change| match change {
        Change::Swap { before, after, .. } => Some((before.as_ref(), after.as_ref())),
        _ => None,
    });
    let sides: Vec<_> = sides.collect();
    let ((first, _), (_, last)) = (sides.first()?, sides.last()?);
    let on = |state: &SwapState| state.priority;
    Some(match (first.map(on), last.map(on)) {
        (Some(before), Some(after)) if before == after => "off and on again".to_owned(),
        (Some(before), Some(after)) => format!("priority {before} → {after}"),
        (None, Some(after)) => format!("on, priority {after}"),
        (_, None) => "off".to_owned(),
    })
}

/// What is neither a knob nor an area: what is done to it, and all to which the same is done.
fn files(changes: &[&Change]) -> String {
    let mut groups: Vec<(&str, Vec<String>)> = Vec::new();
    for (verb, name) in changes.iter().filter_map(|change| file(change)) {
        match groups.iter_mut().find(|group| group.0 == verb) {
            Some(group) => group.1.push(name),
            None => groups.push((verb, vec![name])),
        }
    }
    groups.iter().map(|(verb, names)| format!("{verb} {}", names.join(", "))).collect::<Vec<_>>().join("; ")
}

/// A verb and a name without its folder.
fn file(change: &Change) -> Option<(&'static str, String)> {
    let name = |path: &str| path.rsplit('/').next().unwrap_or(path).to_owned();
    Some(match change {
        Change::File { path, before: None, .. } => ("create", name(path)),
        Change::File { path, after: None, .. } => ("delete", name(path)),
        Change::File { path, .. } => ("edit", name(path)),
        Change::Link { path, after: Some(to), .. } if to == "/dev/null" => ("mask", name(path)),
        Change::Link { path, after: Some(_), .. } => ("enable", name(path)),
        Change::Link { path, .. } => ("disable", name(path)),
        Change::Module { name, after: true, .. } => ("load", name.clone()),
        Change::Module { name, .. } => ("unload", name.clone()),
        Change::Format { path, after: Some(_), .. } => ("format", path.clone()),
        Change::Format { path, .. } => ("destroy what is on", path.clone()),
        Change::KeyFile { path, after: true, .. } => ("create", name(path)),
        Change::KeyFile { path, .. } => ("destroy", name(path)),
        Change::Mapping { name, after: Some(_), .. } => ("open", name.clone()),
        Change::Mapping { name, .. } => ("close", name.clone()),
        Change::Generated { command, after: true, .. } => ("run", command.join(" ")),
        Change::Generated { what, .. } => ("restore", what.clone()),
        _ => return None,
    })
}

fn footer(plan: &Plan, next: Option<&str>) -> Vec<(&'static str, String)> {
    let mut rows = Vec::new();
    let mut risks: Vec<&str> = Vec::new();
    for risk in plan.steps.iter().map(|step| step.risk.as_str()).filter(|risk| !risk.is_empty()) {
        if !risks.contains(&risk) {
            risks.push(risk);
        }
    }
    if !risks.is_empty() {
        rows.push(("Risk", risks.join("; ")));
    }
    let (full, others): (Vec<&Note>, Vec<&Note>) = plan.notes.iter().partition(|note| is_said_in_full(note));
    rows.extend(full.iter().map(|note| ("Note", format!("{}: {}", note.about, note.text))));
    let mut others: Vec<&str> = others.iter().map(|note| note.about.as_str()).collect();
    others.sort_unstable();
    others.dedup();
    let on = if others.is_empty() { String::new() } else { format!(", and notes on {}", others.join(", ")) };
    if !plan.is_empty() || !others.is_empty() {
        rows.push(("Why", format!("`swaptune plan --explain` has a reason and its source for each line{on}")));
    }
    if let Some(next) = next.filter(|_| !plan.is_empty()) {
        let tries = if next.ends_with(" --now") { " tries it until the next boot, without --now it stays" } else { "" };
        rows.push(("Next", format!("`{next}`{tries}; `sudo swaptune rollback` takes it back, byte for byte")));
    }
    rows
}

/// What is not as wanted now, what was cut short, that less fits, what keeps more from fitting, and why little is worth it.
fn is_said_in_full(note: &Note) -> bool {
    note.pending || [CAPACITY, SLOTS, FINDINGS].contains(&note.about.as_str()) || note.about.starts_with(ADOPTED)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn on(priority: i32) -> Option<SwapState> {
        Some(SwapState::at(priority))
    }

    fn swap(before: Option<SwapState>, after: Option<SwapState>) -> Change {
        Change::Swap { path: "/dev/vda3".into(), before, after }
    }

    #[test]
    fn an_area_is_told_from_its_first_state_to_its_last() {
        for (changes, words) in [
            (vec![swap(on(5), None), swap(None, on(10))], "priority 5 → 10"),
            (vec![swap(on(10), None), swap(None, on(10))], "off and on again"),
            (vec![swap(None, on(10))], "on, priority 10"),
            (vec![swap(on(-2), None)], "off"),
        ] {
            let changes: Vec<&Change> = changes.iter().collect();
            assert_eq!(areas(&changes), [("/dev/vda3".to_owned(), words.to_owned())]);
        }
    }

    #[test]
    fn many_areas_are_counted() {
        let changes: Vec<Change> =
            (0..7).map(|number| Change::Swap { path: format!("/dev/vd{number}"), before: None, after: on(10) }).collect();
        let rows = areas(&changes.iter().collect::<Vec<_>>());
        assert_eq!(rows[0].0, "/dev/vd0, /dev/vd1, /dev/vd2, /dev/vd3", "those of which the same becomes share a row");
        assert_eq!(rows[1].1, "3 more swap areas");
    }

    #[test]
    fn a_zram_device_and_its_area_are_one_row() {
        let zram = swaptune_core::change::ZramState {
            algorithm: "zstd".into(),
            disksize: swaptune_core::Bytes::from_gib(2),
            ..Default::default()
        };
        let changes = [
            Change::Zram { name: "zram0".into(), before: None, after: Some(zram) },
            Change::SwapHeader { path: "/dev/zram0".into(), before: None, after: None, wipe: false },
            Change::Swap { path: "/dev/zram0".into(), before: None, after: on(100) },
        ];
        let rows = areas(&changes.iter().collect::<Vec<_>>());
        assert_eq!(rows, [("zram0".to_owned(), "not set up → 2 GiB zstd, on, priority 100".to_owned())]);
    }
}
