//! What `plan` prints of capacity on every captured machine: never less than before without a word about it.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on may panic")]

mod support;

use std::path::Path;
use std::process::Command;

use serde_json::Value;

fn swaptune(machine: &Path, words: &[&str]) -> String {
    let output = Command::new(env!("CARGO_BIN_EXE_swaptune")).args(words).arg("--root").arg(machine).output().unwrap();
    String::from_utf8(output.stdout).unwrap()
}

fn json(machine: &Path, words: &[&str]) -> Value {
    let text = swaptune(machine, &[words, &["--json"]].concat());
    serde_json::from_str(&text).unwrap_or_else(|error| panic!("{words:?}: {error}: {text}"))
}

#[test]
fn no_plan_lowers_the_capacity_of_a_captured_machine_without_saying_so() {
    let mut lowered = 0;
    for host in support::hosts() {
        let machine = host.copy().unwrap();
        for profile in ["auto", "idle-guide", "off"] {
            let words = ["plan", "--profile", profile];
            let plan = json(machine.path(), &words);
            let size = |side: &str, part: &str| plan["capacity"][side][part].as_u64();
            let name = format!("{} with {profile}", host.name);
            let (before, after) = (size("before", "total").unwrap(), size("after", "total").unwrap());
            let note = plan["notes"].as_array().unwrap().iter().find(|note| note["about"] == "capacity");
            assert_eq!(note.is_some(), after < before, "{name}: {before} → {after}, {note:?}");
            if let Some(note) = note {
                lowered += 1;
                let said = note["text"].as_str().unwrap();
                assert!(said.starts_with("falls from ") && !said.contains(": ; "), "{name}: {said}");
            }
            // Parts add up: what the pools hold and what is left for the disk, beside the RAM that the pools leave.
            for side in ["before", "after"] {
                let part = |part: &str| size(side, part).unwrap();
                let sum = part("ram") - part("pool_ram") + part("compressed") + part("disk");
                assert_eq!(part("total"), sum, "{name}, {side}");
            }
            // Results of `measured` take the place of assumed ratios in a plan; `status` looks at what is stored only.
            if profile == "auto" && host.name != "measured" {
                let status = json(machine.path(), &["status"]);
                assert_eq!(plan["capacity"]["before"], status["capacity"]["value"], "{name}");
            }
        }
    }
    assert!(lowered > 0, "some plan lowers it, or this test shows nothing");
}
