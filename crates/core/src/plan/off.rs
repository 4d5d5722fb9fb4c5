//! The `off` profile: what an apply set goes back to the kernel's defaults.

use super::draft::{Draft, Why};
use super::{When, managers, owned, persist};
use crate::change::Change;
use crate::knobs::{self, Knob};
use crate::settings::read_toml;

/// Knobs of the applied settings, then every owned file.
pub(super) fn plan(draft: &mut Draft<'_>) {
    let applied = draft.facts().file(owned::APPLIED_FILE).and_then(|text| read_toml(owned::APPLIED_FILE, text, None).ok());
    for name in applied.iter().flat_map(|settings| settings.knobs.keys()) {
        // The default of a knob that is zero comes back with a write to the one that it excludes.
        let row = knobs::find(name).map(|row| row.excluded().filter(|_| row.default == "0").unwrap_or(row));
        if let Some(row) = row {
            default(draft, row, draft.facts().knob(row.name).map(str::to_owned));
        }
    }
    if let Some(zswap) = draft.facts().zswap.value() {
        for (field, value) in &zswap.parameters {
            if let Some(row) = knobs::find(&format!("zswap.{field}")).filter(|row| row.name != "zswap.enabled") {
                default(draft, row, Some(value.clone()));
            }
        }
    }
    if draft.facts().file(owned::APPLIED_FILE).or(draft.facts().file(owned::GRUB_FILE)).is_some() {
        persist::no_kernel_arguments(draft);
        masks(draft);
    }
    files(draft);
}

/// One knob to its default, where that is a value and not a matter of the machine.
fn default(draft: &mut Draft<'_>, row: &'static Knob, live: Option<String>) {
    let Some(before) = live else { return };
    let Some(after) = row.default_of(draft.facts().kernel.config.value()) else {
        return draft.note(
            row.name,
            "its default depends on the machine: `swaptune rollback` restores the value of before",
            row.source,
        );
    };
    if !row.same(&before, &after) {
        let after = row.spelling(&after);
        let change = Change::Knob {
            name: row.name.into(),
            path: row.path.into(),
            before: before.trim().into(),
            after,
            fallbacks: Vec::new(),
        };
        draft.step(When::Now, change, Why::rule("the kernel's default", row.source));
    }
}

/// Links to /dev/null stay: an administrator makes the same ones, and nothing here says who did.
fn masks(draft: &mut Draft<'_>) {
    for (path, name) in managers::masked(draft.facts()) {
        let text = format!("{name} stays masked: where an apply did it, `swaptune rollback` takes it back, or delete the link");
        draft.note(path, text, "systemctl(1), mask");
    }
}

/// Owned files and links deleted, but for what the loader's arguments took with them.
fn files(draft: &mut Draft<'_>) {
    let is_gone = |draft: &Draft<'_>, path: &str| draft.steps().iter().any(|step| step.change.target() == path);
    for path in owned::ALL {
        let Some(text) = draft.facts().file(path).filter(|_| !is_gone(draft, path)) else { continue };
        let why = Why::rule("written by an apply", "swaptune's own file");
        let change = if *path == owned::UNIT_LINK {
            Change::Link { path: (*path).into(), before: Some(owned::UNIT_FILE.into()), after: None }
        } else {
            Change::File { path: (*path).into(), before: Some(text.to_owned()), after: None, mode: 0o644 }
        };
        draft.step(When::Boot, change, why);
    }
}
