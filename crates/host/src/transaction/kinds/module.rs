//! Kernel modules.

use super::{ChangeHandler, Completed, Observed, RecordedStep, Restored, StepContext, UndoState, mismatch};
use crate::error_chain;
use crate::journal::{Journal, Saved};
use crate::transaction::error::StepError;

pub(super) struct Module<'a> {
    pub name: &'a str,
    pub before: bool,
    pub after: bool,
}

impl ChangeHandler for Module<'_> {
    fn observe(&self, cx: StepContext<'_>) -> Result<Observed, StepError> {
        let loaded = is_loaded(cx, self.name);
        Ok(match loaded {
            loaded if loaded == self.after => Observed::After,
            loaded if loaded == self.before => Observed::Before,
            loaded => Observed::Other(words(loaded).into()),
        })
    }

    fn save(&self, cx: StepContext<'_>, _: &Journal<'_>, _: usize) -> Result<Saved, StepError> {
        Ok(Saved::Module { loaded: is_loaded(cx, self.name) })
    }

    fn make(&self, cx: StepContext<'_>) -> Result<Completed, StepError> {
        put(cx, self.name, self.after)?;
        Ok(Completed::changed(words(self.before), words(self.after)))
    }

    fn undo_state(&self, cx: StepContext<'_>, recorded: RecordedStep<'_>) -> Result<UndoState, StepError> {
        let Saved::Module { loaded } = recorded.saved else { return Err(mismatch(self.name)) };
        Ok(if is_loaded(cx, self.name) == *loaded { UndoState::Saved } else { UndoState::Ours })
    }

    fn restore(&self, cx: StepContext<'_>, recorded: RecordedStep<'_>) -> Result<Restored, StepError> {
        let Saved::Module { loaded } = recorded.saved else { return Err(mismatch(self.name)) };
        match put(cx, self.name, *loaded) {
            // A module that something else has begun to use stays.
            Err(error) if !loaded && is_loaded(cx, self.name) => Ok(Restored::Kept(error_chain(&error))),
            result => result.map(|()| Restored::Whole),
        }
    }
}

fn put(cx: StepContext<'_>, name: &str, loaded: bool) -> Result<(), StepError> {
    if loaded { cx.run.load_module(name) } else { cx.run.unload_module(name) }
}

/// Built-in code with parameters has a folder there too, and is as good as loaded.
pub(super) fn is_loaded(cx: StepContext<'_>, name: &str) -> bool {
    cx.run.exists(&format!("/sys/module/{}", name.replace('-', "_")))
}

fn words(loaded: bool) -> &'static str {
    if loaded { "loaded" } else { "not loaded" }
}
