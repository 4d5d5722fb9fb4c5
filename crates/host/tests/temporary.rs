//! Temporary settings are put back: when they are closed, dropped, when something fails, when the process panics, is
//! killed at any checkpoint, stopped while its watchdog is armed, and when its guardian is killed too.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on may panic")]

mod fixture;

use std::os::unix::process::ExitStatusExt;
use std::path::Path;
use std::process::{Command, Output, Stdio};
use std::time::Duration;

use fixture::*;
use rustix::process::{Pid, Signal, getpid, kill_process};
use swaptune_core::Bytes;
use swaptune_double::{KILL_AT, KILL_GUARDIAN_AT, install};
use swaptune_host::journal::{StateDir, history};
use swaptune_host::kernel::Kernel as _;
use swaptune_host::machine::Machine;
use swaptune_host::temporary::guardian::{self, GuardianProgram};
use swaptune_host::temporary::{TOP_PRIORITY, TemporaryError, TemporarySettings, recover};
use swaptune_trials::{children, wait_for};

const ROOT: &str = "SWAPTUNE_TEMPORARY_TEST_ROOT";
/// At which checkpoint the guardian is killed, for the process that starts it.
const GUARDIAN_DIES: &str = "SWAPTUNE_TEMPORARY_TEST_GUARDIAN_DIES";

/// For how long the process that starts the guardian arms its watchdog, ms, before it stops, or stops the guardian for longer.
const STOPS: &str = "SWAPTUNE_TEMPORARY_TEST_STOPS";
const FREEZES: &str = "SWAPTUNE_TEMPORARY_TEST_FREEZES";

/// What another program sets vm.page-cluster to before it stops.
const OTHER: &str = "SWAPTUNE_TEMPORARY_TEST_OTHER";

/// Not a test: the guardian of the others, when this program is started as one.
#[test]
fn temporary_guardian() {
    install();
    assert!(guardian::play_and_tell());
}

/// Not a test: the process that is killed. It says how many checkpoints it passed.
#[test]
fn worker() {
    let Ok(root) = std::env::var(ROOT) else { return };
    let machine = Machine::at(&root);
    let mut temporary = open(&machine).unwrap();
    set_everything(&mut temporary).unwrap();
    let passed = swaptune_double::passed();
    if let Some(value) = std::env::var_os(OTHER) {
        std::fs::write(Path::new(&root).join("proc/sys/vm/page-cluster"), value.as_encoded_bytes()).unwrap();
    }
    if let Some(limit) = limit(STOPS) {
        temporary.arm_watchdog(limit).unwrap();
        stop_this_process();
    }
    if let Some(limit) = limit(FREEZES) {
        temporary.arm_watchdog(limit).unwrap();
        freeze_the_guardian(limit + Duration::from_millis(500));
        temporary.disarm_watchdog();
    }
    temporary.close().unwrap();
    std::fs::write(Path::new(&root).join("run/checkpoints"), format!("{passed} {}", swaptune_double::passed())).unwrap();
}

fn limit(variable: &str) -> Option<Duration> {
    std::env::var(variable).ok().map(|ms| Duration::from_millis(ms.parse().unwrap()))
}

/// Does not return. The kernel gives the signal to any thread, so this one may run on for as long as that one waits for a processor: it must not
/// come to the end of the work, after which nothing is guarded any more.
fn stop_this_process() -> ! {
    kill_process(getpid(), Signal::STOP).unwrap();
    loop {
        std::thread::park();
    }
}

/// As when the control group of both is frozen, of which only this process could know how long.
fn freeze_the_guardian(time: Duration) {
    let found = children(std::process::id(), |words| words.contains(guardian::ARGUMENT));
    let [pid] = found.as_slice() else { panic!("{found:?}") };
    let pid = Pid::from_raw(pid.parse().unwrap()).unwrap();
    kill_process(pid, Signal::STOP).unwrap();
    std::thread::sleep(time);
    kill_process(pid, Signal::CONT).unwrap();
}

fn open(machine: &Machine) -> Result<TemporarySettings, TemporaryError> {
    install();
    let Ok(number) = std::env::var(GUARDIAN_DIES) else { return TemporarySettings::open(machine, "a test") };
    let program = GuardianProgram::default();
    let mut arguments = vec![format!("{KILL_GUARDIAN_AT}={number}").into(), std::env::current_exe().unwrap().into_os_string()];
    arguments.extend(program.arguments);
    TemporarySettings::open_with_guardian(machine, "a test", &GuardianProgram { path: "/usr/bin/env".into(), arguments })
}

fn set_everything(temporary: &mut TemporarySettings) -> Result<(), TemporaryError> {
    temporary.knob("vm.page-cluster", "0")?;
    temporary.knob("vm.page-cluster", "1")?;
    temporary.knob("zswap.compressor", "lz4")?;
    temporary.knob("zswap.enabled", "on")?;
    temporary.swap_file(Path::new("/new/folder"), Bytes::from_mib(1), TOP_PRIORITY)?;
    temporary.swap_file(Path::new("/etc"), Bytes(50_000), 7)?;
    temporary.zram("lz4", Bytes::from_mib(1), Some(100))?;
    temporary.zram("zstd", Bytes::from_mib(1), None).map(|_| ())
}

fn nothing_is_left(fixture: &Fixture) -> bool {
    history(&StateDir::temporary(&fixture.machine())).unwrap().is_empty()
}

#[track_caller]
fn assert_as_before(fixture: &Fixture, before: &Picture, when: &str) {
    assert_same(&fixture.picture(), before, when);
    assert!(nothing_is_left(fixture), "{when}");
}

#[test]
fn everything_is_set_and_put_back() {
    let fixture = Fixture::new();
    let (machine, before) = (fixture.machine(), fixture.picture());
    let mut temporary = open(&machine).unwrap();
    set_everything(&mut temporary).unwrap();
    assert_eq!(fixture.text("proc/sys/vm/page-cluster").trim(), "1");
    assert_eq!(fixture.text("sys/module/zswap/parameters/enabled").trim(), "Y");
    let swaps = fixture.text("proc/swaps");
    assert_eq!(swaps.lines().count(), 1 + 1 + 2 + 1, "{swaps}");
    assert!(swaps.contains("32767") && swaps.contains("/dev/zram0"), "{swaps}");
    assert!(fixture.text("sys/block/zram1/comp_algorithm").contains("[zstd]"));
    temporary.close().unwrap();
    assert_as_before(&fixture, &before, "after close");
}

#[test]
fn in_a_container_nothing_of_the_host_is_set() {
    let fixture = Fixture::new();
    std::fs::create_dir_all(fixture.path("run/systemd")).unwrap();
    std::fs::write(fixture.path("run/systemd/container"), "lxc\n").unwrap();
    let error = open(&fixture.machine()).unwrap_err();
    assert_eq!(error.exit_code(), 3);
    let expected = "temporary settings: this is a container (lxc): its kernel's swap belongs to the host";
    assert_eq!(error.to_string(), expected);
    assert!(!fixture.path("run/swaptune").exists(), "nothing was begun");
}

#[test]
fn without_memory_settings_are_made_and_swap_is_not() {
    let fixture = Fixture::new();
    std::fs::write(fixture.path("proc/meminfo"), "MemTotal: 480000 kB\nMemAvailable: 2400 kB\n").unwrap();
    let before = fixture.picture();
    let mut temporary = open(&fixture.machine()).unwrap();
    temporary.knob("vm.page-cluster", "0").unwrap();
    let refused = |result: Result<(), TemporaryError>| {
        let error = result.unwrap_err().to_string();
        assert!(error.contains("2.3 MiB of memory are available"), "{error}");
    };
    refused(temporary.swap_file(Path::new("/new/folder"), Bytes::from_mib(1), TOP_PRIORITY).map(drop));
    refused(temporary.zram("lz4", Bytes::from_mib(1), Some(100)).map(drop));
    // What this process holds itself is free by the time that an area is switched off.
    temporary.counts_on(Bytes::from_mib(40));
    temporary.zram("lz4", Bytes::from_mib(1), Some(100)).unwrap();
    temporary.zram("lz4", Bytes::from_mib(1), None).unwrap();
    temporary.close().unwrap();
    assert_as_before(&fixture, &before, "after close");
}

#[test]
fn what_is_dropped_or_unwound_is_put_back() {
    let fixture = Fixture::new();
    let (machine, before) = (fixture.machine(), fixture.picture());
    let mut temporary = open(&machine).unwrap();
    set_everything(&mut temporary).unwrap();
    drop(temporary);
    assert_as_before(&fixture, &before, "after drop");
    let panicked = std::panic::catch_unwind(|| {
        let mut temporary = open(&machine).unwrap();
        set_everything(&mut temporary).unwrap();
        panic!("in the middle");
    });
    assert!(panicked.is_err());
    assert_as_before(&fixture, &before, "after a panic");
}

#[test]
fn a_mark_is_gone_back_to() {
    let fixture = Fixture::new();
    let before = fixture.picture();
    let mut temporary = open(&fixture.machine()).unwrap();
    temporary.knob("vm.page-cluster", "0").unwrap();
    let (mark, then) = (temporary.mark().unwrap(), fixture.picture());
    for algorithm in ["lz4", "zstd"] {
        let path = temporary.zram(algorithm, Bytes::from_mib(1), Some(TOP_PRIORITY)).unwrap();
        assert_eq!(path, "/dev/zram0");
        temporary.back_to(mark).unwrap();
        assert_same(&fixture.picture(), &then, algorithm);
    }
    temporary.close().unwrap();
    assert_as_before(&fixture, &before, "after close");
}

#[test]
fn zswap_can_be_switched_on_again_with_what_it_had_before() {
    let fixture = Fixture::new();
    let before = fixture.picture();
    let mut temporary = open(&fixture.machine()).unwrap();
    let mark = temporary.mark().unwrap();
    temporary.knob("zswap.compressor", "lz4").unwrap();
    temporary.knob("zswap.enabled", "Y").unwrap();
    temporary.back_to(mark).unwrap();
    // The compressor is the one of before: what was set and taken back is not expected any more.
    temporary.knob("zswap.enabled", "Y").unwrap();
    temporary.close().unwrap();
    assert_as_before(&fixture, &before, "after the second turn");
}

#[test]
fn what_fails_leaves_nothing_behind() {
    let fixture = Fixture::new();
    let before = fixture.picture();
    let mut temporary = open(&fixture.machine()).unwrap();
    for (name, value, code) in [("vm.nosuch", "1", 2), ("vm.page-cluster", "x", 2), ("vm.overcommit_memory", "1", 3)] {
        let error = temporary.knob(name, value).unwrap_err();
        assert_eq!(error.exit_code(), code, "{error}");
    }
    let huge = temporary.swap_file(Path::new("/etc"), Bytes::from_gib(1 << 20), 1).unwrap_err();
    assert_eq!(huge.exit_code(), 3, "{huge:?}");
    let used = temporary.swap_on(Path::new("/dev/vdc"), 1).unwrap_err();
    assert!(used.to_string().contains("in use as swap"), "{used}");
    assert_same(&fixture.picture(), &before, "nothing could be set");
    temporary.close().unwrap();
    assert_as_before(&fixture, &before, "after close");
}

#[test]
fn there_is_one_at_a_time_and_no_apply_beside_it() {
    let fixture = Fixture::new();
    let temporary = open(&fixture.machine()).unwrap();
    let second = open(&fixture.machine()).unwrap_err();
    assert!(matches!(second, TemporaryError::Busy(_)), "{second}");
    assert_eq!(second.exit_code(), 3);
    assert!(matches!(recover(&fixture.machine()), Err(TemporaryError::Busy(_))));
    let plan = plan(vec![knob("vm.swappiness", "/proc/sys/vm/swappiness", "60", "100")]);
    let options = swaptune_host::transaction::ApplyOptions::default();
    let apply = || swaptune_host::transaction::execute(&fixture.machine(), &fixture.kernel(), &fixture.state(), &plan, &options);
    assert!(matches!(apply().unwrap_err(), swaptune_host::transaction::ApplyError::Locked(_)));
    temporary.close().unwrap();
    apply().unwrap();
}

#[test]
fn what_another_program_changed_since_is_left_alone_and_told() {
    let fixture = Fixture::new();
    let mut temporary = open(&fixture.machine()).unwrap();
    temporary.knob("vm.page-cluster", "0").unwrap();
    temporary.knob("vm.swappiness", "10").unwrap();
    std::fs::write(fixture.path("proc/sys/vm/page-cluster"), "5\n").unwrap();
    let error = temporary.close().unwrap_err();
    assert!(error.to_string().contains("it is 5, expected 0"), "{error}");
    assert_eq!(error.exit_code(), 5);
    assert_eq!(fixture.text("proc/sys/vm/page-cluster").trim(), "5");
    assert_eq!(fixture.text("proc/sys/vm/swappiness").trim(), "60");
    assert!(nothing_is_left(&fixture), "trying again would not help");
}

#[test]
fn a_swap_file_that_was_deleted_by_hand_leaves_nothing_to_put_back() {
    let fixture = Fixture::new();
    let before = fixture.picture();
    let mut temporary = open(&fixture.machine()).unwrap();
    let path = temporary.swap_file(Path::new("/etc"), Bytes::from_mib(1), 7).unwrap();
    let real = fixture.root().join(path.strip_prefix("/").unwrap());
    fixture.kernel().swap_off(&real).unwrap();
    std::fs::remove_file(real).unwrap();
    temporary.close().unwrap();
    assert_as_before(&fixture, &before, "after close");
}

#[test]
fn nothing_is_set_without_a_guardian() {
    let fixture = Fixture::new();
    let before = fixture.picture();
    for path in ["/nonexistent/guardian", "/bin/true"] {
        let program = GuardianProgram { path: path.into(), arguments: Vec::new() };
        let error = TemporarySettings::open_with_guardian(&fixture.machine(), "a test", &program).unwrap_err();
        assert!(matches!(error, TemporaryError::Guardian(_)), "{error}");
        assert_as_before(&fixture, &before, path);
    }
}

fn worker_of(fixture: &Fixture) -> Command {
    let mut command = Command::new(std::env::current_exe().unwrap());
    command.args(["--exact", "worker", "--test-threads=1"]).env(ROOT, fixture.root());
    command
}

/// Runs the worker to its end, and that of its guardian, which shares its standard error.
fn run_worker(fixture: &Fixture, kill_at: Option<u64>, guardian_dies: Option<u64>) -> Output {
    let mut command = worker_of(fixture);
    for (variable, number) in [(KILL_AT, kill_at), (GUARDIAN_DIES, guardian_dies)] {
        match number {
            Some(number) => command.env(variable, number.to_string()),
            None => command.env_remove(variable),
        };
    }
    std::fs::create_dir_all(fixture.path("run")).unwrap();
    command.output().unwrap()
}

/// What a stopped worker and its guardian said. A worker that is still there after two minutes is ended here, and fails the test.
fn output_of_one_that_is_killed(command: &mut Command) -> Output {
    let mut child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    if let Err(error) = wait_for("the worker to be killed", || child.try_wait().unwrap().is_some()) {
        child.kill().unwrap();
        panic!("{error:?}");
    }
    child.wait_with_output().unwrap()
}

/// How many checkpoints the worker passes until everything is set, and until everything is put back.
fn checkpoints() -> (u64, u64) {
    let fixture = Fixture::new();
    let output = run_worker(&fixture, None, None);
    assert!(output.status.success(), "{output:?}");
    let text = std::fs::read_to_string(fixture.path("run/checkpoints")).unwrap();
    let (set, all) = text.split_once(' ').unwrap();
    (set.parse().unwrap(), all.parse().unwrap())
}

#[test]
fn whatever_kills_it_the_guardian_puts_everything_back() {
    let (_, all) = checkpoints();
    assert!(all > 60, "{all}");
    let before = Fixture::new().picture();
    for number in 1..=all {
        let fixture = Fixture::new();
        let output = run_worker(&fixture, Some(number), None);
        assert_eq!(output.status.signal(), Some(9), "{output:?}");
        assert_as_before(&fixture, &before, &format!("killed at {number}: {}", String::from_utf8_lossy(&output.stderr)));
    }
}

#[test]
fn when_both_are_killed_the_next_one_puts_everything_back() {
    let (set, all) = checkpoints();
    let before = Fixture::new().picture();
    for (number, guardian_dies) in [(set, 1), (set, 2), (set, 20), (set / 2, 5), ((set + all) / 2, 3)] {
        let fixture = Fixture::new();
        let output = run_worker(&fixture, Some(number), Some(guardian_dies));
        assert_eq!(output.status.signal(), Some(9), "{output:?}");
        let when = format!("killed at {number}, its guardian at {guardian_dies}");
        assert!(!nothing_is_left(&fixture), "{when}");
        let what = recover(&fixture.machine()).unwrap().unwrap();
        assert!(what.starts_with("what `a test` left"), "{what}");
        assert_as_before(&fixture, &before, &when);
        assert_eq!(recover(&fixture.machine()).unwrap(), None);
    }
    let fixture = Fixture::new();
    run_worker(&fixture, Some(set), Some(1));
    let temporary = open(&fixture.machine()).unwrap();
    assert!(temporary.recovered().is_some());
    assert_same(&fixture.picture(), &before, "opened");
}

#[test]
fn one_that_is_stopped_with_its_watchdog_armed_is_killed_and_everything_put_back() {
    let fixture = Fixture::new();
    let before = fixture.picture();
    let output = output_of_one_that_is_killed(worker_of(&fixture).env(STOPS, "200"));
    assert_eq!(output.status.signal(), Some(9), "{output:?}");
    assert_as_before(&fixture, &before, &format!("{output:?}"));
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(said.contains("did not end in time") && said.contains("what `a test` left"), "{said}");
}

#[test]
fn the_guardian_says_what_it_left_alone() {
    let fixture = Fixture::new();
    let output = output_of_one_that_is_killed(worker_of(&fixture).env(STOPS, "200").env(OTHER, "7\n"));
    assert_eq!(output.status.signal(), Some(9), "{output:?}");
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(said.contains("vm.page-cluster") && said.contains("it is 7, expected 1"), "{said}");
    assert!(said.contains("something else has set it since"), "{said}");
    assert_eq!(fixture.text("proc/sys/vm/page-cluster"), "7\n");
    assert!(nothing_is_left(&fixture));
}

#[test]
fn time_for_which_its_guardian_was_frozen_too_does_not_count() {
    let fixture = Fixture::new();
    let before = fixture.picture();
    // A step of it, half a second, may be lost; the rest is there to disarm it in.
    let output = worker_of(&fixture).env(FREEZES, "6000").output().unwrap();
    assert!(output.status.success(), "{output:?}");
    std::fs::remove_file(fixture.path("run/checkpoints")).unwrap();
    assert_as_before(&fixture, &before, "after close");
}

#[test]
fn a_watchdog_that_is_disarmed_kills_nobody() {
    let fixture = Fixture::new();
    let before = fixture.picture();
    let mut temporary = open(&fixture.machine()).unwrap();
    for limit in [Duration::from_millis(100), Duration::MAX, Duration::from_millis(100)] {
        temporary.arm_watchdog(limit).unwrap();
        temporary.knob("vm.page-cluster", "0").unwrap();
        temporary.disarm_watchdog();
    }
    std::thread::sleep(Duration::from_millis(300));
    temporary.close().unwrap();
    assert_as_before(&fixture, &before, "after close");
}
