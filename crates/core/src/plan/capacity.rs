//! What the machine can hold before a plan and after it, and why it may be less.
//!
//! After it means: with every live step carried out, also where only the next boot is planned. It is what `status` says then, but
//! that a ratio which was measured before takes the place of an assumed one, on both sides.

use serde::{Deserialize, Serialize};

use super::draft::Draft;
use crate::change::{Change, SwapState, ZramState};
use crate::fact::Fact;
use crate::facts::{Facts, SwapArea, SwapKind, ZramDevice, ZramMmStat};
use crate::measurement::Evidence;
use crate::memory_map::{Capacity, MemoryMap};
use crate::profiles::auto;
use crate::settings::Settings;
use crate::units::Bytes;

/// What fits before the plan and after it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct CapacityChange {
    /// As the machine is set up.
    pub before: Capacity,
    /// As the plan sets it up.
    pub after: Capacity,
}

const PLANNED: &str = "planned";

/// What the note is about that says why less fits with a plan.
pub const CAPACITY: &str = "capacity";

/// What the note is about that says that swap has too few slots.
pub const SLOTS: &str = "swap areas";

/// A note where the areas, and not the pool, limit what fits.
pub(super) fn slots(draft: &mut Draft<'_>) {
    let wanted = draft.settings().swap.as_ref().map(|swap| swap.value.clone()).unwrap_or_default();
    if let Some(why) = auto::shortage(draft.facts(), &wanted, zram_before(draft)) {
        draft.note(SLOTS, why, "profiles/auto.toml: slots_percent of RAM; docs/evidence/density.md");
    }
}

/// What zram holds before the areas take a page: that of the plan, or that which its manager keeps. Nothing where there is none.
fn zram_before(draft: &Draft<'_>) -> Bytes {
    let settings = draft.settings();
    let planned: u64 = settings.zram.iter().flat_map(|devices| &devices.value).map(|device| device.size.0).sum();
    let kept = || draft.facts().swaps.iter().filter(|area| area.is_zram()).map(|area| area.size.0).sum();
    Bytes(match planned {
        0 if !settings.wants_zswap() => kept(),
        size => size,
    })
}

/// Both sides, and a note where the plan makes less fit. Nothing where the size of RAM is unknown.
pub(super) fn of(draft: &mut Draft<'_>) -> Option<CapacityChange> {
    let (facts, evidence) = (draft.facts(), draft.request.evidence);
    let planned = facts_after(facts, draft.settings(), draft.live());
    let map = map(&planned, evidence);
    let change = CapacityChange { before: *self::map(facts, evidence).capacity.value()?, after: *map.capacity.value()? };
    if change.after.total < change.before.total {
        draft.note(CAPACITY, less(&change, &map), "memory map: RAM − pools + what they hold + the slots left for the disk");
    }
    Some(change)
}

fn map(facts: &Facts, evidence: &Evidence) -> MemoryMap {
    let zpool = facts.zswap.value().and_then(|zswap| zswap.parameter("zpool")).unwrap_or("zsmalloc");
    MemoryMap::from_facts(facts).with_ratios(zpool, |compressor, allocator| evidence.stored_ratio(compressor, allocator))
}

/// Why less fits, what is had for it, and what makes up for it.
fn less(change: &CapacityChange, map: &MemoryMap) -> String {
    let CapacityChange { before, after } = change;
    let mut why = Vec::new();
    if after.pool_ram > before.pool_ram {
        why.push(format!(
            "full pools take {} of RAM instead of {}, and a page in zswap keeps its slot on the disk",
            after.pool_ram, before.pool_ram
        ));
    }
    if after.slots() < before.slots() {
        why.push(format!("swap has {} of slots instead of {}", after.slots(), before.slots()));
    }
    let quick = match after.without_disk > before.without_disk {
        true => format!("; in exchange {} instead of {} fits without reading a disk", after.without_disk, before.without_disk),
        false => String::new(),
    };
    let more = map.swap_that_holds(before.total).map(|more| format!("; {more} more disk swap makes up for it"));
    format!("falls from {} to {}: {}{quick}{}", before.total, after.total, why.join(", "), more.unwrap_or_default())
}

/// The machine with the changes made, as far as capacity depends on them.
fn facts_after(facts: &Facts, settings: &Settings, changes: &[Change]) -> Facts {
    let mut after = facts.clone();
    for change in changes {
        match change {
            Change::Knob { name, after: value, .. } => knob(&mut after, name, value),
            Change::Zram { name, after: state, .. } => zram(&mut after, name, state.as_ref()),
            Change::Swap { path, after: state, .. } => {
                swap(&mut after, facts, path, *state, size(facts, settings, changes, path))
            }
            _ => {}
        }
    }
    after
}

fn knob(facts: &mut Facts, name: &str, value: &str) {
    if let (Some(field), Fact::Known { value: zswap, .. }) = (name.strip_prefix("zswap."), &mut facts.zswap) {
        zswap.parameters.insert(field.to_owned(), value.to_owned());
        if field == "enabled" {
            zswap.enabled = value == "Y";
        }
    }
}

fn zram(facts: &mut Facts, name: &str, state: Option<&ZramState>) {
    facts.zram.devices.retain(|device| device.name != name);
    facts.zram.devices.extend(state.map(|state| ZramDevice {
        name: name.to_owned(),
        disksize: state.disksize,
        algorithm: Fact::known(state.algorithm.clone(), PLANNED),
        mm_stat: Fact::known(ZramMmStat { mem_limit: state.mem_limit, ..ZramMmStat::default() }, PLANNED),
        recomp_algorithm: Fact::known(state.recomp_algorithm.clone(), PLANNED),
        backing_dev: Fact::known(state.backing_dev.clone().unwrap_or_else(|| "none".into()), PLANNED),
        ..ZramDevice::default()
    }));
}

/// An area off, or on: as it was before if it was on, else with the size that it will have.
fn swap(facts: &mut Facts, before: &Facts, path: &str, state: Option<SwapState>, size: Bytes) {
    facts.swaps.retain(|area| area.path != path);
    let Some(SwapState { priority, .. }) = state else { return };
    let known = before.swaps.iter().find(|area| area.path == path);
    let fresh = || SwapArea {
        path: path.to_owned(),
        kind: if path.starts_with("/dev/") { SwapKind::Partition } else { SwapKind::File },
        size,
        used: Bytes(0),
        priority,
        device: Fact::absent(PLANNED),
        uuid: Fact::absent(PLANNED),
        encryption: Fact::absent(PLANNED),
        filesystem: Fact::absent(PLANNED),
    };
    facts.swaps.push(known.map_or_else(fresh, |area| SwapArea { priority, ..area.clone() }));
}

/// How large an area will be that is off now.
fn size(facts: &Facts, settings: &Settings, changes: &[Change], path: &str) -> Bytes {
    let made = changes.iter().find_map(|change| match change {
        Change::SwapFile { path: file, after: Some(file_state), .. } if file == path => Some(file_state.size),
        _ => None,
    });
    let wanted = || settings.swap.iter().flat_map(|list| &list.value).find(|area| area.path == path)?.size;
    let device = || {
        let name = path.strip_prefix("/dev/")?;
        let named = |dm: &Option<String>| name.strip_prefix("mapper/").is_some_and(|name| dm.as_deref() == Some(name));
        facts.block_devices.iter().find(|device| device.name == name || named(&device.dm_name)).map(|device| device.size)
    };
    made.or_else(device).or_else(wanted).unwrap_or_default()
}
