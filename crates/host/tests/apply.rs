//! Applying and taking back, on a machine in a folder.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on may panic")]

mod fixture;

use std::cell::Cell;
use std::fs;
use std::io;
use std::path::Path;

use fixture::*;
use swaptune_core::change::{Change, SwapHeaderState};
use swaptune_core::plan::Plan;
use swaptune_host::checkpoint::{Faults, NoFaults};
use swaptune_host::journal::{
    StateDir, StepOutcome, TransactionKind, TransactionStatus, history, newest_applied, pending, set_aside,
};
use swaptune_host::kernel::LiveKernel;
use swaptune_host::lock::Lock;
use swaptune_host::transaction::{
    ApplyError, ApplyOptions, ApplyReport, Resumed, RollbackReport, StepError, UndoOutcome, deactivate, execute, resume, rollback,
};

fn apply(fixture: &Fixture, plan: &Plan) -> Result<ApplyReport, ApplyError> {
    execute(&fixture.machine(), &fixture.kernel(), &fixture.state(), plan, &ApplyOptions::default())
}

fn undo(fixture: &Fixture, id: &str, force: bool) -> Result<RollbackReport, ApplyError> {
    let options = ApplyOptions { force, ..ApplyOptions::default() };
    rollback(&fixture.machine(), &fixture.kernel(), &fixture.state(), id, &options)
}

#[test]
fn a_rich_plan_is_applied_and_taken_back() {
    let fixture = Fixture::new();
    let before = fixture.picture();
    let report = apply(&fixture, &rich_plan()).unwrap();
    let id = report.id.clone().unwrap();

    assert_eq!(fixture.text("sys/module/zswap/parameters/enabled"), "Y\n");
    assert_eq!(fixture.text("sys/kernel/mm/transparent_hugepage/enabled"), "always [madvise] never\n");
    assert_eq!(fixture.text("proc/sys/vm/dirty_ratio"), "0\n");
    assert!(fixture.text("boot/grub/grub.cfg").contains("zswap.enabled=1"));
    assert!(fixture.path("etc/default/grub").is_symlink());
    let swaps = fixture.text("proc/swaps");
    for (path, priority) in [("/dev/vdb", 10), ("/dev/vdc", 5), ("/swap/file", 1), ("/dev/zram0", 100)] {
        let line = swaps.lines().find(|line| line.starts_with(path)).unwrap_or_else(|| panic!("{path} in {swaps}"));
        assert!(line.ends_with(&format!("\t{priority}")), "{line}");
    }
    let skipped: Vec<_> = report.steps.iter().filter(|s| matches!(s.outcome, StepOutcome::Skipped { .. })).collect();
    assert_eq!(skipped.len(), 1);
    assert_eq!(skipped[0].change.target(), "/dev/gone");

    let row = &history(&fixture.state()).unwrap()[0];
    assert_eq!(
        (row.id.as_str(), row.status, row.kind),
        (id.as_str(), Some(TransactionStatus::Applied), Some(TransactionKind::Apply))
    );
    assert_eq!(row.changes, rich_plan().steps.len() - 2);

    let report = undo(&fixture, &id, false).unwrap();
    assert!(report.left().is_empty());
    assert_same(&fixture.picture(), &before, "after rollback");
    assert_eq!(history(&fixture.state()).unwrap()[0].status, Some(TransactionStatus::RolledBack));
    assert!(newest_applied(&fixture.state(), TransactionKind::Apply).unwrap().is_none());
    assert_eq!(fs::read_dir(fixture.state().blobs()).unwrap().count(), 0);
    assert!(matches!(undo(&fixture, &id, false), Err(ApplyError::NotStanding { .. })));
}

#[test]
fn what_is_right_already_is_left_alone() {
    let fixture = Fixture::new();
    let changes = vec![knob("vm.swappiness", "/proc/sys/vm/swappiness", "100", "60"), zswap("enabled", "Y", "0", &[])];
    let before = fixture.picture();
    let report = apply(&fixture, &plan(changes)).unwrap();
    assert_eq!(report.changed(), 0);
    assert!(report.steps.iter().all(|step| step.outcome == StepOutcome::Unchanged));
    assert_same(&fixture.picture(), &before, "after apply");
    assert_eq!(apply(&fixture, &Plan::default()).unwrap(), ApplyReport::default());
}

/// What must be refused before anything is touched, and with which words.
#[track_caller]
fn refused(fixture: &Fixture, changes: Vec<Change>, words: &str) -> ApplyError {
    let before = fixture.picture();
    // A change before the bad one shows that nothing is done at all.
    let mut all = vec![knob("vm.swappiness", "/proc/sys/vm/swappiness", "60", "77")];
    all.extend(changes);
    let error = apply(fixture, &plan(all)).unwrap_err();
    assert_eq!(error.exit_code(), 3, "{error}");
    assert!(error.to_string().contains(words), "{error}");
    assert_same(&fixture.picture(), &before, words);
    assert!(pending(&fixture.state()).unwrap().is_none());
    error
}

#[test]
fn a_machine_that_is_not_as_planned_is_not_touched() {
    let fixture = Fixture::new();
    refused(&fixture, vec![file("/etc/fstab", Some("something else\n"), Some("ours\n"))], "/etc/fstab is a file of");
    refused(&fixture, vec![file("/etc/sysctl.d/10-admin.conf", None, Some("ours\n"))], "expected no file");
    refused(&fixture, vec![knob("vm.page-cluster", "/proc/sys/vm/page-cluster", "1", "0")], "vm.page-cluster is 3");
    refused(&fixture, vec![zswap("shrinker_enabled", "N", "Y", &[])], "not in this kernel");
    refused(&fixture, vec![on("/dev/vdc", Some(3), None)], "/dev/vdc is on, priority -2");
    refused(&fixture, vec![swap_file("/etc/fstab", 2)], "a file of");
}

#[test]
fn a_file_that_was_there_is_never_written_to() {
    let fixture = Fixture::new();
    fs::create_dir(fixture.path("swap")).unwrap();
    let size = 2 << 20;
    let mut signed = vec![0; size];
    signed[1080..1082].copy_from_slice(&[0x53, 0xef]);
    // Whatever its size and contents: as large as the one that is wanted, blank, with a file system, shorter.
    for bytes in [vec![7; size], vec![0; size], signed, vec![7; 4096]] {
        fs::write(fixture.path("swap/file"), &bytes).unwrap();
        let made =
            || vec![swap_file("/swap/file", 2), header("/swap/file", None, UUIDS[1], false), on("/swap/file", None, Some(1))];
        refused(&fixture, made(), "expected no file");
        refused(&fixture, vec![header("/swap/file", None, UUIDS[1], false)], "it was there before, and swaptune did not make it");
    }
}

#[test]
fn a_file_that_is_replaced_on_demand_makes_room_for_the_new_one() {
    let fixture = Fixture::new();
    fs::create_dir(fixture.path("swap")).unwrap();
    fs::write(fixture.path("swap/file"), vec![7; 2 << 20]).unwrap();
    let Change::SwapFile { after, .. } = swap_file("/swap/file", 2) else { panic!() };
    let gone = Change::SwapFile { path: "/swap/file".into(), before: after, after: None };
    let changes =
        vec![gone, swap_file("/swap/file", 2), header("/swap/file", None, UUIDS[1], false), on("/swap/file", None, Some(1))];
    let id = apply(&fixture, &plan(changes)).unwrap().id.unwrap();
    assert!(fixture.text("proc/swaps").contains("/swap/file"));
    let report = undo(&fixture, &id, false).unwrap();
    // It is not said that contents are back which were given up.
    assert!(
        report.steps.iter().any(|step| matches!(&step.outcome, UndoOutcome::Kept { why } if why.contains("given up"))),
        "{report:?}"
    );
    assert!(!fixture.path("swap/file").exists());
}

#[test]
fn a_file_that_took_the_place_of_ours_is_left_alone() {
    let fixture = Fixture::new();
    let swaps = fixture.text("proc/swaps");
    let changes = vec![swap_file("/swap/file", 2), header("/swap/file", None, UUIDS[1], false), on("/swap/file", None, Some(1))];
    let id = apply(&fixture, &plan(changes)).unwrap().id.unwrap();
    fs::write(fixture.path("proc/swaps"), swaps).unwrap();
    fs::write(fixture.path("swap/file"), vec![7; 2 << 20]).unwrap();
    let report = undo(&fixture, &id, false).unwrap();
    assert_eq!(report.left().len(), 2, "{:?}", report.left());
    assert!(fs::read(fixture.path("swap/file")).unwrap() == vec![7; 2 << 20]);
}

#[test]
fn a_zram_area_that_was_taken_off_comes_back_as_it_was() {
    let fixture = Fixture::new();
    let on_again = |id: &str| undo(&fixture, id, false);
    apply(
        &fixture,
        &plan(vec![zram("zram0", 2), header("/dev/zram0", None, UUIDS[2], false), on("/dev/zram0", None, Some(100))]),
    )
    .unwrap();
    let before = fixture.picture();
    let Change::Zram { after, .. } = zram("zram0", 2) else { panic!() };
    let reset = Change::Zram { name: "zram0".into(), before: after, after: None };
    let id = apply(&fixture, &plan(vec![on("/dev/zram0", Some(100), None), reset])).unwrap().id.unwrap();
    assert!(!fixture.text("proc/swaps").contains("zram0"));
    assert!(on_again(&id).unwrap().left().is_empty());
    assert_same(&fixture.picture(), &before, "after rollback");
}

#[test]
fn a_zram_device_that_is_set_up_already_is_not_taken() {
    let fixture = Fixture::new();
    apply(&fixture, &plan(vec![zram("zram0", 2)])).unwrap();
    // As it is wanted, but the plan did not expect it: what is in it may be needed.
    refused(&fixture, vec![zram("zram0", 2), header("/dev/zram0", None, UUIDS[2], false)], "zram0 is 2 MiB with lz4");
    write_at(&fixture, "dev/zram0", 1080, &[0x53, 0xef]);
    let Change::Zram { after, .. } = zram("zram0", 2) else { panic!() };
    let reset = plan(vec![Change::Zram { name: "zram0".into(), before: after, after: None }]);
    let error = apply(&fixture, &reset).unwrap_err();
    let words = std::error::Error::source(&error).map(ToString::to_string).unwrap_or_default();
    assert!(words.contains("a reset would destroy it"), "{error}: {words}");
}

#[test]
fn headers_are_never_written_over_what_is_needed() {
    let fixture = Fixture::new();
    let head = |path: &str, wipe| vec![header(path, None, UUIDS[0], wipe)];
    refused(&fixture, head("/dev/vdc", false), "is swap 0dd00000");
    refused(&fixture, head("/dev/vdc", true), "it is in use as swap");
    let mountinfo = fixture.text("proc/self/mountinfo");
    fs::write(fixture.path("proc/self/mountinfo"), format!("{mountinfo}28 1 254:16 / /data rw - ext4 /dev/vdb rw\n")).unwrap();
    refused(&fixture, head("/dev/vdb", true), "it is mounted at /data");
    fs::write(fixture.path("proc/self/mountinfo"), format!("{mountinfo}28 1 254:17 / /data rw - ext4 /dev/vdb1 rw\n")).unwrap();
    fs::create_dir_all(fixture.path("sys/class/block/vdb/vdb1")).unwrap();
    fs::write(fixture.path("sys/class/block/vdb/vdb1/partition"), "1\n").unwrap();
    refused(&fixture, head("/dev/vdb", true), "/dev/vdb1: it is mounted at /data");
    fs::write(fixture.path("proc/self/mountinfo"), mountinfo).unwrap();
    refused(&fixture, head("/dev/vdb", false), "it has partitions");
    fs::remove_dir_all(fixture.path("sys/class/block/vdb")).unwrap();
    fs::create_dir_all(fixture.path("sys/class/block/vdb/holders/dm-0")).unwrap();
    refused(&fixture, head("/dev/vdb", true), "dm-0 lies on it");
    fs::remove_dir_all(fixture.path("sys/class/block/vdb")).unwrap();
    let nameless = refused(&fixture, head("/dev/vdb", false), "it is not blank, and no signature says what it holds");
    assert!(nameless.hint().contains("--wipe"));
    write_at(&fixture, "dev/vdb", 1080, &[0x53, 0xef]);
    let error = refused(&fixture, head("/dev/vdb", false), "it carries ext4");
    assert!(error.hint().contains("--wipe"));
}

#[test]
fn a_wiped_device_comes_back_byte_for_byte() {
    let fixture = Fixture::new();
    write_at(&fixture, "dev/vdb", 1080, &[0x53, 0xef]);
    write_at(&fixture, "dev/vdb", VDB - 512, b"EFI PART");
    let before = fixture.picture();
    let changes = vec![header("/dev/vdb", None, UUIDS[0], true), on("/dev/vdb", None, Some(1))];
    let id = apply(&fixture, &plan(changes)).unwrap().id.unwrap();
    let mut device = fs::File::open(fixture.path("dev/vdb")).unwrap();
    assert_eq!(swaptune_host::swap_header::probe(&mut device, VDB).unwrap(), ["swap"]);
    undo(&fixture, &id, false).unwrap();
    assert_same(&fixture.picture(), &before, "after rollback");
}

#[test]
fn a_header_replaces_the_one_that_is_expected() {
    let fixture = Fixture::new();
    let before = fixture.picture();
    let old = SwapHeaderState { uuid: "0DD00000-0000-0000-0000-00000000000D".into(), label: "old".into() };
    let changes =
        vec![on("/dev/vdc", Some(-2), None), header("/dev/vdc", Some(old), UUIDS[0], false), on("/dev/vdc", None, Some(7))];
    let id = apply(&fixture, &plan(changes)).unwrap().id.unwrap();
    undo(&fixture, &id, false).unwrap();
    assert_same(&fixture.picture(), &before, "after rollback");
}

#[test]
fn a_compressor_that_is_missing_falls_back_in_order() {
    let changes = vec![zswap("compressor", "lzo", "zstd", &["deflate", "lz4", "lzo"]), zswap("enabled", "N", "Y", &[])];
    let fixture = Fixture::new();
    let before = fixture.picture();
    let kernel = fixture.kernel().without_compressors(&["zstd", "deflate"]);
    let apply = |plan: &Plan| execute(&fixture.machine(), &kernel, &fixture.state(), plan, &ApplyOptions::default());
    let report = apply(&plan(changes)).unwrap();
    let StepOutcome::FellBack { wanted, got, why } = &report.steps[0].outcome else { panic!("{report:?}") };
    assert_eq!((wanted.as_str(), got.as_str()), ("zstd", "lz4"));
    assert!(why.contains("shows lzo after zstd was written"), "{why}");
    assert_eq!(fixture.text("sys/module/zswap/parameters/compressor"), "lz4\n");
    undo(&fixture, &report.id.unwrap(), false).unwrap();
    assert_same(&fixture.picture(), &before, "after rollback");

    // Without a fallback it is a failure, and everything is undone.
    let changes = vec![zswap("compressor", "lzo", "zstd", &[]), zswap("enabled", "N", "Y", &[])];
    let error = apply(&plan(changes)).unwrap_err();
    assert_eq!(error.exit_code(), 4, "{error}");
    assert_same(&fixture.picture(), &before, "after failure");
    // While zswap is on, the write itself is refused, and that falls back too.
    fs::write(fixture.path("sys/module/zswap/parameters/enabled"), "Y\n").unwrap();
    let report = apply(&plan(vec![zswap("compressor", "lzo", "zstd", &["lz4"])])).unwrap();
    assert!(matches!(&report.steps[0].outcome, StepOutcome::FellBack { got, .. } if got == "lz4"));
}

#[test]
fn a_swapoff_without_room_is_refused_with_the_numbers() {
    let fixture = Fixture::new();
    let full = fixture.text("proc/swaps").replace("\t124\t\t0\t", "\t9000000\t\t6000000\t");
    fs::write(fixture.path("proc/swaps"), full).unwrap();
    let error = refused(&fixture, vec![on("/dev/vdc", Some(-2), None)], "it holds 5.7 GiB");
    assert!(error.to_string().contains("3.8 GiB available memory"), "{error}");
    refused(&fixture, vec![on("/dev/vdc", Some(-2), Some(4))], "it holds 5.7 GiB");
    // The same for a rollback: refused before its first step.
    let changes = vec![swap_file("/f", 1), header("/f", None, UUIDS[0], false), on("/f", None, Some(1))];
    let id = apply(&fixture, &plan(changes)).unwrap().id.unwrap();
    let empty = fixture.text("proc/swaps");
    fs::write(fixture.path("proc/swaps"), empty.replace("\t1020\t\t0\t", "\t9000000\t\t8000000\t")).unwrap();
    let before = fixture.picture();
    let error = undo(&fixture, &id, false).unwrap_err();
    assert_eq!(error.exit_code(), 3);
    assert!(error.to_string().starts_with("swapoff /f: it holds 7.6 GiB, the other areas can take 2.9 GiB"), "{error}");
    assert_same(&fixture.picture(), &before, "after a refused rollback");
    fs::write(fixture.path("proc/swaps"), empty).unwrap();
    undo(&fixture, &id, false).unwrap();
}

#[test]
fn a_rollback_leaves_alone_what_somebody_else_changed() {
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
fn what_was_generated_again_since_is_generated_once_more() {
    let fixture = Fixture::new();
    let id = apply(&fixture, &rich_plan()).unwrap().id.unwrap();
    fs::write(fixture.path("boot/grub/grub.cfg"), "a newer kernel has been installed\n").unwrap();
    let report = undo(&fixture, &id, false).unwrap();
    let again = report.steps.iter().find(|step| step.change.target() == "grub.cfg").unwrap();
    assert_eq!(again.outcome, UndoOutcome::Regenerated);
    assert!(report.left().is_empty());
    let text = fixture.text("boot/grub/grub.cfg");
    assert!(text.contains("quiet") && !text.contains("zswap"), "{text}");
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
        // The driver and its device stay, only nothing is in it any more.
        if !path.starts_with("dev") && !path.contains("zram") && path != "proc/swaps" {
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

#[test]
fn two_at_a_time_are_refused() {
    let fixture = Fixture::new();
    fs::create_dir_all(fixture.state().path()).unwrap();
    let held = Lock::take(&fixture.state().lock_path()).unwrap();
    let error = apply(&fixture, &rich_plan()).unwrap_err();
    assert_eq!(error.exit_code(), 3);
    assert!(error.to_string().contains(&format!("process {}", std::process::id())), "{error}");
    drop(held);
    apply(&fixture, &rich_plan()).unwrap();
}

#[test]
fn an_offline_tree_takes_files_only() {
    let fixture = Fixture::new();
    let before = fixture.picture();
    let apply = |plan: &Plan| execute(&fixture.machine(), &LiveKernel, &fixture.state(), plan, &ApplyOptions::default());
    let error = apply(&rich_plan()).unwrap_err();
    assert_eq!(error.exit_code(), 3);
    assert!(error.to_string().contains("is not the running machine"), "{error}");
    assert_same(&fixture.picture(), &before, "after refusal");
    apply(&plan(vec![file("/etc/a/b/c.conf", None, Some("text\n"))])).unwrap();
    assert_eq!(fixture.text("etc/a/b/c.conf"), "text\n");
}

#[test]
fn owner_mode_and_attributes_of_a_file_survive() {
    let fixture = Fixture::new();
    let path = fixture.path("etc/grub-real");
    let attribute = rustix::fs::setxattr(&path, "user.story", b"kept", rustix::fs::XattrFlags::empty()).is_ok();
    apply(&fixture, &rich_plan()).unwrap();
    use std::os::unix::fs::MetadataExt;
    assert_eq!(fs::metadata(&path).unwrap().mode() & 0o7777, 0o640);
    if attribute {
        let mut value = [0; 16];
        assert_eq!(rustix::fs::getxattr(&path, "user.story", &mut value), Ok(4));
    }
}

#[test]
fn a_folder_with_somebody_elses_file_stays() {
    let fixture = Fixture::new();
    let id = apply(&fixture, &plan(vec![file("/etc/new/ours.conf", None, Some("x"))])).unwrap().id.unwrap();
    fs::write(fixture.path("etc/new/theirs.conf"), "y").unwrap();
    undo(&fixture, &id, false).unwrap();
    assert!(!fixture.path("etc/new/ours.conf").exists() && fixture.path("etc/new/theirs.conf").exists());
}

#[test]
fn links_never_lead_out_of_the_tree() {
    let fixture = Fixture::new();
    let outside = scratch();
    let target = format!("../../../../../../..{}/x.conf", outside.path().display());
    std::os::unix::fs::symlink(&target, fixture.path("etc/relative.conf")).unwrap();
    std::os::unix::fs::symlink(outside.path(), fixture.path("etc/absolute")).unwrap();
    let changes = vec![file("/etc/relative.conf", None, Some("x")), file("/etc/absolute/y.conf", None, Some("y"))];
    let before = fixture.picture();
    let id = apply(&fixture, &plan(changes)).unwrap().id.unwrap();
    assert_eq!(fs::read_dir(outside.path()).unwrap().count(), 0);
    let inside = outside.path().strip_prefix("/").unwrap();
    assert_eq!(fs::read_to_string(fixture.root().join(inside).join("x.conf")).unwrap(), "x");
    undo(&fixture, &id, false).unwrap();
    assert_same(&fixture.picture(), &before, "after rollback");
}

#[test]
fn a_masked_unit_is_not_replaced() {
    let fixture = Fixture::new();
    fs::create_dir_all(fixture.path("etc/systemd/system")).unwrap();
    fs::create_dir(fixture.path("dev/null")).unwrap();
    std::os::unix::fs::symlink("/dev/null", fixture.path("etc/systemd/system/swaptune.service")).unwrap();
    refused(&fixture, vec![file("/etc/systemd/system/swaptune.service", None, Some("[Unit]\n"))], "not a regular file");
}

/// Fails the operation with this number, and all later ones when `lasting`.
struct FailAt {
    at: usize,
    lasting: bool,
    count: Cell<usize>,
}

impl Faults for FailAt {
    fn before(&self, _: &str, _: &Path) -> io::Result<()> {
        let count = self.count.replace(self.count.get() + 1);
        let fails = if self.lasting { count >= self.at } else { count == self.at };
        if fails { Err(io::Error::from_raw_os_error(libc::ENOSPC)) } else { Ok(()) }
    }
}

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

fn write_at(fixture: &Fixture, path: &str, at: u64, bytes: &[u8]) {
    use std::os::unix::fs::FileExt;
    fs::OpenOptions::new().write(true).open(fixture.path(path)).unwrap().write_all_at(bytes, at).unwrap();
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
