//! Services that are real processes: shells that answer.

use std::os::unix::process::CommandExt;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal, getpgid, kill_process_group};
use swaptune_core::measurement::DensityEnd;
use swaptune_trials::{children, wait_for};

use super::load::{Broken, WakeSchedule, play};
use super::service::readable;
use super::*;
use crate::process::HelperProgram;

/// A service of a shell script. Tests tether nothing: `env` takes the place, with the parent's id as a variable.
fn shell(script: &str) -> Launch {
    let tether =
        HelperProgram { path: "/bin/sh".into(), arguments: vec!["-c".into(), "read _; shift; exec \"$@\"".into(), "sh".into()] };
    let command = ["/bin/sh", "-c", script].map(Into::into);
    Launch::own(&command, (tether.clone(), tether), Bytes::from_mib(1), 30).unwrap()
}

const ECHO: &str = "echo ready; while read line; do echo done; done";

fn started(launch: &Launch, count: usize) -> Vec<Service> {
    let service = |number: usize| {
        let mut service = Service::start(launch, number as u32, None).unwrap();
        assert_eq!(service.wait(Instant::now() + Duration::from_secs(60), &|| false), Wait::Answered);
        service
    };
    (0..count).map(service).collect()
}

#[test]
fn every_wake_of_a_schedule_is_answered_once() {
    let mut services = started(&shell(ECHO), 3);
    let schedule = WakeSchedule::draw(3, 50, (500.0, 0.0), 7);
    let window = play(&mut services, &schedule, &mut || None);
    assert_eq!((window.took.len(), window.broken), (50, None));
    assert!(services.iter().all(|service| service.open() == 0));
}

#[test]
fn a_wake_that_waits_for_another_counts_from_when_it_was_due() {
    let mut services = started(&shell("echo ready; while read line; do sleep 0.05; echo done; done"), 1);
    let window = play(&mut services, &WakeSchedule(vec![(Duration::ZERO, 0); 4]), &mut || None);
    assert_eq!(window.broken, None);
    // Each waits for those before it, however fast the machine is.
    for (number, took) in window.took.iter().enumerate() {
        assert!(*took >= 50_000_000 * (number as u64 + 1), "{:?}", window.took);
    }
}

#[test]
fn a_service_that_ends_is_found() {
    let mut services = started(&shell("echo ready; read line; echo done; read line; exit 3"), 2);
    let due = [(0, 1), (1, 0), (2, 1), (3, 1)].map(|(at, whose)| (Duration::from_millis(at), whose));
    let window = play(&mut services, &WakeSchedule(due.to_vec()), &mut || None);
    assert_eq!(window.broken, Some(Broken::Gone(1)));
    assert_eq!(services[1].fate(), "ended with exit status: 3");
}

#[test]
fn who_falls_behind_is_broken_off_and_counted() {
    let mut services = started(&shell("echo ready; read line; sleep 600"), 1);
    let mut looks = 0;
    let due = [0, 1, 2, 3_600_000].map(|at| (Duration::from_millis(at), 0));
    let window = play(&mut services, &WakeSchedule(due.to_vec()), &mut || {
        looks += 1;
        (looks == 2).then_some(Broken::Off(DensityEnd::Stalled))
    });
    // Two wait behind the one that is not answered; the last was not due yet.
    assert_eq!((window.took.len(), window.broken), (3, Some(Broken::Off(DensityEnd::Stalled))));
}

#[test]
fn what_a_service_answered_before_it_went_is_counted() {
    let mut services = started(&shell("echo ready; read line; exec <&-; echo done; exec sleep 600"), 1);
    let begun = Instant::now();
    (0..2).for_each(|_| services[0].wake(begun));
    let until = begun + Duration::from_secs(60);
    while Instant::now() < until && readable(&services, Duration::from_secs(1)).unwrap().is_empty() {}
    // It reads no more, so the second wake cannot be asked for.
    assert_eq!(services[0].answers().map(|took| took.len()), Some(1));
    assert_eq!(services[0].unanswered().count(), 1);
}

#[test]
fn schedules_are_the_same_for_a_seed_and_cover_all_services() {
    let schedule = WakeSchedule::draw(10, 2000, (5.0, 0.0), 1);
    assert_eq!(schedule, WakeSchedule::draw(10, 2000, (5.0, 0.0), 1));
    assert_ne!(schedule, WakeSchedule::draw(10, 2000, (5.0, 0.0), 2));
    assert!(schedule.0.is_sorted_by_key(|(at, _)| *at));
    let seconds = schedule.0.last().unwrap().0.as_secs_f64();
    // 2000 exponential gaps of 0.2 s: 400 s with a deviation of 8.9 s.
    assert!((seconds - 400.0).abs() < 45.0, "{seconds}");
    assert!((0..10).all(|service| schedule.0.iter().filter(|(_, whose)| *whose == service).count() > 100));
}

#[test]
fn a_skew_wakes_the_first_most() {
    let schedule = WakeSchedule::draw(4, 2000, (5.0, 1.0), 1);
    let counts: Vec<usize> = (0..4).map(|service| schedule.0.iter().filter(|(_, whose)| *whose == service).count()).collect();
    // 1, 1/2, 1/3 and 1/4 of 2000 wakes: 960, 480, 320 and 240, with deviations of 22 and less.
    assert!(counts.iter().zip([960_usize, 480, 320, 240]).all(|(found, mean)| found.abs_diff(mean) < 100), "{counts:?}");
    assert_eq!(counts.iter().sum::<usize>(), 2000);
}

#[test]
fn what_is_no_service_is_found_before_anything_is_changed() {
    assert!(try_service(&shell(ECHO)).is_ok());
    let told = |script: &str| try_service(&shell(script)).unwrap_err().to_string();
    assert!(
        told("exit 4").ends_with("it was to say that it is ready with a line on standard output, and ended with exit status: 4")
    );
    assert!(
        told("echo ready").ends_with("it was to answer a wake with a line on standard output, and ended with exit status: 0")
    );
    let none = HelperProgram { path: "/bin/sh".into(), arguments: Vec::new() };
    let nothing = Launch::own(&["/nonexistent".into()], (none.clone(), none), Bytes(1), 30);
    assert_eq!(nothing.unwrap_err().to_string(), "/nonexistent: no such program");
}

#[test]
fn services_of_the_table_have_the_heap_that_was_asked_for() {
    let tether = shell(ECHO).tether;
    for kind in KINDS {
        // What is not installed is told of by name, as a run would.
        let launch = match Launch::kind(kind, (tether.clone(), tether.clone()), Bytes::from_mib(24), 30) {
            Ok(launch) => launch,
            Err(error) => {
                eprintln!("SKIPPED {}: {error}", kind.name);
                continue;
            }
        };
        let mut service = started(&launch, 1).remove(0);
        let status = std::fs::read_to_string(format!("/proc/{}/status", service.id())).unwrap();
        let kib =
            |key: &str| status.lines().find_map(|line| line.strip_prefix(key)?.split_whitespace().next()?.parse::<u64>().ok());
        let anonymous = Bytes(kib("RssAnon:").unwrap() * 1024);
        // An interpreter has some MiB of its own; Node.js keeps young objects twice.
        assert!(anonymous >= Bytes::from_mib(24) && anonymous < Bytes::from_mib(110), "{}: {anonymous}", kind.name);
        service.wake(Instant::now());
        assert_eq!(service.wait(Instant::now() + Duration::from_secs(60), &|| false), Wait::Answered, "{}", kind.name);
    }
}

/// Some programs write a line and its end apart: what was answered before a window must not count in it.
#[test]
fn an_answer_in_pieces_is_one_answer() {
    let script = "printf rea; sleep 0.1; echo dy; while read line; do printf do; sleep 0.1; echo ne; done";
    let mut services = started(&shell(script), 1);
    services[0].wake(Instant::now());
    assert_eq!(services[0].wait(Instant::now() + Duration::from_secs(60), &|| false), Wait::Answered);
    let window = play(&mut services, &WakeSchedule(vec![(Duration::ZERO, 0)]), &mut || None);
    assert_eq!((window.took.len(), window.broken), (1, None));
    assert!(window.took[0] >= 100_000_000, "{:?}", window.took);
}

/// Up to four services, each with 20 wakes in a fifth of a second.
fn options() -> DensityOptions {
    DensityOptions {
        memory: Bytes::from_mib(64),
        limit: SpaceWish::Best,
        bound: Nanos(1_000_000_000),
        wakes_per_second: 100.0,
        skew: 0.0,
        wakes: 20,
        step_percent: 100,
        most: 4,
        at: Vec::new(),
        rounds: 1,
        stall_percent: 100.0,
        folder: "/nonexistent".into(),
        seed: 1,
    }
}

/// A round on the machine as it is; `None` when it was stopped.
fn round(launch: &Launch, options: &DensityOptions, stop: &Stop) -> Option<DensityRound> {
    let machine = Machine::live();
    let space = SmallSpace::as_it_is(options.memory, ("density", &launch.holder));
    DensityBench { machine: &machine, options, launch, space, stop }.round(1, 1, &mut |_| ()).unwrap()
}

#[test]
fn a_service_that_cannot_be_started_ends_the_level_and_not_the_benchmark() {
    let nothing = HelperProgram { path: "/nonexistent".into(), arguments: Vec::new() };
    let launch = Launch { tether: nothing, ..shell(ECHO) };
    let round = round(&launch, &options(), &Stop::default()).unwrap();
    assert_eq!((round.fits, round.levels.len(), round.levels[0].end), (0, 1, DensityEnd::NotStarted));
}

/// A round in a process of its own, which a terminal's Ctrl-C reaches with all of its group.
#[test]
fn an_interrupted_round_is_no_measurement() {
    const MARK: &str = "SWAPTUNE_TEST_INTERRUPTED";
    if std::env::var_os(MARK).is_some() {
        let stop = Stop::on_signals().unwrap();
        let launch = shell("echo ready; while read line; do sleep 0.01; echo done; done");
        let round = round(&launch, &DensityOptions { wakes: 100_000, most: 1, ..options() }, &stop);
        return println!("\nround: {:?}", round.map(|round| round.fits));
    }
    let mut test = Command::new(std::env::current_exe().unwrap());
    test.args(["--exact", "density::tests::an_interrupted_round_is_no_measurement", "--nocapture"]).env(MARK, "1");
    let child = test.process_group(0).stdout(Stdio::piped()).spawn().unwrap();
    let services = || children(child.id(), |words| words.contains("while read"));
    assert!(wait_for("a service", || !services().is_empty()).is_ok());
    let service = Pid::from_raw(services()[0].parse().unwrap());
    assert_eq!(getpgid(service).ok(), service, "it is beyond the terminal's reach");
    // A moment of wakes; the 1000 s of all of them are not waited for.
    std::thread::sleep(Duration::from_millis(500));
    kill_process_group(Pid::from_child(&child), Signal::INT).unwrap();
    let output = child.wait_with_output().unwrap();
    let said = String::from_utf8_lossy(&output.stdout);
    assert!(output.status.success() && said.contains("round: None"), "{said}");
}

/// A configuration with rounds of these numbers.
fn row<'a>(variant: &'a Variant, fits: &[u32], refused: Option<&str>) -> VariantDensity<'a> {
    let rounds = fits.iter().map(|fits| DensityRound { fits: *fits, levels: Vec::new() }).collect();
    VariantDensity { variant, preparation: Preparation::default(), rounds, refused: refused.map(str::to_owned) }
}

#[test]
fn rounds_before_an_error_or_a_refusal_stand() {
    let [none, zram] = ["none", "zram"].map(|name| Variant { name: name.into(), algorithm: None, settings: None });
    let (launch, options) = (shell(ECHO), options());
    let lost = || Some(DensityError::Lock(std::io::ErrorKind::OutOfMemory.into()));
    let finished = |rows, failed| finish(rows, failed, (DensityLimit::Group, &launch, &options), VariantOutcome::default());
    let (outcome, failed) = finished(vec![row(&none, &[3, 4, 3], None), row(&zram, &[6, 5], Some("no room"))], lost()).unwrap();
    assert!(matches!(failed, Some(DensityError::Lock(_))));
    assert_eq!(outcome.figures.iter().map(|row| row.rounds.len()).collect::<Vec<_>>(), [3, 2]);
    assert_eq!(outcome.skipped.iter().map(|row| row.why.as_str()).collect::<Vec<_>>(), ["after 2 of its rounds: no room"]);
    let refused = finished(vec![row(&none, &[3], None), row(&zram, &[], Some("no zram"))], None).unwrap().0;
    assert_eq!((refused.figures.len(), refused.skipped[0].why.as_str()), (1, "no zram"));
    assert!(finished(vec![row(&none, &[], None)], lost()).is_err(), "nothing was measured");
}
