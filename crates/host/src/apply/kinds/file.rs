//! Text files, as a whole.

use super::{At, Back, Doer, Made, Past, Restored, Stand, mismatch};
use crate::apply::error::StepError;
use crate::apply::run::Look;
use crate::journal::{Journal, Saved};

pub(super) struct File<'a> {
    pub path: &'a str,
    pub before: Option<&'a str>,
    pub after: Option<&'a str>,
    pub mode: u32,
}

impl Doer for File<'_> {
    fn stand(&self, at: At<'_>) -> Result<Stand, StepError> {
        let found = at.run.read(&at.run.real(self.path)?)?;
        let is = |side: Option<&str>| found.as_deref() == side.map(str::as_bytes);
        Ok(match () {
            () if is(self.after) => Stand::After,
            () if is(self.before) => Stand::Before,
            () => Stand::Other(words(found.as_deref())),
        })
    }

    fn save(&self, at: At<'_>, journal: &Journal<'_>, seq: usize) -> Result<Saved, StepError> {
        let real = at.run.real(self.path)?;
        let file = at.save_file(journal, seq, 0, &real)?;
        let made = if self.after.is_some() { at.run.missing_folders(&real) } else { Vec::new() };
        Ok(Saved::File { at: real, file, made })
    }

    fn make(&self, at: At<'_>) -> Result<Made, StepError> {
        let real = at.run.real(self.path)?;
        match self.after {
            None => at.run.delete(&real)?,
            Some(text) => {
                let host = at.run.host(&real);
                let look = if host.exists() { Look::of(&host) } else { Ok(Look::new(self.mode)) };
                let look = look.map_err(|error| StepError::io("read", &real, error))?;
                at.run.make_folders(&at.run.missing_folders(&real))?;
                at.run.put_file(&real, at.tag, text.as_bytes(), &look)?;
            }
        }
        Ok(Made::changed(words(self.before.map(str::as_bytes)), words(self.after.map(str::as_bytes))))
    }

    fn stand_back(&self, at: At<'_>, past: Past<'_>) -> Result<Back, StepError> {
        let Saved::File { at: real, file, .. } = past.saved else { return Err(mismatch(self.path)) };
        if at.is_saved(real, file.as_ref())? {
            return Ok(Back::Saved);
        }
        let found = at.run.read(real)?;
        let ours = found.as_deref() == self.after.map(str::as_bytes);
        Ok(if ours { Back::Ours } else { Back::Other(words(found.as_deref())) })
    }

    fn restore(&self, at: At<'_>, past: Past<'_>) -> Result<Restored, StepError> {
        let Saved::File { at: real, file, .. } = past.saved else { return Err(mismatch(self.path)) };
        at.restore_file(past.state, real, file.as_ref())?;
        Ok(Restored::Whole)
    }
}

fn words(bytes: Option<&[u8]>) -> String {
    match bytes {
        None => "no file".into(),
        Some(bytes) => format!("a file of {} bytes ({})", bytes.len(), crate::journal::fingerprint(bytes)),
    }
}
