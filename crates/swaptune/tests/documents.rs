//! Commands of the documents: each can be typed as it stands there, and those that need nothing but time are run.
//!
//! None is run to find out whether it can be typed: behind its own words stands a flag that does not exist. The program reads from left
//! to right, so that the complaint is about that flag only when all words before it are right.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

/// No flag of the program.
const NO_FLAG: &str = "--there-is-no-such-flag";
/// What ends a command in a shell line.
const ENDS: [&str; 6] = ["&&", "|", ";", ">", "2>", "#"];

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

/// README, guides, evidence and how to contribute.
fn documents() -> Vec<PathBuf> {
    let mut all = vec![root().join("README.md"), root().join("CONTRIBUTING.md")];
    for folder in ["docs/guides", "docs/evidence"] {
        let entries = fs::read_dir(root().join(folder)).expect(folder).map(|entry| entry.expect("an entry").path());
        all.extend(entries.filter(|path| path.extension().is_some_and(|end| end == "md")));
    }
    all.sort();
    all
}

/// Lines of code and code between backticks.
fn code(text: &str) -> Vec<String> {
    let mut found = Vec::new();
    let mut fenced = false;
    for line in text.lines() {
        if line.trim_start().starts_with("```") {
            fenced = !fenced;
        } else if fenced || line.starts_with("    ") {
            found.push(line.trim().trim_start_matches("$ ").to_owned());
        } else {
            found.extend(line.split('`').skip(1).step_by(2).map(str::to_owned));
        }
    }
    found
}

/// The words behind `swaptune` in each command of a line.
fn commands(line: &str) -> Vec<Vec<String>> {
    let mut all = Vec::new();
    let mut words = line.split_whitespace().peekable();
    while let Some(word) = words.next() {
        if ENDS[..3].contains(&word) || word == "sudo" || word.contains('=') {
            continue;
        }
        if word != "swaptune" {
            // Another program, or prose.
            return all;
        }
        let mut own = Vec::new();
        while let Some(word) = words.next_if(|word| !ENDS.contains(word)) {
            own.push(word.trim_matches(['"', '\'']).to_owned());
        }
        all.push(own);
        if words.peek().is_none_or(|word| !ENDS[..3].contains(word)) {
            return all;
        }
    }
    all
}

fn every_command() -> Vec<(PathBuf, Vec<String>)> {
    let of = |path: PathBuf| {
        let lines = code(&fs::read_to_string(&path).expect("a document"));
        let found: Vec<Vec<String>> = lines.iter().flat_map(|line| commands(line)).collect();
        found.into_iter().map(move |words| (path.clone(), words)).collect::<Vec<_>>()
    };
    documents().into_iter().flat_map(of).collect()
}

fn swaptune(words: &[String]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_swaptune")).args(words).current_dir(root()).output().expect("the program")
}

#[test]
fn every_command_of_the_documents_can_be_typed() {
    let all = every_command();
    assert!(all.len() > 60, "{} commands", all.len());
    let mut wrong = Vec::new();
    for (path, words) in &all {
        // `…`, `DIR …`: what stands for more. `swaptune sample` alone in prose is a command too.
        if words.iter().any(|word| word.contains('…')) {
            continue;
        }
        // Behind `--` it would be a word of another command, and that one would run.
        let flags = words.iter().position(|word| word == "--").unwrap_or(words.len());
        let mut typed = words.clone();
        typed.insert(flags, NO_FLAG.to_owned());
        let said = String::from_utf8_lossy(&swaptune(&typed).stderr).into_owned();
        if !said.contains(NO_FLAG) {
            wrong.push(format!(
                "{}: swaptune {}\n  {}",
                path.display(),
                words.join(" "),
                said.lines().next().unwrap_or_default()
            ));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

/// A simulation that reads nothing of the machine and no file that the reader brings along.
fn is_free(words: &[String]) -> bool {
    let needs = ["--trace", "--page-set", "--measured", "--output", "--write-scenario", "--csv", "--tiering now", "this"];
    let line = words.join(" ");
    // `simulate run` alone is the name of a command.
    let is_whole = words.len() > 2 || matches!(line.as_str(), "simulate fit" | "simulate list");
    words.first().is_some_and(|word| word == "simulate") && is_whole && !needs.iter().any(|word| line.contains(word))
}

/// Scenarios take minutes in a build for tests: that they can be read is what the tests of the simulator say.
fn is_quick(words: &[String]) -> bool {
    !words.iter().any(|word| word.ends_with(".toml") || word.contains("…"))
}

#[test]
fn simulations_of_the_documents_run() {
    let all = every_command();
    let mut chosen: Vec<&Vec<String>> =
        all.iter().map(|(_, words)| words).filter(|words| is_free(words) && is_quick(words)).collect();
    chosen.sort();
    chosen.dedup();
    assert!(chosen.iter().any(|words| words.join(" ") == "simulate fit"), "{chosen:?}");
    for words in chosen {
        let output = swaptune(words);
        assert!(output.status.success(), "swaptune {}: {}", words.join(" "), String::from_utf8_lossy(&output.stderr));
    }
}

#[test]
fn commands_are_found_wherever_they_stand() {
    let of = |line: &str| commands(line).iter().map(|words| words.join(" ")).collect::<Vec<_>>();
    assert_eq!(of("sudo swaptune apply --now      # try it"), ["apply --now"]);
    assert_eq!(of("sudo swaptune bench swap && sudo swaptune bench disk --dir /a"), ["bench swap", "bench disk --dir /a"]);
    assert_eq!(of("swaptune simulate run a.toml --csv > out.csv"), ["simulate run a.toml --csv"]);
    assert_eq!(of("perf script | swaptune simulate replay --trace -"), Vec::<String>::new());
    assert_eq!(of("swaptune.service"), Vec::<String>::new());
    assert_eq!(
        code("a `swaptune plan` b\n```sh\nswaptune apply\n```\n    $ swaptune x\n"),
        ["swaptune plan", "swaptune apply", "swaptune x"]
    );
}
