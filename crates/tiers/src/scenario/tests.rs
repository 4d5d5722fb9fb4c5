//! What a file says is understood, and what is wrong is named.

use super::*;

pub(super) const C2: &str = include_str!("../../../../scenarios/c2-write-through.toml");
pub(super) const D7: &str = include_str!("../../../../scenarios/d7-proactive-shrinker.toml");
pub(super) const A13: &str = include_str!("../../../../scenarios/a13-capacity.toml");
pub(super) const A13_IDLE: &str = include_str!("../../../../scenarios/a13-idle-applications.toml");
pub(super) const A15: &str = include_str!("../../../../scenarios/a15-inversion.toml");
pub(super) const B2: &str = include_str!("../../../../scenarios/b2-compile.toml");
pub(super) const B3: &str = include_str!("../../../../scenarios/b3-densities.toml");
pub(super) const A18: &str = include_str!("../../../../scenarios/a18-several-areas.toml");
pub(super) const D1: &str = include_str!("../../../../scenarios/d1-fair-walk.toml");
pub(super) const E16: &str = include_str!("../../../../scenarios/e16-zero-pages.toml");
pub(super) const UPKEEP: &str = include_str!("../../../../scenarios/zram-upkeep.toml");

pub(super) const SERVICES: &str = include_str!("../../../../scenarios/idle-services.toml");

const ALL: [&str; 12] = [C2, D7, A13, A13_IDLE, A15, A18, B2, B3, D1, E16, UPKEEP, SERVICES];

const SMALL: &str = r#"
title = "small"
[machine]
kernel = "6.12"
ram = "8M"
[workload]
generator = "hold"
with = { pages = 3000, reads = 1, same = 0, poor = 0, size = 1000 }
[[tiering]]
name = "disk"
swap = [{ disk = "nvme", size = "64M" }]
[[tiering]]
name = "zswap"
zswap = { compressor = "lz4" }
swap = [{ disk = "nvme", size = "64M" }]
"#;

/// With one seed, unless `set` says otherwise.
pub(super) fn scenario(text: &str, set: &[(&str, Value)], sweep: Option<&str>) -> Result<Scenario, ScenarioError> {
    let one = ("seeds", Value::Integer(1));
    let set = std::iter::once(&one).chain(set).map(|(key, value)| ((*key).to_owned(), value.clone())).collect();
    let changes = Changes { set, sweep: sweep.map(|sweep| Sweep::parse(sweep).unwrap()), ..Changes::default() };
    Scenario::read(text, &changes, &NoFiles)
}

/// All runs of a scenario, by point and tiering.
pub(super) struct Runs {
    scenario: Scenario,
    pub(super) runs: Vec<Vec<TieringRun>>,
}

impl Runs {
    pub(super) fn of(text: &str, scale: i64, sweep: Option<&str>) -> Self {
        Self::all(scenario(text, &[("scale", Value::Integer(scale))], sweep).unwrap())
    }

    pub(super) fn with(text: &str, scale: i64, set: (&str, Value)) -> Self {
        Self::all(scenario(text, &[("scale", Value::Integer(scale)), set], None).unwrap())
    }

    pub(super) fn all(scenario: Scenario) -> Self {
        let one = |point: &Point| {
            let WorkloadSource::Generated(spec) = &point.source else { panic!("a scenario of ours makes its trace") };
            let trace = generate(spec).unwrap();
            point.tierings.iter().map(|tiering| run(tiering, &trace).unwrap()).collect()
        };
        let runs = scenario.points.iter().map(one).collect();
        Self { scenario, runs }
    }

    pub(super) fn get(&self, name: &str, point: usize) -> &TieringRun {
        let tierings = &self.scenario.points[point].tierings;
        &self.runs[point][tierings.iter().position(|tiering| tiering.name == name).unwrap()]
    }

    pub(super) fn metric(&self, metric: &str, name: &str, point: usize) -> f64 {
        let metric = METRICS.iter().find(|known| known.name == metric).unwrap();
        (metric.of)(self.get(name, point)).unwrap_or(f64::NAN)
    }

    pub(super) fn comparisons(&self) -> Vec<PublishedFigure> {
        let published = &self.scenario.published[0];
        published.compare(1, |name, point, _| (published.metric.of)(self.get(name, point)))
    }
}

/// What a generator says of its parameters is the whole message.
#[test]
fn what_a_workload_says_is_not_wrapped_again() {
    let text =
        "title='t'\n[machine]\nkernel='6.12'\nram='50%'\n[workload]\ngenerator='zipf'\nwith={theta='nan'}\n[[tiering]]\nname='a'";
    let says = Scenario::read(text, &Changes::default(), &NoFiles).unwrap_err().to_string();
    assert_eq!(says, "workload: zipf: found `theta=nan`, expected a number, for example 0.5, 20000, 20k, 20M");
}

/// Figures of the tables `codec` and `device` that flags make: a disk stays like itself for the rest, and a misspelt codec is refused.
#[test]
fn figures_can_be_set_where_a_file_has_none() {
    let text = "title='t'\n[machine]\nkernel='6.12'\nram='8M'\n[workload]\ngenerator='hold'\n[[tiering]]\nname='a'\nswap=[{disk='hdd'},{zram='lz4'}]";
    let of = |key: &str| {
        let set = vec![(key.to_owned(), toml::Value::Integer(7000))];
        Scenario::read(text, &Changes { set, ..Changes::default() }, &NoFiles)
            .map(|scenario| scenario.points[0].tierings[0].settings.clone())
    };
    let usual = Scenario::read(text, &Changes::default(), &NoFiles).unwrap().points[0].tierings[0].settings.clone();
    assert_eq!(of("costs.swap-in-ns").unwrap().costs.swap_in, 7000);
    let times = of("device.hdd.read-us").unwrap().devices[0];
    assert!(times != usual.devices[0] && times.seek == usual.devices[0].seek, "a hard disk seeks");
    assert_ne!(of("codec.lz4.compress-ns").unwrap(), usual);
    let error = of("codec.lz5.compress-ns").unwrap_err().to_string();
    assert!(error.starts_with("codec: found `lz5`, expected one of ") && error.contains("lz4"), "{error}");
}

#[test]
fn every_scenario_of_ours_is_read_and_says_what_it_is() {
    for text in ALL {
        let scenario = Scenario::read(text, &Changes::default(), &NoFiles).unwrap();
        assert!(!scenario.title.is_empty() && !scenario.source.is_empty() && !scenario.notes.is_empty(), "{}", scenario.title);
        assert!(scenario.points.iter().all(|point| point.tierings.len() > 1));
    }
}

/// Numbers of a text, with their decimals.
fn numbers(text: &str) -> Vec<String> {
    let parts = text.split(|letter: char| !letter.is_ascii_digit() && letter != '.');
    parts.map(|part| part.trim_matches('.').to_owned()).filter(|part| !part.is_empty()).collect()
}

/// What a run comes to changes with the model, and notes do not: they state what the file states, and no figure of a run.
#[test]
fn notes_have_no_figure_that_the_file_does_not_state() {
    for text in ALL {
        let (before, rest) = text.split_once("notes = \"\"\"").unwrap();
        let (notes, after) = rest.split_once("\"\"\"").unwrap();
        let stated = [numbers(before), numbers(after)].concat();
        // Commands that are shown are typed, and no result.
        let words = notes.lines().filter(|line| !line.starts_with("  swaptune")).collect::<Vec<_>>().join("\n");
        for number in numbers(&words) {
            assert!(
                stated.contains(&number) || words.contains(&format!("={number})")),
                "`{number}` in the notes of {}",
                before.lines().next().unwrap()
            );
        }
    }
    assert_eq!(numbers("took 2.8 %, of 10 and 1.0."), ["2.8", "10", "1.0"]);
}

/// A difference is told with its sign over five seeds at least.
#[test]
fn every_scenario_of_ours_has_a_base_and_seeds_enough_for_a_sign() {
    for text in ALL {
        let scenario = Scenario::read(text, &Changes::default(), &NoFiles).unwrap();
        assert!(scenario.relative_to.is_some() && scenario.seeds >= Sides::LEAST, "{}", scenario.title);
        assert!(scenario.published.iter().all(|published| published.relative_to.is_some()), "{}", scenario.title);
    }
}

#[test]
fn a_run_is_a_function_of_its_text() {
    let (one, two) = (Runs::of(SMALL, 1, None), Runs::of(SMALL, 1, None));
    for name in ["disk", "zswap"] {
        assert_eq!(one.get(name, 0).outcome, two.get(name, 0).outcome, "{name}");
    }
    assert!(one.metric("disk-in", "disk", 0) > 0.0 && one.metric("zswap-in", "zswap", 0) > 0.0);
    assert!(one.metric("elapsed", "zswap", 0) < one.metric("elapsed", "disk", 0));
    assert_eq!(one.get("zswap", 0).held, 3000);
}

#[test]
fn what_is_wrong_is_named() {
    let message = |from: &str, to: &str| {
        assert!(SMALL.contains(from), "{from}");
        let error = scenario(&SMALL.replace(from, to), &[], None).unwrap_err();
        (error.to_string(), error.misspelt().map(|(found, known)| (found.to_owned(), known.len() > 1)))
    };
    for (from, to, says, name) in [
        ("kernel =", "kernal =", "machine: found `kernal`, expected one of kernel, ram", Some("kernal")),
        ("\"6.12\"", "\"six\"", "machine.kernel: found six, expected a version such as \"6.12\"", None),
        ("\"8M\"", "\"8X\"", "machine.ram: found \"8X\", expected a size", None),
        ("\"lz4\"", "\"lz5\"", "tiering `zswap`: compressor: found `lz5`, expected one of lz4, lz4hc", Some("lz5")),
        ("\"nvme\"", "\"nvm\"", "tiering `disk`: found `nvm`, expected one of nvme, ssd, hdd", Some("nvm")),
        ("\"hold\"", "\"held\"", "workload.generator: found `held`", Some("held")),
        ("reads =", "raeds =", "workload.with: found `raeds`", Some("raeds")),
        ("disk = \"nvme\", size = \"64M\"", "size = \"64M\"", "expected either `disk` or `zram` in each", None),
        ("compressor = \"lz4\"", "compressor = \"lz4\", limit = 200", "limit: found 200, expected a percentage", None),
        ("compressor = \"lz4\"", "compressor = \"lz4\", policy = \"lru\"", "policy: found `lru`", Some("lru")),
        ("title = \"small\"", "title = \"small\"\nreport = [\"elapsd\"]", "report: found `elapsd`", Some("elapsd")),
        ("title = \"small\"", "title = \"small\"\nscale = 0", "scale: found 0", None),
        ("ram = \"8M\"", "ram = \"8M\"\nswappiness = 0", "machine.swappiness: found 0, expected 1 to 200", None),
        ("ram = \"8M\"", "ram = \"8M\"\nswappiness = 201", "machine.swappiness: found 201", None),
        ("generator = \"hold\"", "page-set = \"mine.json\"\ngenerator = \"hold\"", "mine.json: no files are read here", None),
        ("generator = \"hold\"", "pages = [{ share = 0.5, size = 100 }]\ngenerator = \"hold\"", "with a sum of 0.5", None),
        ("title =", "title", "TOML parse error", None),
    ] {
        let (text, misspelt) = message(from, to);
        assert!(text.contains(says), "{text}\nshould contain: {says}");
        assert_eq!(misspelt, name.map(|name| (name.to_owned(), true)), "{text}");
    }
    let zbud = scenario(&SMALL.replace("\"lz4\"", "\"lz4\", allocator = \"zbud\"").replace("6.12", "6.18"), &[], None);
    assert!(zbud.unwrap_err().to_string().contains("tiering `zswap`"), "6.18 has no zbud");
}

#[test]
fn a_sweep_changes_one_key_and_published_figures_must_fit_it() {
    let swept = scenario(SMALL, &[], Some("machine.ram=8M,16M")).unwrap();
    let ram: Vec<u64> = swept.points.iter().map(|point| point.tierings[0].settings.ram).collect();
    assert_eq!((ram, swept.points[1].at.as_deref()), (vec![2048, 4096], Some("16M")));
    let published =
        "[published]\nmetric = \"elapsed\"\nwhat = \"s\"\nrelative-to = \"disk\"\nfigures = { disk = [2], zswap = [1] }";
    let runs = Runs::of(&format!("{SMALL}{published}"), 1, None);
    let rows = runs.comparisons();
    assert_eq!(rows.iter().map(|row| row.published).collect::<Vec<_>>(), [1.0, 0.5]);
    assert_eq!((rows[0].ours.median, rows[0].difference()), (1.0, 0.0));
    let ours = runs.metric("elapsed", "zswap", 0) / runs.metric("elapsed", "disk", 0);
    assert!((rows[1].ours.median - ours).abs() < 1e-12);
    for (from, to) in [("disk = [2]", "disk = [2, 3]"), ("disk = [2]", "dsk = [2]"), ("\"disk\"\nfig", "\"dusk\"\nfig")] {
        assert!(scenario(&format!("{SMALL}{}", published.replace(from, to)), &[], None).is_err(), "{to}");
    }
}

#[test]
fn several_seeds_are_points_of_a_value_one_after_another() {
    let three = ("seeds", Value::Integer(3));
    let swept = scenario(SMALL, std::slice::from_ref(&three), Some("machine.ram=8M,16M")).unwrap();
    let seen: Vec<_> = swept.points.iter().map(|point| (point.at.as_deref().unwrap(), point.seed.unwrap())).collect();
    assert_eq!((seen, swept.seeds), (vec![("8M", 1), ("8M", 2), ("8M", 3), ("16M", 1), ("16M", 2), ("16M", 3)], 3));
    let WorkloadSource::Generated(spec) = &swept.points[1].source else { panic!() };
    assert!(spec.contains("seed=2"), "{spec}");
    let from = scenario(SMALL, &[three.clone(), ("workload.with.seed", Value::Integer(7))], None).unwrap();
    assert_eq!(from.points.iter().map(|point| point.seed).collect::<Vec<_>>(), [Some(7), Some(8), Some(9)]);
    let by_hand = scenario(SMALL, std::slice::from_ref(&three), Some("workload.with.seed=1..4:1")).unwrap();
    assert_eq!((by_hand.seeds, by_hand.points.len()), (1, 4), "whoever sweeps the seed looks at each");
    let says = |set: &[(&str, Value)], sweep| scenario(SMALL, set, sweep).unwrap_err().to_string();
    assert_eq!(says(&[("seeds", Value::Integer(0))], None), "seeds: found 0, expected a number from 1 to 1000");
    assert!(says(&[], Some("seeds=1,2")).contains("found `seeds`, expected `workload.with.seed`"));
    assert!(says(&[three.clone(), ("workload.with.seed", "x".into())], None).contains("found x, expected a whole number"));
    assert!(says(&[("relative-to", "dsk".into())], None).contains("relative-to: found `dsk`"));
    let trace = SMALL.replace("generator = \"hold\"", "trace = \"a.csv\"");
    let trace = trace.lines().filter(|line| !line.starts_with("with")).collect::<Vec<_>>().join("\n");
    assert!(scenario(&trace, &[three], None).unwrap_err().to_string().contains("a trace has no seed"));
}

/// Ratios are those within a seed: where one seed takes twice as long with both tierings, the ratio is what it is with the others.
#[test]
fn ours_beside_what_was_published_is_the_median_of_ratios_within_a_seed() {
    let published =
        "[published]\nmetric = \"elapsed\"\nwhat = \"s\"\nrelative-to = \"disk\"\nfigures = { disk = [2], zswap = [1] }";
    let scenario = scenario(&format!("{SMALL}{published}"), &[("seeds", Value::Integer(3))], None).unwrap();
    let times = [[10.0, 5.0], [20.0, 10.0], [4.0, 3.0]];
    let rows = scenario.published[0].compare(3, |name, _, seed| Some(times[seed][usize::from(name == "zswap")]));
    assert_eq!(rows[1].ours, SeedSpread { median: 0.5, least: 0.5, most: 0.75 });
    assert_eq!((rows[0].ours.least, rows[0].ours.most, rows[1].difference()), (1.0, 1.0, 0.0));
}

#[test]
fn shares_are_of_the_workload_and_of_ram() {
    let text = SMALL.replace("\"8M\"", "\"50%\"").replace(", size = \"64M\"", "");
    let text =
        text.replacen("swap = [{ disk = \"nvme\" }]", "swap = [{ zram = \"lz4\" }, { disk = \"nvme\", size = \"200%\" }]", 1);
    let settings =
        scenario(&text, &[], None).unwrap().points[0].tierings.iter().map(|tiering| tiering.settings.clone()).collect::<Vec<_>>();
    assert_eq!(settings.iter().map(|settings| settings.ram).collect::<Vec<_>>(), [1500, 1500], "half of the workload");
    let slots = |index: usize| settings[index].areas.iter().map(|area| area.slots).collect::<Vec<_>>();
    assert_eq!(slots(0), [750, 3000], "half of RAM is usual for zram, and twice RAM was asked for");
    assert_eq!(slots(1), [3000], "a disk holds the whole workload");
    let halved = scenario(&text, &[("scale", Value::Integer(2))], None).unwrap();
    assert_eq!(halved.points[0].tierings[0].settings.ram, 750, "half of a workload of half the size, and not divided again");
}

#[test]
fn what_is_typed_and_what_stands_in_a_file_are_the_same() {
    let typed = Typed {
        tierings: vec!["disk=disk:nvme:64M".into(), "zswap=zswap:lz4,disk:nvme:64M".into()],
        policies: Vec::new(),
        ram: Some(Size::Pages(2048)),
        one_ram: false,
        source: WorkloadSource::Generated("hold:pages=3000,reads=1,same=0,poor=0,size=1000".into()),
        sleeps: false,
        base: Some(BaseSpec::new(swaptune_kernel::v(6, 12), Size::Pages(1))),
        now: None,
    };
    let text = typed.text(&Changes::default()).unwrap();
    let typed = Scenario::typed(&typed, &Changes::default(), &NoFiles).unwrap();
    assert_eq!(Scenario::read(&text, &Changes::default(), &NoFiles).unwrap().points, typed.points, "{text}");
    for (ours, theirs) in Runs::all(typed).runs[0].iter().zip(&Runs::of(SMALL, 1, None).runs[0]) {
        assert_eq!(ours.outcome, theirs.outcome);
    }
}

#[test]
fn other_figures_are_those_of_what_is_named_and_not_described() {
    let mut figures = crate::model::ModelFigures::default();
    figures.zswap.iter_mut().for_each(|codec| codec.compress = 7);
    figures.costs.scan = 8;
    let device = crate::model::NamedDevice { name: "this".into(), times: crate::model::DeviceTimes::HDD, rotational: true };
    figures.devices.push(device);
    let changes = Changes { figures, ..Changes::default() };
    let text = SMALL.replacen("\"nvme\"", "\"this\"", 1);
    let settings = |text: &str| Scenario::read(text, &changes, &NoFiles).unwrap().points.remove(0).tierings;
    let tierings = settings(&text);
    assert_eq!((tierings[0].settings.costs.scan, tierings[1].settings.zswap.as_ref().unwrap().codec.compress), (8, 7));
    assert_eq!(
        (&tierings[0].devices, tierings[0].settings.devices[0]),
        (&vec!["this".to_owned()], crate::model::DeviceTimes::HDD)
    );
    let described = settings(&format!(
        "{text}[codec.lz4]\ncompress-ns = 9\n[costs]\nscan-ns = 10\nwake-ns = 11\nround-ns = 12\nwrite-back-ns = 13"
    ));
    assert_eq!((described[1].settings.costs.scan, described[1].settings.zswap.as_ref().unwrap().codec.compress), (10, 9));
    assert_eq!((described[1].settings.costs.wake, described[1].settings.costs.round), (11, 12));
    assert_eq!(described[1].settings.costs.write_back, 13);
    assert!(scenario(&text, &[], None).unwrap_err().to_string().contains("found `this`"), "nobody measured anything");
}

#[test]
fn scale_divides_pages_and_accesses_and_nothing_else() {
    let full = scenario(SMALL, &[], None).unwrap();
    let half = scenario(SMALL, &[("scale", Value::Integer(2))], None).unwrap();
    let settings = |scenario: &Scenario| scenario.points[0].tierings[1].settings.clone();
    assert_eq!(
        (settings(&half).ram, settings(&half).areas[0].slots),
        (settings(&full).ram / 2, settings(&full).areas[0].slots / 2)
    );
    assert_eq!((settings(&half).costs, settings(&half).devices), (settings(&full).costs, settings(&full).devices));
    let WorkloadSource::Generated(spec) = &half.points[0].source else { panic!() };
    assert!(spec.contains("pages=1500") && spec.contains("reads=1"), "{spec}");
    let trace = SMALL.replace("generator = \"hold\"", "trace = \"a.csv\"");
    let trace = trace.lines().filter(|line| !line.starts_with("with")).collect::<Vec<_>>().join("\n");
    assert_eq!(scenario(&trace, &[], None).unwrap().points[0].source, WorkloadSource::Trace("a.csv".into()));
    assert!(scenario(&trace, &[("scale", Value::Integer(2))], None).is_err(), "a trace cannot be made smaller");
}

#[test]
fn wakes_are_what_comes_after_a_second_of_sleep() {
    let text = SMALL.replace("hold", "idle").replace(
        "with = { pages = 3000, reads = 1, same = 0, poor = 0, size = 1000 }",
        "with = { apps = 4, pages = 400, seconds = 200, wake = 20, touch = 0.5 }",
    );
    let runs = Runs::of(&text, 1, None);
    let wakes = runs.metric("wakes", "disk", 0);
    assert!((20.0..400.0).contains(&wakes), "4 applications, 200 seconds, a wake in 20: {wakes}");
    assert!(runs.metric("wake-p50", "disk", 0) >= 199e-6, "200 accesses a microsecond apart");
    assert!(runs.metric("wake-p99", "disk", 0) < 0.1);
    assert!(Runs::of(SMALL, 1, None).get("disk", 0).wakes.count() == 0, "who never sleeps never wakes");
}

#[test]
fn what_is_wrong_with_upkeep_is_named() {
    let message = |from: &str, to: &str| {
        assert!(UPKEEP.contains(from), "{from}");
        scenario(&UPKEEP.replace(from, to), &[], None).unwrap_err().to_string()
    };
    for (from, to, says) in [
        ("\"6.12\"", "\"6.1\"", "Linux 6.1 has no recompression in zram: it is there since 6.2"),
        (
            "\"huge_idle\"",
            "\"huge-idle\"",
            "writeback.type: found `huge-idle`, expected one of idle, huge, huge_idle, incompressible",
        ),
        ("\"idle\", age = 120 } }]", "\"incompressible\" } }]", "recompress.type: found `incompressible`"),
        ("\"idle\", age = 120 } }]", "\"idle\" } }]", "recompress.age: found nothing, expected seconds"),
        ("\"idle\", age = 120 } }]", "\"huge\", age = 120 } }]", "recompress.age: found 120, expected no age"),
        ("\"idle\", age = 120 } }]", "\"huge\", share = 2.0 } }]", "recompress.share: found 2, expected more than 0"),
        ("\"zstd\", type", "\"zstdd\", type", "recompress.algorithm: found `zstdd`"),
        ("disk = \"nvme\", size = \"4G\"", "disk = \"nvm\", size = \"4G\"", "found `nvm`, expected one of nvme, ssd, hdd"),
        (
            "size = \"6G\" }]",
            "size = \"6G\", upkeep = 60 }]",
            "found `upkeep` alone, expected `recompress` or `writeback` with it",
        ),
        ("upkeep = 60,", "upkeep = 0,", "visits to a zram device need an interval"),
        ("upkeep = 60,", "upkeep = -1,", "upkeep: found -1, expected seconds, 0 or more"),
    ] {
        let text = message(from, to);
        assert!(text.contains(says), "{text}\nshould contain: {says}");
    }
}

/// Sizes under the second algorithm are those of the distribution where it has them.
#[test]
fn a_distribution_can_say_what_the_secondary_algorithm_makes_of_pages() {
    let pages = "[workload]\npages = [{ share = 1.0, size = 2000, second = 500 }]\ngenerator";
    let text = UPKEEP.replace("[workload]\ngenerator", pages);
    let runs = Runs::of(&text, 256, None);
    let pool = |name: &str| runs.metric("pool", name, 0);
    assert!(pool("zram, recompression") < 0.65 * pool("zram alone"), "{} {}", pool("zram, recompression"), pool("zram alone"));
}
