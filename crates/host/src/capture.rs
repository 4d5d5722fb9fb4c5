//! `inspect --capture DIR`: the files that an inspection read, and nothing else, as a folder that is inspected alike.
//!
//! A capture is a test fixture and the body of a bug report, so it leaves the machine. What is not looked at is not
//! copied: long lists keep only the lines that were used, images and block devices only what was found in them. Values
//! that look like secrets are blanked out in what remains.

mod redact;

use std::fmt;
use std::fs;
use std::io;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};

use swaptune_core::{Bytes, Facts};

use crate::inspect::{InspectScope, inspect};
use crate::machine::{DATA, InspectionRecord, Machine};

/// What a capture wrote.
#[derive(Clone, Debug)]
pub struct CaptureReport {
    /// The folder.
    pub dir: PathBuf,
    /// Files with content.
    pub files: usize,
    /// Symbolic links.
    pub links: usize,
    /// Content of all files together.
    pub size: Bytes,
    /// Files in which something that looked like a secret was blanked out.
    pub redacted: Vec<String>,
    /// What the inspection found.
    pub facts: Facts,
}

impl fmt::Display for CaptureReport {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "captured {} files and {} links ({}) in {}", self.files, self.links, self.size, self.dir.display())?;
        if !self.redacted.is_empty() {
            write!(f, "; blanked out what looked secret in {}", self.redacted.join(", "))?;
        }
        write!(f, "; read it through before you give it away")
    }
}

/// Why a capture was not made.
#[derive(Debug, thiserror::Error)]
pub enum CaptureError {
    /// The folder holds something already.
    #[error("{}: is not empty", dir.display())]
    NotEmpty {
        /// The folder.
        dir: PathBuf,
    },
    /// Something could not be written.
    #[error("{}: {source}", path.display())]
    Write {
        /// The path.
        path: PathBuf,
        /// What the kernel said.
        source: io::Error,
    },
}

/// Inspects a machine and writes what was read into `dir`, which must be empty or not exist.
///
/// # Errors
/// [`CaptureError`] when the folder is not empty or cannot be written. Nothing but `dir` is ever written.
pub fn capture(machine: &Machine, dir: &Path) -> Result<CaptureReport, CaptureError> {
    prepare(dir)?;
    let recording = machine.recording();
    let facts = inspect(&recording, InspectScope::FULL);
    let mut record = recording.into_record();
    let redacted = redact::all(&mut record);
    let writer = CaptureWriter { dir };
    let size = record.files.values().map(|bytes| bytes.len() as u64).sum();
    let report = CaptureReport {
        dir: dir.to_owned(),
        files: record.files.len(),
        links: record.links.len(),
        size: Bytes(size),
        redacted,
        facts,
    };
    writer.write(record)?;
    Ok(report)
}

fn prepare(dir: &Path) -> Result<(), CaptureError> {
    fs::create_dir_all(dir).map_err(failed(dir))?;
    let empty = fs::read_dir(dir).map_err(failed(dir))?.next().is_none();
    if empty { Ok(()) } else { Err(CaptureError::NotEmpty { dir: dir.to_owned() }) }
}

struct CaptureWriter<'a> {
    dir: &'a Path,
}

impl CaptureWriter<'_> {
    fn write(&self, mut record: InspectionRecord) -> Result<(), CaptureError> {
        for (path, target) in &record.links {
            self.link(path, target)?;
        }
        for (path, bytes) in &record.files {
            self.file(path, bytes)?;
        }
        for (path, names) in &record.folders {
            let folder = self.place(path);
            fs::create_dir_all(&folder).map_err(failed(&folder))?;
            if names.is_empty() {
                record.index.empty_folders.insert(path.clone());
            }
            record.seen.extend(names.iter().map(|name| format!("{}/{name}", path.trim_end_matches('/'))));
        }
        // What was only seen is an empty file, unless something below it makes it a folder: longer paths come first.
        for path in record.seen.iter().rev() {
            if fs::symlink_metadata(self.place(path)).is_err() {
                self.file(path, &[])?;
            }
        }
        for (name, text) in &record.derived {
            self.file(&format!("/{DATA}/{name}"), text.as_bytes())?;
        }
        let index = serde_json::to_string_pretty(&record.index).map_err(io::Error::other);
        let path = format!("/{DATA}/index.json");
        self.file(&path, index.map_err(failed(&self.place(&path)))?.as_bytes())
    }

    fn link(&self, path: &str, target: &str) -> Result<(), CaptureError> {
        let place = self.parent(path)?;
        symlink(target, &place).map_err(failed(&place))
    }

    fn file(&self, path: &str, bytes: &[u8]) -> Result<(), CaptureError> {
        let place = self.parent(path)?;
        fs::write(&place, bytes).map_err(failed(&place))
    }

    fn parent(&self, path: &str) -> Result<PathBuf, CaptureError> {
        let place = self.place(path);
        if let Some(parent) = place.parent() {
            fs::create_dir_all(parent).map_err(failed(parent))?;
        }
        Ok(place)
    }

    /// Recorded paths have their links resolved, so this never leads out of the folder.
    fn place(&self, path: &str) -> PathBuf {
        self.dir.join(path.trim_start_matches('/'))
    }
}

fn failed(path: &Path) -> impl Fn(io::Error) -> CaptureError {
    move |source| CaptureError::Write { path: path.to_owned(), source }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn this_machine_is_inspected_alike_from_its_capture() {
        let dir = tempfile::tempdir().unwrap();
        let report = capture(&Machine::live(), dir.path()).unwrap();
        assert!(report.files > 20, "{report}");
        let mut expect = report.facts;
        if report.redacted.iter().any(|path| path == "/proc/cmdline") {
            expect.kernel.cmdline = inspect(&Machine::at(dir.path()), InspectScope::FULL).kernel.cmdline;
        }
        assert_eq!(inspect(&Machine::at(dir.path()), InspectScope::FULL), expect);
    }

    #[test]
    fn a_capture_of_a_capture_is_the_same() {
        let (first, second) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
        capture(&Machine::live(), first.path()).unwrap();
        let report = capture(&Machine::at(first.path()), second.path()).unwrap();
        assert_eq!(inspect(&Machine::at(second.path()), InspectScope::FULL), report.facts);
    }

    #[test]
    fn a_folder_that_holds_something_is_refused() {
        let dir = tempfile::tempdir().unwrap();
        fs::write(dir.path().join("x"), "").unwrap();
        let error = capture(&Machine::live(), dir.path()).unwrap_err();
        assert!(matches!(error, CaptureError::NotEmpty { .. }));
        assert_eq!(fs::read_dir(dir.path()).unwrap().count(), 1);
    }
}
