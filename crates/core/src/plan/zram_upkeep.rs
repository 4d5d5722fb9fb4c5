//! What lets idle pages of a zram device leave RAM: compressors for recompression, and a device to write back to.
//!
//! Both are set before the device is. A backing device is overwritten from the first block that zram writes to it on, and holds
//! what no signature tells from data that are still needed: so the first time it must be blank, or named with `--wipe`, and never
//! carry a signature.

use super::device::in_use;
use super::draft::Draft;
use super::owned::APPLIED_FILE;
use crate::fact::Fact;
use crate::facts::{BlockDevice, Facts, Holds, Transport, ZramDevice};
use crate::knobs;
use crate::settings::{ZramWanted, read_toml};

/// What is wanted, without what this kernel cannot do: notes say what that is.
pub(super) fn possible(draft: &mut Draft<'_>, device: Option<&ZramDevice>, wanted: &ZramWanted) -> ZramWanted {
    let mut possible = wanted.clone();
    let shown = device.map(|device| device.recomp_algorithm.clone().map(|_| ()));
    let names = &mut possible.recomp_algorithm;
    if !names.is_empty() && !can(draft, shown, "zram.recomp_algorithm", "CONFIG_ZRAM_MULTI_COMP") {
        names.clear();
    }
    let missing: Vec<String> = names.iter().filter(|name| !draft.facts().zram_offers(name)).cloned().collect();
    if !missing.is_empty() {
        names.retain(|name| !missing.contains(name));
        let text =
            format!("left out: {}; this kernel's zram has {}", missing.join(", "), draft.facts().zram_algorithms().join(", "));
        draft.note("zram.recomp_algorithm", text, "comp_algorithm");
    }
    // In an image no device is seen; what is applied there is looked at when the machine boots.
    let shown = device.map(|device| device.backing_dev.clone().map(|_| ()));
    let is_image = draft.facts().image.is_some();
    if wanted.backing_dev.is_some() && (is_image || !can(draft, shown, "zram.backing_dev", "CONFIG_ZRAM_WRITEBACK")) {
        possible.backing_dev = None;
    }
    possible
}

/// The node of the backing device; nothing, with a refusal, when it cannot be one.
pub(super) fn backing_dev(
    draft: &mut Draft<'_>,
    device: Option<&ZramDevice>,
    number: usize,
    wanted: &ZramWanted,
) -> Option<String> {
    let name = wanted.backing_dev.as_deref()?;
    let facts = draft.facts();
    let Some(backing) = facts.device_named(name) else {
        let hint = "`lsblk -o NAME,SIZE,PARTUUID` shows what is there; attach it, or take backing_dev out under its [[zram]]";
        draft.refuse(name, "no block device of this name is there, and zram is to write back to it", hint);
        return None;
    };
    let node = backing.node();
    if device.is_some_and(|device| is_backed_by(device, backing)) {
        return Some(node);
    }
    match unfit(draft, backing, number, wanted) {
        Some((why, hint)) => {
            draft.refuse(node, why, hint);
            None
        }
        None => Some(node),
    }
}

/// Whether a zram device writes back to this one already.
pub(super) fn is_backed_by(device: &ZramDevice, backing: &BlockDevice) -> bool {
    device.backing_dev.value().is_some_and(|found| backing.is_named(found))
}

/// Whether the kernel has an attribute: the device shows it, or the kernel's configuration says so before there is a device.
fn can(draft: &mut Draft<'_>, shown: Option<Fact<()>>, knob: &str, option: &str) -> bool {
    let kernel = &draft.facts().kernel;
    let too_old = || knobs::find(knob)?.why_absent(kernel.version.value().copied()?);
    let why = match shown {
        Some(Fact::Known { .. }) => None,
        Some(Fact::Absent { absent }) => Some(absent),
        None => too_old().or_else(|| {
            let value = kernel.config.value()?.get(option).map_or("n", String::as_str);
            (value == "n").then(|| format!("{option} is not set"))
        }),
    };
    if let Some(why) = &why {
        draft.note(knob, format!("left out: this kernel cannot ({why})"), option);
    }
    why.is_none()
}

/// What speaks against a backing device, and what helps.
fn unfit(draft: &Draft<'_>, backing: &BlockDevice, number: usize, wanted: &ZramWanted) -> Option<(String, String)> {
    let facts = draft.facts();
    let settings = draft.settings();
    if backing.transport == Transport::Zram {
        return Some(("zram cannot write back to zram".into(), "name a disk or a partition".into()));
    }
    if let Some(found) = in_use(facts, backing) {
        return Some(found);
    }
    if facts.block_devices.iter().any(|other| other.parent.as_deref() == Some(&backing.name)) {
        return Some(("it has a partition table".into(), "name one of its partitions".into()));
    }
    let also_swap = settings.swap.iter().flat_map(|list| &list.value).any(|area| backing.is_named(&area.path));
    let others = settings.zram.iter().flat_map(|list| &list.value).take(number);
    let twice = others.filter_map(|other| other.backing_dev.as_deref()).any(|name| backing.is_named(name));
    if also_swap || twice {
        let other = if also_swap { "[[swap]]" } else { "another [[zram]]" };
        return Some((format!("{other} names it too"), "give each its own device or partition".into()));
    }
    contents(draft, backing, wanted)
}

/// What is on it and would be lost.
fn contents(draft: &Draft<'_>, backing: &BlockDevice, wanted: &ZramWanted) -> Option<(String, String)> {
    let facts = draft.facts();
    let node = backing.node();
    let place = facts.swap_places.iter().find(|place| backing.is_named(&place.path));
    let carries = |kind: &str| {
        let why = format!("it carries {kind}, which write-back would destroy");
        Some((why, format!("name another device, or if you want to lose it: wipefs --all {node}")))
    };
    match place.map(|place| &place.holds) {
        Some(Fact::Known { value: Holds::Blank, .. }) => None,
        Some(Fact::Known { value: Holds::Other { kind }, .. }) => carries(kind),
        Some(Fact::Known { value: Holds::Swap { .. }, .. }) => carries("swap"),
        Some(Fact::Known { value: Holds::Unknown, .. }) => {
            let is_wiped = draft.request.wipe.iter().any(|named| backing.is_named(named));
            let is_ours = was_applied(facts, wanted);
            (!is_wiped && !is_ours).then(|| {
                let why = "it carries data without a known signature, which write-back would destroy".to_owned();
                (why, format!("if you want to lose it: swaptune apply --wipe {node}"))
            })
        }
        _ => Some(("what it holds is unknown".into(), "run it as root".into())),
    }
}

/// True when the configuration that was applied has it as a backing device: what is on it came from there.
fn was_applied(facts: &Facts, wanted: &ZramWanted) -> bool {
    let applied = facts.file(APPLIED_FILE).and_then(|text| read_toml(APPLIED_FILE, text, None).ok());
    let devices = applied.and_then(|settings| settings.zram).map(|list| list.value).unwrap_or_default();
    devices.iter().any(|device| device.backing_dev == wanted.backing_dev)
}
