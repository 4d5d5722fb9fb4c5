//! Rollbacks: what another program changed, what cannot be taken back, what is set aside.

use std::fs;
use std::io;
use std::path::Path;

use swaptune_host::checkpoint::{Faults, NoFaults};
use swaptune_host::journal::{TransactionStatus, history, pending, set_aside};
use swaptune_host::transaction::{ApplyError, ApplyOptions, UndoOutcome, rollback};

use crate::fixture::*;
use crate::{apply, undo};

#[test]
fn a_rollback_leaves_alone_what_another_program_changed() {
    let fixture = Fixture::new();
    let before = fixture.picture();
    let id = apply(&fixture, &rich_plan()).unwrap().id.unwrap();
    fs::write(fixture.path("etc/fstab"), "edited by the admin\n").unwrap();
    fs::write(fixture.path("proc/sys/vm/swappiness"), "33\n").unwrap();
    let report = undo(&fixture, &id, false).unwrap();
    let left: Vec<_> = report.left().into_iter().map(|left| left.step).collect();
    assert_eq!(left, ["edit /etc/fstab", "vm.swappiness: 60 → 100"]);
    assert_eq!(fixture.text("etc/fstab"), "edited by the admin\n");
    assert_eq!(history(&fixture.state()).unwrap()[0].left, 2);
    undo(&fixture, &id, true).unwrap();
    assert_same(&fixture.picture(), &before, "after a forced rollback");
}

#[test]
fn a_file_that_is_left_alone_is_told_with_what_is_ours_in_it() {
    let fixture = Fixture::new();
    let old = fixture.text("etc/fstab");
    let ours = format!("{old}UUID=1 none swap sw,nofail 0 0\n");
    let changes = vec![file("/etc/fstab", Some(&old), Some(&ours)), file("/etc/new.conf", None, Some("a\n\nb\n"))];
    let id = apply(&fixture, &plan(changes)).unwrap().id.unwrap();
    fs::write(fixture.path("etc/fstab"), format!("{ours}# the admin's\n")).unwrap();
    fs::write(fixture.path("etc/new.conf"), "b\nc\n").unwrap();
    let report = undo(&fixture, &id, false).unwrap();
    let [UndoOutcome::Left { by_hand: created, .. }, UndoOutcome::Left { found, expected, by_hand }] =
        &report.steps.iter().map(|step| step.outcome.clone()).collect::<Vec<_>>()[..]
    else {
        panic!("{report:?}")
    };
    assert!(
        found.starts_with("a file of") && expected.starts_with(&format!("a file of {} bytes", ours.len())),
        "{found}, {expected}"
    );
    assert_eq!(created, "before there was no /etc/new.conf, and what swaptune wrote is still in it: `b`");
    let (lines, saved) = by_hand.split_once("; as it was before it is in ").unwrap();
    assert_eq!(lines, "delete this line: `UUID=1 none swap sw,nofail 0 0`");
    assert_eq!(fs::read_to_string(saved).unwrap(), old);
}

/// `device retire` takes lines out that several applies have put in.
#[test]
fn a_file_that_is_as_an_older_apply_left_it_is_as_before() {
    let fixture = Fixture::new();
    let before = fixture.picture();
    let first = fixture.text("etc/fstab");
    let texts: Vec<String> = (0..4).map(|lines| first.clone() + &"# a line\n".repeat(lines)).collect();
    let edit =
        |pair: &[String]| apply(&fixture, &plan(vec![file("/etc/fstab", Some(&pair[0]), Some(&pair[1]))])).unwrap().id.unwrap();
    let ids: Vec<String> = texts.windows(2).map(edit).collect();
    fs::write(fixture.path("etc/fstab"), &texts[1]).unwrap();
    for id in ids.iter().rev() {
        let report = undo(&fixture, id, false).unwrap();
        assert!(report.left().is_empty(), "{id}: {report:?}");
    }
    assert_same(&fixture.picture(), &before, "after all rollbacks");
}

#[test]
fn after_a_reboot_volatile_changes_are_gone_and_that_is_fine() {
    let fixture = Fixture::new();
    let before = fixture.picture();
    let id = apply(&fixture, &rich_plan()).unwrap().id.unwrap();
    fixture.reboot();
    let report = undo(&fixture, &id, false).unwrap();
    assert!(report.left().is_empty(), "{:?}", report.left());
    assert_same(&fixture.picture(), &before, "after rollback");
}

/// Fails every operation of this name.
struct FailAll(&'static str);

impl Faults for FailAll {
    fn before(&self, operation: &str, _: &Path) -> io::Result<()> {
        if operation == self.0 { Err(io::Error::from_raw_os_error(libc::EINVAL)) } else { Ok(()) }
    }
}

#[test]
fn a_rollback_ends_without_what_cannot_be_taken_back() {
    let fixture = Fixture::new();
    let before = fixture.picture();
    let changes = vec![
        knob("vm.swappiness", "/proc/sys/vm/swappiness", "60", "100"),
        on("/dev/vdc", Some(-2), None),
        file("/etc/sysctl.d/99-swaptune.conf", None, Some("vm.swappiness = 100\n")),
    ];
    let id = apply(&fixture, &plan(changes)).unwrap().id.unwrap();
    let broken = FailAll("switch on swap on");
    let back = |skip: &[usize], faults: &dyn Faults| {
        let options = ApplyOptions { faults, skip, ..ApplyOptions::default() };
        rollback(&fixture.machine(), &fixture.kernel(), &fixture.state(), &id, &options)
    };
    for _ in 0..2 {
        let error = back(&[], &broken).unwrap_err();
        assert_eq!(error.exit_code(), 5, "{error}");
        assert!(error.hint().ends_with(&format!("`swaptune rollback {id} --skip 2`")), "{}", error.hint());
    }
    // The others are back already, and the history says which is not.
    assert!(fixture.text("proc/sys/vm/swappiness") == "60\n" && !fixture.path("etc/sysctl.d/99-swaptune.conf").exists());
    let row = history(&fixture.state()).unwrap().pop().unwrap();
    assert_eq!((row.status, row.standing[0].number, row.standing[0].set_aside), (Some(TransactionStatus::Undoing), 2, false));
    assert!(matches!(apply(&fixture, &rich_plan()), Err(ApplyError::Pending { .. })));

    let error = back(&[9], &broken).unwrap_err();
    assert_eq!((error.exit_code(), error.to_string()), (2, format!("transaction {id} has no step 9 that is to be taken back")));
    let report = back(&[2], &broken).unwrap();
    assert!(
        report.left()[0].why.contains("set aside: cannot switch on swap on /dev/vdc: Invalid argument"),
        "{:?}",
        report.left()
    );
    let row = history(&fixture.state()).unwrap().pop().unwrap();
    assert_eq!((row.status, row.left, row.standing[0].set_aside), (Some(TransactionStatus::RolledBack), 1, true));
    assert_eq!(set_aside(&fixture.state()).unwrap()[0].1.step, "/dev/vdc: on, priority -2 → off");
    // The next apply is not in its way, and the step can be tried again when its cause is gone.
    let other = apply(&fixture, &plan(vec![knob("vm.swappiness", "/proc/sys/vm/swappiness", "60", "70")])).unwrap();
    undo(&fixture, &other.id.unwrap(), false).unwrap();
    assert!(back(&[], &NoFaults).unwrap().left().is_empty());
    assert_same(&fixture.picture(), &before, "after the second rollback");
    assert!(set_aside(&fixture.state()).unwrap().is_empty());
}

#[test]
fn what_rests_on_a_step_that_is_set_aside_stays_too() {
    let fixture = Fixture::new();
    let changes = vec![
        swap_file("/f", 1),
        header("/f", None, UUIDS[0], false),
        on("/f", None, Some(1)),
        knob("vm.swappiness", "/proc/sys/vm/swappiness", "60", "100"),
    ];
    let id = apply(&fixture, &plan(changes)).unwrap().id.unwrap();
    let full = fixture.text("proc/swaps").replace("\t1020\t\t0\t", "\t9000000\t\t8000000\t");
    fs::write(fixture.path("proc/swaps"), full).unwrap();
    let error = undo(&fixture, &id, false).unwrap_err();
    assert!(error.hint().ends_with(&format!("to take back the rest: `swaptune rollback {id} --skip 3`")), "{}", error.hint());
    let options = ApplyOptions { skip: &[3], ..ApplyOptions::default() };
    let report = rollback(&fixture.machine(), &fixture.kernel(), &fixture.state(), &id, &options).unwrap();
    assert_eq!(report.left().iter().map(|left| left.number).collect::<Vec<_>>(), [3, 2, 1]);
    assert_eq!(fixture.text("proc/sys/vm/swappiness"), "60\n");
    assert!(fixture.path("f").exists() && pending(&fixture.state()).unwrap().is_none());
}

#[test]
fn a_rollback_that_was_killed_keeps_to_what_was_set_aside() {
    let fixture = Fixture::new();
    let changes = vec![
        knob("vm.swappiness", "/proc/sys/vm/swappiness", "60", "100"),
        knob("vm.page-cluster", "/proc/sys/vm/page-cluster", "3", "0"),
    ];
    let id = apply(&fixture, &plan(changes)).unwrap().id.unwrap();
    let broken = FailAll("write");
    let options = ApplyOptions { faults: &broken, skip: &[2], ..ApplyOptions::default() };
    rollback(&fixture.machine(), &fixture.kernel(), &fixture.state(), &id, &options).unwrap_err();
    let report = undo(&fixture, &id, false).unwrap();
    assert_eq!(report.left().iter().map(|left| left.number).collect::<Vec<_>>(), [2]);
    assert_eq!((fixture.text("proc/sys/vm/swappiness"), fixture.text("proc/sys/vm/page-cluster")), ("60\n".into(), "0\n".into()));
}
