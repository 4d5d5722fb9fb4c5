//! Finishing a transaction that was cut short.

use super::error::ApplyError;
use super::forward::forward;
use super::rollback::{self, RollbackReport};
use super::run::Run;
use super::{ApplyOptions, ApplyReport, begin, preflight, spare};
use crate::journal::record::JournalRecord;
use crate::journal::{Journal, Stamp, StateDir, TransactionStatus};
use crate::kernel::Kernel;
use crate::machine::Machine;

/// What finishing a transaction did.
#[derive(Clone, Debug, PartialEq)]
pub enum Resumed {
    /// The rest was done.
    Applied(ApplyReport),
    /// It was being undone, and now it is.
    RolledBack(RollbackReport),
}

/// Finishes a transaction that was cut short, in the direction in which it went.
///
/// # Errors
/// As [`super::execute`]; `NotStanding` when it needs no finishing.
pub fn resume(
    machine: &Machine,
    kernel: &dyn Kernel,
    state: &StateDir,
    id: &str,
    options: &ApplyOptions<'_>,
) -> Result<Resumed, ApplyError> {
    let run = Run { machine, kernel, faults: options.faults, progress: options.progress };
    preflight::privileges(&run)?;
    let _lock = begin(&run, state)?;
    let mut journal = Journal::open(machine, options.faults, state, id)?;
    match journal.transaction().status {
        TransactionStatus::Undoing => rollback::go_on(&run, &mut journal, options.force, &[]).map(Resumed::RolledBack),
        TransactionStatus::Unfinished => {
            spare::take(&run, &journal)?;
            journal.add(JournalRecord::Resume { time: Stamp::now().text(), boot: run.boot_id() })?;
            forward(&run, &mut journal).map(Resumed::Applied)
        }
        status => Err(ApplyError::NotStanding { id: id.to_owned(), status }),
    }
}
