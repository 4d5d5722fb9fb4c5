//! Whatever operation fails, everything is as before, or a later rollback finishes.

use std::cell::Cell;
use std::fs;

use swaptune_host::journal::{TransactionStatus, history, pending};
use swaptune_host::transaction::{ApplyError, ApplyOptions, Resumed, StepError, execute, resume};

use crate::fixture::*;
use crate::{FailAt, apply, undo, write_at};

#[test]
fn whatever_fails_everything_is_as_before() {
    let mut failures = 0;
    for at in 0.. {
        let fixture = Fixture::new();
        let before = fixture.picture();
        let faults = FailAt { at, lasting: false, count: Cell::new(0) };
        let options = ApplyOptions { faults: &faults, ..ApplyOptions::default() };
        match execute(&fixture.machine(), &fixture.kernel(), &fixture.state(), &rich_plan(), &options) {
            Ok(_) => break,
            Err(error) => {
                failures += 1;
                assert_same(&fixture.picture(), &before, &format!("operation {at} failed: {error}"));
                assert!(pending(&fixture.state()).unwrap().is_none(), "operation {at}");
                assert!(matches!(error.exit_code(), 3 | 4), "{error}");
            }
        }
    }
    assert!(failures > 80, "only {failures} operations");
}

#[test]
fn when_undoing_fails_too_a_later_rollback_finishes() {
    // The first ones take room, and nothing has been changed yet.
    for at in (10..80).step_by(7) {
        let fixture = Fixture::new();
        let before = fixture.picture();
        let faults = FailAt { at, lasting: true, count: Cell::new(0) };
        let options = ApplyOptions { faults: &faults, ..ApplyOptions::default() };
        let (machine, kernel, state) = (fixture.machine(), fixture.kernel(), fixture.state());
        let error = execute(&machine, &kernel, &state, &rich_plan(), &options).unwrap_err();
        assert_eq!(error.exit_code(), 5, "{error}");
        let transaction = pending(&state).unwrap().unwrap();
        let error = apply(&fixture, &rich_plan()).unwrap_err();
        assert!(matches!(error, ApplyError::Pending { .. }), "{error}");
        if at % 2 == 0 {
            undo(&fixture, &transaction.id, false).unwrap();
        } else {
            // A transaction whose failure could not even be written down goes on as if it had been killed.
            match resume(&machine, &kernel, &state, &transaction.id, &ApplyOptions::default()).unwrap() {
                Resumed::RolledBack(_) => {}
                Resumed::Applied(_) => {
                    undo(&fixture, &transaction.id, false).unwrap();
                }
            }
        }
        assert_same(&fixture.picture(), &before, &format!("operations from {at} on failed"));
        assert!(pending(&state).unwrap().is_none());
    }
}

#[test]
fn a_failed_step_says_what_and_why() {
    let fixture = Fixture::new();
    let changes = vec![
        knob("vm.swappiness", "/proc/sys/vm/swappiness", "60", "100"),
        knob("transparent_hugepage.enabled", "/sys/kernel/mm/transparent_hugepage/enabled", "always", "often"),
    ];
    let error = apply(&fixture, &plan(changes)).unwrap_err();
    let ApplyError::StepFailed { step, cause, .. } = &error else { panic!("{error:?}") };
    assert_eq!(step, "transparent_hugepage.enabled: always → often");
    assert!(matches!(&**cause, StepError::Io { path, .. } if path.ends_with("transparent_hugepage/enabled")));
    assert_eq!(fixture.text("proc/sys/vm/swappiness"), "60\n");
    assert_eq!(history(&fixture.state()).unwrap()[0].status, Some(TransactionStatus::Reverted));
}

/// Not all that is put on a device has an identity.
#[test]
fn contents_that_came_after_an_interruption_are_never_overwritten() {
    const EXFAT: &[u8] = b"EXFAT   ";
    for at in 0..24 {
        let fixture = Fixture::new();
        let state = fixture.state();
        let faults = FailAt { at, lasting: true, count: Cell::new(0) };
        let broken = ApplyOptions { faults: &faults, ..ApplyOptions::default() };
        let plan = plan(vec![gpt("/dev/vdd", UUIDS[2])]);
        if execute(&fixture.machine(), &fixture.kernel(), &state, &plan, &broken).is_ok() {
            assert!(at > 4, "it passed {at} operations");
            return;
        }
        let Some(left) = pending(&state).unwrap() else { continue };
        // Given up, and used for something else.
        write_at(&fixture, "/dev/vdd", 0, &[0; 64 << 10]);
        write_at(&fixture, "/dev/vdd", 3, EXFAT);
        let _ = undo(&fixture, &left.id, false);
        let bytes = fs::read(fixture.path("/dev/vdd")).unwrap();
        assert_eq!(&bytes[3..11], EXFAT, "after {at} operations");
    }
    panic!("it never came to its end");
}

#[test]
fn nothing_is_wiped_by_a_kernels_name_after_a_reboot() {
    let mut refused = 0;
    for at in 0.. {
        let fixture = Fixture::new();
        let state = fixture.state();
        let faults = FailAt { at, lasting: true, count: Cell::new(0) };
        let broken = ApplyOptions { faults: &faults, ..ApplyOptions::default() };
        let swappiness = knob("vm.swappiness", "/proc/sys/vm/swappiness", "60", "100");
        let plan = plan(vec![swappiness, header("/dev/vdd", None, UUIDS[2], true)]);
        let (machine, kernel) = (fixture.machine(), fixture.kernel());
        if execute(&machine, &kernel, &state, &plan, &broken).is_ok() {
            break;
        }
        let Some(left) = pending(&state).unwrap().filter(|left| left.status == TransactionStatus::Unfinished) else { continue };
        let is_begun = left.steps[1].saved.is_some();
        fs::write(fixture.path("proc/sys/kernel/random/boot_id"), "b0070000-0000-0000-0000-00000000000f\n").unwrap();
        let before = fs::read(fixture.path("/dev/vdd")).unwrap();
        let resumed = resume(&machine, &kernel, &state, &left.id, &ApplyOptions::default());
        if !is_begun {
            assert!(resumed.unwrap_err().to_string().contains("another disk may have this name"));
            assert_eq!(fs::read(fixture.path("/dev/vdd")).unwrap(), before, "after {at} operations");
            refused += 1;
        }
    }
    assert!(refused > 0);
}
