//! The boot service switches on, off, and takes back what it left half done.

use std::cell::Cell;
use std::time::{Duration, Instant};

use swaptune_core::change::{Change, SwapState, ZramState};
use swaptune_host::journal::{StateDir, TransactionKind, pending};
use swaptune_host::kernel::Kernel;
use swaptune_host::lock::Lock;
use swaptune_host::transaction::{ApplyOptions, deactivate, execute, rollback};

use crate::fixture::*;
use crate::{FailAt, apply, undo};

#[test]
fn the_service_switches_off_and_on_again() {
    let fixture = Fixture::new();
    let (machine, kernel) = (fixture.machine(), fixture.kernel());
    let volatile = StateDir::volatile(&machine);
    let before = fixture.picture();
    let id = apply(&fixture, &rich_plan()).unwrap().id.unwrap();
    let on = fixture.picture();
    let stop = || deactivate(&machine, &kernel, &[&fixture.state(), &volatile], &volatile, &ApplyOptions::default());
    let report = stop().unwrap();
    assert!(report.changed() >= 8, "{report:?}");
    let off = fixture.picture();
    for (path, state) in &off {
        let is_file = ["etc", "boot", "swap"].iter().any(|folder| path.starts_with(folder));
        let expected = if is_file { &on } else { &before };
        // The driver and its device stay, only nothing is in it any more; so do partitions and mappings, which are crypttab's.
        let is_device = ["dev", "sys/class/block"].iter().any(|folder| path.starts_with(folder));
        if !is_device && !path.contains("zram") && path != "proc/swaps" {
            assert_eq!(Some(state), expected.get(path), "{path}");
        }
    }
    // Areas on disks are fstab's.
    let areas = |picture: &Picture| picture["proc/swaps"].1.lines().map(str::to_owned).collect::<Vec<_>>();
    let without_zram: Vec<String> = areas(&on).into_iter().filter(|line| !line.contains("zram")).collect();
    assert_eq!(areas(&off), without_zram);
    assert_eq!(stop().unwrap().changed(), 0, "the second stop has nothing to do");

    let mut start = rich_plan();
    start.steps.retain(|step| step.change.is_of_service());
    let options = ApplyOptions { kind: TransactionKind::Service, ..ApplyOptions::default() };
    execute(&machine, &kernel, &volatile, &start, &options).unwrap();
    assert_same(&fixture.picture(), &on, "after start");
    assert!(stop().unwrap().changed() >= 8);
    undo(&fixture, &id, false).unwrap();
    assert_same(&fixture.picture(), &before, "after rollback");
}

#[test]
fn a_zram_device_that_another_boot_set_up_is_freed_all_the_same() {
    let fixture = Fixture::new();
    let before = fixture.picture();
    let id = apply(&fixture, &rich_plan()).unwrap().id.unwrap();
    fixture.reboot();
    // The service sets it up anew, with a header of its own.
    let service = ApplyOptions { kind: TransactionKind::Service, ..ApplyOptions::default() };
    let changes = vec![zram("zram0", 2), header("/dev/zram0", None, UUIDS[3], false), on("/dev/zram0", None, Some(100))];
    let volatile = StateDir::volatile(&fixture.machine());
    execute(&fixture.machine(), &fixture.kernel(), &volatile, &plan(changes), &service).unwrap();
    let report = undo(&fixture, &id, false).unwrap();
    assert!(report.left().is_empty(), "{:?}", report.left());
    assert_same(&fixture.picture(), &before, "after rollback");
}

#[test]
fn a_service_takes_back_what_it_left_half_done() {
    let fixture = Fixture::new();
    let before = fixture.picture();
    let volatile = StateDir::volatile(&fixture.machine());
    let faults = FailAt { at: 20, lasting: true, count: Cell::new(0) };
    let service = ApplyOptions { kind: TransactionKind::Service, ..ApplyOptions::default() };
    let (machine, kernel) = (fixture.machine(), fixture.kernel());
    let broken = ApplyOptions { faults: &faults, ..service };
    assert_eq!(execute(&machine, &kernel, &volatile, &rich_plan(), &broken).unwrap_err().exit_code(), 5);
    assert!(pending(&volatile).unwrap().is_some());
    let report = execute(&machine, &kernel, &volatile, &rich_plan(), &service).unwrap();
    assert!(pending(&volatile).unwrap().is_none());
    rollback(&machine, &kernel, &volatile, &report.id.unwrap(), &ApplyOptions::default()).unwrap();
    assert_same(&fixture.picture(), &before, "after rollback");
}

#[test]
fn a_step_that_fails_at_boot_is_left_out_and_the_rest_comes_up() {
    let fixture = Fixture::new();
    let before = fixture.picture();
    let volatile = StateDir::volatile(&fixture.machine());
    let service = ApplyOptions { kind: TransactionKind::Service, ..ApplyOptions::default() };
    let broken = ZramState { algorithm: "none-such".into(), ..zram_state(2) };
    let zram = Change::Zram { name: "zram0".into(), before: None, after: Some(broken) };
    let changes = vec![
        zram,
        header("/dev/zram0", None, UUIDS[3], false),
        on("/dev/zram0", None, Some(100)),
        knob("vm.swappiness", "/proc/sys/vm/swappiness", "60", "100"),
    ];
    let (machine, kernel, plan) = (fixture.machine(), fixture.kernel(), plan(changes));
    let report = execute(&machine, &kernel, &volatile, &plan, &service).unwrap();
    assert_eq!(fixture.text("/proc/sys/vm/swappiness").trim(), "100");
    assert!(
        report.warnings.iter().any(|warning| warning.contains("zram0") && warning.contains("left out")),
        "{:?}",
        report.warnings
    );
    rollback(&machine, &kernel, &volatile, &report.id.unwrap(), &ApplyOptions::default()).unwrap();
    assert_same(&fixture.picture(), &before, "after rollback");
    // What a person asks for is whole or not there.
    execute(&machine, &kernel, &fixture.state(), &plan, &ApplyOptions::default()).unwrap_err();
    assert_same(&fixture.picture(), &before, "after an apply that failed");
}

#[test]
fn the_driver_of_zram_stays_while_a_device_of_another_is_set_up() {
    let fixture = Fixture::new();
    let id = apply(&fixture, &rich_plan()).unwrap().id.unwrap();
    let theirs = fixture.kernel().zram_add().unwrap();
    std::fs::write(fixture.path(&format!("/sys/block/{theirs}/disksize")), "1048576\n").unwrap();
    undo(&fixture, &id, false).unwrap();
    assert_eq!(fixture.text(&format!("/sys/block/{theirs}/disksize")).trim(), "1048576");
}

#[test]
fn a_device_that_is_on_in_another_way_keeps_no_stop_from_the_rest() {
    let fixture = Fixture::new();
    let (machine, kernel) = (fixture.machine(), fixture.kernel());
    let volatile = StateDir::volatile(&machine);
    apply(&fixture, &rich_plan()).unwrap();
    // The administrator gives it another priority.
    kernel.swap_off(&fixture.path("/dev/zram0")).unwrap();
    kernel.swap_on(&fixture.path("/dev/zram0"), SwapState::at(7)).unwrap();
    let report = deactivate(&machine, &kernel, &[&fixture.state(), &volatile], &volatile, &ApplyOptions::default()).unwrap();
    assert!(report.changed() >= 5, "{report:?}");
    assert!(fixture.text("/proc/swaps").contains("/dev/zram0"));
    assert_ne!(fixture.text("/sys/block/zram0/disksize").trim(), "0", "what is swapped to it would be lost");
}

#[test]
fn the_service_waits_for_an_apply_and_needs_no_lock_that_cannot_be() {
    let fixture = Fixture::new();
    let start = |value: &str, before: &str| {
        let plan = plan(vec![knob("vm.swappiness", "/proc/sys/vm/swappiness", before, value)]);
        let options = ApplyOptions { kind: TransactionKind::Service, ..ApplyOptions::default() };
        execute(&fixture.machine(), &fixture.kernel(), &StateDir::volatile(&fixture.machine()), &plan, &options)
    };
    // No folder of applies, as on a machine whose /var is not there yet.
    assert!(!fixture.state().path().exists());
    start("77", "60").unwrap();
    std::fs::create_dir_all(fixture.state().path()).unwrap();
    let lock = Lock::take(&fixture.state().lock_path()).unwrap();
    let begun = Instant::now();
    std::thread::scope(|scope| {
        scope.spawn(move || {
            std::thread::sleep(Duration::from_millis(600));
            drop(lock);
        });
        start("66", "77").unwrap();
    });
    assert!(begun.elapsed() >= Duration::from_millis(600), "{:?}", begun.elapsed());
    assert_eq!(fixture.text("proc/sys/vm/swappiness").trim(), "66");
}
