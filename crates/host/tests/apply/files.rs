//! Owners, folders, links and generated files.

use std::fs;

use swaptune_host::transaction::UndoOutcome;

use crate::fixture::*;
use crate::{apply, undo};

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
fn a_folder_with_a_file_of_others_stays() {
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
