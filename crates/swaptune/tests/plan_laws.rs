//! What holds of the plan for every captured machine.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on may panic")]

mod support;

use std::path::Path;
use std::process::Command;

use serde_json::Value;

fn planned(machine: &Path, words: &[&str]) -> Value {
    let words = [&["plan", "--json"], words].concat();
    let output = Command::new(env!("CARGO_BIN_EXE_swaptune")).args(&words).arg("--root").arg(machine).output().unwrap();
    let text = String::from_utf8(output.stdout).unwrap();
    serde_json::from_str(&text).unwrap_or_else(|error| panic!("{words:?}: {error}: {text}"))
}

fn list<'a>(plan: &'a Value, key: &str) -> &'a [Value] {
    plan[key].as_array().unwrap()
}

/// What a step changes: the path of a file or link, the name of a knob.
fn target(step: &Value) -> String {
    ["path", "name"].iter().find_map(|key| step["change"][key].as_str()).unwrap_or("?").to_owned()
}

#[test]
fn a_sysctl_under_none_changes_nothing_else() {
    let ours = [
        "/proc/sys/vm/vfs_cache_pressure",
        "/etc/sysctl.d/99-zz-swaptune.conf",
        "/etc/systemd/system/swaptune.service",
        "/etc/systemd/system/swap.target.wants/swaptune.service",
        "/etc/swaptune/applied.toml",
        // Of a system whose files are declared.
        "/run/swaptune/applied.toml",
    ];
    for host in support::hosts() {
        let machine = host.copy().unwrap();
        let plan = planned(machine.path(), &["--profile", "none", "--set", "vm.vfs_cache_pressure=99"]);
        for step in list(&plan, "steps") {
            let target = target(step);
            assert!(ours.contains(&target.as_str()), "{}: {target}: {step}", host.name);
        }
    }
}

#[test]
fn a_plan_that_is_refused_brings_nothing() {
    let mut refused = 0;
    for host in support::hosts() {
        let machine = host.copy().unwrap();
        let plan = planned(machine.path(), &[]);
        if !list(&plan, "refusals").is_empty() {
            refused += 1;
            assert!(plan["gain"].is_null(), "{}: {}", host.name, plan["gain"]);
        }
        if host.name == "kubernetes-node" {
            assert_eq!(plan["capacity"]["before"], plan["capacity"]["after"], "what was taken out adds nothing");
        }
    }
    assert!(refused > 0, "some plan is refused, or this test shows nothing");
}
