//! Scenario d7: disk and compressibility were fitted so that elapsed times of the published cases come out within 10 %. These tests hold the
//! fit, and which ingredient makes it; they are no evidence for the model.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on may panic")]

use std::collections::BTreeMap;

use swaptune_tiers::generate::generate;
use swaptune_tiers::scenario::{Changes, NoFiles, Scenario, WorkloadSource, run};

const TEXT: &str = include_str!("../../../scenarios/d7-proactive-shrinker.toml");

#[test]
fn with_the_fitted_disk_patch_five_makes_the_gain() {
    let scenario = Scenario::read(TEXT, &Changes::default(), &NoFiles).unwrap();
    let point = &scenario.points[0];
    let WorkloadSource::Generated(spec) = &point.source else { panic!("a generator was expected") };
    let trace = generate(spec).unwrap();
    let outcome = |name: &str| run(point.tierings.iter().find(|tiering| tiering.name == name).unwrap(), &trace).unwrap().outcome;
    let names = ["zswap off", "patches 1-3", "1-3 and 5", "all six"];
    let seconds: BTreeMap<&str, f64> = names.map(|name| (name, outcome(name).elapsed as f64 / 1e9)).into();
    for (name, published) in [("patches 1-3", 13.10), ("all six", 11.17)] {
        let (ours, published) = (seconds[name] / seconds["zswap off"], published / 11.81);
        assert!((ours / published - 1.0).abs() < 0.1, "{name}: {ours:.3} of zswap off, published {published:.3}");
    }
    assert!(seconds["all six"] < seconds["zswap off"] && seconds["zswap off"] < seconds["patches 1-3"]);
    let gain = seconds["patches 1-3"] - seconds["all six"];
    let of_raw = seconds["patches 1-3"] - seconds["1-3 and 5"];
    assert!((of_raw / gain - 1.0).abs() < 0.1, "patch 5 makes {of_raw:.2} s of {gain:.2} s");
}
