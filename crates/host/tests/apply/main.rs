//! Applying and taking back, on a machine in a folder.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on may panic")]

#[path = "../fixture/mod.rs"]
mod fixture;

mod areas;
mod failures;
mod files;
mod going_back;
mod refusals;
mod service;
mod whole;

use std::cell::Cell;
use std::fs;
use std::io;
use std::path::Path;

use fixture::*;
use swaptune_core::plan::Plan;
use swaptune_host::checkpoint::Faults;
use swaptune_host::transaction::{ApplyError, ApplyOptions, ApplyReport, RollbackReport, execute, rollback};

fn apply(fixture: &Fixture, plan: &Plan) -> Result<ApplyReport, ApplyError> {
    execute(&fixture.machine(), &fixture.kernel(), &fixture.state(), plan, &ApplyOptions::default())
}

fn undo(fixture: &Fixture, id: &str, force: bool) -> Result<RollbackReport, ApplyError> {
    let options = ApplyOptions { force, ..ApplyOptions::default() };
    rollback(&fixture.machine(), &fixture.kernel(), &fixture.state(), id, &options)
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

fn write_at(fixture: &Fixture, path: &str, at: u64, bytes: &[u8]) {
    use std::os::unix::fs::FileExt;
    fs::OpenOptions::new().write(true).open(fixture.path(path)).unwrap().write_all_at(bytes, at).unwrap();
}
