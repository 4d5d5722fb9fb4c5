//! Finishing a transaction that was cut short.

use swaptune_core::change::Change;

use super::error::ApplyError;
use super::forward::forward;
use super::rollback::{self, RollbackReport};
use super::run::Run;
use super::{ApplyOptions, ApplyReport, begin, preflight, spare};
use crate::journal::record::JournalRecord;
use crate::journal::{Journal, Stamp, StateDir, Transaction, TransactionStatus};
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
            refuse_to_wipe_by_name(&run, journal.transaction())?;
            spare::take(&run, &journal)?;
            journal.add(JournalRecord::Resume { time: Stamp::now().text(), boot: run.boot_id() })?;
            forward(&run, &mut journal).map(Resumed::Applied)
        }
        status => Err(ApplyError::NotStanding { id: id.to_owned(), status }),
    }
}

/// After a reboot another disk may have the name that the kernel had given to the one that was to be overwritten, and what is wiped is not looked at.
fn refuse_to_wipe_by_name(run: &Run<'_>, transaction: &Transaction) -> Result<(), ApplyError> {
    let lasts = |path: &str| path.starts_with("/dev/disk/") || path.starts_with("/dev/mapper/") || !path.starts_with("/dev/");
    let wiped = transaction.steps.iter().filter(|log| log.saved.is_none()).find_map(|log| match &log.step.change {
        Change::SwapHeader { path, wipe: true, .. } | Change::Format { path, wipe: true, .. } if !lasts(path) => Some(path),
        _ => None,
    });
    match wiped {
        Some(path) if transaction.boot != run.boot_id() => Err(ApplyError::Refused {
            what: path.clone(),
            why: "its contents were to be overwritten, and since the machine was booted again another disk may have this name"
                .into(),
            hint: "`swaptune rollback`, then do it anew".into(),
        }),
        _ => Ok(()),
    }
}
