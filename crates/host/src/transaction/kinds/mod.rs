//! The kinds of change, one file each: how to observe it, what to save, how to make it, how to take it back.
//!
//! Making is a compare-and-set on what the plan expects, taking back is one on what was made. Both are repeatable: after
//! a crash the same look decides what is still to be done.

mod area;
mod file;
mod format;
mod generated;
mod header;
mod key_file;
mod knob;
mod link;
mod mapping;
mod module;
mod swap_file;
mod zram;

use swaptune_core::change::Change;

pub(crate) use file::{lines_still_there, words as file_words};
pub(crate) use generated::is_half_made;
pub(crate) use header::{check_overwrite, is_made_by, must_be_made, not_made_here};
pub(crate) use knob::{fall_back, read as read_knob, same as same_knob};

use crate::journal::record::{GeneratorOutput, SavedFile, StepOutcome};
use crate::journal::{Journal, Saved, StateDir, StepLog};
use crate::transaction::error::StepError;
use crate::transaction::run::Run;

/// Whether what a change is to be made to is as one of its sides has it.
pub(crate) fn is_expected(run: &Run<'_>, change: &Change) -> bool {
    let found = handler(change).observe(StepContext { run: *run, tag: "look" });
    matches!(found, Ok(Observed::Before | Observed::After))
}

/// What is found before a step.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Observed {
    /// As the plan wants it.
    After,
    /// As the plan expects it.
    Before,
    /// Neither: what is there, in words.
    Other(String),
    /// There is nothing to change: a device has gone.
    Gone(String),
}

/// What is found when a step is to be undone.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum UndoState {
    /// As it was before the step.
    Saved,
    /// As the step made it, or as a crash in the middle left it.
    Ours,
    /// Neither: what is there, in words.
    Other(String),
    /// The device that it was made on is not there: it may be plugged in again.
    Away,
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
pub(crate) struct Completed {
    pub outcome: StepOutcome,
    pub outputs: Vec<GeneratorOutput>,
}

/// What a kind of change works with: the machine, and the step that is made or undone.
#[derive(Clone, Copy)]
pub(crate) struct StepContext<'a> {
    pub run: Run<'a>,
    /// Distinguishes temporary files: transaction and step.
    pub tag: &'a str,
}

/// What the journal records of a step that is to be undone.
#[derive(Clone, Copy)]
pub(crate) struct RecordedStep<'a> {
    pub log: &'a StepLog,
    pub saved: &'a Saved,
    pub state: &'a StateDir,
    /// True when the transaction was cut short: what is found may be half of what was to be made.
    pub torn: bool,
}

/// Observes, makes and undoes one kind of change.
pub(crate) trait ChangeHandler {
    /// Compares what is there with both sides of the change.
    fn observe(&self, cx: StepContext<'_>) -> Result<Observed, StepError>;

    /// Saves what is there.
    fn save(&self, cx: StepContext<'_>, journal: &Journal<'_>, seq: usize) -> Result<Saved, StepError>;

    /// Makes the change.
    fn make(&self, cx: StepContext<'_>) -> Result<Completed, StepError>;

    /// Compares what is there with what was saved and with what was made.
    fn undo_state(&self, cx: StepContext<'_>, recorded: RecordedStep<'_>) -> Result<UndoState, StepError>;

    /// Brings back what was saved.
    fn restore(&self, cx: StepContext<'_>, recorded: RecordedStep<'_>) -> Result<Restored, StepError>;
}

/// The handler of a change.
pub(crate) fn handler(change: &Change) -> Box<dyn ChangeHandler + '_> {
    match change {
        Change::Knob { name, path, before, after, fallbacks } => {
            Box::new(knob::KnobHandler { name, path, before, after, fallbacks })
        }
        Change::File { path, before, after, mode } => {
            Box::new(file::FileHandler { path, before: before.as_deref(), after: after.as_deref(), mode: *mode })
        }
        Change::Link { path, before, after } => Box::new(link::Link { path, before: before.as_deref(), after: after.as_deref() }),
        Change::SwapFile { path, before, after } => {
            Box::new(swap_file::SwapFileHandler { path, before: before.as_ref(), after: after.as_ref() })
        }
        Change::SwapHeader { path, before, after, wipe } => {
            Box::new(header::HeaderHandler { path, before: before.as_ref(), after: after.as_ref(), wipe: *wipe })
        }
        Change::Swap { path, before, after } => Box::new(area::AreaHandler { path, before: *before, after: *after }),
        Change::Zram { name, before, after } => {
            Box::new(zram::ZramHandler { name, before: before.as_ref(), after: after.as_ref() })
        }
        Change::Module { name, before, after } => Box::new(module::Module { name, before: *before, after: *after }),
        Change::Format { path, before, after, wipe } => {
            Box::new(format::FormatHandler { path, before: before.as_ref(), after: after.as_ref(), wipe: *wipe })
        }
        Change::KeyFile { path, before, after } => Box::new(key_file::KeyFileHandler { path, before: *before, after: *after }),
        Change::Mapping { name, before, after } => {
            Box::new(mapping::MappingHandler { name, before: before.as_ref(), after: after.as_ref() })
        }
        Change::Generated { what, command, outputs, after, .. } => {
            Box::new(generated::Generated { what, command, outputs, made: *after })
        }
    }
}

impl Completed {
    /// The usual case: the sides of the change, in short.
    pub fn changed(before: impl Into<String>, after: impl Into<String>) -> Self {
        Self { outcome: StepOutcome::Changed { before: before.into(), after: after.into() }, outputs: Vec::new() }
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

impl StepContext<'_> {
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
        let attributes =
            super::run::FileAttributes::of(&self.run.host(real)).map_err(|error| StepError::io("read", real, error))?;
        let blob = journal.save(seq, part, bytes)?;
        let hex = |bytes: &[u8]| bytes.iter().map(|byte| format!("{byte:02x}")).collect::<String>();
        let xattrs = attributes.xattrs.iter().map(|(name, value)| (name.clone(), hex(value))).collect();
        Ok(SavedFile { blob, mode: attributes.mode, uid: attributes.uid, gid: attributes.gid, xattrs })
    }

    /// Brings a saved file back, or deletes what is there when there was none.
    pub fn restore_file(&self, state: &StateDir, real: &str, file: Option<&SavedFile>) -> Result<(), StepError> {
        let Some(file) = file else { return self.run.delete(real) };
        let bytes = state.load(&file.blob)?;
        self.run.make_folders(&self.run.missing_folders(real))?;
        self.run.bring_back(real, self.tag, &bytes, &saved_attributes(file))
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

pub(crate) fn saved_attributes(file: &SavedFile) -> super::run::FileAttributes {
    let byte = |pair: &[u8]| std::str::from_utf8(pair).ok().and_then(|pair| u8::from_str_radix(pair, 16).ok());
    let bytes = |hex: &String| hex.as_bytes().chunks(2).filter_map(byte).collect();
    let xattrs = file.xattrs.iter().map(|(name, hex)| (name.clone(), bytes(hex))).collect();
    super::run::FileAttributes { mode: file.mode, uid: file.uid, gid: file.gid, xattrs }
}
