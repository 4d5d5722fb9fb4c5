//! What a plan records is what the boot service and `verify` read: whatever a machine is, they can.
#![allow(clippy::unwrap_used, reason = "helpers of tests may panic")]

use proptest::prelude::*;
use swaptune_core::facts::{
    Availability, BlockDevice, Compressor, Encryption, InitSystem, Mount, SwapArea, SwapKind, Transport, ZramDevice, ZswapFacts,
};
use swaptune_core::measurement::Evidence;
use swaptune_core::settings::{Settings, read_toml, to_toml};
use swaptune_core::{Bytes, Fact, Facts, profiles};
use swaptune_kernel::v;

const SOURCE: &str = "test";

/// A number as swapon(2) takes it, or one of the kernel's own.
fn priority() -> impl Strategy<Value = i32> {
    prop_oneof![-5..=-1, 0..=200, 32760..=32767]
}

/// Places of areas: disks with heads and without, a file, mappings, zram.
const PLACES: [&str; 6] = ["/dev/sda2", "/dev/sdb", "/dev/vda3", "/dev/dm-0", "/var/swap file", "/dev/zram0"];

fn swaps() -> impl Strategy<Value = Vec<SwapArea>> {
    let places = proptest::sample::subsequence(PLACES.to_vec(), 0..=PLACES.len());
    places.prop_flat_map(|places| places.into_iter().map(swap).collect::<Vec<_>>())
}

fn swap(path: &'static str) -> impl Strategy<Value = SwapArea> {
    (priority(), 10u64..1 << 24, 0u64..3).prop_map(move |(priority, pages, encrypted)| SwapArea {
        path: path.into(),
        kind: if path.starts_with("/dev/") { SwapKind::Partition } else { SwapKind::File },
        size: Bytes(pages * 4096),
        used: Bytes(0),
        priority,
        device: Fact::known(path.strip_prefix("/dev/").unwrap_or("vda2").into(), SOURCE),
        uuid: Fact::absent(SOURCE),
        encryption: match encrypted {
            0 => Fact::absent(SOURCE),
            1 => Fact::known(Encryption::Plain, SOURCE),
            _ => Fact::known(Encryption::None, SOURCE),
        },
        filesystem: Fact::absent(SOURCE),
    })
}

fn disks() -> Vec<BlockDevice> {
    let disk = |name: &str, transport, spins: bool| BlockDevice {
        name: name.into(),
        size: Bytes::from_gib(8),
        transport,
        rotational: Fact::known(spins, SOURCE),
        uuid: Some(format!("{name}-uuid")),
        ..BlockDevice::default()
    };
    let part = |name: &str, of: &BlockDevice| BlockDevice {
        name: name.into(),
        parent: Some(of.name.clone()),
        partuuid: Some(format!("{name}-part")),
        ..of.clone()
    };
    let (sda, vda) = (disk("sda", Transport::Scsi, true), disk("vda", Transport::Virtual, true));
    let dm =
        BlockDevice { dm_name: Some("crypt \"swap\"".into()), lies_on: vec!["sdb".into()], ..disk("dm-0", Transport::Dm, false) };
    vec![part("sda2", &sda), part("vda2", &vda), part("vda3", &vda), disk("sdb", Transport::Scsi, false), dm, sda, vda]
}

prop_compose! {
    fn machines()(
        swaps in swaps(),
        ram in prop_oneof![Just(0u64), 1u64 << 22..1 << 26, 1u64 << 26..1 << 40],
        minor in 0u16..20,
        zswap in any::<bool>(),
        zram in any::<bool>(),
        systemd in any::<bool>(),
        filesystem in prop_oneof![Just("ext4"), Just("btrfs"), Just("squashfs")],
        free in 0u64..1 << 40,
        optional in proptest::sample::subsequence(PLACES.to_vec(), 0..=PLACES.len()),
        device in 0u64..1 << 40,
    ) -> Facts {
        let mut facts = Facts::default();
        facts.kernel.version = Fact::known(v(6, minor), SOURCE);
        facts.kernel.page_size = Bytes(4096);
        facts.memory.meminfo = Fact::known([("MemTotal".to_owned(), Bytes(ram))].into(), SOURCE);
        facts.system.init = if systemd { Fact::known(InitSystem::Systemd, SOURCE) } else { Fact::absent(SOURCE) };
        if zswap {
            let parameters = ["enabled", "compressor", "zpool", "max_pool_percent", "shrinker_enabled"];
            let parameters = parameters.map(|name| (name.to_owned(), "N".to_owned())).into();
            facts.zswap = Fact::known(ZswapFacts { parameters, ..ZswapFacts::default() }, SOURCE);
        }
        if zram {
            facts.zram.driver = Fact::known(Availability::Module, SOURCE);
        }
        facts.zram.devices = vec![ZramDevice { name: "zram0".into(), disksize: Bytes(device), ..ZramDevice::default() }];
        facts.compressors = ["zstd", "lz4"].map(|name| Compressor {
            name: name.into(),
            availability: Availability::BuiltIn,
            source: SOURCE.into(),
        }).to_vec();
        facts.block_devices = disks();
        facts.mounts = vec![Mount {
            at: "/".into(),
            filesystem: filesystem.into(),
            device: Fact::known("vda2".into(), SOURCE),
            free: Fact::known(Bytes(free), SOURCE),
            ..Mount::default()
        }];
        let line = |path: &str| format!("{} none swap nofail,x-systemd.device-timeout=5s 0 0\n", path.replace(' ', "\\040"));
        let fstab: String = optional.into_iter().map(line).collect();
        facts.files.insert("/etc/fstab".into(), Fact::known(fstab, SOURCE));
        facts.swaps = swaps;
        facts
    }
}

proptest! {
    #[test]
    fn what_is_recorded_can_be_read_back(facts in machines(), profile in prop_oneof![Just("auto"), Just("idle-guide")]) {
        let asked = read_toml("c.toml", &format!("profile = \"{profile}\"\n"), None).unwrap();
        let settings = profiles::resolve(vec![asked], &facts, &Evidence::default(), None).unwrap();
        let text = to_toml(&settings);
        let again = read_toml("applied.toml", &text, None).map_err(|error| TestCaseError::fail(format!("{error}\n{text}")))?;
        let devices = |settings: &Settings| settings.zram.as_ref().map(|list| list.value.clone());
        let areas = |settings: &Settings| settings.swap.clone().map(|list| list.value).unwrap_or_default();
        prop_assert_eq!(devices(&again), devices(&settings));
        prop_assert_eq!(areas(&again), areas(&settings));
        prop_assert_eq!(again.knobs.len(), settings.knobs.len());
    }
}
