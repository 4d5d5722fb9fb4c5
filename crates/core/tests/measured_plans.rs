//! Measurements in the place of assumed figures: what `auto` makes of results, on captured machines.
#![allow(clippy::unwrap_used, reason = "helpers of tests may panic")]

use std::collections::BTreeMap;

use swaptune_core::facts::{CountersSinceBoot, Transport};
use swaptune_core::measurement::{
    CipherFigures, Conditions, DiskFigures, DiskIdentity, DiskShape, Estimate, Evidence, IoFigures, LandingFigures, Measurement,
    MemoryOrder, ResultFigures, SCHEMA, SampleFigures, SampledCodec, SwapFigures, SwapRound, SwapTier,
};
use swaptune_core::memory_map::MemoryMap;
use swaptune_core::plan::{Plan, PlanRequest, plan};
use swaptune_core::proof::CanaryClass;
use swaptune_core::settings::{PoolLimit, Settings, read_toml};
use swaptune_core::stats::{Nanos, Quantiles};
use swaptune_core::{Bytes, Fact, Facts, KernelVersion, profiles};

const MACHINE: &str = "0123456789abcdef";

/// The facts of a captured machine whose kernel has no zram, so that zswap is the tier however few slots there are.
macro_rules! host {
    ($name:literal) => {
        facts(include_str!(concat!("../../../tests/fixtures/hosts/", $name, "/expected/facts.json")))
    };
}

fn facts(text: &str) -> Facts {
    let mut facts: Facts = serde_json::from_str(text).unwrap();
    facts.zram.driver = Fact::absent("no zram");
    facts
}

/// Results of one machine and kernel; each gets a run of its own.
struct Bench {
    machine: String,
    kernel: String,
    measurements: Vec<Measurement>,
    runs: usize,
}

impl Bench {
    fn on(facts: &Facts) -> Self {
        let kernel = facts.kernel.release.value().unwrap().clone();
        Self { machine: MACHINE.into(), kernel, measurements: Vec::new(), runs: 0 }
    }

    fn run(mut self, rows: impl IntoIterator<Item = ResultFigures>) -> Self {
        let run = self.runs.to_string();
        let at = format!("2026-11-21T05:{:02}:00Z", self.runs);
        self.runs += 1;
        let conditions = Conditions { machine: self.machine.clone(), kernel: self.kernel.clone(), ..Conditions::default() };
        self.measurements.extend(rows.into_iter().map(|figures| Measurement {
            schema: SCHEMA,
            run: run.clone(),
            at: at.clone(),
            command: "test".into(),
            conditions: conditions.clone(),
            figures,
        }));
        self
    }

    fn evidence(&self, facts: &Facts) -> Evidence {
        Evidence::new(self.measurements.clone(), MACHINE, facts.kernel.release.value().unwrap())
    }

    fn settings(&self, facts: &Facts) -> Settings {
        profiles::resolve(Vec::new(), facts, &self.evidence(facts), None).unwrap()
    }

    fn plan(&self, facts: &Facts) -> Plan {
        let (evidence, settings) = (self.evidence(facts), self.settings(facts));
        plan(&PlanRequest {
            facts,
            settings: &settings,
            evidence: &evidence,
            forecast: None,
            now: true,
            boot: true,
            record: false,
            wipe: &[],
            binary: "/usr/local/bin/swaptune",
            installed: true,
            seed: 7,
        })
    }
}

fn sample(ratios: &[(&str, f64)]) -> ResultFigures {
    let around = |value: f64| Estimate { value: value + 0.1, low: value, high: value + 0.2 };
    let none = Estimate { value: 0.0, low: 0.0, high: 0.0 };
    let codec = |(name, ratio): &(&str, f64)| SampledCodec {
        codec: (*name).into(),
        ratio: around(*ratio),
        incompressible: none,
        stored: BTreeMap::from([("zsmalloc".into(), around(*ratio))]),
    };
    ResultFigures::Sample(SampleFigures {
        of: SampleFigures::ALL.into(),
        present: 100_000,
        sampled: 4096,
        processes: 50,
        unread: 0,
        zero: none,
        same_filled: none,
        codecs: ratios.iter().map(codec).collect(),
        cold: None,
    })
}

fn quantiles(micros: u64) -> Quantiles {
    let at = Nanos(micros * 1000);
    Quantiles { samples: 1000, min: at, p50: at, p90: at, p99: at, p999: None, max: at }
}

fn round(store: u64, load: u64, loads_per_second: f64) -> SwapRound {
    let nanos = |micros| Nanos(micros * 1000);
    SwapRound { store: nanos(store), load: nanos(load), stores_per_second: 1e6 / store as f64, loads_per_second }
}

fn swap(tier: SwapTier, order: MemoryOrder, page_cluster: u32, store: u64, load: u64, loads_per_second: f64) -> ResultFigures {
    ResultFigures::Swap(SwapFigures {
        tier,
        class: CanaryClass::Text,
        page_cluster,
        threads: 1,
        store: Some(quantiles(store)),
        load: Some(quantiles(load)),
        stores_per_second: 1e6 / store as f64,
        order,
        loads_per_second,
        rounds: [0.99, 1.0, 1.01].map(|part| round(store, load, loads_per_second * part)).to_vec(),
        landing: LandingFigures::default(),
    })
}

fn zswap(compressor: &str, store: u64, load: u64) -> ResultFigures {
    swap(
        SwapTier::Zswap { compressor: compressor.into(), zpool: "zsmalloc".into() },
        MemoryOrder::Random,
        0,
        store,
        load,
        1e6 / load as f64,
    )
}

fn disk(shape: DiskShape, places: usize, iops: f64, micros: u64) -> ResultFigures {
    let io = IoFigures { iops, bytes_per_second: iops * 4096.0, latency: quantiles(micros) };
    ResultFigures::Disk(DiskFigures {
        disks: vec!["vda".into()],
        identities: Vec::new(),
        places: (0..places).map(|number| format!("/swap{number}")).collect(),
        shape,
        jobs: 1,
        size: Bytes::from_gib(1),
        seconds: 1.0,
        engine: "libaio".into(),
        rounds: vec![iops, iops * 1.01, iops * 0.99],
        read: Some(io),
        write: None,
    })
}

fn compressor(settings: &Settings) -> String {
    settings.zswap.compressor().unwrap().value[0].clone()
}

fn knob<'a>(settings: &'a Settings, name: &str) -> &'a str {
    &settings.knobs[name].value
}

#[test]
fn without_results_everything_is_assumed() {
    let facts = host!("debian13-6.12");
    let settings = Bench::on(&facts).settings(&facts);
    assert_eq!(settings, profiles::resolve(Vec::new(), &facts, &Evidence::default(), None).unwrap());
    assert_eq!(settings.zswap.compressor().unwrap().provenance.to_string(), "derived");
}

#[test]
fn a_quicker_compressor_is_taken_only_when_it_holds_nearly_as_much() {
    let facts = host!("busybox-6.12-zswap");
    assert!(facts.kernel.cpus.value() == Some(&1), "one processor: a third less is still near enough");
    let mut two = facts.clone();
    two.kernel.cpus = swaptune_core::Fact::known(2, "test");
    for (lz4, facts, chosen) in [(2.71, &two, "lz4"), (2.69, &two, "zstd"), (2.11, &facts, "lz4"), (2.09, &facts, "zstd")] {
        let bench = Bench::on(facts)
            .run([sample(&[("lz4", lz4), ("zstd:1", 9.0), ("zstd:3", 3.0), ("lzo", 1.5), ("lzo-rle", 1.6)])])
            .run([zswap("lz4", 8, 3), zswap("zstd", 20, 8), zswap("lzo", 9, 4), zswap("lzo-rle", 9, 4)]);
        let settings = bench.settings(facts);
        assert_eq!(compressor(&settings), chosen, "lz4 at {lz4} on {:?} processors", facts.kernel.cpus.value());
        let setting = settings.zswap.compressor().unwrap();
        assert_eq!(setting.provenance.to_string(), "measurement");
        let (_, evidence) = setting.provenance.reasoning().unwrap();
        assert!(evidence.contains("run 0 (sample") && evidence.contains("run 1 (bench swap"), "{evidence}");
    }
}

#[test]
fn a_sample_of_one_compressor_compares_nothing() {
    let facts = host!("busybox-6.12-zswap");
    let settings = Bench::on(&facts).run([sample(&[("lz4", 4.0)])]).settings(&facts);
    assert_eq!(settings.zswap.compressor().unwrap().provenance.to_string(), "derived");
}

#[test]
fn the_pool_follows_the_cautious_end_of_the_sample() {
    let facts = host!("debian13-6.12");
    let ram = facts.memory.total();
    let pool = |ratio: f64| {
        let bench = Bench::on(&facts).run([sample(&[("zstd:3", ratio), ("lz4", ratio / 2.0)])]);
        let text = format!("[[swap]]\npath = \"/swapfile\"\nsize = \"{}\"\n", ram.compact());
        let layer = read_toml("c.toml", &text, None).unwrap();
        let settings = profiles::resolve(vec![layer], &facts, &bench.evidence(&facts), None).unwrap();
        settings.zswap.pool().unwrap()
    };
    // Halfway between 1 : 1, the kernel's own 20 %, and 1.5 : 1.
    let limit = pool(1.25);
    assert_eq!(limit.value, PoolLimit::Percent(50));
    let (reason, evidence) = limit.provenance.reasoning().unwrap();
    assert!(
        reason.contains("a full pool of 50 % holds 63 % of RAM at a measured 1.25 : 1 and leaves 50 % to run in"),
        "{reason}"
    );
    assert!(reason.contains("less than the most, 80 %: where pages hardly compress"), "{reason}");
    assert!(evidence.starts_with("run 0 (sample") && evidence.contains("66 services held with 82 %"), "{evidence}");
    let most = pool(10.0);
    assert_eq!(most.value, PoolLimit::Percent(80), "never more than was seen to work");
    let reason = most.provenance.reasoning().unwrap().0.to_owned();
    assert!(reason.contains("which is the most: what runs, and the kernel itself, need the rest"), "{reason}");
    assert!(reason.ends_with("of swap fills at most 10 %: a larger limit brings nothing"), "{reason}");
    let poor = pool(1.1);
    assert_eq!(poor.value, PoolLimit::Percent(32), "what hardly compresses is better off in RAM");
    assert!(poor.provenance.reasoning().unwrap().0.contains("; the rest of 96"), "{poor:?}");
}

#[test]
fn swappiness_follows_the_measured_costs() {
    let facts = host!("debian13-6.12");
    let with = |store, load, read| {
        let bench = Bench::on(&facts)
            .run([sample(&[("zstd:3", 3.0), ("lz4", 2.0)])])
            .run([zswap("zstd", store, load)])
            .run([disk(DiskShape::PageRead, 1, 1e4, read)]);
        knob(&bench.settings(&facts), "vm.swappiness").to_owned()
    };
    assert_eq!(with(15, 5, 40), "133", "twice as fast, as in vm.rst");
    assert_eq!(with(15, 5, 20), "100");
    assert_eq!(with(1, 1, 10_000), "190", "a page of a spinning disk does not make all file pages worthless");
    let without_disk = Bench::on(&facts).run([zswap("zstd", 15, 5)]);
    assert_eq!(without_disk.settings(&facts).knobs["vm.swappiness"].provenance.to_string(), "derived");
}

#[test]
fn read_ahead_must_bring_more_than_scatter() {
    let facts = host!("debian13-6.12");
    let with = |in_order, at_random| knob(&read_ahead(&facts, in_order, at_random), "vm.page-cluster").to_owned();
    assert_eq!(with(121.0, 100.0), "3");
    assert_eq!(with(119.0, 100.0), "0", "within scatter");
    assert_eq!(with(400.0, 90.0), "0", "loads at random pay for it");
}

/// What is planned after read-ahead of 8 pages from zswap brought `in_order` and `at_random` loads a second, where single pages brought 100.
fn read_ahead(facts: &Facts, in_order: f64, at_random: f64) -> Settings {
    let tier = || SwapTier::Zswap { compressor: "zstd".into(), zpool: "zsmalloc".into() };
    let row = |order, page_cluster, loads| swap(tier(), order, page_cluster, 10, 5, loads);
    let (ordered, random) = (MemoryOrder::Sequential, MemoryOrder::Random);
    let rows = [
        row(ordered, 0, 100.0),
        row(random, 0, 100.0),
        row(ordered, 1, 90.0),
        row(random, 1, 100.0),
        row(ordered, 3, in_order),
        row(random, 3, at_random),
    ];
    Bench::on(facts).run(rows).settings(facts)
}

#[test]
fn what_zswap_reads_ahead_and_cannot_be_evicted_is_never_worth_it() {
    let mut facts = host!("debian13-6.12");
    let mut with = |release: &str| {
        facts.kernel.version = Fact::known(KernelVersion::from_release(release).unwrap(), "/proc/sys/kernel/osrelease");
        let setting = read_ahead(&facts, 400.0, 100.0).knobs["vm.page-cluster"].clone();
        (setting.value, setting.provenance.reasoning().unwrap().1.to_owned())
    };
    assert_eq!(with("6.15.9").0, "3");
    for release in ["6.16.0", "6.18.44", "7.1.2"] {
        let (value, evidence) = with(release);
        assert_eq!(value, "0", "{release}");
        assert!(evidence.contains("mm/vmscan.c, pageout()") && evidence.contains("simulations.md"), "{evidence}");
    }
}

#[test]
fn a_spinning_disk_is_read_ahead_unless_that_fills_ram_from_zswap() {
    let mut facts = host!("debian13-6.12");
    for disk in &mut facts.block_devices {
        (disk.transport, disk.rotational) = (Transport::Scsi, Fact::known(true, "queue/rotational"));
    }
    let mut with = |release: &str, zswap: bool| {
        facts.kernel.version = Fact::known(KernelVersion::from_release(release).unwrap(), "/proc/sys/kernel/osrelease");
        let text = format!("[zswap]\nenabled = {zswap}\n");
        let layer = read_toml("c.toml", &text, None).unwrap();
        let settings = profiles::resolve(vec![layer], &facts, &Evidence::default(), None).unwrap();
        settings.knobs.get("vm.page-cluster").map(|setting| setting.value.clone())
    };
    assert_eq!(with("6.15.9", true).as_deref(), Some("2"));
    assert_eq!(with("6.16.0", true).as_deref(), Some("0"));
    assert_eq!(with("6.16.0", false).as_deref(), Some("2"), "the disk keeps a copy of what it reads");
}

#[test]
fn several_files_are_made_only_where_they_were_measured_to_be_faster() {
    let facts = host!("microvm-6.18");
    let with = |iops: f64| {
        let rows =
            [disk(DiskShape::Mixed, 1, 1000.0, 90), disk(DiskShape::Mixed, 4, iops, 90), disk(DiskShape::PageRead, 2, 9e9, 1)];
        Bench::on(&facts).run(rows).settings(&facts).swap.unwrap()
    };
    let one = with(1190.0);
    assert_eq!(one.value.len(), 1);
    assert!(
        one.provenance.reasoning().unwrap().0.contains("4 areas on vda did 1.19 times the operations of one (1.1"),
        "{:?}",
        one.provenance
    );
    let four = with(1210.0).value;
    let paths: Vec<&str> = four.iter().map(|area| area.path.as_str()).collect();
    assert_eq!(paths, ["/swapfile", "/swapfile1", "/swapfile2", "/swapfile3"]);
    assert_eq!(four.iter().map(|area| area.size.unwrap()).collect::<Vec<_>>(), vec![Bytes(one.value[0].size.unwrap().0 / 4); 4]);
}

#[test]
fn other_machines_and_other_kernels_are_no_evidence() {
    let facts = host!("debian13-6.12");
    let rows = || [sample(&[("zstd:3", 3.0), ("lz4", 2.9)]), zswap("zstd", 20, 10), zswap("lz4", 5, 2)];
    let mut other = Bench::on(&facts);
    other.machine = "another".into();
    assert!(other.run(rows()).evidence(&facts).is_empty());
    let mut other = Bench::on(&facts);
    other.kernel = "5.10.0".into();
    let evidence = other.run(rows()).evidence(&facts);
    assert!(evidence.sample().is_some(), "pages stay what they are");
    assert!(evidence.zswap_cost("lz4").is_none(), "the kernel's own path does not");
}

#[test]
fn the_newest_result_counts() {
    let facts = host!("debian13-6.12");
    let bench = Bench::on(&facts).run([zswap("zstd", 20, 10)]).run([zswap("zstd", 10, 4)]);
    let cost = bench.evidence(&facts).zswap_cost("zstd").unwrap();
    assert_eq!((cost.value.both(), cost.source.starts_with("run 1 ")), (Nanos(14_000), true));
}

#[test]
fn a_plan_cites_each_result_and_tells_of_the_cipher() {
    let facts = host!("microvm-6.18");
    let cipher = CipherFigures { cipher: "aes-xts".into(), key_bits: 256, encrypt_mib_s: 2946.0, decrypt_mib_s: 2956.0 };
    let bench = Bench::on(&facts)
        .run([sample(&[("lzo-rle", 2.4), ("lzo", 2.3)])])
        .run([zswap("lzo-rle", 11, 4), zswap("lzo", 12, 5)])
        .run([disk(DiskShape::PageRead, 1, 1e4, 60)])
        .run([ResultFigures::Cipher(cipher)]);
    let plan = bench.plan(&facts);
    let evidence_of = |target: &str| {
        let step =
            plan.steps.iter().find(|step| step.change.target() == target).unwrap_or_else(|| panic!("no {target}: {plan:#?}"));
        (step.provenance.as_str(), step.evidence.clone())
    };
    for (target, run) in [
        ("zswap.compressor", "run 0 (sample"),
        ("zswap.max_pool_percent", "run 0 (sample"),
        ("vm.swappiness", "run 1 (bench swap"),
    ] {
        let (provenance, evidence) = evidence_of(target);
        assert_eq!(provenance, "measurement", "{target}");
        assert!(evidence.contains(run), "{target}: {evidence}");
    }
    let note = plan.notes.iter().find(|note| note.about == "encryption of swap").unwrap();
    assert!(
        note.text.contains("aes-xts-plain64 with a key of 256 bits") && note.evidence.starts_with("run 3 (bench cipher"),
        "{note:?}"
    );
}

/// The same as [`disk`], on these.
fn on(disks: &[&str], iops: f64) -> ResultFigures {
    let ResultFigures::Disk(figures) = disk(DiskShape::Mixed, disks.len(), iops, 60) else { unreachable!() };
    let disks = disks.iter().map(|name| (*name).to_owned()).collect();
    ResultFigures::Disk(DiskFigures { disks, ..figures })
}

#[test]
fn a_cipher_is_judged_by_the_disk_below_the_swap_areas() {
    let facts = host!("debian13-6.12");
    assert_eq!(facts.swap_disk().as_deref(), Some("vda"));
    let cipher = CipherFigures { cipher: "aes-xts".into(), key_bits: 256, encrypt_mib_s: 2946.0, decrypt_mib_s: 2956.0 };
    let note = |runs: &[ResultFigures]| {
        let bench = Bench::on(&facts).run([ResultFigures::Cipher(cipher.clone())]);
        let plan = runs.iter().fold(bench, |bench, run| bench.run([run.clone()])).plan(&facts);
        plan.notes.iter().find(|note| note.about == "encryption of swap").unwrap().text.clone()
    };
    let of_vda = note(&[on(&["vda"], 1e5)]);
    assert!(of_vda.contains("of the throughput of vda (run 1 (bench disk"), "{of_vda}");
    let usb = note(&[on(&["sdb"], 1e3)]);
    assert!(!usb.contains("throughput"), "another disk says nothing: {usb}");
    assert_eq!(note(&[on(&["vda"], 1e5), on(&["sdb"], 1e3)]), of_vda, "nor does it when it was measured later");
    let both = note(&[on(&["vda", "sdb"], 1e6)]);
    assert!(!both.contains("throughput"), "two disks are as fast as neither: {both}");
}

#[test]
fn a_result_counts_for_the_disk_and_not_for_its_name() {
    let facts = host!("debian13-6.12");
    let identity = |id: Option<&str>, gib| DiskIdentity {
        id: id.map(str::to_owned),
        size: Some(Bytes::from_gib(gib)),
        model: Some("a model".into()),
    };
    let counts = |then: Option<DiskIdentity>, now: Option<DiskIdentity>| {
        let ResultFigures::Disk(figures) = disk(DiskShape::PageRead, 1, 1e4, 60) else { unreachable!() };
        let figures = DiskFigures { identities: then.into_iter().collect(), ..figures };
        let evidence = Bench::on(&facts).run([ResultFigures::Disk(figures)]).evidence(&facts);
        evidence.of_disks(|name| now.clone().filter(|_| name == "vda")).page_read(Some("vda")).is_some()
    };
    assert!(counts(Some(identity(Some("a"), 8)), Some(identity(Some("a"), 8))));
    assert!(counts(Some(identity(Some("a"), 8)), Some(identity(Some("a"), 16))), "it has grown");
    assert!(!counts(Some(identity(Some("a"), 8)), Some(identity(Some("b"), 8))), "another of its kind");
    assert!(!counts(Some(identity(None, 8)), Some(identity(None, 16))));
    assert!(!counts(Some(identity(Some("a"), 8)), Some(identity(None, 16))));
    assert!(counts(None, Some(identity(Some("a"), 8))), "an older result does not say");
    assert!(counts(Some(identity(Some("a"), 8)), None), "the machine does not say");
}

#[test]
fn a_sample_and_a_plan_choose_by_one_rule() {
    let modern = host!("debian13-6.12");
    // What of the usual compressors is left: no zstd and lz4, as on kernels built for little.
    let mut old = modern.clone();
    old.compressors.iter_mut().filter(|one| matches!(one.name.as_str(), "zstd" | "lz4")).for_each(|one| {
        one.availability = swaptune_core::facts::Availability::Absent;
    });
    let mut busy = modern.clone();
    busy.kernel.cpus = Fact::known(4, "test");
    let all = [("lz4", 2.6), ("zstd", 3.6), ("lz4hc", 2.8), ("deflate", 4.9)];
    let near = [("lz4", 3.5), ("zstd", 3.6), ("deflate", 3.7)];
    let mut seen = Vec::new();
    for facts in [&modern, &old, &busy] {
        for ratios in [&all[..], &near[..], &[("deflate", 4.0)][..], &[][..]] {
            let benches = [
                Bench::on(facts).run([sample(ratios)]),
                Bench::on(facts).run([sample(ratios)]).run([zswap("zstd", 4, 3), zswap("lz4", 30, 20)]),
            ];
            for bench in benches {
                let advice = profiles::auto::compressor(facts, &bench.evidence(facts)).unwrap();
                let planned = bench.plan(facts).steps.into_iter().find_map(|step| match step.change {
                    swaptune_core::change::Change::Knob { name, after, .. } if name == "zswap.compressor" => Some(after),
                    _ => None,
                });
                // Without a step it is so already.
                let planned = planned.or_else(|| facts.zswap.value()?.parameter("compressor").map(str::to_owned));
                assert_eq!(Some(&advice.codec), planned.as_ref(), "{ratios:?}: {advice:?}");
                assert!(advice.codec != "deflate", "80 µs a page are never advised: {advice:?}");
                seen.push(advice.codec);
            }
        }
    }
    seen.sort();
    seen.dedup();
    assert!(seen.len() > 2, "only {seen:?}");
}

/// No library has LZO: what lz4 makes of the pages stands for it where the kernel has no other compressor, and says so.
#[test]
fn a_sample_counts_for_compressors_that_no_library_has() {
    let facts = host!("microvm-6.18");
    let settings = |ratio: f64| Bench::on(&facts).run([sample(&[("lz4", ratio), ("zstd", ratio * 1.5)])]).settings(&facts);
    let limit = |ratio| settings(ratio).zswap.pool().unwrap();
    assert_eq!(limit(3.0).value, limit(1.6).value, "both are measured to gain");
    assert_ne!(limit(3.0).value, limit(1.2).value);
    let (reason, evidence) = limit(3.0).provenance.reasoning().map(|(a, b)| (a.to_owned(), b.to_owned())).unwrap();
    assert!(reason.contains("at a measured 3.00 : 1") && evidence.contains("with lz4 for lzo-rle"), "{reason}; {evidence}");
}

#[test]
fn what_compressing_took_is_counted_pages_times_what_one_takes_here() {
    let mut facts = host!("debian13-6.12");
    let counts = |counters: &[(&str, u64)]| counters.iter().map(|(key, count)| ((*key).to_owned(), *count)).collect();
    facts.memory.counted = Fact::known(
        CountersSinceBoot {
            by: "apply a".into(),
            at: "2026-11-21 05:48:01".into(),
            boot: "one".into(),
            zswap: BTreeMap::new(),
            vmstat: counts(&[("pswpin", 0), ("pswpout", 0), ("zswpin", 100), ("zswpout", 1000)]),
        },
        "counters",
    );
    let now = counts(&[("pswpin", 7), ("pswpout", 7), ("zswpin", 600), ("zswpout", 3000)]);
    facts.memory.vmstat = Fact::known(now, "/proc/vmstat");
    let compressor = MemoryMap::from_facts(&facts).zswap.value().unwrap().compressor.value().unwrap().clone();
    let spent = |bench: &Bench| MemoryMap::from_facts(&facts).with_costs(&bench.evidence(&facts)).since.unwrap().spent;
    let bench = Bench::on(&facts).run([zswap("zstd", 24, 9)]);
    assert_eq!(spent(&bench), None, "another compressor");
    let found = spent(&bench.run([zswap(&compressor, 11, 4)])).unwrap();
    assert_eq!(found.time, Nanos((2000 * 11 + 500 * 4) * 1000));
    assert!(found.source.contains("bench swap"), "{}", found.source);
}
