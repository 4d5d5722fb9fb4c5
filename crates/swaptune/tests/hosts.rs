//! Machines as folders: what swaptune sees, plans and finds on each of `tests/fixtures/hosts/*`.
//!
//! A folder that `swaptune inspect --capture` made is a test. Its `expected/` holds the facts, the plan and the findings
//! as they were read by a person and accepted with `SWAPTUNE_ACCEPT=1 cargo test -p swaptune --test hosts`.

use std::fs;
use std::path::Path;
use std::process::{Command, ExitCode};

use libtest_mimic::{Arguments, Failed, Trial};

mod support;

use support::{Host, hosts};

/// What is compared: file of the expectation, and the command that prints it.
const VIEWS: &[(&str, &[&str])] = &[
    ("facts.json", &["inspect", "--json"]),
    ("status.txt", &["status"]),
    ("plan.txt", &["plan", "--explain"]),
    ("plan-guide.txt", &["plan", "--profile", "idle-guide"]),
    ("findings.txt", &["verify"]),
];

fn main() -> ExitCode {
    let arguments = Arguments::from_args();
    let trials = hosts().into_iter().flat_map(|host| VIEWS.iter().map(move |view| trial(host.clone(), *view))).collect();
    libtest_mimic::run(&arguments, trials).exit_code()
}

fn trial(host: Host, (file, words): (&'static str, &'static [&'static str])) -> Trial {
    Trial::test(format!("{}::{file}", host.name), move || compare(&host, file, words))
}

fn compare(host: &Host, file: &str, words: &[&str]) -> Result<(), Failed> {
    let machine = host.copy()?;
    let seen = run(machine.path(), words)?;
    let path = host.folder.join("expected").join(file);
    if std::env::var_os("SWAPTUNE_ACCEPT").is_some() {
        fs::create_dir_all(host.folder.join("expected"))?;
        fs::write(&path, &seen)?;
        return Ok(());
    }
    let expected =
        fs::read_to_string(&path).map_err(|error| format!("{}: {error}; accept with SWAPTUNE_ACCEPT=1", path.display()))?;
    match first_difference(&expected, &seen) {
        None => Ok(()),
        Some(text) => Err(format!("{}: {text}\naccept with SWAPTUNE_ACCEPT=1 if that is right", path.display()).into()),
    }
}

/// Output and exit code of the real binary on the folder.
fn run(folder: &Path, words: &[&str]) -> Result<String, Failed> {
    let output =
        Command::new(env!("CARGO_BIN_EXE_swaptune")).args(words).arg("--root").arg(folder).env("COLUMNS", "120").output()?;
    let text = String::from_utf8(output.stdout).map_err(|error| error.to_string())?;
    let talk = String::from_utf8_lossy(&output.stderr);
    Ok(format!("{text}{talk}exit code {}\n", output.status.code().unwrap_or(-1)))
}

fn first_difference(expected: &str, seen: &str) -> Option<String> {
    let (mut a, mut b) = (expected.lines(), seen.lines());
    for number in 1.. {
        match (a.next(), b.next()) {
            (None, None) => break,
            (left, right) if left == right => {}
            (left, right) => {
                return Some(format!(
                    "line {number}\n  expected: {}\n  seen:     {}",
                    left.unwrap_or("(end)"),
                    right.unwrap_or("(end)")
                ));
            }
        }
    }
    None
}
