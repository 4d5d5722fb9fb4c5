//! Conflicts that the plan solves: zram beside zswap, inverted tiers, and assumptions that do not hold here.

use super::When;
use super::draft::{Draft, Why};
use crate::change::{Change, SwapState};
use crate::edit::fstab;
use crate::facts::{Facts, SwapArea};
use crate::profiles::auto;
use crate::units::Bytes;

/// zswap that was asked for, where zram was too or no area can stand behind it.
pub(super) fn zswap_without_an_area(draft: &mut Draft<'_>) {
    let (facts, settings) = (draft.facts(), draft.settings());
    let Some(enabled) = settings.zswap.enabled().filter(|on| on.value && facts.zswap.is_known()) else { return };
    if settings.wants_zram() {
        let why = format!("{TWICE}, and both are asked for ({})", enabled.provenance);
        return draft.refuse("zswap and zram", why, "take the [[zram]] section out, or write enabled = false under [zswap]");
    }
    // What areas an image's machine has is not known.
    if settings.swap.as_ref().is_some_and(|areas| !areas.value.is_empty()) || has_disk_area(facts) || facts.image.is_some() {
        return;
    }
    let why = "zswap needs a swap area: each page in it keeps a slot there, and none is on, listed in fstab or asked for";
    // The guide wants zswap on every machine. Where its settings come from does not tell: what is recorded comes from a file.
    if settings.profile.as_ref().is_some_and(|profile| profile.value == "idle-guide") {
        return draft.note("zswap.enabled", format!("{why}: name one under [[swap]]"), "mm/zswap.c, zswap_store()");
    }
    draft.refuse("zswap.enabled", why, "name one under [[swap]]");
}

/// True where a disk area is on, or comes up by itself.
fn has_disk_area(facts: &Facts) -> bool {
    let listed = |spec: String| !spec.starts_with("/dev/zram");
    facts.swaps.iter().any(|area| !area.is_zram()) || fstab::swap_specs(facts.file("/etc/fstab").unwrap_or_default()).any(listed)
}

/// zram that stands where zswap is wanted: its areas go off after the disk areas are on.
pub(super) fn zram_beside_zswap(draft: &mut Draft<'_>) {
    if !draft.settings().wants_zswap() || draft.settings().wants_zram() {
        return;
    }
    let facts = draft.facts();
    let areas: Vec<&SwapArea> = facts.swaps.iter().filter(|area| area.is_zram()).collect();
    for area in &areas {
        zram_off(draft, area);
    }
}

const TWICE: &str = "zswap in front of zram compresses every page twice and moves memory between two pools";

fn zram_off(draft: &mut Draft<'_>, area: &SwapArea) {
    let why = || Why::rule(TWICE, "mm/zswap.c; zram.rst");
    let state = SwapState::at(area.priority);
    draft.step(When::Now, Change::Swap { path: area.path.clone(), before: Some(state), after: None }, why());
    let name = area.path.trim_start_matches("/dev/").to_owned();
    let device = draft.facts().zram.devices.iter().find(|device| device.name == name);
    let Some(device) = device.filter(|device| device.disksize > Bytes(0)) else { return };
    let before = Some(super::zram::state(device));
    draft.step(When::Now, Change::Zram { name, before, after: None }, why());
}

/// zram of others below a disk: the compressed tier would fill last. Our own has its priority from the settings ([`super::zram`]).
pub(super) fn inverted_tiers(draft: &mut Draft<'_>) {
    let (facts, settings) = (draft.facts(), draft.settings());
    if settings.wants_zswap() || settings.derives_nothing() {
        return;
    }
    let Some(disk) = disk_priority(draft) else { return };
    let ours = settings.zram.as_ref().map_or(0, |list| list.value.len());
    let is_ours = |area: &SwapArea| (0..ours).any(|number| area.path == format!("/dev/zram{number}"));
    for area in facts.swaps.iter().filter(|area| area.is_zram() && !is_ours(area)) {
        let after = SwapState::at(auto::priority_above(area.priority, Some(disk)));
        if after.priority == area.priority {
            continue;
        }
        let before = SwapState::at(area.priority);
        let reason = format!("its priority {} is not above the disk's {disk}: pages would go to the disk first", area.priority);
        let change = Change::Swap { path: area.path.clone(), before: Some(before), after: Some(after) };
        if area.used == Bytes(0) {
            draft.step(When::Now, change, Why::rule(reason, "swapon(2): higher priority is filled first"));
        } else {
            draft.pending(area.path.clone(), format!("{reason}; it holds {} and is left as it is", area.used), "/proc/swaps");
        }
    }
}

/// The highest priority that a disk area has once the steps so far are made.
fn disk_priority(draft: &Draft<'_>) -> Option<i32> {
    let after = |area: &SwapArea| {
        let steps = draft.live().iter().rev().find_map(|change| match change {
            Change::Swap { path, after, .. } if *path == area.path => Some(after.map(|state| state.priority)),
            _ => None,
        });
        steps.unwrap_or(Some(area.priority))
    };
    draft.facts().swaps.iter().filter(|area| !area.is_zram()).filter_map(after).max()
}

/// Figures are of pages of 4 KiB; a kernel with larger ones is told so.
pub(super) fn page_size(draft: &mut Draft<'_>) {
    let page = draft.facts().kernel.page_size;
    if page <= Bytes(4096) {
        return;
    }
    let text = format!(
        "this kernel has pages of {page}: assumed ratios, speeds of compressors and the simulator are of pages of 4 KiB, and \
         `swaptune sample` measures no others, so limits and sizes that rest on them are guesses here"
    );
    draft.note("page size", text, "CONFIG_PAGE_SIZE_*KB; getpagesize(2)");
}
