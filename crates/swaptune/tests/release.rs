//! The program that is shipped has nothing that only tests know: no double of a kernel, no variable that asks for one or that kills.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on may panic")]

use std::path::Path;
use std::process::Command;

/// Words of `tests/double`, and of every variable that it and the tests listen to.
const WORDS: [&str; 7] =
    ["# made by ", "FIXTURE_KERNEL", "FixtureKernel", "swaptune_double", "SWAPTUNE_TEST_", "SWAPTUNE_CIRCLE_PLAYS", "KILL_AT"];

/// What of a pattern (grep's basic regular expressions) is in the program.
fn found(pattern: &str) -> Vec<String> {
    let grep = Command::new("grep").args(["-aoh", pattern, env!("CARGO_BIN_EXE_swaptune")]).env("LC_ALL", "C").output().unwrap();
    assert!(matches!(grep.status.code(), Some(0 | 1)), "{grep:?}");
    String::from_utf8_lossy(&grep.stdout).lines().map(str::to_owned).collect()
}

#[test]
fn the_program_has_no_double() {
    for word in WORDS {
        assert!(found(word).is_empty(), "{word} is in the program");
    }
    // What it does have is found this way, so what is not found is not there.
    for word in ["SWAPTUNE_TEMPORARY_GUARDIAN", "/etc/swaptune/applied.toml"] {
        assert!(!found(word).is_empty(), "{word} is not in the program");
    }
}

/// What the program says to what it starts: its guardian, what a command of an interrupted run is known by, services of `bench density`.
const KNOWN: [&str; 5] =
    ["SWAPTUNE_TEMPORARY_GUARDIAN", "SWAPTUNE_STARTED_BY", "SWAPTUNE_HEAP", "SWAPTUNE_WORK", "SWAPTUNE_SEED"];

#[test]
fn every_variable_of_ours_that_the_program_reads_is_known() {
    // Literals lie side by side in the file: a name may run on into the next one.
    let is_known = |name: &String| KNOWN.iter().any(|known| name.starts_with(known));
    let unknown: Vec<String> = found("SWAPTUNE_[A-Z_]*").into_iter().filter(|name| !is_known(name)).collect();
    assert!(unknown.is_empty(), "{unknown:?}");
}

/// Variables by which a double could be asked for once: nothing is played, and nothing is killed.
#[test]
fn no_variable_brings_a_double_in() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/fixtures/hosts/debian13-6.12");
    for words in [&["apply", "--yes"][..], &["apply", "--boot", "--yes"], &["service", "start"]] {
        let output = Command::new(env!("CARGO_BIN_EXE_swaptune"))
            .args(words)
            .arg("--root")
            .arg(&folder)
            .env("SWAPTUNE_FIXTURE_KERNEL", "1")
            .env("SWAPTUNE_CIRCLE_PLAYS", "1")
            .env("SWAPTUNE_TEST_KILL_AT", "1")
            .output()
            .unwrap();
        let text = String::from_utf8_lossy(&output.stderr);
        assert!(matches!(output.status.code(), Some(2 | 3)), "{words:?}: {} {text}", output.status);
    }
}
