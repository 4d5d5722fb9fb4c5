//! Swap areas of `/etc/fstab`, in their order.

use super::{ADOPTED, Taken, at};
use crate::edit::fstab::{self, FstabEntry};
use crate::facts::Facts;
use crate::plan::Note;
use crate::settings::{SettingsError, SwapWanted};
use swaptune_kernel::behaviours;

const FSTAB: &str = "/etc/fstab";
/// Priority of the first area where none has one: above zero for those that follow.
const FIRST: i32 = 10;
/// What swapon(2) takes at most.
const HIGHEST: i32 = 32767;
/// Of an area whose line has none, until all are known.
const UNSET: i32 = -1;

/// All lines that a boot switches on.
pub(super) fn read(facts: &Facts, taken: &mut Taken) -> Result<(), SettingsError> {
    let mut entries = Vec::new();
    for entry in fstab::entries(facts.file(FSTAB).unwrap_or_default()) {
        let entry = entry.map_err(|broken| {
            let problem = format!("{}: `{}`", broken.problem, broken.text.trim());
            SettingsError { place: format!("{FSTAB}:{}", broken.line), problem }
        })?;
        if !entry.is_swap() || entry.option("noauto").is_some() {
            continue;
        }
        if is_zram(&entry.spec) {
            let text = format!("{} is set up by something else: write a [[zram]] section in its place", entry.spec);
            taken.note(text, format!("{FSTAB}:{}", entry.line));
            continue;
        }
        entries.push(entry);
    }
    let priorities = entries.iter().map(priority).collect::<Result<Vec<_>, _>>()?;
    let Some(line) = entries.first().map(|entry| entry.line) else {
        units(facts, taken);
        return Ok(());
    };
    if entries.iter().any(|entry| entry.option("pri").is_none()) {
        let text =
            "areas without pri= get one below the others, in their order: the kernel's own are not the same in every version";
        taken.note(text, "swapon(2)");
    }
    let areas = entries.iter().zip(priorities).map(|(entry, priority)| area(taken, entry, priority)).collect();
    taken.areas(areas, at(FSTAB, line));
    units(facts, taken);
    Ok(())
}

fn is_zram(spec: &str) -> bool {
    spec.starts_with("/dev/zram")
}

fn area(taken: &mut Taken, entry: &FstabEntry, priority: i32) -> SwapWanted {
    let discard = entry.option("discard");
    if discard.is_some_and(|how| how != "once") {
        let text = format!("{} discards freed slots too; swaptune discards an area once, when it is switched on", entry.spec);
        taken.note(text, format!("{FSTAB}:{}", entry.line));
    }
    SwapWanted {
        path: entry.spec.clone(),
        size: None,
        priority,
        optional: entry.option("nofail").map(|_| true),
        discard_once: discard.is_some_and(|how| how != "pages"),
        // crypttab stays as it is, and so does what it makes.
        encrypt: None,
    }
}

/// What the line has.
fn priority(entry: &FstabEntry) -> Result<i32, SettingsError> {
    let Some(text) = entry.option("pri") else { return Ok(UNSET) };
    match text.parse::<i32>() {
        Ok(number) if number <= HIGHEST => Ok(number.max(UNSET)),
        _ => {
            let problem = format!("pri: found \"{text}\", expected a whole number from 0 to 32767");
            Err(SettingsError { place: format!("{FSTAB}:{}", entry.line), problem })
        }
    }
}

/// Gives the areas without a priority numbers below all others, zram's too, falling in the order of the lines where this kernel has them fall.
/// Where there is no room below, the others are raised.
pub(super) fn order(facts: &Facts, taken: &mut Taken) {
    let Taken { settings, notes, .. } = taken;
    let Some(areas) = settings.swap.as_mut().map(|list| &mut list.value) else { return };
    let devices = settings.zram.as_mut().map_or(&mut [][..], |list| &mut list.value);
    let bare = areas.iter().filter(|area| area.priority == UNSET).count() as i32;
    let equal = facts.kernel.does(&behaviours::DEFAULT_PRIORITY_EQUAL) == Some(true);
    let step = i32::from(!equal);
    // Of the last of them, if the first had 0.
    let below = step * (bare - 1);
    if bare == 0 {
        return;
    }
    let given = || areas.iter().map(|area| area.priority).filter(|own| *own != UNSET);
    let least = given().chain(devices.iter().map(|device| device.priority)).min();
    let raise = least.map_or(0, |least| (below + 1 - least).max(0));
    let mut next = least.map_or(i32::MAX, |least| least + raise - 1).min(FIRST.max(below));
    for area in areas.iter_mut() {
        if area.priority == UNSET {
            (area.priority, next) = (next, next - step);
        } else {
            area.priority = (area.priority + raise).min(HIGHEST);
        }
    }
    devices.iter_mut().for_each(|device| device.priority = (device.priority + raise).min(HIGHEST));
    if raise > 0 {
        let text = format!("priorities are {raise} higher than configured: there is no room below them for areas without pri=");
        notes.push(Note { about: format!("{ADOPTED} {FSTAB}"), text, evidence: "swapon(2)".into(), pending: false });
    }
}

/// Units of the administrator: systemd goes on switching their areas on.
fn units(facts: &Facts, taken: &mut Taken) {
    let own = |path: &&String| path.starts_with("/etc/systemd/system/") && path.ends_with(".swap");
    for path in facts.files.keys().filter(own).filter(|path| facts.file(path).is_some()) {
        taken.note("its area stays with systemd: a line in fstab is what is taken over", path.clone());
    }
}
