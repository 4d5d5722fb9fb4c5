//! Swap areas of `/etc/fstab`, in their order.

use super::{Taken, at};
use crate::edit::fstab::{self, FstabEntry};
use crate::facts::Facts;
use crate::settings::{SettingsError, SwapWanted};
use swaptune_kernel::behaviours;

const FSTAB: &str = "/etc/fstab";
/// Priority of the first area where none has one: below every zram, above zero for those that follow.
const FIRST: i32 = 10;

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
    let priorities = priorities(facts, &entries)?;
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

/// What each has, and for the others a number below, falling in the order of the lines where this kernel has them fall.
fn priorities(facts: &Facts, entries: &[FstabEntry]) -> Result<Vec<i32>, SettingsError> {
    let mut given = Vec::new();
    for entry in entries {
        given.push(match entry.option("pri") {
            None => None,
            Some(text) => match text.parse::<i32>() {
                Ok(number) if (0..=32767).contains(&number) => Some(number),
                Ok(number) if number < 0 => None,
                _ => {
                    let problem = format!("pri: found \"{text}\", expected a whole number from 0 to 32767");
                    return Err(SettingsError { place: format!("{FSTAB}:{}", entry.line), problem });
                }
            },
        });
    }
    let equal = facts.kernel.does(&behaviours::DEFAULT_PRIORITY_EQUAL) == Some(true);
    let mut next = given.iter().flatten().min().map_or(FIRST, |least| (least - 1).clamp(0, FIRST));
    let priority = |given: Option<i32>| {
        given.unwrap_or_else(|| {
            let own = next;
            if !equal {
                next = (next - 1).max(0);
            }
            own
        })
    };
    Ok(given.into_iter().map(priority).collect())
}

/// Units of the administrator: systemd goes on switching their areas on.
fn units(facts: &Facts, taken: &mut Taken) {
    let own = |path: &&String| path.starts_with("/etc/systemd/system/") && path.ends_with(".swap");
    for path in facts.files.keys().filter(own).filter(|path| facts.file(path).is_some()) {
        taken.note("its area stays with systemd: a line in fstab is what is taken over", path.clone());
    }
}
