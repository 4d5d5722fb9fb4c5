//! Services that are real processes: shells that answer.

use std::time::{Duration, Instant};

use swaptune_core::measurement::DensityEnd;

use super::load::{Broken, play};
use super::*;
use crate::process::Program;

/// A service of a shell script. Tests tether nothing: `env` takes the place, with the parent's id as a variable.
fn shell(script: &str) -> Launch {
    let tether = Program { path: "/bin/sh".into(), arguments: vec!["-c".into(), "shift; exec \"$@\"".into(), "sh".into()] };
    let command = ["/bin/sh", "-c", script].map(Into::into);
    Launch::own(&command, (tether.clone(), tether), Bytes::from_mib(1), 30).unwrap()
}

const ECHO: &str = "echo ready; while read line; do echo done; done";

fn started(launch: &Launch, count: usize) -> Vec<Service> {
    let service = |number: usize| {
        let mut service = Service::start(launch, number as u64, None).unwrap();
        assert_eq!(service.wait(Instant::now() + Duration::from_secs(60), &|| false), Wait::Said);
        assert_eq!(service.answers(), Some(Vec::new()), "that it is ready answers no wake");
        service
    };
    (0..count).map(service).collect()
}

#[test]
fn every_wake_of_a_schedule_is_answered_once() {
    let mut services = started(&shell(ECHO), 3);
    let schedule = Schedule::draw(3, 50, 500.0, 7);
    let window = play(&mut services, &schedule, &mut || None);
    assert_eq!((window.took.len(), window.broken), (50, None));
    assert!(services.iter().all(|service| service.open() == 0));
}

#[test]
fn a_wake_that_waits_for_another_counts_from_when_it_was_due() {
    let mut services = started(&shell("echo ready; while read line; do sleep 0.05; echo done; done"), 1);
    let window = play(&mut services, &Schedule(vec![(Duration::ZERO, 0); 4]), &mut || None);
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
    let window = play(&mut services, &Schedule(due.to_vec()), &mut || None);
    assert_eq!(window.broken, Some(Broken::Gone(1)));
    assert_eq!(services[1].fate(), "ended with exit status: 3");
}

#[test]
fn who_falls_behind_is_broken_off_and_counted() {
    let mut services = started(&shell("echo ready; read line; sleep 600"), 1);
    let mut looks = 0;
    let window = play(&mut services, &Schedule(vec![(Duration::ZERO, 0)]), &mut || {
        looks += 1;
        (looks == 2).then_some(Broken::Off(DensityEnd::Stalled))
    });
    assert_eq!((window.took.len(), window.broken), (1, Some(Broken::Off(DensityEnd::Stalled))));
}

#[test]
fn schedules_are_the_same_for_a_seed_and_cover_all_services() {
    let schedule = Schedule::draw(10, 2000, 5.0, 1);
    assert_eq!(schedule, Schedule::draw(10, 2000, 5.0, 1));
    assert_ne!(schedule, Schedule::draw(10, 2000, 5.0, 2));
    assert!(schedule.0.is_sorted_by_key(|(at, _)| *at));
    let seconds = schedule.0.last().unwrap().0.as_secs_f64();
    // 2000 exponential gaps of 0.2 s: 400 s with a deviation of 8.9 s.
    assert!((seconds - 400.0).abs() < 45.0, "{seconds}");
    assert!((0..10).all(|service| schedule.0.iter().filter(|(_, whose)| *whose == service).count() > 100));
    let mut order = Schedule::order(50, 3);
    assert_ne!(order, (0..50).collect::<Vec<_>>());
    order.sort_unstable();
    assert_eq!(order, (0..50).collect::<Vec<_>>());
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
    let none = Program { path: "/bin/sh".into(), arguments: Vec::new() };
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
        assert_eq!(service.wait(Instant::now() + Duration::from_secs(60), &|| false), Wait::Said, "{}", kind.name);
        assert_eq!(service.answers().map(|took| took.len()), Some(1), "{}", kind.name);
    }
}

mod variants {
    use std::path::Path;

    use super::super::variant::{Preparation, prepare};
    use super::*;

    const MICROVM: &str = include_str!("../../../../tests/fixtures/hosts/microvm-6.18/expected/facts.json");

    fn machine() -> Facts {
        serde_json::from_str(MICROVM).unwrap()
    }

    fn built_in(name: &str, memory: Bytes) -> Preparation {
        let (facts, evidence) = (machine(), Evidence::default());
        let posed = pose(&facts, memory);
        let built_in = BUILT_IN.iter().find(|built_in| built_in.name == name).unwrap();
        let settings = built_in.settings(&posed, &evidence, Path::new("/var/tmp/area.swap")).unwrap();
        let variant = Variant { name: name.into(), settings };
        prepare(&variant, &posed, facts.memory.total(), &evidence, Path::new("/var/tmp")).unwrap()
    }

    fn words(preparation: &Preparation) -> Vec<String> {
        preparation.changes.iter().map(ToString::to_string).collect()
    }

    fn pool_of(preparation: &Preparation) -> Option<&str> {
        preparation.changes.iter().find_map(|change| match change {
            Change::Knob { name, after, .. } if name == "zswap.max_pool_percent" => Some(after.as_str()),
            _ => None,
        })
    }

    #[test]
    fn every_variant_can_be_planned_and_none_writes_a_file_of_the_configuration() {
        let gib = Bytes::from_gib(1);
        for built_in_one in BUILT_IN {
            let preparation = built_in(built_in_one.name, gib);
            let files = preparation.changes.iter().filter(|change| matches!(change, Change::File { .. } | Change::Link { .. }));
            assert_eq!(files.count(), 0, "{}", built_in_one.name);
        }
    }

    #[test]
    fn no_swap_changes_nothing_on_a_machine_that_has_none() {
        assert_eq!(built_in("none", Bytes::from_gib(1)), Preparation::default());
    }

    #[test]
    fn swap_files_are_made_in_the_folder_of_the_benchmark() {
        for name in ["disk", "zswap", "guide", "auto"] {
            let preparation = built_in(name, Bytes::from_gib(1));
            let paths: Vec<&String> = preparation
                .changes
                .iter()
                .filter_map(|change| match change {
                    Change::SwapFile { path, .. } | Change::SwapHeader { path, .. } | Change::Swap { path, .. } => Some(path),
                    _ => None,
                })
                .collect();
            assert_eq!(paths, ["/var/tmp/swaptune-density-0.swap"; 3], "{name}: {:?}", words(&preparation));
        }
    }

    #[test]
    fn the_pool_is_a_share_of_the_memory_that_services_have() {
        let total = machine().memory.total();
        let quarter = built_in("zswap", Bytes(total.0 / 4));
        assert_eq!((pool_of(&quarter), quarter.pool_percent.map(f64::round)), (Some("5"), Some(20.0)), "20 % of a quarter");
        let whole = built_in("zswap", total);
        assert_eq!((pool_of(&whole), whole.pool_percent), (None, Some(20.0)), "that is so already");
        assert_eq!(built_in("disk", total).pool_percent, None);
    }

    #[test]
    fn a_swap_file_has_whole_pages_and_leaves_half_of_the_disk() {
        let size = |memory: Bytes| {
            built_in("disk", memory).changes.iter().find_map(|change| match change {
                Change::SwapFile { after: Some(file), .. } => Some(file.size),
                _ => None,
            })
        };
        assert_eq!(size(Bytes((1 << 30) + 4095)), Some(Bytes::from_gib(4)));
        let free = machine().mounts.iter().find(|mount| mount.at == "/").and_then(|mount| mount.free.value().copied()).unwrap();
        let large = size(Bytes::from_gib(1024)).unwrap();
        assert!(large.0 <= free.0 / 2 && large.0 % (1 << 16) == 0, "{large} of {free}");
    }

    #[test]
    fn zram_is_as_large_as_its_distribution_makes_it() {
        let disksize = |name: &str| {
            built_in(name, Bytes::from_gib(1)).changes.iter().find_map(|change| match change {
                Change::Zram { after: Some(state), .. } => Some(state.disksize),
                _ => None,
            })
        };
        assert_eq!(disksize("zram"), Some(Bytes::from_mib(512)));
        assert_eq!(disksize("zram-pop"), Some(Bytes::from_gib(1)));
    }
}
