//! zswap takes any compressor while it has never been on, and replaces what it cannot get when it is switched on (6.3
//! and later). So after the switch every zswap setting of the plan is read again.

use swaptune_core::change::Change;
use swaptune_core::plan::Step;

use super::error::StepError;
use super::kinds::{fall_back, read_knob, same_knob};
use super::run::Run;
use crate::journal::record::{JournalRecord, StepOutcome};
use crate::journal::{Journal, StepLog};

/// After the step `seq`: when it switched zswap on, the zswap settings before it are read again.
pub(super) fn confirm(run: &Run<'_>, journal: &mut Journal<'_>, seq: usize) -> Result<(), StepError> {
    let Change::Knob { name, after, .. } = &journal.transaction().steps[seq].step.change else { return Ok(()) };
    if name != "zswap.enabled" || !same_knob(name, after, "Y") {
        return Ok(());
    }
    // Only the last word of the plan about each setting counts, and not what temporary settings have taken back already.
    let path = |seq: usize| match &journal.transaction().steps[seq] {
        log if log.undone => String::new(),
        StepLog { step: Step { change: Change::Knob { path, .. }, .. }, .. } => path.clone(),
        _ => String::new(),
    };
    let paths: Vec<String> = (0..=seq).map(path).collect();
    for (earlier, path) in paths.iter().enumerate().filter(|(earlier, path)| !paths[earlier + 1..].contains(path)) {
        if path.starts_with("/sys/module/zswap/") && earlier < seq {
            confirm_one(run, journal, earlier)?;
        }
    }
    Ok(())
}

fn confirm_one(run: &Run<'_>, journal: &mut Journal<'_>, seq: usize) -> Result<(), StepError> {
    let log = &journal.transaction().steps[seq];
    let Change::Knob { name, path, after, fallbacks, .. } = log.step.change.clone() else { return Ok(()) };
    let wanted = match &log.outcome {
        Some(StepOutcome::FellBack { got, .. }) => got.clone(),
        Some(StepOutcome::Skipped { .. }) | None => return Ok(()),
        Some(_) => after.clone(),
    };
    let Some(found) = read_knob(run, &path)? else { return Ok(()) };
    if same_knob(&name, &found, &wanted) {
        return Ok(());
    }
    let replaced = StepError::NotTaken { path: path.clone(), wanted: wanted.clone(), found: found.clone() };
    if log.saved.is_none() {
        // It was as wanted before this transaction, and only the switch showed that the kernel cannot do it: what is
        // there to go back to must be known before anything else is written.
        let saved = crate::journal::Saved::Value { value: wanted.clone(), partner: None };
        journal.add(JournalRecord::Intent { seq, saved })?;
    }
    let why = crate::error_chain(&replaced);
    let noted = StepOutcome::FellBack { wanted: wanted.clone(), got: found, why };
    journal.add(JournalRecord::Done { seq, outcome: noted, outputs: Vec::new() })?;
    let outcome = fall_back(run, &name, &path, (&after, &fallbacks), replaced)?;
    Ok(journal.add(JournalRecord::Done { seq, outcome, outputs: Vec::new() })?)
}
