//! Mounted file systems that could hold a swap file.

use swaptune_core::Fact;
use swaptune_core::facts::{BlockDevice, Mount};
use swaptune_core::parse::mountinfo::{self, MountLine};

use super::block;
use crate::machine::Machine;

/// File systems on block devices; others (tmpfs, overlay, nfs, zfs) cannot hold a swap file.
const ON_BLOCK_DEVICES: [&str; 8] = ["ext4", "ext3", "ext2", "xfs", "btrfs", "f2fs", "bcachefs", "vfat"];

pub(super) fn lines(machine: &Machine) -> Vec<MountLine> {
    mountinfo::parse(&machine.read_text("/proc/self/mountinfo").unwrap_or_default())
}

pub(super) fn inspect(machine: &Machine, lines: &[MountLine], devices: &[BlockDevice]) -> Vec<Mount> {
    lines
        .iter()
        .filter(|line| line.at == "/" || ON_BLOCK_DEVICES.contains(&line.filesystem.as_str()))
        .map(|line| mount(machine, line, devices))
        .collect()
}

/// The kernel name of the device behind a mount: by its number, or by its source where the number is anonymous (btrfs).
pub(super) fn device_of(machine: &Machine, line: &MountLine, devices: &[BlockDevice]) -> Fact<String> {
    let (major, minor) = line.device;
    if major != 0 {
        let link = format!("/sys/dev/block/{major}:{minor}");
        return match machine.link(&link) {
            Ok(target) => Fact::known(target.rsplit('/').next().unwrap_or_default().to_owned(), link),
            Err(error) => by_source(machine, line, devices).unwrap_or_else(|| error.absent()),
        };
    }
    let none = || Fact::absent(format!("/proc/self/mountinfo: {} lies on no block device", line.at));
    by_source(machine, line, devices).unwrap_or_else(none)
}

fn by_source(machine: &Machine, line: &MountLine, devices: &[BlockDevice]) -> Option<Fact<String>> {
    let name = block::kernel_name(machine, &line.source)?;
    let known = devices.iter().any(|device| device.name == name);
    known.then(|| Fact::known(name, format!("/proc/self/mountinfo: {}", line.source)))
}

fn mount(machine: &Machine, line: &MountLine, devices: &[BlockDevice]) -> Mount {
    let (free, total) = match machine.space(&line.at) {
        Ok(space) => (Fact::known(space.free, "statvfs"), Fact::known(space.total, "statvfs")),
        Err(error) => (error.clone().absent(), error.absent()),
    };
    Mount {
        at: line.at.clone(),
        filesystem: line.filesystem.clone(),
        source: line.source.clone(),
        device: device_of(machine, line, devices),
        free,
        total,
        read_only: line.read_only(),
    }
}
