//! `plan --simulate` as it is typed, on captured machines.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on may panic")]

mod support;

use std::path::Path;
use std::process::{Command, Output};

use serde_json::{Value, json};
use tempfile::TempDir;

/// What is asked for by name is not varied, which leaves the shrinker; large applications are few.
const QUICK: [&str; 8] =
    ["--set", "zswap.compressor=zstd", "--set", "zswap.max_pool_percent=30", "--set", "zswap.enabled=true", "--app-size", "60M"];

fn machine(name: &str) -> TempDir {
    support::hosts().into_iter().find(|host| host.name == name).unwrap().copy().unwrap()
}

fn plan(machine: &Path, words: &[&str]) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_swaptune"));
    command.args(["plan", "--root"]).arg(machine).args(words).output().unwrap()
}

fn text(output: &Output) -> String {
    format!("{}{}", String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr))
}

#[test]
fn results_of_the_machine_are_what_a_simulation_rests_on() {
    let machine = machine("measured");
    let words = [&QUICK[..], &["--simulate", "--seeds", "2", "--json"]].concat();
    let output = plan(machine.path(), &words);
    let printed: Value = serde_json::from_slice(&output.stdout).unwrap_or_else(|error| panic!("{error}: {}", text(&output)));
    let forecast = &printed["forecast"];
    assert_eq!((&forecast["measured"], &forecast["seeds"]), (&json!({ "pages": true, "costs": true }), &vec![1, 2].into()));
    let rests_on = forecast["rests_on"].to_string();
    for run in ["20261121-080000-0001", "20261121-081000-0002", "60 MiB, as asked for"] {
        assert!(rests_on.contains(run), "no {run} in {rests_on}");
    }
    let shrinker: Vec<&Value> =
        forecast["candidates"].as_array().unwrap().iter().map(|row| &row["candidate"]["shrinker"]).collect();
    assert_eq!(shrinker, [false, true]);
    let note = printed["notes"].as_array().unwrap().iter().find(|note| note["about"] == "simulation").unwrap();
    assert!(note["text"].as_str().unwrap().contains("zswap zstd, limit 30 %, no shrinker"), "{note}");
    // The setting was decided by it, or the note says that nothing is clearly better.
    let steps = printed["steps"].to_string();
    let text = note["text"].as_str().unwrap();
    let is_followed = text.contains("the plan follows zswap zstd, limit 30 %, shrinker");
    assert_eq!(steps.contains("shrinker_enabled = true # simulation"), is_followed, "{steps}");
    assert!(is_followed || text.ends_with("no other is clearly better than the proposed one"), "{text}");
    assert_eq!(plan(machine.path(), &words).stdout, output.stdout, "the same question has the same answer");
}

#[test]
fn what_cannot_be_simulated_is_said_with_a_hint() {
    let machine = machine("debian13-6.12");
    for (words, code, says) in [
        (vec!["--simulate", "--page-set", "/nonexistent.json"], 2, "--page-set /nonexistent.json: No such file"),
        (vec!["--simulate", "--page-set", "/dev/null"], 2, "swaptune sample --save"),
        (vec!["--page-set", "x.json"], 2, "--simulate"),
        (vec!["--simulate", "--seeds", "1"], 2, "1 is not in 2..=50"),
        (vec!["--simulate", "--app-size", "much"], 2, "--app-size"),
    ] {
        let output = plan(machine.path(), &words);
        assert!(output.status.code() == Some(code) && text(&output).contains(says), "{words:?}: {}", text(&output));
    }
}

/// The plan as JSON.
fn planned(machine: &Path, words: &[&str]) -> Value {
    let output = plan(machine, &[words, &["--json"]].concat());
    serde_json::from_slice(&output.stdout).unwrap_or_else(|error| panic!("{error}: {}", text(&output)))
}

/// How many applications fit, `today` or as `planned`.
fn fits(plan: &Value, when: &str) -> u64 {
    plan["gain"][when]["applications"].as_array().unwrap().iter().filter_map(Value::as_u64).min().unwrap()
}

/// The disk of this machine is quick, and has as many slots as zram would have pages: by the rules zswap, of which the model says that less fits
/// than with the disk alone.
#[test]
fn a_proposal_that_gains_nothing_gives_way_to_a_tier_that_does() {
    let machine = machine("measured");
    let (own, asked) = (planned(machine.path(), &[]), planned(machine.path(), &["--profile", "auto"]));
    assert_eq!(asked["gain"]["planned"]["candidate"]["tier"], "zswap", "what is asked for stays");
    assert!(fits(&asked, "planned") < fits(&asked, "today"), "{}", asked["gain"]);
    assert_eq!(own["gain"]["planned"]["candidate"]["tier"], "zram");
    assert!(fits(&own, "planned") > fits(&own, "today"), "{}", own["gain"]);
    assert!(own["steps"].to_string().contains("\"kind\":\"zram\""), "{}", own["steps"]);
    let note = own["notes"].as_array().unwrap().iter().find(|note| note["about"] == "simulation").unwrap();
    assert!(note["text"].as_str().unwrap().contains("the plan follows zram zstd"), "{note}");
}

/// The same with a disk on which less fits today, so that the proposal gains: with half of the speed another tier lets still more fit, with a tenth it
/// does not.
#[test]
fn a_proposal_that_gains_gives_way_to_a_tier_that_gains_clearly_more() {
    for (slower, tier) in [(2.0, "zram"), (10.0, "zswap")] {
        let machine = machine("measured");
        slow_down_the_disk(machine.path(), slower);
        let (own, asked) = (planned(machine.path(), &[]), planned(machine.path(), &["--profile", "auto"]));
        assert_eq!(asked["gain"]["planned"]["candidate"]["tier"], "zswap");
        assert!(fits(&asked, "planned") * 10 > fits(&asked, "today") * 11, "{}", asked["gain"]);
        assert_eq!(own["gain"]["planned"]["candidate"]["tier"], tier, "{slower} times slower");
        assert!(fits(&own, "planned") >= fits(&asked, "planned"), "{}", own["gain"]);
    }
}

/// Multiplies what the measured operations of its disk took.
fn slow_down_the_disk(machine: &Path, times: f64) {
    let path = machine.join("var/lib/swaptune/measurements.jsonl");
    let text = std::fs::read_to_string(&path).unwrap();
    let slower = text.lines().map(|line| {
        let mut row: Value = serde_json::from_str(line).unwrap();
        for way in ["read", "write"] {
            let Some(way) = row["figures"].get_mut(way).and_then(Value::as_object_mut).filter(|way| way.contains_key("iops"))
            else {
                continue;
            };
            for rate in ["iops", "bytes_per_second"] {
                way[rate] = json!(way[rate].as_f64().unwrap() / times);
            }
            let latency = way["latency"].as_object_mut().unwrap();
            for (_, nanos) in latency.iter_mut().filter(|(name, _)| *name != "samples") {
                *nanos = json!((nanos.as_f64().unwrap() * times) as u64);
            }
        }
        format!("{row}\n")
    });
    std::fs::write(&path, slower.collect::<String>()).unwrap();
}
