//! Symbolic links, such as those that enable units.

use std::fs;
use std::io;

use super::{ChangeHandler, Completed, Observed, RecordedStep, Restored, StepContext, UndoState, mismatch};
use crate::journal::{Journal, Saved};
use crate::transaction::error::StepError;
use crate::transaction::run::is_missing;

pub(super) struct Link<'a> {
    pub path: &'a str,
    pub before: Option<&'a str>,
    pub after: Option<&'a str>,
}

impl ChangeHandler for Link<'_> {
    fn observe(&self, cx: StepContext<'_>) -> Result<Observed, StepError> {
        let found = read(cx, &cx.run.place(self.path)?)?;
        Ok(match found.as_deref() {
            found if found == self.after => Observed::After,
            found if found == self.before => Observed::Before,
            found => Observed::Other(words(found)),
        })
    }

    fn save(&self, cx: StepContext<'_>, _: &Journal<'_>, _: usize) -> Result<Saved, StepError> {
        let real = cx.run.place(self.path)?;
        let target = read(cx, &real)?;
        let made = if self.after.is_some() { cx.run.missing_folders(&real) } else { Vec::new() };
        Ok(Saved::Link { at: real, target, made })
    }

    fn make(&self, cx: StepContext<'_>) -> Result<Completed, StepError> {
        let place = cx.run.place(self.path)?;
        put(cx, &place, self.after)?;
        // A folder of wishes of one device is of no use when it is empty, and only we make one.
        if let Some((folder, _)) = place.rsplit_once('/').filter(|(folder, _)| folder.ends_with(".device.wants")) {
            cx.run.remove_folders(&[folder.to_owned()])?;
        }
        Ok(Completed::changed(words(self.before), words(self.after)))
    }

    fn undo_state(&self, cx: StepContext<'_>, recorded: RecordedStep<'_>) -> Result<UndoState, StepError> {
        let Saved::Link { at: real, target, .. } = recorded.saved else { return Err(mismatch(self.path)) };
        Ok(match read(cx, real)?.as_deref() {
            found if found == target.as_deref() => UndoState::Saved,
            found if found == self.after => UndoState::Ours,
            found => UndoState::Other(words(found)),
        })
    }

    fn restore(&self, cx: StepContext<'_>, recorded: RecordedStep<'_>) -> Result<Restored, StepError> {
        let Saved::Link { at: real, target, .. } = recorded.saved else { return Err(mismatch(self.path)) };
        put(cx, real, target.as_deref())?;
        Ok(Restored::Whole)
    }
}

fn put(cx: StepContext<'_>, real: &str, target: Option<&str>) -> Result<(), StepError> {
    match target {
        None => cx.run.delete(real),
        Some(target) => {
            cx.run.make_folders(&cx.run.missing_folders(real))?;
            cx.run.put_link(real, cx.tag, target)
        }
    }
}

/// Where the link points; a file or folder in its place is refused.
fn read(cx: StepContext<'_>, real: &str) -> Result<Option<String>, StepError> {
    match fs::read_link(cx.run.host(real)) {
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
