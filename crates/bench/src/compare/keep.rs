//! Runs on disk: a file of one comparison, a line for what is compared and one for each run as soon as it is done.

use std::fs::{self, File, OpenOptions};
use std::io::{self, Write};
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};
use thiserror::Error;

use super::{CompareError, CompareGround, KeptRun};

/// Version of the lines; raised when a field changes its meaning.
const SCHEMA: u32 = 2;

/// What is compared: all that is needed to go on.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct CompareHeader {
    /// Version of this file.
    pub schema: u32,
    /// The command and its arguments.
    pub command: Vec<String>,
    /// Configurations, as typed.
    pub variants: Vec<String>,
    /// `--memory` in bytes.
    pub memory: Option<u64>,
    /// `--limit`.
    pub limit: String,
    /// `--runs`.
    pub runs: u32,
    /// `--delta`, percent.
    pub delta: f64,
    /// `--keep-caches`.
    pub keep_caches: bool,
    /// `--dir`.
    pub dir: PathBuf,
    /// For orders.
    pub seed: u64,
    /// What must be the same for all runs; empty in the first version.
    #[serde(default)]
    pub ground: CompareGround,
}

impl CompareHeader {
    /// The version that is written.
    pub const SCHEMA: u32 = SCHEMA;
}

/// The file of a comparison.
#[derive(Debug)]
pub struct CompareFile {
    path: PathBuf,
    file: File,
}

/// Why a comparison cannot be resumed.
#[derive(Debug, Error)]
#[error("{path}: {why}")]
pub struct ResumeError {
    /// The file.
    pub path: String,
    /// What is wrong with it.
    pub why: String,
}

impl CompareFile {
    /// Begins a file that does not exist yet.
    ///
    /// # Errors
    /// [`CompareError::Keep`].
    pub fn create(path: &Path, header: &CompareHeader) -> Result<Self, CompareError> {
        let failed = |source| CompareError::Keep { path: path.display().to_string(), source };
        if let Some(folder) = path.parent().filter(|folder| !folder.as_os_str().is_empty()) {
            fs::create_dir_all(folder).map_err(failed)?;
        }
        let file = OpenOptions::new().append(true).create_new(true).open(path).map_err(failed)?;
        let mut journal = Self { path: path.to_owned(), file };
        journal.line(header)?;
        Ok(journal)
    }

    /// Opens a file to go on. A last line that a kill cut short is taken off.
    ///
    /// # Errors
    /// [`ResumeError`]: no such file, or it is none of a comparison.
    pub fn resume(path: &Path) -> Result<(Self, CompareHeader, Vec<KeptRun>), ResumeError> {
        let wrong = |why: String| ResumeError { path: path.display().to_string(), why };
        let failed = |error: io::Error| wrong(error.to_string());
        let text = fs::read_to_string(path).map_err(failed)?;
        let whole = text.rfind('\n').map_or(0, |end| end + 1);
        let mut lines = text[..whole].lines();
        let first = lines.next().ok_or_else(|| wrong("it is empty".into()))?;
        let header: CompareHeader =
            serde_json::from_str(first).map_err(|error| wrong(format!("line 1 does not say what was compared: {error}")))?;
        if header.schema != SCHEMA {
            return Err(wrong(format!("line 1: version {} of the form, expected {SCHEMA}", header.schema)));
        }
        let mut kept = Vec::new();
        for (number, line) in (2..).zip(lines) {
            kept.push(serde_json::from_str(line).map_err(|error| wrong(format!("line {number} is no run: {error}")))?);
        }
        let file = OpenOptions::new().append(true).open(path).map_err(failed)?;
        file.set_len(whole as u64).map_err(failed)?;
        Ok((Self { path: path.to_owned(), file }, header, kept))
    }

    /// Keeps a run.
    ///
    /// # Errors
    /// [`CompareError::Keep`].
    pub fn keep(&mut self, kept: &KeptRun) -> Result<(), CompareError> {
        self.line(kept)
    }

    /// The file.
    #[must_use]
    pub fn path(&self) -> &Path {
        &self.path
    }

    fn line(&mut self, what: &impl Serialize) -> Result<(), CompareError> {
        let failed = |source| CompareError::Keep { path: self.path.display().to_string(), source };
        let mut line = serde_json::to_vec(what).map_err(|error| failed(error.into()))?;
        line.push(b'\n');
        self.file.write_all(&line).and_then(|()| self.file.sync_data()).map_err(failed)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn header() -> CompareHeader {
        CompareHeader {
            schema: SCHEMA,
            command: vec!["make".into(), "-j2".into()],
            variants: vec!["none".into(), "auto".into()],
            memory: Some(1 << 30),
            limit: "best".into(),
            runs: 10,
            delta: 3.0,
            keep_caches: false,
            dir: "/var/tmp".into(),
            seed: 1,
            ground: CompareGround { kernel: "6.12.1".into(), ..CompareGround::default() },
        }
    }

    fn run(block: u32) -> KeptRun {
        let run = serde_json::json!({
            "block": block, "again": false, "place": 0, "elapsed_s": 1.5, "user_s": 1.0, "system_s": 0.1, "failed": null,
            "counts": {
                "swap_reads": 0, "swap_writes": 0, "loads": 0, "stores": 0, "written_back": 0, "major_faults": 0,
                "refaults_anon": 0, "refaults_file": 0, "oom_kills": 0, "some_stall_us": 0, "full_stall_us": 0,
            },
            "timeline": [],
        });
        KeptRun { variant: 1, run: serde_json::from_value(run).unwrap() }
    }

    #[test]
    fn what_was_kept_is_found_again_whatever_cut_it_short() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("state/compare.jsonl");
        let mut journal = CompareFile::create(&path, &header()).unwrap();
        (0..3).for_each(|block| journal.keep(&run(block)).unwrap());
        let text = fs::read(&path).unwrap();
        let whole = |length: usize| text[..length].iter().filter(|byte| **byte == b'\n').count();
        for length in (0..=text.len()).rev().step_by(7) {
            fs::write(&path, &text[..length]).unwrap();
            if whole(length) == 0 {
                assert!(CompareFile::resume(&path).is_err());
                continue;
            }
            let (mut journal, found, kept) = CompareFile::resume(&path).unwrap();
            assert_eq!((found, kept.len()), (header(), whole(length) - 1));
            journal.keep(&run(9)).unwrap();
            assert_eq!(CompareFile::resume(&path).unwrap().2.last(), Some(&run(9)), "cut at {length}");
        }
    }

    #[test]
    fn what_is_no_comparison_is_told_by_line() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("other");
        let told = |text: &str| {
            fs::write(&path, text).unwrap();
            CompareFile::resume(&path).unwrap_err().why
        };
        assert_eq!(told(""), "it is empty");
        assert!(told("{}\n").starts_with("line 1 does not say what was compared"));
        let newer = serde_json::to_string(&CompareHeader { schema: 3, ..header() }).unwrap();
        assert_eq!(told(&format!("{newer}\n")), "line 1: version 3 of the form, expected 2");
        let good = serde_json::to_string(&header()).unwrap();
        assert!(told(&format!("{good}\nnonsense\n")).starts_with("line 2 is no run"));
        assert!(CompareFile::create(&path, &header()).is_err(), "a file that is there is not written over");
    }
}
