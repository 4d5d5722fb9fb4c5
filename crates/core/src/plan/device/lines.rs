//! What makes an area last: its lines in fstab and crypttab, its section in configurations of our own.

use super::super::When;
use super::super::draft::{Draft, Why};
use super::super::{APPLIED_FILE, areas};
use crate::change::Change;
use crate::device::{DEVICE_TIMEOUT, arrival_links};
use crate::edit::{self, crypttab, fstab};
use crate::settings::{EncryptRule, SwapWanted, swap_area};

pub(super) const FSTAB: &str = "/etc/fstab";
pub(super) const CRYPTTAB: &str = "/etc/crypttab";

/// An area that a boot shall bring up.
pub(super) struct BootArea {
    /// What fstab calls it.
    pub spec: String,
    /// What a configuration calls it.
    pub name: String,
    pub priority: i32,
    pub discard: bool,
    pub optional: bool,
    pub encrypt: EncryptRule,
    /// The partition that it lies on, where that has a UUID.
    pub partuuid: Option<String>,
}

impl BootArea {
    fn wanted(&self) -> SwapWanted {
        SwapWanted {
            path: self.name.clone(),
            size: None,
            priority: self.priority,
            optional: self.optional.then_some(true),
            discard_once: false,
            encrypt: None,
        }
    }

    fn line(&self) -> fstab::FstabSwapLine {
        let mut options = areas::options(&SwapWanted { discard_once: self.discard, ..self.wanted() });
        if self.optional {
            options += &format!(",{DEVICE_TIMEOUT}");
        }
        fstab::FstabSwapLine { spec: self.spec.clone(), options }
    }
}

/// The options of a mapping in crypttab that are the same for each kind of key.
pub(super) fn mapping_options(first: &str, discard: bool, optional: bool) -> String {
    let also = [("nofail", true), ("discard", discard), (DEVICE_TIMEOUT, optional)];
    also.into_iter().filter(|(_, on)| *on).fold(first.to_owned(), |options, (option, _)| format!("{options},{option}"))
}

/// The lines of an area.
pub(super) fn add(draft: &mut Draft<'_>, area: &BootArea, mapping: Option<(&str, String)>) {
    if let Some((name, line)) = mapping {
        let why =
            "the mapping is opened at each boot; its partition is found by PARTUUID, which nothing that is written to it erases";
        let text = crypttab::set(draft.facts().file(CRYPTTAB).unwrap_or_default(), name, &line);
        draft.file(CRYPTTAB, Some(text), 0o644, Why::rule(why, "crypttab(5)"));
    }
    let before = draft.facts().file(FSTAB).unwrap_or_default().to_owned();
    if let Some(broken) = fstab::entries(&before).into_iter().find_map(Result::err) {
        let why = format!("line {} is broken: {}", broken.line, broken.text.trim());
        return draft.refuse(FSTAB, why, "mend the line (findmnt --verify shows all), then try again");
    }
    let text = fstab::set_swap(&before, &area.line(), |entry| entry.spec == area.spec);
    let why = if area.optional && draft.facts().system.has_systemd() {
        "it comes up at each boot; nothing else waits for it, and it is given up after 10 s"
    } else {
        "it comes up at each boot; nothing else waits for it"
    };
    draft.file(FSTAB, Some(text), 0o644, Why::rule(why, "fstab(5), systemd.swap(5): nofail, x-systemd.device-timeout"));
    arrival(draft, area);
    sections(draft, area);
}

/// What a boot has given up comes up all the same when it appears after that, and so does what is plugged in.
fn arrival(draft: &mut Draft<'_>, area: &BootArea) {
    let comes_late = area.optional && draft.facts().system.has_systemd();
    let Some(partuuid) = area.partuuid.as_ref().filter(|_| comes_late) else { return };
    for (path, target) in arrival_links(partuuid, &area.spec) {
        let why = "a disk that is slower than the time-out, or plugged in later, comes up when it is there";
        let change = Change::Link { path, before: None, after: Some(target) };
        draft.step(When::Boot, change, Why::rule(why, "systemd.unit(5): .wants folders, here of a device unit"));
    }
}

/// A section where the configuration lists areas, and one in the record of the last apply, so that the plan stays empty.
fn sections(draft: &mut Draft<'_>, area: &BootArea) {
    let mut section = String::new();
    let listed = configuration(draft);
    let encrypt = listed.as_ref().map(|_| area.encrypt);
    swap_area(&mut section, &SwapWanted { encrypt, ..area.wanted() });
    for path in listed.into_iter().chain([APPLIED_FILE.to_owned()]) {
        let Some(text) = draft.facts().file(&path).filter(|text| edit::areas::has_any(text)) else { continue };
        let text = edit::areas::add(text, &section);
        draft.file(&path, Some(text), 0o644, Why::rule(KNOWN, "swaptune's own files"));
    }
}

const KNOWN: &str = "`plan` and `verify` know the area";

/// The file of the administrator that lists areas: the last one wins.
fn configuration(draft: &Draft<'_>) -> Option<String> {
    let is_ours = |path: &str| path == super::super::CONFIG_FILE || path.starts_with("/etc/swaptune/config.d/");
    let has = |path: &String| draft.facts().file(path).is_some_and(edit::areas::has_any);
    draft.facts().files.keys().filter(|path| is_ours(path) && has(path)).max_by_key(|path| path.contains("config.d")).cloned()
}

/// Takes out the lines of what these names mean.
pub(super) fn remove(
    draft: &mut Draft<'_>,
    partuuid: Option<&str>,
    is_area: &dyn Fn(&str) -> bool,
    is_mapping: &dyn Fn(&crate::parse::crypttab::CryptMapping) -> bool,
) {
    let entries = fstab::entries(draft.facts().file(FSTAB).unwrap_or_default());
    let gone = entries.into_iter().flatten().filter(|entry| entry.is_swap() && entry.is_optional() && is_area(&entry.spec));
    let links: Vec<_> = gone.flat_map(|entry| partuuid.map(|id| arrival_links(id, &entry.spec)).unwrap_or_default()).collect();
    for (path, target) in links {
        let change = Change::Link { path, before: Some(target), after: None };
        draft.step(When::Boot, change, Why::rule("nothing comes up when it appears", "systemd.unit(5)"));
    }
    without(draft, FSTAB, |text| fstab::remove_swap(text, |entry| is_area(&entry.spec)));
    without(draft, CRYPTTAB, |text| crypttab::remove(text, is_mapping));
    let is_ours = |path: &&String| path.starts_with("/etc/swaptune/config") || *path == APPLIED_FILE;
    let own: Vec<String> = draft.facts().files.keys().filter(is_ours).cloned().collect();
    for path in own {
        without(draft, &path, |text| edit::areas::remove(text, is_area));
    }
}

fn without(draft: &mut Draft<'_>, path: &str, edit: impl Fn(&str) -> String) {
    let Some(before) = draft.facts().file(path).map(str::to_owned) else { return };
    let text = edit(&before);
    if text != before {
        let after = (!text.is_empty()).then_some(text);
        let change = Change::File { path: path.into(), before: Some(before), after, mode: 0o644 };
        draft.step(When::Boot, change, Why::rule("no boot looks for it any more", "fstab(5), crypttab(5)"));
    }
}
