//! Block devices from sysfs, their contents from udev's database.
//!
//! Without udev (small guests, containers) the links under `/dev/disk` and, for root, the first bytes of the device
//! answer instead.

use std::collections::{BTreeMap, BTreeSet};

use swaptune_core::edit::fstab;
use swaptune_core::escape;
use swaptune_core::facts::{BlockDevice, Transport};
use swaptune_core::parse::mountinfo::MountLine;
use swaptune_core::parse::{crypttab, udevdb};
use swaptune_core::{Bytes, Fact};

use crate::machine::Machine;

/// The unit of `size` in sysfs, whatever the device's own sector size.
const SECTOR: u64 = 512;
/// What SCSI disks of hypervisors give as their vendor.
const VIRTUAL_VENDORS: [&str; 7] = ["QEMU", "VMware", "VBOX", "Msft", "Google", "XEN", "Amazon"];

/// `signatures`: whether devices that udev says nothing of are read.
pub(super) fn inspect(machine: &Machine, mounts: &[MountLine], signatures: bool) -> Vec<BlockDevice> {
    let names = machine.list("/sys/class/block").or_else(|_| machine.list("/sys/block")).unwrap_or_default();
    let context = BlockContext { machine, links: Links::read(machine), mounted: mounted(machine, mounts), signatures };
    names.iter().filter_map(|name| context.device(name)).collect()
}

/// The kernel name behind a device path: `/dev/mapper/swap` → `dm-0`.
pub(crate) fn kernel_name(machine: &Machine, path: &str) -> Option<String> {
    kernel_name_of_any(machine, path.strip_prefix("/dev/").map(|_| path)?)
}

/// The same for a link anywhere.
fn kernel_name_of_any(machine: &Machine, path: &str) -> Option<String> {
    let real = machine.real_path(path).ok().filter(|real| !real.starts_with("/dev/mapper/"));
    // A service that sees no devices below /dev has no link to follow there.
    let Some(real) = real else { return path.strip_prefix("/dev/mapper/").and_then(|name| mapping(machine, name)) };
    // Names with a slash (`cciss/c0d0`) have an exclamation mark in sysfs.
    Some(real.strip_prefix("/dev/")?.replace('/', "!"))
}

/// The device-mapper device of this name, as sysfs has it.
fn mapping(machine: &Machine, name: &str) -> Option<String> {
    let devices = machine.list("/sys/class/block").ok()?;
    let is_it = |device: &String| {
        device.starts_with("dm-")
            && machine.read_text(&format!("/sys/class/block/{device}/dm/name")).is_ok_and(|text| text.trim() == name)
    };
    devices.into_iter().find(is_it)
}

/// What is looked up once for all devices.
struct BlockContext<'a> {
    machine: &'a Machine,
    links: Links,
    /// Mount points by device number, or by kernel name where the number is anonymous (btrfs).
    mounted: BTreeMap<String, String>,
    signatures: bool,
}

impl BlockContext<'_> {
    fn device(&self, name: &str) -> Option<BlockDevice> {
        let machine = self.machine;
        let base = format!("/sys/class/block/{name}");
        let base = if machine.exists(&base) { base } else { format!("/sys/block/{name}") };
        let read = |file: &str| machine.read_text(&format!("{base}/{file}")).map(|text| text.trim().to_owned());
        let size = Bytes(read("size").ok()?.parse::<u64>().ok()?.saturating_mul(SECTOR));
        // Loop devices without a file, empty card readers and optical drives.
        if size.0 == 0 && !name.starts_with("zram") {
            return None;
        }
        let place = machine.link(&base).unwrap_or_default();
        let parent = machine.exists(&format!("{base}/partition")).then(|| parent(&place, name));
        // A partition's folder lies in that of its disk.
        let disk = if parent.is_some() { format!("{base}/..") } else { base.clone() };
        let number = read("dev").unwrap_or_default();
        let found = self.contents(name, &number);
        let mapping = name.starts_with("dm-");
        Some(BlockDevice {
            name: name.to_owned(),
            size,
            transport: transport(machine, parent.as_deref().unwrap_or(name), &place, &disk),
            rotational: flag(machine, &format!("{disk}/queue/rotational"), &format!("{base}/queue/rotational")),
            discard: flag(machine, &format!("{disk}/queue/discard_max_bytes"), &format!("{base}/queue/discard_max_bytes")),
            lies_on: machine.list(&format!("{base}/slaves")).unwrap_or_default(),
            dm_uuid: mapping.then(|| read("dm/uuid").ok()).flatten().filter(|uuid| !uuid.is_empty()),
            dm_name: mapping.then(|| read("dm/name").ok()).flatten(),
            contents: found.kind,
            uuid: found.names.uuid,
            label: found.names.label,
            partuuid: found.names.partuuid,
            partlabel: found.names.partlabel,
            links: found.names.links,
            mounted_at: self.mounted.get(&number).or_else(|| self.mounted.get(name)).cloned(),
            removable: machine.read_text(&format!("{disk}/removable")).is_ok_and(|text| text.trim() == "1"),
            parent,
        })
    }

    fn contents(&self, name: &str, number: &str) -> Contents {
        let machine = self.machine;
        let path = format!("/run/udev/data/b{number}");
        let links = self.links.0.get(name).cloned().unwrap_or_default();
        if let Ok(text) = machine.read_lines(&path, matters) {
            let found = udevdb::parse(&text);
            // udev gives a partition the table type of its disk too; that is not what the partition holds.
            let table = found.get("ID_PART_TABLE_TYPE").filter(|_| !found.contains_key("ID_PART_ENTRY_NUMBER"));
            let kind = match found.get("ID_FS_TYPE").or(table) {
                Some(kind) => Fact::known(kind.clone(), path),
                None => Fact::absent(format!("{path}: udev found no signature")),
            };
            return Contents { kind, names: Names::of_udev(&text, links) };
        }
        let names = Names::of_links(links);
        // zram's content is RAM, and reading a loop device reads the file behind it.
        if name.starts_with("zram") || name.starts_with("loop") {
            return Contents { kind: Fact::absent(format!("{path}: no such file")), names };
        }
        if !self.signatures {
            return Contents { kind: Fact::absent(format!("{path}: no such file; /dev/{name} is not read for this")), names };
        }
        match machine.signatures(name) {
            Ok(found) => match found.into_iter().next() {
                Some(first) => Contents {
                    kind: Fact::known(first.kind, format!("/dev/{name}")),
                    names: Names { uuid: first.uuid.or(names.uuid), label: first.label.or(names.label), ..names },
                },
                None => Contents { kind: Fact::absent(format!("/dev/{name}: no signature")), names },
            },
            Err(error) => Contents { kind: error.absent(), names },
        }
    }
}

/// The first mount point of each device.
fn mounted(machine: &Machine, mounts: &[MountLine]) -> BTreeMap<String, String> {
    let mut points = BTreeMap::new();
    for mount in mounts {
        let key = match mount.device {
            (0, _) => kernel_name(machine, &mount.source),
            (major, minor) => Some(format!("{major}:{minor}")),
        };
        if let Some(key) = key {
            points.entry(key).or_insert_with(|| mount.at.clone());
        }
    }
    points
}

/// The disk of a partition: the folder above it, or its name without the number where the tree has no links.
fn parent(place: &str, name: &str) -> String {
    let above = place.rsplit('/').nth(1).filter(|above| name.starts_with(*above) && !above.is_empty());
    above.map_or_else(
        || {
            let disk = name.trim_end_matches(|c: char| c.is_ascii_digit());
            disk.strip_suffix('p').filter(|disk| disk.ends_with(|c: char| c.is_ascii_digit())).unwrap_or(disk).to_owned()
        },
        str::to_owned,
    )
}

fn transport(machine: &Machine, disk_name: &str, place: &str, disk: &str) -> Transport {
    let by_name = [
        ("nvme", Transport::Nvme),
        ("mmcblk", Transport::Mmc),
        ("dm-", Transport::Dm),
        ("md", Transport::Md),
        ("loop", Transport::Loop),
        ("zram", Transport::Zram),
        ("vd", Transport::Virtual),
        ("xvd", Transport::Virtual),
    ];
    if let Some((_, transport)) = by_name.iter().find(|(start, _)| disk_name.starts_with(start)) {
        return *transport;
    }
    if !disk_name.starts_with("sd") && !disk_name.starts_with("sr") {
        return Transport::Other;
    }
    let vendor = machine.read_text(&format!("{disk}/device/vendor")).unwrap_or_default();
    if VIRTUAL_VENDORS.contains(&vendor.trim()) || place.contains("/virtio") || place.contains("/VMBUS:") {
        return Transport::Virtual;
    }
    if place.contains("/usb") { Transport::Usb } else { Transport::Scsi }
}

/// A number that is a yes when it is not zero. The source is named by the shorter path.
fn flag(machine: &Machine, path: &str, source: &str) -> Fact<bool> {
    match machine.read_text(path) {
        Ok(text) => match text.trim().parse::<u64>() {
            Ok(number) => Fact::known(number != 0, source),
            Err(_) => Fact::absent(format!("{source}: not a number")),
        },
        Err(error) => Fact::absent(format!("{source}: {}", error.reason)),
    }
}

/// What a device holds and how it is called, by udev or by its first bytes.
struct Contents {
    kind: Fact<String>,
    names: Names,
}

/// Names of a device that do not come from sysfs.
#[derive(Default)]
struct Names {
    uuid: Option<String>,
    label: Option<String>,
    partuuid: Option<String>,
    partlabel: Option<String>,
    links: Vec<String>,
}

impl Names {
    /// What the links of a device tell.
    fn of_links(links: Vec<String>) -> Self {
        // What is in a field of its own, or changes with each boot, is not kept twice.
        let told = ["disk/by-uuid/", "disk/by-label/", "disk/by-partuuid/", "disk/by-partlabel/", "disk/by-diskseq/"];
        let last = |folder: &str| links.iter().find_map(|link| link.strip_prefix(folder)).map(escape::unescape_hex);
        Self {
            uuid: last("disk/by-uuid/"),
            label: last("disk/by-label/"),
            partuuid: last("disk/by-partuuid/"),
            partlabel: last("disk/by-partlabel/"),
            links: links.iter().filter(|link| !told.iter().any(|folder| link.starts_with(folder))).cloned().collect(),
        }
    }

    /// What udev says, and below it what the links say.
    fn of_udev(text: &str, links: Vec<String>) -> Self {
        let found = udevdb::parse(text);
        let links: BTreeSet<String> = udevdb::links(text).into_iter().chain(links).collect();
        let below = Self::of_links(links.into_iter().collect());
        let plain = |key: &str| found.get(key).cloned();
        let encoded = |key: &str| found.get(key).map(|text| escape::unescape_hex(text));
        Self {
            uuid: plain("ID_FS_UUID").or(below.uuid),
            label: encoded("ID_FS_LABEL_ENC").or(below.label),
            partuuid: plain("ID_PART_ENTRY_UUID").or(below.partuuid),
            partlabel: encoded("ID_PART_ENTRY_NAME").or(below.partlabel),
            links: below.links,
        }
    }
}

/// Serial numbers and paths of the hardware are left out of captures.
fn matters(line: &str) -> bool {
    line.starts_with("S:") || line.starts_with("E:ID_FS_") || line.starts_with("E:ID_PART_")
}

/// Links to devices by their kernel names: those below `/dev/disk`, without `/dev/`, and those that fstab and crypttab name.
struct Links(BTreeMap<String, Vec<String>>);

impl Links {
    fn read(machine: &Machine) -> Self {
        let mut links = Self(BTreeMap::new());
        for folder in machine.list("/dev/disk").unwrap_or_default() {
            for name in machine.list(&format!("/dev/disk/{folder}")).unwrap_or_default() {
                let link = format!("disk/{folder}/{name}");
                if let Ok(target) = machine.link(&format!("/dev/{link}")) {
                    links.add(target.rsplit('/').next().unwrap_or_default(), link);
                }
            }
        }
        for path in named_paths(machine) {
            if let Some(device) = machine.link(&path).ok().and_then(|_| kernel_name_of_any(machine, &path)) {
                links.add(&device, path.strip_prefix("/dev/").unwrap_or(&path).to_owned());
            }
        }
        links
    }

    fn add(&mut self, device: &str, link: String) {
        let links = self.0.entry(device.to_owned()).or_default();
        if !links.contains(&link) {
            links.push(link);
        }
    }
}

/// Paths that fstab and crypttab give for devices; any of them may be a link that an administrator made.
fn named_paths(machine: &Machine) -> Vec<String> {
    let read = |path: &str| machine.read_text(path).unwrap_or_default();
    let swaps = fstab::entries(&read("/etc/fstab")).into_iter().filter_map(Result::ok).filter(fstab::FstabEntry::is_swap);
    let mappings = crypttab::parse(&read("/etc/crypttab")).into_iter().map(|mapping| mapping.source);
    swaps.map(|entry| entry.spec).chain(mappings).filter(|spec| spec.starts_with('/')).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_device_is_read_only_where_that_is_asked_for() {
        let dir = tempfile::tempdir().unwrap();
        crate::testing::write(dir.path(), "sys/class/block/vda/size", "80000\n");
        crate::testing::write(dir.path(), "sys/class/block/vda/dev", "254:0\n");
        let of = |signatures| inspect(&Machine::at(dir.path()), &[], signatures).remove(0).contents;
        // A folder has no devices to read, and says so where one is asked for.
        assert!(!of(true).source().contains("is not read for this"), "{:?}", of(true));
        assert!(of(false).source().contains("/dev/vda is not read for this"), "{:?}", of(false));
    }

    #[test]
    fn disks_of_partitions() {
        for (place, name, expect) in [
            ("../../devices/pci0000:00/virtio1/block/vda/vda3", "vda3", "vda"),
            ("../../devices/pci0000:00/nvme/nvme0/nvme0n1/nvme0n1p2", "nvme0n1p2", "nvme0n1"),
            ("", "sda10", "sda"),
            ("", "nvme0n1p2", "nvme0n1"),
            ("", "mmcblk0p1", "mmcblk0"),
        ] {
            assert_eq!(parent(place, name), expect);
        }
    }
}
