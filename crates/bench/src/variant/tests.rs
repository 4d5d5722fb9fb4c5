//! Tests of the table of configurations and of what they change.

use std::path::Path;

use swaptune_core::change::Change;
use swaptune_core::facts::SwapArea;

use super::*;

const MICROVM: &str = include_str!("../../../../tests/fixtures/hosts/microvm-6.18/expected/facts.json");

const DEBIAN: &str = include_str!("../../../../tests/fixtures/hosts/debian13-6.12/expected/facts.json");

fn machine() -> Facts {
    serde_json::from_str(MICROVM).unwrap()
}

fn built_in(name: &str, memory: Bytes) -> Preparation {
    prepared(&machine(), name, memory).unwrap()
}

fn prepared(facts: &Facts, spec: &str, memory: Bytes) -> Result<Preparation, String> {
    let evidence = Evidence::default();
    let spec = Spec::read(spec).map_err(|error| error.to_string())?;
    let variant =
        spec.resolve(&pose(facts, memory), &evidence, Path::new("/var/tmp/area.swap")).map_err(|error| error.to_string())?;
    prepare(&variant, (facts, memory), &evidence, Path::new("/var/tmp"))
}

fn words(preparation: &Preparation) -> Vec<String> {
    preparation.changes.iter().map(ToString::to_string).collect()
}

fn pool_of(preparation: &Preparation) -> Option<&str> {
    preparation.changes.iter().find_map(|change| match change {
        Change::Knob { name, after, .. } if name == "zswap.max_pool_percent" => Some(after.as_str()),
        _ => None,
    })
}

#[test]
fn every_variant_can_be_planned_and_none_writes_a_file_of_the_configuration() {
    let gib = Bytes::from_gib(1);
    for built_in_one in BUILT_IN {
        let preparation = built_in(built_in_one.name, gib);
        let files = preparation.changes.iter().filter(|change| matches!(change, Change::File { .. } | Change::Link { .. }));
        assert_eq!(files.count(), 0, "{}", built_in_one.name);
    }
}

#[test]
fn no_swap_changes_nothing_on_a_machine_that_has_none() {
    assert_eq!(built_in("none", machine().memory.total()), Preparation::default());
}

#[test]
fn swap_files_are_made_in_the_folder_of_the_benchmark() {
    for name in ["disk", "zswap", "guide", "auto"] {
        let preparation = built_in(name, Bytes::from_gib(1));
        let paths: Vec<&String> = preparation
            .changes
            .iter()
            .filter_map(|change| match change {
                Change::SwapFile { path, .. } | Change::SwapHeader { path, .. } | Change::Swap { path, .. } => Some(path),
                _ => None,
            })
            .collect();
        assert_eq!(paths, ["/var/tmp/swaptune-variant-0.swap"; 3], "{name}: {:?}", words(&preparation));
    }
}

#[test]
fn the_pool_is_a_share_of_the_memory_that_services_have() {
    let total = machine().memory.total();
    let quarter = built_in("zswap", Bytes(total.0 / 4));
    assert_eq!((pool_of(&quarter), quarter.pool_percent.map(f64::round)), (Some("5"), Some(20.0)), "20 % of a quarter");
    let whole = built_in("zswap", total);
    assert_eq!((pool_of(&whole), whole.pool_percent), (None, Some(20.0)), "that is so already");
    assert_eq!(built_in("disk", total).pool_percent, None);
}

#[test]
fn watermarks_are_as_far_apart_as_on_a_machine_of_that_size() {
    let factor = |name: &str, memory: Bytes| {
        built_in(name, memory).changes.iter().find_map(|change| match change {
            Change::Knob { name, after, .. } if name == "vm.watermark_scale_factor" => Some(after.clone()),
            _ => None,
        })
    };
    let total = machine().memory.total();
    let quarter = Bytes(total.0 / 4);
    assert_eq!(factor("zram-pop", quarter).as_deref(), Some("31"), "125 of a quarter");
    assert_eq!(factor("disk", quarter).as_deref(), Some("3"), "the kernel's own 10 too");
    assert_eq!(factor("none", Bytes(total.0 / 100)).as_deref(), Some("1"), "the least that the kernel takes");
    assert_eq!((factor("zram-pop", total).as_deref(), factor("disk", total)), (Some("125"), None));
}

#[test]
fn a_swap_file_has_whole_pages_and_leaves_half_of_the_disk() {
    let size = |memory: Bytes| {
        built_in("disk", memory).changes.iter().find_map(|change| match change {
            Change::SwapFile { after: Some(file), .. } => Some(file.size),
            _ => None,
        })
    };
    assert_eq!(size(Bytes((1 << 30) + 4095)), Some(Bytes::from_gib(4)));
    let free = machine().mounts.iter().find(|mount| mount.at == "/").and_then(|mount| mount.free.value().copied()).unwrap();
    let large = size(Bytes::from_gib(1024)).unwrap();
    assert!(large.0 <= free.0 / 2 && large.0 % (1 << 16) == 0, "{large} of {free}");
}

#[test]
fn zram_is_as_large_as_its_distribution_makes_it() {
    let disksize = |name: &str| {
        built_in(name, Bytes::from_gib(1)).changes.iter().find_map(|change| match change {
            Change::Zram { after: Some(state), .. } => Some(state.disksize),
            _ => None,
        })
    };
    assert_eq!(disksize("zram"), Some(Bytes::from_mib(512)));
    assert_eq!(disksize("zram-pop"), Some(Bytes::from_gib(1)));
}

fn settings(spec: &str) -> Settings {
    let posed = pose(&machine(), Bytes::from_gib(1));
    Spec::read(spec).unwrap().resolve(&posed, &Evidence::default(), Path::new("/var/tmp/area.swap")).unwrap().settings.unwrap()
}

#[test]
fn a_list_is_taken_apart_between_configurations() {
    assert_eq!(split("none,zswap:zstd,pool=25%,vm.swappiness=1,auto"), ["none", "zswap:zstd,pool=25%,vm.swappiness=1", "auto"]);
    assert_eq!(split("none"), ["none"]);
}

#[test]
fn what_is_typed_after_a_name_changes_it() {
    let typed = settings("zswap:lzo,pool=25%,page-cluster=1,vm.swappiness=77");
    assert_eq!(typed.zswap.compressor().unwrap().value, ["lzo"]);
    assert_eq!(typed.zswap.pool().unwrap().value.percent(Bytes::from_gib(1)), Some(25));
    assert_eq!((typed.knobs["vm.page-cluster"].value.as_str(), typed.knobs["vm.swappiness"].value.as_str()), ("1", "77"));
    let zram = settings("zram:lzo,size=300M").zram.unwrap().value;
    assert_eq!((zram[0].size, zram[0].algorithm.as_slice()), (Bytes::from_mib(300), ["lzo".to_owned()].as_slice()));
    assert_eq!(
        settings("auto,pool=31%").zswap.pool().unwrap().value.percent(Bytes::from_gib(1)),
        Some(31),
        "auto keeps what is said"
    );
}

#[test]
fn what_cannot_be_typed_is_told() {
    let told = |spec: &str| Spec::read(spec).unwrap_err().to_string();
    assert_eq!(told("zwsap"), "unknown configuration `zwsap`, and no such file");
    assert_eq!(told("auto,70"), "`auto,70`: expected KEY=VALUE, found `70`");
    assert_eq!(told("disk,size=1G"), "`disk,size=1G`: size is that of a zram device; expected zram or zram-pop before it");
    assert!(told("now,pool=3%").ends_with("the machine as it is takes no changes; name another configuration"));
    assert!(told("auto,vm.swapiness=3").contains("vm.swappiness"), "{}", told("auto,vm.swapiness=3"));
}

#[test]
fn a_compressor_that_the_kernel_lacks_is_not_replaced_by_another() {
    let gib = Bytes::from_gib(1);
    assert_eq!(
        prepared(&machine(), "zswap:zstd", gib).unwrap_err(),
        "zswap.compressor: this kernel has none of zstd; it has lzo, lzo-rle, deflate"
    );
    assert!(prepared(&machine(), "zswap:lzo-rle", gib).is_ok());
    assert!(prepared(&machine(), "disk:lzo", gib).unwrap_err().starts_with("nothing of it compresses"));
}

#[test]
fn the_machine_as_it_is_gets_its_areas_back() {
    let mut facts = machine();
    assert_eq!(prepared(&facts, NOW, facts.memory.total()).unwrap(), Preparation::default(), "it has none");
    let other: Facts = serde_json::from_str(DEBIAN).unwrap();
    let area = |path: &str, priority| SwapArea { path: path.into(), priority, ..other.swaps[0].clone() };
    facts.swaps = vec![area("/dev/zram0", 100), area("/swapfile", -2)];
    let on = prepared(&facts, NOW, facts.memory.total()).unwrap();
    assert_eq!(words(&on), ["/dev/zram0: off → on, priority 100", "/swapfile: off → on, priority -2"]);
    let undone: Vec<String> = switch_off(&facts).iter().rev().map(|change| change.inverse().to_string()).collect();
    assert_eq!(undone, words(&on), "undone, newest first, they come back in their order too");
    assert_eq!(words(&prepared(&facts, "none", facts.memory.total()).unwrap()), Vec::<String>::new(), "all are off before");
}

#[test]
fn what_compresses_is_known_of_each_configuration() {
    let gib = Bytes::from_gib(1);
    let pools = |name: &str| {
        let pools = built_in(name, gib).pools();
        (pools.zswap, pools.zram)
    };
    assert_eq!(["none", "disk", "zswap", "zram"].map(pools), [(false, false), (false, false), (true, false), (false, true)]);
    let mut facts = machine();
    let area = SwapArea { path: "/dev/zram0".into(), ..serde_json::from_str::<Facts>(DEBIAN).unwrap().swaps.remove(0) };
    facts.swaps.push(area);
    assert!(prepared(&facts, "now", gib).unwrap().pools().zram, "an area of the machine as it is");
}
