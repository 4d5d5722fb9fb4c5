//! Swap files: made whole or not at all, deleted only when they are off.

use std::fs;

use swaptune_core::Bytes;
use swaptune_core::change::SwapFileState;

use super::{At, Back, Doer, Made, Past, Restored, Stand, mismatch, saved_look};
use crate::apply::error::StepError;
use crate::apply::run::{Look, is_missing};
use crate::journal::record::SavedSwapFile;
use crate::journal::{Journal, Saved};
use crate::{swap_header, swapfile};

/// Nobody but root may read what was in memory.
const MODE: u32 = 0o600;

pub(super) struct SwapFile<'a> {
    pub path: &'a str,
    pub before: Option<&'a SwapFileState>,
    pub after: Option<&'a SwapFileState>,
}

impl Doer for SwapFile<'_> {
    fn stand(&self, at: At<'_>) -> Result<Stand, StepError> {
        let found = size(at, &at.run.real(self.path)?)?;
        let is_before = found == self.before.map(|side| side.size);
        Ok(match () {
            () if is_before && self.before != self.after => Stand::Before,
            // An existing file of the right size is not the one that is wanted: what it holds may be needed.
            () if is_before || self.after.is_none() && found.is_none() => Stand::After,
            () => Stand::Other(words(found)),
        })
    }

    fn save(&self, at: At<'_>, journal: &Journal<'_>, seq: usize) -> Result<Saved, StepError> {
        let real = at.run.real(self.path)?;
        let made = if self.after.is_some() { at.run.missing_folders(&real) } else { Vec::new() };
        let file = match size(at, &real)? {
            None => None,
            Some(size) => {
                let open = fs::File::open(at.run.host(&real));
                let head = open.and_then(|file| swap_header::range(&file, 0, at.run.kernel.page_size()));
                let head = head.map_err(|error| StepError::io("read", &real, error))?;
                let nocow = self.before.is_some_and(|before| before.nocow);
                let head = at.save_bytes(journal, seq, 0, &real, &head)?;
                Some(SavedSwapFile { state: SwapFileState { size, nocow }, head })
            }
        };
        Ok(Saved::SwapFile { at: real, file, made })
    }

    fn make(&self, at: At<'_>) -> Result<Made, StepError> {
        let real = at.run.real(self.path)?;
        match (size(at, &real)?, self.before) {
            (Some(found), Some(before)) if found == before.size => delete(at, &real)?,
            (None, _) => {}
            (found, before) => {
                let (expected, found) = (words(before.map(|before| before.size)), words(found));
                return Err(StepError::Conflict { what: real, expected, found });
            }
        }
        if let Some(after) = self.after {
            swapfile::check(&at.run, &real, after, 0)?;
            at.run.make_folders(&at.run.missing_folders(&real))?;
            at.run.make_swap_file(&real, at.tag, after, &Look::new(MODE))?;
        }
        let words = |side: Option<&SwapFileState>| words(side.map(|side| side.size));
        Ok(Made::changed(words(self.before), words(self.after)))
    }

    fn stand_back(&self, at: At<'_>, past: Past<'_>) -> Result<Back, StepError> {
        let Saved::SwapFile { at: real, file, .. } = past.saved else { return Err(mismatch(self.path)) };
        let found = size(at, real)?;
        Ok(match found {
            found if found == file.as_ref().map(|file| file.state.size) => Back::Saved,
            found if found.is_none() && self.after.is_none() => Back::Ours,
            found if found == self.after.map(|after| after.size) => self.made_by_us(at, real)?,
            // A file is deleted before another is made in its place.
            None if past.torn => Back::Ours,
            // A file without a swap header was given up, with all that came after it: there is nothing to bring back.
            None if self.is_given_up(at, past)? => Back::Ours,
            found => Back::Other(words(found)),
        })
    }

    fn restore(&self, at: At<'_>, past: Past<'_>) -> Result<Restored, StepError> {
        let Saved::SwapFile { at: real, file, .. } = past.saved else { return Err(mismatch(self.path)) };
        if size(at, real)?.is_some() {
            delete(at, real)?;
        }
        let Some(file) = file else { return Ok(Restored::Whole) };
        let head = past.state.load(&file.head.blob)?;
        if !swap_header::is_header(&head, at.run.kernel.page_size()) {
            return Ok(Restored::Kept("what it held was given up when it was replaced, and is not kept".into()));
        }
        at.run.make_folders(&at.run.missing_folders(real))?;
        at.run.make_swap_file(real, at.tag, &file.state, &saved_look(&file.head))?;
        let open = at.run.open_exclusive(real)?;
        at.run.overwrite(real, &open, &[(0, head)])?;
        Ok(Restored::Whole)
    }
}

impl SwapFile<'_> {
    /// Whether the file that was there is one that a rollback does not make again.
    fn is_given_up(&self, at: At<'_>, past: Past<'_>) -> Result<bool, StepError> {
        let Saved::SwapFile { file: Some(file), .. } = past.saved else { return Ok(false) };
        Ok(!swap_header::is_header(&past.state.load(&file.head.blob)?, at.run.kernel.page_size()))
    }

    /// A file of the right size is ours when it begins as we made it: the header that we wrote is taken back before, and swap
    /// never touches the first page. Anything else was put there since, and is left alone.
    fn made_by_us(&self, at: At<'_>, real: &str) -> Result<Back, StepError> {
        let failed = |error| StepError::io("read", real, error);
        let mut file = fs::File::open(at.run.host(real)).map_err(failed)?;
        let head = swap_header::range(&file, 0, at.run.kernel.page_size()).map_err(failed)?;
        if head.iter().all(|byte| *byte == 0) {
            return Ok(Back::Ours);
        }
        let header = swap_header::read(&mut file, at.run.kernel.page_size()).map_err(failed)?;
        let holds = header.map_or_else(|| "that is no swap file of ours".into(), |header| format!("with swap {}", header.uuid));
        Ok(Back::Other(format!("{} {holds}", words(Some(Bytes(file.metadata().map_err(failed)?.len()))))))
    }
}

fn delete(at: At<'_>, real: &str) -> Result<(), StepError> {
    if at.run.area(real)?.is_some() {
        return Err(StepError::Refused {
            what: format!("deleting {real}"),
            why: "it is in use as swap".into(),
            hint: format!("`swapoff {real}` first"),
        });
    }
    at.run.delete(real)
}

/// The size of the file; anything but a regular file in its place is refused.
fn size(at: At<'_>, real: &str) -> Result<Option<Bytes>, StepError> {
    match fs::symlink_metadata(at.run.host(real)) {
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
