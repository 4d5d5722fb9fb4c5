//! A tree that does not run: what its machine gave up with its power, and what is left for it to do.

use swaptune_core::change::Change;

use super::forward::is_lost_by_a_reboot;
use super::run::Run;
use super::undo::UndoOutcome;
use crate::error_chain;

/// True for the tree of a machine that does not run.
pub(super) fn is_offline(run: &Run<'_>) -> bool {
    !run.machine.is_live() && !run.kernel.serves(run.machine)
}

/// True for a step that a failure must not take the rest back for: what generators read is in place, and their machine runs them too.
pub(super) fn is_left_to_the_machine(run: &Run<'_>, change: &Change) -> bool {
    is_offline(run) && matches!(change, Change::Generated { .. })
}

/// What is to be run there, and why it was not run here.
pub(super) fn to_run_there(change: &Change, why: &dyn std::error::Error) -> String {
    let Change::Generated { command, .. } = change else { return error_chain(why) };
    format!("{}; its files are as they were: run `{}` on the machine once it runs", error_chain(why), command.join(" "))
}

/// What a live change needs to be taken back where nothing runs: nothing.
pub(super) fn gone_with_the_power(run: &Run<'_>, change: &Change) -> Option<UndoOutcome> {
    let gone = is_offline(run) && is_lost_by_a_reboot(change);
    gone.then(|| UndoOutcome::Kept { why: "this machine does not run: nothing of it is in effect".into() })
}
