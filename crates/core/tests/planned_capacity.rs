//! What fits before a plan and after it, on captured machines.
#![allow(clippy::unwrap_used, reason = "helpers of tests may panic")]

use swaptune_core::change::Change;
use swaptune_core::facts::{Encryption, SwapArea, SwapKind, Transport};
use swaptune_core::measurement::Evidence;
use swaptune_core::memory_map::MemoryMap;
use swaptune_core::plan::{Plan, PlanRequest, plan};
use swaptune_core::settings::read_toml;
use swaptune_core::{Bytes, Fact, Facts, profiles};

/// Areas of 512 MiB behind 965 MiB of RAM, nothing compressed, and a kernel without zram, which would go before so few slots.
fn facts() -> Facts {
    let mut facts = with_zram();
    facts.zram.driver = Fact::absent("no zram");
    facts
}

/// The same with the zram that it has.
fn with_zram() -> Facts {
    let text = include_str!("../../../tests/fixtures/hosts/debian13-6.12/expected/facts.json");
    serde_json::from_str(text).unwrap()
}

fn planned(facts: &Facts, config: &str, now: bool) -> Plan {
    let evidence = Evidence::default();
    let settings = profiles::resolve(vec![read_toml("c.toml", config, None).unwrap()], facts, &evidence, None).unwrap();
    plan(&PlanRequest {
        facts,
        settings: &settings,
        evidence: &evidence,
        forecast: None,
        now,
        boot: true,
        record: true,
        wipe: &[],
        binary: "/usr/local/bin/swaptune",
        installed: true,
        seed: 7,
    })
}

fn note(plan: &Plan) -> Option<&str> {
    plan.notes.iter().find(|note| note.about == "capacity").map(|note| note.text.as_str())
}

#[test]
fn less_room_in_all_is_said_with_what_is_had_for_it() {
    let facts = facts();
    let ram = facts.memory.total();
    let plan = planned(&facts, "", true);
    let capacity = plan.capacity.unwrap();
    assert_eq!(capacity.before, *MemoryMap::from_facts(&facts).capacity.value().unwrap(), "as status says");
    let swap = capacity.before.disk;
    assert_eq!((capacity.before.total.0, capacity.before.without_disk), (ram.0 + swap.0, ram));
    // All of the swap at 2 : 1 fits into the pool, which takes half of its size in RAM.
    assert_eq!(capacity.after.pool_ram, Bytes(swap.0 / 2));
    assert_eq!(capacity.after.total.0, ram.0 - swap.0 / 2 + swap.0);
    assert_eq!(capacity.after.without_disk, capacity.after.total);
    let said = note(&plan).unwrap();
    assert!(said.starts_with("falls from 1.4 GiB to 1.2 GiB: full pools take 256 MiB of RAM instead of 0 B"), "{said}");
    assert!(said.contains("in exchange 1.2 GiB instead of 965 MiB fits without reading a disk"), "{said}");
    assert!(said.contains("more disk swap makes up for it"), "{said}");
    assert_eq!(planned(&facts, "", false).capacity, plan.capacity, "what is planned for the boot alone comes to the same");
}

#[test]
fn as_much_more_swap_as_is_said_makes_up_for_it() {
    let facts = facts();
    let before = planned(&facts, "", true).capacity.unwrap().before;
    let said = planned(&facts, "", true).notes.into_iter().find(|note| note.about == "capacity").unwrap().text;
    let more: u64 = said.split("; ").last().unwrap().split(' ').next().unwrap().parse().unwrap();
    let with = |mib: u64| {
        let size = format!("{mib}M");
        let areas: String = ["/dev/vda3", "/dev/vda4"].map(|path| format!("[[swap]]\npath = \"{path}\"\n")).concat();
        planned(&facts, &format!("{areas}[[swap]]\npath = \"/swapfile\"\nsize = \"{size}\"\n"), true)
    };
    let enough = with(more);
    assert!(enough.capacity.unwrap().after.total >= before.total && note(&enough).is_none(), "{more} MiB: {:?}", enough.capacity);
    assert!(with(more - 8).capacity.unwrap().after.total < before.total, "{more} MiB is not more than it takes");
}

#[test]
fn a_machine_without_swap_holds_more() {
    let mut facts = with_zram();
    facts.swaps.clear();
    let plan = planned(&facts, "", true);
    let capacity = plan.capacity.unwrap();
    assert_eq!(capacity.before.total, facts.memory.total());
    assert!(capacity.after.total > capacity.before.total && note(&plan).is_none(), "{capacity:?}");
    let zram = planned(&facts, "[[zram]]\nsize = \"512M\"\nalgorithm = \"lz4\"\n", true).capacity.unwrap();
    assert_eq!(zram.after.total.0, facts.memory.total().0 + (256 << 20), "512 MiB at 2 : 1");
}

#[test]
fn ratios_of_results_are_taken_on_both_sides() {
    let measured = |value| Some(swaptune_core::measurement::MeasuredAnswer { value, source: "run 7".into() });
    let mut facts = facts();
    let map = MemoryMap::from_facts(&facts).with_ratios("zsmalloc", |_, _| measured(4.0));
    assert!(map.capacity.value().unwrap().measured, "nothing is compressed here");
    if let swaptune_core::Fact::Known { value, .. } = &mut facts.zswap {
        value.enabled = true;
    }
    let map =
        MemoryMap::from_facts(&facts).with_ratios("zsmalloc", |_, allocator| measured(4.0).filter(|_| allocator == "zsmalloc"));
    let capacity = map.capacity.value().unwrap();
    assert!(capacity.measured);
    assert_eq!(capacity.pool_ram, Bytes(capacity.slots().0 / 4));
}

/// The same machine with a root file system of this much free space.
fn with_free(gib: u64) -> Facts {
    let mut facts = facts();
    let root = facts.mounts.iter_mut().find(|mount| mount.at == "/").unwrap();
    root.free = Fact::known(Bytes::from_gib(gib), "statvfs");
    facts
}

fn swap_file(facts: &Facts) -> Option<Bytes> {
    planned(facts, "", true).steps.iter().find_map(|step| match &step.change {
        Change::SwapFile { path, after: Some(file), .. } if path == "/swapfile" => Some(file.size),
        _ => None,
    })
}

#[test]
fn areas_that_are_too_small_get_a_file_beside_them_and_more_fits() {
    let facts = with_free(40);
    let plan = planned(&facts, "", true);
    // Four times 965 MiB less 512 MiB, in steps of 256 MiB.
    assert_eq!(swap_file(&facts), Some(Bytes::from_mib(3328)));
    let capacity = plan.capacity.unwrap();
    assert!(capacity.after.total > capacity.before.total && capacity.after.without_disk > capacity.before.without_disk);
    assert_eq!(note(&plan), None, "nothing falls");
    assert_eq!(swap_file(&with_free(6)), Some(Bytes::from_mib(1536)), "a quarter of what is free");
    assert_eq!(swap_file(&with_free(3)), None, "less than 1 GiB is not worth a file");
}

#[test]
fn a_file_beside_the_areas_is_made_once() {
    let mut facts = with_free(40);
    let file = SwapArea {
        path: "/swapfile".into(),
        kind: SwapKind::File,
        size: Bytes(Bytes::from_mib(3328).0 - 4096),
        priority: 10,
        ..facts.swaps[0].clone()
    };
    facts.swaps.push(file);
    assert_eq!(swap_file(&facts), None);
    facts.swaps[2].size = Bytes::from_mib(256);
    assert_eq!(swap_file(&facts), None, "a file that is there is not grown");
}

#[test]
fn no_file_is_made_beside_areas_that_must_not_have_one() {
    let mut encrypted = with_free(40);
    encrypted.swaps[0].encryption = Fact::known(Encryption::Plain, "dm");
    assert_eq!(swap_file(&encrypted), None, "its owner does not want plain pages on a disk");
    let root = encrypted.mounts.iter().find(|mount| mount.at == "/").and_then(|mount| mount.device.value()).unwrap().clone();
    let device = encrypted.block_devices.iter_mut().find(|device| device.name == root).unwrap();
    device.dm_uuid = Some("CRYPT-LUKS2-0123-root".into());
    assert_eq!(swap_file(&encrypted), Some(Bytes::from_mib(3328)), "what lies on / is encrypted too");
    let mut spinning = with_free(40);
    for disk in &mut spinning.block_devices {
        disk.transport = Transport::Scsi;
        disk.rotational = Fact::known(true, "queue");
    }
    assert_eq!(swap_file(&spinning), None, "heads would go back and forth");
}
