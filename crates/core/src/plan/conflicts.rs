//! Conflicts that the plan solves: zram beside zswap, other managers, inverted tiers.

use super::When;
use super::draft::{Draft, Why};
use crate::change::{Change, SwapState, ZramState};
use crate::facts::{Manager, SwapArea};
use crate::units::Bytes;

/// zram that stands where zswap is wanted: its areas go off after the disk areas are on, and its manager at boot too.
pub(super) fn zram_beside_zswap(draft: &mut Draft<'_>) {
    if !draft.settings().wants_zswap() || draft.settings().wants_zram() {
        return;
    }
    let facts = draft.facts();
    let areas: Vec<&SwapArea> = facts.swaps.iter().filter(|area| area.is_zram()).collect();
    for area in &areas {
        zram_off(draft, area);
    }
    for manager in facts.managers_of_zram() {
        if manager.active || !areas.is_empty() {
            silence(draft, manager);
        }
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
    let state = ZramState {
        algorithm: device.algorithm.value().cloned().unwrap_or_default(),
        disksize: device.disksize,
        mem_limit: device.mm_stat.value().map_or(Bytes(0), |stat| stat.mem_limit),
    };
    draft.step(When::Now, Change::Zram { name, before: Some(state), after: None }, why());
}

/// Keeps a manager from setting zram up at the next boot, by its own way of being told.
fn silence(draft: &mut Draft<'_>, manager: &Manager) {
    let why =
        || Why::rule(format!("{} would set zram up again at the next boot: {TWICE}", manager.name), manager.evidence.clone());
    match manager.name.as_str() {
        "zram-generator" => {
            // zram-generator.conf(5): a file in /etc hides the one of the distribution; without a section there is no device.
            let text = format!("{}# No device: swaptune runs zswap in front of the disk instead.\n", super::owned::header());
            draft.file("/etc/systemd/zram-generator.conf", Some(text), 0o644, why());
        }
        "zram-tools" => mask(draft, "zramswap.service", why()),
        "zramd" => mask(draft, "zramd.service", why()),
        "rpi-swap" => draft.note(
            "rpi-swap",
            "it may set zram up at boot: set Mechanism=swapfile in /etc/rpi/swap.conf",
            manager.evidence.clone(),
        ),
        name => draft.note(name, "it may set zram up at boot: disable it", manager.evidence.clone()),
    }
}

fn mask(draft: &mut Draft<'_>, unit: &str, why: Why<'_>) {
    let path = format!("/etc/systemd/system/{unit}");
    // A link to /dev/null reads as an empty text: masked already.
    if draft.facts().file(&path) == Some("") {
        return;
    }
    if draft.facts().file(&path).is_some() {
        return draft.note(unit, format!("{path} is a file of its own, so it cannot be masked: disable it"), path.clone());
    }
    draft.step(When::Boot, Change::Link { path, before: None, after: Some("/dev/null".into()) }, why);
}

/// zram below a disk: the compressed tier would fill last.
pub(super) fn inverted_tiers(draft: &mut Draft<'_>) {
    let facts = draft.facts();
    if draft.settings().wants_zswap() {
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

/// Managers that would set at boot what this plan sets: masked where a unit of theirs does it, else named.
pub(super) fn others(draft: &mut Draft<'_>) {
    for manager in draft.facts().system.managers.iter().filter(|manager| manager.active) {
        let unit = match manager.name.as_str() {
            "zswap-cli" => "zswap-cli.service",
            "systemd-swap" => "systemd-swap.service",
            name => {
                if let Some(text) = habit(name) {
                    draft.note(name, text, manager.evidence.clone());
                }
                continue;
            }
        };
        let reason = format!("{} sets zswap and swap at boot, after and against this plan", manager.name);
        mask(draft, unit, Why::rule(reason, manager.evidence.clone()));
    }
}

/// What a manager does that a plan can only say.
fn habit(name: &str) -> Option<&'static str> {
    match name {
        "tuned" => Some("its profile may set swappiness; it re-applies sysctl.d after its own values unless reapply_sysctl = 0"),
        "dphys-swapfile" => Some("it keeps a swap file of its own, with the kernel's default priority"),
        _ => None,
    }
}
