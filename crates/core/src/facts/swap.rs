//! Swap areas, zswap, zram, page compressors.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use super::moved::MovedSetting;
use crate::fact::Fact;
use crate::units::Bytes;

/// Block device or file.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum SwapKind {
    /// A block device.
    Partition,
    /// A file.
    File,
}

/// How the contents of an area are encrypted.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase", tag = "how")]
pub enum Encryption {
    /// A LUKS volume: the key survives a reboot.
    Luks {
        /// LUKS format version.
        version: u8,
    },
    /// Plain dm-crypt, usually with a key that is random at each boot.
    Plain,
    /// Not encrypted.
    None,
}

/// One active swap area.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct SwapArea {
    /// Path as `/proc/swaps` shows it, escapes resolved.
    pub path: String,
    /// Block device or file.
    pub kind: SwapKind,
    /// Usable size.
    pub size: Bytes,
    /// Slots in use, in bytes: includes pages that are only in zswap.
    pub used: Bytes,
    /// Priority; negative when none was chosen.
    pub priority: i32,
    /// Kernel name of the block device that holds it (`vda3`; for a file, that of its file system).
    pub device: Fact<String>,
    /// UUID in the swap header, from udev's database or by-uuid links.
    pub uuid: Fact<String>,
    /// Encryption at rest.
    pub encryption: Fact<Encryption>,
    /// For a file: type of its file system.
    pub filesystem: Fact<String>,
}

impl SwapArea {
    /// True for `/dev/zramN`.
    #[must_use]
    pub fn is_zram(&self) -> bool {
        self.path.starts_with("/dev/zram")
    }
}

/// A device with a swap signature, whether it is on or not.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct SwapSignature {
    /// Device path (`/dev/vda3`).
    pub path: String,
    /// UUID in the header, if any.
    pub uuid: Option<String>,
    /// Label in the header, if any.
    pub label: Option<String>,
}

/// What lies at a place that a configuration names for swap and that is not on: a device, or a file that exists already.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct SwapPlace {
    /// The place as the configuration names it.
    pub path: String,
    /// Size of the device or file.
    pub size: Bytes,
    /// What its bytes say; absent when they may not be read.
    pub holds: Fact<Holds>,
}

/// What the bytes of a device or file say.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", tag = "what")]
pub enum Holds {
    /// A swap header that this kernel takes.
    Swap {
        /// UUID in the header.
        uuid: String,
        /// Label in the header.
        label: String,
    },
    /// Something else that has a name.
    Other {
        /// blkid's name, where it has one.
        kind: String,
    },
    /// Nothing: zeros or ones wherever it was looked at.
    Blank,
    /// Bytes without a signature, which may be needed.
    Unknown,
}

/// zswap of a kernel that has it.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct ZswapFacts {
    /// `enabled`.
    pub enabled: bool,
    /// Every parameter that this kernel has, by name, as read.
    pub parameters: BTreeMap<String, String>,
    /// debugfs counters: bytes for `pool_total_size`, pages or events for the rest.
    pub counters: Fact<BTreeMap<String, u64>>,
    /// What the kernel said it loaded: the last `zswap: loaded using pool …` line (`zstd/zsmalloc`, `lzo`).
    pub loaded: Fact<String>,
    /// Complaints of the kernel about a compressor or zpool that it could not get.
    pub complaints: Vec<String>,
    /// Parameters that the daemon has moved for as long as it runs.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub moved: Vec<MovedSetting>,
}

impl ZswapFacts {
    /// One parameter.
    #[must_use]
    pub fn parameter(&self, name: &str) -> Option<&str> {
        self.parameters.get(name).map(String::as_str)
    }

    /// One parameter as it is configured: what the daemon has moved is as it was before.
    #[must_use]
    pub fn configured(&self, name: &str) -> Option<&str> {
        let live = self.parameter(name)?;
        let is_it = |moved: &&MovedSetting| moved.name.strip_prefix("zswap.") == Some(name) && moved.now == live.trim();
        Some(self.moved.iter().find(is_it).map_or(live, |moved| moved.before.as_str()))
    }
}

/// zram as a driver and its devices.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct ZramFacts {
    /// Whether the driver is there: built in, loaded, loadable as a module, absent.
    pub driver: Fact<Availability>,
    /// Devices below `/sys/block`, set up or not.
    pub devices: Vec<ZramDevice>,
    /// The daemon runs, which writes idle pages back.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub kept: bool,
}

/// One zram device.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct ZramDevice {
    /// `zram0`.
    pub name: String,
    /// Uncompressed capacity; zero when not initialised.
    pub disksize: Bytes,
    /// Compressor in brackets.
    pub algorithm: Fact<String>,
    /// All compressors that the device offers.
    pub algorithms: Vec<String>,
    /// mm_stat.
    pub mm_stat: Fact<ZramMmStat>,
    /// Backing device; absent without `CONFIG_ZRAM_WRITEBACK`, `none` when not set.
    pub backing_dev: Fact<String>,
    /// Secondary compressors in the order of their priority; absent without `CONFIG_ZRAM_MULTI_COMP`.
    #[serde(default)]
    pub recomp_algorithm: Fact<Vec<String>>,
    /// What was written to the backing device since the device was set up (bd_stat).
    #[serde(default)]
    pub written_back: Fact<Bytes>,
}

/// `/sys/block/zramN/mm_stat` (Documentation/admin-guide/blockdev/zram.rst).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct ZramMmStat {
    /// Uncompressed size of what is stored.
    pub orig_data_size: Bytes,
    /// Compressed size.
    pub compr_data_size: Bytes,
    /// RAM taken, with allocator overhead.
    pub mem_used_total: Bytes,
    /// Limit on RAM, 0 = none.
    pub mem_limit: Bytes,
    /// Highest RAM taken.
    pub mem_used_max: Bytes,
    /// Same-filled pages, which take no RAM.
    pub same_pages: u64,
    /// Pages freed by compaction.
    pub pages_compacted: u64,
    /// Incompressible pages now.
    pub huge_pages: u64,
    /// Incompressible pages since the device was set up; absent in 5.10.
    pub huge_pages_since: Option<u64>,
}

/// Where a compressor (or driver) is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Availability {
    /// Built into the kernel: usable at boot.
    BuiltIn,
    /// A module that is loaded now: usable now, at boot only from the initramfs.
    Loaded,
    /// A module that can be loaded.
    Module,
    /// Not in this kernel.
    Absent,
}

impl Availability {
    /// True when it can be used now or after loading a module.
    #[must_use]
    pub fn usable(self) -> bool {
        self != Self::Absent
    }
}

/// One page compressor of the crypto API.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Compressor {
    /// Crypto API name: `lzo`, `lzo-rle`, `lz4`, `lz4hc`, `zstd`, `deflate`, `842`.
    pub name: String,
    /// Where it is.
    pub availability: Availability,
    /// What said so.
    pub source: String,
}
