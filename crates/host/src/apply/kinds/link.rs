//! Symbolic links, such as those that enable units.

use std::fs;
use std::io;

use super::{At, Back, Doer, Made, Past, Restored, Stand, mismatch};
use crate::apply::error::StepError;
use crate::apply::run::is_missing;
use crate::journal::{Journal, Saved};

pub(super) struct Link<'a> {
    pub path: &'a str,
    pub before: Option<&'a str>,
    pub after: Option<&'a str>,
}

impl Doer for Link<'_> {
    fn stand(&self, at: At<'_>) -> Result<Stand, StepError> {
        let found = read(at, &at.run.place(self.path)?)?;
        Ok(match found.as_deref() {
            found if found == self.after => Stand::After,
            found if found == self.before => Stand::Before,
            found => Stand::Other(words(found)),
        })
    }

    fn save(&self, at: At<'_>, _: &Journal<'_>, _: usize) -> Result<Saved, StepError> {
        let real = at.run.place(self.path)?;
        let target = read(at, &real)?;
        let made = if self.after.is_some() { at.run.missing_folders(&real) } else { Vec::new() };
        Ok(Saved::Link { at: real, target, made })
    }

    fn make(&self, at: At<'_>) -> Result<Made, StepError> {
        put(at, &at.run.place(self.path)?, self.after)?;
        Ok(Made::changed(words(self.before), words(self.after)))
    }

    fn stand_back(&self, at: At<'_>, past: Past<'_>) -> Result<Back, StepError> {
        let Saved::Link { at: real, target, .. } = past.saved else { return Err(mismatch(self.path)) };
        Ok(match read(at, real)?.as_deref() {
            found if found == target.as_deref() => Back::Saved,
            found if found == self.after => Back::Ours,
            found => Back::Other(words(found)),
        })
    }

    fn restore(&self, at: At<'_>, past: Past<'_>) -> Result<Restored, StepError> {
        let Saved::Link { at: real, target, .. } = past.saved else { return Err(mismatch(self.path)) };
        put(at, real, target.as_deref())?;
        Ok(Restored::Whole)
    }
}

fn put(at: At<'_>, real: &str, target: Option<&str>) -> Result<(), StepError> {
    match target {
        None => at.run.delete(real),
        Some(target) => {
            at.run.make_folders(&at.run.missing_folders(real))?;
            at.run.put_link(real, at.tag, target)
        }
    }
}

/// Where the link points; a file or folder in its place is refused.
fn read(at: At<'_>, real: &str) -> Result<Option<String>, StepError> {
    match fs::read_link(at.run.host(real)) {
        Ok(target) => Ok(Some(target.to_string_lossy().into_owned())),
        Err(error) if is_missing(&error) => Ok(None),
        Err(error) if error.kind() == io::ErrorKind::InvalidInput => Err(StepError::Refused {
            what: real.to_owned(),
            why: "it is not a symbolic link".into(),
            hint: "move it away by hand".into(),
        }),
        Err(error) => Err(StepError::io("read", real, error)),
    }
}

fn words(target: Option<&str>) -> String {
    target.map_or_else(|| "no link".into(), |target| format!("a link to {target}"))
}
