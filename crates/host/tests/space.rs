//! File systems that fill up while a plan is carried out: whatever was done is undone without a single new block.
//!
//! The files of a machine in a folder lie on small real file systems, which are filled to the last byte before one operation
//! after the other. Needs root for the mounts.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on may panic")]

mod fixture;

use std::cell::Cell;
use std::fs::{self, File};
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::process::Command;

use fixture::*;
use swaptune_double::install;
use swaptune_host::checkpoint::Faults;
use swaptune_host::journal::{StateDir, history, pending};
use swaptune_host::temporary::{TemporarySettings, guardian};
use swaptune_host::transaction::{ApplyOptions, execute, rollback};

/// What a transaction writes to, each on a file system of its own.
const PLACES: [&str; 3] = ["etc", "boot", "var"];
const FILLER: &str = "filler.swaptune";

/// A machine whose files lie on small file systems; unmounted when dropped.
struct Small {
    fixture: Fixture,
    images: tempfile::TempDir,
    mounted: Vec<PathBuf>,
}

impl Small {
    /// With `kind` tmpfs, or ext4 in a loop device. `None` when this machine cannot mount it, which is then said.
    fn new(kind: &str) -> Option<Self> {
        let mut small = Self { fixture: Fixture::new(), images: scratch(), mounted: Vec::new() };
        for place in PLACES {
            if !small.mount(kind, place) {
                let _ = writeln!(io::stderr(), "SKIPPED: {kind} cannot be mounted here");
                return None;
            }
        }
        Some(small)
    }

    fn mount(&mut self, kind: &str, place: &str) -> bool {
        let (at, aside) = (self.fixture.path(place), self.images.path().join(format!("{place}-files")));
        fs::create_dir_all(&at).unwrap();
        fs::rename(&at, &aside).unwrap();
        fs::create_dir(&at).unwrap();
        let succeeds = |command: &mut Command| command.output().is_ok_and(|output| output.status.success());
        let done = if kind == "tmpfs" {
            succeeds(Command::new("mount").args(["-t", "tmpfs", "-o", "size=10m", "tmpfs"]).arg(&at))
        } else {
            let image = self.images.path().join(place);
            File::create(&image).unwrap().set_len(20 << 20).unwrap();
            succeeds(Command::new(format!("mkfs.{kind}")).args(["-q", "-m", "0"]).arg(&image))
                && succeeds(Command::new("mount").args(["-o", "loop"]).arg(&image).arg(&at))
        };
        if done {
            self.mounted.push(at.clone());
        }
        done && succeeds(Command::new("cp").arg("-a").arg(format!("{}/.", aside.display())).arg(&at))
    }

    fn free(&self) {
        for place in &self.mounted {
            let _ = fs::remove_file(place.join(FILLER));
        }
    }
}

impl Drop for Small {
    fn drop(&mut self) {
        for place in &self.mounted {
            let _ = Command::new("umount").arg(place).status();
        }
    }
}

/// Fills the file systems before the operation with this number, and keeps them full.
struct FullFrom<'a> {
    at: usize,
    places: &'a [PathBuf],
    count: Cell<usize>,
}

impl Faults for FullFrom<'_> {
    fn before(&self, _: &str, _: &Path) -> io::Result<()> {
        let count = self.count.replace(self.count.get() + 1);
        if count >= self.at {
            self.places.iter().for_each(|place| fill(place));
        }
        Ok(())
    }
}

fn fill(place: &Path) {
    let mut file = File::options().create(true).append(true).open(place.join(FILLER)).unwrap();
    for piece in [64 << 10, 4 << 10, 1 << 10, 1] {
        while file.write_all(&vec![1; piece]).is_ok() {}
    }
    let _ = file.sync_all();
}

fn full_at_every_step(kind: &str, stride: usize) {
    let Some(small) = Small::new(kind) else { return };
    let fixture = &small.fixture;
    let (machine, kernel, state) = (fixture.machine(), fixture.kernel(), fixture.state());
    let before = fixture.picture();
    let (mut failures, mut at) = (0, 0);
    loop {
        let faults = FullFrom { at, places: &small.mounted, count: Cell::new(0) };
        let options = ApplyOptions { faults: &faults, ..ApplyOptions::default() };
        let result = execute(&machine, &kernel, &state, &rich_plan(), &options);
        small.free();
        let operations = faults.count.get();
        match result {
            Ok(report) => {
                rollback(&machine, &kernel, &state, &report.id.unwrap(), &ApplyOptions::default()).unwrap();
            }
            Err(error) => {
                failures += 1;
                // With 5 something would have been left as it was made.
                assert!(matches!(error.exit_code(), 3 | 4), "full from operation {at} on: {error}");
            }
        }
        assert!(pending(&state).unwrap().is_none(), "full from operation {at} on");
        assert_same(&fixture.picture(), &before, &format!("full from operation {at} on"));
        if at >= operations {
            break;
        }
        at += stride;
    }
    assert!(failures > 30 / stride, "only {failures} applies found no room");
}

#[test]
fn a_tmpfs_that_fills_up_at_any_step() {
    full_at_every_step("tmpfs", 1);
}

#[test]
fn an_ext4_that_fills_up_at_any_step() {
    full_at_every_step("ext4", 7);
}

#[test]
fn a_full_disk_is_refused_before_the_first_change() {
    let Some(small) = Small::new("tmpfs") else { return };
    let fixture = &small.fixture;
    let before = fixture.picture();
    small.mounted.iter().for_each(|place| fill(place));
    let error =
        execute(&fixture.machine(), &fixture.kernel(), &fixture.state(), &rich_plan(), &ApplyOptions::default()).unwrap_err();
    assert_eq!(error.exit_code(), 3, "{error}");
    small.free();
    assert_same(&fixture.picture(), &before, "after a refusal");
}

/// Not a test: the guardian of the next one, when this program is started as one.
#[test]
fn temporary_guardian() {
    install();
    assert!(guardian::play_and_tell());
}

/// The daemon adds to its settings for hours: what was reserved for the journal may be used up when the file system fills.
#[test]
fn temporary_settings_are_put_back_without_room_for_one_more_line() {
    let Some(mut small) = Small::new("tmpfs") else { return };
    assert!(small.mount("tmpfs", "run"));
    install();
    let (fixture, run) = (&small.fixture, small.fixture.path("run"));
    let (machine, before) = (fixture.machine(), fixture.picture());
    // Where the last line that has room ends differs by what is in each.
    for length in (0..400).step_by(25) {
        let mut settings = TemporarySettings::open(&machine, &"x".repeat(length)).unwrap();
        settings.knob("vm.page-cluster", "0").unwrap();
        let journal = fs::read_dir(run.join("swaptune/scratch/journal")).unwrap().next().unwrap().unwrap().path();
        let file = File::options().write(true).open(&journal).unwrap();
        file.set_len(file.metadata().unwrap().len()).unwrap();
        fill(&run);
        let mut values = ["1", "0"].into_iter().cycle();
        while settings.knob("vm.page-cluster", values.next().unwrap()).is_ok() {
            fill(&run);
        }
        let closed = settings.close();
        small.free();
        closed.unwrap();
        assert_same(&fixture.picture(), &before, &format!("a name of {length} letters"));
        assert!(history(&StateDir::temporary(&machine)).unwrap().is_empty());
    }
}
