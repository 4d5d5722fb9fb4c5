use super::*;

/// 8 GiB of RAM, a limit of 20 % (1638 MiB), a threshold of 90 % of that (1474 MiB).
fn machine(facts: &mut Facts, pool_mib: u64) {
    zswap(facts, &[("enabled", "Y"), ("max_pool_percent", "20"), ("accept_threshold_percent", "90")]);
    facts.swaps = vec![area("/dev/vda3", 10)];
    meminfo(facts, &[("MemTotal", 8192), ("Zswap", pool_mib)]);
}

fn half_full(facts: &mut Facts) {
    meminfo(facts, &[("Zswap", 800)]);
}

fn zram_instead(facts: &mut Facts) {
    facts.swaps = vec![area("/dev/zram0", 10)];
}

/// What was counted when the configuration was last changed.
fn counted(facts: &mut Facts, zswap: &[(&str, u64)], vmstat: &[(&str, u64)]) {
    let map = |list: &[(&str, u64)]| list.iter().map(|(name, count)| ((*name).to_owned(), *count)).collect();
    let (by, at) = ("apply 20261121-054801-a1b2".to_owned(), "2026-11-21T05:48:01Z".to_owned());
    let counted = crate::facts::CountersSinceBoot { by, at, boot: "x".into(), zswap: map(zswap), vmstat: map(vmstat) };
    facts.memory.counted = Fact::known(counted, "/run/swaptune/counters.json");
}

#[test]
fn what_was_counted_before_the_apply_is_no_fault_of_it() {
    let before = |facts: &mut Facts| {
        machine(facts, 800);
        counters(facts, &[("pool_limit_hit", 135_732), ("reject_compress_fail", 900), ("reject_alloc_fail", 800)]);
        counters(facts, &[("reject_reclaim_fail", 7_000)]);
        vmstat(facts, &[("pswpout", 44_000), ("zswpwb", 4), ("zswpout", 10_000), ("thp_swpout", 9)]);
    };
    let of_pool = |facts: &Facts| -> Vec<&str> {
        let found = super::super::zswap_pool::ROWS.iter().filter_map(|row| row.examine(facts));
        found.map(|found| found.code).collect()
    };
    let mut facts = Facts::default();
    before(&mut facts);
    let noisy = ["zswap-limit-hit", "zswap-rejects", "zswap-incompressible", "zswap-writeback-failing", "zswap-no-memory"];
    assert_eq!(of_pool(&facts), noisy);
    let zswap =
        [("pool_limit_hit", 135_732), ("reject_compress_fail", 900), ("reject_alloc_fail", 800), ("reject_reclaim_fail", 7_000)];
    counted(&mut facts, &zswap, &[("pswpout", 44_000), ("zswpwb", 4), ("zswpout", 10_000), ("thp_swpout", 9)]);
    assert_eq!(of_pool(&facts), [] as [&str; 0], "nothing has grown since");
    counters(&mut facts, &[("pool_limit_hit", 135_735)]);
    let found = find("zswap-limit-hit").unwrap().examine(&facts).unwrap();
    assert!(found.what.contains("3 times since apply 20261121-054801-a1b2 at 2026-11-21T05:48:01Z"), "{}", found.what);
}

pub(super) const CASES: &[FindingCase] = &[
    FindingCase {
        code: "zswap-pool-stuck",
        base: |f| {
            machine(f, 1500);
            counters(f, &[("pool_limit_hit", 2)]);
            vmstat(f, &[("pswpout", 44_000), ("zswpwb", 4)]);
        },
        says: &["1.5 GiB of 1.6 GiB (20 % of RAM)", "172 MiB went straight", "max_pool_percent=30", "= 43996 pages"],
        but_not: &[
            ("zswap is off", off),
            ("the pool is below the threshold", |f| meminfo(f, &[("Zswap", 1470)])),
            ("the pool never was full", |f| counters(f, &[("pool_limit_hit", 0)])),
            ("whether it was full is not known", |f| with_zswap(f, |z| z.counters = Fact::absent("not root"))),
            ("it drains", |f| vmstat(f, &[("zswpwb", 4_000)])),
            ("hardly anything went to the disk", |f| vmstat(f, &[("pswpout", 200)])),
            ("no limit is known", |f| meminfo(f, &[("MemTotal", 0)])),
            ("the percentage is nonsense", |f| zswap(f, &[("max_pool_percent", "200")])),
            ("write-back is not known", |f| f.memory.vmstat = Fact::absent("x")),
        ],
        also: &[
            ("just enough", |f| vmstat(f, &[("pswpout", 256), ("zswpwb", 0)]), "1 MiB went straight"),
            (
                "the exact counter",
                |f| {
                    half_full(f);
                    counters(f, &[("pool_total_size", 1600 << 20)]);
                },
                "1.6 GiB of",
            ),
            (
                "an old kernel's counter",
                |f| {
                    f.memory.vmstat = Fact::default();
                    vmstat(f, &[("pswpout", 44_000)]);
                    counters(f, &[("written_back_pages", 4)]);
                },
                "written back = 4 pages",
            ),
            (
                "a large share",
                |f| {
                    zswap(f, &[("max_pool_percent", "50")]);
                    meminfo(f, &[("Zswap", 4000)]);
                },
                "max_pool_percent=60",
            ),
            (
                "the whole",
                |f| {
                    zswap(f, &[("max_pool_percent", "100")]);
                    meminfo(f, &[("Zswap", 8000)]);
                },
                "swaptune plan --explain",
            ),
        ],
    },
    FindingCase {
        code: "zswap-pool-near-limit",
        base: |f| {
            machine(f, 1500);
            counters(f, &[("pool_limit_hit", 1)]);
        },
        says: &["1.5 GiB of 1.6 GiB", "the hottest first"],
        but_not: &[
            ("zswap is off", off),
            ("there is room", half_full),
            ("it is stuck, which is worse", |f| vmstat(f, &[("pswpout", 44_000), ("zswpwb", 4)])),
            ("it is just below", |f| meminfo(f, &[("Zswap", 1474)])),
            ("it is above a low threshold and never was full", |f| {
                zswap(f, &[("accept_threshold_percent", "50")]);
                meminfo(f, &[("Zswap", 900)]);
                counters(f, &[("pool_limit_hit", 0)]);
            }),
            ("it was full before the last change only", |f| counted(f, &[("pool_limit_hit", 1)], &[])),
            ("whether it was full is not known", |f| with_zswap(f, |z| z.counters = Fact::absent("not root"))),
        ],
        also: &[
            (
                "exactly the threshold",
                |f| {
                    zswap(f, &[("max_pool_percent", "25"), ("accept_threshold_percent", "50")]);
                    meminfo(f, &[("Zswap", 1024)]);
                },
                "1 GiB of 2 GiB",
            ),
            (
                "exactly the limit",
                |f| {
                    zswap(f, &[("max_pool_percent", "25"), ("accept_threshold_percent", "50")]);
                    meminfo(f, &[("Zswap", 2048)]);
                    with_zswap(f, |z| z.counters = Fact::absent("not root"));
                },
                "2 GiB of 2 GiB (25 % of RAM): from here",
            ),
            ("it drains", |f| vmstat(f, &[("pswpout", 44_000), ("zswpwb", 30_000)]), "hottest first"),
            ("the shrinker", |f| zswap(f, &[("shrinker_enabled", "Y")]), "did not prevent it"),
            ("a limit that was lowered", |f| meminfo(f, &[("Zswap", 2000)]), "only from the next store on"),
            (
                "another threshold",
                |f| {
                    half_full(f);
                    zswap(f, &[("accept_threshold_percent", "40")]);
                },
                "800 MiB",
            ),
        ],
    },
    FindingCase {
        code: "zswap-limit-hit",
        base: |f| {
            machine(f, 800);
            counters(f, &[("pool_limit_hit", 3)]);
        },
        says: &["3 times since boot", "pool_limit_hit: 3"],
        but_not: &[
            ("zswap is off", off),
            ("it never was", |f| counters(f, &[("pool_limit_hit", 0)])),
            ("it still is", |f| meminfo(f, &[("Zswap", 1600)])),
        ],
        also: &[],
    },
    FindingCase {
        code: "zswap-rejects",
        base: |f| {
            machine(f, 800);
            vmstat(f, &[("pswpout", 9_000), ("zswpwb", 1_000), ("zswpout", 100_000), ("thp_swpout", 7)]);
            counters(f, &[("reject_compress_poor", 4_000), ("pool_limit_hit", 0)]);
        },
        says: &["31.2 MiB went to the disk", "against 391 MiB", "reject_compress_poor 4000, thp_swpout 7", "= 8000 pages"],
        but_not: &[
            ("zswap is off", off),
            ("it was little", |f| vmstat(f, &[("pswpout", 5_095)])),
            ("it was little beside what was stored", |f| vmstat(f, &[("zswpout", 800_000)])),
            ("all of it was write-back", |f| vmstat(f, &[("zswpwb", 9_000)])),
            ("it went to zram", zram_instead),
            ("the pool is stuck, which says it already", |f| {
                machine(f, 1640);
                vmstat(f, &[("zswpwb", 0)]);
            }),
            ("nothing is known", |f| f.memory.vmstat = Fact::absent("x")),
        ],
        also: &[
            ("just enough", |f| vmstat(f, &[("pswpout", 5_096)]), "16 MiB went"),
            (
                "an old kernel, which counts no stores",
                |f| {
                    f.memory.vmstat = Fact::default();
                    vmstat(f, &[("pswpout", 9_000)]);
                    counters(f, &[("written_back_pages", 1_000), ("stored_pages", 2_560)]);
                },
                "against 10 MiB that are in it now",
            ),
        ],
    },
    FindingCase {
        code: "zswap-passed",
        base: |f| {
            machine(f, 800);
            vmstat(f, &[("pswpout", 9_000), ("zswpwb", 1_000), ("zswpout", 100_000)]);
        },
        says: &["31.2 MiB went to the disk", "against 391 MiB", "swapped before zswap was on"],
        but_not: &[
            ("a counter says why", |f| counters(f, &[("reject_compress_poor", 4_000)])),
            ("zswap is off", off),
            ("it was little", |f| vmstat(f, &[("pswpout", 5_095)])),
        ],
        also: &[],
    },
    FindingCase {
        code: "zswap-incompressible",
        base: |f| {
            machine(f, 800);
            vmstat(f, &[("zswpout", 10_000)]);
            counters(f, &[("reject_compress_poor", 300), ("reject_compress_fail", 300), ("stored_pages", 9_000)]);
        },
        says: &["2.3 MiB did not compress", "39.1 MiB stored"],
        but_not: &[
            ("zswap is off", off),
            ("they are few", |f| counters(f, &[("reject_compress_poor", 0), ("reject_compress_fail", 255)])),
            ("they are few among many", |f| vmstat(f, &[("zswpout", 12_000)])),
            ("nothing is counted", |f| with_zswap(f, |z| z.counters = Fact::absent("not root"))),
        ],
        also: &[
            (
                "just enough",
                |f| {
                    counters(f, &[("reject_compress_poor", 0), ("reject_compress_fail", 256)]);
                    vmstat(f, &[("zswpout", 5_000)]);
                },
                "1 MiB did not compress",
            ),
            (
                "just enough stored raw",
                |f| counters(f, &[("stored_incompressible_pages", 256), ("stored_pages", 300)]),
                "1 MiB of the 1.2 MiB",
            ),
            ("pages stored raw", |f| counters(f, &[("stored_incompressible_pages", 3_000)]), "11.7 MiB of the 35.2 MiB"),
            (
                "few pages stored raw",
                |f| counters(f, &[("stored_incompressible_pages", 255), ("stored_pages", 300)]),
                "2.3 MiB did",
            ),
            ("a small part stored raw", |f| counters(f, &[("stored_incompressible_pages", 2_250)]), "2.3 MiB did"),
        ],
    },
    FindingCase {
        code: "zswap-writeback-failing",
        base: |f| {
            machine(f, 800);
            counters(f, &[("reject_reclaim_fail", 300), ("written_back_pages", 299)]);
        },
        says: &["failed 300 times", "against 299 pages"],
        but_not: &[
            ("zswap is off", off),
            ("it was seldom", |f| counters(f, &[("reject_reclaim_fail", 255), ("written_back_pages", 0)])),
            ("more was written", |f| counters(f, &[("written_back_pages", 300)])),
        ],
        also: &[("just enough", |f| counters(f, &[("reject_reclaim_fail", 256), ("written_back_pages", 0)]), "256 times")],
    },
    FindingCase {
        code: "zswap-no-memory",
        base: |f| {
            machine(f, 800);
            counters(f, &[("reject_alloc_fail", 200), ("reject_kmemcache_fail", 56)]);
        },
        says: &["256 pages"],
        but_not: &[("zswap is off", off), ("it was seldom", |f| counters(f, &[("reject_alloc_fail", 199)]))],
        also: &[],
    },
    FindingCase {
        code: "zswap-decompress-fail",
        base: |f| counters(f, &[("decompress_fail", 2)]),
        says: &["2 pages could not", "compressor=lzo"],
        but_not: &[("there were none", |f| counters(f, &[("decompress_fail", 0)]))],
        also: &[(
            "a line of the log",
            |f| {
                counters(f, &[("decompress_fail", 0)]);
                log(f, "Decompression error from zswap (0:12 lzo 100->0)");
            },
            "1 pages could not",
        )],
    },
];
