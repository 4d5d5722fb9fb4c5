use std::collections::BTreeMap;

use super::*;
use crate::facts::{CountersSinceBoot, SwapKind, ZramDevice, ZramMmStat, ZswapFacts};

fn meminfo(lines: &[(&str, Bytes)]) -> Fact<BTreeMap<String, Bytes>> {
    Fact::known(lines.iter().map(|(key, size)| ((*key).to_owned(), *size)).collect(), "/proc/meminfo")
}

fn counts(lines: &[(&str, u64)]) -> BTreeMap<String, u64> {
    lines.iter().map(|(key, count)| ((*key).to_owned(), *count)).collect()
}

fn area(path: &str, size: Bytes, used: Bytes, priority: i32) -> SwapArea {
    SwapArea {
        path: path.into(),
        kind: SwapKind::Partition,
        size,
        used,
        priority,
        device: Fact::absent("not in this test"),
        uuid: Fact::default(),
        encryption: Fact::default(),
        filesystem: Fact::default(),
    }
}

fn zswap(enabled: bool, parameters: &[(&str, &str)], counters: Fact<BTreeMap<String, u64>>) -> Fact<ZswapFacts> {
    let parameters = parameters.iter().map(|(key, value)| ((*key).to_owned(), (*value).to_owned())).collect();
    Fact::known(ZswapFacts { enabled, parameters, counters, ..ZswapFacts::default() }, "/sys/module/zswap")
}

/// The machine of the guide: 8 GiB, pool 3 GiB, zstd, 8 GiB of swap, a gibibyte in zswap.
fn guide_machine() -> Facts {
    let mut facts = Facts::default();
    facts.kernel.page_size = Bytes(4096);
    facts.memory.meminfo = meminfo(&[
        ("MemTotal", Bytes::from_gib(8)),
        ("MemFree", Bytes::from_gib(1)),
        ("MemAvailable", Bytes::from_gib(2)),
        ("Cached", Bytes::from_gib(2)),
        ("Buffers", Bytes::from_mib(100)),
        ("Shmem", Bytes::from_gib(1)),
        ("AnonPages", Bytes::from_gib(3)),
        ("Slab", Bytes::from_mib(500)),
        ("KernelStack", Bytes::from_mib(20)),
        ("VmallocUsed", Bytes::from_mib(60)),
        ("PageTables", Bytes::from_mib(40)),
        ("SwapTotal", Bytes::from_gib(8)),
        ("SwapFree", Bytes::from_gib(7)),
        ("Zswap", Bytes::from_mib(432)),
        ("Zswapped", Bytes::from_mib(1024)),
    ]);
    facts.memory.vmstat = Fact::known(counts(&[("pswpout", 0), ("zswpwb", 0)]), "/proc/vmstat");
    let parameters = [("compressor", "zstd"), ("max_pool_percent", "38"), ("accept_threshold_percent", "90")];
    facts.zswap = zswap(true, &parameters, Fact::absent("debugfs is for root"));
    facts.swaps = vec![area("/dev/vda3", Bytes::from_gib(8), Bytes::from_mib(1024), 10)];
    facts
}

#[test]
fn the_guide_machine_is_explained() {
    let map = MemoryMap::from_facts(&guide_machine());
    let ram = map.ram.value().unwrap();
    assert_eq!(ram.applications, Bytes::from_gib(4));
    assert_eq!(ram.page_cache, Bytes(Bytes::from_gib(1).0 + Bytes::from_mib(100).0));
    assert_eq!(ram.kernel, Bytes::from_mib(600));
    assert_eq!(ram.compressed_pool, Bytes::from_mib(432));
    let pool = map.zswap.value().unwrap();
    assert_eq!(pool.ratio.value().unwrap().to_string(), "2.37");
    assert_eq!(pool.limit.value(), Some(&Bytes::from_gib(8).percent(38)));
    assert_eq!(pool.same_filled.source(), "debugfs is for root");
    // Nothing was ever written, whatever the slots say.
    assert_eq!(map.swap.on_disk_at_most, Bytes(0));
    assert_eq!(map.advice, None);
}

#[test]
fn capacity_counts_neither_the_pool_nor_its_slots_twice() {
    let mut facts = guide_machine();
    facts.memory.meminfo = meminfo(&[("MemTotal", Bytes::from_gib(8))]);
    let map = MemoryMap::from_facts(&facts);
    let capacity = map.capacity.value().unwrap();
    // 8 GiB × 38 % = 3.04 GiB of pool, × 2.3 = 7 GiB in it, 1 GiB of slots for the disk.
    assert!(!capacity.measured);
    assert_eq!(capacity.total.to_string(), "13 GiB");
    assert_eq!(capacity.without_disk.to_string(), "12 GiB");
    assert_eq!(capacity.popular_sum.to_string(), "23 GiB");
    assert_eq!(capacity.total.0, capacity.ram.0 - capacity.pool_ram.0 + capacity.compressed.0 + capacity.disk.0);
    assert_eq!(capacity.compressed.0 + capacity.disk.0, Bytes::from_gib(8).0);

    // Huge pages that are set aside hold nothing of it; zswap's limit stays a share of MemTotal.
    let mut with_huge = facts.clone();
    with_huge.memory.meminfo = meminfo(&[("MemTotal", Bytes::from_gib(8)), ("Hugetlb", Bytes::from_gib(4))]);
    let less = MemoryMap::from_facts(&with_huge);
    let less = less.capacity.value().unwrap();
    assert_eq!((less.pool_ram, less.total.0), (capacity.pool_ram, capacity.total.0 - Bytes::from_gib(4).0));

    // Half the swap: the slots run out before the pool does.
    facts.swaps[0].size = Bytes::from_gib(4);
    let map = MemoryMap::from_facts(&facts);
    let capacity = map.capacity.value().unwrap();
    assert_eq!((capacity.compressed, capacity.disk), (Bytes::from_gib(4), Bytes(0)));
    assert_eq!(capacity.pool_ram.to_string(), "1.7 GiB");

    // No swap: zswap adds nothing.
    facts.swaps.clear();
    let map = MemoryMap::from_facts(&facts);
    assert_eq!(map.capacity.value().unwrap().total, Bytes::from_gib(8));
}

fn zram_machine(disksize: Bytes, used: Bytes, stat: ZramMmStat) -> Facts {
    let mut facts = guide_machine();
    facts.zswap = Fact::absent("/sys/module/zswap is not there");
    facts.memory.meminfo = meminfo(&[("MemTotal", Bytes::from_gib(4)), ("MemFree", Bytes::from_gib(3))]);
    facts.zram.devices = vec![ZramDevice {
        name: "zram0".into(),
        disksize,
        algorithm: Fact::known("lz4".into(), "/sys/block/zram0/comp_algorithm"),
        mm_stat: Fact::known(stat, "/sys/block/zram0/mm_stat"),
        ..ZramDevice::default()
    }];
    facts.swaps = vec![area("/dev/zram0", disksize, used, 100)];
    facts
}

#[test]
fn zram_takes_ram_for_its_slots() {
    let stat = ZramMmStat {
        orig_data_size: Bytes::from_mib(300),
        mem_used_total: Bytes::from_mib(100),
        same_pages: 10,
        huge_pages: 3,
        ..ZramMmStat::default()
    };
    let map = MemoryMap::from_facts(&zram_machine(Bytes::from_gib(3), Bytes::from_mib(301), stat));
    let device = &map.zram[0];
    assert!(device.is_swap);
    assert_eq!(device.ratio.value().unwrap().to_string(), "3.00");
    assert_eq!((device.same_filled.value(), device.incompressible.value()), (Some(&Bytes(40960)), Some(&Bytes(12288))));
    assert_eq!(device.limit.source(), "/sys/block/zram0/mm_stat: no limit is set");
    assert_eq!(map.ram.value().unwrap().compressed_pool, Bytes::from_mib(100));
    let capacity = map.capacity.value().unwrap();
    assert!(capacity.measured);
    // 4 GiB − 1 GiB of pool + 3 GiB in it.
    assert_eq!((capacity.total, capacity.disk), (Bytes::from_gib(6), Bytes(0)));
    assert_eq!(map.swap.on_disk_at_most, Bytes(0));
}

#[test]
fn a_pool_cannot_be_larger_than_ram() {
    let map = MemoryMap::from_facts(&zram_machine(Bytes::from_gib(64), Bytes(0), ZramMmStat::default()));
    let capacity = map.capacity.value().unwrap();
    assert_eq!(capacity.pool_ram, Bytes::from_gib(4));
    assert_eq!(capacity.total, Bytes::from_gib(8));
    let limited = ZramMmStat { mem_limit: Bytes::from_gib(1), ..ZramMmStat::default() };
    let map = MemoryMap::from_facts(&zram_machine(Bytes::from_gib(64), Bytes(0), limited));
    assert_eq!(map.capacity.value().unwrap().total, Bytes::from_gib(5));
}

#[test]
fn old_kernels_say_what_they_cannot_say() {
    let mut facts = guide_machine();
    facts.memory.meminfo = meminfo(&[("MemTotal", Bytes::from_gib(8))]);
    let parameters = [("compressor", "lzo"), ("zpool", "zbud"), ("max_pool_percent", "20")];
    facts.zswap = zswap(true, &parameters, Fact::absent("debugfs is for root"));
    let map = MemoryMap::from_facts(&facts);
    let pool = map.zswap.value().unwrap();
    assert_eq!(pool.ram.source(), "/proc/meminfo has Zswap since Linux 5.19, and debugfs: debugfs is for root");
    assert!(!pool.ratio.is_known());
    assert!(!pool.accept_below.is_known());

    // zsmalloc pages are counted for everybody, zram's among them.
    facts.memory.vmstat = Fact::known(counts(&[("nr_zspages", 1000)]), "/proc/vmstat");
    let parameters = [("compressor", "lzo"), ("zpool", "zsmalloc"), ("max_pool_percent", "20")];
    facts.zswap = zswap(true, &parameters, Fact::absent("debugfs is for root"));
    let map = MemoryMap::from_facts(&facts);
    assert_eq!(map.zswap.value().unwrap().ram.value(), Some(&Bytes(4_096_000)));
    assert!(!map.swap.past_zswap.is_known());

    // With root, debugfs has it all.
    let counters = counts(&[("pool_total_size", 4_096_000), ("stored_pages", 2000), ("same_filled_pages", 5)]);
    facts.zswap = zswap(true, &parameters, Fact::known(counters, "debugfs"));
    let map = MemoryMap::from_facts(&facts);
    let pool = map.zswap.value().unwrap();
    assert_eq!(pool.ratio.value().unwrap().to_string(), "2.00");
    assert_eq!(pool.same_filled.value(), Some(&Bytes(20480)));
    assert!(pool.incompressible.source().contains("up to Linux 6.17"));
}

#[test]
fn what_is_on_disk_is_bounded_from_all_sides() {
    for (zram_used, disk_used, zswapped, pswpout, expect) in [
        (0, 100, 30, 1000, 70),
        (0, 100, 130, 1000, 0),
        (0, 100, 0, 20, 20),
        // Pages in zswap may keep slots of zram: only the rest must keep slots of the disk.
        (50, 100, 30, 1000, 100),
        (50, 100, 80, 1000, 70),
    ] {
        let mut facts = guide_machine();
        let mib = Bytes::from_mib;
        facts.swaps = vec![area("/dev/zram0", mib(200), mib(zram_used), 5), area("/dev/sda2", mib(200), mib(disk_used), 1)];
        let lines = [("MemTotal", Bytes::from_gib(8)), ("Zswap", mib(10)), ("Zswapped", mib(zswapped))];
        facts.memory.meminfo = meminfo(&lines);
        facts.memory.vmstat = Fact::known(counts(&[("pswpout", pswpout * 256)]), "/proc/vmstat");
        let map = MemoryMap::from_facts(&facts);
        assert_eq!(map.swap.on_disk_at_most, mib(expect), "{zram_used} {disk_used} {zswapped} {pswpout}");
    }
}

/// A pool between its threshold and its limit, and pages that went past it.
fn past_threshold(facts: &mut Facts, counters: Fact<BTreeMap<String, u64>>) {
    let total = Bytes::from_gib(8);
    facts.memory.meminfo = meminfo(&[("MemTotal", total), ("Zswap", total.percent(37)), ("Zswapped", total.percent(60))]);
    facts.memory.vmstat = Fact::known(counts(&[("pswpout", 900), ("zswpwb", 100)]), "/proc/vmstat");
    facts.zswap = zswap(true, &[("max_pool_percent", "38"), ("accept_threshold_percent", "90")], counters);
}

#[test]
fn advice_names_the_worst_thing_only() {
    let code = |edit: fn(&mut Facts)| {
        let mut facts = guide_machine();
        edit(&mut facts);
        MemoryMap::from_facts(&facts).advice.map(|advice| advice.code)
    };
    for (edit, expect) in [
        ((|_| ()) as fn(&mut Facts), None),
        (|facts| facts.swaps[0].used = Bytes::from_gib(8), Some("swap-full")),
        (|facts| facts.swaps.clear(), Some("zswap-without-swap")),
        (
            |facts| {
                let total = Bytes::from_gib(8);
                facts.memory.meminfo =
                    meminfo(&[("MemTotal", total), ("Zswap", total.percent(38)), ("Zswapped", total.percent(60))]);
                facts.memory.vmstat = Fact::known(counts(&[("pswpout", 900), ("zswpwb", 100)]), "/proc/vmstat");
            },
            Some("zswap-at-limit"),
        ),
        (|facts| past_threshold(facts, Fact::absent("debugfs is for root")), None),
        (|facts| past_threshold(facts, Fact::known(counts(&[("pool_limit_hit", 0)]), "debugfs")), None),
        (|facts| past_threshold(facts, Fact::known(counts(&[("pool_limit_hit", 2)]), "debugfs")), Some("zswap-at-limit")),
        (|facts| facts.swaps.push(area("/dev/zram0", Bytes::from_gib(1), Bytes(0), 50)), Some("zswap-over-zram")),
        (
            |facts| {
                facts.zswap = Fact::absent("no zswap");
                facts.swaps.push(area("/dev/zram0", Bytes::from_gib(1), Bytes(0), 10));
            },
            Some("priority-inverted"),
        ),
        (
            |facts| {
                facts.zswap = Fact::absent("no zswap");
                facts.swaps.push(area("/dev/zram0", Bytes::from_gib(1), Bytes(0), 11));
                facts.swaps[0].device = Fact::known("sda3".into(), "test");
                facts.block_devices.push(crate::facts::BlockDevice {
                    name: "sda3".into(),
                    size: Bytes::from_gib(8),
                    transport: crate::facts::Transport::Scsi,
                    rotational: Fact::known(true, "test"),
                    ..Default::default()
                });
            },
            None,
        ),
        (
            |facts| {
                facts.zswap = Fact::absent("no zswap");
                facts.swaps.clear();
            },
            Some("no-swap"),
        ),
        (
            |facts| {
                facts.zswap = Fact::absent("no zswap");
                facts.swaps.clear();
                let container = crate::facts::Container { kind: "lxc".into() };
                facts.system.container = Fact::known(container, "/proc/1/environ");
            },
            None,
        ),
        (
            |facts| {
                facts.zswap = Fact::absent("no zswap");
                facts.swaps.clear();
                facts.system.kubelets = vec![crate::facts::Kubelet::default()];
            },
            None,
        ),
        (|facts| facts.zswap = Fact::absent("no zswap"), Some("uncompressed-swap")),
    ] {
        assert_eq!(code(edit).as_deref(), expect);
    }
}

#[test]
fn without_meminfo_the_reason_stands_in_place_of_numbers() {
    let map = MemoryMap::from_facts(&Facts::default());
    assert_eq!(map.ram.source(), "no MemTotal: not looked for");
    assert!(!map.capacity.is_known());
}

/// A small generator, so that the property needs no seed file and fails the same way every time.
fn next(state: &mut u64) -> u64 {
    *state ^= *state << 13;
    *state ^= *state >> 7;
    *state ^= *state << 17;
    *state
}

#[test]
fn parts_add_up_to_the_total_whatever_the_counters_say() {
    let keys = [
        "MemTotal",
        "MemFree",
        "Cached",
        "Buffers",
        "Shmem",
        "AnonPages",
        "Slab",
        "KReclaimable",
        "SReclaimable",
        "KernelStack",
        "VmallocUsed",
        "PageTables",
        "SecPageTables",
        "Percpu",
        "Hugetlb",
        "Zswap",
        "Zswapped",
    ];
    let mut state = 0x9e37_79b9_7f4a_7c15;
    for _ in 0..2000 {
        let mut facts = guide_machine();
        let lines: Vec<_> = keys
            .iter()
            .filter_map(|key| {
                let size = Bytes(next(&mut state) >> (next(&mut state) % 64));
                (*key == "MemTotal" || next(&mut state) % 4 != 0).then_some((*key, size))
            })
            .collect();
        facts.memory.meminfo = meminfo(&lines);
        let size = Bytes(next(&mut state) >> (1 + next(&mut state) % 62));
        facts.swaps[0].size = size;
        facts.swaps[0].used = Bytes(next(&mut state) % (size.0 + 1));
        let map = MemoryMap::from_facts(&facts);
        let ram = map.ram.value().unwrap();
        let sum: u128 = ram.parts().iter().map(|(_, size)| u128::from(size.0)).sum();
        assert_eq!(sum, u128::from(ram.total.0), "{lines:?}");
        let capacity = map.capacity.value().unwrap();
        assert!(capacity.pool_ram <= capacity.ram);
        assert!(capacity.disk <= map.swap.disk_total());
        assert!(map.swap.on_disk_at_most <= map.swap.used);
    }
}

#[test]
fn what_was_gained_is_counted_from_the_apply() {
    let mut facts = guide_machine();
    assert_eq!(MemoryMap::from_facts(&facts).since, None, "nothing was applied");
    let counted = |by: &str| CountersSinceBoot {
        by: by.into(),
        at: "2026-11-21 05:48:01".into(),
        boot: "one".into(),
        zswap: BTreeMap::new(),
        vmstat: counts(&[("pswpin", 10), ("pswpout", 7), ("zswpin", 100), ("zswpout", 1000)]),
    };
    let now = |counters: &[(&str, u64)]| Fact::known(counts(counters), "/proc/vmstat");
    facts.memory.counted = Fact::known(counted("apply a"), "counters");
    facts.memory.vmstat = now(&[("pswpin", 13), ("pswpout", 7), ("zswpin", 600), ("zswpout", 1000)]);
    let since = MemoryMap::from_facts(&facts).since.unwrap();
    assert_eq!((since.loads, since.swap_reads, since.swap_writes, since.stores), (500, 3, 0, 0));
    assert_eq!(since.saved, i64::try_from(Bytes::from_mib(1024 - 432).0).unwrap());
    assert!(!since.is_quiet());
    assert_eq!(MemoryMap::from_facts(&facts).with_costs(&Evidence::default()).since, Some(since), "nothing was measured here");
    facts.memory.vmstat = now(&[("pswpin", 10), ("pswpout", 7), ("zswpin", 100), ("zswpout", 1000)]);
    assert!(MemoryMap::from_facts(&facts).since.is_some_and(|since| since.is_quiet()));
    facts.memory.counted = Fact::known(counted("rollback of a"), "counters");
    assert_eq!(MemoryMap::from_facts(&facts).since, None, "what was taken back brings nothing");
}
