//! Conflicts that the plan solves: zram beside zswap, inverted tiers, and assumptions that do not hold here.

use super::When;
use super::draft::{Draft, Why};
use crate::change::{Change, SwapState};
use crate::facts::SwapArea;
use crate::units::Bytes;

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
    let state = SwapState { priority: area.priority, discard_once: false };
    draft.step(When::Now, Change::Swap { path: area.path.clone(), before: Some(state), after: None }, why());
    let name = area.path.trim_start_matches("/dev/").to_owned();
    let device = draft.facts().zram.devices.iter().find(|device| device.name == name);
    let Some(device) = device.filter(|device| device.disksize > Bytes(0)) else { return };
    let before = Some(super::zram::state(device));
    draft.step(When::Now, Change::Zram { name, before, after: None }, why());
}

/// zram below a disk: the compressed tier would fill last.
pub(super) fn inverted_tiers(draft: &mut Draft<'_>) {
    let facts = draft.facts();
    if draft.settings().wants_zswap() || draft.settings().derives_nothing() {
        return;
    }
    let disk = facts.swaps.iter().filter(|area| !area.is_zram()).map(|area| area.priority).max();
    let Some(disk) = disk else { return };
    for area in facts.swaps.iter().filter(|area| area.is_zram() && area.priority <= disk) {
        let after = SwapState { priority: (disk + 90).min(32767), discard_once: false };
        let before = SwapState { priority: area.priority, discard_once: false };
        let reason = format!("its priority {} is not above the disk's {disk}: pages would go to the disk first", area.priority);
        let change = Change::Swap { path: area.path.clone(), before: Some(before), after: Some(after) };
        if area.used == Bytes(0) {
            draft.step(When::Now, change, Why::rule(reason, "swapon(2): higher priority is filled first"));
        } else {
            draft.pending(area.path.clone(), format!("{reason}; it holds {} and is left as it is", area.used), "/proc/swaps");
        }
    }
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
