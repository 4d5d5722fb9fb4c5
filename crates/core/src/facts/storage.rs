//! Block devices and file systems, as far as swap cares.

use serde::{Deserialize, Serialize};

use crate::fact::Fact;
use crate::units::Bytes;

/// How a disk is attached; decides what a page-in costs.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Transport {
    /// NVMe.
    Nvme,
    /// SATA, SAS or another SCSI disk.
    Scsi,
    /// virtio-blk, virtio-scsi, Xen, Hyper-V: a disk of the hypervisor.
    Virtual,
    /// SD card or eMMC.
    Mmc,
    /// USB.
    Usb,
    /// Device mapper (LUKS, LVM).
    Dm,
    /// Software RAID.
    Md,
    /// A loop device.
    Loop,
    /// zram.
    Zram,
    /// None of these.
    #[default]
    Other,
}

/// One block device: a disk, a partition or a mapping.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct BlockDevice {
    /// Kernel name (`vda`, `nvme0n1p2`, `dm-0`).
    pub name: String,
    /// Capacity, bytes.
    pub size: Bytes,
    /// How it is attached; for a partition, that of its disk.
    pub transport: Transport,
    /// `queue/rotational` of its disk.
    pub rotational: Fact<bool>,
    /// Whether discard is possible (`queue/discard_max_bytes` > 0).
    pub discard: Fact<bool>,
    /// For a partition: the name of its disk.
    pub parent: Option<String>,
    /// For a mapping: the devices that it lies on (`slaves/`).
    pub lies_on: Vec<String>,
    /// Device-mapper UUID (`CRYPT-LUKS2-…`), for a mapping.
    pub dm_uuid: Option<String>,
    /// Device-mapper name (`cryptswap`), for a mapping.
    pub dm_name: Option<String>,
    /// What udev or the superblock says it holds (`ext4`, `swap`, `crypto_LUKS`).
    pub contents: Fact<String>,
    /// File-system or swap UUID.
    pub uuid: Option<String>,
    /// Label of the file system or swap area on it.
    pub label: Option<String>,
    /// UUID of the partition, in the partition table.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub partuuid: Option<String>,
    /// Name of the partition, in the partition table.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub partlabel: Option<String>,
    /// Other names: links below `/dev` (`disk/by-id/…`), without that prefix, and links elsewhere that fstab or crypttab names.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub links: Vec<String>,
    /// Where it is mounted, if it is.
    pub mounted_at: Option<String>,
    /// True for removable media.
    pub removable: bool,
}

/// One mounted file system.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Mount {
    /// Mount point.
    pub at: String,
    /// File system type (`ext4`).
    pub filesystem: String,
    /// Source as in mountinfo (`/dev/vda2`).
    pub source: String,
    /// Kernel name of the block device (`vda2`), from its device number.
    pub device: Fact<String>,
    /// Free space, without the blocks that are kept for root: daemons of root need them when all else is full, and root in a container may
    /// not have them.
    pub free: Fact<Bytes>,
    /// Total space.
    pub total: Fact<Bytes>,
    /// True when mounted read-only.
    pub read_only: bool,
}
