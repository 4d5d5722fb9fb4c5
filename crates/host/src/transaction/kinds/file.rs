//! Text files, as a whole.

use super::{ChangeHandler, Completed, Observed, RecordedStep, Restored, StepContext, UndoState, mismatch};
use crate::journal::{Journal, Saved};
use crate::transaction::error::StepError;
use crate::transaction::run::FileAttributes;

pub(super) struct FileHandler<'a> {
    pub path: &'a str,
    pub before: Option<&'a str>,
    pub after: Option<&'a str>,
    pub mode: u32,
}

impl ChangeHandler for FileHandler<'_> {
    fn observe(&self, cx: StepContext<'_>) -> Result<Observed, StepError> {
        let found = cx.run.read(&cx.run.real(self.path)?)?;
        let is = |side: Option<&str>| found.as_deref() == side.map(str::as_bytes);
        Ok(match () {
            () if is(self.after) => Observed::After,
            () if is(self.before) => Observed::Before,
            () => {
                self.refuse_what_is_no_text(found.as_deref().unwrap_or_default())?;
                Observed::Other(words(found.as_deref()))
            }
        })
    }

    fn save(&self, cx: StepContext<'_>, journal: &Journal<'_>, seq: usize) -> Result<Saved, StepError> {
        let real = cx.run.real(self.path)?;
        let file = cx.save_file(journal, seq, 0, &real)?;
        let made = if self.after.is_some() { cx.run.missing_folders(&real) } else { Vec::new() };
        Ok(Saved::File { at: real, file, made })
    }

    fn make(&self, cx: StepContext<'_>) -> Result<Completed, StepError> {
        let real = cx.run.real(self.path)?;
        match self.after {
            None => cx.run.delete(&real)?,
            Some(text) => {
                let host = cx.run.host(&real);
                let attributes = if host.exists() { FileAttributes::of(&host) } else { Ok(FileAttributes::new(self.mode)) };
                let attributes = attributes.map_err(|error| StepError::io("read", &real, error))?;
                cx.run.make_folders(&cx.run.missing_folders(&real))?;
                cx.run.put_file(&real, cx.tag, text.as_bytes(), &attributes)?;
            }
        }
        Ok(Completed::changed(words(self.before.map(str::as_bytes)), words(self.after.map(str::as_bytes))))
    }

    fn undo_state(&self, cx: StepContext<'_>, recorded: RecordedStep<'_>) -> Result<UndoState, StepError> {
        let Saved::File { at: real, file, .. } = recorded.saved else { return Err(mismatch(self.path)) };
        if cx.is_saved(real, file.as_ref())? {
            return Ok(UndoState::Saved);
        }
        let found = cx.run.read(real)?;
        let ours = found.as_deref() == self.after.map(str::as_bytes);
        Ok(if ours { UndoState::Ours } else { UndoState::Other(words(found.as_deref())) })
    }

    fn restore(&self, cx: StepContext<'_>, recorded: RecordedStep<'_>) -> Result<Restored, StepError> {
        let Saved::File { at: real, file, .. } = recorded.saved else { return Err(mismatch(self.path)) };
        cx.restore_file(recorded.state, real, file.as_ref())?;
        Ok(Restored::Whole)
    }
}

impl FileHandler<'_> {
    /// A plan is made of text: other bytes would be lost, and are no change of another program's.
    fn refuse_what_is_no_text(&self, bytes: &[u8]) -> Result<(), StepError> {
        let Err(error) = std::str::from_utf8(bytes) else { return Ok(()) };
        let line = bytes[..error.valid_up_to()].iter().filter(|byte| **byte == b'\n').count() + 1;
        Err(StepError::Refused {
            what: self.path.to_owned(),
            why: format!("line {line} is no UTF-8, and what it holds would be lost"),
            hint: format!("convert it: iconv -f latin1 -t utf-8 {0} -o {0}.new, look at it, mv {0}.new {0}", self.path),
        })
    }
}

/// A file by what tells it from others, for both sides of a comparison.
pub(crate) fn words(bytes: Option<&[u8]>) -> String {
    match bytes {
        None => "no file".into(),
        Some(bytes) => format!("a file of {} bytes ({})", bytes.len(), crate::journal::fingerprint(bytes)),
    }
}

/// Lines that this step put into a file and that are still in what was found there.
pub(crate) fn lines_still_there(before: Option<&str>, after: Option<&str>, found: Option<&[u8]>) -> Vec<String> {
    let found = String::from_utf8_lossy(found.unwrap_or_default());
    let lines = |text: &str, line: &str| text.lines().any(|other| other == line);
    let is_ours = |line: &&str| !line.trim().is_empty() && !lines(before.unwrap_or_default(), line) && lines(&found, line);
    after.unwrap_or_default().lines().filter(is_ours).map(str::to_owned).collect()
}
