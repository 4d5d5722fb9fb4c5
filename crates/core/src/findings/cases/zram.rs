use super::*;

fn fill(facts: &mut Facts, used_mib: u64) {
    facts.swaps[0].used = Bytes::from_mib(used_mib);
}

pub(super) const CASES: &[FindingCase] = &[
    FindingCase {
        code: "zram-lru-inversion",
        base: |f| {
            f.swaps = vec![area("/dev/zram0", 100), area("/dev/vda3", 10)];
            fill(f, 1000);
        },
        says: &["/dev/zram0 is full, and 100 MiB went on to /dev/vda3"],
        but_not: &[
            ("zram has room", |f| fill(f, 970)),
            ("the disk is empty", |f| f.swaps[1].used = Bytes(0)),
            ("there is no disk", |f| f.swaps.truncate(1)),
            ("the area has no size", |f| f.swaps[0].size = Bytes(0)),
        ],
        also: &[],
    },
    FindingCase {
        code: "zram-full",
        base: |f| {
            f.swaps = vec![area("/dev/zram0", 100)];
            fill(f, 1000);
        },
        says: &["/dev/zram0 is full and there is no swap behind it"],
        but_not: &[
            ("it has room", |f| fill(f, 970)),
            ("another zram has room", |f| f.swaps.push(area("/dev/zram1", 100))),
            ("a disk stands behind it", |f| f.swaps.push(area("/dev/vda3", 1))),
            ("it is a disk", |f| f.swaps[0].path = "/dev/vda3".into()),
            ("there is none", no_swap),
        ],
        also: &[(
            "exactly that",
            |f| {
                f.swaps[0].size = Bytes::from_mib(1000);
                fill(f, 950);
            },
            "is full",
        )],
    },
    FindingCase {
        code: "zram-limit",
        base: |f| {
            zram_device(f);
            mm_stat(f, |stat| stat.mem_limit = Bytes::from_mib(104));
        },
        says: &["100 MiB of the 104 MiB", "echo 0 > /sys/block/zram0/mem_limit"],
        but_not: &[
            ("there is no limit", |f| mm_stat(f, |stat| stat.mem_limit = Bytes(0))),
            ("the limit is far", |f| mm_stat(f, |stat| stat.mem_limit = Bytes::from_mib(106))),
            ("the device is not set up", |f| f.zram.devices[0].disksize = Bytes(0)),
        ],
        also: &[(
            "exactly that",
            |f| {
                mm_stat(f, |stat| {
                    stat.mem_limit = Bytes::from_mib(100);
                    stat.mem_used_total = Bytes::from_mib(95);
                })
            },
            "95 MiB of the 100 MiB",
        )],
    },
    FindingCase {
        code: "zram-too-large",
        base: |f| {
            zram_device(f);
            meminfo(f, &[("MemTotal", 511)]);
        },
        says: &["offers 1 GiB on 511 MiB", "at most 1022 MiB"],
        but_not: &[
            ("it fits", |f| meminfo(f, &[("MemTotal", 512)])),
            ("nothing is known of memory", |f| f.memory.meminfo = Fact::absent("x")),
            ("the device is not set up", |f| f.zram.devices[0].disksize = Bytes(0)),
        ],
        also: &[],
    },
    FindingCase {
        code: "zram-incompressible",
        base: |f| {
            zram_device(f);
            mm_stat(f, |stat| stat.huge_pages = 30_000);
        },
        says: &["117 MiB of the 400 MiB in zram0 do not compress"],
        but_not: &[
            ("they are a small part", |f| mm_stat(f, |stat| stat.huge_pages = 25_600)),
            ("they are few", |f| {
                mm_stat(f, |stat| {
                    stat.huge_pages = 4_000;
                    stat.orig_data_size = Bytes::from_mib(17);
                });
            }),
        ],
        also: &[
            (
                "just enough",
                |f| {
                    mm_stat(f, |stat| {
                        stat.huge_pages = 4_096;
                        stat.orig_data_size = Bytes::from_mib(17);
                    })
                },
                "16 MiB of the 17 MiB",
            ),
            (
                "larger pages of memory",
                |f| {
                    f.kernel.page_size = Bytes(16_384);
                    mm_stat(f, |stat| stat.huge_pages = 7_000);
                },
                "109 MiB",
            ),
        ],
    },
    FindingCase {
        code: "zram-few-algorithms",
        base: |f| {
            zram_device(f);
            f.zram.devices[0].algorithms = vec!["lzo-rle".into(), "lzo".into()];
        },
        says: &["only lzo-rle and lzo"],
        but_not: &[
            ("it has another", |f| f.zram.devices[0].algorithms.push("zstd".into())),
            ("they are not known", |f| f.zram.devices[0].algorithms.clear()),
            ("the device is not set up", |f| f.zram.devices[0].disksize = Bytes(0)),
        ],
        also: &[],
    },
    FindingCase {
        code: "zram-algorithm-differs",
        base: |f| {
            zram_device(f);
            file(
                f,
                "/etc/systemd/zram-generator.conf",
                "[zram0]\nzram-size=ram\ncompression-algorithm = zstd(level=3) lz4 (type=idle)\n",
            );
        },
        says: &["compresses with lzo-rle although zstd is configured", "zram-generator.conf line 3"],
        but_not: &[
            ("it is so", |f| f.zram.devices[0].algorithm = Fact::known("zstd".into(), "x")),
            ("it is not configured", |f| file(f, "/etc/systemd/zram-generator.conf", "[zram0]\n")),
            ("it is left open", |f| file(f, "/etc/systemd/zram-generator.conf", "[zram0]\ncompression-algorithm=\n")),
            ("another device is meant", |f| file(f, "/etc/systemd/zram-generator.conf", "[zram1]\ncompression-algorithm=zstd\n")),
            ("the device is not set up", |f| f.zram.devices[0].disksize = Bytes(0)),
        ],
        also: &[],
    },
    FindingCase {
        code: "zram-writeback-unused",
        base: |f| {
            zram_device(f);
            f.zram.devices[0].backing_dev = Fact::known("/dev/vdb".into(), "/sys/block/zram0/backing_dev");
            f.zram.devices[0].written_back = Fact::known(Bytes(0), "/sys/block/zram0/bd_stat");
        },
        says: &["zram0 holds 400 MiB and has /dev/vdb to write idle pages to", "systemctl enable --now swaptuned"],
        but_not: &[
            ("something was written", |f| f.zram.devices[0].written_back = Fact::known(Bytes(4096), "t")),
            ("the daemon runs", |f| f.zram.kept = true),
            ("there is no backing device", |f| f.zram.devices[0].backing_dev = Fact::known("none".into(), "t")),
            ("there is little in it", |f| mm_stat(f, |stat| stat.orig_data_size = Bytes::from_mib(63))),
            ("the device is not set up", |f| f.zram.devices[0].disksize = Bytes(0)),
        ],
        also: &[],
    },
    FindingCase {
        code: "zram-swappiness",
        base: |f| {
            zram_device(f);
            f.swaps = vec![area("/dev/zram0", 100)];
            knob(f, "vm.swappiness", "10");
            sysctl(f, "vm.swappiness", "/etc/sysctl.d/a.conf", "10");
        },
        says: &["vm.swappiness is 10, set by /etc/sysctl.d/a.conf line 3", "holds 400 MiB"],
        but_not: &[
            ("it is the default", |f| knob(f, "vm.swappiness", "60")),
            ("swap is a disk", |f| f.swaps = vec![area("/dev/vda3", 100)]),
            ("it is not known", |f| f.knobs.clear()),
        ],
        also: &[
            ("nobody known", |f| f.sysctl_sources.clear(), "by no sysctl file"),
            (
                "tuned",
                |f| {
                    f.sysctl_sources.clear();
                    manager(f, "tuned");
                },
                "tuned's profile",
            ),
            (
                "tuned asleep",
                |f| {
                    f.sysctl_sources.clear();
                    manager(f, "tuned");
                    f.system.managers[0].active = false;
                },
                "by no sysctl file",
            ),
        ],
    },
];
