//! Applying and taking back, on a machine in a folder.

mod fixture;

use std::cell::Cell;
use std::fs;
use std::io;
use std::path::Path;

use fixture::*;
use swaptune_core::change::{Change, SwapHeaderState};
use swaptune_core::plan::Plan;
use swaptune_host::apply::{ApplyError, Options, Report, Resumed, StepError, UndoOutcome, execute, resume};
use swaptune_host::checkpoint::Faults;
use swaptune_host::journal::{Kind, Outcome, StateDir, Status, history, newest_applied, pending};
use swaptune_host::kernel::LiveKernel;
use swaptune_host::lock::Lock;
use swaptune_host::rollback::{RollbackReport, deactivate, rollback};

fn apply(fixture: &Fixture, plan: &Plan) -> Result<Report, ApplyError> {
    execute(&fixture.machine(), &fixture.kernel(), &fixture.state(), plan, &Options::default())
}

fn undo(fixture: &Fixture, id: &str, force: bool) -> Result<RollbackReport, ApplyError> {
    let options = Options { force, ..Options::default() };
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
    let skipped: Vec<_> = report.steps.iter().filter(|s| matches!(s.outcome, Outcome::Skipped { .. })).collect();
    assert_eq!(skipped.len(), 1);
    assert_eq!(skipped[0].change.target(), "/dev/gone");

    let row = &history(&fixture.state()).unwrap()[0];
    assert_eq!((row.id.as_str(), row.status, row.kind), (id.as_str(), Some(Status::Applied), Some(Kind::Apply)));
    assert_eq!(row.changes, rich_plan().steps.len() - 2);

    let report = undo(&fixture, &id, false).unwrap();
    assert!(report.left().is_empty());
    assert_same(&fixture.picture(), &before, "after rollback");
    assert_eq!(history(&fixture.state()).unwrap()[0].status, Some(Status::RolledBack));
    assert!(newest_applied(&fixture.state(), Kind::Apply).unwrap().is_none());
    assert_eq!(fs::read_dir(fixture.state().blobs()).unwrap().count(), 0);
    assert!(matches!(undo(&fixture, &id, false), Err(ApplyError::NotStanding { .. })));
}
