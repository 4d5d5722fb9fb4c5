//! Managers, sysctls, memory.

use super::*;
use crate::facts::Container;

const OURS: &str = "/etc/sysctl.d/99-zz-swaptune.conf";

fn asleep(facts: &mut Facts) {
    facts.system.managers.iter_mut().for_each(|manager| manager.active = false);
}

pub(super) const CASES: &[FindingCase] = &[
    FindingCase {
        code: "managers-two",
        base: |f| {
            manager(f, "zram-generator");
            manager(f, "zram-tools");
        },
        says: &["zram-generator and zram-tools are both active", "systemctl disable --now zramswap.service", "/etc/zram-tools"],
        but_not: &[
            ("neither acts", asleep),
            ("one does not act", |f| f.system.managers[0].active = false),
            ("they do different things", |f| f.system.managers[1].name = "dphys-swapfile".into()),
        ],
        also: &[
            (
                "zswap",
                |f| {
                    f.system.managers.clear();
                    manager(f, "zswap-cli");
                    manager(f, "systemd-swap");
                },
                "disable --now systemd-swap.service",
            ),
            (
                "swap files",
                |f| {
                    f.system.managers.clear();
                    manager(f, "dphys-swapfile");
                    manager(f, "rpi-swap");
                },
                "dphys-swapfile and rpi-swap",
            ),
            ("the generator second", |f| f.system.managers.swap(0, 1), "systemd-zram-setup@zram0.service"),
        ],
    },
    FindingCase {
        code: "managers-zswap-and-zram",
        base: |f| {
            zswap(f, &[("enabled", "Y")]);
            manager(f, "zram-generator");
        },
        says: &["zram-generator sets zram up at boot", "swaptune apply"],
        but_not: &[
            ("zswap is off", off),
            ("it does not act", asleep),
            ("it does other things", |f| f.system.managers[0].name = "tuned".into()),
        ],
        also: &[(
            "zswap at the next boot",
            |f| {
                off(f);
                configured(f, "zswap.enabled=1");
            },
            "sets zram up",
        )],
    },
    FindingCase {
        code: "managers-fight-swaptune",
        base: |f| {
            file(f, "/etc/systemd/system/swaptune.service", "x");
            manager(f, "zswap-cli");
        },
        says: &["zswap-cli sets the same values", "disable --now zswap-cli.service"],
        but_not: &[
            ("swaptune is not installed", |f| f.files.clear()),
            ("it does not act", asleep),
            ("it does other things", |f| f.system.managers[0].name = "earlyoom".into()),
        ],
        also: &[],
    },
    FindingCase {
        code: "managers-knob-writer",
        base: |f| {
            file(f, "/etc/swaptune/applied.toml", "[knobs]\n\"vm.swappiness\" = 160\n");
            let (unit, path) = ("x.service".to_owned(), "/etc/systemd/system/x.service".to_owned());
            let writer = KnobWriter {
                knob: "vm.swappiness".into(),
                value: Some("10".into()),
                path,
                line: 3,
                kind: WriterKind::Unit,
                by: unit,
            };
            f.system.writers = vec![writer];
        },
        says: &[
            "vm.swappiness is to be 160, but x.service sets 10 (/etc/systemd/system/x.service:3): it runs after",
            "systemctl disable x.service",
            "/etc/systemd/system/x.service line 3",
        ],
        but_not: &[
            ("nothing was applied", |f| f.files.clear()),
            ("it sets the same", |f| f.system.writers[0].value = Some("160".into())),
            ("it sets something else", |f| f.system.writers[0].knob = "vm.page-cluster".into()),
            ("it is an option of what is built in", |f| f.system.writers[0].kind = WriterKind::Modprobe),
        ],
        also: &[
            ("a value that only a shell knows", |f| f.system.writers[0].value = None, "sets what its command says"),
            (
                "a file of a package",
                |f| {
                    let writer = &mut f.system.writers[0];
                    (writer.kind, writer.path) = (WriterKind::Udev, "/usr/lib/udev/rules.d/9-zram.rules".into());
                },
                "ln -s /dev/null /etc/udev/rules.d/9-zram.rules",
            ),
            (
                "a file",
                |f| {
                    let writer = &mut f.system.writers[0];
                    (writer.kind, writer.path) = (WriterKind::Tmpfiles, "/etc/tmpfiles.d/z.conf".into());
                },
                "mv /etc/tmpfiles.d/z.conf /etc/tmpfiles.d/z.conf.off",
            ),
            (
                "rc.local",
                |f| {
                    let writer = &mut f.system.writers[0];
                    (writer.kind, writer.path) = (WriterKind::RcLocal, "/etc/rc.local".into());
                },
                "sed -i '3s/^/#/' /etc/rc.local",
            ),
        ],
    },
    FindingCase {
        code: "managers-tuned-wins",
        base: |f| {
            manager(f, "tuned");
            file(f, "/etc/tuned/tuned-main.conf", "# c\ndaemon = 1\nreapply_sysctl = 0\n");
        },
        says: &["reapply_sysctl off", "/etc/tuned/tuned-main.conf line 3"],
        but_not: &[
            ("it is on", |f| file(f, "/etc/tuned/tuned-main.conf", "reapply_sysctl = 1\n")),
            ("it is left open", |f| file(f, "/etc/tuned/tuned-main.conf", "#reapply_sysctl = 0\n")),
            ("tuned does not act", asleep),
        ],
        also: &[],
    },
    FindingCase {
        code: "managers-oomd-without-swap",
        base: |f| manager(f, "systemd-oomd"),
        says: &["systemd-oomd is active and there is no swap"],
        but_not: &[("there is swap", |f| f.swaps = vec![area("/dev/vda3", 1)]), ("it does not act", asleep)],
        also: &[],
    },
    FindingCase {
        code: "managers-two-oom-daemons",
        base: |f| {
            manager(f, "systemd-oomd");
            manager(f, "earlyoom");
        },
        says: &["systemd-oomd and earlyoom are active", "disable --now earlyoom.service"],
        but_not: &[("one does not act", |f| f.system.managers[1].active = false)],
        also: &[],
    },
    FindingCase {
        code: "sysctl-overridden",
        base: |f| {
            sysctl(f, "vm.swappiness", OURS, "100");
            sysctl(f, "vm.swappiness", "/etc/sysctl.d/zzz.conf", "10");
        },
        says: &["vm.swappiness is 100 in /etc/sysctl.d/99-zz-swaptune.conf, but line 3 of /etc/sysctl.d/zzz.conf sets 10"],
        but_not: &[
            ("a key of no knob is the same", |f| {
                f.sysctl_sources.clear();
                sysctl(f, "kernel.x", OURS, "1");
                sysctl(f, "kernel.x", "/etc/sysctl.d/zzz.conf", "1 ");
            }),
            ("it sets the same", |f| f.sysctl_sources.get_mut("vm.swappiness").unwrap()[1].value = " 100".into()),
            ("it comes first", |f| f.sysctl_sources.get_mut("vm.swappiness").unwrap().reverse()),
            ("ours does not set it", |f| drop(f.sysctl_sources.get_mut("vm.swappiness").unwrap().remove(0))),
        ],
        also: &[(
            "a key of no knob",
            |f| {
                f.sysctl_sources.clear();
                sysctl(f, "kernel.x", OURS, "1");
                sysctl(f, "kernel.x", "/etc/sysctl.d/zzz.conf", "2");
            },
            "kernel.x is 1",
        )],
    },
    FindingCase {
        code: "sysctl-live-differs",
        base: |f| {
            sysctl(f, "vm.swappiness", OURS, "100");
            knob(f, "vm.swappiness", "10");
        },
        says: &[
            "vm.swappiness is 10 now, although /etc/sysctl.d/99-zz-swaptune.conf says 100: something",
            "swaptune apply --now",
        ],
        but_not: &[
            ("it is so", |f| knob(f, "vm.swappiness", "100")),
            ("no file sets it", |f| f.sysctl_sources.clear()),
            ("it is not known", |f| f.knobs.clear()),
            ("it is half of a pair", |f| {
                f.sysctl_sources.clear();
                sysctl(f, "vm.dirty_ratio", OURS, "5");
                knob(f, "vm.dirty_ratio", "0");
            }),
        ],
        also: &[
            (
                "a knob of a pair's family",
                |f| {
                    f.sysctl_sources.clear();
                    sysctl(f, "vm.dirty_writeback_centisecs", OURS, "500");
                    knob(f, "vm.dirty_writeback_centisecs", "1500");
                },
                "vm.dirty_writeback_centisecs is 1500 now",
            ),
            (
                "tuned asleep",
                |f| {
                    manager(f, "tuned");
                    asleep(f);
                },
                "something set it",
            ),
            ("another manager", |f| manager(f, "earlyoom"), "something set it"),
            ("tuned", |f| manager(f, "tuned"), "tuned is active"),
        ],
    },
    FindingCase {
        code: "sysctl-swappiness-zero",
        base: |f| {
            zswap(f, &[("enabled", "Y")]);
            f.swaps = vec![area("/dev/vda3", 1)];
            knob(f, "vm.swappiness", "0");
        },
        says: &["vm.swappiness is 0"],
        but_not: &[
            ("it is not", |f| knob(f, "vm.swappiness", "1")),
            ("zswap is off", off),
            ("zram has its own finding", |f| f.swaps.push(area("/dev/zram0", 1))),
            ("there is no swap", no_swap),
        ],
        also: &[],
    },
    FindingCase {
        code: "sysctl-swappiness-high-for-disk",
        base: |f| {
            f.swaps = vec![area("/dev/vda3", 1)];
            knob(f, "vm.swappiness", "101");
        },
        says: &["vm.swappiness is 101"],
        but_not: &[
            ("it is even", |f| knob(f, "vm.swappiness", "100")),
            ("there is zram", |f| f.swaps.push(area("/dev/zram0", 5))),
            ("there is no disk", no_swap),
            ("zswap is on", |f| zswap(f, &[("enabled", "Y")])),
        ],
        also: &[],
    },
    FindingCase {
        code: "sysctl-watermark-scale-factor",
        base: |f| {
            knob(f, "vm.watermark_scale_factor", "125");
            meminfo(f, &[("MemTotal", 8192)]);
        },
        says: &["is 125", "102 MiB more free", "more eager reclaim, not less"],
        but_not: &[("it is the default", |f| knob(f, "vm.watermark_scale_factor", "10"))],
        also: &[],
    },
    FindingCase {
        code: "sysctl-overcommit-always",
        base: |f| knob(f, "vm.overcommit_memory", "1"),
        says: &["saves nothing", "overcommit_memory=0"],
        but_not: &[
            ("it is the default", |f| knob(f, "vm.overcommit_memory", "0")),
            ("it is strict", |f| knob(f, "vm.overcommit_memory", "2")),
        ],
        also: &[],
    },
    FindingCase {
        code: "sysctl-overcommit-ratio",
        base: |f| {
            knob(f, "vm.overcommit_memory", "1");
            sysctl(f, "vm.overcommit_ratio", "/etc/sysctl.conf", "100");
        },
        says: &["/etc/sysctl.conf line 3 sets vm.overcommit_ratio", "it is 1"],
        but_not: &[("it counts", |f| knob(f, "vm.overcommit_memory", "2")), ("nobody sets it", |f| f.sysctl_sources.clear())],
        also: &[],
    },
    FindingCase {
        code: "sysctl-min-ttl",
        base: |f| knob(f, "lru_gen.min_ttl_ms", "1000"),
        says: &["is 1000", "OOM killer"],
        but_not: &[("it is off", |f| knob(f, "lru_gen.min_ttl_ms", "0"))],
        also: &[],
    },
    FindingCase {
        code: "sysctl-vfs-cache-pressure-zero",
        base: |f| knob(f, "vm.vfs_cache_pressure", "0"),
        says: &["never given back"],
        but_not: &[("it is not", |f| knob(f, "vm.vfs_cache_pressure", "50"))],
        also: &[],
    },
    FindingCase {
        code: "sysctl-page-cluster",
        base: |f| {
            knob(f, "vm.page-cluster", "3");
            sysctl(f, "vm.page-cluster", "/etc/sysctl.d/a.conf", "3");
            f.swaps = vec![area("/dev/zram0", 100)];
        },
        says: &["/etc/sysctl.d/a.conf line 3 sets vm.page-cluster to 3"],
        but_not: &[
            ("it is off", |f| knob(f, "vm.page-cluster", "0")),
            ("nobody set it", |f| f.sysctl_sources.clear()),
            ("a disk is read too", |f| f.swaps.push(area("/dev/vda3", 1))),
            ("there is no zram", no_swap),
        ],
        also: &[],
    },
    FindingCase {
        code: "memory-oom",
        base: |f| {
            zswap(f, &[("enabled", "Y"), ("max_pool_percent", "71")]);
            counters(f, &[("pool_limit_hit", 5)]);
            meminfo(f, &[("SwapTotal", 1000), ("SwapFree", 100)]);
            log(f, "Out of memory: Killed process 1 (x)");
            log(f, "oom-kill:constraint=CONSTRAINT_NONE");
            log(f, "Out of memory: Killed process 2 (y)");
        },
        says: &[
            "2 lines of the OOM killer",
            "the pool may take 71 % of RAM",
            "to run in, the pool was at its limit, swap is nearly full",
        ],
        but_not: &[
            ("nobody was killed", |f| f.kernel.log = Fact::known(Vec::new(), "/dev/kmsg")),
            ("a control group was at its own limit", |f| {
                f.kernel.log = Fact::known(Vec::new(), "/dev/kmsg");
                log(f, "oom-kill:constraint=CONSTRAINT_MEMCG,nodemask=(null),oom_memcg=/a,task=x,pid=7,uid=0");
                log(f, "Memory cgroup out of memory: Killed process 7 (x)");
            }),
            ("there is no compressed swap", off),
        ],
        also: &[
            (
                "zram",
                |f| {
                    off(f);
                    f.swaps = vec![area("/dev/zram0", 1)];
                },
                "swap is nearly full",
            ),
            (
                "no reason",
                |f| {
                    zswap(f, &[("max_pool_percent", "70")]);
                    counters(f, &[("pool_limit_hit", 0)]);
                    meminfo(f, &[("SwapFree", 101)]);
                },
                "nothing in the counters",
            ),
            (
                "no swap",
                |f| {
                    zswap(f, &[("max_pool_percent", "70")]);
                    counters(f, &[("pool_limit_hit", 0)]);
                    meminfo(f, &[("SwapTotal", 0), ("SwapFree", 0)]);
                },
                "nothing in the counters",
            ),
        ],
    },
    FindingCase {
        code: "memory-psi-off",
        base: |f| {
            cmdline(f, "quiet");
            config(f, &[("CONFIG_PSI", "y"), ("CONFIG_PSI_DEFAULT_DISABLED", "y")]);
        },
        says: &["unless psi=1", "CONFIG_PSI_DEFAULT_DISABLED=y"],
        but_not: &[
            ("it is measured", |f| f.memory.pressure = Fact::known(crate::facts::Pressure::default(), "/proc/pressure/memory")),
            ("the kernel says nothing", |f| config(f, &[("CONFIG_PSI", "y")])),
            ("it is on and the file is missing for another reason", |f| cmdline(f, "psi=1")),
        ],
        also: &[
            ("no PSI at all", |f| config(f, &[("CONFIG_PSI", "n")]), "CONFIG_PSI=n"),
            ("a word", |f| cmdline(f, "psi=0"), "switches it off"),
        ],
    },
    FindingCase {
        code: "memory-cgroup-v1",
        base: |f| {
            zswap(f, &[("enabled", "Y")]);
            f.system.cgroup_version = Fact::known(1, "/sys/fs/cgroup");
        },
        says: &["version 1", "/sys/fs/cgroup"],
        but_not: &[("zswap is off", off), ("it is 2", |f| f.system.cgroup_version = Fact::known(2, "x"))],
        also: &[],
    },
    FindingCase {
        code: "memory-container",
        base: |f| f.system.container = Fact::known(Container { kind: "docker".into() }, "/.dockerenv"),
        says: &["a docker container", "/.dockerenv"],
        but_not: &[("it is a machine", |f| f.system.container = Fact::absent("x"))],
        also: &[],
    },
];
