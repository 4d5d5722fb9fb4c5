//! Machines where something is wrong.

use super::*;

/// What one class of text pages shows on a machine where something is wrong.
struct Bad {
    name: &'static str,
    machine: Machine,
    edit: fn(&mut Observation),
    store: &'static [(&'static str, i64)],
    load: &'static [(&'static str, i64)],
    place: Destination,
    verdict: Verdict,
    codes: &'static [&'static str],
    says: &'static str,
}

const TO_DISK: &[(&str, i64)] = &[("vmstat.pswpout", NPAGES)];
const FROM_DISK: &[(&str, i64)] = &[("vmstat.pswpin", NPAGES)];

fn bad_machines() -> Vec<Bad> {
    let base = Bad {
        name: "",
        machine: on(v(6, 12), true, DISK),
        edit: |_| (),
        store: TO_DISK,
        load: FROM_DISK,
        place: Disk,
        verdict: Verdict::NotAsPlanned,
        codes: &[],
        says: "",
    };
    vec![
        Bad {
            name: "pool at its limit",
            store: &[("vmstat.pswpout", NPAGES), ("zswap.pool_limit_hit", 12)],
            codes: &["zswap-at-limit"],
            says: "pool_limit_hit +12",
            ..base
        },
        Bad {
            name: "pool at its limit, seen without root",
            machine: Machine { root: false, ..base.machine },
            edit: |observation| observation.behaviour.pool_limit = Some(Bytes(1 << 29)),
            codes: &["zswap-at-limit"],
            says: "the pool at 1 GiB is at its limit",
            ..base
        },
        Bad {
            name: "pool in the band below its limit",
            machine: on(v(6, 1), true, DISK),
            edit: |observation| observation.behaviour.pool_accepts_below = Some(Bytes(1 << 29)),
            codes: &["zswap-draining"],
            says: "the pool was full and has not drained",
            ..base
        },
        Bad {
            name: "pool in the band below its limit, seen without root",
            machine: Machine { root: false, ..base.machine },
            edit: |observation| observation.behaviour.pool_accepts_below = Some(Bytes(1 << 29)),
            codes: &["zswap-draining"],
            says: "the pool may have been full",
            ..base
        },
        Bad {
            name: "pool above its threshold that never was full",
            edit: |observation| {
                observation.behaviour.pool_accepts_below = Some(Bytes(1 << 29));
                observation.classes[0].before.0.insert("zswap.pool_limit_hit".into(), 0);
                observation.classes[0].stored.0.insert("zswap.pool_limit_hit".into(), 0);
            },
            codes: &["zswap-bypassed"],
            says: "no counter says why",
            ..base
        },
        Bad {
            name: "allocator without memory",
            store: &[("vmstat.pswpout", NPAGES), ("zswap.reject_alloc_fail", 500)],
            codes: &["zswap-rejects"],
            says: "zswap.reject_alloc_fail +500",
            ..base
        },
        Bad {
            name: "compressor that fails",
            store: &[("vmstat.pswpout", NPAGES), ("zswap.reject_compress_fail", 500)],
            codes: &["zswap-rejects"],
            says: "the compressor failed",
            ..base
        },
        Bad {
            name: "limit of the control group",
            edit: |observation| {
                observation.cgroup = CgroupLimits { path: "/t".into(), zswap_max: Some(Bytes(0)), ..CgroupLimits::default() };
            },
            codes: &["zswap-group-limit"],
            says: "memory.zswap.max of /t allows 0 B",
            ..base
        },
        Bad { name: "bypassed and nothing says why", codes: &["zswap-bypassed"], says: "no counter says why", ..base },
        Bad {
            name: "5.10 without any zswap counter",
            machine: Machine { root: false, ..on(v(5, 10), true, DISK) },
            codes: &["zswap-bypassed"],
            says: "500 of 500 text pages went past zswap to the disk",
            ..base
        },
        Bad {
            name: "write-back forbidden for this group",
            edit: |observation| {
                observation.cgroup.path = "/a".into();
                observation.cgroup.writeback_off = true;
                observation.classes[0].cached = N;
            },
            store: &[],
            load: &[],
            place: Ram,
            codes: &["zswap-writeback-off"],
            says: "memory.zswap.writeback=0 on /a",
            ..base
        },
        Bad {
            name: "half of the pages would not move",
            edit: |observation| {
                observation.classes[0].swapped = N / 2;
                observation.cgroup.swap_max = Some(Bytes::from_mib(1));
            },
            store: &[("vmstat.zswpout", 250), ("meminfo.Zswapped", NBYTES / 2), ("zswap.stored_pages", 250)],
            load: &[("vmstat.zswpin", 250), ("meminfo.Zswapped", -NBYTES / 2)],
            place: Zswap,
            codes: &["stayed-in-ram"],
            says: "memory.swap.max",
            ..base
        },
        Bad {
            name: "a byte came back wrong",
            edit: |observation| {
                observation.classes[0].corrupt = Some(Corruption { page: 7, offset: 9, expected: 1, found: 3 });
            },
            codes: &["corrupt", "zswap-bypassed"],
            says: "page 7 came back wrong: byte 9 was 0x01 and is 0x03",
            verdict: Verdict::Corrupt,
            ..base
        },
        Bad {
            name: "pages that do not come back",
            edit: |observation| observation.classes[0].unreadable = 2,
            codes: &["unreadable", "zswap-bypassed"],
            says: "2 of 500 text pages could not be brought back",
            verdict: Verdict::Corrupt,
            ..base
        },
        Bad {
            name: "others swap ten times as much, everywhere",
            store: &[
                ("vmstat.pswpout", 5000),
                ("vmstat.zswpout", 5000),
                ("meminfo.Zswapped", 9 * NBYTES),
                ("zswap.stored_pages", 4500),
            ],
            load: &[("vmstat.zswpin", 600), ("meminfo.Zswapped", -NBYTES)],
            place: Zswap,
            verdict: Verdict::Undecided,
            ..base
        },
        Bad {
            name: "a counter that does not move",
            store: &[("vmstat.zswpout", NPAGES), ("zswap.stored_pages", NPAGES)],
            load: &[("vmstat.zswpin", NPAGES)],
            place: Zswap,
            verdict: Verdict::Proved,
            codes: &["counters"],
            says: "meminfo.Zswapped +0 for text pages, expected at least +1945600",
            ..base
        },
        Bad {
            name: "slots on the slower area",
            machine: on(v(6, 18), false, DISK),
            edit: |observation| {
                let fast = ActiveArea { path: "/dev/nvme0n1p3".into(), zram: false, priority: 20, free: Bytes::from_gib(1) };
                observation.behaviour.areas.insert(0, fast);
            },
            verdict: Verdict::Proved,
            codes: &["wrong-area"],
            says: "/dev/nvme0n1p3 has the higher priority (20)",
            ..base
        },
        Bad {
            name: "zram was first, but is not used",
            machine: on(v(6, 18), false, DISK),
            edit: |observation| {
                let fast = ActiveArea { path: ZRAM.into(), zram: true, priority: 100, free: Bytes::from_gib(1) };
                observation.behaviour.areas.insert(0, fast);
            },
            codes: &["elsewhere", "wrong-area"],
            says: "went to the disk and not to zram",
            ..base
        },
        Bad {
            name: "the same, where page table entries do not tell slots: /proc/swaps does",
            machine: on(v(6, 18), false, DISK),
            edit: |observation| {
                let fast = ActiveArea { path: ZRAM.into(), zram: true, priority: 100, free: Bytes::from_gib(1) };
                observation.behaviour.areas.insert(0, fast);
                let class = &mut observation.classes[0];
                class.areas.clear();
                class.before.0.extend([(format!("swaps.{ZRAM}"), 4096), (format!("swaps.{DISK}"), 0)]);
                class.stored.0.extend([(format!("swaps.{ZRAM}"), 4096), (format!("swaps.{DISK}"), NBYTES.unsigned_abs())]);
            },
            codes: &["elsewhere"],
            says: "went to the disk and not to zram",
            ..base
        },
    ]
}

#[test]
fn bad_machines_are_explained() {
    for bad in bad_machines() {
        let mut observation = bad.machine.observe(vec![bad.machine.class(CanaryClass::Text, bad.store, bad.load)]);
        (bad.edit)(&mut observation);
        let proof = judge(&observation);
        assert_eq!(proof.verdict, bad.verdict, "{}: {proof:#?}", bad.name);
        assert_eq!(codes(&proof), bad.codes, "{}: {:#?}", bad.name, proof.problems);
        assert_eq!(places(&proof), [bad.place], "{}", bad.name);
        let texts: String = proof.problems.iter().map(|problem| problem.text.as_str()).collect();
        assert!(texts.contains(bad.says), "{}: {texts}", bad.name);
        assert!(proof.problems.iter().all(|problem| !problem.cure.is_empty()), "{}", bad.name);
    }
}
