//! The program that is shipped has nothing that only tests know: no double of a kernel, no variable that asks for one or that kills.

use std::path::Path;
use std::process::Command;

/// Words of `tests/double`, and of every variable that it and the tests listen to.
const WORDS: [&str; 7] =
    ["# made by ", "FIXTURE_KERNEL", "FixtureKernel", "swaptune_double", "SWAPTUNE_TEST_", "SWAPTUNE_CIRCLE_PLAYS", "KILL_AT"];

fn has(program: &Path, word: &str) -> bool {
    let bytes = std::fs::read(program).unwrap();
    bytes.windows(word.len()).any(|window| window == word.as_bytes())
}

#[test]
fn the_program_has_no_double() {
    let program = Path::new(env!("CARGO_BIN_EXE_swaptune"));
    for word in WORDS {
        assert!(!has(program, word), "{word} is in {}", program.display());
    }
    // Files and variables that it does listen to are found this way, so what is not found is not there.
    for word in ["SWAPTUNE_SCRATCH_GUARDIAN", "/etc/swaptune/applied.toml"] {
        assert!(has(program, word), "{word} is not in {}", program.display());
    }
}

#[test]
fn every_variable_of_ours_that_the_program_reads_is_known() {
    let bytes = std::fs::read(env!("CARGO_BIN_EXE_swaptune")).unwrap();
    let starts = bytes.windows(9).enumerate().filter(|(_, window)| *window == b"SWAPTUNE_");
    let is_name = |byte: &&u8| byte.is_ascii_uppercase() || **byte == b'_';
    let names = starts.map(|(at, _)| bytes[at..].iter().take_while(is_name).map(|byte| char::from(*byte)).collect::<String>());
    // Literals lie side by side in the file: a name may run on into the next one.
    let unknown: Vec<String> = names.filter(|name| !name.starts_with("SWAPTUNE_SCRATCH_GUARDIAN")).collect();
    assert!(unknown.is_empty(), "{unknown:?}");
}

/// A copy of a capture that somebody sets every variable for which a double was ever known by: nothing is played.
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
