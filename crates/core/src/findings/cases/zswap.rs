use super::*;

pub(super) const CASES: &[FindingCase] = &[
    FindingCase {
        code: "zswap-no-swap",
        base: |f| zswap(f, &[("enabled", "Y")]),
        says: &["there is no swap area", "/proc/swaps: empty"],
        but_not: &[
            ("zswap is off", off),
            ("there is swap", |f| f.swaps = vec![area("/dev/vda3", 10)]),
            ("there is no zswap", no_zswap),
        ],
        also: &[],
    },
    FindingCase {
        code: "zswap-over-zram",
        base: |f| {
            zswap(f, &[("enabled", "Y")]);
            f.swaps = vec![area("/dev/zram0", 100), area("/dev/vda3", 10)];
        },
        says: &["/dev/zram0", "compressed twice", "swaptune apply"],
        but_not: &[("zswap is off", off), ("swap is a disk", |f| f.swaps = vec![area("/dev/vda3", 10)])],
        also: &[],
    },
    FindingCase {
        code: "zswap-exclusive-loads",
        base: |f| {
            kernel(f, "6.6.13");
            zswap(f, &[("enabled", "Y"), ("exclusive_loads", "Y")]);
            f.swaps = vec![area("/dev/zram0", 100)];
        },
        says: &["6.6.13", "/dev/zram0", "echo N > /sys/module/zswap/parameters/exclusive_loads"],
        but_not: &[
            ("zswap is off", off),
            ("the parameter is off", |f| zswap(f, &[("exclusive_loads", "N")])),
            ("swap is a disk", |f| f.swaps = vec![area("/dev/vda3", 10)]),
            ("the kernel is mended", |f| kernel(f, "6.9.0")),
            ("the kernel is older", |f| kernel(f, "6.4.0")),
        ],
        also: &[
            ("persistent memory", |f| f.swaps = vec![area("/dev/pmem0", 1)], "/dev/pmem0"),
            ("a RAM disk", |f| f.swaps = vec![area("/dev/ram0", 1)], "/dev/ram0"),
            ("the last kernel with it", |f| kernel(f, "6.8.12"), "6.8.12"),
            ("the first kernel with it", |f| kernel(f, "6.5.0"), "6.5.0"),
        ],
    },
    FindingCase {
        code: "zswap-blocks-large-swapin",
        base: |f| {
            kernel(f, "6.12.1");
            zswap(f, &[("enabled", "N")]);
            with_zswap(f, |z| z.loaded = Fact::known("lzo/zsmalloc".into(), "/dev/kmsg"));
            f.swaps = vec![area("/dev/zram0", 100)];
        },
        says: &["enabled since boot", "/dev/zram0", "loaded using pool lzo/zsmalloc"],
        but_not: &[
            ("it never was enabled", |f| with_zswap(f, |z| z.loaded = Fact::absent("no line"))),
            ("swap is a disk", |f| f.swaps = vec![area("/dev/vda3", 10)]),
            ("no kernel before reads whole folios", |f| kernel(f, "6.11.1")),
        ],
        also: &[(
            "zswap on and no log",
            |f| {
                zswap(f, &[("enabled", "Y")]);
                with_zswap(f, |z| z.loaded = Fact::absent("no log"));
            },
            "enabled: Y",
        )],
    },
    FindingCase {
        code: "zswap-zsmalloc-no-writeback",
        base: |f| {
            kernel(f, "6.1.176");
            zswap(f, &[("enabled", "Y"), ("zpool", "zsmalloc")]);
            f.swaps = vec![area("/dev/vda3", 10)];
        },
        says: &["6.1.176", "never written back to /dev/vda3"],
        but_not: &[
            ("zswap is off", off),
            ("the pool can be written back", |f| zswap(f, &[("zpool", "zbud")])),
            ("the kernel can", |f| kernel(f, "6.2.0")),
            ("there is no disk", |f| f.swaps = vec![area("/dev/zram0", 10)]),
        ],
        also: &[],
    },
    FindingCase {
        code: "zswap-old-pool-blocks",
        base: |f| {
            kernel(f, "6.1.176");
            zswap(f, &[("enabled", "Y"), ("zpool", "zbud")]);
            with_zswap(f, |z| z.loaded = Fact::known("zstd/zsmalloc".into(), "/dev/kmsg"));
        },
        says: &["began with zstd/zsmalloc", "switched to zbud"],
        but_not: &[
            ("the first kernel that can", |f| kernel(f, "6.2.0")),
            ("zswap is off", off),
            ("it was not switched", |f| zswap(f, &[("zpool", "zsmalloc")])),
            ("it began otherwise", |f| with_zswap(f, |z| z.loaded = Fact::known("zstd/z3fold".into(), "/dev/kmsg"))),
            ("the kernel shrinks zsmalloc too", |f| kernel(f, "6.6.0")),
        ],
        also: &[],
    },
    FindingCase {
        code: "zswap-memcg-off",
        base: |f| {
            kernel(f, "6.12.1");
            zswap(f, &[("enabled", "Y")]);
            f.system.memory_controller = Fact::known(false, "/proc/cmdline: cgroup_disable=memory");
            configured(f, "quiet cgroup_disable=memory");
        },
        says: &["disabled", "6.12.1", "sed -i 's/ *cgroup_disable=memory//' /etc/default/grub && update-grub"],
        but_not: &[
            ("the last kernel before it", |f| kernel(f, "6.7.12")),
            ("zswap is off", off),
            ("the controller is on, whatever the words say", |f| {
                cmdline(f, "cgroup_disable=memory cgroup_enable=memory");
                f.system.memory_controller = Fact::known(true, "/sys/fs/cgroup/cgroup.controllers");
            }),
            ("it is not known", |f| f.system.memory_controller = Fact::absent("no cgroup file system is mounted")),
            ("it is a container", |f| {
                f.system.container = Fact::known(crate::facts::Container { kind: "lxc".into() }, "x");
            }),
            ("the kernel is older", |f| kernel(f, "6.6.1")),
            ("the kernel is mended", |f| kernel(f, "7.2.0")),
        ],
        also: &[
            ("the first kernel with it", |f| kernel(f, "6.8.0"), "6.8.0"),
            ("the last kernel with it", |f| kernel(f, "7.1.9"), "7.1.9"),
            (
                "a kernel without the controller",
                |f| {
                    f.system.memory_controller = Fact::absent("no cgroup file system is mounted");
                    config(f, &[("CONFIG_MEMCG", "n")]);
                },
                "CONFIG_MEMCG=n",
            ),
            ("no known loader", |f| f.boot.arguments = Fact::absent("none"), "grep -rn"),
            (
                "a Raspberry Pi, whose firmware adds the word",
                |f| {
                    configured(f, "console=tty1");
                    f.boot.loader = Fact::known(crate::facts::BootLoader::Raspberry, "config.txt");
                },
                "cgroup_enable=memory/' /etc/default/grub && reboot",
            ),
        ],
    },
    FindingCase {
        code: "zswap-thp-bypass",
        base: |f| {
            kernel(f, "6.12.1");
            zswap(f, &[("enabled", "Y")]);
            thp(f, "always");
            knob(f, "transparent_hugepage.enabled", "always");
            disk(f, "nvme0n1", Transport::Nvme, false);
            f.swaps = vec![area("/dev/nvme0n1", 10)];
            vmstat(f, &[("thp_swpout", 32)]);
        },
        says: &["/dev/nvme0n1 whole and uncompressed: 32 since boot", "transparent_hugepage.enabled=madvise"],
        but_not: &[
            ("zswap is off", off),
            ("huge pages are not for all", |f| {
                thp(f, "madvise");
                knob(f, "transparent_hugepage.enabled", "madvise");
            }),
            ("the kernel stores them", |f| kernel(f, "6.13.0")),
            ("the disk spins, so they are split", |f| disk(f, "nvme0n1", Transport::Nvme, true)),
            ("swap is a file, so they are split", |f| f.swaps[0].kind = SwapKind::File),
            ("swap is zram", |f| {
                f.swaps = vec![area("/dev/zram0", 10)];
                disk(f, "zram0", Transport::Zram, false);
            }),
        ],
        also: &[
            ("the knob alone", |f| f.memory.thp = Fact::absent("x"), "always"),
            ("the fact alone", |f| drop(f.knobs.remove("transparent_hugepage.enabled")), "always"),
        ],
    },
    FindingCase {
        code: "zswap-percent-range",
        base: |f| zswap(f, &[("enabled", "Y"), ("max_pool_percent", "150"), ("accept_threshold_percent", "90")]),
        says: &["max_pool_percent is 150", "all memory"],
        but_not: &[
            ("zswap is off", off),
            ("it is within", |f| zswap(f, &[("max_pool_percent", "100")])),
            ("it is small", |f| zswap(f, &[("max_pool_percent", "1")])),
        ],
        also: &[
            ("nothing", |f| zswap(f, &[("max_pool_percent", "0")]), "every page is rejected"),
            ("one more", |f| zswap(f, &[("max_pool_percent", "101")]), "is 101"),
            ("a threshold above", |f| zswap(f, &[("max_pool_percent", "20"), ("accept_threshold_percent", "101")]), "no effect"),
            ("no threshold", |f| zswap(f, &[("max_pool_percent", "20"), ("accept_threshold_percent", "0")]), "until it is empty"),
        ],
    },
    FindingCase {
        code: "zswap-shrinker-on",
        base: |f| {
            zswap(f, &[("enabled", "Y"), ("shrinker_enabled", "Y")]);
            f.swaps = vec![area("/dev/vda3", 10)];
        },
        says: &["shrinker is on", "shrinker_enabled=N"],
        but_not: &[
            ("zswap is off", off),
            ("it is off", |f| zswap(f, &[("shrinker_enabled", "N")])),
            ("this kernel has none", |f| with_zswap(f, |z| drop(z.parameters.remove("shrinker_enabled")))),
            ("there is no disk", |f| f.swaps = vec![area("/dev/zram0", 10)]),
            ("it would do nothing", |f| f.system.cgroup_version = Fact::known(1, "/sys/fs/cgroup")),
        ],
        also: &[],
    },
    FindingCase {
        code: "zswap-shrinker-no-effect",
        base: |f| {
            zswap(f, &[("enabled", "Y"), ("shrinker_enabled", "Y")]);
            f.swaps = vec![area("/dev/vda3", 10)];
            f.system.cgroup_version = Fact::known(1, "/sys/fs/cgroup");
        },
        says: &["version 1 never counts", "cgroup_no_v1=memory"],
        but_not: &[
            ("zswap is off", off),
            ("the shrinker is off", |f| zswap(f, &[("shrinker_enabled", "N")])),
            ("it is version 2", |f| f.system.cgroup_version = Fact::known(2, "/sys/fs/cgroup")),
            ("the version is unknown", |f| f.system.cgroup_version = Fact::absent("no cgroup file system")),
            ("there is no disk", |f| f.swaps = vec![area("/dev/zram0", 10)]),
        ],
        also: &[],
    },
    FindingCase {
        code: "zswap-readahead-stays",
        base: |f| {
            kernel(f, "6.16.0");
            zswap(f, &[("enabled", "Y")]);
            knob(f, "vm.page-cluster", "3");
            f.swaps = vec![area("/dev/vda3", 10)];
        },
        says: &["vm.page-cluster is 3, and 6.16.0 cannot evict", "live vm.page-cluster: vm.page-cluster = 3", "/dev/vda3"],
        but_not: &[
            ("zswap is off", off),
            ("nothing is read ahead", |f| knob(f, "vm.page-cluster", "0")),
            ("only a used neighbour is", |f| knob(f, "vm.page-cluster", "1")),
            ("the kernel is older", |f| kernel(f, "6.15.9")),
            ("the kernel is unknown", |f| f.kernel.version = Fact::absent("x")),
            ("there is only zram", |f| f.swaps = vec![area("/dev/zram0", 10)]),
            ("there is no swap", no_swap),
        ],
        also: &[
            ("fewer pages", |f| knob(f, "vm.page-cluster", "2"), "is 2"),
            ("a later kernel", |f| kernel(f, "7.1.2"), "7.1.2 cannot"),
            ("a file that sets it", |f| sysctl(f, "vm.page-cluster", "/etc/sysctl.d/a.conf", "3"), "/etc/sysctl.d/a.conf line 3"),
        ],
    },
    FindingCase {
        code: "zswap-unused",
        base: |f| {
            zswap(f, &[("enabled", "Y")]);
            f.swaps = vec![area("/dev/vda3", 10)];
            vmstat(f, &[("zswpout", 0)]);
        },
        says: &["stored nothing since boot", "swaptune verify --prove"],
        but_not: &[
            ("zswap is off", off),
            ("there is no swap", no_swap),
            ("it has stored", |f| vmstat(f, &[("zswpout", 1)])),
            ("nothing is known", |f| f.memory.vmstat = Fact::absent("x")),
            ("an old kernel wrote some back", |f| {
                f.memory.vmstat = Fact::absent("x");
                counters(f, &[("stored_pages", 0), ("written_back_pages", 1)]);
            }),
            ("an old kernel's pool was full", |f| {
                f.memory.vmstat = Fact::absent("x");
                counters(f, &[("stored_pages", 0), ("pool_limit_hit", 1)]);
            }),
            ("an old kernel met a page again", |f| {
                f.memory.vmstat = Fact::absent("x");
                counters(f, &[("stored_pages", 0), ("duplicate_entry", 1)]);
            }),
        ],
        also: &[(
            "an old kernel's counters",
            |f| {
                f.memory.vmstat = Fact::absent("x");
                counters(f, &[("stored_pages", 0), ("written_back_pages", 0), ("pool_limit_hit", 0), ("duplicate_entry", 0)]);
            },
            "/sys/kernel/debug/zswap: stored_pages, written",
        )],
    },
    FindingCase {
        code: "zswap-off-holds-pages",
        base: |f| {
            zswap(f, &[("enabled", "N")]);
            meminfo(f, &[("Zswapped", 400), ("Zswap", 150), ("MemAvailable", 2048)]);
        },
        says: &["still holds 400 MiB of pages in 150 MiB", "2 GiB available", "swapoff -a"],
        but_not: &[
            ("zswap is on", |f| zswap(f, &[("enabled", "Y")])),
            ("it is empty", |f| meminfo(f, &[("Zswapped", 0)])),
            ("nothing is known", |f| f.memory.meminfo = Fact::absent("x")),
        ],
        also: &[],
    },
];
