//! The machine as a plan leaves it: with every live step carried out that no refusal took out, also where only the next boot is planned.

use super::areas::mount_of;
use crate::change::{Change, SwapState, ZramState};
use crate::fact::Fact;
use crate::facts::{Facts, SwapArea, SwapKind, ZramDevice, ZramMmStat};
use crate::settings::Settings;
use crate::units::Bytes;

const PLANNED: &str = "planned";

/// The machine with the changes made, as far as capacity and the model depend on them.
pub(super) fn facts(facts: &Facts, settings: &Settings, changes: &[Change]) -> Facts {
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
    if let Some(Fact::Known { value: now, .. }) = facts.knobs.get_mut(name) {
        value.clone_into(now);
    }
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
        device: device_of(before, path).map_or_else(|| Fact::absent(PLANNED), |name| Fact::known(name, PLANNED)),
        uuid: Fact::absent(PLANNED),
        encryption: Fact::absent(PLANNED),
        filesystem: Fact::absent(PLANNED),
    };
    facts.swaps.push(known.map_or_else(fresh, |area| SwapArea { priority, ..area.clone() }));
}

/// The block device of an area that is off now: itself, or that of the file system that the file lies on.
fn device_of(facts: &Facts, path: &str) -> Option<String> {
    match facts.device_named(path) {
        Some(device) => Some(device.name.clone()),
        None if path.starts_with("/dev/") => None,
        None => mount_of(facts, path)?.device.value().cloned(),
    }
}

/// How large an area will be that is off now.
fn size(facts: &Facts, settings: &Settings, changes: &[Change], path: &str) -> Bytes {
    let made = changes.iter().find_map(|change| match change {
        Change::SwapFile { path: file, after: Some(file_state), .. } if file == path => Some(file_state.size),
        Change::Zram { name, after: Some(device), .. } if path.strip_prefix("/dev/") == Some(name) => Some(device.disksize),
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
