//! Priorities of disk areas: one for all where their disks are of one kind, so that they are filled in turn. Where heads move on some of
//! them only, turns would be as slow as the slowest, and so the areas keep the order that they have.

use std::cmp::Reverse;

use super::areas::{DiskArea, disk_below};
use super::{DISK_PRIORITY, ZRAM_PRIORITY};
use crate::facts::{BlockDevice, Facts, SwapArea};

/// The largest that swapon(2) takes.
const MOST: i32 = 32767;

/// What each area that is on gets; with each, whether it is one that may be missing, which keeps its own.
pub(super) fn of(facts: &Facts, on: &[(&SwapArea, bool)]) -> Vec<i32> {
    let spinning = on.iter().filter(|(area, _)| spins(facts, area)).count();
    if spinning > 0 && spinning < on.len() {
        return in_their_order(facts, on);
    }
    let one = |(area, optional): &(&SwapArea, bool)| chosen(area).filter(|_| *optional).unwrap_or(DISK_PRIORITY);
    on.iter().map(one).collect()
}

/// What a swap file gets on a disk that does not spin: it is filled before areas on disks that do.
pub(super) fn quicker_than(facts: &Facts, on: &[DiskArea]) -> i32 {
    let slow = on.iter().filter(|area| disk_below(facts, area).is_some_and(BlockDevice::spins)).map(|area| area.priority).max();
    slow.map_or(DISK_PRIORITY, |slow| slow.saturating_add(1).clamp(DISK_PRIORITY, MOST))
}

/// The priority of a compressed tier: its own where that is above the highest of the disks, else as far above as it usually is. An area
/// below a disk would be filled last.
#[must_use]
pub fn above(own: i32, disk: Option<i32>) -> i32 {
    let raised = |disk: i32| disk.saturating_add(ZRAM_PRIORITY - DISK_PRIORITY).min(MOST);
    disk.filter(|disk| own <= *disk).map_or(own, raised)
}

/// Explicit priorities as they are, the others below them: in the order in which this kernel fills them, and where it fills them in turn
/// those that spin last.
fn in_their_order(facts: &Facts, on: &[(&SwapArea, bool)]) -> Vec<i32> {
    let least = on.iter().filter_map(|(area, _)| chosen(area)).min();
    let first = least.map_or(DISK_PRIORITY, |least| (least - 1).clamp(0, DISK_PRIORITY));
    let place = |area: &SwapArea| (Reverse(area.priority), spins(facts, area));
    let mut places: Vec<_> = on.iter().filter(|(area, _)| chosen(area).is_none()).map(|(area, _)| place(area)).collect();
    places.sort_unstable();
    places.dedup();
    let below = |area: &SwapArea| {
        let before = places.iter().take_while(|other| **other != place(area)).count();
        first.saturating_sub(i32::try_from(before).unwrap_or(MOST)).max(0)
    };
    on.iter().map(|(area, _)| chosen(area).unwrap_or_else(|| below(area))).collect()
}

/// A negative number is the kernel's own, which swapon(2) does not take.
fn chosen(area: &SwapArea) -> Option<i32> {
    (area.priority >= 0).then(|| area.priority.min(MOST))
}

fn spins(facts: &Facts, area: &SwapArea) -> bool {
    area.device.value().and_then(|name| facts.disk_of(name)).is_some_and(BlockDevice::spins)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::facts::{Encryption, SwapKind, Transport};
    use crate::{Bytes, Fact};

    fn machine(areas: &[(&str, i32)]) -> Facts {
        let disk = |name: &str| BlockDevice {
            name: name.into(),
            transport: Transport::Scsi,
            rotational: Fact::known(name.starts_with("hdd"), "queue"),
            ..BlockDevice::default()
        };
        let area = |(name, priority): &(&str, i32)| SwapArea {
            path: format!("/dev/{name}"),
            kind: SwapKind::Partition,
            size: Bytes::from_gib(1),
            used: Bytes(0),
            priority: *priority,
            device: Fact::known((*name).to_owned(), "/proc/swaps"),
            uuid: Fact::absent("test"),
            encryption: Fact::known(Encryption::None, "dm"),
            filesystem: Fact::absent("a device"),
        };
        let block_devices = areas.iter().map(|(name, _)| disk(name)).collect();
        Facts { block_devices, swaps: areas.iter().map(area).collect(), ..Facts::default() }
    }

    fn planned(areas: &[(&str, i32)]) -> Vec<i32> {
        let facts = machine(areas);
        let on: Vec<(&SwapArea, bool)> = facts.swaps.iter().map(|area| (area, false)).collect();
        of(&facts, &on)
    }

    #[test]
    fn disks_of_one_kind_are_filled_in_turn() {
        assert_eq!(planned(&[("ssd1", 100), ("ssd2", 1), ("ssd3", -2)]), [10, 10, 10]);
        assert_eq!(planned(&[("hdd1", -2), ("hdd2", -3)]), [10, 10]);
        assert_eq!(planned(&[]), [] as [i32; 0]);
        let facts = machine(&[("ssd1", 7), ("ssd2", -2)]);
        assert_eq!(of(&facts, &[(&facts.swaps[0], true), (&facts.swaps[1], true)]), [7, 10], "those that may be missing");
    }

    #[test]
    fn disks_of_two_kinds_keep_their_order() {
        for (areas, expect) in [
            (&[("ssd1", 100), ("hdd1", 1)][..], &[100, 1][..]),
            (&[("hdd1", 5), ("ssd1", 5)], &[5, 5]),
            (&[("hdd1", -3), ("ssd1", -2)], &[9, 10]),
            (&[("hdd1", -2), ("ssd1", -3)], &[10, 9]),
            // As kernels from 6.19 on show them.
            (&[("hdd1", -1), ("ssd1", -1), ("ssd2", -1)], &[9, 10, 10]),
            (&[("ssd1", 100), ("hdd1", -2), ("hdd2", -3)], &[100, 10, 9]),
            (&[("ssd1", 1), ("hdd1", -2), ("hdd2", -3)], &[1, 0, 0]),
            (&[("ssd1", MOST), ("hdd1", i32::MIN)], &[MOST, 10]),
        ] {
            assert_eq!(planned(areas), expect, "{areas:?}");
            let again: Vec<(&str, i32)> = areas.iter().zip(expect).map(|((name, _), planned)| (*name, *planned)).collect();
            assert_eq!(planned(&again), expect, "{areas:?}, once more");
        }
    }

    #[test]
    fn zram_is_above_every_disk() {
        let all = [(100, None), (5, Some(4)), (5, Some(5)), (100, Some(10)), (100, Some(300)), (100, Some(MOST))];
        assert_eq!(all.map(|(own, disk)| above(own, disk)), [100, 5, 95, 100, 390, MOST]);
    }

    #[test]
    fn a_file_is_filled_before_what_spins() {
        let on = |areas: &[(&str, i32)]| {
            let facts = machine(areas);
            let area = |(name, priority): &(&str, i32)| DiskArea {
                path: format!("/dev/{name}"),
                name: format!("/dev/{name}"),
                size: Bytes::from_gib(1),
                create: false,
                priority: *priority,
                optional: false,
            };
            quicker_than(&facts, &areas.iter().map(area).collect::<Vec<_>>())
        };
        assert_eq!([on(&[("ssd1", 10)]), on(&[("hdd1", 10)]), on(&[("hdd1", 9), ("ssd1", 10)])], [10, 11, 10]);
        assert_eq!(on(&[("hdd1", MOST)]), MOST);
    }
}
