//! Swap areas: priorities, disks that they share, disks that claim to spin, files, encryption.

use std::collections::BTreeMap;

use super::ask::{device, disk_areas, does, paths, paths_that, release, swap_lines, zram_areas};
use super::{Exhibit, Finding, FindingEvidence, Severity};
use crate::facts::{BlockDevice, Encryption, Facts, SwapArea, SwapKind, Transport, ZramDevice};
use crate::{Bytes, Fact};
use swaptune_kernel::behaviours;

pub(super) static ROWS: &[Finding] = &[
    Finding {
        code: "swap-inverted-priority",
        severity: Severity::Warning,
        title: "a disk is filled before or together with zram",
        source: "swapon(2): areas of higher priority are filled first, equal ones in turn",
        detect: inverted_priority,
    },
    Finding {
        code: "swap-default-priority",
        severity: Severity::Warning,
        title: "the order of several swap areas is left to the kernel",
        source: "mm/swapfile.c: -2, -3, … one after the other up to 6.18; -1 for all, in turn, from 6.19 on",
        detect: default_priority,
    },
    Finding {
        code: "swap-virtual-rotational",
        severity: Severity::Warning,
        title: "a virtual disk under swap claims to spin",
        source: "mm/swapfile.c: SWP_SOLIDSTATE is decided at swapon by queue/rotational",
        detect: virtual_rotational,
    },
    Finding {
        code: "swap-mixed-disks",
        severity: Severity::Info,
        title: "a spinning disk among the swap areas slows read-ahead for all",
        source: "mm/swap_state.c: swap_use_vma_readahead is off while any area is rotational",
        detect: mixed_disks,
    },
    Finding {
        code: "swap-same-disk",
        severity: Severity::Info,
        title: "several swap areas share one disk",
        source: "mm/swapfile.c: areas of one disk share its queue",
        detect: same_disk,
    },
    Finding {
        code: "swap-striping-unit",
        severity: Severity::Info,
        title: "how areas of equal priority are filled in turn on this kernel",
        source: "mm/swapfile.c: plist_requeue; slot cache up to 6.14, per-CPU clusters from 6.15 on",
        detect: striping_unit,
    },
    Finding {
        code: "swap-full",
        severity: Severity::Warning,
        title: "swap is nearly full",
        source: "Documentation/filesystems/proc.rst: SwapTotal, SwapFree",
        detect: full,
    },
    Finding {
        code: "swap-file-copy-on-write",
        severity: Severity::Info,
        title: "a swap file lies on a copy-on-write file system",
        source: "fs/btrfs/inode.c: btrfs_swap_activate; active swap files forbid snapshots of their subvolume",
        detect: file_copy_on_write,
    },
    Finding {
        code: "swap-on-zvol",
        severity: Severity::Warning,
        title: "swap lies on a ZFS volume",
        source: "openzfs/zfs issue 7734: writing to a volume needs memory when there is none",
        detect: on_zvol,
    },
    Finding {
        code: "swap-not-encrypted",
        severity: Severity::Info,
        title: "what is swapped out can be read from the disk",
        source: "swapon(8); crypttab(5): swap with a random key",
        detect: not_encrypted,
    },
    Finding {
        code: "swap-none",
        severity: Severity::Info,
        title: "no swap is on",
        source: "Documentation/admin-guide/mm/concepts.rst: without swap, idle memory can never leave",
        detect: none,
    },
];

fn inverted_priority(facts: &Facts) -> Option<FindingEvidence> {
    let (zram, disks) = (zram_areas(facts), disk_areas(facts));
    let low = zram.iter().min_by_key(|area| area.priority)?;
    let high = disks.iter().max_by_key(|area| area.priority)?;
    if low.priority > high.priority {
        return None;
    }
    let how = if low.priority == high.priority { "pages go to both in turn" } else { "pages go to the disk first" };
    let what = format!("{} has priority {}, {} has {}: {how}", low.path, low.priority, high.path, high.priority);
    Some(FindingEvidence::new(what, "swaptune apply").seen_all(swap_lines(&[low, high])))
}

fn default_priority(facts: &Facts) -> Option<FindingEvidence> {
    let unset: Vec<&SwapArea> = facts.swaps.iter().filter(|area| area.priority < 0).collect();
    // One alone is filled after all that have a priority.
    if unset.len() < 2 {
        return None;
    }
    let how = if does(facts, &behaviours::DEFAULT_PRIORITY_EQUAL) {
        "this kernel fills them in turn, one before 6.19 one after the other"
    } else {
        "this kernel fills them one after the other, one from 6.19 on in turn"
    };
    let what = format!("{} of {} areas have no priority of their own ({}): {how}", unset.len(), facts.swaps.len(), paths(&unset));
    Some(FindingEvidence::new(what, "swaptune apply").seen_all(swap_lines(&unset)))
}

fn rotational_exhibit(disk: &BlockDevice) -> Exhibit {
    let text = disk.rotational.value().map_or("unknown", |on| if *on { "1" } else { "0" });
    Exhibit { source: format!("/sys/block/{}/queue/rotational", disk.name), text: text.to_owned() }
}

fn disk<'a>(facts: &'a Facts, area: &SwapArea) -> Option<&'a BlockDevice> {
    facts.disk_of(area.device.value()?)
}

fn virtual_rotational(facts: &Facts) -> Option<FindingEvidence> {
    let claims = |area: &&SwapArea| {
        disk(facts, area).is_some_and(|disk| disk.transport == Transport::Virtual && disk.rotational.value() == Some(&true))
    };
    let areas: Vec<&SwapArea> = disk_areas(facts).into_iter().filter(claims).collect();
    if areas.is_empty() {
        return None;
    }
    let striping =
        if does(facts, &behaviours::CLUSTERS_ROTATE) { "single pages in turn" } else { "a search for free slots from the start" };
    let what = format!(
        "{} on a virtual disk that reports rotational=1: the kernel uses the allocator of spinning disks ({striping}) and physical read-ahead for all areas",
        paths_that(&areas, "lies", "lie")
    );
    let mut disks: Vec<Exhibit> = areas.iter().filter_map(|area| disk(facts, area)).map(rotational_exhibit).collect();
    disks.dedup();
    Some(FindingEvidence::new(what, "swaptune apply").seen_all(disks))
}

fn mixed_disks(facts: &Facts) -> Option<FindingEvidence> {
    // zram and flash read by virtual address; one spinning area switches that off for them too.
    let kind = |area: &&SwapArea| if area.is_zram() { Some(false) } else { device(facts, area)?.rotational.value().copied() };
    let spinning: Vec<&SwapArea> = facts.swaps.iter().filter(|area| kind(area) == Some(true)).collect();
    let flash: Vec<&SwapArea> = facts.swaps.iter().filter(|area| kind(area) == Some(false)).collect();
    if spinning.is_empty() || flash.is_empty() {
        return None;
    }
    let equal = spinning.iter().any(|slow| flash.iter().any(|fast| fast.priority == slow.priority));
    let also = if equal { ", and areas of equal priority are as slow as the slowest" } else { "" };
    let what = format!(
        "{} and {}: one spinning area switches read-ahead by address off for the whole system{also}",
        paths_that(&spinning, "spins", "spin"),
        paths_that(&flash, "does not", "do not")
    );
    Some(
        FindingEvidence::new(what, "swaptune plan --explain")
            .seen_all(spinning.iter().filter_map(|area| device(facts, area)).map(rotational_exhibit)),
    )
}

fn same_disk(facts: &Facts) -> Option<FindingEvidence> {
    let mut by_disk: BTreeMap<&str, Vec<&SwapArea>> = BTreeMap::new();
    for area in disk_areas(facts) {
        if let Some(disk) = disk(facts, area) {
            by_disk.entry(&disk.name).or_default().push(area);
        }
    }
    let (name, areas) = by_disk.into_iter().find(|(_, areas)| areas.len() > 1)?;
    let spins = facts.block_device(name).is_some_and(|disk| disk.rotational.value() == Some(&true));
    let seeks = spins && does(facts, &behaviours::CLUSTERS_ROTATE);
    let cost = if seeks { "; this kernel alternates single pages between them, and the disk seeks each time" } else { "" };
    let what =
        format!("{} areas lie on {name}, which has one queue: more areas bring no throughput by themselves{cost}", areas.len());
    Some(FindingEvidence::new(what, "swaptune plan --explain").seen_all(swap_lines(&areas)))
}

fn striping_unit(facts: &Facts) -> Option<FindingEvidence> {
    let areas = disk_areas(facts);
    let equal = |area: &&SwapArea| areas.iter().filter(|other| other.priority == area.priority).count() > 1;
    let group: Vec<&SwapArea> = areas.iter().copied().filter(equal).collect();
    let first = group.first()?;
    let spins = device(facts, first).and_then(|device| device.rotational.value()) == Some(&true);
    let unit = match (does(facts, &behaviours::CLUSTERS_ROTATE), spins) {
        (false, _) => format!("{} at a time and CPU", slots(facts, SLOTS_CACHE_SIZE)),
        (true, false) => format!("a cluster of {} at a time and CPU", slots(facts, huge_page_slots(facts))),
        (true, true) => "one page at a time, because they spin".to_owned(),
    };
    let what = format!("{} areas share priority {}: {} fills them in turn, {unit}", group.len(), first.priority, release(facts));
    Some(FindingEvidence::new(what, "swaptune status").seen_all(swap_lines(&group)))
}

/// `SLOTS_CACHE_SIZE`, include/linux/swap_slots.h: what a processor takes from an area at once.
const SLOTS_CACHE_SIZE: u64 = 64;

/// `SWAPFILE_CLUSTER`, include/linux/swap.h: `HPAGE_PMD_NR`, one table of entries of 8 bytes.
fn huge_page_slots(facts: &Facts) -> u64 {
    facts.kernel.page_size.0 / 8
}

fn slots(facts: &Facts, count: u64) -> String {
    format!("{count} slots ({})", Bytes(count * facts.kernel.page_size.0))
}

fn full(facts: &Facts) -> Option<FindingEvidence> {
    let (total, free) = (facts.memory.get("SwapTotal")?, facts.memory.get("SwapFree")?);
    if total == Bytes(0) || u128::from(free.0) * 10 > u128::from(total.0) {
        return None;
    }
    let what = format!(
        "{free} of {total} of swap are free, pages that are only in zswap counted as used: what cannot be swapped any more ends at the OOM killer"
    );
    Some(
        FindingEvidence::new(what, "swaptune plan --explain")
            .seen("/proc/meminfo", format!("SwapTotal {total}, SwapFree {free}")),
    )
}

fn file_copy_on_write(facts: &Facts) -> Option<FindingEvidence> {
    let cow = |area: &&SwapArea| {
        area.kind == SwapKind::File
            && area.filesystem.value().is_some_and(|kind| matches!(kind.as_str(), "btrfs" | "bcachefs" | "zfs"))
    };
    let areas: Vec<&SwapArea> = facts.swaps.iter().filter(cow).collect();
    let first = areas.first()?;
    let kind = first.filesystem.value()?;
    let what = format!(
        "{} on {kind}: while a file is on, its subvolume cannot be snapshotted, balanced or defragmented",
        paths_that(&areas, "lies", "lie")
    );
    let cure = format!(
        "btrfs subvolume show {}",
        first.path.rsplit_once('/').map_or("/", |(folder, _)| if folder.is_empty() { "/" } else { folder })
    );
    Some(FindingEvidence::new(what, cure).seen_all(swap_lines(&areas)).seen(first.filesystem.source(), kind.clone()))
}

fn on_zvol(facts: &Facts) -> Option<FindingEvidence> {
    let zvol = |area: &&SwapArea| {
        area.device.value().is_some_and(|name| name.starts_with("zd") && name[2..].starts_with(|c: char| c.is_ascii_digit()))
    };
    let areas: Vec<&SwapArea> = facts.swaps.iter().filter(zvol).collect();
    let first = areas.first()?;
    let what = format!(
        "{}: writing to one needs memory, so the machine can lock up just when it must swap",
        paths_that(&areas, "is a ZFS volume", "are ZFS volumes")
    );
    Some(FindingEvidence::new(what, format!("swapoff {}", first.path)).seen_all(swap_lines(&areas)))
}

fn not_encrypted(facts: &Facts) -> Option<FindingEvidence> {
    let plain = |area: &&SwapArea| area.encryption.value() == Some(&Encryption::None);
    let areas: Vec<&SwapArea> = disk_areas(facts).into_iter().filter(plain).collect();
    let backing = plain_backing(facts);
    let first = areas.first().map(|area| area.encryption.source()).or_else(|| Some(backing.first()?.1.source()))?;
    let names: Vec<String> =
        areas.iter().map(|area| area.path.clone()).chain(backing.iter().map(|(name, _)| name.clone())).collect();
    let what = format!(
        "{} {} not encrypted: what is swapped out, zswap's write-back included, stays readable on the disk after power-off",
        names.join(", "),
        if names.len() == 1 { "is" } else { "are" }
    );
    Some(FindingEvidence::new(what, "man 5 crypttab").seen(first, "no encryption"))
}

/// Backing devices that zram swap writes its pages to as they are: zram does not encrypt. What a loop device lies on is not known.
fn plain_backing(facts: &Facts) -> Vec<(String, &Fact<String>)> {
    let on = |device: &&ZramDevice| zram_areas(facts).iter().any(|area| area.device.value() == Some(&device.name));
    let name = |zram: &'_ ZramDevice| {
        let backing = facts.device_named(zram.backing_dev.value()?).filter(|device| device.transport != Transport::Loop)?;
        (!facts.encrypts(&backing.name)).then(|| format!("/dev/{} (behind {})", backing.name, zram.name))
    };
    facts.zram.devices.iter().filter(on).filter_map(|zram| Some((name(zram)?, &zram.backing_dev))).collect()
}

fn none(facts: &Facts) -> Option<FindingEvidence> {
    if !facts.swaps.is_empty() || facts.zswap_is_on() || facts.system.container.is_known() || facts.image.is_some() {
        return None;
    }
    let what = "there is no swap: memory of idle programs can never leave RAM, and page cache is dropped instead";
    Some(FindingEvidence::new(what, "swaptune plan").seen("/proc/swaps", "empty"))
}
