//! Swap files: made whole or not at all, deleted only when they are off.

use std::fs;

use swaptune_core::Bytes;
use swaptune_core::change::SwapFileState;

use super::{ChangeHandler, Completed, Observed, RecordedStep, Restored, StepContext, UndoState, mismatch, saved_attributes};
use crate::journal::record::SavedSwapFile;
use crate::journal::{Journal, Saved};
use crate::swap_header;
use crate::transaction::error::StepError;
use crate::transaction::room;
use crate::transaction::run::{FileAttributes, is_missing};

/// Only root may read what was in memory.
const MODE: u32 = 0o600;

pub(super) struct SwapFileHandler<'a> {
    pub path: &'a str,
    pub before: Option<&'a SwapFileState>,
    pub after: Option<&'a SwapFileState>,
}

impl ChangeHandler for SwapFileHandler<'_> {
    fn observe(&self, cx: StepContext<'_>) -> Result<Observed, StepError> {
        let found = size(cx, &cx.run.real(self.path)?)?;
        let is_before = found == self.before.map(|side| side.size);
        Ok(match () {
            () if is_before && self.before != self.after => Observed::Before,
            // An existing file of the right size is not the one that is wanted: what it holds may be needed.
            () if is_before || self.after.is_none() && found.is_none() => Observed::After,
            () => Observed::Other(words(found)),
        })
    }

    fn save(&self, cx: StepContext<'_>, journal: &Journal<'_>, seq: usize) -> Result<Saved, StepError> {
        let real = cx.run.real(self.path)?;
        let made = if self.after.is_some() { cx.run.missing_folders(&real) } else { Vec::new() };
        let file = match size(cx, &real)? {
            None => None,
            Some(size) => {
                let open = fs::File::open(cx.run.host(&real));
                let head = open.and_then(|file| swap_header::range(&file, 0, cx.run.kernel.page_size()));
                let head = head.map_err(|error| StepError::io("read", &real, error))?;
                let nocow = self.before.is_some_and(|before| before.nocow);
                let head = cx.save_bytes(journal, seq, 0, &real, &head)?;
                Some(SavedSwapFile { state: SwapFileState { size, nocow }, head })
            }
        };
        Ok(Saved::SwapFile { at: real, file, made })
    }

    fn make(&self, cx: StepContext<'_>) -> Result<Completed, StepError> {
        let real = cx.run.real(self.path)?;
        match (size(cx, &real)?, self.before) {
            (Some(found), Some(before)) if found == before.size => delete(cx, &real)?,
            (None, _) => {}
            (found, before) => {
                let (expected, found) = (words(before.map(|before| before.size)), words(found));
                return Err(StepError::Conflict { what: real, expected, found });
            }
        }
        if let Some(after) = self.after {
            room::check_swap_file(&cx.run, &real, after, 0)?;
            cx.run.make_folders(&cx.run.missing_folders(&real))?;
            cx.run.make_swap_file(&real, cx.tag, after, &FileAttributes::new(MODE))?;
        }
        let words = |side: Option<&SwapFileState>| words(side.map(|side| side.size));
        Ok(Completed::changed(words(self.before), words(self.after)))
    }

    fn undo_state(&self, cx: StepContext<'_>, recorded: RecordedStep<'_>) -> Result<UndoState, StepError> {
        let Saved::SwapFile { at: real, file, .. } = recorded.saved else { return Err(mismatch(self.path)) };
        let found = size(cx, real)?;
        if found.is_none() && cx.run.area(real)?.is_some() {
            // A service with a /tmp or /home of its own does not see it, and must not take it for deleted.
            return Err(StepError::Refused {
                what: real.clone(),
                why: "it is on as swap, and is not seen from here".into(),
                hint: "sudo swaptune rollback".into(),
            });
        }
        Ok(match found {
            found if found == file.as_ref().map(|file| file.state.size) => UndoState::Saved,
            found if found.is_none() && self.after.is_none() => UndoState::Ours,
            found if found == self.after.map(|after| after.size) => self.made_by_us(cx, real)?,
            // A file is deleted before another is made in its place.
            None if recorded.torn => UndoState::Ours,
            // A file without a swap header was given up, with all that came after it: there is nothing to bring back.
            None if self.is_given_up(cx, recorded)? => UndoState::Ours,
            found => UndoState::Other(words(found)),
        })
    }

    fn restore(&self, cx: StepContext<'_>, recorded: RecordedStep<'_>) -> Result<Restored, StepError> {
        let Saved::SwapFile { at: real, file, .. } = recorded.saved else { return Err(mismatch(self.path)) };
        if size(cx, real)?.is_some() {
            delete(cx, real)?;
        }
        let Some(file) = file else { return Ok(Restored::Whole) };
        let head = recorded.state.load(&file.head.blob)?;
        if !swap_header::is_header(&head, cx.run.kernel.page_size()) {
            return Ok(Restored::Kept("what it held was given up when it was replaced, and is not kept".into()));
        }
        cx.run.make_folders(&cx.run.missing_folders(real))?;
        cx.run.make_swap_file(real, cx.tag, &file.state, &saved_attributes(&file.head))?;
        let open = cx.run.open_exclusive(real)?;
        cx.run.overwrite(real, &open, &[(0, head)])?;
        Ok(Restored::Whole)
    }
}

impl SwapFileHandler<'_> {
    /// Whether the file that was there is one that a rollback does not make again.
    fn is_given_up(&self, cx: StepContext<'_>, recorded: RecordedStep<'_>) -> Result<bool, StepError> {
        let Saved::SwapFile { file: Some(file), .. } = recorded.saved else { return Ok(false) };
        Ok(!swap_header::is_header(&recorded.state.load(&file.head.blob)?, cx.run.kernel.page_size()))
    }

    /// A file of the right size is ours when it begins as we made it: the header that we wrote is taken back before, and swap
    /// never touches the first page. Anything else was put there since, and is left alone.
    fn made_by_us(&self, cx: StepContext<'_>, real: &str) -> Result<UndoState, StepError> {
        let failed = |error| StepError::io("read", real, error);
        let mut file = fs::File::open(cx.run.host(real)).map_err(failed)?;
        let head = swap_header::range(&file, 0, cx.run.kernel.page_size()).map_err(failed)?;
        if head.iter().all(|byte| *byte == 0) {
            return Ok(UndoState::Ours);
        }
        let header = swap_header::read(&mut file, cx.run.kernel.page_size()).map_err(failed)?;
        let holds = header.map_or_else(|| "that is no swap file of ours".into(), |header| format!("with swap {}", header.uuid));
        Ok(UndoState::Other(format!("{} {holds}", words(Some(Bytes(file.metadata().map_err(failed)?.len()))))))
    }
}

fn delete(cx: StepContext<'_>, real: &str) -> Result<(), StepError> {
    if cx.run.area(real)?.is_some() {
        return Err(StepError::Refused {
            what: format!("deleting {real}"),
            why: "it is in use as swap".into(),
            hint: format!("`swapoff {real}` first"),
        });
    }
    cx.run.delete(real)
}

/// The size of the file; anything but a regular file in its place is refused.
fn size(cx: StepContext<'_>, real: &str) -> Result<Option<Bytes>, StepError> {
    match fs::symlink_metadata(cx.run.host(real)) {
        Err(error) if is_missing(&error) => Ok(None),
        Err(error) => Err(StepError::io("read", real, error)),
        Ok(found) if found.is_file() => Ok(Some(Bytes(found.len()))),
        Ok(_) => Err(StepError::Refused {
            what: real.to_owned(),
            why: "it is not a regular file".into(),
            hint: "choose another path for the swap file".into(),
        }),
    }
}

fn words(size: Option<Bytes>) -> String {
    size.map_or_else(|| "no file".into(), |size| format!("a file of {size}"))
}
