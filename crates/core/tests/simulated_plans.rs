//! A forecast in the place of rules: what `auto` makes of a simulation, on captured machines.
#![allow(clippy::unwrap_used, reason = "helpers of tests may panic")]

use swaptune_core::forecast::{BackingTier, Candidate, CandidateForecast, Forecast, MeasuredParts};
use swaptune_core::measurement::Evidence;
use swaptune_core::plan::{Plan, PlanRequest, plan};
use swaptune_core::settings::{PoolLimit, Provenance, Settings, read_toml};
use swaptune_core::{Bytes, Facts, profiles};

/// One processor, two areas on a virtual disk; the rules propose zswap with lz4, 80 % and no shrinker.
fn facts() -> Facts {
    let text = include_str!("../../../tests/fixtures/hosts/debian13-6.12/expected/facts.json");
    let mut facts: Facts = serde_json::from_str(text).unwrap();
    // Slots for twice its RAM: with fewer than its device has pages zram would go before them.
    for area in &mut facts.swaps {
        area.size = Bytes::from_gib(1);
    }
    for device in facts.block_devices.iter_mut().filter(|device| ["vda3", "vda4"].contains(&device.name.as_str())) {
        device.size = Bytes::from_gib(1);
    }
    facts
}

fn zswap(compressor: &str, pool: u64, shrinker: bool) -> Candidate {
    let compressor = Some(compressor.to_owned());
    Candidate { tier: BackingTier::Zswap, compressor, pool_percent: Some(pool), shrinker: Some(shrinker) }
}

fn other(tier: BackingTier, compressor: Option<&str>) -> Candidate {
    Candidate { tier, compressor: compressor.map(str::to_owned), pool_percent: None, shrinker: None }
}

/// A forecast in which the proposal holds 30 to 34 applications.
fn forecast(others: &[(Candidate, [u32; 3])]) -> Forecast {
    let row = |candidate: &Candidate, applications: [u32; 3]| CandidateForecast {
        candidate: candidate.clone(),
        applications: applications.to_vec(),
    };
    let mut candidates = vec![row(&zswap("lz4", 80, false), [30, 32, 34])];
    candidates.extend(others.iter().map(|(candidate, applications)| row(candidate, *applications)));
    let rests_on = vec!["sizes of 4096 pages".into(), "run 7 (bench swap)".into()];
    let measured = MeasuredParts { pages: true, costs: true };
    let counted = "idle applications".to_owned();
    Forecast { counted, measured, gain_percent: 10, rests_on, seeds: vec![1, 2, 3], candidates, ..Forecast::default() }
}

fn settings(forecast: Option<&Forecast>, config: &str) -> Settings {
    profiles::resolve(vec![read_toml("c.toml", config, None).unwrap()], &facts(), &Evidence::default(), forecast).unwrap()
}

fn planned(forecast: &Forecast, config: &str) -> Plan {
    let (facts, settings) = (facts(), settings(Some(forecast), config));
    plan(&PlanRequest {
        facts: &facts,
        settings: &settings,
        evidence: &Evidence::default(),
        forecast: Some(forecast),
        now: true,
        boot: true,
        record: true,
        wipe: &[],
        binary: "/usr/local/bin/swaptune",
        installed: true,
        seed: 7,
    })
}

/// Reason and evidence of the step that changes this.
fn why(plan: &Plan, what: &str) -> (String, String) {
    let step = plan.steps.iter().find(|step| step.change.to_string().starts_with(what));
    let step = step.unwrap_or_else(|| panic!("no step {what} in {plan:#?}"));
    (step.reason.clone(), format!("{}; {}", step.provenance, step.evidence))
}

#[test]
fn without_a_clear_difference_the_rules_stand_and_say_so() {
    let forecast = forecast(&[(zswap("zstd", 80, false), [33, 36, 39]), (other(BackingTier::Disk, None), [10, 10, 11])]);
    let (with, without) = (settings(Some(&forecast), ""), settings(None, ""));
    let value = |settings: &Settings| (settings.zswap.compressor().unwrap().value, settings.zswap.enabled().unwrap().value);
    assert_eq!(value(&with), value(&without));
    let plan = planned(&forecast, "");
    let (reason, rests_on) = why(&plan, "zswap.compressor: lzo → lz4");
    assert!(reason.starts_with("one processor: lz4"), "{reason}");
    assert!(rests_on.ends_with("simulated: 30 to 34 with lz4, 33 to 39 with zstd: no clear difference"), "{rests_on}");
    let (_, rests_on) = why(&plan, "zswap.enabled");
    assert!(
        rests_on.ends_with("30 to 34 with zswap lz4, limit 80 %, no shrinker, 10 to 11 with disk alone: confirmed"),
        "{rests_on}"
    );
    let note = plan.notes.iter().find(|note| note.about == "simulation").unwrap();
    assert!(
        note.text
            .contains("zswap zstd, limit 80 %, no shrinker 33 to 39; zswap lz4, limit 80 %, no shrinker 30 to 34 (as proposed)")
    );
    assert!(note.text.ends_with("no other is clearly better than the proposed one") && note.evidence.contains("run 7"));
    assert_eq!(plan.forecast.as_ref(), Some(&forecast));
}

#[test]
fn a_compressor_that_is_clearly_better_is_followed_with_both_figures() {
    let forecast = forecast(&[(zswap("zstd", 80, false), [41, 44, 47])]);
    let settings = settings(Some(&forecast), "");
    assert_eq!(settings.zswap.compressor().unwrap().value, ["zstd", "lz4", "lzo-rle", "lzo"]);
    assert!(matches!(settings.zswap.compressor().unwrap().provenance, Provenance::Simulated { .. }));
    let (reason, rests_on) = why(&planned(&forecast, ""), "zswap.compressor: lzo → zstd");
    assert_eq!(reason, "simulated: 41 to 47 with zstd, 30 to 34 with lz4 as the rules propose (idle applications)");
    assert_eq!(rests_on, "simulation; idle applications; seeds 1, 2, 3; sizes of 4096 pages; run 7 (bench swap)");
}

#[test]
fn limit_and_shrinker_are_followed_too() {
    let pool = settings(Some(&forecast(&[(zswap("lz4", 20, false), [40, 41, 42])])), "");
    assert_eq!(pool.zswap.pool().unwrap().value, PoolLimit::Percent(20));
    assert!(!pool.zswap.shrinker_enabled().unwrap().value, "of the shrinker nothing was said");
    let shrinker = settings(Some(&forecast(&[(zswap("lz4", 80, true), [40, 41, 42])])), "");
    assert!(shrinker.zswap.shrinker_enabled().unwrap().value);
    assert_eq!(shrinker.zswap.pool().unwrap().value, PoolLimit::Percent(80));
}

#[test]
fn another_tier_is_followed_as_a_whole() {
    let forecast_of_zram = forecast(&[(other(BackingTier::Zram, Some("zstd")), [50, 52, 55])]);
    let with_zram = settings(Some(&forecast_of_zram), "");
    assert!(!with_zram.zswap.enabled().unwrap().value);
    let zram = with_zram.zram.as_ref().unwrap();
    assert_eq!(zram.value[0].algorithm[0], "zstd");
    let plan = planned(&forecast_of_zram, "");
    let (reason, from) = why(&plan, "zram0");
    let both = "simulated: 50 to 55 with zram zstd, 30 to 34 with zswap lz4, limit 80 %, no shrinker as the rules propose (idle applications)";
    assert_eq!(reason, both);
    assert!(from.starts_with("simulation; "), "{from}");
    assert!(plan.refusals.is_empty(), "{:?}", plan.refusals);
    let disk = settings(Some(&forecast(&[(other(BackingTier::Disk, None), [50, 52, 55])])), "");
    assert!(!disk.zswap.enabled().unwrap().value && disk.zram.is_none());
}

#[test]
fn what_was_configured_stands() {
    let forecast = forecast(&[(zswap("zstd", 80, false), [41, 44, 47])]);
    let settings = settings(Some(&forecast), "[zswap]\ncompressor = \"lzo\"\n");
    assert_eq!(settings.zswap.compressor().unwrap().value, ["lzo"]);
}

#[test]
fn a_plan_with_a_forecast_is_read_back() {
    let plan = planned(&forecast(&[(zswap("zstd", 80, false), [41, 44, 47])]), "");
    let text = serde_json::to_string(&plan).unwrap();
    assert_eq!(serde_json::from_str::<Plan>(&text).unwrap(), plan);
    assert!(text.contains(r#""tier":"zswap","compressor":"zstd""#), "{text}");
}
