//! What a device is, what speaks against overwriting it, and how a disk is divided.

use super::super::draft::{Draft, uuid};
use super::{DeviceWish, DiskShare};
use crate::change::{DeviceFormat, PartitionState};
use crate::device::{ALIGNMENT, DATA_TYPE, SWAP_TYPE, partition_name};
use crate::facts::{BlockDevice, Facts, Holds, SwapKind, Transport};
use crate::parse::crypttab;
use crate::settings::EncryptRule;
use crate::units::Bytes;

/// Less is not worth a partition, a header and a line in fstab.
const SMALLEST: Bytes = Bytes::from_mib(16);

/// Where the area goes.
pub(super) struct Target {
    /// The node of the partition, which may not be there yet.
    pub node: String,
    /// Its UUID in the table.
    pub partuuid: String,
    /// The table to be made before.
    pub table: Option<DeviceFormat>,
    /// Whether the device takes discards.
    pub discard: bool,
}

/// The target of a wish; `None` when it is refused.
pub(super) fn of(draft: &mut Draft<'_>, wish: &DeviceWish<'_>) -> Option<Target> {
    let facts = draft.facts();
    let Some(device) = facts.device_named(wish.device) else {
        draft.refuse(wish.device, "no block device of this name is there", "`lsblk -o NAME,SIZE,PARTUUID` shows what is there");
        return None;
    };
    let node = device.node();
    if let Some((why, hint)) = unfit(facts, device) {
        draft.refuse(node, why, hint);
        return None;
    }
    let is_wiped = draft.request.wipe.iter().any(|named| device.is_named(named));
    if let Some(why) = contents(facts, device, wish).filter(|_| !is_wiped) {
        let hint = format!("if you want to lose it: swaptune device prepare --wipe {node}");
        draft.refuse(node, why, hint);
        return None;
    }
    programs(draft, wish, device.parent.is_none());
    if device.parent.is_some() { partition(draft, wish, device, node) } else { disk(draft, wish, device, node) }
}

/// What nothing lifts.
fn unfit(facts: &Facts, device: &BlockDevice) -> Option<(String, String)> {
    if device.dm_name.is_some() || matches!(device.transport, Transport::Zram | Transport::Dm) {
        return Some(("it is no disk or partition".into(), "name the disk or partition that it lies on".into()));
    }
    in_use(facts, device)
}

/// Why the device, or a part of it, is in use, and what helps.
pub(in crate::plan) fn in_use(facts: &Facts, device: &BlockDevice) -> Option<(String, String)> {
    let is_part = |other: &&BlockDevice| other.name == device.name || other.parent.as_deref() == Some(&device.name);
    for part in facts.block_devices.iter().filter(is_part) {
        let node = part.node();
        if let Some(at) = &part.mounted_at {
            return Some((format!("{node} is mounted at {at}"), "unmount it first, or name another device".into()));
        }
        let is_on = |area: &&crate::facts::SwapArea| area.kind == SwapKind::Partition && area.device.value() == Some(&part.name);
        if facts.swaps.iter().any(|area| is_on(&area)) {
            return Some((format!("{node} is in use as swap"), format!("`swaptune device adopt {node}` takes it as it is")));
        }
        if let Some(holder) = facts.block_devices.iter().find(|other| other.lies_on.contains(&part.name)) {
            return Some((format!("{} lies on {node}", holder.node()), "take that apart first; `lsblk` shows what it is".into()));
        }
        if let Some((file, line)) = listed(facts, part) {
            return Some((format!("{file} lists {node}: {line}"), format!("`swaptune device retire {node}` takes the line out")));
        }
    }
    None
}

/// A line of fstab or crypttab that means this device.
fn listed(facts: &Facts, device: &BlockDevice) -> Option<(&'static str, String)> {
    let text = |path: &str| facts.file(path).unwrap_or_default();
    let mapping = crypttab::parse(text("/etc/crypttab")).into_iter().find(|mapping| device.is_named(&mapping.source));
    if let Some(mapping) = mapping {
        return Some(("/etc/crypttab", format!("{} {}", mapping.name, mapping.source)));
    }
    let entries = crate::edit::fstab::entries(text("/etc/fstab")).into_iter().flatten();
    let entry = entries.into_iter().find(|entry| device.is_named(&entry.spec))?;
    Some(("/etc/fstab", format!("{} {}", entry.spec, entry.target)))
}

/// What is on it and would be lost; `--wipe` lifts it.
fn contents(facts: &Facts, device: &BlockDevice, wish: &DeviceWish<'_>) -> Option<String> {
    if facts.block_devices.iter().any(|other| other.parent.as_deref() == Some(&device.name)) {
        return Some("it has a partition table, and a new one would lose what is in its partitions".into());
    }
    let place = facts.swap_places.iter().find(|place| place.path == wish.device);
    let kind = match place.map(|place| &place.holds) {
        Some(crate::Fact::Known { value, .. }) => match value {
            Holds::Swap { uuid, .. } => format!("swap {uuid}"),
            Holds::Other { kind } => kind.clone(),
            Holds::Unknown => "data without a known signature".into(),
            Holds::Blank => return None,
        },
        _ => device.contents.value()?.clone(),
    };
    Some(format!("it carries {kind}, which would be lost"))
}

fn programs(draft: &mut Draft<'_>, wish: &DeviceWish<'_>, is_disk: bool) {
    let encrypts = wish.encrypt != EncryptRule::None;
    let missing = [
        (is_disk && !wish.programs.sfdisk, "sfdisk is not there, which makes the partitions", "apt install fdisk util-linux"),
        (encrypts && !wish.programs.cryptsetup, "cryptsetup is not there", "apt install cryptsetup-bin, or --encrypt none"),
        (
            encrypts && !wish.programs.crypttab,
            "nothing here opens the mappings of /etc/crypttab at boot (systemd-cryptsetup-generator)",
            "apt install systemd-cryptsetup (Debian 13), or --encrypt none",
        ),
    ];
    for (_, why, hint) in missing.into_iter().filter(|(is_missing, ..)| *is_missing) {
        draft.refuse(wish.device, why, hint);
    }
}

fn partition(draft: &mut Draft<'_>, wish: &DeviceWish<'_>, device: &BlockDevice, node: String) -> Option<Target> {
    if wish.swap.is_some() || wish.cache {
        draft.refuse(&node, "it is a partition, and --swap and --rest divide whole disks", "leave them out, or name the disk");
        return None;
    }
    let Some(partuuid) = device.partuuid.clone() else {
        draft.refuse(&node, "it has no PARTUUID, by which a boot could find it whatever is on it", "name a partition of a GPT");
        return None;
    };
    let discard = device.discard.value() == Some(&true);
    is_large_enough(draft, &node, device.size).then_some(Target { node, partuuid, table: None, discard })
}

fn disk(draft: &mut Draft<'_>, wish: &DeviceWish<'_>, device: &BlockDevice, node: String) -> Option<Target> {
    // Whole MiB between the two tables.
    let usable = Bytes::from_mib(device.size.0.saturating_sub(2 * ALIGNMENT.0) >> 20);
    let swap = match wish.swap.unwrap_or(if wish.cache { DiskShare::Percent(60) } else { DiskShare::Percent(100) }) {
        DiskShare::Percent(percent) => Bytes::from_mib(usable.percent(percent).mib()),
        DiskShare::Size(size) => Bytes::from_mib(size.0.div_ceil(1 << 20)),
    };
    if swap > usable {
        draft.refuse(&node, format!("{swap} of swap are wanted, and a table on it holds {usable}"), "a smaller --swap");
        return None;
    }
    if !is_large_enough(draft, &node, swap) {
        return None;
    }
    let seed = draft.request.seed;
    let partuuid = uuid(seed, &format!("{node} swap partition"));
    let part = |purpose: &str, uuid, guid: &str, start, size| PartitionState {
        uuid,
        name: format!("swaptune-{purpose}"),
        guid: guid.into(),
        start,
        size,
    };
    let mut partitions = vec![part("swap", partuuid.clone(), SWAP_TYPE, ALIGNMENT, swap)];
    let rest = Bytes(usable.0 - swap.0);
    if wish.cache && rest > Bytes(0) {
        let id = uuid(seed, &format!("{node} cache partition"));
        partitions.push(part("cache", id, DATA_TYPE, Bytes(ALIGNMENT.0 + swap.0), rest));
    }
    let table = DeviceFormat::Gpt { uuid: uuid(seed, &format!("{node} table")), partitions };
    let discard = device.discard.value() == Some(&true);
    Some(Target { node: partition_name(&node, 1), partuuid, table: Some(table), discard })
}

fn is_large_enough(draft: &mut Draft<'_>, node: &str, size: Bytes) -> bool {
    if size < SMALLEST {
        draft.refuse(node, format!("{size} of swap are too little to be worth it"), format!("at least {SMALLEST}"));
    }
    size >= SMALLEST
}
