//! What the daemon sets is put back: at the end of each burst, whatever ends it; when it is killed; when another command wants the machine.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on may panic")]

mod fixture;

use std::io;
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, channel};
use std::time::Duration;

use fixture::daemon::{Ends, keep_time, kill_at_each, quiet_counters, tell_checkpoints, write};
use fixture::*;
use swaptune_core::Bytes;
use swaptune_core::control::{Budget, Burst, CanaryPace, DecisionEntry, Laws, Mode, WantedLaws, Wishes, WorkerKind};
use swaptune_core::profiles::auto::largest_pool;
use swaptune_double::install;
use swaptune_host::aside::Aside;
use swaptune_host::daemon_status::{PAUSE_FILE, pause, read, resume};
use swaptune_host::inspect::{InspectScope, inspect};
use swaptune_host::keep::burst::{BurstError, Ended, carry_out};
use swaptune_host::keep::canary::Canaries;
use swaptune_host::keep::{Caller, DaemonOptions, KeepError, run};
use swaptune_host::machine::Machine;
use swaptune_host::stop::Stop;
use swaptune_host::temporary::{TemporaryError, TemporarySettings, guardian};

const ROOT: &str = "SWAPTUNE_KEEP_TEST_ROOT";
const LIMIT: &str = "sys/module/zswap/parameters/max_pool_percent";
const ACCEPT: &str = "sys/module/zswap/parameters/accept_threshold_percent";

/// Not a test: the guardian of the others, when this program is started as one.
#[test]
fn temporary_guardian() {
    install();
    assert!(guardian::play_and_tell());
}

/// Canaries that only note what was set when they were offered.
#[derive(Default)]
struct Noted<'a> {
    root: Option<&'a Path>,
    seen: Vec<(String, String)>,
    paces: Vec<CanaryPace>,
    fails: bool,
}

impl Noted<'_> {
    fn note(&mut self) -> io::Result<()> {
        let text = |path: &str| self.root.map(|root| std::fs::read_to_string(root.join(path)).unwrap().trim().to_owned());
        self.seen.extend(text(LIMIT).zip(text(ACCEPT)));
        if self.fails { Err(io::Error::other("gone")) } else { Ok(()) }
    }
}

impl Canaries for Noted<'_> {
    fn go(&mut self, pace: CanaryPace) -> io::Result<()> {
        self.paces.push(pace);
        self.note()
    }
    fn stop(&mut self) -> io::Result<u64> {
        self.note().map(|()| 7)
    }
    fn one(&mut self) -> io::Result<()> {
        self.note()
    }
}

fn machine_with_zswap() -> Fixture {
    let fixture = Fixture::new();
    std::fs::write(fixture.path(ACCEPT), "90\n").unwrap();
    std::fs::write(fixture.path(LIMIT), "20\n").unwrap();
    fixture
}

fn burst() -> Burst {
    Burst {
        limit_percent: 12,
        accept_percent: 80,
        target: Bytes(0),
        allowed: Bytes::from_mib(64),
        until_ms: 0,
        worker: WorkerKind::Kept,
    }
}

fn settings(machine: &Machine) -> TemporarySettings {
    install();
    TemporarySettings::open_in_daemon(machine, "a test").unwrap()
}

fn limits(fixture: &Fixture) -> (String, String) {
    (fixture.text(LIMIT).trim().to_owned(), fixture.text(ACCEPT).trim().to_owned())
}

fn pair(limit: &str, accept: &str) -> (String, String) {
    (limit.to_owned(), accept.to_owned())
}

#[test]
fn a_burst_lowers_the_limits_and_puts_them_back() {
    let fixture = machine_with_zswap();
    let mut settings = settings(&fixture.machine());
    // The daemon has raised the limit: that is what a burst comes back to.
    settings.knob("zswap.max_pool_percent", "24").unwrap();
    for (full, expect) in
        [(false, vec![pair("12", "80"); 2]), (true, vec![pair("12", "80"), pair("12", "80"), pair("24", "100")])]
    {
        let mut canaries = Noted { root: Some(fixture.root()), ..Noted::default() };
        let mut looks = 0;
        let mut goes_on = |_| {
            looks += 1;
            if looks < 3 { Ok(CanaryPace::Fast) } else { Err("enough".to_owned()) }
        };
        let ended = carry_out(&mut settings, &mut canaries, &burst(), &mut || full, &mut goes_on).unwrap();
        assert_eq!(ended, Ended { why: "enough".into(), canaries: 7 + u64::from(full) });
        assert_eq!((canaries.seen, canaries.paces), (expect, vec![CanaryPace::Fast]));
        assert_eq!(limits(&fixture), pair("24", "90"));
    }
    settings.close().unwrap();
    assert_eq!(limits(&fixture), pair("20", "90"));
}

#[test]
fn canaries_that_are_written_are_counted_before_each_look() {
    let fixture = machine_with_zswap();
    let mut settings = settings(&fixture.machine());
    let mut canaries = Noted { root: Some(fixture.root()), ..Noted::default() };
    let mut counted = Vec::new();
    let mut goes_on = |offered| {
        counted.push(offered);
        match counted.len() {
            1 => Ok(CanaryPace::Steady),
            2 => Ok(CanaryPace::Slow),
            _ => Err("enough".to_owned()),
        }
    };
    let burst = Burst { worker: WorkerKind::ToThreshold, ..burst() };
    let ended = carry_out(&mut settings, &mut canaries, &burst, &mut || false, &mut goes_on).unwrap();
    assert_eq!(counted, [7, 14, 21]);
    assert_eq!(ended, Ended { why: "enough".into(), canaries: 28 });
    // Offered all the while, and only while the limits are lowered.
    assert_eq!(canaries.seen, vec![pair("12", "80"); 7]);
    assert_eq!(canaries.paces, [CanaryPace::Slow, CanaryPace::Steady, CanaryPace::Slow], "one may be enough");
    assert_eq!(limits(&fixture), pair("20", "90"));
}

#[test]
fn a_burst_without_canaries_puts_the_limits_back() {
    let fixture = machine_with_zswap();
    let mut settings = settings(&fixture.machine());
    let mut canaries = Noted { root: Some(fixture.root()), fails: true, ..Noted::default() };
    let error = carry_out(&mut settings, &mut canaries, &burst(), &mut || true, &mut |_| Ok(CanaryPace::Fast)).unwrap_err();
    assert!(matches!(error, BurstError::Canaries(_)), "{error}");
    assert_eq!(limits(&fixture), pair("20", "90"));
}

#[test]
fn a_limit_that_another_program_sets_in_a_burst_is_left_alone_and_named() {
    let fixture = machine_with_zswap();
    let mut settings = settings(&fixture.machine());
    let mut goes_on = |_| {
        std::fs::write(fixture.path(LIMIT), "33\n").unwrap();
        Err("enough".to_owned())
    };
    let error = carry_out(&mut settings, &mut Noted::default(), &burst(), &mut || false, &mut goes_on).unwrap_err();
    assert!(matches!(&error, BurstError::Settings(TemporaryError::NotRestored { .. })), "{error}");
    assert!(error.to_string().contains("33"), "{error}");
    drop(settings);
    assert_eq!(limits(&fixture), pair("33", "90"));
}

/// Not a test: the process that is killed. It says how many checkpoints it passed.
#[test]
fn worker() {
    let Ok(root) = std::env::var(ROOT) else { return };
    let machine = Machine::at(&root);
    let mut settings = settings(&machine);
    settings.knob("zswap.max_pool_percent", "24").unwrap();
    let mut looks = 0;
    let mut goes_on = |_| {
        looks += 1;
        if looks < 3 { Ok(CanaryPace::Fast) } else { Err("enough".to_owned()) }
    };
    carry_out(&mut settings, &mut Noted::default(), &burst(), &mut || true, &mut goes_on).unwrap();
    settings.close().unwrap();
    tell_checkpoints(&root);
}

#[test]
fn whatever_kills_it_in_a_burst_the_limits_are_back() {
    kill_at_each(ROOT, 20, machine_with_zswap, |fixture, said| assert_eq!(limits(fixture), pair("20", "90"), "{said}"));
}

/// A machine with a pool near its limit and RAM to spare, whose clock a thread keeps going.
fn growing() -> Fixture {
    let fixture = machine_with_zswap();
    write(&fixture, "sys/module/zswap/parameters/enabled", "Y\n");
    write(
        &fixture,
        "proc/meminfo",
        "MemTotal: 1024000 kB\nMemAvailable: 600000 kB\nSwapTotal: 4096000 kB\nSwapFree: 4000000 kB\nZswap: 185000 kB\nZswapped: 500000 kB\n",
    );
    quiet_counters(&fixture);
    fixture
}

fn laws() -> Laws {
    let wanted = WantedLaws { limit: true, pacing: false, reclaim: false, zram: false };
    Laws::new(Wishes { wanted, ..Wishes::default() }, largest_pool, Budget::default(), Budget::default())
}

/// Hears nothing, and has nothing to say.
struct Quiet;

impl Caller for Quiet {
    fn tell(&mut self, _: &DecisionEntry) {}

    fn reload(&mut self) -> Option<Result<Wishes, String>> {
        None
    }
}

/// Keeps what it hears.
struct Hears<'a>(&'a mut Vec<String>);

impl Caller for Hears<'_> {
    fn tell(&mut self, entry: &DecisionEntry) {
        self.0.push(entry.did.clone());
    }

    fn reload(&mut self) -> Option<Result<Wishes, String>> {
        None
    }
}

/// Hands over configurations, one a time.
struct Hands(Receiver<Result<Wishes, String>>);

impl Caller for Hands {
    fn tell(&mut self, _: &DecisionEntry) {}

    fn reload(&mut self) -> Option<Result<Wishes, String>> {
        self.0.try_recv().ok()
    }
}

#[test]
fn another_configuration_takes_effect_without_a_gap() {
    install();
    let fixture = growing();
    let (machine, stop, over) = (fixture.machine(), Stop::default(), AtomicBool::new(false));
    let (hand, taken) = channel();
    let limit = || fixture.text(LIMIT).trim().to_owned();
    let last = || read(&machine).ok().and_then(|report| report.log.back().cloned());
    std::thread::scope(|scope| {
        let _ends = Ends(&stop, &over);
        scope.spawn(|| keep_time(fixture.root(), &over));
        let daemon = scope.spawn(|| run(&fixture.machine(), laws(), DaemonOptions::default(), &stop, &mut Hands(taken)));
        until("it rises", || limit() == "25");
        hand.send(Err("x.toml:3: unknown key `limt`".into())).unwrap();
        until("it says why", || last().is_some_and(|entry| entry.why.contains("limt")));
        assert_ne!(limit(), "20", "the one before goes on");
        let none = WantedLaws { limit: false, pacing: false, reclaim: false, zram: false };
        hand.send(Ok(Wishes { wanted: none, ..Wishes::default() })).unwrap();
        until("the limit is back", || limit() == "20");
        until("it says so", || last().is_some_and(|entry| entry.did == "read anew"));
        hand.send(Ok(Wishes { wanted: WantedLaws { limit: true, ..none }, ..Wishes::default() })).unwrap();
        until("it rises again", || limit() == "25");
        stop.ask();
        let report = daemon.join().unwrap().unwrap();
        over.store(true, Ordering::Relaxed);
        assert_eq!(report.mode, Mode::Stopped);
    });
    assert_eq!(limit(), "20");
}

/// Waits for something that comes within some ticks.
#[track_caller]
fn until(what: &str, mut holds: impl FnMut() -> bool) {
    for _ in 0..600 {
        if holds() {
            return;
        }
        std::thread::sleep(Duration::from_millis(100));
    }
    panic!("{what}");
}

#[test]
fn the_limit_moves_and_steps_back_for_others() {
    install();
    let fixture = growing();
    let (machine, stop, over) = (fixture.machine(), Stop::default(), AtomicBool::new(false));
    let limit = || fixture.text(LIMIT).trim().to_owned();
    std::thread::scope(|scope| {
        let _ends = Ends(&stop, &over);
        scope.spawn(|| keep_time(fixture.root(), &over));
        let daemon = scope.spawn(|| run(&fixture.machine(), laws(), DaemonOptions::default(), &stop, &mut Quiet));
        until("it rises", || limit() == "25");
        until("it says so", || read(&machine).is_ok_and(|report| report.moved.first().is_some_and(|moved| moved.now == "25")));
        // What is configured is what a plan starts from.
        let facts = inspect(&machine, InspectScope::STATUS);
        assert_eq!(facts.zswap.value().unwrap().configured("max_pool_percent"), Some("20"));
        let second = run(&fixture.machine(), laws(), DaemonOptions::default(), &Stop::default(), &mut Quiet);
        assert!(matches!(second, Err(KeepError::Running { .. })));
        {
            let _aside = Aside::ask(&machine).unwrap();
            assert_eq!(limit(), "20", "it has stepped aside when the command goes on");
            // A command has the machine for itself, with settings of its own.
            TemporarySettings::open(&machine, "a command").unwrap().close().unwrap();
        }
        until("it goes on", || limit() != "20");
        pause(&machine).unwrap();
        until("a pause", || limit() == "20");
        until("it says so", || read(&machine).is_ok_and(|report| report.mode == Mode::Paused));
        resume(&machine).unwrap();
        until("it goes on", || limit() != "20");
        stop.ask();
        let report = daemon.join().unwrap().unwrap();
        over.store(true, Ordering::Relaxed);
        assert_eq!((report.mode, limit()), (Mode::Stopped, "20".to_owned()));
        assert!(report.log.iter().any(|entry| entry.law == "limit" && entry.did.starts_with("20 % → 25 %")), "{:?}", report.log);
    });
    assert!(!fixture.path(PAUSE_FILE.trim_start_matches('/')).exists());
}

/// A command that begins in the middle of the second tick, when the daemon has chosen to work, and ends in that of the next one.
struct Interrupts<'a> {
    machine: &'a Machine,
    ticks: u32,
    command: Option<TemporarySettings>,
}

impl Caller for Interrupts<'_> {
    fn tell(&mut self, _: &DecisionEntry) {}

    fn reload(&mut self) -> Option<Result<Wishes, String>> {
        self.ticks += 1;
        match self.ticks {
            2 => self.command = Some(TemporarySettings::open(self.machine, "a command").unwrap()),
            _ => self.command.take().map_or((), |command| command.close().unwrap()),
        }
        None
    }
}

#[test]
fn a_command_that_comes_in_the_middle_of_a_tick_fails_nothing() {
    install();
    let fixture = growing();
    let (machine, stop, over) = (fixture.machine(), Stop::default(), AtomicBool::new(false));
    std::thread::scope(|scope| {
        let _ends = Ends(&stop, &over);
        scope.spawn(|| keep_time(fixture.root(), &over));
        let daemon = scope.spawn(|| {
            let mut caller = Interrupts { machine: &fixture.machine(), ticks: 0, command: None };
            run(&machine, laws(), DaemonOptions::default(), &stop, &mut caller)
        });
        until("it moves the limit once the command has ended", || fixture.text(LIMIT).trim() == "25");
        stop.ask();
        let report = daemon.join().unwrap().unwrap();
        assert_eq!((report.totals.failures, report.totals.moves), (0, 1), "{:?}", report.log);
    });
}

#[test]
fn a_dry_run_changes_nothing() {
    install();
    let fixture = growing();
    let before = fixture.picture();
    let (mut said, over) = (Vec::new(), AtomicBool::new(false));
    std::thread::scope(|scope| {
        let stop = Stop::default();
        let _ends = Ends(&stop, &over);
        scope.spawn(|| keep_time(fixture.root(), &over));
        let options = DaemonOptions { dry_run: true, once: true };
        let report = run(&fixture.machine(), laws(), options, &stop, &mut Hears(&mut said)).unwrap();
        assert_eq!(report.mode, Mode::DryRun, "nothing was set that could have been put back");
    });
    assert_eq!(said, ["would move 20 % → 25 %"]);
    std::fs::write(fixture.path("proc/uptime"), "100.00 1.00\n").unwrap();
    assert_same(&fixture.picture(), &before, "after a dry run");
}
