//! `compare` with the real binary and commands that take next to no time: what is run and kept, what is refused, and killed half-way.
//!
//! Whatever happens, the machine is left as it was.

use std::fs;
use std::path::Path;
use std::process::{Command, ExitCode, Output, Stdio};

use libtest_mimic::Failed;
use serde_json::Value;
use swaptune_trials::{TestResult, Trial, children, needing, no_swap, root, run, swap_lock, wait_for};

#[path = "support/report.rs"]
mod report;

use report::browser;

/// What a test is.
type Test = fn(&Path) -> Result<(), Failed>;

fn main() -> ExitCode {
    let tests: [(&str, Test); 6] = [
        ("every_configuration_runs_in_each_block", blocks),
        ("a_report_is_one_file_with_pictures", report),
        ("a_built_in_workload_stands_for_a_command", workload),
        ("a_command_that_fails_changes_nothing", fails),
        ("what_cannot_be_compared_changes_nothing", refused),
        ("killed_half_way_it_leaves_nothing_and_goes_on", resumed),
    ];
    let mut trials: Vec<Trial> = tests.map(|(name, test)| needing(name, ready, move || alone(test))).into();
    trials.push(needing("a_report_can_be_read_in_a_browser", browser_ready, || alone(rendered)));
    run(trials)
}

/// Whether this machine can show it.
fn ready() -> TestResult {
    root()?;
    no_swap()
}

/// One at a time among all tests of this project that swap; all is as before in the end.
fn alone(test: Test) -> Result<(), Failed> {
    let _lock = swap_lock()?;
    let folder = tempfile::tempdir()?;
    let before = picture();
    test(folder.path())?;
    let after = picture();
    if before == after { Ok(()) } else { Err(format!("before:\n{before}\nafter:\n{after}").into()) }
}

/// What must be as before.
fn picture() -> String {
    let zswap = ["enabled", "compressor", "max_pool_percent"].map(|name| format!("/sys/module/zswap/parameters/{name}"));
    let sysctls = ["swappiness", "page-cluster"].map(|name| format!("/proc/sys/vm/{name}"));
    let paths = ["/proc/swaps".to_owned()].into_iter().chain(zswap).chain(sysctls);
    paths.map(|path| format!("{path}: {}\n", fs::read_to_string(&path).unwrap_or_default().trim())).collect()
}

/// A comparison that keeps its results in a folder.
fn compare(folder: &Path, words: &[&str], script: &str) -> Command {
    let mut command = compare_of(folder, words);
    command.args(["--", "/bin/sh", "-c", script]);
    command
}

/// The same without a command.
fn compare_of(folder: &Path, words: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_swaptune"));
    command.args(["compare", "--json", "--keep-caches", "--seed", "1", "--dir", env!("CARGO_TARGET_TMPDIR")]);
    command.arg("--results").arg(folder.join("results.jsonl")).args(words);
    command
}

fn answer(output: &Output) -> Result<Value, Failed> {
    if !output.status.success() {
        return Err(format!("{}: {}", output.status, String::from_utf8_lossy(&output.stderr)).into());
    }
    Ok(serde_json::from_slice(&output.stdout)?)
}

fn ensure(is_so: bool, found: &Value) -> Result<(), Failed> {
    if is_so { Ok(()) } else { Err(format!("{found:#}").into()) }
}

/// Blocks and places of the runs of a configuration.
fn runs(figures: &Value, again: bool) -> Vec<(u64, u64)> {
    let runs = figures["runs"].as_array().into_iter().flatten().filter(|run| run["again"] == again);
    runs.filter_map(|run| Some((run["block"].as_u64()?, run["place"].as_u64()?))).collect()
}

fn blocks(folder: &Path) -> Result<(), Failed> {
    // Each configuration is told apart by what is on while the command runs.
    let seen = folder.join("seen");
    let script = format!("echo $(cat /proc/swaps /proc/sys/vm/swappiness | sed 1d) >> {}", seen.display());
    let words = ["--variant", "none,swappiness=77", "--variant", "disk,vm.swappiness=99", "--runs", "3"];
    let answer = answer(&compare(folder, &words, &script).output()?)?;
    let [none, disk] = [0, 1].map(|place| &answer["measurements"][place]["figures"]);
    ensure(none["variant"] == "none,swappiness=77" && none["comparison"].is_null() && none["against"].is_null(), none)?;
    // Three blocks name no winner (the least chance is 2 of 8); whether they count as equal is up to how quiet the machine is.
    let no_winner =
        disk["comparison"]["verdict"].as_str().is_some_and(|verdict| ["inconclusive", "equivalent"].contains(&verdict));
    ensure(disk["against"] == "none,swappiness=77" && no_winner && disk["comparison"]["p"].as_f64() >= Some(0.25), disk)?;
    for runs in [runs(none, false), runs(none, true), runs(disk, false)] {
        ensure(runs.iter().map(|(block, _)| *block).collect::<Vec<_>>() == [0, 1, 2], &answer)?;
    }
    let mut order: Vec<(u64, u64, &str)> = Vec::new();
    for (figures, again, name) in [(none, false, "77"), (none, true, "77"), (disk, false, "99")] {
        order.extend(runs(figures, again).into_iter().map(|(block, place)| (block, place, name)));
    }
    order.sort_unstable();
    let lines = fs::read_to_string(&seen)?;
    // The first line is of the run before all, which does not count.
    let found: Vec<&str> =
        lines.lines().skip(1).map(|line| if line.contains("swaptune-variant") { "99" } else { line }).collect();
    let wanted: Vec<&str> = order.iter().map(|(_, _, name)| *name).collect();
    ensure(found == wanted, &serde_json::json!({ "found": found, "wanted": wanted }))
}

fn report(folder: &Path) -> Result<(), Failed> {
    let page = folder.join("report.html");
    let words = ["--variant", "none", "--variant", "disk", "--runs", "2", "--html", page.to_str().ok_or("path")?];
    let answer = answer(&compare(folder, &words, "sleep 0.5; echo '<b>'").output()?)?;
    let page = fs::read_to_string(page)?;
    let counts = [("role=img", 5), ("</html>", 1), ("src=", 0), ("http", 0), ("<circle", 2 + 4 + 2 - 1), ("<script", 0)];
    for (what, count) in counts {
        let found = page.matches(what).count();
        if found != count {
            return Err(format!("{what}: {found}, expected {count}\n{page}").into());
        }
    }
    report::is_well_formed(&page)?;
    // What woke beside it is told of, too.
    ensure(answer["measurements"][0]["figures"]["runs"][0]["bystander"]["samples"].as_u64() > Some(0), &answer)?;
    ensure(page.contains("OTHER is another program beside, of 16 MiB"), &answer)?;
    ensure(page.contains("sleep 0.5; echo &#39;&lt;b&gt;&#39;"), &answer)
}

fn workload(folder: &Path) -> Result<(), Failed> {
    let words = ["--variant", "none,disk", "--runs", "2", "--workload", "alloc:16M"];
    let answer = answer(&compare_of(folder, &words).output()?)?;
    let figures = &answer["measurements"][1]["figures"];
    ensure(runs(figures, false).len() == 2 && figures["runs"][0]["failed"].is_null(), &answer)?;
    // Its file says what was run.
    let left = fs::read_dir(env!("CARGO_TARGET_TMPDIR"))?.flatten().map(|entry| entry.file_name());
    let left: Vec<_> = left.filter(|name| name.to_string_lossy().starts_with("swaptune-workload-")).collect();
    ensure(left.is_empty(), &serde_json::json!(format!("{left:?}")))?;
    let texts = fs::read_dir(folder)?.filter_map(|entry| fs::read_to_string(entry.ok()?.path()).ok());
    ensure(texts.collect::<String>().contains("\"workload\",\"alloc\",\"--size\",\"16777216\""), figures)?;
    for (asked, told) in [("aloc", "expected alloc, heap, build"), ("alloc:many", "is not a size")] {
        let output = compare_of(folder, &["--variant", "none,disk", "--workload", asked]).output()?;
        let said = String::from_utf8_lossy(&output.stderr);
        if output.status.code() != Some(2) || !said.contains(told) {
            return Err(format!("{asked}: {}: {said}", output.status).into());
        }
    }
    Ok(())
}

fn fails(folder: &Path) -> Result<(), Failed> {
    let output = compare(folder, &["--variant", "none,disk"], "exit 7").output()?;
    let told = String::from_utf8_lossy(&output.stderr);
    if output.status.code() != Some(2) || !told.contains("exit status: 7") || !output.stdout.is_empty() {
        return Err(format!("{}: {told}", output.status).into());
    }
    if fs::read_dir(folder)?.next().is_some() { Err("a file is left".into()) } else { Ok(()) }
}

fn refused(folder: &Path) -> Result<(), Failed> {
    let cases: [(&[&str], i32, &str); 7] = [
        (&["--variant", "zwsap,none"], 2, "did you mean `zswap`?"),
        (&["--variant", "auto"], 2, "one configuration is compared with nothing"),
        (&["--variant", "none,zswap:nonesuch"], 2, "this kernel has none of nonesuch"),
        (&["--variant", "none,disk", "--runs", "1"], 2, "1 is not in 2..=1000"),
        (&["--variant", "none,disk", "--memory", "1000T"], 3, "are available"),
        (&["--variant", "none,disk", "--html", "/nonexistent/page.html"], 1, "--html /nonexistent/page.html: No such file"),
        (&["--resume", "/nonexistent"], 2, "cannot be used with"),
    ];
    for (words, code, text) in cases {
        let output = compare(folder, words, "true").output()?;
        let told = String::from_utf8_lossy(&output.stderr);
        if output.status.code() != Some(code) || !told.contains(text) || !output.stdout.is_empty() {
            return Err(format!("{words:?}: {}: {told}", output.status).into());
        }
    }
    Ok(())
}

fn resumed(folder: &Path) -> Result<(), Failed> {
    let words = ["--variant", "none", "--variant", "disk", "--runs", "4"];
    let count = folder.join("count");
    let script = format!("echo run >> {}; sleep 0.4", count.display());
    let mut first = compare(folder, &words, &script).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn()?;
    let lines = || fs::read_to_string(&count).map_or(0, |text| text.lines().count());
    let swaps = || fs::read_to_string("/proc/swaps").is_ok_and(|swaps| swaps.lines().count() > 1);
    let id = first.id();
    let began =
        wait_for("a run with the swap file on", || lines() >= 4 && swaps() || first.try_wait().is_ok_and(|end| end.is_some()));
    let started = children(id, |words| words.contains("sleep") || words.contains("/bin/sh"));
    first.kill()?;
    // Standard error is the guardian's too: it ends when everything is put back.
    let output = first.wait_with_output()?;
    if output.status.code().is_some() {
        return Err(format!("it ended by itself: {output:?}").into());
    }
    began?;
    wait_for("the command to die", || started.iter().all(|child| !Path::new(&format!("/proc/{child}")).exists()))?;
    if swaps() {
        return Err("swap is left on".into());
    }
    let kept = fs::read_dir(folder)?.flatten().map(|entry| entry.path());
    let kept = kept.filter(|path| path.extension().is_some_and(|extension| extension == "jsonl"));
    let kept = kept.into_iter().find(|path| path.to_string_lossy().contains("compare-")).ok_or("nothing was kept")?;
    let before = lines();
    let go_on = |from: &Path| {
        let mut second = Command::new(env!("CARGO_BIN_EXE_swaptune"));
        second.args(["compare", "--json", "--no-save", "--resume"]).arg(&kept).current_dir(from).output()
    };
    let elsewhere = go_on(folder)?;
    let told = String::from_utf8_lossy(&elsewhere.stderr);
    if elsewhere.status.code() != Some(3) || !told.contains("its command ran in") || lines() != before {
        return Err(format!("{}: {told}", elsewhere.status).into());
    }
    let answer = answer(&go_on(Path::new("."))?)?;
    for (figures, again) in [(0, false), (0, true), (1, false)] {
        let runs = runs(&answer["measurements"][figures]["figures"], again);
        ensure(runs.len() == 4 && runs.is_sorted(), &answer)?;
    }
    // Twelve runs count, and one before each of the two comparisons; the one that was killed may have begun.
    let again = lines();
    ensure((12 + 2..=12 + 2 + 1).contains(&again) && before < again, &serde_json::json!({ "before": before, "after": again }))
}

fn browser_ready() -> TestResult {
    ready()?;
    browser().map(drop)
}

/// What a browser makes of the report is readable.
fn rendered(folder: &Path) -> Result<(), Failed> {
    let page = folder.join("report.html");
    let long = "disk,swappiness=77,page-cluster=0,vm.watermark_scale_factor=125";
    let words = ["--variant", "none", "--variant", long, "--runs", "2", "--html", page.to_str().ok_or("path")?];
    answer(&compare(folder, &words, "sleep 0.05").output()?)?;
    report::is_readable(&page, 5)
}
