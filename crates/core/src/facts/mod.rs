//! Facts: what this machine is.
//!
//! One struct per part of the machine, every field either a [`Fact`] (known with its source, or absent with its
//! reason) or a list that is empty when there is nothing. The host room fills them; rules only read them.

mod boot;
mod counted;
mod image;
mod memory;
mod moved;
mod names;
mod residents;
mod storage;
mod swap;
mod system;

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

pub use boot::{BootFacts, BootLoader, InitramfsFacts, InitramfsTool, KernelArgStore};
pub use counted::CountersSinceBoot;
pub use image::ImageFacts;
pub use memory::{MemoryFacts, Pressure, ThpFacts};
pub use moved::{DAEMON_STATUS, MovedSetting, moved};
pub use names::is_place;
pub use residents::{Kubelet, Resident};
pub use storage::{BlockDevice, Mount, Transport};
pub use swap::{
    Availability, Compressor, Encryption, Holds, SwapArea, SwapKind, SwapPlace, SwapSignature, ZramDevice, ZramFacts, ZramMmStat,
    ZswapFacts,
};
pub use system::{Container, InitSystem, KernelFacts, KernelLogLine, KnobWriter, Manager, SysctlSource, SystemFacts, WriterKind};

use crate::fact::Fact;
use crate::knobs::Knob;
use swaptune_kernel::behaviours;

/// Managers whose business is zram, by their names in the manager table.
pub const MANAGERS_OF_ZRAM: &[&str] = &[
    "zram-generator",
    "zram-tools",
    "zram-config",
    "zram-swap",
    "zram-init",
    "armbian-zram-config",
    "zramd",
    "zramen",
    "pop-zram",
    "rpi-swap",
    "systemd-swap",
];

/// Version of the JSON form of [`Facts`]; raised when a field changes its meaning.
pub const SCHEMA: u32 = 1;

/// Everything that is known about one machine at one moment.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Facts {
    /// Version of this structure.
    pub schema: u32,
    /// Kernel release, build configuration, command line, log.
    pub kernel: KernelFacts,
    /// Init system, container, virtual machine, cgroups, other managers.
    pub system: SystemFacts,
    /// RAM, reclaim counters, pressure, huge pages.
    pub memory: MemoryFacts,
    /// Active swap areas, as `/proc/swaps` has them.
    pub swaps: Vec<SwapArea>,
    /// Partitions and files that carry a swap signature, active or not.
    pub swap_signatures: Vec<SwapSignature>,
    /// What lies where the configuration wants swap that is not on; filled in when the configuration is known.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub swap_places: Vec<SwapPlace>,
    /// zswap.
    pub zswap: Fact<ZswapFacts>,
    /// zram.
    pub zram: ZramFacts,
    /// Page compressors that the kernel's crypto API has, can load, or lacks.
    pub compressors: Vec<Compressor>,
    /// Block devices with what matters for swap.
    pub block_devices: Vec<BlockDevice>,
    /// Mounted file systems that could hold a swap file, and `/` in any case.
    pub mounts: Vec<Mount>,
    /// Boot loader and kernel arguments.
    pub boot: BootFacts,
    /// Initramfs tool and contents.
    pub initramfs: InitramfsFacts,
    /// Every knob of the table that exists here, by name.
    pub knobs: BTreeMap<String, Fact<String>>,
    /// For each sysctl of the knob table: the files that set it, in the order in which they are read (last wins).
    pub sysctl_sources: BTreeMap<String, Vec<SysctlSource>>,
    /// Texts of configuration files that a plan may edit, by path.
    pub files: BTreeMap<String, Fact<String>>,
    /// Set for the tree of a machine that does not run.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub image: Option<ImageFacts>,
}

impl Facts {
    /// The live value of a knob, if this kernel has it.
    #[must_use]
    pub fn knob(&self, name: &str) -> Option<&str> {
        self.knobs.get(name).and_then(Fact::value).map(String::as_str)
    }

    /// Whether the kernel has this knob: it shows it, or, in an image, its version has it.
    #[must_use]
    pub fn has_knob(&self, knob: &Knob) -> bool {
        let version = self.kernel.version.value().filter(|_| self.image.is_some());
        self.knob(knob.name).is_some() || version.is_some_and(|version| knob.why_absent(*version).is_none())
    }

    /// Whether zswap's shrinker learns how much there is to shrink: it asks memory cgroups, and the memory controller of version 1
    /// does not count what zswap holds (`zswap_shrinker_count` in mm/zswap.c, `obj_cgroup_charge_zswap` in mm/memcontrol.c).
    #[must_use]
    pub fn zswap_shrinker_counts(&self) -> bool {
        self.system.cgroup_version.value() != Some(&1) || self.system.memory_controller.value() == Some(&false)
    }

    /// Whether what read-ahead brings out of zswap stays in RAM until it is used. See
    /// [`behaviours::READ_AHEAD_STAYS`].
    #[must_use]
    pub fn zswap_read_ahead_stays(&self) -> bool {
        self.kernel.does(&behaviours::READ_AHEAD_STAYS) == Some(true)
    }

    /// The text of a configuration file; `None` when it does not exist or cannot be read.
    #[must_use]
    pub fn file(&self, path: &str) -> Option<&str> {
        self.files.get(path).and_then(Fact::value).map(String::as_str)
    }

    /// The block device with this kernel name (`vda3`).
    #[must_use]
    pub fn block_device(&self, name: &str) -> Option<&BlockDevice> {
        self.block_devices.iter().find(|device| device.name == name)
    }

    /// The whole disk behind a device: itself, or the disk of a partition, or what a mapping lies on.
    #[must_use]
    pub fn disk_of(&self, name: &str) -> Option<&BlockDevice> {
        let mut device = self.block_device(name)?;
        // A mapping may lie on a mapping; a chain longer than this is not a swap device but a loop.
        for _ in 0..8 {
            let below = device.parent.as_deref().or_else(|| device.lies_on.first().map(String::as_str));
            match below.and_then(|name| self.block_device(name)) {
                Some(next) => device = next,
                None => break,
            }
        }
        Some(device)
    }

    /// Whether any disk below a device spins; `None` where that is not known of one of them and none spins.
    #[must_use]
    pub fn spins_below(&self, name: &str) -> Option<bool> {
        let disk = |disk: &String| self.block_device(disk).filter(|disk| disk.rotational.is_known()).map(BlockDevice::spins);
        let disks: Vec<Option<bool>> = self.disks_below(name).iter().map(disk).collect();
        match disks.contains(&Some(true)) {
            true => Some(true),
            false => disks.into_iter().collect::<Option<Vec<bool>>>().map(|_| false),
        }
    }

    /// The disk below all swap areas but zram, or below `/` where there are none; `None` where that is several, or not known.
    #[must_use]
    pub fn swap_disk(&self) -> Option<String> {
        let areas: Vec<&SwapArea> = self.swaps.iter().filter(|area| !area.is_zram()).collect();
        let root = || self.mounts.iter().rfind(|mount| mount.at == "/").map(|mount| &mount.device);
        let devices =
            if areas.is_empty() { root().into_iter().collect() } else { areas.iter().map(|area| &area.device).collect() };
        let devices: Vec<&Fact<String>> = devices;
        let known: Option<Vec<&String>> = devices.into_iter().map(Fact::value).collect();
        let mut disks: Vec<String> = known?.into_iter().flat_map(|name| self.disks_below(name)).collect();
        disks.sort_unstable();
        disks.dedup();
        disks.pop().filter(|_| disks.is_empty())
    }

    /// The names of all whole disks below a device, sorted: more than one for an array or a volume that spans disks.
    #[must_use]
    pub fn disks_below(&self, name: &str) -> Vec<String> {
        let mut disks = Vec::new();
        let mut todo = vec![(name.to_owned(), 0)];
        while let Some((name, depth)) = todo.pop() {
            let below: Vec<&String> =
                self.block_device(&name).map_or_else(Vec::new, |device| device.parent.iter().chain(&device.lies_on).collect());
            // As in `disk_of`: a longer chain is a loop.
            if below.is_empty() || depth >= 8 {
                disks.push(name);
            } else {
                todo.extend(below.into_iter().map(|below| (below.clone(), depth + 1)));
            }
        }
        disks.sort_unstable();
        disks.dedup();
        disks
    }

    /// True when whatever is written to a device is encrypted before it reaches a disk (dm-crypt).
    #[must_use]
    pub fn encrypts(&self, name: &str) -> bool {
        encrypting(&self.block_devices, name).is_some()
    }

    /// Other managers whose business is zram.
    pub fn managers_of_zram(&self) -> impl Iterator<Item = &Manager> {
        self.system.managers.iter().filter(|manager| MANAGERS_OF_ZRAM.contains(&manager.name.as_str()))
    }

    /// The first compressor of a list that this kernel has or can load.
    #[must_use]
    pub fn first_usable(&self, names: &[String]) -> Option<String> {
        let usable = |name: &&String| self.compressors.iter().any(|c| c.name == **name && c.availability.usable());
        names.iter().find(usable).cloned()
    }

    /// True when a zram device of this kernel can use a compressor. A device says what it has. Before there is one: since 6.12 zram has what it was
    /// built with, and before that, or where the configuration of the build is not known, what the crypto API has.
    #[must_use]
    pub fn zram_offers(&self, name: &str) -> bool {
        let mut lists = self.zram.devices.iter().map(|device| &device.algorithms).filter(|list| !list.is_empty()).peekable();
        if lists.peek().is_some() {
            return lists.all(|list| list.iter().any(|offered| offered == name));
        }
        match self.kernel.config.value().filter(|_| self.kernel.does(&behaviours::ZRAM_OWN_CODECS) == Some(true)) {
            Some(config) => config.get(&zram_backend(name)).is_some_and(|value| value == "y"),
            None => self.first_usable(&[name.to_owned()]).is_some(),
        }
    }

    /// All that zram of this kernel offers.
    #[must_use]
    pub fn zram_algorithms(&self) -> Vec<String> {
        match self.zram.devices.iter().find(|device| !device.algorithms.is_empty()) {
            Some(device) => device.algorithms.clone(),
            None => ZRAM_ALGORITHMS.iter().filter(|name| self.zram_offers(name)).map(|name| (*name).to_owned()).collect(),
        }
    }

    /// The first compressor of a list that zram of this kernel offers.
    #[must_use]
    pub fn first_of_zram(&self, names: &[String]) -> Option<String> {
        names.iter().find(|name| self.zram_offers(name)).cloned()
    }

    /// True when zswap is built in and on.
    #[must_use]
    pub fn zswap_is_on(&self) -> bool {
        self.zswap.value().is_some_and(|zswap| zswap.enabled)
    }
}

/// What zram can be built with (drivers/block/zram/Kconfig).
const ZRAM_ALGORITHMS: [&str; 7] = ["lzo", "lzo-rle", "lz4", "lz4hc", "zstd", "deflate", "842"];

/// The option that builds a compressor into zram; both forms of lzo have the same.
fn zram_backend(name: &str) -> String {
    let backend = if name == "lzo-rle" { "lzo" } else { name };
    format!("CONFIG_ZRAM_BACKEND_{}", backend.to_ascii_uppercase())
}

/// The mapping of dm-crypt that whatever is written to a device goes through, the first where there are several; `None` when any of
/// it reaches a disk as it is.
#[must_use]
pub fn encrypting<'a>(devices: &'a [BlockDevice], name: &str) -> Option<&'a BlockDevice> {
    encrypting_within(devices, name, 8)
}

/// As in `disk_of`: a chain with more links is a loop.
fn encrypting_within<'a>(devices: &'a [BlockDevice], name: &str, links: u32) -> Option<&'a BlockDevice> {
    let device = devices.iter().find(|device| device.name == name).filter(|_| links > 0)?;
    if device.dm_crypt().is_some() {
        return Some(device);
    }
    let mut below = device.parent.iter().chain(&device.lies_on).map(|name| encrypting_within(devices, name, links - 1));
    let first = below.next()??;
    below.all(|found| found.is_some()).then_some(first)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_volume_lies_on_decides_whether_it_is_encrypted() {
        let device = |name: &str, lies_on: &[&str], dm_uuid: Option<&str>| BlockDevice {
            name: name.into(),
            lies_on: lies_on.iter().map(|name| (*name).to_owned()).collect(),
            dm_uuid: dm_uuid.map(str::to_owned),
            ..BlockDevice::default()
        };
        let block_devices = vec![
            device("sda", &[], None),
            device("sdb", &[], None),
            device("dm-0", &["sda"], Some("CRYPT-LUKS2-x")),
            device("dm-1", &["dm-0"], Some("LVM-root")),
            device("dm-2", &["dm-0", "sdb"], Some("LVM-both")),
            device("dm-3", &["dm-3"], Some("LVM-loop")),
        ];
        let facts = Facts { block_devices, ..Facts::default() };
        let all = ["sda", "dm-0", "dm-1", "dm-2", "dm-3", "none"].map(|name| facts.encrypts(name));
        assert_eq!(all, [false, true, true, false, false, false]);
        assert_eq!(encrypting(&facts.block_devices, "dm-1").map(|device| device.name.as_str()), Some("dm-0"));
    }

    #[test]
    fn what_zram_offers_before_there_is_a_device() {
        let mut facts = Facts::default();
        let crypto = |name: &str| Compressor { name: name.into(), availability: Availability::BuiltIn, source: "t".into() };
        facts.compressors = ["lzo", "lzo-rle", "zstd"].map(crypto).to_vec();
        let config = "CONFIG_ZRAM_BACKEND_LZ4=y\nCONFIG_ZRAM_BACKEND_ZSTD=y\n# CONFIG_ZRAM_BACKEND_LZO is not set\n";
        facts.kernel.config = Fact::known(crate::parse::kconfig::parse(config), "t");
        let offers = |facts: &Facts| facts.zram_algorithms().join(" ");
        facts.kernel.version = Fact::known(swaptune_kernel::v(6, 11), "t");
        assert_eq!(offers(&facts), "lzo lzo-rle zstd", "it asks the crypto API");
        facts.kernel.version = Fact::known(swaptune_kernel::v(6, 12), "t");
        assert_eq!(offers(&facts), "lz4 zstd", "it has its own");
        assert_eq!(facts.first_of_zram(&["lzo-rle".into(), "zstd".into()]).as_deref(), Some("zstd"));
        facts.kernel.config = Fact::known(crate::parse::kconfig::parse("CONFIG_ZRAM_BACKEND_LZO=y\n"), "t");
        assert_eq!(offers(&facts), "lzo lzo-rle", "one option for both");
        facts.zram.devices = vec![ZramDevice { algorithms: vec!["842".into()], ..ZramDevice::default() }];
        assert_eq!(offers(&facts), "842", "a device knows best");
    }

    #[test]
    fn disks_below_partitions_mappings_and_arrays() {
        let device = |name: &str, parent: Option<&str>, lies_on: &[&str]| BlockDevice {
            name: name.into(),
            parent: parent.map(str::to_owned),
            lies_on: lies_on.iter().map(|name| (*name).to_owned()).collect(),
            ..BlockDevice::default()
        };
        let block_devices = vec![
            device("sda", None, &[]),
            device("sda2", Some("sda"), &[]),
            device("sdb", None, &[]),
            device("md0", None, &["sda2", "sdb"]),
            device("dm-0", None, &["md0"]),
            device("dm-1", None, &["dm-1"]),
        ];
        let facts = Facts { block_devices, ..Facts::default() };
        for (name, expect) in
            [("sda", &["sda"][..]), ("sda2", &["sda"]), ("dm-0", &["sda", "sdb"]), ("dm-1", &["dm-1"]), ("none", &["none"])]
        {
            assert_eq!(facts.disks_below(name), expect, "{name}");
        }
    }
}
