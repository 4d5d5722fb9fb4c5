//! The kill loop: a process that applies or rolls back is killed at every checkpoint and at random moments, and whatever
//! it leaves is finished, forwards or backwards.
//!
//! The child is this same test program, told by its environment what to do. Killing a process stands for losing power as
//! far as the order of writes is concerned; that they are synced in that order is the code's promise, not shown here.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on may panic")]

mod fixture;

use std::os::unix::process::ExitStatusExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::time::Duration;

use fixture::*;
use swaptune_double::{FixtureKernel, KILL_AT};
use swaptune_host::journal::{StateDir, TransactionKind, TransactionStatus, history, pending};
use swaptune_host::machine::Machine;
use swaptune_host::transaction::{ApplyOptions, Resumed, execute, resume, rollback};

const TASK: &str = "SWAPTUNE_CRASH_TASK";
const ROOT: &str = "SWAPTUNE_CRASH_ROOT";
/// How often a moment is left to chance.
const RANDOM_KILLS: u64 = 60;

/// Not a test of its own: the process that is killed. It writes down how many checkpoints it passed.
#[test]
fn child() {
    let (Ok(task), Ok(root)) = (std::env::var(TASK), std::env::var(ROOT)) else { return };
    swaptune_double::install();
    let root = PathBuf::from(root);
    let (machine, kernel) = (Machine::at(&root), FixtureKernel::new(&root));
    let (state, options) = (StateDir::persistent(&machine), ApplyOptions::default());
    match task.as_str() {
        "apply" => {
            execute(&machine, &kernel, &state, &rich_plan(), &options).unwrap();
        }
        "retire" => {
            let options = ApplyOptions { kind: TransactionKind::Retire, ..options };
            execute(&machine, &kernel, &state, &prepare_and_retire().1, &options).unwrap();
        }
        "resume" => finish(&machine, &kernel, &state),
        "rollback" => {
            rollback(&machine, &kernel, &state, &only_id(&state), &options).unwrap();
        }
        other => panic!("no task {other}"),
    }
    std::fs::write(root.join("run/swaptune-checkpoints"), swaptune_double::passed().to_string()).unwrap();
}

fn finish(machine: &Machine, kernel: &FixtureKernel, state: &StateDir) {
    if let Some(transaction) = pending(state).unwrap() {
        resume(machine, kernel, state, &transaction.id, &ApplyOptions::default()).unwrap();
    }
}

fn only_id(state: &StateDir) -> String {
    history(state).unwrap().pop().unwrap().id
}

fn start(task: &str, root: &Path, kill_at: Option<u64>) -> Child {
    std::fs::create_dir_all(root.join("run")).unwrap();
    let mut command = Command::new(std::env::current_exe().unwrap());
    command.args(["--exact", "child", "--test-threads=1"]).env(TASK, task).env(ROOT, root).env_remove(KILL_AT);
    if let Some(number) = kill_at {
        command.env(KILL_AT, number.to_string());
    }
    command.stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap()
}

fn run(task: &str, root: &Path, kill_at: Option<u64>) -> ExitStatus {
    start(task, root, kill_at).wait().unwrap()
}

fn is_killed(status: ExitStatus) -> bool {
    status.signal() == Some(9)
}

/// How many checkpoints a task passes when it is not killed.
fn checkpoints(task: &str, fixture: &Fixture) -> u64 {
    assert!(run(task, fixture.root(), None).success());
    let path = fixture.path("run/swaptune-checkpoints");
    let count = std::fs::read_to_string(&path).unwrap().parse().unwrap();
    std::fs::remove_file(path).unwrap();
    count
}

/// The machine before and after the plan.
struct Expected {
    before: Picture,
    after: Picture,
    /// An apply was cut short, maybe in a generator.
    is_torn: bool,
}

fn expected() -> Expected {
    let fixture = Fixture::new();
    let before = fixture.picture();
    execute(&fixture.machine(), &fixture.kernel(), &fixture.state(), &rich_plan(), &ApplyOptions::default()).unwrap();
    let after = fixture.picture();
    for made in ["dev/vdd1", "dev/dm-0", "etc/swaptune-keys/swap-3.key"] {
        assert!(after.contains_key(made) && !before.contains_key(made), "{made}");
    }
    assert!(after["proc/swaps"].1.contains("/dev/dm-0"), "{:?}", after["proc/swaps"]);
    Expected { before, after, is_torn: true }
}

impl Fixture {
    /// Finishes what was cut short and checks that it went the whole way in one direction.
    fn resume_and_check(&self, expected: &Expected, when: &str) {
        let (machine, kernel, state) = (self.machine(), self.kernel(), self.state());
        if let Some(transaction) = pending(&state).unwrap() {
            let resumed = resume(&machine, &kernel, &state, &transaction.id, &ApplyOptions::default());
            match resumed.unwrap_or_else(|error| panic!("{when}: {error:?}")) {
                Resumed::Applied(_) => assert_same(&self.picture(), &expected.after, when),
                Resumed::RolledBack(report) => {
                    assert!(report.left().is_empty(), "{when}: {:?}", report.left());
                    self.assert_before(expected, when);
                }
            }
        }
        self.roll_back_and_check(expected, when);
    }

    /// Takes back what there is, finished or not, and checks that nothing is left.
    fn roll_back_and_check(&self, expected: &Expected, when: &str) {
        let (machine, kernel, state) = (self.machine(), self.kernel(), self.state());
        // Without a first line in the journal nothing has been changed.
        if let Some(row) = history(&state).unwrap().pop().filter(|row| row.status != Some(TransactionStatus::RolledBack)) {
            let report = rollback(&machine, &kernel, &state, &row.id, &ApplyOptions::default());
            let report = report.unwrap_or_else(|error| panic!("{when}: {error:?}"));
            assert!(report.left().is_empty(), "{when}: {:?}", report.left());
        }
        self.assert_before(expected, when);
        assert!(pending(&state).unwrap().is_none(), "{when}");
    }

    /// As before: byte for byte, but for what a killed generator may have left, which is made anew from what it was made of before.
    fn assert_before(&self, expected: &Expected, when: &str) {
        let (mut found, mut before) = (self.picture(), expected.before.clone());
        let is_anew = |text: &str| text.starts_with("# made by") && !text.contains("zswap.enabled=1");
        for path in ["boot/grub/grub.cfg", "boot/grub/new.cfg", "boot/initrd.img-6.1"] {
            if expected.is_torn && found.get(path).is_some_and(|(_, text)| is_anew(text)) {
                found.remove(path);
                before.remove(path);
            }
        }
        assert_same(&found, &before, when);
    }
}

#[test]
fn an_apply_killed_anywhere_is_finished_or_taken_back() {
    let expected = expected();
    let count = checkpoints("apply", &Fixture::new());
    assert!(count > 90, "only {count} checkpoints");
    for number in 1..=count {
        let fixture = Fixture::new();
        let when = format!("killed at checkpoint {number} of {count}");
        assert!(is_killed(run("apply", fixture.root(), Some(number))), "{when}");
        if number % 3 == 0 {
            fixture.reboot();
        }
        if number % 5 != 0 {
            tear_last_line(&fixture, number);
        }
        if number % 2 == 0 {
            fixture.resume_and_check(&expected, &when);
        } else {
            fixture.roll_back_and_check(&expected, &when);
        }
    }
}

/// What it destroys does not come back; so it is finished, or what is left of it is taken back.
#[test]
fn a_retirement_killed_anywhere_ends() {
    let prepared = || {
        let fixture = Fixture::new();
        execute(&fixture.machine(), &fixture.kernel(), &fixture.state(), &prepare_and_retire().0, &ApplyOptions::default())
            .unwrap();
        fixture
    };
    let whole = prepared();
    let count = checkpoints("retire", &whole);
    assert!(count > 15, "only {count} checkpoints");
    let (fstab, swaps) = (whole.text("etc/fstab"), whole.text("proc/swaps"));
    assert!(!whole.path(KEY.trim_start_matches('/')).exists());
    for (number, forwards) in (1..=count).flat_map(|number| [(number, true), (number, false)]) {
        let fixture = prepared();
        let when = format!("killed at checkpoint {number} of {count}, forwards: {forwards}");
        assert!(is_killed(run("retire", fixture.root(), Some(number))), "{when}");
        let (machine, kernel, state) = (fixture.machine(), fixture.kernel(), fixture.state());
        let Some(transaction) = pending(&state).unwrap() else { continue };
        if forwards {
            let resumed = resume(&machine, &kernel, &state, &transaction.id, &ApplyOptions::default());
            assert!(matches!(resumed, Ok(Resumed::Applied(_))), "{when}: {resumed:?}");
            assert_eq!((fixture.text("etc/fstab"), fixture.text("proc/swaps")), (fstab.clone(), swaps.clone()), "{when}");
            assert!(!fixture.path(KEY.trim_start_matches('/')).exists(), "{when}");
            let head = &std::fs::read(fixture.path("dev/vdd1")).unwrap()[..4096];
            assert!(head.iter().all(|byte| *byte == 0), "{when}");
        } else {
            let report = rollback(&machine, &kernel, &state, &transaction.id, &ApplyOptions::default());
            let report = report.unwrap_or_else(|error| panic!("{when}: {error:?}"));
            assert!(report.left().is_empty(), "{when}: {:?}", report.left());
            assert!(fixture.text("etc/fstab").contains("swap-3"), "{when}");
        }
        assert!(pending(&state).unwrap().is_none(), "{when}");
    }
}

/// Cuts into the last line of the journal where losing power could: a line that tells what was done is not synced.
fn tear_last_line(fixture: &Fixture, number: u64) {
    let state = fixture.state();
    let path = state.journal(&only_id(&state));
    let bytes = std::fs::read(&path).unwrap();
    let start = bytes[..bytes.len() - 1].iter().rposition(|byte| *byte == b'\n').map_or(0, |end| end + 1);
    if bytes[start..].starts_with(br#"{"v":1,"record":"done""#) {
        let length = start as u64 + number % (bytes.len() - start) as u64;
        std::fs::OpenOptions::new().write(true).open(&path).unwrap().set_len(length).unwrap();
    }
}

#[test]
fn a_rollback_killed_anywhere_is_finished() {
    let expected = Expected { is_torn: false, ..expected() };
    let apply = |fixture: &Fixture| {
        execute(&fixture.machine(), &fixture.kernel(), &fixture.state(), &rich_plan(), &ApplyOptions::default()).unwrap();
    };
    let whole = Fixture::new();
    apply(&whole);
    let count = checkpoints("rollback", &whole);
    assert!(count > 50, "only {count} checkpoints");
    for number in 1..=count {
        let fixture = Fixture::new();
        let when = format!("rollback killed at checkpoint {number} of {count}");
        apply(&fixture);
        assert!(is_killed(run("rollback", fixture.root(), Some(number))), "{when}");
        if number % 3 == 0 {
            fixture.reboot();
        }
        if number % 2 == 0 {
            fixture.resume_and_check(&expected, &when);
        } else {
            fixture.roll_back_and_check(&expected, &when);
        }
    }
}

#[test]
fn what_finishes_may_be_killed_too() {
    let expected = expected();
    let mut random = Random(42);
    for round in 0..RANDOM_KILLS {
        let fixture = Fixture::new();
        let first = 1 + random.below(95);
        let mut when = format!("round {round}: killed at {first}");
        run("apply", fixture.root(), Some(first));
        for _ in 0..3 {
            let (task, at) = if random.below(2) == 0 { ("resume", 60) } else { ("rollback", 60) };
            let at = 1 + random.below(at);
            when += &format!(", {task} killed at {at}");
            if !history(&fixture.state()).unwrap().is_empty() {
                run(task, fixture.root(), Some(at));
            }
        }
        fixture.resume_and_check(&expected, &when);
    }
}

#[test]
fn a_kill_at_any_time_leaves_what_can_be_finished() {
    let expected = expected();
    let mut random = Random(7);
    for round in 0..RANDOM_KILLS {
        let fixture = Fixture::new();
        let micros = random.below(120_000);
        let mut child = start("apply", fixture.root(), None);
        std::thread::sleep(Duration::from_micros(micros));
        child.kill().unwrap();
        child.wait().unwrap();
        let _ = std::fs::remove_file(fixture.path("run/swaptune-checkpoints"));
        let when = format!("round {round}: killed after {micros} µs");
        if round % 2 == 0 {
            fixture.resume_and_check(&expected, &when);
        } else {
            fixture.roll_back_and_check(&expected, &when);
        }
    }
}

/// A small generator: the same kills in each run.
struct Random(u64);

impl Random {
    fn below(&mut self, limit: u64) -> u64 {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) % limit
    }
}
