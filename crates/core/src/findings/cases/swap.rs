use super::*;
use crate::facts::Container;

fn virtual_disk(facts: &mut Facts) {
    disk(facts, "vda", Transport::Virtual, true);
    partition(facts, "vda3", "vda");
    partition(facts, "vda4", "vda");
    facts.swaps = vec![area("/dev/vda3", 10)];
}

/// zram alone is swap and writes back to this device.
fn write_back(facts: &mut Facts, to: &str) {
    zram_device(facts);
    facts.zram.devices[0].backing_dev = Fact::known(format!("/dev/{to}"), "/sys/block/zram0/backing_dev");
    disk(facts, to, Transport::Virtual, false);
    facts.swaps = vec![area("/dev/zram0", 5)];
}

pub(super) const CASES: &[FindingCase] = &[
    FindingCase {
        code: "swap-inverted-priority",
        base: |f| f.swaps = vec![area("/dev/zram0", 5), area("/dev/vda3", 10), area("/dev/zram1", 100), area("/dev/vdb1", 1)],
        says: &["/dev/zram0 has priority 5, /dev/vda3 has 10: pages go to the disk first"],
        but_not: &[
            ("zram is higher", |f| f.swaps[0].priority = 11),
            ("there is no disk", |f| f.swaps.retain(SwapArea::is_zram)),
            ("there is no zram", |f| f.swaps.retain(|area| !area.is_zram())),
        ],
        also: &[("equal ones", |f| f.swaps[0].priority = 10, "to both in turn")],
    },
    FindingCase {
        code: "swap-default-priority",
        base: |f| {
            kernel(f, "6.12.1");
            f.swaps = vec![area("/dev/vda3", -2), area("/dev/vdb1", 5), area("/dev/vdc1", -3)];
        },
        says: &["2 of 3 areas", "(/dev/vda3, /dev/vdc1): this kernel fills them one after the other"],
        but_not: &[
            ("all have one", |f| f.swaps.iter_mut().for_each(|area| area.priority = 0)),
            ("only one has none, which is filled last", |f| f.swaps.truncate(2)),
            ("there is only one area", |f| f.swaps.truncate(1)),
        ],
        also: &[
            ("the last older kernel", |f| kernel(f, "6.18.9"), "this kernel fills them one after the other"),
            ("a newer kernel", |f| kernel(f, "6.19.0"), "this kernel fills them in turn"),
        ],
    },
    FindingCase {
        code: "swap-virtual-rotational",
        base: |f| {
            kernel(f, "6.12.1");
            virtual_disk(f);
        },
        says: &["/dev/vda3 lies on a virtual disk", "slots from the start", "/sys/block/vda/queue/rotational: 1"],
        but_not: &[
            ("it does not claim to spin", |f| disk(f, "vda", Transport::Virtual, false)),
            ("it is a real disk", |f| disk(f, "vda", Transport::Scsi, true)),
            ("it is not known", |f| f.block_devices.clear()),
            ("it is zram", |f| f.swaps[0].path = "/dev/zram0".into()),
        ],
        also: &[
            ("the last older kernel", |f| kernel(f, "6.14.9"), "slots from the start"),
            ("a newer kernel", |f| kernel(f, "6.15.0"), "single pages in turn"),
        ],
    },
    FindingCase {
        code: "swap-mixed-disks",
        base: |f| {
            disk(f, "sda", Transport::Scsi, true);
            disk(f, "nvme0n1", Transport::Nvme, false);
            f.swaps = vec![area("/dev/sda", 1), area("/dev/nvme0n1", 10)];
        },
        says: &["/dev/sda spins and /dev/nvme0n1 does not", "for the whole system"],
        but_not: &[
            ("none spins", |f| disk(f, "sda", Transport::Scsi, false)),
            ("all spin", |f| disk(f, "nvme0n1", Transport::Nvme, true)),
        ],
        also: &[
            ("zram", |f| f.swaps[1].path = "/dev/zram0".into(), "/dev/zram0 does not"),
            ("equal priorities", |f| f.swaps[0].priority = 10, "as slow as the slowest"),
        ],
    },
    FindingCase {
        code: "swap-same-disk",
        base: |f| {
            kernel(f, "6.12.1");
            virtual_disk(f);
            f.swaps.push(area("/dev/vda4", 10));
        },
        says: &["2 areas lie on vda, which has one queue: more areas bring no throughput by themselves", "/dev/vda4 partition"],
        but_not: &[
            ("there is only one", |f| f.swaps.truncate(1)),
            ("they are on two disks", |f| {
                disk(f, "vdb", Transport::Virtual, true);
                f.swaps[1] = area("/dev/vdb", 10);
            }),
            ("the second is zram", |f| f.swaps[1].path = "/dev/zram0".into()),
        ],
        also: &[
            ("the last older kernel", |f| kernel(f, "6.14.9"), "by themselves\n"),
            (
                "flash",
                |f| {
                    kernel(f, "6.15.1");
                    f.block_devices.iter_mut().for_each(|disk| disk.rotational = Fact::known(false, "x"));
                },
                "by themselves\n",
            ),
            ("seeks", |f| kernel(f, "6.15.1"), "the disk seeks each time"),
        ],
    },
    FindingCase {
        code: "swap-striping-unit",
        base: |f| {
            kernel(f, "6.12.1");
            f.kernel.page_size = Bytes(4096);
            virtual_disk(f);
            f.swaps = vec![area("/dev/sdx", 3), area("/dev/vda3", 10), area("/dev/vda4", 10)];
        },
        says: &["2 areas share priority 10: 6.12.1 fills them in turn, 64 slots (256 KiB)"],
        but_not: &[
            ("none is equal", |f| f.swaps[1].priority = 11),
            ("the equal one is zram", |f| f.swaps[1].path = "/dev/zram0".into()),
        ],
        also: &[
            ("a newer kernel", |f| kernel(f, "6.15.0"), "one page at a time"),
            ("larger pages", |f| f.kernel.page_size = Bytes(16384), "64 slots (1 MiB)"),
            (
                "a newer kernel and flash",
                |f| {
                    kernel(f, "6.15.0");
                    f.block_devices.clear();
                },
                "a cluster of 512 slots (2 MiB)",
            ),
        ],
    },
    FindingCase {
        code: "swap-full",
        base: |f| meminfo(f, &[("SwapTotal", 1000), ("SwapFree", 100)]),
        says: &["100 MiB of 1000 MiB of swap are free"],
        but_not: &[
            ("there is room", |f| meminfo(f, &[("SwapFree", 101)])),
            ("there is no swap", |f| meminfo(f, &[("SwapTotal", 0), ("SwapFree", 0)])),
        ],
        also: &[],
    },
    FindingCase {
        code: "swap-file-copy-on-write",
        base: |f| {
            f.swaps = vec![area("/var/swap/file", 1)];
            f.swaps[0].filesystem = Fact::known("btrfs".into(), "/proc/self/mountinfo: /");
        },
        says: &["/var/swap/file lies on btrfs", "btrfs subvolume show /var/swap", "mountinfo"],
        but_not: &[
            ("it is ext4", |f| f.swaps[0].filesystem = Fact::known("ext4".into(), "x")),
            ("it is a partition", |f| f.swaps[0].kind = SwapKind::Partition),
        ],
        also: &[("the top of the tree", |f| f.swaps[0].path = "/swapfile".into(), "btrfs subvolume show /")],
    },
    FindingCase {
        code: "swap-on-zvol",
        base: |f| f.swaps = vec![area("/dev/zd16", 1)],
        says: &["/dev/zd16 is a ZFS volume", "swapoff /dev/zd16"],
        but_not: &[
            ("it is a disk", |f| f.swaps = vec![area("/dev/vda3", 1)]),
            ("it only sounds so", |f| f.swaps = vec![area("/dev/zdisk", 1)]),
        ],
        also: &[],
    },
    FindingCase {
        code: "swap-not-encrypted",
        base: |f| f.swaps = vec![area("/dev/vda3", 1), area("/dev/zram0", 5)],
        says: &["/dev/vda3 is not encrypted"],
        but_not: &[
            ("it is", |f| f.swaps[0].encryption = Fact::known(Encryption::Plain, "x")),
            ("it is LUKS", |f| f.swaps[0].encryption = Fact::known(Encryption::Luks { version: 2 }, "x")),
            ("it is not known", |f| f.swaps[0].encryption = Fact::absent("x")),
            ("it is memory", |f| drop(f.swaps.remove(0))),
            ("what zram writes back to is encrypted", |f| {
                write_back(f, "dm-0");
                f.block_devices.last_mut().unwrap().dm_uuid = Some("CRYPT-PLAIN-x".into());
            }),
            ("what zram writes back to is not known", |f| {
                write_back(f, "vdb1");
                f.block_devices.clear();
            }),
            ("zram writes back to a file", |f| {
                write_back(f, "loop0");
                disk(f, "loop0", Transport::Loop, false);
            }),
        ],
        also: &[
            ("a partition behind zram", |f| write_back(f, "vdb1"), "/dev/vdb1 (behind zram0) is not encrypted"),
            (
                "both",
                |f| {
                    write_back(f, "vdb1");
                    f.swaps.push(area("/dev/vda3", 1));
                },
                "/dev/vda3, /dev/vdb1 (behind zram0) are not encrypted",
            ),
        ],
    },
    FindingCase {
        code: "swap-none",
        base: |f| kernel(f, "6.12.1"),
        says: &["there is no swap"],
        but_not: &[
            ("there is", |f| f.swaps = vec![area("/dev/vda3", 1)]),
            ("zswap is on, which is worse", |f| zswap(f, &[("enabled", "Y")])),
            ("it is a container", |f| f.system.container = Fact::known(Container { kind: "lxc".into() }, "x")),
        ],
        also: &[],
    },
];
