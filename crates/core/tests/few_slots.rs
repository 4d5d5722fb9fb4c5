//! zram before a disk that has fewer slots than the device pages: what `auto` makes of such machines.
#![allow(clippy::unwrap_used, reason = "helpers of tests may panic")]

use std::collections::BTreeMap;

use swaptune_core::change::Change;
use swaptune_core::facts::{Availability, Encryption, Manager, SwapArea, SwapKind, ZramDevice};
use swaptune_core::measurement::{
    Conditions, Estimate, Evidence, Measurement, ResultFigures, SCHEMA, SampleFigures, SampledCodec,
};
use swaptune_core::plan::{Plan, PlanRequest, plan};
use swaptune_core::settings::{PoolLimit, Settings, ZramWanted, read_toml};
use swaptune_core::{Bytes, Fact, Facts, profiles};

/// 965 MiB of RAM behind two areas of 256 MiB each; / has no room for more.
fn facts() -> Facts {
    let text = include_str!("../../../tests/fixtures/hosts/debian13-6.12/expected/facts.json");
    serde_json::from_str(text).unwrap()
}

fn with_slots(mib: u64) -> Facts {
    let mut facts = facts();
    facts.swaps.truncate(1);
    facts.swaps[0].size = Bytes::from_mib(mib);
    facts.block_devices.iter_mut().find(|device| device.name == "vda3").unwrap().size = Bytes::from_mib(mib);
    facts
}

fn with_device(mib: u64, manager: Option<&str>) -> Facts {
    let mut facts = facts();
    let size = Bytes::from_mib(mib);
    let device = ZramDevice { name: "zram0".into(), disksize: size, ..ZramDevice::default() };
    facts.zram.driver = Fact::known(Availability::Loaded, "/proc/modules");
    facts.zram.devices = vec![ZramDevice { algorithm: Fact::known("lz4".into(), "comp_algorithm"), ..device }];
    facts.swaps.push(SwapArea {
        path: "/dev/zram0".into(),
        kind: SwapKind::Partition,
        size,
        used: Bytes(0),
        priority: 100,
        device: Fact::known("zram0".into(), "/proc/swaps"),
        uuid: Fact::absent("/dev/disk/by-uuid"),
        encryption: Fact::known(Encryption::None, "dm"),
        filesystem: Fact::absent("a device"),
    });
    let manager = manager.map(|name| Manager { name: name.into(), evidence: "/etc".into(), active: true });
    facts.system.managers.extend(manager);
    facts
}

/// A sample in which each compressor has this ratio.
fn sampled(facts: &Facts, stored: f64) -> Evidence {
    let exactly = |value| Estimate { value, low: value, high: value };
    let codec = |name: &str| SampledCodec {
        codec: name.into(),
        ratio: exactly(stored),
        incompressible: exactly(0.0),
        stored: BTreeMap::from([("zsmalloc".into(), exactly(stored))]),
    };
    let figures = ResultFigures::Sample(SampleFigures {
        of: SampleFigures::ALL.into(),
        present: 100_000,
        sampled: 4096,
        processes: 50,
        unread: 0,
        zero: exactly(0.0),
        same_filled: exactly(0.0),
        codecs: ["zstd", "lz4"].map(codec).to_vec(),
        cold: None,
    });
    let kernel = facts.kernel.release.value().unwrap().clone();
    let conditions = Conditions { machine: "here".into(), kernel: kernel.clone(), ..Conditions::default() };
    let (run, at) = ("0".to_owned(), "2026-11-26T11:00:00Z".to_owned());
    Evidence::new(vec![Measurement { schema: SCHEMA, run, at, command: "test".into(), conditions, figures }], "here", &kernel)
}

fn settings(facts: &Facts, evidence: &Evidence, config: &str) -> Settings {
    profiles::resolve(vec![read_toml("c.toml", config, None).unwrap()], facts, evidence, None).unwrap()
}

fn planned(facts: &Facts, evidence: &Evidence) -> Plan {
    plan(&PlanRequest {
        facts,
        settings: &settings(facts, evidence, ""),
        evidence,
        forecast: None,
        now: true,
        boot: true,
        record: true,
        wipe: &[],
        binary: "/usr/local/bin/swaptune",
        installed: true,
        seed: 7,
    })
}

/// The device that is wanted; `None` where zswap is.
fn device(facts: &Facts, evidence: &Evidence, config: &str) -> Option<ZramWanted> {
    let settings = settings(facts, evidence, config);
    assert_ne!(settings.wants_zswap(), settings.wants_zram(), "one of both");
    settings.zram.map(|devices| devices.value[0].clone())
}

#[test]
fn zram_goes_before_areas_with_fewer_slots_than_it_has_pages() {
    let plan = planned(&facts(), &Evidence::default());
    assert_eq!(plan.refusals, []);
    let made = plan.steps.iter().find(|step| matches!(step.change, Change::Zram { .. })).unwrap();
    assert_eq!(made.change.to_string(), "zram0: not set up → 960 MiB lz4");
    assert!(
        made.reason.contains("the pool holds no more than 512 MiB of swap; a page in zram needs none, and the disk"),
        "{made:?}"
    );
    assert!(made.reason.ends_with("its pages is not measured, so that it has 100 % of RAM, 8 GiB at most"), "{made:?}");
    let capacity = plan.capacity.unwrap();
    assert!(capacity.after.total > capacity.before.total && capacity.after.without_disk > capacity.before.without_disk);
    let note = &plan.notes.iter().find(|note| note.about == "swap areas").unwrap().text;
    assert!(
        note.starts_with("512 MiB of slots are behind zram; with the 3.8 GiB that are planned for, zswap in front of them"),
        "{note}"
    );
}

#[test]
fn as_many_slots_as_the_device_has_pages_are_enough_for_zswap() {
    let none = Evidence::default();
    assert_eq!(device(&with_slots(959), &none, "").unwrap().size, Bytes::from_mib(960));
    assert_eq!(device(&with_slots(960), &none, ""), None);
    // A larger file that is to be made has the slots.
    let file = "[[swap]]\npath = \"/swapfile\"\nsize = \"1G\"\n";
    assert_eq!(device(&facts(), &none, file), None);
    assert!(device(&facts(), &none, &file.replace("1G", "512M")).is_some());
}

#[test]
fn who_sets_something_of_zswap_has_zswap() {
    let (facts, none) = (facts(), Evidence::default());
    for line in ["enabled = true", "compressor = \"zstd\"", "max_pool_percent = 40", "shrinker_enabled = true"] {
        assert_eq!(device(&facts, &none, &format!("[zswap]\n{line}\n")), None, "{line}");
    }
    let mut without = facts.clone();
    without.zram.driver = Fact::absent("no zram");
    assert_eq!(device(&without, &none, ""), None);
    assert_eq!(device(&facts, &none, "[[swap]]\npath = \"/dev/not-there\"\n"), None, "a size that is not known");
}

#[test]
fn a_device_is_as_large_as_a_full_pool_of_measured_pages() {
    let facts = facts();
    let ram = facts.memory.total().0 as f64;
    for tenths in 10..100 {
        let ratio = f64::from(tenths) / 10.0;
        let evidence = sampled(&facts, ratio);
        let size = |facts: &Facts| device(facts, &evidence, "").unwrap().size.0 as f64 / ram;
        let pool = settings(&facts, &evidence, "[zswap]\nenabled = true\n").zswap.pool().unwrap();
        let PoolLimit::Percent(percent) = pool.value else { panic!("{pool:?}") };
        let share = percent as f64 / 100.0 * ratio;
        // No areas, so that zram is taken at each ratio.
        let alone = size(&Facts { swaps: Vec::new(), ..facts.clone() });
        // Four times RAM are planned for.
        assert!(alone <= share && alone <= 4.0, "{ratio}: {alone} of RAM");
        assert!(alone > share.min(4.0) - 0.1, "{ratio}: {alone} of RAM, and {share} would do");
    }
    let setting = settings(&facts, &sampled(&facts, 3.1), "").zram.unwrap();
    let (reason, evidence) = setting.provenance.reasoning().unwrap();
    assert!(
        reason.contains("full, a device of 245 % of RAM takes 79 % at a measured 3.10 : 1, and its table 9.2 MiB"),
        "{reason}"
    );
    assert!(evidence.starts_with("run 0 (sample") && evidence.matches("run 0").count() == 1, "{evidence}");
}

#[test]
fn a_device_that_is_swap_keeps_its_size_and_its_manager() {
    let none = Evidence::default();
    assert_eq!(device(&with_device(704, None), &none, "").unwrap().size, Bytes::from_mib(704));
    assert_eq!(device(&with_device(448, None), &none, "").unwrap().size, Bytes::from_mib(448));
    let mut plan = planned(&with_device(704, Some("zram-generator")), &none);
    plan.steps.retain(|step| step.change.target().contains("zram"));
    assert_eq!(plan.steps, [], "it is left to its manager");
    // A larger one than is planned now is not taken away for slots that the one planned would not miss.
    let mut larger = with_device(1536, None);
    larger.swaps[0].size = Bytes::from_gib(1);
    larger.block_devices.iter_mut().find(|device| device.name == "vda3").unwrap().size = Bytes::from_gib(1);
    assert!(device(&larger, &none, "").is_some());
    larger.swaps[1].size = Bytes::from_mib(512);
    larger.block_devices.iter_mut().find(|device| device.name == "vda4").unwrap().size = Bytes::from_mib(512);
    assert_eq!(device(&larger, &none, ""), None);
}
