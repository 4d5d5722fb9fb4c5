use super::*;

pub(super) const CASES: &[FindingCase] = &[
    FindingCase {
        code: "zswap-compressor-fallback",
        base: |f| {
            zswap(f, &[("enabled", "Y"), ("compressor", "lzo")]);
            complain(f, "zswap: compressor zstd not available, using default lzo");
            compressor(f, "zstd", Availability::Module);
        },
        says: &[
            "compresses with lzo although zstd",
            "not loadable that early",
            "swaptune apply",
            "kernel log: zswap: compressor zstd",
        ],
        but_not: &[
            ("zswap is off", off),
            ("it was set later", |f| zswap(f, &[("compressor", "zstd")])),
            ("a third one was chosen", |f| zswap(f, &[("compressor", "lz4")])),
            ("nothing was complained about", |f| with_zswap(f, |z| z.complaints.clear())),
        ],
        also: &[
            ("a built-in one", |f| compressor(f, "zstd", Availability::BuiltIn), "--now"),
            ("one that is absent", |f| compressor(f, "zstd", Availability::Absent), "this kernel does not have it"),
            ("one of which nothing is known", |f| f.compressors.clear(), "is not known"),
            (
                "a log that does not reach back",
                |f| {
                    with_zswap(f, |z| z.complaints.clear());
                    cmdline(f, "zswap.compressor=zstd");
                },
                "/proc/cmdline: zswap.compressor=zstd",
            ),
            (
                "another default",
                |f| {
                    with_zswap(f, |z| z.complaints.clear());
                    cmdline(f, "zswap.compressor=zstd");
                    config(f, &[("CONFIG_ZSWAP_COMPRESSOR_DEFAULT", "lz4")]);
                    zswap(f, &[("compressor", "lz4")]);
                },
                "compresses with lz4",
            ),
        ],
    },
    FindingCase {
        code: "zswap-compressor-late",
        base: |f| {
            zswap(f, &[("enabled", "Y"), ("compressor", "zstd")]);
            complain(f, "zswap: compressor zstd not available, using default lzo");
        },
        says: &["zstd now", "booted with lzo", "--boot"],
        but_not: &[
            ("zswap is off", off),
            ("it is still the default", |f| zswap(f, &[("compressor", "lzo")])),
            ("nothing was complained about", |f| with_zswap(f, |z| z.complaints.clear())),
        ],
        also: &[],
    },
    FindingCase {
        code: "zswap-zpool-fallback",
        base: |f| {
            zswap(f, &[("enabled", "Y"), ("zpool", "zbud")]);
            complain(f, "zswap: zpool z3fold not available, using default zbud");
        },
        says: &["stores in zbud although z3fold"],
        but_not: &[
            ("zswap is off", off),
            ("it was set later", |f| zswap(f, &[("zpool", "z3fold")])),
            ("a third one was chosen", |f| zswap(f, &[("zpool", "zsmalloc")])),
            ("this kernel has no choice", |f| with_zswap(f, |z| drop(z.parameters.remove("zpool")))),
            ("nothing was complained about", |f| with_zswap(f, |z| z.complaints.clear())),
        ],
        also: &[],
    },
    FindingCase {
        code: "zswap-no-pool",
        base: |f| {
            zswap(f, &[("enabled", "N")]);
            complain(f, "zswap: pool creation failed");
        },
        says: &["could not make a pool", "pool creation failed"],
        but_not: &[
            ("zswap is on after all", |f| zswap(f, &[("enabled", "Y")])),
            ("the complaint is another", |f| with_zswap(f, |z| z.complaints = vec!["zswap: zpool x not available".into()])),
            ("somebody else says it", |f| {
                with_zswap(f, |z| z.complaints.clear());
                log(f, "zram swap: pool creation failed");
            }),
            ("the log says something else", |f| {
                with_zswap(f, |z| z.complaints.clear());
                log(f, "zswap: loaded using pool lzo");
            }),
        ],
        also: &[(
            "a line of the log alone",
            |f| {
                with_zswap(f, |z| z.complaints.clear());
                log(f, "zswap: can't enable, no pool configured");
            },
            "no pool configured",
        )],
    },
    FindingCase {
        code: "zswap-compressor-unchecked",
        base: |f| {
            kernel(f, "6.12.1");
            zswap(f, &[("enabled", "N"), ("compressor", "zstdd")]);
            compressor(f, "lzo", Availability::BuiltIn);
            compressor(f, "zstd", Availability::Module);
        },
        says: &["`zstdd` was taken unchecked", "this kernel has lzo, zstd"],
        but_not: &[
            ("the last kernel that checks", |f| kernel(f, "6.2.16")),
            ("zswap is on", |f| zswap(f, &[("enabled", "Y")])),
            ("it was enabled before", |f| with_zswap(f, |z| z.loaded = Fact::known("lzo".into(), "log"))),
            ("this kernel checks at once", |f| kernel(f, "6.1.9")),
            ("the name is good", |f| zswap(f, &[("compressor", "zstd")])),
            ("nothing is known of compressors", |f| f.compressors.clear()),
        ],
        also: &[
            ("the first kernel that does not check", |f| kernel(f, "6.3.0"), "`zstdd`"),
            (
                "a compressor that is absent",
                |f| {
                    zswap(f, &[("compressor", "lz4")]);
                    compressor(f, "lz4", Availability::Absent);
                },
                "`lz4`",
            ),
        ],
    },
    FindingCase {
        code: "zswap-zpool-unchecked",
        base: |f| {
            kernel(f, "6.12.1");
            zswap(f, &[("enabled", "N"), ("zpool", "zsmaloc")]);
        },
        says: &["`zsmaloc` was taken unchecked", "6.12.1 knows zbud, z3fold, zsmalloc"],
        but_not: &[
            ("the last kernel that checks", |f| kernel(f, "6.2.16")),
            ("zswap is on", |f| zswap(f, &[("enabled", "Y")])),
            ("it was enabled before", |f| with_zswap(f, |z| z.loaded = Fact::known("lzo/zbud".into(), "log"))),
            ("the name is good", |f| zswap(f, &[("zpool", "z3fold")])),
            ("this kernel has no choice", |f| with_zswap(f, |z| drop(z.parameters.remove("zpool")))),
        ],
        also: &[
            ("the first kernel that does not check", |f| kernel(f, "6.3.0"), "`zsmaloc`"),
            (
                "an allocator that is gone",
                |f| {
                    kernel(f, "6.15.0");
                    zswap(f, &[("zpool", "zbud")]);
                },
                "`zbud` was taken unchecked; 6.15.0 knows zsmalloc, and",
            ),
        ],
    },
    FindingCase {
        code: "zswap-stale-word",
        base: |f| {
            kernel(f, "6.18.2");
            zswap(f, &[("enabled", "Y"), ("compressor", "lzo")]);
            cmdline(f, "quiet zswap.enabled=1 zswap.zpool=zsmalloc");
        },
        says: &["`zswap.zpool=zsmalloc` is ignored", "gone since Linux 6.18", "/proc/cmdline: zswap.zpool=zsmalloc", "--boot"],
        but_not: &[
            ("the kernel has it", |f| zswap(f, &[("zpool", "zbud")])),
            ("there is no such word", |f| cmdline(f, "zswap.enabled=1")),
            ("there is no zswap", no_zswap),
        ],
        also: &[
            (
                "a word for the next boot",
                |f| {
                    cmdline(f, "quiet");
                    configured(f, "zswap.zpool=zbud");
                },
                "/etc/default/grub: zswap.zpool=zbud",
            ),
            ("a slip", |f| cmdline(f, "zswap.max_pool_precent=20"), "did you mean zswap.max_pool_percent"),
            ("a parameter of 6.9", |f| cmdline(f, "zswap.same-filled-pages-enabled=1"), "gone since Linux 6.10"),
            ("one that never was", |f| cmdline(f, "zswap.writethrough=1"), "write-back only"),
            ("nonsense", |f| cmdline(f, "zswap.colour=1"), "does not have it"),
        ],
    },
    FindingCase {
        code: "zswap-allocator-gone",
        base: |f| {
            kernel(f, "6.17.1");
            cmdline(f, "zswap.zpool=z3fold");
        },
        says: &["`zswap.zpool=z3fold` names an allocator that is gone"],
        but_not: &[
            ("it is there", |f| kernel(f, "6.14.2")),
            ("the parameter itself is gone", |f| kernel(f, "6.18.1")),
            ("it is the one that is left", |f| cmdline(f, "zswap.zpool=zsmalloc")),
            ("it is another word", |f| cmdline(f, "zswap.compressor=zbud")),
        ],
        also: &[
            ("the first kernel without it", |f| kernel(f, "6.15.0"), "z3fold"),
            ("zbud", |f| cmdline(f, "zswap.zpool=zbud"), "zbud"),
        ],
    },
    FindingCase {
        code: "zswap-word-contradicted",
        base: |f| {
            zswap(f, &[("enabled", "N"), ("max_pool_percent", "20")]);
            cmdline(f, "zswap.enabled=1 zswap.max_pool_percent=20");
        },
        says: &["booted with zswap.enabled=1, and the live value is N", "/proc/cmdline: zswap.enabled=1", "enabled: N"],
        but_not: &[
            ("it is so", |f| zswap(f, &[("enabled", "Y")])),
            ("it was not asked for", |f| cmdline(f, "zswap.max_pool_percent=20")),
            ("the last word wins", |f| cmdline(f, "zswap.enabled=1 zswap.enabled=0")),
            ("a bare word is yes to a plain switch", |f| {
                zswap(f, &[("shrinker_enabled", "Y")]);
                cmdline(f, "zswap.shrinker_enabled");
            }),
            ("it is a short word for yes", |f| {
                zswap(f, &[("enabled", "Y")]);
                cmdline(f, "zswap.enabled=t");
            }),
            ("only the compressor was upgraded", |f| {
                zswap(f, &[("enabled", "Y"), ("compressor", "zstd"), ("zpool", "zsmalloc")]);
                cmdline(f, "zswap.enabled=1 zswap.compressor=lzo zswap.zpool=zbud");
            }),
        ],
        also: &[
            ("another value", |f| cmdline(f, "zswap.max_pool_percent=30"), "max_pool_percent=30"),
            ("a bare word that the kernel refuses", |f| cmdline(f, "zswap.enabled"), "the live value is N"),
            (
                "a bare word and a switch that is off",
                |f| {
                    zswap(f, &[("shrinker_enabled", "N")]);
                    cmdline(f, "zswap.shrinker_enabled");
                },
                "zswap.shrinker_enabled=",
            ),
        ],
    },
    FindingCase {
        code: "zswap-asked-but-absent",
        base: |f| {
            no_zswap(f);
            cmdline(f, "zswap.enabled=1");
        },
        says: &["`zswap.enabled=1` has no effect", "CONFIG_ZSWAP is not set"],
        but_not: &[
            ("there is zswap", off),
            ("nobody asked", |f| cmdline(f, "quiet")),
            ("it is a container", |f| f.system.container = Fact::known(crate::facts::Container { kind: "lxc".into() }, "x")),
        ],
        also: &[],
    },
    FindingCase {
        code: "zswap-cloud-kernel",
        base: |f| {
            kernel(f, "6.12.1-cloud-amd64");
            no_zswap(f);
        },
        says: &["6.12.1-cloud-amd64 is a cloud kernel without zswap"],
        but_not: &[
            ("there is zswap", off),
            ("it is no cloud kernel", |f| kernel(f, "6.12.1-amd64")),
            ("somebody asked for it", |f| cmdline(f, "zswap.enabled=1")),
        ],
        also: &[],
    },
];

fn complain(facts: &mut Facts, line: &str) {
    with_zswap(facts, |zswap| zswap.complaints.push(line.into()));
}
