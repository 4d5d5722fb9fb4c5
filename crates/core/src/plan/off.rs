//! The `off` profile: what an apply set goes back to the kernel's defaults.

use super::When;
use super::draft::{Draft, Why};
use super::owned;
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

/// Owned files and links deleted; kernel arguments follow from them.
fn files(draft: &mut Draft<'_>) {
    for path in owned::ALL {
        let Some(text) = draft.facts().file(path) else { continue };
        let why = Why::rule("written by an apply", "swaptune's own file");
        let change = if *path == owned::UNIT_LINK {
            Change::Link { path: (*path).into(), before: Some(owned::UNIT_FILE.into()), after: None }
        } else {
            Change::File { path: (*path).into(), before: Some(text.to_owned()), after: None, mode: 0o644 }
        };
        draft.step(When::Boot, change, why);
    }
    let had_words = draft.facts().file(owned::GRUB_FILE).is_some_and(|text| text.contains("zswap."));
    let Some(store) = draft.facts().boot.arguments.value().filter(|_| had_words) else { return };
    if super::persist::zswap_words(&store.configured) > 0 {
        super::persist::regenerate(draft, store, super::persist::EDITED);
    }
}
