//! Swap areas on and off.

use swaptune_core::change::SwapState;
use swaptune_core::parse::swaps::SwapLine;

use super::{At, Back, Doer, Made, Past, Restored, Stand, mismatch};
use crate::apply::error::StepError;
use crate::apply::room;
use crate::journal::{Journal, Saved};

pub(super) struct Area<'a> {
    pub path: &'a str,
    pub before: Option<SwapState>,
    pub after: Option<SwapState>,
}

impl Doer for Area<'_> {
    fn stand(&self, at: At<'_>) -> Result<Stand, StepError> {
        let real = at.run.real(self.path)?;
        let found = state(at.run.area(&real)?);
        Ok(match found {
            None if self.after.is_some() && !at.run.exists(&real) => Stand::Gone(format!("{} is not there", self.path)),
            found if same(found, self.after) => Stand::After,
            found if same(found, self.before) => Stand::Before,
            found => Stand::Other(words(found)),
        })
    }

    fn save(&self, at: At<'_>, _: &Journal<'_>, _: usize) -> Result<Saved, StepError> {
        let real = at.run.real(self.path)?;
        let state = state(at.run.area(&real)?);
        Ok(Saved::Area { at: real, state })
    }

    fn make(&self, at: At<'_>) -> Result<Made, StepError> {
        become_state(at, &at.run.real(self.path)?, self.after)?;
        Ok(Made::changed(words(self.before), words(self.after)))
    }

    fn stand_back(&self, at: At<'_>, past: Past<'_>) -> Result<Back, StepError> {
        let Saved::Area { at: real, state: saved } = past.saved else { return Err(mismatch(self.path)) };
        let found = state(at.run.area(real)?);
        if same(found, *saved) {
            return Ok(Back::Saved);
        }
        if found.is_none() && !at.run.exists(real) {
            return Ok(Back::Other("not there any more".into()));
        }
        // A change of priority goes through off.
        let half = past.torn && found.is_none();
        if half || same(found, self.after) { Ok(Back::Ours) } else { Ok(Back::Other(words(found))) }
    }

    fn restore(&self, at: At<'_>, past: Past<'_>) -> Result<Restored, StepError> {
        let Saved::Area { at: real, state } = past.saved else { return Err(mismatch(self.path)) };
        become_state(at, real, *state)?;
        Ok(Restored::Whole)
    }
}

/// Switches an area off, on, or off and on: an area that is on keeps its priority.
fn become_state(at: At<'_>, real: &str, wanted: Option<SwapState>) -> Result<(), StepError> {
    if at.run.area(real)?.is_some() {
        room::check(&at.run, &[real.to_owned()])?;
        at.run.swap_off(real)?;
    }
    if let Some(wanted) = wanted {
        at.run.swap_on(real, wanted)?;
    }
    let found = state(at.run.area(real)?);
    if same(found, wanted) {
        return Ok(());
    }
    Err(StepError::NotTaken { path: real.to_owned(), wanted: words(wanted), found: words(found) })
}

fn state(area: Option<SwapLine>) -> Option<SwapState> {
    area.map(|area| SwapState { priority: area.priority, discard_once: false })
}

/// The kernel numbers areas without a priority downwards as they come, so that any negative one is the same. It does not
/// show discard.
fn same(a: Option<SwapState>, b: Option<SwapState>) -> bool {
    a.map(|area| area.priority.max(-1)) == b.map(|area| area.priority.max(-1))
}

fn words(state: Option<SwapState>) -> String {
    state.map_or_else(|| "off".into(), |state| format!("on, priority {}", state.priority))
}
