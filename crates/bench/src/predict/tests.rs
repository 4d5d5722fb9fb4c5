//! What is predicted of captured machines.

use swaptune_core::plan::{PlanRequest, planned};
use swaptune_core::profiles;
use swaptune_core::settings::read_toml;
use swaptune_tiers::page_set::PageClass;

use super::*;

const DEBIAN: &str = include_str!("../../../../tests/fixtures/hosts/debian13-6.12/expected/facts.json");

/// The machine as it is: 965 MiB of RAM with 512 MiB of slots.
fn few_slots() -> Facts {
    serde_json::from_str(DEBIAN).unwrap()
}

fn facts() -> Facts {
    let mut facts = few_slots();
    // Slots for twice its RAM: with fewer than its device has pages zram would go before them.
    for area in &mut facts.swaps {
        area.size = Bytes::from_gib(1);
    }
    for device in facts.block_devices.iter_mut().filter(|device| ["vda3", "vda4"].contains(&device.name.as_str())) {
        device.size = Bytes::from_gib(1);
    }
    facts
}

fn resolve(facts: &Facts, config: &str) -> Settings {
    profiles::resolve(vec![read_toml("c.toml", config, None).unwrap()], facts, &Evidence::default(), None).unwrap()
}

/// The machine as a plan for these settings leaves it.
fn after(facts: &Facts, settings: &Settings) -> Facts {
    let request = PlanRequest {
        facts,
        settings,
        evidence: &Evidence::default(),
        forecast: None,
        now: true,
        boot: true,
        record: true,
        wipe: &[],
        binary: "/usr/bin/swaptune",
        installed: true,
        seed: 1,
    };
    planned(&request).after
}

/// A page set in which zstd halves what lz4 leaves.
fn set() -> PageSet {
    let mut set = PageSet { schema: 1, page_size: 4096, ..PageSet::default() };
    set.class = vec![PageClass::Data; 100];
    set.group = vec![0; 100];
    set.sizes.insert("lz4".into(), vec![2400; 100]);
    set.sizes.insert("zstd".into(), vec![800; 100]);
    set
}

fn ask(facts: &Facts, settings: &Settings, set: Option<&PageSet>, seeds: u32) -> Result<Forecast, PredictError> {
    let page_set = set.map(|set| (set, "pages.json"));
    let (evidence, after) = (Evidence::default(), after(facts, settings));
    let detail = ForecastDetail { ram_pages: 2048, ..ForecastDetail::thorough(seeds) };
    let request = ForecastRequest { page_set, ..ForecastRequest::usual(facts, &evidence, settings, &after, None, detail) };
    predict(&request, &|_, _| ())
}

#[test]
fn candidates_differ_from_the_proposal_in_one_thing() {
    let facts = facts();
    let settings = resolve(&facts, "");
    let evidence = Evidence::default();
    let known = KnownCosts::default();
    let names = |settings: &Settings| -> Vec<String> {
        let after = after(&facts, settings);
        let request = ForecastRequest::usual(&facts, &evidence, settings, &after, None, ForecastDetail::thorough(1));
        CandidateGround::of(&request, &known.figures).unwrap().candidates(|_| true).iter().map(Candidate::to_string).collect()
    };
    let all = names(&settings);
    assert_eq!(all[0], "zswap lz4, limit 80 %, no shrinker");
    for wanted in [
        "zswap zstd, limit 80 %, no shrinker",
        "zswap lz4, limit 20 %, no shrinker",
        "zswap lz4, limit 50 %, no shrinker",
        "zswap lz4, limit 80 %, shrinker",
        "zram lz4",
        "zram zstd",
        "disk alone",
    ] {
        assert!(all.iter().any(|name| name == wanted), "no {wanted} in {all:?}");
    }
    // What somebody asked for is not varied.
    let fixed =
        names(&resolve(&facts, "[zswap]\ncompressor = \"zstd\"\nmax_pool_percent = 30\nshrinker_enabled = true\nenabled = true"));
    assert_eq!(fixed, ["zswap zstd, limit 30 %, shrinker"]);
}

#[test]
fn where_slots_are_few_zswap_is_what_zram_is_compared_with() {
    let facts = few_slots();
    let (settings, evidence) = (resolve(&facts, ""), Evidence::default());
    let as_planned = after(&facts, &settings);
    let request = ForecastRequest::usual(&facts, &evidence, &settings, &as_planned, None, ForecastDetail::thorough(1));
    let known = KnownCosts::default();
    let ground = CandidateGround::of(&request, &known.figures).unwrap();
    let names: Vec<String> = ground.candidates(|_| true).iter().map(Candidate::to_string).collect();
    assert_eq!(names[0], "zram lz4");
    for wanted in ["zram zstd", "zswap lz4, limit 80 %, no shrinker", "zswap zstd, limit 80 %, no shrinker", "disk alone"] {
        assert!(names.iter().any(|name| name == wanted), "no {wanted} in {names:?}");
    }
    // What the device of this kernel offers counts, not what its crypto API has.
    let mut loaded = facts.clone();
    let offers = vec!["lzo-rle".to_owned(), "lzo".into()];
    loaded.zram.devices =
        vec![swaptune_core::facts::ZramDevice { name: "zram0".into(), algorithms: offers, ..Default::default() }];
    let as_planned = after(&loaded, &settings);
    let request = ForecastRequest { facts: &loaded, planned: &as_planned, ..request };
    let ground = CandidateGround::of(&request, &known.figures).unwrap();
    let names: Vec<String> = ground.candidates(|_| true).iter().map(Candidate::to_string).collect();
    assert_eq!(names[0], "zram lzo-rle");
    assert!(names.iter().any(|name| name.starts_with("zswap lz4")) && names.iter().all(|name| name != "zram lz4"), "{names:?}");
    // In the simulation as on the real machine of docs/evidence/density.md.
    let predictions = ask(&facts, &settings, Some(&set()), 1).unwrap();
    let of = |name: &str| predictions.candidates.iter().find(|row| row.candidate.to_string() == name).unwrap().median();
    let (zram, zswap) = (of("zram zstd"), of("zswap zstd, limit 80 %, no shrinker"));
    assert!(zram > zswap && zswap >= of("disk alone"), "{predictions:?}");
}

#[test]
fn what_compresses_better_holds_more_and_the_disk_alone_the_least() {
    let facts = facts();
    let (settings, set) = (resolve(&facts, ""), set());
    let predictions = ask(&facts, &settings, Some(&set), 1).unwrap();
    let of = |name: &str| {
        let row = predictions.candidates.iter().find(|row| row.candidate.to_string() == name);
        row.unwrap_or_else(|| panic!("{name}: {predictions:?}")).median()
    };
    let (lz4, zstd) = (of("zswap lz4, limit 80 %, no shrinker"), of("zswap zstd, limit 80 %, no shrinker"));
    let (zram, disk) = (of("zram zstd"), of("disk alone"));
    assert!(zstd > lz4 && lz4 >= disk && zram > disk && disk > 0, "{zstd} {lz4} {zram} {disk}");
    assert_eq!(predictions.candidates[0].candidate.tier, BackingTier::Zswap);
    assert!(predictions.rests_on[0].contains("100 pages in pages.json"), "{:?}", predictions.rests_on);
    // The same question has the same answer.
    assert_eq!(ask(&facts, &settings, Some(&set), 1).unwrap(), predictions);
}

#[test]
fn a_look_at_more_takes_over_what_was_seen_before() {
    let facts = few_slots();
    let (settings, evidence) = (resolve(&facts, ""), Evidence::default());
    let detail = ForecastDetail { ram_pages: 2048, ..ForecastDetail::QUICK };
    let after = after(&facts, &settings);
    let usual = ForecastRequest::usual(&facts, &evidence, &settings, &after, None, detail);
    let of = |alternatives| ForecastRequest { alternatives, ..usual };
    let mut first = predict(&of(Alternatives::None), &|_, _| ()).unwrap();
    assert_eq!(first.candidates.len(), 1);
    let whole = predict(&of(Alternatives::Tiers), &|_, _| ()).unwrap();
    let more =
        |first: &Forecast| predict(&ForecastRequest { before: Some(first), ..of(Alternatives::Tiers) }, &|_, _| ()).unwrap();
    assert!(whole.candidates.len() > 1 && more(&first) == whole, "{whole:?}");
    // Nothing of it is simulated again: another number stays.
    first.candidates[0].applications = vec![1, 1];
    first.today = None;
    let taken = more(&first);
    assert_eq!((&taken.candidates[0], &taken.today), (&first.candidates[0], &None));
    assert_eq!(taken.candidates[1..], whole.candidates[1..]);
}

#[test]
fn what_cannot_be_simulated_is_said() {
    let facts = facts();
    let mut set = set();
    set.sizes.remove("lz4");
    let error = ask(&facts, &resolve(&facts, ""), Some(&set), 1).unwrap_err();
    assert_eq!(error.to_string(), "pages.json has no sizes for lz4; it has zstd");
    let off = profiles::resolve(
        vec![read_toml("c.toml", "profile = \"off\"", None).unwrap()],
        &Facts::default(),
        &Evidence::default(),
        None,
    );
    assert!(matches!(ask(&Facts::default(), &off.unwrap(), None, 1), Err(PredictError::NoSwap)));
}

#[test]
fn larger_pages_are_simulated_as_themselves() {
    let small = facts();
    let mut large = facts();
    large.kernel.page_size = Bytes(16_384);
    let settings = resolve(&small, "");
    // The same shares of a page: only their size differs.
    let mut of_large = PageSet { page_size: 16_384, ..set() };
    of_large.sizes.values_mut().flatten().for_each(|size| *size *= 4);
    let sizes = |facts: &Facts, set: &PageSet| {
        let (evidence, after) = (Evidence::default(), after(facts, &settings));
        let request = ForecastRequest {
            page_set: Some((set, "p")),
            ..ForecastRequest::usual(facts, &evidence, &settings, &after, None, ForecastDetail::thorough(1))
        };
        let known = KnownCosts::of(facts, &evidence);
        let ground = CandidateGround::of(&request, &known.figures).unwrap();
        let machine = ground.machine_with(&ground.proposed, &known.figures).unwrap();
        (SampledSizes::of(&request).sizes(&ground.proposed, machine.kernel), machine.ram)
    };
    let ((of_4k, pages_4k), (of_16k, pages_16k)) = (sizes(&small, &set()), sizes(&large, &of_large));
    assert_eq!(of_4k, of_16k);
    assert_eq!(pages_4k / 4, pages_16k);
    let fit = |facts: &Facts, set: &PageSet| {
        let found = ask(facts, &settings, Some(set), 1).unwrap();
        (found.today.unwrap().median(), found.candidates[0].median())
    };
    let (today, planned) = fit(&large, &of_large);
    assert!(planned > 0 && today > 0, "{today} {planned}");
    // A page is brought in one piece: fewer requests, and the disk alone holds no fewer than with small pages.
    assert!(today >= fit(&small, &set()).0);
}

/// A device of another program, 256 MiB, before the areas.
fn with_zram_of_a_manager(facts: &mut Facts) {
    let size = Bytes::from_mib(256);
    let area = &facts.swaps[0];
    let zram = swaptune_core::facts::SwapArea { path: "/dev/zram0".into(), size, priority: 100, ..area.clone() };
    facts.swaps.push(zram);
    facts.zram.devices = vec![swaptune_core::facts::ZramDevice {
        name: "zram0".into(),
        disksize: size,
        algorithm: swaptune_core::Fact::known("zstd".into(), "comp_algorithm"),
        ..Default::default()
    }];
    let manager = swaptune_core::facts::Manager { name: "zram-generator".into(), evidence: "/etc".into(), active: true };
    facts.system.managers.push(manager);
}

#[test]
fn what_is_simulated_as_planned_is_the_machine_that_the_plan_makes() {
    let mut managed = few_slots();
    with_zram_of_a_manager(&mut managed);
    for config in ["profile = \"none\"\n[knobs]\n\"vm.swappiness\" = 60\n", ""] {
        let found = ask(&managed, &resolve(&managed, config), None, 1).unwrap();
        let (today, planned) = (found.today.as_ref().unwrap(), found.proposed().unwrap());
        assert_eq!(planned.candidate.to_string(), "zram zstd", "it stays: {config}");
        assert!(planned.median() >= today.median(), "{config}: {found:?}");
    }
    // zswap stores nothing without an area, and the plan makes none.
    let mut bare = few_slots();
    bare.swaps.clear();
    bare.mounts.clear();
    bare.zram.driver = swaptune_core::Fact::absent("none");
    let guide = resolve(&bare, "profile = \"idle-guide\"");
    assert!(guide.wants_zswap() && matches!(ask(&bare, &guide, None, 1), Err(PredictError::NoSwap)));
}

#[test]
fn on_much_ram_applications_stay_small_and_what_cannot_be_told_is_not() {
    let mut large = facts();
    let lines = [("MemTotal", 1024), ("MemFree", 990), ("MemAvailable", 1000)];
    let lines = lines.map(|(key, gib)| (key.to_owned(), Bytes::from_gib(gib)));
    large.memory.meminfo = swaptune_core::Fact::known(lines.into(), "/proc/meminfo");
    let (settings, evidence) = (resolve(&large, ""), Evidence::default());
    let after = after(&large, &settings);
    let look = |application| {
        let quick = ForecastRequest::usual(&large, &evidence, &settings, &after, application, ForecastDetail::QUICK);
        predict(&ForecastRequest { alternatives: Alternatives::None, ..quick }, &|_, _| ())
    };
    let usual = look(None).unwrap();
    assert!(usual.today.as_ref().unwrap().median() > 8000 && usual.candidates[0].median() > 8000, "{usual:?}");
    assert!(usual.rests_on[1].starts_with("applications of 100 MiB"), "{:?}", usual.rests_on);
    // Of so many pages some are on the disk at every wake of the small machine.
    assert!(matches!(look(Some(Bytes::from_gib(16))), Err(PredictError::TooSlow { .. })));
}
