//! `quickstart` on the running kernel: stopped, refused and kept, and each time the machine is as it was in the end.
//!
//! Needs root and a machine without active swap; says so and is ignored otherwise.

use std::collections::BTreeMap;
use std::fs;
use std::io::{Read, Write};
use std::path::Path;
use std::process::{Child, ChildStderr, Command, ExitCode, Stdio};

use libtest_mimic::Failed;
use rustix::process::{Pid, Signal, kill_process};
use serde_json::Value;
use swaptune_trials::{TestResult, lacks, needing, no_swap, root, run_one_by_one, swap_lock, zswap};

/// Where a sample is kept.
const RESULTS: &str = "/var/lib/swaptune/measurements.jsonl";

fn main() -> ExitCode {
    let _before = ResultsBefore::take();
    run_one_by_one(vec![
        needing("stopped_at_a_question_it_leaves_everything_as_it_was", ready, stopped),
        needing("what_is_not_kept_is_taken_back", ready, not_kept),
        needing("a_terminal_that_is_closed_leaves_everything_as_it_was", ready, hung_up),
        needing("until_the_next_boot_means_until_a_rollback", ready, until_boot),
        needing("what_is_kept_is_in_effect_and_can_be_taken_back", ready, kept),
    ])
}

/// What the machine's results were, which these samples are no part of: as before when this goes.
struct ResultsBefore(Option<Vec<u8>>);

impl ResultsBefore {
    fn take() -> Self {
        Self(fs::read(RESULTS).ok())
    }
}

impl Drop for ResultsBefore {
    fn drop(&mut self) {
        let _ = match &self.0 {
            Some(text) => fs::write(RESULTS, text),
            None => fs::remove_file(RESULTS),
        };
    }
}

/// Whether this machine can show it.
fn ready() -> TestResult {
    root()?;
    no_swap()?;
    zswap()?;
    let plan = Command::new(env!("CARGO_BIN_EXE_swaptune")).args(["plan", "--now", "--json"]).output()?;
    let steps = serde_json::from_slice::<Value>(&plan.stdout).map(|plan| plan["steps"].to_string()).unwrap_or_default();
    if plan.status.success() && steps.contains("\"/swapfile\"") { Ok(()) } else { lacks("a plan with a swap file of its own") }
}

/// What must be as before.
fn picture() -> BTreeMap<String, String> {
    let files = [
        "/proc/swaps",
        "/etc/fstab",
        "/etc/sysctl.d/99-zz-swaptune.conf",
        "/etc/swaptune/applied.toml",
        "/run/swaptune/applied.toml",
    ];
    let knobs = ["vm/swappiness", "vm/page-cluster", "vm/watermark_scale_factor"].map(|name| format!("/proc/sys/{name}"));
    let zswap = ["enabled", "compressor", "max_pool_percent"].map(|name| format!("/sys/module/zswap/parameters/{name}"));
    let paths = files.map(str::to_owned).into_iter().chain(knobs).chain(zswap);
    let mut picture: BTreeMap<String, String> =
        paths.map(|path| (path.clone(), fs::read_to_string(&path).unwrap_or_else(|_| "absent".into()))).collect();
    picture.insert("/swapfile".into(), Path::new("/swapfile").exists().to_string());
    picture
}

/// A sitting, with what it asks.
struct Sitting {
    child: Child,
    says: Option<ChildStderr>,
    said: String,
}

impl Sitting {
    fn begin(words: &[&str]) -> Result<Self, Failed> {
        let mut command = Command::new(env!("CARGO_BIN_EXE_swaptune"));
        command.arg("quickstart").args(words).stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut child = command.spawn()?;
        let says = child.stderr.take();
        Ok(Self { child, says, said: String::new() })
    }

    /// Reads until it has asked this.
    fn asked(&mut self, question: &str) -> Result<(), Failed> {
        let mut byte = [0];
        let mut said = self.said.clone().into_bytes();
        while self.says.as_mut().ok_or("no pipe")?.read(&mut byte)? == 1 {
            said.push(byte[0]);
            let text = String::from_utf8_lossy(&said);
            if text.ends_with(question) {
                self.said = text.into_owned();
                return Ok(());
            }
        }
        Err(format!("it ended before it asked `{question}`:\n{}", String::from_utf8_lossy(&said)).into())
    }

    fn answer(&mut self, answer: &str) -> Result<(), Failed> {
        Ok(self.child.stdin.as_mut().ok_or("no pipe")?.write_all(answer.as_bytes())?)
    }

    /// Presses Ctrl-C.
    fn interrupt(&self) -> Result<(), Failed> {
        self.signal(Signal::INT)
    }

    fn signal(&self, signal: Signal) -> Result<(), Failed> {
        let pid = Pid::from_raw(self.child.id() as i32).ok_or("no process")?;
        Ok(kill_process(pid, signal)?)
    }

    /// Closes its terminal: what it says fails from then on, and the signal comes twice. Its exit code.
    fn hang_up(mut self) -> Result<Option<i32>, Failed> {
        drop(self.says.take());
        // It asks once more, into nothing.
        self.answer("what\n")?;
        self.signal(Signal::HUP)?;
        self.signal(Signal::HUP)?;
        Ok(self.child.wait()?.code())
    }

    /// Exit code, what it printed, what it said.
    fn end(mut self) -> Result<(Option<i32>, String, String), Failed> {
        let mut printed = String::new();
        self.says.take().ok_or("no pipe")?.read_to_string(&mut self.said)?;
        self.child.stdout.take().ok_or("no pipe")?.read_to_string(&mut printed)?;
        Ok((self.child.wait()?.code(), printed, self.said))
    }
}

/// Takes back whatever stands, however a test ends.
struct Back;

impl Drop for Back {
    fn drop(&mut self) {
        while let Ok(true) = swaptune(&["rollback", "--yes"]).map(|ended| ended == Some(0)) {}
    }
}

fn swaptune(words: &[&str]) -> Result<Option<i32>, Failed> {
    Ok(Command::new(env!("CARGO_BIN_EXE_swaptune")).args(words).output()?.status.code())
}

fn same(before: &BTreeMap<String, String>) -> Result<(), Failed> {
    let after = picture();
    if *before == after { Ok(()) } else { Err(format!("before:\n{before:#?}\nafter:\n{after:#?}").into()) }
}

fn is(condition: bool, what: impl FnOnce() -> String) -> Result<(), Failed> {
    if condition { Ok(()) } else { Err(what().into()) }
}

const TRY: &str = "] ";
const KEEP: &str = "take it back [n] ";

fn stopped() -> Result<(), Failed> {
    let _lock = swap_lock()?;
    let _back = Back;
    let before = picture();
    let mut first = Sitting::begin(&[])?;
    first.asked(TRY)?;
    same(&before)?;
    first.interrupt()?;
    let (code, _, said) = first.end()?;
    is(code == Some(130) && said.contains("nothing was changed"), || format!("{code:?}: {said}"))?;
    same(&before)?;
    let mut second = Sitting::begin(&[])?;
    second.asked(TRY)?;
    second.answer("1\n")?;
    second.asked(KEEP)?;
    is(picture() != before && second.said.contains("Proof: "), || format!("nothing is tried: {}", second.said))?;
    second.interrupt()?;
    let (code, _, said) = second.end()?;
    is(code == Some(130) && said.contains("taken back"), || format!("{code:?}: {said}"))?;
    same(&before)
}

fn not_kept() -> Result<(), Failed> {
    let _lock = swap_lock()?;
    let _back = Back;
    let before = picture();
    let mut sitting = Sitting::begin(&[])?;
    sitting.answer("7\n")?;
    sitting.asked("is none of these\n")?;
    sitting.asked(TRY)?;
    sitting.answer("\n")?;
    sitting.asked(KEEP)?;
    sitting.answer("\n")?;
    let (code, _, said) = sitting.end()?;
    is(code == Some(0) && said.contains("everything is as before"), || format!("{code:?}: {said}"))?;
    same(&before)
}

fn hung_up() -> Result<(), Failed> {
    let _lock = swap_lock()?;
    let _back = Back;
    let before = picture();
    let mut sitting = Sitting::begin(&[])?;
    sitting.asked(TRY)?;
    sitting.answer("1\n")?;
    sitting.asked(KEEP)?;
    let code = sitting.hang_up()?;
    is(code == Some(130), || format!("{code:?}"))?;
    same(&before)
}

fn until_boot() -> Result<(), Failed> {
    let _lock = swap_lock()?;
    let _back = Back;
    let before = picture();
    let mut sitting = Sitting::begin(&[])?;
    sitting.answer("1\nu\n")?;
    let (code, printed, said) = sitting.end()?;
    is(code == Some(0) && printed.contains("until the next boot"), || format!("{code:?}: {printed}{said}"))?;
    is(picture()["/proc/swaps"] != before["/proc/swaps"] && picture()["/etc/fstab"] == before["/etc/fstab"], || {
        format!("{:#?}", picture())
    })?;
    is(swaptune(&["rollback", "--yes"])? == Some(0), || "rollback".into())?;
    same(&before)
}

fn kept() -> Result<(), Failed> {
    let _lock = swap_lock()?;
    let _back = Back;
    let before = picture();
    let (code, printed, said) = Sitting::begin(&["--yes", "--json"])?.end()?;
    is(code == Some(0), || format!("{code:?}: {printed}{said}"))?;
    let answer: Value = serde_json::from_str(&printed)?;
    is(answer["proof"]["verdict"] == "proved" && answer["gain"]["planned"]["applications"].is_array(), || printed.clone())?;
    is(fs::read_to_string("/etc/fstab")?.contains("/swapfile"), || "nothing for the next boot".into())?;
    for apply in ["kept", "tried"] {
        is(answer[apply]["id"].is_string(), || format!("no {apply}: {printed}"))?;
        is(swaptune(&["rollback", "--yes"])? == Some(0), || format!("rollback of what was {apply}"))?;
    }
    same(&before)
}
