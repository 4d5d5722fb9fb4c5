//! Kernel settings.
//!
//! A value is written in the spelling that the knob takes and read back. Where the kernel refuses it and the plan names
//! others, those are tried in their order.

use std::io;

use swaptune_core::knobs;

use super::{ChangeHandler, Completed, Observed, RecordedStep, Restored, StepContext, UndoState, mismatch};
use crate::error_chain;
use crate::journal::record::StepOutcome;
use crate::journal::{Journal, Saved};
use crate::transaction::error::StepError;
use crate::transaction::run::Run;

/// Settings that the kernel itself replaces when zswap is switched on.
const REPLACED: [&str; 2] = ["zswap.compressor", "zswap.zpool"];

/// What the kernel counts down while it works, so that less than what was written is still ours.
const COUNTS_DOWN: &str = "zram.writeback_limit";

pub(super) struct KnobHandler<'a> {
    pub name: &'a str,
    pub path: &'a str,
    pub before: &'a str,
    pub after: &'a str,
    pub fallbacks: &'a [String],
}

impl ChangeHandler for KnobHandler<'_> {
    fn observe(&self, cx: StepContext<'_>) -> Result<Observed, StepError> {
        Ok(match read(&cx.run, self.path)? {
            None if is_of_device(self.path) => Observed::Gone(format!("{} is not there any more", self.path)),
            None => Observed::Other("not in this kernel".into()),
            Some(found) if same(self.name, &found, self.after) => Observed::After,
            Some(found) if same(self.name, &found, self.before) => Observed::Before,
            Some(found) => Observed::Other(found),
        })
    }

    fn save(&self, cx: StepContext<'_>, _: &Journal<'_>, _: usize) -> Result<Saved, StepError> {
        let value = read(&cx.run, self.path)?.unwrap_or_default();
        let partner = knobs::find(self.name).and_then(knobs::Knob::excluded);
        let partner = partner.and_then(|other| Some((other.path.to_owned(), read(&cx.run, other.path).ok()??)));
        Ok(Saved::Value { value, partner })
    }

    fn make(&self, cx: StepContext<'_>) -> Result<Completed, StepError> {
        let before = read(&cx.run, self.path)?.unwrap_or_default();
        let refused = match turn(&cx.run, self.name, self.path, self.after) {
            Ok(()) => return Ok(Completed::changed(before, self.after)),
            Err(error) if self.fallbacks.is_empty() || !is_refusal(&error) => return Err(error),
            Err(error) => error,
        };
        let outcome = fall_back(&cx.run, self.name, self.path, (self.after, self.fallbacks), refused)?;
        Ok(Completed { outcome, outputs: Vec::new() })
    }

    fn undo_state(&self, cx: StepContext<'_>, recorded: RecordedStep<'_>) -> Result<UndoState, StepError> {
        let Saved::Value { value, partner } = recorded.saved else { return Err(mismatch(self.name)) };
        // A device that has gone has taken its settings along.
        let Some(found) = read(&cx.run, self.path)? else { return Ok(UndoState::Saved) };
        let partner_is_saved = match partner {
            Some((path, value)) => read(&cx.run, path)?.is_none_or(|found| found.trim() == value.trim()),
            None => true,
        };
        if same(self.name, &found, value) && partner_is_saved {
            return Ok(UndoState::Saved);
        }
        let got = match &recorded.log.outcome {
            Some(StepOutcome::FellBack { got, .. }) => Some(got),
            _ => None,
        };
        let ours = self.fallbacks.iter().chain(got).any(|ours| same(self.name, &found, ours));
        let counted = self.name == COUNTS_DOWN && is_less(&found, self.after);
        let replaced = recorded.torn && REPLACED.contains(&self.name);
        if ours || counted || replaced || same(self.name, &found, self.after) {
            Ok(UndoState::Ours)
        } else {
            Ok(UndoState::Other(found))
        }
    }

    fn restore(&self, cx: StepContext<'_>, recorded: RecordedStep<'_>) -> Result<Restored, StepError> {
        let result = match recorded.saved {
            Saved::Value { value, partner: Some((path, other)) } if value.trim() == "0" && other.trim() != "0" => {
                turn(&cx.run, "", path, other)
            }
            Saved::Value { value, .. } => turn(&cx.run, self.name, self.path, value),
            _ => return Err(mismatch(self.name)),
        };
        match result {
            // Before zswap's first enable any name stands there; afterwards only one that the kernel has.
            Err(error) if REPLACED.contains(&self.name) && is_refusal(&error) => Ok(Restored::Kept(error_chain(&error))),
            result => result.map(|()| Restored::Whole),
        }
    }
}

/// The value that is in effect: the word in brackets, or the whole text.
pub(crate) fn read(run: &Run<'_>, path: &str) -> Result<Option<String>, StepError> {
    Ok(run.read_setting(path)?.map(|text| knobs::chosen(&text).to_owned()))
}

/// Writes a value and reads it back.
pub(crate) fn turn(run: &Run<'_>, name: &str, path: &str, value: &str) -> Result<(), StepError> {
    let spelling = match knobs::find(name) {
        Some(knob) => knob.normalise(value).map_or_else(|_| value.to_owned(), |value| knob.spelling(&value)),
        None => value.to_owned(),
    };
    run.set(path, &spelling)?;
    let found = read(run, path)?.unwrap_or_default();
    if same(name, &found, value) {
        return Ok(());
    }
    Err(StepError::NotTaken { path: path.to_owned(), wanted: value.to_owned(), found })
}

/// Tries the next best values in their order. The error is that of the first refusal.
pub(crate) fn fall_back(
    run: &Run<'_>,
    name: &str,
    path: &str,
    (wanted, fallbacks): (&str, &[String]),
    refused: StepError,
) -> Result<StepOutcome, StepError> {
    for value in fallbacks {
        let taken = read(run, path)?.is_some_and(|found| same(name, &found, value));
        match if taken { Ok(()) } else { turn(run, name, path, value) } {
            Ok(()) => {
                let why = error_chain(&refused);
                return Ok(StepOutcome::FellBack { wanted: wanted.to_owned(), got: value.clone(), why });
            }
            Err(error) if is_refusal(&error) => {}
            Err(error) => return Err(error),
        }
    }
    Err(refused)
}

pub(crate) fn same(name: &str, a: &str, b: &str) -> bool {
    knobs::find(name).map_or_else(|| a.trim() == b.trim(), |knob| knob.same(a, b))
}

/// The kernel's way of saying that it does not have what the value names.
fn is_refusal(error: &StepError) -> bool {
    match error {
        StepError::Io { source, .. } => source.kind() == io::ErrorKind::NotFound || source.raw_os_error() == Some(libc::EINVAL),
        StepError::NotTaken { .. } => true,
        _ => false,
    }
}

fn is_less(found: &str, than: &str) -> bool {
    let number = |text: &str| text.trim().parse::<u64>().ok();
    number(found).zip(number(than)).is_some_and(|(found, than)| found < than)
}

fn is_of_device(path: &str) -> bool {
    path.starts_with("/sys/block/") || path.starts_with("/sys/devices/") || path.starts_with("/sys/class/block/")
}
