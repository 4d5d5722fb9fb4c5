//! Active swap areas, and devices that carry a swap signature.

use swaptune_core::Fact;
use swaptune_core::facts::{BlockDevice, Encryption, SwapArea, SwapKind, SwapSignature, encrypting};
use swaptune_core::parse::mountinfo::{self, MountLine};
use swaptune_core::parse::swaps::{self, SwapLine};

use super::{block, mounts};
use crate::machine::Machine;

pub(super) fn areas(machine: &Machine, devices: &[BlockDevice], mounts: &[MountLine]) -> Vec<SwapArea> {
    let text = machine.read_text("/proc/swaps").unwrap_or_default();
    swaps::parse(&text).into_iter().map(|line| area(machine, line, devices, mounts)).collect()
}

pub(super) fn signatures(devices: &[BlockDevice]) -> Vec<SwapSignature> {
    let is_swap = |device: &&BlockDevice| device.contents.value().is_some_and(|kind| kind == "swap");
    let signature = |device: &BlockDevice| SwapSignature {
        path: format!("/dev/{}", device.name.replace('!', "/")),
        uuid: device.uuid.clone(),
        label: device.label.clone(),
    };
    devices.iter().filter(is_swap).map(signature).collect()
}

fn area(machine: &Machine, line: SwapLine, devices: &[BlockDevice], mounts: &[MountLine]) -> SwapArea {
    let (device, filesystem) = match line.kind {
        SwapKind::Partition => {
            let none = || Fact::absent(format!("{}: no such file", line.path));
            let device = block::kernel_name(machine, &line.path).map_or_else(none, |name| Fact::known(name, "/proc/swaps"));
            (device, Fact::absent("a block device holds no file system while it is swap"))
        }
        SwapKind::File => match mountinfo::holding(mounts, &line.path) {
            Some(mount) => (
                mounts::device_of(machine, mount, devices),
                Fact::known(mount.filesystem.clone(), format!("/proc/self/mountinfo: {}", mount.at)),
            ),
            None => (
                Fact::absent(format!("/proc/self/mountinfo: no mount above {}", line.path)),
                Fact::absent(format!("/proc/self/mountinfo: no mount above {}", line.path)),
            ),
        },
    };
    SwapArea {
        uuid: uuid(&line, &device, devices),
        encryption: encryption(&line.path, &device, devices),
        path: line.path,
        kind: line.kind,
        size: line.size,
        used: line.used,
        priority: line.priority,
        device,
        filesystem,
    }
}

fn uuid(line: &SwapLine, device: &Fact<String>, devices: &[BlockDevice]) -> Fact<String> {
    if line.kind == SwapKind::File {
        return Fact::absent("a swap file is named by its path");
    }
    let Some(found) = device.value().and_then(|name| devices.iter().find(|device| device.name == *name)) else {
        return Fact::absent(format!("{}: not among the block devices", line.path));
    };
    match &found.uuid {
        Some(uuid) => Fact::known(uuid.clone(), found.contents.source()),
        None => Fact::absent(format!("{}: no UUID known", found.contents.source())),
    }
}

/// Looks for dm-crypt under the area.
fn encryption(path: &str, device: &Fact<String>, devices: &[BlockDevice]) -> Fact<Encryption> {
    if path.starts_with("/dev/zram") {
        return Fact::absent("zram is RAM: nothing reaches a disk");
    }
    let Some(name) = device.value() else { return Fact::absent(device.source()) };
    let mapping = encrypting(devices, name);
    if let Some((mapping, how)) = mapping.and_then(|mapping| Some((mapping, mapping.dm_crypt()?))) {
        return Fact::known(how, format!("/sys/class/block/{}/dm/uuid", mapping.name));
    }
    if devices.iter().any(|device| device.name == *name) {
        return Fact::known(Encryption::None, format!("/sys/class/block/{name}: no dm-crypt below it"));
    }
    Fact::absent(format!("/sys/class/block/{name}: no such file"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_volume_that_is_plain_in_part_is_plain() {
        let device = |name: &str, lies_on: &[&str], dm_uuid: Option<&str>| BlockDevice {
            name: name.into(),
            lies_on: lies_on.iter().map(|name| (*name).to_owned()).collect(),
            dm_uuid: dm_uuid.map(str::to_owned),
            ..BlockDevice::default()
        };
        let devices = [
            device("sda2", &[], None),
            device("sdb2", &[], None),
            device("dm-0", &["sda2"], Some("CRYPT-LUKS2-x")),
            device("dm-1", &["dm-0"], Some("LVM-swap")),
            device("dm-2", &["dm-0", "sdb2"], Some("LVM-swap")),
        ];
        let how = |name: &str| encryption("/dev/vg/swap", &Fact::known(name.into(), "/proc/swaps"), &devices);
        assert_eq!(how("dm-1"), Fact::known(Encryption::Luks { version: 2 }, "/sys/class/block/dm-0/dm/uuid"));
        assert_eq!(how("dm-2").value(), Some(&Encryption::None));
    }
}
