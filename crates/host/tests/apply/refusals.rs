//! What is refused before anything is touched, and with which words.

use std::fs;

use swaptune_core::change::Change;
use swaptune_host::journal::pending;
use swaptune_host::transaction::ApplyError;

use crate::fixture::*;
use crate::{apply, undo, write_at};

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
fn a_group_that_could_not_hold_what_it_has_in_swap_keeps_the_only_area_on() {
    let fixture = Fixture::new();
    let swaps = fixture.text("proc/swaps").replace("124\t\t0", "124\t\t64");
    fs::write(fixture.path("proc/swaps"), swaps).unwrap();
    let group = fixture.path("sys/fs/cgroup/system.slice/mail.service");
    fs::create_dir_all(&group).unwrap();
    let set = |file: &str, value: &str| fs::write(group.join(file), format!("{value}\n")).unwrap();
    set("memory.current", "1000000");
    set("memory.swap.current", "65536");
    set("memory.max", "1060000");
    let off = || vec![on("/dev/vdc", Some(-2), None)];
    refused(&fixture, off(), "control group /system.slice/mail.service: it has");
    // What it has in the pool goes from there.
    set("memory.zswap.current", "10000");
    apply(&fixture, &plan(off())).unwrap();
    undo(&fixture, &last_id(&fixture), false).unwrap();
    set("memory.zswap.current", "0");
    set("memory.max", "max");
    apply(&fixture, &plan(off())).unwrap();
}

/// Slots that do not hold what is too much for the groups do not help them, and those of zram are no room at all.
#[test]
fn free_slots_count_for_what_they_can_hold() {
    let fixture = Fixture::new();
    let empty = fixture.text("proc/swaps");
    let set = |group: &str, file: &str, value: &str| {
        let group = fixture.path("sys/fs/cgroup").join(group);
        fs::create_dir_all(&group).unwrap();
        fs::write(group.join(file), format!("{value}\n")).unwrap();
    };
    for group in ["system.slice/a.service", "system.slice/b.service"] {
        set(group, "memory.current", "1000000");
        set(group, "memory.swap.current", "65536");
        set(group, "memory.max", "1060000");
    }
    let with =
        |vdc: &str, other: &str| fs::write(fixture.path("proc/swaps"), empty.replace("\t124\t\t0\t", vdc) + other).unwrap();
    let off = || vec![on("/dev/vdc", Some(-2), None)];
    // Each is 5.4 KiB over its limit.
    with("\t124\t\t120\t", "/dev/vde                                partition\t8\t\t0\t\t-3\n");
    refused(&fixture, off(), "with 8 KiB free in other areas processes in it would be killed");
    with("\t124\t\t120\t", "/dev/vde                                partition\t16\t\t0\t\t-3\n");
    apply(&fixture, &plan(off())).unwrap();
    with("\t9000000\t\t6000000\t", "/dev/zram0                              partition\t8000000\t\t0\t\t100\n");
    refused(&fixture, off(), "it holds 5.7 GiB, other disks can take 0 B");
}

fn last_id(fixture: &Fixture) -> String {
    swaptune_host::journal::history(&fixture.state()).unwrap().pop().unwrap().id
}

#[test]
fn a_file_that_is_no_text_is_named_with_its_line() {
    let fixture = Fixture::new();
    // "für" in Latin-1, which a plan reads with a character in its place.
    fs::write(fixture.path("etc/fstab"), b"/dev/vdc none swap sw 0 0\n# f\xfcr\n").unwrap();
    let read = "/dev/vdc none swap sw 0 0\n# f\u{fffd}r\n";
    refused(&fixture, vec![file("/etc/fstab", Some(read), Some("ours\n"))], "line 2 is no UTF-8");
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
fn a_zram_device_that_is_set_up_already_is_not_taken() {
    let fixture = Fixture::new();
    apply(&fixture, &plan(vec![zram("zram0", 2)])).unwrap();
    // As it is wanted, but the plan did not expect it: what is in it may be needed.
    refused(
        &fixture,
        vec![zram("zram0", 2), header("/dev/zram0", None, UUIDS[2], false)],
        "zram0 is 2 MiB lz4, again with zstd, lzo, backed by /dev/vde",
    );
    write_at(&fixture, "dev/zram0", 1080, &[0x53, 0xef]);
    let Change::Zram { after, .. } = zram("zram0", 2) else { panic!() };
    let reset = plan(vec![Change::Zram { name: "zram0".into(), before: after, after: None }]);
    let error = apply(&fixture, &reset).unwrap_err();
    let words = std::error::Error::source(&error).map(ToString::to_string).unwrap_or_default();
    assert!(words.contains("a reset would destroy"), "{error}: {words}");
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
    assert!(error.to_string().starts_with("swapoff /f: it holds 7.6 GiB, other disks can take 2.9 GiB"), "{error}");
    assert_same(&fixture.picture(), &before, "after a refused rollback");
    fs::write(fixture.path("proc/swaps"), empty).unwrap();
    undo(&fixture, &id, false).unwrap();
}

#[test]
fn a_masked_unit_is_not_replaced() {
    let fixture = Fixture::new();
    fs::create_dir_all(fixture.path("etc/systemd/system")).unwrap();
    fs::create_dir(fixture.path("dev/null")).unwrap();
    std::os::unix::fs::symlink("/dev/null", fixture.path("etc/systemd/system/swaptune.service")).unwrap();
    refused(&fixture, vec![file("/etc/systemd/system/swaptune.service", None, Some("[Unit]\n"))], "not a regular file");
}
