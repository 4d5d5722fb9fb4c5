//! The kinds of change, one file each: how to look, what to save, how to make it, how to take it back.
//!
//! Making is a compare-and-set on what the plan expects, taking back is one on what was made. Both are repeatable: after
//! a crash the same look decides what is still to be done.

mod area;
mod file;
mod generated;
mod header;
mod knob;
mod link;
mod module;
mod swap_file;
mod zram;

use swaptune_core::change::Change;

pub(crate) use header::{guard, must_be_made, not_made_here};
pub(crate) use knob::{fall_back, read as read_knob, same as same_knob};

use super::error::StepError;
use super::run::Run;
use crate::journal::record::{Outcome, Output, SavedFile};
use crate::journal::{Journal, Saved, StateDir, StepLog};

/// How the machine stands before a step.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Stand {
    /// As the plan wants it.
    After,
    /// As the plan expects it.
    Before,
    /// Otherwise.
    Other(String),
    /// There is nothing to change: a device has gone.
    Gone(String),
}

/// How the machine stands when a step is to be undone.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Back {
    /// As it was before the step.
    Saved,
    /// As the step made it, or as a crash in the middle left it.
    Ours,
    /// Otherwise.
    Other(String),
}

/// What became of an attempt to bring back what was saved.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Restored {
    /// It is back.
    Whole,
    /// It cannot be brought back before the next boot, and does no harm until then.
    Kept(String),
}

/// What a step made.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Made {
    pub outcome: Outcome,
    pub outputs: Vec<Output>,
}

/// One step at work.
#[derive(Clone, Copy)]
pub(crate) struct At<'a> {
    pub run: Run<'a>,
    /// Distinguishes temporary files: transaction and step.
    pub tag: &'a str,
}

/// What is known about a step that is to be undone.
#[derive(Clone, Copy)]
pub(crate) struct Past<'a> {
    pub log: &'a StepLog,
    pub saved: &'a Saved,
    pub state: &'a StateDir,
    /// True when the transaction was cut short: what is found may be half of what was to be made.
    pub torn: bool,
}

/// One kind of change.
pub(crate) trait Doer {
    /// How the machine stands.
    fn stand(&self, at: At<'_>) -> Result<Stand, StepError>;

    /// Saves what is there.
    fn save(&self, at: At<'_>, journal: &Journal<'_>, seq: usize) -> Result<Saved, StepError>;

    /// Makes the change.
    fn make(&self, at: At<'_>) -> Result<Made, StepError>;

    /// How the machine stands, against what was saved.
    fn stand_back(&self, at: At<'_>, past: Past<'_>) -> Result<Back, StepError>;

    /// Brings back what was saved.
    fn restore(&self, at: At<'_>, past: Past<'_>) -> Result<Restored, StepError>;
}

/// The kind of a change.
pub(crate) fn doer(change: &Change) -> Box<dyn Doer + '_> {
    match change {
        Change::Knob { name, path, before, after, fallbacks } => Box::new(knob::Knob { name, path, before, after, fallbacks }),
        Change::File { path, before, after, mode } => {
            Box::new(file::File { path, before: before.as_deref(), after: after.as_deref(), mode: *mode })
        }
        Change::Link { path, before, after } => Box::new(link::Link { path, before: before.as_deref(), after: after.as_deref() }),
        Change::SwapFile { path, before, after } => {
            Box::new(swap_file::SwapFile { path, before: before.as_ref(), after: after.as_ref() })
        }
        Change::SwapHeader { path, before, after, wipe } => {
            Box::new(header::Header { path, before: before.as_ref(), after: after.as_ref(), wipe: *wipe })
        }
        Change::Swap { path, before, after } => Box::new(area::Area { path, before: *before, after: *after }),
        Change::Zram { name, before, after } => Box::new(zram::Zram { name, before: before.as_ref(), after: after.as_ref() }),
        Change::Module { name, before, after } => Box::new(module::Module { name, before: *before, after: *after }),
        Change::Generated { what, command, outputs, after, .. } => {
            Box::new(generated::Generated { what, command, outputs, made: *after })
        }
    }
}

impl Made {
    /// The usual case: the sides of the change, in short.
    pub fn changed(before: impl Into<String>, after: impl Into<String>) -> Self {
        Self { outcome: Outcome::Changed { before: before.into(), after: after.into() }, outputs: Vec::new() }
    }
}

/// A saved form that does not belong to this kind of change: the journal was edited by hand.
pub(crate) fn mismatch(what: &str) -> StepError {
    StepError::Refused {
        what: what.to_owned(),
        why: "the journal holds something else for it".into(),
        hint: "the journal was changed by hand: restore it from a backup".into(),
    }
}

impl At<'_> {
    /// Saves a file as a whole; `None` when there is none.
    pub fn save_file(&self, journal: &Journal<'_>, seq: usize, part: usize, real: &str) -> Result<Option<SavedFile>, StepError> {
        let Some(bytes) = self.run.read(real)? else { return Ok(None) };
        self.save_bytes(journal, seq, part, real, &bytes).map(Some)
    }

    /// Saves these bytes of a file, with its mode, owner and attributes.
    pub fn save_bytes(
        &self,
        journal: &Journal<'_>,
        seq: usize,
        part: usize,
        real: &str,
        bytes: &[u8],
    ) -> Result<SavedFile, StepError> {
        let look = super::run::Look::of(&self.run.host(real)).map_err(|error| StepError::io("read", real, error))?;
        let blob = journal.save(seq, part, bytes)?;
        let hex = |bytes: &[u8]| bytes.iter().map(|byte| format!("{byte:02x}")).collect::<String>();
        let xattrs = look.xattrs.iter().map(|(name, value)| (name.clone(), hex(value))).collect();
        Ok(SavedFile { blob, mode: look.mode, uid: look.uid, gid: look.gid, xattrs })
    }

    /// Brings a saved file back, or deletes what is there when there was none.
    pub fn restore_file(&self, state: &StateDir, real: &str, file: Option<&SavedFile>) -> Result<(), StepError> {
        let Some(file) = file else { return self.run.delete(real) };
        let bytes = state.load(&file.blob)?;
        self.run.make_folders(&self.run.missing_folders(real))?;
        self.run.bring_back(real, self.tag, &bytes, &saved_look(file))
    }

    /// True when the file that is there is the saved one.
    pub fn is_saved(&self, real: &str, file: Option<&SavedFile>) -> Result<bool, StepError> {
        let found = self.run.read(real)?;
        Ok(match (found, file) {
            (None, None) => true,
            (Some(bytes), Some(file)) => {
                bytes.len() as u64 == file.blob.length && crate::journal::fingerprint(&bytes) == file.blob.print
            }
            _ => false,
        })
    }
}

pub(crate) fn saved_look(file: &SavedFile) -> super::run::Look {
    let byte = |pair: &[u8]| std::str::from_utf8(pair).ok().and_then(|pair| u8::from_str_radix(pair, 16).ok());
    let bytes = |hex: &String| hex.as_bytes().chunks(2).filter_map(byte).collect();
    let xattrs = file.xattrs.iter().map(|(name, hex)| (name.clone(), bytes(hex))).collect();
    super::run::Look { mode: file.mode, uid: file.uid, gid: file.gid, xattrs }
}
