mod bad;
mod good;

use std::collections::BTreeMap;

use super::*;
use crate::facts::{SwapArea, SwapKind, ZswapFacts};
use crate::{Fact, Facts};
use swaptune_kernel::{KernelVersion, v};

const PAGE: u64 = 4096;
const N: u64 = 500;
const NPAGES: i64 = 500;
const NBYTES: i64 = 500 * 4096;

/// A machine on which the proof runs.
#[derive(Clone, Copy)]
struct Machine {
    version: KernelVersion,
    zswap: bool,
    area: &'static str,
    root: bool,
}

const fn on(version: KernelVersion, zswap: bool, area: &'static str) -> Machine {
    Machine { version, zswap, area, root: true }
}

const DISK: &str = "/dev/vda3";
const ZRAM: &str = "/dev/zram0";

impl Machine {
    /// Counters that this kernel shows, all at the same value: only movements count.
    fn counters(&self) -> BTreeMap<String, u64> {
        let mut names = vec!["vmstat.pswpin", "vmstat.pswpout"];
        let mut since = |version, more: &[&'static str]| {
            if self.version >= version {
                names.extend(more);
            }
        };
        since(v(5, 19), &["vmstat.zswpin", "vmstat.zswpout", "meminfo.Zswap", "meminfo.Zswapped"]);
        since(v(6, 8), &["vmstat.zswpwb"]);
        since(v(6, 12), &["vmstat.swpin_zero", "vmstat.swpout_zero"]);
        if self.root {
            since(v(5, 10), &["zswap.stored_pages", "zswap.pool_total_size", "zswap.pool_limit_hit", "zswap.reject_alloc_fail"]);
            since(v(6, 7), &["zswap.reject_compress_fail"]);
            since(v(6, 18), &["zswap.stored_incompressible_pages"]);
            if self.version < v(6, 12) {
                names.push("zswap.same_filled_pages");
            }
        }
        if self.area == ZRAM {
            names.extend([
                "zram.zram0.orig_data_size",
                "zram.zram0.mem_used_total",
                "zram.zram0.same_pages",
                "zram.zram0.huge_pages",
            ]);
        }
        let mut counters: BTreeMap<_, _> = names.into_iter().map(|name| (name.to_owned(), 1 << 40)).collect();
        // A pool of a gibibyte, below the limit of 20 % of 8 GiB.
        for size in ["meminfo.Zswap", "zswap.pool_total_size"] {
            counters.entry(size.into()).and_modify(|bytes| *bytes = 1 << 30);
        }
        counters.insert("meminfo.SwapTotal".into(), 8 << 30);
        counters.insert("meminfo.SwapFree".into(), 7 << 30);
        counters
    }

    fn facts(&self) -> Facts {
        let mut facts = Facts::default();
        facts.kernel.version = Fact::known(self.version, "test");
        facts.kernel.page_size = Bytes(PAGE);
        let counters = self.counters();
        let strip = |prefix: &str| -> BTreeMap<String, u64> {
            counters.iter().filter_map(|(name, count)| Some((name.strip_prefix(prefix)?.to_owned(), *count))).collect()
        };
        facts.memory.vmstat = Fact::known(strip("vmstat."), "/proc/vmstat");
        facts.memory.meminfo = Fact::known([("MemTotal".to_owned(), Bytes::from_gib(8))].into(), "/proc/meminfo");
        let mut parameters: BTreeMap<String, String> = [("max_pool_percent".to_owned(), "20".to_owned())].into();
        if self.version < v(6, 10) {
            parameters.insert("same_filled_pages_enabled".into(), "Y".into());
        }
        let counters = if self.root { Fact::known(strip("zswap."), "debugfs") } else { Fact::absent("debugfs is for root") };
        facts.zswap = Fact::known(ZswapFacts { enabled: self.zswap, parameters, counters, ..ZswapFacts::default() }, "test");
        facts.swaps = vec![SwapArea {
            path: self.area.into(),
            kind: SwapKind::Partition,
            size: Bytes::from_gib(8),
            used: Bytes::from_gib(1),
            priority: 10,
            device: Fact::default(),
            uuid: Fact::default(),
            encryption: Fact::default(),
            filesystem: Fact::default(),
        }];
        facts
    }

    fn class(&self, class: CanaryClass, store: &[(&str, i64)], load: &[(&str, i64)]) -> ClassObservation {
        let before = Snapshot(self.counters());
        let stored = shifted(&before, store);
        ClassObservation {
            class,
            pages: N,
            swapped: N,
            cached: 0,
            areas: [(self.area.to_owned(), N)].into(),
            loaded: shifted(&stored, load),
            stored,
            before,
            store: None,
            load: None,
            bytes_checked: Bytes(N * PAGE),
            unreadable: 0,
            corrupt: None,
        }
    }

    fn observe(&self, classes: Vec<ClassObservation>) -> Observation {
        Observation { behaviour: SwapBehaviour::from_facts(&self.facts()), classes, ..Observation::default() }
    }
}

/// Moves counters; one that this kernel lacks is a mistake of the test.
fn shifted(snapshot: &Snapshot, moves: &[(&str, i64)]) -> Snapshot {
    let mut moved = snapshot.clone();
    for (name, delta) in moves {
        let counter = moved.0.get_mut(*name).unwrap_or_else(|| panic!("{name} does not exist here"));
        *counter = counter.wrapping_add_signed(*delta);
    }
    moved
}

fn codes(proof: &Proof) -> Vec<&str> {
    proof.problems.iter().map(|problem| problem.code.as_str()).collect()
}

fn places(proof: &Proof) -> Vec<Destination> {
    proof.classes.iter().map(|class| class.landed[0].destination).collect()
}

use Destination::{Disk, Ram, ZeroMark, Zram, Zswap};

#[test]
fn what_cannot_be_pushed_is_impossible_with_a_reason() {
    let machine = on(v(6, 18), true, DISK);
    let stuck = || {
        let mut class = machine.class(CanaryClass::Text, &[], &[]);
        class.swapped = 0;
        machine.observe(vec![class])
    };
    let proof = judge(&stuck());
    assert_eq!(proof.verdict, Verdict::Impossible);
    assert!(proof.summary.contains("MADV_PAGEOUT"), "{}", proof.summary);

    let mut limited = stuck();
    limited.cgroup = CgroupLimits { path: "/docker/1".into(), swap_max: Some(Bytes(0)), ..CgroupLimits::default() };
    let proof = judge(&limited);
    assert_eq!(proof.impossible.unwrap().reason, "memory.swap.max of /docker/1 allows 0 B of swap");

    let mut full = stuck();
    full.classes[0].before.0.insert("meminfo.SwapFree".into(), 0);
    assert!(judge(&full).summary.contains("swap is full"));

    let reason = Impossible { reason: "no swap area is on".into(), remedy: "add one".into() };
    let proof = judge(&Observation { impossible: Some(reason.clone()), ..Observation::default() });
    assert_eq!((proof.verdict, proof.impossible), (Verdict::Impossible, Some(reason)));
}

#[test]
fn others_can_raise_counters_but_not_the_certain_numbers() {
    let machine = on(v(6, 18), true, DISK);
    // Our 500 went to zswap; others wrote 100 pages to disk and stored 40.
    let store: &[_] =
        &[("vmstat.zswpout", 540), ("vmstat.pswpout", 100), ("meminfo.Zswapped", NBYTES), ("zswap.stored_pages", 540)];
    let proof = judge(&machine.observe(vec![machine.class(CanaryClass::Text, store, good::ZSWAP_LOAD)]));
    assert_eq!(proof.classes[0].landed, [Landing { destination: Zswap, pages: 500, at_least: 400 }]);
    assert_eq!(proof.verdict, Verdict::Undecided);
    assert_eq!(proof.notes, ["other processes swapped 140 pages meanwhile, as far as the counters tell"]);

    // zswap writes back what it took: pages that others need not have written.
    let store: &[_] = &[
        ("vmstat.zswpout", NPAGES),
        ("vmstat.pswpout", 100),
        ("vmstat.zswpwb", 100),
        ("meminfo.Zswapped", NBYTES * 4 / 5),
        ("zswap.stored_pages", 400),
    ];
    let load: &[_] = &[("vmstat.zswpin", 400), ("vmstat.pswpin", 100), ("meminfo.Zswapped", -NBYTES * 4 / 5)];
    let proof = judge(&machine.observe(vec![machine.class(CanaryClass::Text, store, load)]));
    assert_eq!(proof.classes[0].landed, [Landing { destination: Zswap, pages: 500, at_least: 500 }]);
    assert_eq!((proof.verdict, proof.documented), (Verdict::Proved, true), "{:#?}", proof.problems);
}

#[test]
fn pages_that_linger_in_the_swap_cache_do_not_spoil_the_proof() {
    let machine = on(v(6, 18), false, DISK);
    let load: &[_] = &[("vmstat.pswpin", 460)];
    let mut class = machine.class(CanaryClass::Text, &[("vmstat.pswpout", NPAGES)], load);
    class.cached = 40;
    let proof = judge(&machine.observe(vec![class]));
    assert_eq!(proof.classes[0].landed, [Landing { destination: Disk, pages: 500, at_least: 460 }]);
    assert_eq!((proof.verdict, proof.documented), (Verdict::Proved, true), "{:#?}", proof.problems);
}

#[test]
fn pages_that_were_not_read_back_prove_nothing() {
    let machine = on(v(6, 18), false, DISK);
    let mut class = machine.class(CanaryClass::Text, &[("vmstat.pswpout", NPAGES)], &[]);
    class.cached = N;
    class.bytes_checked = Bytes(0);
    let proof = judge(&machine.observe(vec![class]));
    assert_eq!((proof.verdict, places(&proof)), (Verdict::Undecided, vec![Disk]), "{:#?}", proof.problems);
    assert!(
        proof.summary.starts_with("500 of 500 text pages had a copy in RAM and were not read back from the disk"),
        "{}",
        proof.summary
    );
}

#[test]
fn a_small_class_that_mostly_stayed_is_not_as_planned() {
    // Pages of 64 KiB: a class has fewer than a list of a CPU may hold.
    let machine = on(v(6, 18), true, DISK);
    let store: &[_] = &[("vmstat.zswpout", 41), ("meminfo.Zswapped", 41 * 4096), ("zswap.stored_pages", 41)];
    let mut class = machine.class(CanaryClass::Text, store, &[]);
    (class.pages, class.swapped) = (80, 41);
    assert_eq!(judge(&machine.observe(vec![class])).verdict, Verdict::NotAsPlanned);
}

#[test]
fn expectations_follow_what_the_kernel_shows_before_its_version() {
    // A 6.17 with the raw-store patch shows the counter, so random pages are expected in zswap.
    let mut facts = on(v(6, 17), true, DISK).facts();
    if let Fact::Known { value, .. } = &mut facts.zswap {
        let counters = BTreeMap::from([("stored_incompressible_pages".to_owned(), 0)]);
        value.counters = Fact::known(counters, "debugfs");
    }
    assert_eq!(SwapBehaviour::from_facts(&facts).expect(CanaryClass::Random).0, Zswap);
    // Without version and counters the older behaviour is assumed.
    facts.kernel.version = Fact::absent("no release");
    facts.zswap = Fact::known(ZswapFacts { enabled: true, ..ZswapFacts::default() }, "test");
    let behaviour = SwapBehaviour::from_facts(&facts);
    assert_eq!(behaviour.expect(CanaryClass::Random).0, Disk);
    assert_eq!(behaviour.zswap_load_frees, None);
}

#[test]
fn only_areas_of_the_highest_priority_with_room_are_expected() {
    let area = |path: &str, priority, free| ActiveArea { path: path.into(), zram: false, priority, free: Bytes::from_mib(free) };
    let behaviour = SwapBehaviour {
        page_size: Bytes(PAGE),
        areas: vec![area("full", 30, 1), area("a", 10, 100), area("b", 10, 100), area("c", 5, 100)],
        ..SwapBehaviour::default()
    };
    let first: Vec<_> = behaviour.first_areas().iter().map(|area| area.path.as_str()).collect();
    assert_eq!(first, ["a", "b"]);
    let (place, why) = SwapBehaviour { page_size: Bytes(PAGE), ..SwapBehaviour::default() }.expect(CanaryClass::Text);
    assert_eq!((place, why.as_str()), (Ram, "no swap area has room"));
}

#[test]
fn a_proof_reads_back_from_json() {
    let good = &good::machines()[3];
    let classes = vec![good.machine.class(CanaryClass::Text, good.store[1], good.load[1])];
    let observation = good.machine.observe(classes);
    let text = serde_json::to_string(&observation).unwrap();
    assert_eq!(serde_json::from_str::<Observation>(&text).unwrap(), observation);
    let proof = judge(&observation);
    let text = serde_json::to_string(&proof).unwrap();
    assert_eq!(serde_json::from_str::<Proof>(&text).unwrap(), proof);
}
