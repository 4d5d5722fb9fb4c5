//! Machines as folders: what swaptune sees, plans and finds on each of `tests/fixtures/hosts/*`.
//!
//! A folder that `swaptune inspect --capture` made is a test. Its `expected/` holds the facts, the plan and the findings
//! as they were read by a person and accepted with `SWAPTUNE_ACCEPT=1 cargo test -p swaptune --test hosts`.

use std::fs;
use std::process::{Command, ExitCode};

use libtest_mimic::{Arguments, Failed, Trial};
use serde_json::Value;

mod support;

use support::{Host, hosts};

/// What is compared beside the facts: file of the expectation, and the command that prints it.
const VIEWS: &[View] = &[
    ("status.txt", &["status"]),
    ("summary.txt", &["plan"]),
    ("plan.txt", &["plan", "--explain", "--profile", "auto"]),
    ("plan-guide.txt", &["plan", "--profile", "idle-guide"]),
    ("findings.txt", &["verify"]),
    ("watch.txt", &["watch", "--once"]),
];

/// What is made of the configuration of another program, on the machines that have one.
const ADOPTED: View = ("adopt.txt", &["plan", "--adopt", "--explain"]);

/// What a disk that nothing uses would become, and what one in use is refused for.
const DEVICES: &[View] = &[
    ("device-random.txt", &["device", "plan", "/dev/vdb", "--encrypt", "random", "--optional"]),
    ("device-luks.txt", &["device", "plan", "/dev/vdb", "--encrypt", "luks"]),
    ("device-divided.txt", &["device", "plan", "/dev/vdb", "--encrypt", "none", "--swap", "60%", "--rest", "cache"]),
    ("device-in-use.txt", &["device", "plan", "/dev/vda", "--wipe"]),
];

type View = (&'static str, &'static [&'static str]);

fn main() -> ExitCode {
    let arguments = Arguments::from_args();
    let trials = hosts().into_iter().flat_map(|host| {
        let facts = host.clone();
        let name = format!("{}::facts", host.name);
        let adopted = host.name.starts_with("adopt-").then_some(&ADOPTED);
        let devices = if host.name == "spare-disk" { DEVICES } else { &[] };
        let views = VIEWS.iter().chain(adopted).chain(devices).map(move |view| trial(host.clone(), *view));
        std::iter::once(Trial::test(name, move || compare_facts(&facts))).chain(views)
    });
    libtest_mimic::run(&arguments, trials.collect()).exit_code()
}

fn trial(host: Host, (file, words): View) -> Trial {
    Trial::test(format!("{}::{file}", host.name), move || {
        let (text, code) = run(&host, words)?;
        compare(&host, file, &format!("{text}exit code {code}\n"))
    })
}

/// Facts of a captured host as they are, less knobs that it lacks, which come with every new row of the table; of a variant what differs
/// from those of its base (RFC 6902).
fn compare_facts(host: &Host) -> Result<(), Failed> {
    let seen = facts(host)?;
    let Some(base) = host.base()? else {
        return compare(host, "facts.json", &pretty(&seen)?);
    };
    compare(host, "facts.patch.json", &pretty(&serde_json::to_value(json_patch::diff(&facts(&base)?, &seen))?)?)
}

fn facts(host: &Host) -> Result<Value, Failed> {
    let (text, code) = run(host, &["inspect", "--json"])?;
    if code != 0 {
        return Err(format!("exit code {code}: {text}").into());
    }
    let mut facts: Value = serde_json::from_str(&text)?;
    let knobs = facts["knobs"].as_object_mut().ok_or("facts have knobs")?;
    knobs.retain(|_, knob| knob.get("absent").is_none());
    Ok(facts)
}

fn pretty(value: &Value) -> Result<String, Failed> {
    Ok(serde_json::to_string_pretty(value)? + "\n")
}

fn compare(host: &Host, file: &str, seen: &str) -> Result<(), Failed> {
    let path = host.folder.join("expected").join(file);
    if std::env::var_os("SWAPTUNE_ACCEPT").is_some() {
        fs::create_dir_all(host.folder.join("expected"))?;
        fs::write(&path, seen)?;
        return Ok(());
    }
    let expected =
        fs::read_to_string(&path).map_err(|error| format!("{}: {error}; accept with SWAPTUNE_ACCEPT=1", path.display()))?;
    match first_difference(&expected, seen) {
        None => Ok(()),
        Some(text) => Err(format!("{}: {text}\naccept with SWAPTUNE_ACCEPT=1 if that is right", path.display()).into()),
    }
}

/// Output and exit code of the real binary on the folder.
fn run(host: &Host, words: &[&str]) -> Result<(String, i32), Failed> {
    let machine = host.copy()?;
    let output = Command::new(env!("CARGO_BIN_EXE_swaptune"))
        .args(words)
        .arg("--root")
        .arg(machine.path())
        .env("COLUMNS", "120")
        .output()?;
    let text = String::from_utf8(output.stdout).map_err(|error| error.to_string())?;
    Ok((text + &String::from_utf8_lossy(&output.stderr), output.status.code().unwrap_or(-1)))
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
