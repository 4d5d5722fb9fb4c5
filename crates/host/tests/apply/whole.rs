//! A plan as a whole: applied, already in place, on a machine that does not run, two at a time.

use std::fs;

use swaptune_core::plan::Plan;
use swaptune_host::journal::{StepOutcome, TransactionKind, TransactionStatus, history, newest_applied};
use swaptune_host::kernel::LiveKernel;
use swaptune_host::lock::Lock;
use swaptune_host::transaction::{ApplyError, ApplyOptions, ApplyReport, execute};

use crate::fixture::*;
use crate::{apply, undo};

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
