//! Files of random bytes for LUKS volumes. Only whether one is there is ever told; what is in it is neither read nor kept.

use std::fs;
use std::os::unix::fs::MetadataExt;

use swaptune_core::device::KEY_DIR;

use super::{ChangeHandler, Completed, Observed, RecordedStep, Restored, StepContext, UndoState, mismatch};
use crate::journal::{Journal, Saved};
use crate::transaction::error::StepError;
use crate::transaction::run::is_missing;

/// As long as the key of any cipher that dm-crypt has for swap.
pub(in crate::transaction) const LENGTH: usize = 64;

pub(super) struct KeyFileHandler<'a> {
    pub path: &'a str,
    pub before: bool,
    pub after: bool,
}

impl ChangeHandler for KeyFileHandler<'_> {
    fn observe(&self, cx: StepContext<'_>) -> Result<Observed, StepError> {
        let found = state(cx, &cx.run.real(self.path)?)?;
        Ok(match found {
            KeyFileState::None if !self.after => Observed::After,
            KeyFileState::None if !self.before => Observed::Before,
            KeyFileState::Key if self.before => Observed::Before,
            // A key that the plan did not expect opens something that the plan does not know.
            KeyFileState::Key => Observed::Other("a key file".into()),
            KeyFileState::None => Observed::Other("no file".into()),
            KeyFileState::Other(what) => Observed::Other(what),
        })
    }

    fn save(&self, cx: StepContext<'_>, _: &Journal<'_>, _: usize) -> Result<Saved, StepError> {
        let real = cx.run.real(self.path)?;
        let made = if self.after { cx.run.missing_folders(&real) } else { Vec::new() };
        Ok(Saved::Key { at: real, there: self.before, made })
    }

    fn make(&self, cx: StepContext<'_>) -> Result<Completed, StepError> {
        let real = cx.run.real(self.path)?;
        if self.after {
            cx.run.make_folders(&cx.run.missing_folders(&real))?;
            cx.run.make_key(&real, cx.tag, LENGTH)?;
        } else {
            cx.run.destroy_key(&real)?;
            // The folder goes with its last key.
            let folder = Some(KEY_DIR.to_owned()).filter(|folder| real.starts_with(folder));
            cx.run.remove_folders(folder.as_slice())?;
        }
        let words = |there: bool| if there { "a random key" } else { "no key" };
        Ok(Completed::changed(words(self.before), words(self.after)))
    }

    fn undo_state(&self, cx: StepContext<'_>, recorded: RecordedStep<'_>) -> Result<UndoState, StepError> {
        let Saved::Key { at: real, there, .. } = recorded.saved else { return Err(mismatch(self.path)) };
        Ok(match (state(cx, real)?, *there) {
            (KeyFileState::None, false) | (KeyFileState::Key, true) => UndoState::Saved,
            (KeyFileState::None, true) | (KeyFileState::Key, false) => UndoState::Ours,
            // Destroyed half-way: overwritten, not yet deleted.
            (KeyFileState::Other(_), true) if recorded.torn => UndoState::Ours,
            (KeyFileState::Other(what), _) => UndoState::Other(what),
        })
    }

    fn restore(&self, cx: StepContext<'_>, recorded: RecordedStep<'_>) -> Result<Restored, StepError> {
        let Saved::Key { at: real, there, .. } = recorded.saved else { return Err(mismatch(self.path)) };
        if *there {
            return Ok(Restored::Kept("the key is destroyed for good, as it was asked".into()));
        }
        cx.run.destroy_key(real)?;
        Ok(Restored::Whole)
    }
}

enum KeyFileState {
    None,
    Key,
    Other(String),
}

fn state(cx: StepContext<'_>, real: &str) -> Result<KeyFileState, StepError> {
    match fs::symlink_metadata(cx.run.host(real)) {
        Err(error) if is_missing(&error) => Ok(KeyFileState::None),
        Err(error) => Err(StepError::io("look at", real, error)),
        Ok(found) if found.is_file() && found.len() == LENGTH as u64 && found.mode() & 0o077 == 0 => Ok(KeyFileState::Key),
        Ok(found) => Ok(KeyFileState::Other(format!("a file of {} bytes that is no key of ours", found.len()))),
    }
}
