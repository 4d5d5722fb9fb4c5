//! Whole trees, with the oddities of real machines.

use swaptune_core::Fact;
use swaptune_core::facts::{Availability, BootLoader, Encryption, InitSystem, SwapKind, Transport};

use super::*;
use crate::capture::capture;
use crate::testing::tree;

/// A Debian 12 laptop: LUKS with swap on LVM, a swap file with an odd name, zram, two RAID-less disks, no debugfs.
const LAPTOP: &[(&str, &str)] = &[
    (".swaptune/live.json", r#"{"root":false,"page_size":4096}"#),
    (
        ".swaptune/kernel-log",
        "[    0.500000] zswap: compressor zstd not available, using default lzo\n[    0.510000] zswap: loaded using pool lzo/zbud\n",
    ),
    (".swaptune/statvfs/%2f", r#"{"free":1000,"total":5000}"#),
    (
        ".swaptune/index.json",
        r#"{"failed":{"/sys/kernel/debug/zswap":{"path":"x","reason":"permission denied, try as root","missing":false}}}"#,
    ),
    ("proc/sys/kernel/osrelease", "6.1.0-50-amd64\n"),
    ("proc/cmdline", "BOOT_IMAGE=/vmlinuz root=/dev/mapper/vg-root ro quiet zswap.enabled=1 zswap.compressor=zstd\n"),
    ("proc/meminfo", "MemTotal: 8133044 kB\nZswap: 1024 kB\nZswapped: 4096 kB\n"),
    ("proc/vmstat", "pswpin 1\nzswpout 9\n"),
    ("proc/modules", "zram 45056 1 - Live 0x0\nlz4 16384 0 - Live 0x0\n"),
    (
        "proc/crypto",
        "name : lzo\ndriver : lzo-scomp\nmodule : kernel\ntype : scomp\n\nname : lz4\ndriver : lz4-scomp\nmodule : lz4\ntype : scomp\n\n",
    ),
    ("proc/1/comm", "systemd\n"),
    ("run/systemd/system/.keep", ""),
    ("proc/self/ns/pid", "-> pid:[4026531836]"),
    (
        "proc/self/mountinfo",
        "27 1 253:1 / / rw,relatime - ext4 /dev/mapper/vg-root rw\n28 27 0:40 /@home /home rw - btrfs /dev/nvme0n1p3 rw\n29 27 0:9 / /tmp rw - tmpfs tmpfs rw\n",
    ),
    (
        "proc/swaps",
        "Filename Type Size Used Priority\n/dev/dm-2 partition 1000 10 -2\n/home/my\\040swap\\012file file 2000 0 5\n/dev/zram0 partition 4000 40 100\n/dev/gone partition 1 0 1\n",
    ),
    ("lib/modules/6.1.0-50-amd64/modules.builtin", "kernel/crypto/lzo.ko\nkernel/crypto/lzo-rle.ko\n"),
    (
        "lib/modules/6.1.0-50-amd64/modules.dep",
        "kernel/crypto/zstd.ko: kernel/lib/zstd/zstd_compress.ko\nkernel/crypto/lz4.ko:\n",
    ),
    ("boot/config-6.1.0-50-amd64", "CONFIG_ZSWAP=y\nCONFIG_MODULES=y\nCONFIG_CRYPTO_LZ4HC=m\n# CONFIG_CRYPTO_842 is not set\n"),
    ("sys/class/block/dm-0", "-> ../../devices/virtual/block/dm-0"),
    ("sys/class/block/dm-1", "-> ../../devices/virtual/block/dm-1"),
    ("sys/class/block/dm-2", "-> ../../devices/virtual/block/dm-2"),
    ("sys/class/block/nvme0n1", "-> ../../devices/pci0000:00/nvme/nvme0/nvme0n1"),
    ("sys/class/block/nvme0n1p2", "-> ../../devices/pci0000:00/nvme/nvme0/nvme0n1/nvme0n1p2"),
    ("sys/class/block/nvme0n1p3", "-> ../../devices/pci0000:00/nvme/nvme0/nvme0n1/nvme0n1p3"),
    ("sys/class/block/sda", "-> ../../devices/pci0000:00/usb1/1-1/host6/target6:0:0/6:0:0:0/block/sda"),
    ("sys/class/block/sdb", "-> ../../devices/pci0000:00/ata1/host0/target0:0:0/0:0:0:0/block/sdb"),
    ("sys/class/block/zram0", "-> ../../devices/virtual/block/zram0"),
    ("sys/class/block/loop0/size", "0\n"),
    ("sys/block/zram0", "-> ../devices/virtual/block/zram0"),
    ("sys/dev/block/253:1", "-> ../../devices/virtual/block/dm-1"),
    ("sys/devices/virtual/block/dm-0/size", "2048\n"),
    ("sys/devices/virtual/block/dm-0/dev", "253:0\n"),
    ("sys/devices/virtual/block/dm-0/dm/uuid", "CRYPT-LUKS2-0123456789abcdef-luks\n"),
    ("sys/devices/virtual/block/dm-0/slaves/nvme0n1p2", "-> x"),
    ("sys/devices/virtual/block/dm-1/size", "1024\n"),
    ("sys/devices/virtual/block/dm-1/dev", "253:1\n"),
    ("sys/devices/virtual/block/dm-1/dm/uuid", "LVM-abc\n"),
    ("sys/devices/virtual/block/dm-1/dm/name", "vg-root\n"),
    ("sys/devices/virtual/block/dm-1/slaves/dm-0", "-> x"),
    ("sys/devices/virtual/block/dm-2/size", "1024\n"),
    ("sys/devices/virtual/block/dm-2/dev", "253:2\n"),
    ("sys/devices/virtual/block/dm-2/dm/uuid", "LVM-def\n"),
    ("sys/devices/virtual/block/dm-2/slaves/dm-0", "-> x"),
    ("sys/devices/pci0000:00/nvme/nvme0/nvme0n1/size", "9999\n"),
    ("sys/devices/pci0000:00/nvme/nvme0/nvme0n1/dev", "259:0\n"),
    ("sys/devices/pci0000:00/nvme/nvme0/nvme0n1/queue/rotational", "0\n"),
    ("sys/devices/pci0000:00/nvme/nvme0/nvme0n1/queue/discard_max_bytes", "2199023255040\n"),
    ("sys/devices/pci0000:00/nvme/nvme0/nvme0n1/nvme0n1p2/size", "2048\n"),
    ("sys/devices/pci0000:00/nvme/nvme0/nvme0n1/nvme0n1p2/dev", "259:2\n"),
    ("sys/devices/pci0000:00/nvme/nvme0/nvme0n1/nvme0n1p2/partition", "2\n"),
    ("sys/devices/pci0000:00/nvme/nvme0/nvme0n1/nvme0n1p3/size", "2048\n"),
    ("sys/devices/pci0000:00/nvme/nvme0/nvme0n1/nvme0n1p3/dev", "259:3\n"),
    ("sys/devices/pci0000:00/nvme/nvme0/nvme0n1/nvme0n1p3/partition", "3\n"),
    ("sys/devices/pci0000:00/usb1/1-1/host6/target6:0:0/6:0:0:0/block/sda/size", "64\n"),
    ("sys/devices/pci0000:00/usb1/1-1/host6/target6:0:0/6:0:0:0/block/sda/removable", "1\n"),
    ("sys/devices/pci0000:00/ata1/host0/target0:0:0/0:0:0:0/block/sdb/size", "64\n"),
    ("sys/devices/pci0000:00/ata1/host0/target0:0:0/0:0:0:0/block/sdb/device/vendor", "QEMU    \n"),
    ("sys/devices/virtual/block/zram0/size", "8192\n"),
    ("sys/devices/virtual/block/zram0/disksize", "4194304\n"),
    ("sys/devices/virtual/block/zram0/comp_algorithm", "lzo lzo-rle [lz4] zstd \n"),
    ("sys/devices/virtual/block/zram0/mm_stat", "1 2 3 4 5 6 7 8\n"),
    ("sys/class/zram-control/hot_add", ""),
    ("sys/module/zswap/parameters/enabled", "Y\n"),
    ("sys/module/zswap/parameters/compressor", "lzo\n"),
    ("sys/module/zswap/parameters/zpool", "zbud\n"),
    ("dev/mapper/vg-root", "-> ../dm-1"),
    ("run/udev/data/b253:2", "E:ID_FS_TYPE=swap\nE:ID_FS_UUID=1111-2222\nE:ID_FS_LABEL_ENC=my\\x20swap\n"),
    ("run/udev/data/b259:2", "E:ID_FS_TYPE=crypto_LUKS\n"),
    ("run/udev/data/b259:0", "E:ID_PART_TABLE_TYPE=gpt\n"),
    ("etc/default/grub", "GRUB_CMDLINE_LINUX_DEFAULT=\"quiet zswap.enabled=1\"\n"),
    ("usr/sbin/grub-mkconfig", "#!/bin/sh\n"),
    ("boot/grub/grub.cfg", "x"),
    ("boot/initrd.img-6.1.0-50-amd64", ""),
    (".swaptune/initramfs-modules", "lz4.ko\nliblzma\n"),
    ("proc/sys/vm/swappiness", "60\n"),
    ("sys/kernel/mm/transparent_hugepage/enabled", "always [madvise] never\n"),
    ("sys/kernel/mm/transparent_hugepage/defrag", "always defer defer+madvise [madvise] never\n"),
];

#[test]
fn a_device_has_all_its_names() {
    let dir = tree(&[
        ("sys/class/block/vda3/size", "2048\n"),
        ("sys/class/block/vda3/dev", "254:3\n"),
        ("sys/class/block/vdb/size", "2048\n"),
        ("sys/class/block/vdb/dev", "254:16\n"),
        (
            "run/udev/data/b254:3",
            "S:disk/by-id/virtio-x-part3\nS:vg/swap\nE:ID_SERIAL=geheim\nE:ID_PART_ENTRY_UUID=0003-ab\n\
             E:ID_PART_ENTRY_NAME=my\\x20swap\n",
        ),
        ("dev/disk/by-path/pci-0-part3", "-> ../../vda3"),
        ("dev/disk/by-partuuid/0009-ab", "-> ../../vdb"),
        ("dev/disk/by-partlabel/b\\x20c", "-> ../../vdb"),
        ("dev/vdb", ""),
        ("data/swap", "-> /dev/vdb"),
        ("etc/fstab", "/data/swap none swap sw 0 0\n"),
    ]);
    let names = [
        (
            "vda3",
            &["PARTUUID=0003-ab", "PARTLABEL=my swap", "ID=virtio-x-part3", "/dev/vg/swap", "/dev/disk/by-path/pci-0-part3"][..],
        ),
        ("vdb", &["PARTUUID=0009-AB", "PARTLABEL=b c", "/dev/disk/by-partlabel/b\\x20c", "/data/swap"]),
    ];
    let check = |machine: &Machine| {
        let facts = inspect(machine, InspectScope::PLAN);
        for (device, name) in names.iter().flat_map(|(device, names)| names.iter().map(move |name| (device, name))) {
            assert_eq!(facts.device_named(name).map(|found| found.name.as_str()), Some(*device), "{name}");
        }
    };
    check(&Machine::at(dir.path()));
    // A capture keeps what is needed for that, and no serial number of udev's.
    let copy = tempfile::tempdir().unwrap();
    capture(&Machine::at(dir.path()), copy.path()).unwrap();
    check(&Machine::at(copy.path()));
    let kept = std::fs::read_to_string(copy.path().join("run/udev/data/b254:3")).unwrap();
    assert!(!kept.contains("geheim"), "{kept}");
}

#[test]
fn a_laptop_with_everything() {
    let dir = tree(LAPTOP);
    let facts = inspect(&Machine::at(dir.path()), InspectScope::FULL);
    let area = |index: usize| &facts.swaps[index];
    assert_eq!(facts.swaps.len(), 4);
    assert_eq!(area(0).encryption.value(), Some(&Encryption::Luks { version: 2 }));
    assert_eq!(area(0).uuid.value().unwrap(), "1111-2222");
    assert_eq!(area(0).device.value().unwrap(), "dm-2");
    assert_eq!((area(1).path.as_str(), area(1).kind), ("/home/my swap\nfile", SwapKind::File));
    assert_eq!((area(1).device.value().unwrap().as_str(), area(1).filesystem.value().unwrap().as_str()), ("nvme0n1p3", "btrfs"));
    assert_eq!(area(1).encryption.value(), Some(&Encryption::None));
    assert!(area(2).is_zram() && !area(2).encryption.is_known());
    assert!(!area(3).encryption.is_known() && !area(3).uuid.is_known());
    assert_eq!(facts.swap_signatures[0].label.as_deref(), Some("my swap"));

    assert_eq!(facts.disk_of("dm-2").unwrap().name, "nvme0n1");
    let transport = |name: &str| facts.block_device(name).unwrap().transport;
    assert_eq!(
        [transport("nvme0n1p3"), transport("sda"), transport("sdb")],
        [Transport::Nvme, Transport::Usb, Transport::Virtual]
    );
    assert!(facts.block_device("sda").unwrap().removable && facts.block_device("loop0").is_none());
    assert_eq!(facts.block_device("nvme0n1p2").unwrap().rotational.value(), Some(&false));
    assert_eq!(facts.block_device("dm-1").unwrap().mounted_at.as_deref(), Some("/"));
    assert_eq!(facts.block_device("nvme0n1p3").unwrap().mounted_at.as_deref(), Some("/home"));
    assert_eq!(facts.mounts.iter().map(|mount| mount.at.as_str()).collect::<Vec<_>>(), ["/", "/home"]);

    let zswap = facts.zswap.value().unwrap();
    assert_eq!((zswap.enabled, zswap.loaded.value().unwrap().as_str(), zswap.complaints.len()), (true, "lzo/zbud", 1));
    assert_eq!(zswap.counters.source(), "/sys/kernel/debug/zswap: permission denied, try as root");
    let availability: Vec<_> = facts.compressors.iter().map(|compressor| compressor.availability).collect();
    use Availability::{Absent, BuiltIn, Loaded, Module};
    assert_eq!(availability, [BuiltIn, BuiltIn, Loaded, Absent, Module, Absent, Absent]);
    assert_eq!(facts.zram.driver.value(), Some(&Loaded));
    assert_eq!(facts.zram.devices[0].algorithm.value().unwrap(), "lz4");
    assert_eq!(facts.zram.devices[0].mm_stat.value().unwrap().huge_pages_since, None);

    assert_eq!(facts.boot.loader.value(), Some(&BootLoader::Grub));
    assert_eq!(facts.initramfs.contents.value().unwrap(), &["lz4.ko", "liblzma"]);
    assert_eq!(facts.system.init.value(), Some(&InitSystem::Systemd));
    assert_eq!(facts.knob("transparent_hugepage.enabled"), Some("madvise"));
    assert_eq!(facts.knob("vm.swappiness"), Some("60"));
    assert_eq!(facts.knobs["vm.page-cluster"].source(), "/proc/sys/vm/page-cluster: no such file");
}

#[test]
fn an_empty_folder_gives_reasons_for_everything() {
    let dir = tree(&[]);
    let facts = inspect(&Machine::at(dir.path()), InspectScope::FULL);
    assert_eq!(facts.memory.meminfo, Fact::absent("/proc/meminfo: no such file"));
    assert_eq!(facts.memory.pressure, Fact::absent("/proc/pressure/memory: no such file"));
    assert_eq!(facts.kernel.log, Fact::absent("/dev/kmsg: not kept in this folder"));
    assert_eq!(facts.zswap, Fact::absent("/sys/module/zswap/parameters: no such file"));
    assert!(facts.swaps.is_empty() && facts.block_devices.is_empty() && facts.mounts.is_empty());
    assert!(facts.compressors.iter().all(|compressor| !compressor.availability.usable()));
    assert!(facts.knobs.values().all(|knob| !knob.is_known()));
}

#[test]
fn a_kernel_without_zswap_says_why() {
    let release = ("proc/sys/kernel/osrelease", "6.12.1-cloud-amd64\n");
    let config = ("boot/config-6.12.1-cloud-amd64", "# CONFIG_ZSWAP is not set\n");
    let dir = tree(&[release, config, ("sys/module/x/y", "")]);
    let facts = inspect(&Machine::at(dir.path()), InspectScope::PLAN);
    assert_eq!(facts.zswap.source(), "/boot/config-6.12.1-cloud-amd64: CONFIG_ZSWAP is not set: this kernel has no zswap");
    let facts = inspect(&Machine::at(tree(&[release, ("sys/module/x/y", "")]).path()), InspectScope::PLAN);
    assert_eq!(facts.zswap.source(), "/sys/module/zswap/parameters: no such file: this kernel has no zswap");
}

#[test]
fn what_a_scope_leaves_out_is_not_looked_for() {
    let dir = tree(LAPTOP);
    let facts = inspect(&Machine::at(dir.path()), InspectScope::STATUS);
    assert_eq!(facts.boot.loader.source(), "not looked for");
    assert!(facts.files.is_empty() && facts.sysctl_sources.is_empty());
    assert_eq!(facts.swaps.len(), 4);
    let plan = inspect(&Machine::at(dir.path()), InspectScope::PLAN);
    assert_eq!(plan.initramfs.contents.source(), "not looked for");
}

#[test]
fn a_capture_of_the_laptop_gives_the_same_facts() {
    let (dir, copy) = (tree(LAPTOP), tempfile::tempdir().unwrap());
    let report = capture(&Machine::at(dir.path()), copy.path()).unwrap();
    assert_eq!(inspect(&Machine::at(copy.path()), InspectScope::FULL), report.facts);
    assert_eq!(report.facts, inspect(&Machine::at(dir.path()), InspectScope::FULL));
    // What was not looked at is not copied, and images and loaders' files only as names.
    assert!(!copy.path().join("proc/swaps/x").exists());
    assert_eq!(std::fs::read(copy.path().join("boot/grub/grub.cfg")).unwrap(), b"");
    assert_eq!(std::fs::read_to_string(copy.path().join("proc/modules")).unwrap().lines().count(), 2);
}

#[test]
fn a_mapping_that_has_no_link_below_dev_is_found_by_its_name() {
    let links: Vec<_> = LAPTOP.iter().copied().filter(|(path, _)| !path.starts_with("dev/mapper/")).collect();
    let dir = tree(&links);
    std::fs::create_dir_all(dir.path().join("sys/class/block/dm-1/dm")).unwrap();
    std::fs::write(dir.path().join("sys/class/block/dm-1/dm/name"), "vg-root\n").unwrap();
    let machine = Machine::at(dir.path());
    assert_eq!(super::kernel_name(&machine, "/dev/mapper/vg-root").as_deref(), Some("dm-1"));
    assert_eq!(super::kernel_name(&machine, "/dev/mapper/other"), None);
}
