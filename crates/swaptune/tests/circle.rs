//! The whole circle on every captured host: plan, apply, nothing left to do, roll back, every byte as before; and the same with the
//! program killed at each of its checkpoints.
//!
//! The machine is a copy of the fixture's folder, whose files play the kernel. The program that does so is this test itself, started
//! again: the whole of swaptune, linked with the double of `tests/double`. What is shipped has no double and no way to ask for one
//! (`release.rs`).

use std::fs;
use std::os::unix::process::ExitStatusExt;
use std::path::Path;
use std::process::{Command, ExitCode, Output};

use libtest_mimic::{Arguments, Failed, Trial};
use swaptune_core::plan::{FINDINGS, Plan, When};
use swaptune_double::KILL_AT;
use swaptune_host::swap_header;
use tempfile::TempDir;

#[path = "support/picture.rs"]
mod picture;
mod support;

use picture::{Picture, look, same};
use support::{Host, hosts};

/// Set for the process that plays swaptune on a folder.
const PLAYS: &str = "SWAPTUNE_CIRCLE_PLAYS";

fn main() -> ExitCode {
    if std::env::var_os(PLAYS).is_some() {
        swaptune_double::install();
        return swaptune::main();
    }
    let arguments = Arguments::from_args();
    let mut trials = Vec::new();
    for host in hosts() {
        let name = host.name.clone();
        if name == "busybox-6.18-both" {
            let host = host.clone();
            trials.push(Trial::test(format!("{name}::what_is_not_worth_it_is_not_done"), move || not_worth_it(&host)));
        }
        for profile in ["auto", "idle-guide"] {
            let host = host.clone();
            trials.push(Trial::test(format!("{name}::{profile}::circle"), move || circle(&host, profile)));
        }
        if name.starts_with("adopt-") {
            let host = host.clone();
            trials.push(Trial::test(format!("{name}::adopted"), move || adopted(&host)));
        }
        if name == "microvm-6.18" {
            let (one, other) = (host.clone(), host.clone());
            trials.push(Trial::test(format!("{name}::a_rollback_of_all_leaves_nothing_unsaid"), move || what_stands(&one)));
            trials.push(Trial::test(format!("{name}::what_goes_on_with_a_rollback_tells_as_a_rollback_does"), move || {
                going_on(&other)
            }));
        }
        // One distribution of each kind is enough for the loop: its steps are those of the plan.
        if name == "debian13-6.12" || name == "microvm-6.18" {
            trials.push(Trial::test(format!("{name}::killed_at_every_checkpoint"), move || kill_loop(&host)));
        }
    }
    libtest_mimic::run(&arguments, trials).exit_code()
}

/// A copy of a fixture with the binary installed in it.
struct Machine {
    dir: TempDir,
}

impl Machine {
    fn copy(of: &Host) -> Result<Self, Failed> {
        let dir = of.copy()?;
        fs::create_dir_all(dir.path().join("usr/local/bin"))?;
        fs::write(dir.path().join("usr/local/bin/swaptune"), "the binary")?;
        // A capture has no device nodes; files play the areas that may be switched off and on.
        fs::create_dir_all(dir.path().join("dev"))?;
        // Nor has it the id of a boot, which says how long counters are compared.
        fs::create_dir_all(dir.path().join("proc/sys/kernel/random"))?;
        fs::write(dir.path().join("proc/sys/kernel/random/boot_id"), "b0070000-0000-4000-8000-000000000001\n")?;
        let swaps = fs::read_to_string(dir.path().join("proc/swaps"))?;
        for line in swaps.lines().filter(|line| line.starts_with('/')) {
            play_area(dir.path(), line)?;
        }
        Ok(Self { dir })
    }

    fn run(&self, words: &[&str], kill_at: Option<u32>) -> Result<Output, Failed> {
        let mut command = Command::new(std::env::current_exe()?);
        command.args(words).arg("--root").arg(self.dir.path()).env(PLAYS, "1");
        if let Some(number) = kill_at {
            command.env(KILL_AT, number.to_string());
        }
        Ok(command.output()?)
    }

    /// Runs and expects this exit code.
    fn expect(&self, words: &[&str], code: i32) -> Result<String, Failed> {
        told(words, &self.run(words, None)?, code)
    }

    /// Everything but swaptune's own records.
    fn picture(&self) -> Result<Picture, Failed> {
        let mut picture = Picture::new();
        look(self.dir.path(), self.dir.path(), &mut picture)?;
        picture.retain(|path, _| !path.starts_with("var/lib/swaptune") && !path.starts_with("run/swaptune"));
        // The folders above the records stay when those are all that was ever in them.
        picture.retain(|path, what| {
            !(what == "folder" && ["var", "var/lib", "run", "sys/module"].iter().any(|folder| path == Path::new(folder)))
        });
        Ok(picture)
    }
}

/// What a command said, where it ended with this exit code.
fn told(words: &[&str], output: &Output, code: i32) -> Result<String, Failed> {
    let text = format!("{}{}", String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
    if output.status.code() == Some(code) {
        Ok(text)
    } else {
        Err(format!("{words:?} ended with {}: {text}", output.status).into())
    }
}

/// A sparse file with a swap header where `/proc/swaps` names a device or a file.
fn play_area(root: &Path, line: &str) -> Result<(), Failed> {
    let mut words = line.split_whitespace();
    let path = root.join(words.next().unwrap_or_default().trim_start_matches('/'));
    let page = swaptune_host::machine::Machine::at(root).page_size().0;
    let size = (words.nth(1).unwrap_or_default().parse::<u64>()? << 10) + page;
    fs::create_dir_all(path.parent().unwrap_or(root))?;
    let header = swap_header::page("5eaf00d0-0000-4000-8000-000000000009", "", size, page)?;
    fs::write(&path, header)?;
    fs::File::options().write(true).open(&path)?.set_len(size)?;
    Ok(())
}

fn circle(host: &Host, profile: &str) -> Result<(), Failed> {
    let machine = Machine::copy(host)?;
    let before = machine.picture()?;
    let applied = machine.run(&["apply", "--yes", "--profile", profile], None)?;
    if applied.status.code() == Some(3) {
        machine.expect(&["plan", "--profile", profile], 3)?;
        return same(&before, &machine.picture()?, "a refused apply");
    }
    let applied = told(&["apply"], &applied, 0)?;
    if applied.contains("takes it back") {
        counted_since(&machine, "apply ")?;
    }
    let again = machine.expect(&["plan", "--profile", profile], 0)?;
    if !again.starts_with("Nothing to do") {
        return Err(format!("a plan after the apply is not empty:\n{again}").into());
    }
    what_is_applied_stays(&machine)?;
    let verified = machine.run(&["verify"], None)?;
    let code = verified.status.code();
    let verified = String::from_utf8_lossy(&verified.stdout).into_owned();
    // What holds pages is not moved, and that it is not as wanted is said until the next boot.
    if host.name == "area-in-use" && !(code == Some(1) && verified.contains("its priority is 5")) {
        return Err(format!("verify with an area in use at another priority ended with {code:?}:\n{verified}").into());
    }
    if verified.contains("Not in effect") {
        return Err(format!("verify after the apply:\n{verified}").into());
    }
    if machine.expect(&["history"], 0)?.contains("applied") {
        machine.expect(&["rollback", "--yes"], 0)?;
        counted_since(&machine, "rollback of ")?;
    }
    same(&before, &machine.picture()?, "apply and rollback")
}

/// What another program set up is taken over: no area that is on goes off before its priority says so, the machine is as the settings want
/// it, what was taken over is not taken over twice, and a rollback gives all of it back.
fn adopted(host: &Host) -> Result<(), Failed> {
    let machine = Machine::copy(host)?;
    let before = machine.picture()?;
    let plan: Plan = serde_json::from_str(&machine.expect(&["plan", "--adopt", "--json"], 0)?)?;
    let zram_goes = plan.steps.iter().any(|step| step.change.target().contains("zram0") && step.when == When::Now);
    if zram_goes || plan.profile != "none" {
        return Err(format!("zram is not left alone:\n{plan:#?}").into());
    }
    machine.expect(&["apply", "--adopt", "--yes"], 0)?;
    let managers = machine.expect(&["inspect", "--json"], 0)?;
    let managers: serde_json::Value = serde_json::from_str(&managers)?;
    let active = managers["system"]["managers"].as_array().into_iter().flatten().filter(|manager| manager["active"] == true);
    let names: Vec<_> = active.map(|manager| &manager["name"]).collect();
    if !names.is_empty() {
        return Err(format!("still active at the next boot: {names:?}").into());
    }
    let verified = machine.run(&["verify"], None)?;
    let verified = String::from_utf8_lossy(&verified.stdout).into_owned();
    // What holds pages keeps its priority until the next boot.
    if verified.contains("Not in effect") && host.name != "adopt-rpi-swap" {
        return Err(format!("verify after the taking over:\n{verified}").into());
    }
    let twice = machine.expect(&["plan", "--adopt"], 2)?;
    if !twice.contains("/etc/swaptune/applied.toml: there is an apply of our own") {
        return Err(twice.into());
    }
    what_is_applied_stays(&machine)?;
    machine.expect(&["rollback", "--yes"], 0)?;
    same(&before, &machine.picture()?, "the taking over and its rollback")
}

/// A plan that neither a flag nor a file asks for leaves what was applied as it is, or holds clearly more.
fn what_is_applied_stays(machine: &Machine) -> Result<(), Failed> {
    if machine.dir.path().join("etc/swaptune/config.toml").exists() {
        return Ok(());
    }
    let plan: Plan = serde_json::from_str(&machine.expect(&["plan", "--json"], 0)?)?;
    let is_loss = plan.gain.as_ref().is_some_and(|gain| !gain.is_worth_it());
    let cures = plan.notes.iter().any(|note| note.about == FINDINGS);
    if plan.is_empty() || !is_loss || cures { Ok(()) } else { Err(format!("applied, and not left as it is:\n{plan:#?}").into()) }
}

/// Findings count from the last change.
fn counted_since(machine: &Machine, by: &str) -> Result<(), Failed> {
    let text = fs::read_to_string(machine.dir.path().join("run/swaptune/counters.json"))?;
    if text.contains(&format!("\"by\":\"{by}")) { Ok(()) } else { Err(format!("counters are not those of {by}: {text}").into()) }
}

/// Our own proposal is left out where it brings nothing; what is asked for is done, and kept in order then.
fn not_worth_it(host: &Host) -> Result<(), Failed> {
    const NOTHING: &str = "Nothing worth changing: ";
    let machine = Machine::copy(host)?;
    // As a person would have set it up by hand, but for a record of that.
    machine.expect(&["apply", "--yes", "--profile", "auto"], 0)?;
    for ours in ["etc/swaptune", "run/swaptune", "var/lib/swaptune"] {
        fs::remove_dir_all(machine.dir.path().join(ours))?;
    }
    let before = machine.picture()?;
    for words in [&["plan"][..], &["plan", "--explain"], &["apply", "--yes"]] {
        let said = machine.expect(words, 0)?;
        if !(said.starts_with(NOTHING) && said.contains("`swaptune plan --profile auto`")) {
            return Err(format!("{words:?}:\n{said}").into());
        }
    }
    same(&before, &machine.picture()?, "an apply that is not worth it")?;
    let plan: serde_json::Value = serde_json::from_str(&machine.expect(&["plan", "--json"], 0)?)?;
    let held_back = plan["held_back"].as_u64().unwrap_or(0);
    if plan["steps"] != serde_json::json!([]) || held_back == 0 || plan["gain"]["today"].is_null() {
        return Err(format!("{plan:#}").into());
    }
    let asked = machine.expect(&["plan", "--profile", "auto", "--json"], 0)?;
    let asked: serde_json::Value = serde_json::from_str(&asked)?;
    if asked["steps"].as_array().map(Vec::len) != Some(held_back as usize) || asked.get("held_back").is_some() {
        return Err(format!("{held_back} are left out of:\n{asked:#}").into());
    }
    machine.expect(&["apply", "--yes", "--profile", "auto"], 0)?;
    let applied = machine.expect(&["plan"], 0)?;
    if !applied.starts_with("Nothing to do") {
        return Err(format!("a plan after the apply:\n{applied}").into());
    }
    // What drifted from what was applied is put right, and nothing else.
    let knob = machine.dir.path().join("proc/sys/vm/swappiness");
    let wanted = fs::read_to_string(&knob)?;
    fs::write(&knob, "1\n")?;
    let drifted: Plan = serde_json::from_str(&machine.expect(&["plan", "--json"], 0)?)?;
    if drifted.steps.len() != 1 {
        return Err(format!("a plan after vm.swappiness was changed:\n{drifted:#?}").into());
    }
    machine.expect(&["apply", "--yes"], 0)?;
    if fs::read_to_string(&knob)? != wanted {
        return Err("vm.swappiness is not put right".into());
    }
    machine.expect(&["rollback", "--yes", "--all"], 0)?;
    let none = machine.expect(&["rollback", "--yes", "--all"], 0)?;
    if none != "no apply stands on this machine\n" {
        return Err(format!("a second rollback of all:\n{none}").into());
    }
    // What another changed is what it was before the last apply.
    let found = fs::read_to_string(&knob)?;
    fs::write(&knob, wanted)?;
    if found != "1\n" {
        return Err(format!("vm.swappiness is {found} after a rollback of all").into());
    }
    same(&before, &machine.picture()?, "a rollback of all")?;
    // A file speaks as a flag does.
    let file = machine.dir.path().join("etc/swaptune/config.toml");
    fs::create_dir_all(file.parent().ok_or("a folder")?)?;
    fs::write(&file, "profile = \"auto\"\n")?;
    let configured = machine.expect(&["plan"], 0)?;
    if configured.contains(NOTHING) || !configured.contains("(profile auto)") {
        return Err(format!("a plan of a file:\n{configured}").into());
    }
    Ok(())
}

const SWAPPINESS: &str = "proc/sys/vm/swappiness";

impl Machine {
    /// Sets vm.swappiness by an apply, and says its id.
    fn apply_swappiness(&self, value: &str) -> Result<String, Failed> {
        let set = format!("vm.swappiness={value}");
        let words = ["apply", "--yes", "--now", "--profile", "none", "--set", &set, "--json"];
        let report: serde_json::Value = serde_json::from_slice(&self.run(&words, None)?.stdout)?;
        report["id"].as_str().map(str::to_owned).ok_or_else(|| format!("{report:#}").into())
    }

    fn swappiness(&self) -> Result<String, Failed> {
        Ok(fs::read_to_string(self.dir.path().join(SWAPPINESS))?)
    }
}

fn has(text: &str, part: &str) -> Result<(), Failed> {
    let flat = text.split_whitespace().collect::<Vec<_>>().join(" ");
    if flat.contains(part) { Ok(()) } else { Err(format!("it does not say {part:?}: {text}").into()) }
}

fn what_stands(host: &Host) -> Result<(), Failed> {
    let machine = Machine::copy(host)?;
    let before = machine.swappiness()?;
    let (older, _) = (machine.apply_swappiness("33")?, machine.apply_swappiness("44")?);
    // The newer one holds the value, so the older one must leave it alone; when the newer one is back it need not.
    machine.expect(&["rollback", &older, "--yes"], 1)?;
    machine.expect(&["rollback", "--all", "--yes"], 0)?;
    if machine.swappiness()? != before {
        return Err(format!("vm.swappiness is {} after a rollback of all", machine.swappiness()?).into());
    }
    let id = machine.apply_swappiness("33")?;
    fs::write(machine.dir.path().join(SWAPPINESS), "5\n")?;
    for _ in 0..2 {
        let text = machine.expect(&["rollback", "--all", "--yes"], 1)?;
        has(&text, &format!("rollback {id} --skip 1` gives it up"))?;
    }
    machine.expect(&["rollback", &id, "--skip", "1", "--yes"], 1)?;
    has(&machine.expect(&["rollback", "--all", "--yes"], 0)?, "no apply stands on this machine")
}

fn going_on(host: &Host) -> Result<(), Failed> {
    let machine = Machine::copy(host)?;
    let id = machine.apply_swappiness("33")?;
    let journal = machine.dir.path().join(format!("var/lib/swaptune/journal/{id}.jsonl"));
    let undo = "{\"v\":1,\"record\":\"undo\",\"time\":\"2026-11-21T06:52:13Z\",\"boot\":\"b\",\"asked\":true}\n";
    fs::write(&journal, fs::read_to_string(&journal)? + undo)?;
    fs::write(machine.dir.path().join(SWAPPINESS), "5\n")?;
    let refused = machine.expect(&["apply", "--yes"], 3)?;
    has(&refused, &format!("the rollback of {id} was interrupted with 2 changes to go"))?;
    has(&refused, &format!("rollback {id}` goes on with it"))?;
    let told = machine.expect(&["apply", "--resume", "--yes"], 1)?;
    has(&told, "left alone: vm.swappiness is 5, expected 33")?;
    has(&told, "is taken back, but for what was left")
}

/// Kills the apply at checkpoint 1, 2, 3, … until it gets through; resumes after odd ones, rolls back after even ones.
fn kill_loop(host: &Host) -> Result<(), Failed> {
    for number in 1..2000 {
        let machine = Machine::copy(host)?;
        let before = machine.picture()?;
        let killed = machine.run(&["apply", "--yes", "--profile", "auto"], Some(number))?.status.signal() == Some(9);
        if !killed {
            return if number > 20 { Ok(()) } else { Err(format!("only {number} checkpoints").into()) };
        }
        // Before its first record nothing was done, and there is nothing to finish.
        let interrupted = machine.run(&["apply", "--yes", "--profile", "auto"], None)?.status.code() == Some(3);
        if interrupted && number % 2 == 1 {
            machine.expect(&["apply", "--resume", "--yes"], 0)?;
            let plan = machine.expect(&["plan"], 0)?;
            if !plan.starts_with("Nothing to do") {
                return Err(format!("killed at {number}, resumed, and still to do:\n{plan}").into());
            }
        }
        machine.expect(&["rollback", "--yes"], 0)?;
        same(&before, &machine.picture()?, &format!("killed at {number}"))?;
    }
    Err("the apply never got through".into())
}
