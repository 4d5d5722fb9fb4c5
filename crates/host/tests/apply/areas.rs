//! Swap files, headers and zram devices come back as they were.

use std::fs;

use swaptune_core::change::{Change, SwapHeaderState, SwapState};
use swaptune_host::journal::{Saved, transaction};
use swaptune_host::transaction::{ApplyError, UndoOutcome};

use crate::fixture::*;
use crate::{apply, undo, write_at};

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
fn what_the_kernel_does_not_show_of_an_area_is_known_for_the_way_back() {
    let fixture = Fixture::new();
    let before = SwapState { discard_pages: true, ..SwapState::at(-2) };
    let off = Change::Swap { path: "/dev/vdc".into(), before: Some(before), after: None };
    let id = apply(&fixture, &plan(vec![off])).unwrap().id.unwrap();
    let saved = transaction(&fixture.state(), &id).unwrap().unwrap().steps[0].saved.clone();
    assert!(matches!(saved, Some(Saved::Area { state: Some(state), .. }) if state == before), "{saved:?}");
    undo(&fixture, &id, false).unwrap();
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
fn a_backing_device_with_a_signature_is_looked_at_again_before_it_is_used() {
    let fixture = Fixture::new();
    write_at(&fixture, "dev/vde", 1080, &[0x53, 0xef]);
    let before = fixture.picture();
    let error = apply(&fixture, &plan(vec![zram("zram0", 2)])).unwrap_err();
    assert!(swaptune_host::error_chain(&error).contains("it carries ext2, which write-back would destroy"), "{error}");
    assert_same(&fixture.picture(), &before, "after the refusal");
}

#[test]
fn compressors_and_backing_device_are_set_before_the_size() {
    let fixture = Fixture::new();
    let before = fixture.picture();
    let id = apply(&fixture, &plan(vec![zram("zram0", 2)])).unwrap().id.unwrap();
    let text = |file: &str| fixture.text(&format!("sys/block/zram0/{file}"));
    assert_eq!(text("recomp_algorithm"), "#1: lzo lzo-rle lz4 [zstd]\n#2: [lzo] lzo-rle lz4 zstd\n");
    assert_eq!(text("backing_dev"), "/dev/vde\n");
    undo(&fixture, &id, false).unwrap();
    assert_same(&fixture.picture(), &before, "after rollback");
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
fn udev_is_told_of_a_new_header() {
    let fixture = Fixture::new();
    let uevent = "sys/class/block/vdb/uevent";
    fs::create_dir_all(fixture.path(uevent).parent().unwrap()).unwrap();
    fs::write(fixture.path(uevent), "").unwrap();
    let id = apply(&fixture, &plan(vec![header("/dev/vdb", None, UUIDS[0], true)])).unwrap().id.unwrap();
    assert_eq!(fixture.text(uevent).trim(), "change");
    fs::write(fixture.path(uevent), "").unwrap();
    undo(&fixture, &id, false).unwrap();
    assert_eq!(fixture.text(uevent).trim(), "change");
}

#[test]
fn a_device_that_was_pulled_out_holds_up_no_rollback_and_comes_back_with_a_second() {
    let fixture = Fixture::new();
    write_at(&fixture, "dev/vdb", 1080, &[0x53, 0xef]);
    let before = fixture.picture();
    let changes = vec![header("/dev/vdb", None, UUIDS[0], true), knob("vm.swappiness", "/proc/sys/vm/swappiness", "60", "100")];
    let id = apply(&fixture, &plan(changes)).unwrap().id.unwrap();
    let (there, away) = (fixture.path("dev/vdb"), fixture.path("away"));
    fs::rename(&there, &away).unwrap();
    let report = undo(&fixture, &id, false).unwrap();
    assert!(report.left().is_empty() && report.steps[1].outcome == UndoOutcome::Away, "{report:?}");
    assert_eq!(fixture.text("proc/sys/vm/swappiness"), "60\n");
    fs::rename(&away, &there).unwrap();
    let report = undo(&fixture, &id, false).unwrap();
    assert_eq!(report.steps[0].outcome, UndoOutcome::Restored, "{report:?}");
    assert_same(&fixture.picture(), &before, "after the second rollback");
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
fn an_area_whose_device_is_only_hidden_is_not_forgotten() {
    let fixture = Fixture::new();
    let before = fixture.picture();
    let id = apply(&fixture, &plan(vec![on("/dev/vdc", Some(-2), None)])).unwrap().id.unwrap();
    assert!(!fixture.text("proc/swaps").contains("/dev/vdc"));
    // As a service sees it that has no devices.
    let (there, hidden) = (fixture.path("dev/vdc"), fixture.path("hidden"));
    fs::rename(&there, &hidden).unwrap();
    fs::create_dir_all(fixture.path("sys/class/block/vdc")).unwrap();
    let error = undo(&fixture, &id, false).unwrap_err();
    let ApplyError::RollbackFailed { left, .. } = &error else { panic!("{error}") };
    assert!(left[0].failed && left[0].why.contains("this process does not see it"), "{error}");
    fs::rename(&hidden, &there).unwrap();
    fs::remove_dir_all(fixture.path("sys/class/block")).unwrap();
    assert!(undo(&fixture, &id, false).unwrap().left().is_empty());
    assert_same(&fixture.picture(), &before, "after the second rollback");
}
