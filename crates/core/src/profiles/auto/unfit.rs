//! Why no disk of a machine gets a swap file, disk by disk.

use super::areas::swap_file_size;
use super::assume::ASSUMED;
use crate::facts::{BlockDevice, Facts, Mount, Transport};

/// Why no swap file is made on this disk, whatever lies on it.
pub(super) fn disk(disk: &BlockDevice) -> Option<&'static str> {
    match disk.transport {
        Transport::Mmc => Some("an SD card or eMMC, which swapping wears out"),
        Transport::Usb => Some("a USB disk, which may be pulled out"),
        Transport::Zram => Some("zram, which is RAM: what is swapped to it stays there"),
        Transport::Loop => Some("a loop device, whose file may be on anything"),
        _ if disk.removable => Some("removable"),
        _ => BY_NAME.iter().find(|(name, _)| numbered(disk, name)).map(|(_, why)| *why),
    }
}

/// Devices that only their names tell from disks.
const BY_NAME: [(&str, &str); 4] = [
    ("ram", "a RAM disk: what is swapped to it stays in RAM"),
    ("nbd", "a disk of the network (NBD), which needs memory to be written to"),
    ("rbd", "a disk of the network (RBD), which needs memory to be written to"),
    ("drbd", "a disk of the network (DRBD), which needs memory to be written to"),
];

/// Why the root file system gets no swap file.
pub(super) fn root(facts: &Facts, root: &Mount) -> Option<String> {
    let figures = &ASSUMED.swap_file;
    if root.read_only {
        return Some("/ is mounted read-only".to_owned());
    }
    if !matches!(root.filesystem.as_str(), "ext4" | "ext3" | "xfs" | "btrfs") {
        return Some(format!("{} on / cannot hold a swap file, ext4, xfs and btrfs can", root.filesystem));
    }
    if root.filesystem == "btrfs" {
        // What is mounted at / is what snapshots are taken of. A file that the user names may lie in a subvolume of its own.
        return Some(
            "a swap file in the subvolume of / on btrfs forbids snapshots of it: `btrfs subvolume create /swap`, and name a file there \
             under [[swap]]"
                .to_owned(),
        );
    }
    if facts.system.os_id.value().map(String::as_str) == Some("nixos") {
        return Some("NixOS makes its swap files itself (swapDevices)".to_owned());
    }
    let Some(free) = root.free.value() else { return Some(format!("free space of / is unknown ({})", root.free.source())) };
    let size = swap_file_size(facts, root);
    (size < figures.min).then(|| {
        let need = crate::Bytes(figures.min.0 * 100 / figures.free_percent);
        format!("/ has {free} free, and {} in {} % of it need {need}", figures.min, figures.free_percent)
    })
}

/// `: vda: …; mmcblk0: …`, empty where no disk is known.
pub(super) fn reasons(facts: &Facts) -> String {
    let whole = |device: &&BlockDevice| device.parent.is_none() && device.lies_on.is_empty() && !is_memory(device);
    let reasons: Vec<String> =
        facts.block_devices.iter().filter(whole).map(|device| format!("{}: {}", device.name, reason(facts, device))).collect();
    if reasons.is_empty() { String::new() } else { format!(": {}", reasons.join("; ")) }
}

/// Devices that are memory, or files of another device.
fn is_memory(device: &BlockDevice) -> bool {
    matches!(device.transport, Transport::Zram | Transport::Loop)
        || ["ram", "sr", "fd", "nbd"].iter().any(|name| numbered(device, name))
}

fn numbered(device: &BlockDevice, name: &str) -> bool {
    device.name.strip_prefix(name).is_some_and(|rest| !rest.is_empty() && rest.bytes().all(|letter| letter.is_ascii_digit()))
}

fn reason(facts: &Facts, device: &BlockDevice) -> String {
    if let Some(reason) = disk(device) {
        return reason.to_owned();
    }
    let mount = facts.mounts.iter().find(|mount| mount.at == "/");
    let below = |name: &String| facts.disks_below(name).contains(&device.name);
    if let Some(mount) = mount.filter(|mount| mount.device.value().is_some_and(below)) {
        return root(facts, mount).unwrap_or_else(|| "zram is the swap that was chosen here".to_owned());
    }
    let swap = facts.block_devices.iter().find(|part| {
        part.contents.value().is_some_and(|contents| contents == "swap") && facts.disks_below(&part.name).contains(&device.name)
    });
    match swap {
        Some(part) => format!("{} is a swap area that is off; name it under [[swap]]", part.name),
        None if device.size < ASSUMED.swap_file.min => format!("too small ({})", device.size),
        None => "not the disk of /; name one of its devices under [[swap]] to use it".to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Bytes, Fact};

    fn device(name: &str, transport: Transport) -> BlockDevice {
        BlockDevice { name: name.into(), size: Bytes::from_gib(8), transport, ..BlockDevice::default() }
    }

    fn machine(filesystem: &str, free: Bytes, disk: Transport) -> Facts {
        let mut facts = Facts::default();
        let meminfo = [("MemTotal".to_owned(), Bytes::from_gib(1))].into();
        facts.memory.meminfo = Fact::known(meminfo, "/proc/meminfo");
        facts.block_devices = vec![device("sda", disk), device("zram0", Transport::Zram), device("ram0", Transport::Other)];
        facts.block_devices.push(BlockDevice { parent: Some("sda".into()), ..device("sda1", disk) });
        facts.mounts = vec![Mount {
            at: "/".into(),
            filesystem: filesystem.into(),
            device: Fact::known("sda1".into(), "mountinfo"),
            free: Fact::known(free, "statvfs"),
            ..Mount::default()
        }];
        facts
    }

    #[test]
    fn each_disk_says_why() {
        let plenty = Bytes::from_gib(20);
        let check = |facts: &Facts, expect: &str| assert_eq!(reasons(facts), expect);
        check(&machine("ext4", plenty, Transport::Mmc), ": sda: an SD card or eMMC, which swapping wears out");
        check(&machine("ext4", plenty, Transport::Usb), ": sda: a USB disk, which may be pulled out");
        let mut facts = machine("ext4", plenty, Transport::Scsi);
        facts.block_devices[0].removable = true;
        check(&facts, ": sda: removable");
        check(
            &machine("squashfs", plenty, Transport::Scsi),
            ": sda: squashfs on / cannot hold a swap file, ext4, xfs and btrfs can",
        );
        check(
            &machine("ext4", Bytes::from_gib(3), Transport::Scsi),
            ": sda: / has 3 GiB free, and 1 GiB in 25 % of it need 4 GiB",
        );
        check(
            &machine("btrfs", plenty, Transport::Scsi),
            ": sda: a swap file in the subvolume of / on btrfs forbids snapshots of it: `btrfs subvolume create /swap`, and name a \
             file there under [[swap]]",
        );
        let mut facts = machine("ext4", plenty, Transport::Scsi);
        facts.mounts[0].read_only = true;
        facts.block_devices.push(device("sdb", Transport::Scsi));
        let off = BlockDevice { contents: Fact::known("swap".into(), "udev"), ..device("sdc", Transport::Scsi) };
        facts.block_devices.push(off);
        facts.block_devices.push(BlockDevice { size: Bytes::from_mib(5), ..device("sdd", Transport::Scsi) });
        check(
            &facts,
            ": sda: / is mounted read-only; sdb: not the disk of /; name one of its devices under [[swap]] to use it; \
             sdc: sdc is a swap area that is off; name it under [[swap]]; sdd: too small (5 MiB)",
        );
        check(&Facts::default(), "");
    }

    #[test]
    fn no_file_is_made_on_what_is_memory_or_elsewhere() {
        for (name, transport, why) in [
            ("ram0", Transport::Other, Some("RAM disk")),
            ("zram1", Transport::Zram, Some("which is RAM")),
            ("loop7", Transport::Loop, Some("loop device")),
            ("nbd0", Transport::Other, Some("(NBD)")),
            ("rbd12", Transport::Other, Some("(RBD)")),
            ("drbd1", Transport::Other, Some("(DRBD)")),
            ("sda", Transport::Scsi, None),
            ("xvda", Transport::Virtual, None),
            ("pmem0", Transport::Other, None),
            ("ram", Transport::Other, None),
        ] {
            let said = disk(&device(name, transport));
            assert!(
                why.is_none_or(|why| said.is_some_and(|said| said.contains(why))) && said.is_some() == why.is_some(),
                "{name}: {said:?}"
            );
        }
    }
}
