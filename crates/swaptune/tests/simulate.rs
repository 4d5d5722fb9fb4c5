//! Tierings that are typed: figures of a measured machine, files that flags make, traces from a pipe.

use std::io::Write;
use std::path::Path;
use std::process::{Command, ExitCode, Stdio};

use libtest_mimic::{Arguments, Failed, Trial};

use swaptune_trials::needing;

#[path = "support/report.rs"]
mod report;
mod support;

use support::hosts;

type Test = fn() -> Result<(), Failed>;

fn main() -> ExitCode {
    let tests: [(&str, Test); 11] = [
        ("items of a grid come to the same as one run", items),
        ("measured figures are used and cited", measured),
        ("without the flag they are not", usual),
        ("the machine as it is set up can be measured too", now),
        ("flags make a file that says the same", file),
        ("a file elsewhere names the trace of the flags", file_of_trace),
        ("a trace can come from a pipe", pipe),
        ("a report is one file beside JSON", report_beside_json),
        ("a trace that is there is not written over", kept),
        ("a scenario that is there is not written over", kept_scenario),
        ("every question has an answer in JSON or none", as_json),
    ];
    let mut trials: Vec<Trial> = tests.into_iter().map(|(name, test)| Trial::test(name, test)).collect();
    trials.push(needing("reports can be read in a browser", || report::browser().map(drop), rendered));
    libtest_mimic::run(&Arguments::from_args(), trials).exit_code()
}

const TIERINGS: [&str; 4] = ["--tiering", "zswap:zstd,disk:vda", "--tiering", "zswap:lz4,disk:this"];

fn simulate(words: &[&str], root: Option<&Path>, input: &str) -> Result<(String, bool), Failed> {
    let mut command = Command::new(env!("CARGO_BIN_EXE_swaptune"));
    command
        .args(["simulate", "run"])
        .args(words)
        .env("COLUMNS", "120")
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped());
    root.into_iter().for_each(|root| _ = command.arg("--root").arg(root));
    let mut child = command.spawn()?;
    child.stdin.take().ok_or("no pipe")?.write_all(input.as_bytes())?;
    let output = child.wait_with_output()?;
    let text = String::from_utf8_lossy(&output.stdout).into_owned() + &String::from_utf8_lossy(&output.stderr);
    Ok((text, output.status.success()))
}

/// Each item by itself, put together, is what one run prints; what is lost, doubled or of another grid is told.
fn items() -> Result<(), Failed> {
    let grid = ["crates/swaptune/tests/cli/small.toml", "--sweep", "machine.ram=6M,8M", "--set", "seeds=2"];
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let swaptune = |words: &[&str]| -> Result<(String, Option<i32>), Failed> {
        let output = Command::new(env!("CARGO_BIN_EXE_swaptune")).arg("simulate").args(words).current_dir(&root).output()?;
        let text = String::from_utf8_lossy(&output.stdout).into_owned() + &String::from_utf8_lossy(&output.stderr);
        Ok((text, output.status.code()))
    };
    let run = |more: &[&str]| swaptune(&[&["run"][..], &grid, more].concat());
    let folder = tempfile::tempdir()?;
    let file = folder.path().join("lines");
    let path = file.to_str().ok_or("a path")?.to_owned();
    let merge = |text: String, more: &[&str]| -> Result<(String, Option<i32>), Failed> {
        std::fs::write(&file, text)?;
        swaptune(&[&["merge", &path][..], more].concat())
    };
    let count: usize = run(&["--items"])?.0.trim().parse()?;
    let lines = (0..count).rev().map(|item| Ok(run(&["--item", &item.to_string()])?.0)).collect::<Result<Vec<_>, Failed>>()?;
    let whole = run(&["--csv"])?;
    if count != 8 || merge(lines.concat(), &["--csv"])? != whole {
        return Err(format!("{count} items, merged {:?}, in one run {whole:?}", merge(lines.concat(), &["--csv"])?).into());
    }
    let (text, code) = merge(lines[2..].concat() + &lines[7], &[])?;
    contains(&text, &["counted once: 0", "2 of 8 items are lost: 6-7"])?;
    let other = swaptune(&["run", grid[0], "--item", "0"])?.0;
    let mixed = merge(lines[0].clone() + &other, &[])?;
    contains(&mixed.0, &[":2: item 0 is of another grid"])?;
    let changed = merge(lines[0].clone() + &lines[0].replace("\"faults\":", "\"faults\":1"), &[])?;
    contains(&changed.0, &[":2: item 7 came to something else before"])?;
    let newer = merge(lines[0].clone() + &lines[1].replace("\"schema\":1", "\"schema\":2"), &[])?;
    contains(&newer.0, &[":2: item 6 has version 2 of the form, expected 1"])?;
    let counted = merge(lines[0].clone() + &lines[1].replace("\"items\":8", "\"items\":9"), &[])?;
    contains(&counted.0, &[":2: item 6 is one of 9 items, expected one of 8"])?;
    let none = run(&["--item", "8"])?;
    contains(&none.0, &["--item 8: there are 8 items, from 0 to 7"])?;
    let codes = [code, mixed.1, changed.1, none.1];
    if codes == [Some(1), Some(2), Some(2), Some(2)] { Ok(()) } else { Err(format!("{codes:?}").into()) }
}

fn contains(text: &str, wanted: &[&str]) -> Result<(), Failed> {
    wanted.iter().try_for_each(|wanted| match text.contains(wanted) {
        true => Ok(()),
        false => Err(format!("`{wanted}` is missing in\n{text}").into()),
    })
}

fn on_measured(words: &[&str]) -> Result<(String, bool), Failed> {
    let host = hosts().into_iter().find(|host| host.name == "measured").ok_or("no such fixture")?;
    let machine = host.copy()?;
    simulate(&[&["--generate", "hold:pages=4000,reads=2"], words].concat(), Some(machine.path()), "")
}

/// The fixture has 24 and 9 µs for zstd in zswap, 11.7 and 4.4 for lz4, and no page of zeros: the usual path is taken off, 3.19 and
/// 1.83 µs. Its disk does 28 500 pages a second and reads one in 90 µs.
fn measured() -> Result<(), Failed> {
    let (text, _) = on_measured(&[&["--measured", "--ram", "8M"], &TIERINGS[..]].concat())?;
    contains(
        &text,
        &[
            "(Linux 6.12, page-cluster",
            "zstd in zswap  compress 21 µs, decompress 7.2 µs",
            "lz4 in zswap   compress 8.5 µs, decompress 2.6 µs",
            "run 20261121-081000-0002 (bench swap, Linux 6.12.107+deb13-amd64)",
            "disk this      vda: request",
            "run 20261121-082000-0003 (bench disk",
        ],
    )?;
    let (json, _) = on_measured(&[&["--measured", "--ram", "this", "--json"], &TIERINGS[..]].concat())?;
    contains(&json, &["\"of\": \"zswap\"", "\"name\": \"zstd\"", "\"source\": \"run 20261121-081000-0002"])
}

fn usual() -> Result<(), Failed> {
    let (text, done) = on_measured(&["--ram", "8M", "--tiering", "zswap:zstd,disk:ssd"])?;
    let (elsewhere, _) =
        simulate(&["--generate", "hold:pages=4000,reads=2", "--ram", "8M", "--tiering", "zswap:zstd,disk:ssd"], None, "")?;
    match done && text == elsewhere && !text.contains("Measured") {
        true => Ok(()),
        false => Err(format!("differs:\n{text}\n{elsewhere}").into()),
    }
}

/// Its areas lie on the disk that was measured; without the flag that has the usual times.
fn now() -> Result<(), Failed> {
    let (text, _) = on_measured(&["--measured", "--ram", "8M", "--tiering", "now"])?;
    contains(&text, &["  now: ", "vda, ", "(Linux 6.12, page-cluster", "disk vda"])?;
    let (text, _) = on_measured(&["--ram", "8M", "--tiering", "now"])?;
    match text.contains("  now: ") && text.contains("(Linux 6.12, page-cluster") && !text.contains("Measured") {
        true => Ok(()),
        false => Err(text.into()),
    }
}

/// Everything but the name of the scenario is the same.
fn file() -> Result<(), Failed> {
    let folder = tempfile::tempdir()?;
    let path = folder.path().join("mine.toml");
    let flags = [
        "--generate",
        "hold:pages=4000,reads=2",
        "--tiering",
        "a=zswap:zstd,disk:nvme#2",
        "--tiering",
        "zram:lz4,disk",
        "--set",
        "machine.kernel=6.12",
        "--sweep",
        "machine.ram=6M,8M",
    ];
    let (said, done) = simulate(&[&flags[..], &["--write-scenario", &path.display().to_string()]].concat(), None, "")?;
    if !done {
        return Err(said.into());
    }
    let lines = |text: &str| {
        text.lines()
            .skip(1)
            .map(|line| line.split_once(",").map_or(String::new(), |(_, rest)| rest.to_owned()))
            .collect::<Vec<_>>()
    };
    let (typed, _) = simulate(&[&flags[..], &["--csv"]].concat(), None, "")?;
    let (read, _) = simulate(&[&path.display().to_string(), "--csv"], None, "")?;
    match lines(&typed) == lines(&read) && lines(&typed).len() == 4 {
        true => Ok(()),
        false => Err(format!("differs:\n{typed}\n{read}").into()),
    }
}

/// The trace's path is typed relative to the working directory; the file is somewhere else.
fn file_of_trace() -> Result<(), Failed> {
    let folder = tempfile::tempdir()?;
    let path = folder.path().join("mine.toml").display().to_string();
    let trace = "../tiers/tests/traces/page-faults.perf.txt";
    let flags = ["--trace", trace, "--tiering", "disk:nvme", "--ram", "50%", "--write-scenario", &path];
    let (said, done) = simulate(&flags, None, "")?;
    if !done {
        return Err(said.into());
    }
    contains(&simulate(&[&path], None, "")?.0, &["disk:nvme"])?;
    let (said, done) = simulate(&[&flags[..], &["--format", "perf"]].concat(), None, "")?;
    contains(&said, &["found --format, expected a trace that a scenario file can name", "simulate convert"])?;
    if done { Err("written".into()) } else { Ok(()) }
}

/// Six pages, RAM for more: with its columns named on the command line.
fn pipe() -> Result<(), Failed> {
    let trace: String = (0..400).map(|index| format!("{index};{}\n", index % 300)).collect();
    let words = ["--trace", "-", "--columns", "time_us=1,page=2", "--ram", "80%", "--tiering", "disk:nvme"];
    let (text, _) = simulate(&words, None, &trace.replace(';', ","))?;
    contains(&text, &["TIERING", "disk:nvme"])
}

/// A report of two tierings at two values, the name of one of them hostile.
fn report_of(folder: &Path) -> Result<(String, std::path::PathBuf), Failed> {
    let path = folder.join("report.html");
    let file = path.display().to_string();
    let flags = ["--generate", "zipf:pages=2k,events=5k", "--sweep", "machine.ram=2M,4M", "--json", "--html", &file];
    let tierings = ["--tiering", "<script>=zswap:zstd,disk:nvme", "--tiering", "zram:lz4,disk"];
    let (text, done) = simulate(&[&flags[..], &tierings].concat(), None, "")?;
    if done { Ok((text, path)) } else { Err(text.into()) }
}

fn report_beside_json() -> Result<(), Failed> {
    let folder = tempfile::tempdir()?;
    let (json, path) = report_of(folder.path())?;
    contains(&json, &["\"schema\": 1", "report: "])?;
    let page = std::fs::read_to_string(path)?;
    report::is_well_formed(&page)?;
    contains(&page, &["&lt;script&gt;", "elapsed over machine.ram", "zipf:pages=2k,events=5k", "zswap with zstd"])
}

fn rendered() -> Result<(), Failed> {
    let folder = tempfile::tempdir()?;
    let (_, path) = report_of(folder.path())?;
    report::is_readable(&path, 3)?;
    let path = folder.path().join("curve.html");
    let mut command = Command::new(env!("CARGO_BIN_EXE_swaptune"));
    command.args(["simulate", "replay", "--generate", "zipf:pages=2k,events=5k", "--csv", "--html"]).arg(&path);
    let output = command.output()?;
    contains(&String::from_utf8_lossy(&output.stdout), &["policy,size"])?;
    report::is_well_formed(&std::fs::read_to_string(&path)?)?;
    report::is_readable(&path, 1)
}

/// What `simulate` says, and how it ends.
fn answer(words: &[&str]) -> Result<(Option<i32>, String, String), Failed> {
    let output = Command::new(env!("CARGO_BIN_EXE_swaptune")).arg("simulate").args(words).output()?;
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    Ok((output.status.code(), text(&output.stdout), text(&output.stderr)))
}

/// A conversion onto its own input, or onto any other file, is refused; with the flag it takes its place when all of it is written.
fn kept() -> Result<(), Failed> {
    let folder = tempfile::tempdir()?;
    let path = folder.path().join("mine.csv");
    let name = path.display().to_string();
    let written = answer(&["convert", "--generate", "hold:pages=50", "--output", &name])?;
    assert_eq!(written.0, Some(0), "{written:?}");
    let before = std::fs::read(&path)?;
    let refused = answer(&["convert", "--trace", &name, "--output", &name])?;
    assert!(refused.0 == Some(3) && refused.2.contains("is there already") && refused.2.contains("--overwrite"), "{refused:?}");
    assert_eq!(std::fs::read(&path)?, before);
    let again = answer(&["convert", "--trace", &name, "--output", &name, "--overwrite", "--json"])?;
    assert_eq!(again.0, Some(0), "{again:?}");
    let said: serde_json::Value = serde_json::from_str(&again.1)?;
    assert!(said["schema"] == 1 && said["pages"] == 50 && said["file"] == name, "{said}");
    assert_eq!(std::fs::read(&path)?, before, "the same trace again");
    assert_eq!(std::fs::read_dir(folder.path())?.count(), 1, "nothing is left beside it");
    Ok(())
}

fn kept_scenario() -> Result<(), Failed> {
    let folder = tempfile::tempdir()?;
    let path = folder.path().join("mine.toml");
    std::fs::write(&path, "mine")?;
    let name = path.display().to_string();
    let flags = ["run", "--generate", "hold", "--tiering", "disk", "--ram", "8M", "--write-scenario", &name];
    let refused = answer(&flags)?;
    assert!(refused.0 == Some(3) && refused.2.contains("is there already"), "{refused:?}");
    assert_eq!(std::fs::read_to_string(&path)?, "mine");
    let written = answer(&[&flags[..], &["--overwrite"]].concat())?;
    assert!(written.0 == Some(0) && std::fs::read_to_string(&path)?.contains("hold"), "{written:?}");
    Ok(())
}

fn as_json() -> Result<(), Failed> {
    let list: serde_json::Value = serde_json::from_str(&answer(&["list", "--json"])?.1)?;
    let has = |key: &str| list[key].as_array().is_some_and(|rows| !rows.is_empty());
    let keys = ["tierings", "policies", "devices", "codecs", "metrics", "replays", "generators", "formats"];
    assert!(list["schema"] == 1 && keys.iter().all(|key| has(key)), "{list:#}");
    let merged = answer(&["merge", "-", "--json"])?;
    assert!(merged.0 == Some(2) && merged.2.contains("--csv"), "{merged:?}");
    Ok(())
}
