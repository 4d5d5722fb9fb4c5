//! Kernel modules.

use super::{At, Back, Doer, Made, Past, Restored, Stand, mismatch};
use crate::apply::error::{StepError, chain};
use crate::journal::{Journal, Saved};

pub(super) struct Module<'a> {
    pub name: &'a str,
    pub before: bool,
    pub after: bool,
}

impl Doer for Module<'_> {
    fn stand(&self, at: At<'_>) -> Result<Stand, StepError> {
        let loaded = is_loaded(at, self.name);
        Ok(match loaded {
            loaded if loaded == self.after => Stand::After,
            loaded if loaded == self.before => Stand::Before,
            loaded => Stand::Other(words(loaded).into()),
        })
    }

    fn save(&self, at: At<'_>, _: &Journal<'_>, _: usize) -> Result<Saved, StepError> {
        Ok(Saved::Module { loaded: is_loaded(at, self.name) })
    }

    fn make(&self, at: At<'_>) -> Result<Made, StepError> {
        put(at, self.name, self.after)?;
        Ok(Made::changed(words(self.before), words(self.after)))
    }

    fn stand_back(&self, at: At<'_>, past: Past<'_>) -> Result<Back, StepError> {
        let Saved::Module { loaded } = past.saved else { return Err(mismatch(self.name)) };
        Ok(if is_loaded(at, self.name) == *loaded { Back::Saved } else { Back::Ours })
    }

    fn restore(&self, at: At<'_>, past: Past<'_>) -> Result<Restored, StepError> {
        let Saved::Module { loaded } = past.saved else { return Err(mismatch(self.name)) };
        match put(at, self.name, *loaded) {
            // A module that something else has begun to use stays.
            Err(error) if !loaded && is_loaded(at, self.name) => Ok(Restored::Kept(chain(&error))),
            result => result.map(|()| Restored::Whole),
        }
    }
}

fn put(at: At<'_>, name: &str, loaded: bool) -> Result<(), StepError> {
    if loaded { at.run.load_module(name) } else { at.run.unload_module(name) }
}

/// Built-in code with parameters has a folder there too, and is as good as loaded.
pub(super) fn is_loaded(at: At<'_>, name: &str) -> bool {
    at.run.exists(&format!("/sys/module/{}", name.replace('-', "_")))
}

fn words(loaded: bool) -> &'static str {
    if loaded { "loaded" } else { "not loaded" }
}
