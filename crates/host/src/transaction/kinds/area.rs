//! Swap areas on and off.

use swaptune_core::change::SwapState;
use swaptune_core::parse::swaps::SwapLine;

use super::{ChangeHandler, Completed, Observed, RecordedStep, Restored, StepContext, UndoState, mismatch};
use crate::journal::{Journal, Saved};
use crate::transaction::error::StepError;
use crate::transaction::room;

pub(super) struct AreaHandler<'a> {
    pub path: &'a str,
    pub before: Option<SwapState>,
    pub after: Option<SwapState>,
}

impl ChangeHandler for AreaHandler<'_> {
    fn observe(&self, cx: StepContext<'_>) -> Result<Observed, StepError> {
        let real = cx.run.real(self.path)?;
        let found = state(cx.run.area(&real)?);
        Ok(match found {
            None if self.after.is_some() && !cx.run.exists(&real) => Observed::Gone(format!("{} is not there", self.path)),
            found if same(found, self.after) => Observed::After,
            found if same(found, self.before) => Observed::Before,
            found => Observed::Other(words(found)),
        })
    }

    fn save(&self, cx: StepContext<'_>, _: &Journal<'_>, _: usize) -> Result<Saved, StepError> {
        let real = cx.run.real(self.path)?;
        // What is discarded is not shown: the plan knows it from the line that brought the area.
        let known = self.before.unwrap_or_default();
        let state = state(cx.run.area(&real)?).map(|found| SwapState { priority: found.priority, ..known });
        Ok(Saved::Area { at: real, state })
    }

    fn make(&self, cx: StepContext<'_>) -> Result<Completed, StepError> {
        become_state(cx, &cx.run.real(self.path)?, self.after)?;
        Ok(Completed::changed(words(self.before), words(self.after)))
    }

    fn undo_state(&self, cx: StepContext<'_>, recorded: RecordedStep<'_>) -> Result<UndoState, StepError> {
        let Saved::Area { at, state: saved } = recorded.saved else { return Err(mismatch(self.path)) };
        let real = &self.place(cx, at)?;
        let found = state(cx.run.area(real)?);
        if same(found, *saved) {
            return Ok(UndoState::Saved);
        }
        if found.is_none() && !cx.run.exists(real) {
            if saved.is_some() && cx.run.has_device(real) {
                return Err(hidden(real));
            }
            return Ok(if real.starts_with("/dev/") { UndoState::Away } else { UndoState::Other("not there any more".into()) });
        }
        // A change of priority goes through off.
        let half = recorded.torn && found.is_none();
        if half || same(found, self.after) { Ok(UndoState::Ours) } else { Ok(UndoState::Other(words(found))) }
    }

    fn restore(&self, cx: StepContext<'_>, recorded: RecordedStep<'_>) -> Result<Restored, StepError> {
        let Saved::Area { at, state } = recorded.saved else { return Err(mismatch(self.path)) };
        become_state(cx, &self.place(cx, at)?, *state)?;
        Ok(Restored::Whole)
    }
}

impl AreaHandler<'_> {
    /// Where the area is now: a mapping keeps its name, and has another number after a reboot.
    fn place(&self, cx: StepContext<'_>, saved: &str) -> Result<String, StepError> {
        if self.path.starts_with("/dev/mapper/") { cx.run.real(self.path) } else { Ok(saved.to_owned()) }
    }
}

/// An area that was on, of a device that a service's sandbox keeps out of its `/dev`: another process can switch it on again.
fn hidden(path: &str) -> StepError {
    StepError::Refused {
        what: path.to_owned(),
        why: "the kernel has this device, and this process does not see it".into(),
        hint: "run `sudo swaptune daemon restore` in a terminal".into(),
    }
}

/// Switches an area off, on, or off and on: an area that is on keeps its priority.
fn become_state(cx: StepContext<'_>, real: &str, wanted: Option<SwapState>) -> Result<(), StepError> {
    if cx.run.area(real)?.is_some() {
        room::check_swapoff(&cx.run, &[real.to_owned()])?;
        cx.run.swap_off(real)?;
    }
    if let Some(wanted) = wanted {
        cx.run.swap_on(real, wanted)?;
    }
    let found = state(cx.run.area(real)?);
    if same(found, wanted) {
        return Ok(());
    }
    Err(StepError::NotTaken { path: real.to_owned(), wanted: words(wanted), found: words(found) })
}

fn state(area: Option<SwapLine>) -> Option<SwapState> {
    area.map(|area| SwapState::at(area.priority))
}

/// The kernel numbers areas without a priority downwards as they come, so that any negative one is the same. It does not
/// show discard.
fn same(a: Option<SwapState>, b: Option<SwapState>) -> bool {
    a.map(|area| area.priority.max(-1)) == b.map(|area| area.priority.max(-1))
}

fn words(state: Option<SwapState>) -> String {
    state.map_or_else(|| "off".into(), |state| format!("on, priority {}", state.priority))
}
