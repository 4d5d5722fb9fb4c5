//! What results become in the model, on captured machines.

use swaptune_kernel::v;

use swaptune_core::facts::SwapArea;
use swaptune_core::measurement::{
    CodecFigures, CodecPath, Conditions, DiskFigures, DiskShape, IoFigures, LandingFigures, Measurement, MemoryOrder,
    ResultFigures as Measurements, SCHEMA, SwapFigures, SwapTier,
};
use swaptune_core::proof::CanaryClass;
use swaptune_core::stats::Quantiles;
use swaptune_core::{Bytes, Fact};
use swaptune_tiers::model::{Backing, DeviceTimes, Lru, ModelSettings};

use super::*;

const SWAPPING: &str = include_str!("../../../../tests/fixtures/hosts/busybox-6.18-both/expected/facts.json");
const WITHOUT: &str = include_str!("../../../../tests/fixtures/hosts/microvm-6.18/expected/facts.json");

fn facts(text: &str) -> Facts {
    serde_json::from_str(text).unwrap()
}

fn of(facts: &Facts, figures: &ModelFigures) -> Result<ModelSettings, ThisMachineError> {
    Ok(now(facts, figures)?.settings(figures)?)
}

fn quantiles(nanos: u64) -> Quantiles {
    Quantiles::of(&mut vec![nanos; 100], Nanos(0)).unwrap()
}

fn swap(tier: SwapTier, class: CanaryClass, store: u64, load: u64) -> Measurements {
    Measurements::Swap(SwapFigures {
        tier,
        class,
        page_cluster: 0,
        threads: 1,
        order: MemoryOrder::Random,
        store: Some(quantiles(store)),
        load: Some(quantiles(load)),
        stores_per_second: 1.0,
        loads_per_second: 1.0,
        landing: LandingFigures::default(),
        rounds: Vec::new(),
    })
}

fn zswap(compressor: &str, store: u64, load: u64) -> Measurements {
    swap(SwapTier::Zswap { compressor: compressor.into(), zpool: "zsmalloc".into() }, CanaryClass::Text, store, load)
}

fn library(codec: &str, pages_of: &str, compress: u64, decompress: u64) -> Measurements {
    Measurements::Codec(CodecFigures {
        codec: codec.into(),
        path: CodecPath::Library,
        pages_of: pages_of.into(),
        pages: 100,
        threads: 1,
        compress_mb_s: None,
        decompress_mb_s: None,
        compress: Some(quantiles(compress)),
        decompress: Some(quantiles(decompress)),
        ratio: 3.0,
        pools: Vec::new(),
        in_kernel: String::new(),
    })
}

fn page_read(disk: &str, iops: f64) -> Measurements {
    let io = IoFigures { iops, bytes_per_second: iops * 4096.0, latency: quantiles(200_000) };
    Measurements::Disk(DiskFigures {
        disks: vec![disk.into()],
        identities: Vec::new(),
        places: vec![format!("/dev/{disk}1")],
        shape: DiskShape::PageRead,
        jobs: 1,
        size: Bytes(1),
        seconds: 1.0,
        engine: "psync".into(),
        rounds: Vec::new(),
        read: Some(io),
        write: None,
    })
}

fn evidence(facts: &Facts, rows: Vec<Measurements>) -> Evidence {
    let kernel = facts.kernel.release.value().unwrap();
    let conditions = Conditions { machine: "m".into(), kernel: kernel.clone(), ..Conditions::default() };
    let measurement = |(number, figures)| Measurement {
        schema: SCHEMA,
        run: format!("run{number}"),
        at: format!("2026-11-21T05:{number:02}:00Z"),
        command: "test".into(),
        conditions: conditions.clone(),
        figures,
    };
    Evidence::new((0..).zip(rows).map(measurement).collect(), "m", kernel)
}

#[test]
fn without_results_the_usual_figures_stand_and_nothing_is_cited() {
    let known = KnownCosts::of(&facts(SWAPPING), &Evidence::default());
    assert_eq!((&known.figures, known.is_measured()), (&ModelFigures::default(), false));
}

#[test]
fn a_codec_is_what_its_tier_takes_more_than_a_page_of_zeros() {
    let facts = facts(SWAPPING);
    let zram = swap(SwapTier::Zram { algorithm: "zstd".into() }, CanaryClass::Text, 15_000, 8_000);
    let rows = vec![swap(SwapTier::Zero, CanaryClass::Zero, 2_000, 1_295), zswap("zstd", 12_000, 6_000), zram];
    let known = KnownCosts::of(&facts, &evidence(&facts, rows));
    assert_eq!((known.figures.costs.swap_out, known.figures.costs.swap_in), (2_000, 1_000));
    assert_eq!(known.figures.costs.scan, Costs::default().scan, "what was not measured is as usual");
    assert_eq!(known.figures.codec(false, "zstd"), Some(CodecCosts { name: "zstd", compress: 10_000, decompress: 5_000 }));
    assert_eq!(known.figures.codec(true, "zstd"), Some(CodecCosts { name: "zstd", compress: 13_000, decompress: 7_000 }));
    assert_eq!(known.figures.codec(false, "lz4"), CodecCosts::named("lz4"));
    let cited: Vec<(&Subject, &str)> = known.cites.iter().map(|cite| (&cite.subject, cite.value.as_str())).collect();
    let expected = [
        (&Subject::Costs, "swap-out 2.0 µs, swap-in 1.0 µs"),
        (&Subject::Zswap("zstd".into()), "compress 10 µs, decompress 5.0 µs"),
        (&Subject::Zram("zstd".into()), "compress 13 µs, decompress 7.0 µs"),
    ];
    assert_eq!(cited, expected);
    assert!(known.cites[1].source.contains("run1 (bench swap"), "{}", known.cites[1].source);
}

#[test]
fn the_library_stands_in_where_the_path_was_not_measured_or_cannot_be() {
    let facts = facts(SWAPPING);
    let rows = vec![
        library("zstd", CodecFigures::LIVE, 11_000, 4_000),
        library("zstd", "synthetic text", 1, 1),
        library("zstd:1", CodecFigures::LIVE, 2, 2),
        // A path shorter than the kernel's part of it was measured under other conditions.
        zswap("zstd", 2_000, 1_000),
    ];
    let known = KnownCosts::of(&facts, &evidence(&facts, rows));
    for in_zram in [false, true] {
        let codec = known.figures.codec(in_zram, "zstd");
        assert_eq!(
            codec,
            Some(CodecCosts { name: "zstd", compress: 11_000, decompress: 4_000 }),
            "live pages, the kernel's level"
        );
    }
    assert!(known.cites[0].source.contains("bench codecs"));
}

#[test]
fn the_disk_that_is_swapped_to_is_this_one() {
    let mut facts = facts(SWAPPING);
    let disk = facts.swaps.iter().find_map(|area| facts.disk_of(area.device.value()?)).unwrap().name.clone();
    let rows = vec![page_read(&disk, 5_000.0), page_read("nvme9n1", 100_000.0)];
    let known = KnownCosts::of(&facts, &evidence(&facts, rows.clone()));
    assert_eq!(known.figures.device(THIS).unwrap().times, known.figures.device(&disk).unwrap().times);
    assert_ne!(known.figures.device(THIS).unwrap().times, known.figures.device("nvme9n1").unwrap().times);
    facts.swaps.clear();
    let known = KnownCosts::of(&facts, &evidence(&facts, rows));
    assert_eq!(known.figures.device(THIS).unwrap().times, known.figures.device("nvme9n1").unwrap().times, "else the newest");
}

#[test]
fn a_machine_is_modelled_as_it_is_set_up() {
    let mut facts = facts(SWAPPING);
    let settings = of(&facts, &ModelFigures::default()).unwrap();
    assert_eq!((settings.kernel, settings.ram), (v(6, 18), facts.memory.total().0 / 4096));
    assert_eq!(settings.areas.len(), facts.swaps.len());
    let zrams = settings.areas.iter().filter(|area| matches!(area.backing, Backing::Zram { .. })).count();
    assert_eq!(zrams, facts.swaps.iter().filter(|area| area.is_zram()).count());
    let zswap = settings.zswap.as_ref().unwrap();
    let parameter = |name: &str| facts.zswap.value().unwrap().parameter(name).unwrap().to_owned();
    assert_eq!(
        (zswap.codec.name, zswap.max_pool_percent.to_string()),
        (&*parameter("compressor"), parameter("max_pool_percent"))
    );
    facts.knobs.insert("lru_gen.enabled".into(), Fact::known("0x0007".into(), "test"));
    facts.knobs.insert("vm.page-cluster".into(), Fact::known("1".into(), "test"));
    facts.knobs.insert("vm.swappiness".into(), Fact::known("0".into(), "test"));
    let other = of(&facts, &ModelFigures::default()).unwrap();
    assert_eq!((other.lru, other.page_cluster, other.swappiness), (Lru::Generational, 1, 1));
    facts.knobs.insert("vm.swappiness".into(), Fact::known("180".into(), "test"));
    assert_eq!(of(&facts, &ModelFigures::default()).unwrap().swappiness, 180);
    assert_eq!(settings.devices, [DeviceTimes::SSD], "a hypervisor's disk only says that it spins");
    assert!(settings.reads_ahead_by_slots(), "and the kernel believes it");
}

#[test]
fn areas_of_a_measured_disk_have_its_times_and_share_it() {
    let mut facts = facts(SWAPPING);
    let area = facts.swaps.iter().find(|area| !area.is_zram()).unwrap().clone();
    let disk = facts.disk_of(area.device.value().unwrap()).unwrap().name.clone();
    let times = DeviceTimes { request: 1, page: 2, seek: 0, read_latency: 3, write_latency: 4 };
    let mut figures = ModelFigures::default();
    figures.devices.push(NamedDevice { name: disk, times, rotational: false });
    facts.swaps = vec![area.clone(), SwapArea { path: "/swap2".into(), ..area }];
    let settings = of(&facts, &figures).unwrap();
    assert_eq!((settings.devices, settings.areas.len()), (vec![times], 2));
}

#[test]
fn what_cannot_be_modelled_is_said() {
    let mut facts = facts(WITHOUT);
    facts.swaps.clear();
    assert_eq!(of(&facts, &ModelFigures::default()).unwrap().zswap, None, "zswap without an area stores nothing");
    facts.kernel.page_size = Bytes(16_384);
    assert!(matches!(of(&facts, &ModelFigures::default()), Err(ThisMachineError::PageSize(16_384))));
    facts.kernel.page_size = Bytes(4096);
    facts.kernel.version = Fact::absent("no uname");
    assert_eq!(kernel_version(&facts).unwrap_err().to_string(), "the kernel's version is not known here: no uname");
}
