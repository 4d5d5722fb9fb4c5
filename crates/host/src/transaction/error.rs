//! What can go wrong while a plan is carried out, and what to do then.

use std::io;

use swaptune_core::swapoff::TooFull;

use crate::error_chain;
use crate::journal::{JournalError, TransactionStatus};
use crate::lock::LockError;
use crate::swap_header::HeaderError;

/// Why one step could not be made or undone.
#[derive(Debug, thiserror::Error)]
pub enum StepError {
    /// An operation on a file or device failed.
    #[error("cannot {operation} {path}")]
    Io {
        /// What was tried.
        operation: &'static str,
        /// On what.
        path: String,
        /// What the kernel said.
        source: io::Error,
    },
    /// The machine is not as the plan found it.
    #[error("{what} is {found}, expected {expected}")]
    Conflict {
        /// What is concerned.
        what: String,
        /// What the plan expects.
        expected: String,
        /// What is there.
        found: String,
    },
    /// It would do harm.
    #[error("{what}: {why}")]
    Refused {
        /// What was refused.
        what: String,
        /// The reason, as one sentence for the user.
        why: String,
        /// What to do about it.
        hint: String,
    },
    /// The kernel took a value without a complaint, and yet shows another.
    #[error("{path}: the kernel shows {found} after {wanted} was written")]
    NotTaken {
        /// The file.
        path: String,
        /// What was written.
        wanted: String,
        /// What is read back.
        found: String,
    },
    /// A command failed.
    #[error("`{command}` failed: {why}")]
    Command {
        /// The command.
        command: String,
        /// Its exit code and last words.
        why: String,
    },
    /// No swap header can be made.
    #[error("cannot make a swap header on {path}")]
    Header {
        /// The device or file.
        path: String,
        /// What is wrong with the header that was asked for.
        source: HeaderError,
    },
    /// What a swap area holds has no room elsewhere.
    #[error("cannot switch off swap on {path}")]
    TooFull {
        /// The area.
        path: String,
        /// The numbers.
        source: TooFull,
    },
    /// The journal cannot be written or read.
    #[error(transparent)]
    Journal(#[from] JournalError),
}

impl StepError {
    /// An operation that failed.
    pub(crate) fn io(operation: &'static str, path: impl Into<String>, source: io::Error) -> Self {
        Self::Io { operation, path: path.into(), source }
    }

    /// What to do about it; empty when there is nothing that always helps.
    #[must_use]
    pub fn hint(&self) -> String {
        match self {
            Self::Refused { hint, .. } => hint.clone(),
            Self::Conflict { .. } => "something else changed it after the plan was made: make a new plan".into(),
            Self::TooFull { .. } => "end some applications, or switch on another swap area first".into(),
            Self::Io { source, .. } => io_hint(source).into(),
            Self::Journal(JournalError::Io { source, .. }) => io_hint(source).into(),
            Self::Command { command, .. } => format!("run `{command}` by hand to see what it needs"),
            Self::NotTaken { .. } | Self::Header { .. } | Self::Journal(_) => String::new(),
        }
    }
}

fn io_hint(error: &io::Error) -> &'static str {
    match error.kind() {
        io::ErrorKind::StorageFull => "free some space on that file system",
        io::ErrorKind::ReadOnlyFilesystem => "mount that file system for writing, or configure an image with --root",
        io::ErrorKind::PermissionDenied => "run it as root",
        _ => "",
    }
}

/// The command that takes back all but these steps.
pub(crate) fn skip(id: &str, numbers: &[usize]) -> String {
    let skips: String = numbers.iter().map(|number| format!(" --skip {number}")).collect();
    format!("`swaptune rollback {id}{skips}`")
}

/// A step that could not be undone.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NotUndone {
    /// Its number in the transaction, from 1, as `rollback --skip` takes it.
    pub number: usize,
    /// The step, in words.
    pub step: String,
    /// Why not.
    pub why: String,
    /// True when it failed; false when it was left alone on purpose.
    pub failed: bool,
}

/// Why a plan was not carried out, or a rollback not finished.
#[derive(Debug, thiserror::Error)]
pub enum ApplyError {
    /// It would do harm, or cannot succeed; nothing was changed.
    #[error("{what}: {why}")]
    Refused {
        /// What was refused.
        what: String,
        /// The reason, as one sentence for the user.
        why: String,
        /// What to do about it.
        hint: String,
    },
    /// The machine is not as the plan found it; nothing was changed.
    #[error("{what} is {found}, expected {expected}")]
    Conflict {
        /// What is concerned.
        what: String,
        /// What the plan expects.
        expected: String,
        /// What is there.
        found: String,
    },
    /// Another process is at it; nothing was changed.
    #[error(transparent)]
    Locked(#[from] LockError),
    /// An earlier transaction was cut short; nothing was changed.
    #[error("transaction {id} was cut short ({})", status.word())]
    Pending {
        /// Its id.
        id: String,
        /// Where it stands.
        status: TransactionStatus,
    },
    /// The transaction cannot be rolled back in the state in which it is; nothing was changed.
    #[error("transaction {id} is {}", status.word())]
    NotStanding {
        /// Its id.
        id: String,
        /// Where it stands.
        status: TransactionStatus,
    },
    /// A step was to be left out of a rollback that has no such step; nothing was changed.
    #[error("transaction {id} has no step {number} that is to be taken back")]
    NoStep {
        /// Its id.
        id: String,
        /// What was asked for.
        number: usize,
    },
    /// The journal cannot be used; nothing was changed.
    #[error(transparent)]
    Journal(#[from] JournalError),
    /// A step failed, and everything before it was undone.
    #[error("{step} failed, and what was done before it is undone (transaction {id})")]
    StepFailed {
        /// Identifier of the transaction.
        id: String,
        /// The step, in words.
        step: String,
        /// What the step failed on.
        #[source]
        cause: Box<StepError>,
    },
    /// A step failed, and not everything before it could be undone; or a rollback could not be finished.
    #[error("{cause}; and taking it back failed too: {rollback} (transaction {id})")]
    RollbackFailed {
        /// Identifier of the transaction.
        id: String,
        /// What went wrong first.
        cause: String,
        /// What went wrong while undoing.
        rollback: String,
        /// What is left as it was made.
        left: Vec<NotUndone>,
    },
}

impl ApplyError {
    /// What to type or to change next; empty when there is nothing that always helps.
    #[must_use]
    pub fn hint(&self) -> String {
        match self {
            Self::Refused { hint, .. } => hint.clone(),
            Self::Conflict { .. } => "something else changed it after the plan was made: make a new plan".into(),
            Self::Locked(LockError::Held { .. }) => "wait until it is done".into(),
            Self::Locked(LockError::Io { source, .. }) => io_hint(source).into(),
            Self::Pending { id, status: TransactionStatus::Undoing } => format!("finish it with `swaptune rollback {id}`"),
            Self::Pending { id, .. } => {
                format!("finish it with `swaptune apply --resume`, or take it back with `swaptune rollback {id}`")
            }
            Self::NotStanding { .. } | Self::NoStep { .. } | Self::Journal(JournalError::Unknown { .. }) => {
                "`swaptune history` lists what can be rolled back".into()
            }
            Self::Journal(JournalError::Io { source, .. }) => io_hint(source).into(),
            Self::Journal(_) => {
                "nothing is changed while a journal cannot be read: repair that line or move the file away".into()
            }
            Self::StepFailed { cause, .. } => cause.hint(),
            Self::RollbackFailed { id, left, .. } => {
                let again = format!("remove the cause and run `swaptune rollback {id}` again: it goes on where it stopped");
                let failed: Vec<usize> = left.iter().filter(|step| step.failed).map(|step| step.number).collect();
                if failed.is_empty() { again } else { format!("{again}; or give up what fails: {}", skip(id, &failed)) }
            }
        }
    }

    /// The class of the exit code: 2 usage, 3 refused, 4 failed and undone, 5 failed and not undone.
    #[must_use]
    pub fn exit_code(&self) -> u8 {
        match self {
            Self::Journal(JournalError::Unknown { .. }) | Self::NoStep { .. } => 2,
            Self::Refused { .. }
            | Self::Conflict { .. }
            | Self::Locked(_)
            | Self::Pending { .. }
            | Self::NotStanding { .. }
            | Self::Journal(_) => 3,
            Self::StepFailed { .. } => 4,
            Self::RollbackFailed { .. } => 5,
        }
    }
}

/// A step error before anything was changed.
impl From<StepError> for ApplyError {
    fn from(error: StepError) -> Self {
        match error {
            StepError::Journal(error) => Self::Journal(error),
            StepError::Conflict { what, expected, found } => Self::Conflict { what, expected, found },
            StepError::Refused { what, why, hint } => Self::Refused { what, why, hint },
            StepError::TooFull { ref path, source } => {
                Self::Refused { what: format!("swapoff {path}"), why: source.to_string(), hint: error.hint() }
            }
            other => Self::Refused { what: "nothing was changed".into(), why: error_chain(&other), hint: other.hint() },
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn enospc() -> StepError {
        StepError::io("write", "/etc/fstab", io::Error::from_raw_os_error(libc::ENOSPC))
    }

    #[test]
    fn an_error_is_one_line_without_numbers_of_the_kernel() {
        assert_eq!(error_chain(&enospc()), "cannot write /etc/fstab: No space left on device");
    }

    #[test]
    fn every_error_has_its_exit_code_and_its_hint() {
        let refused = || ApplyError::Refused { what: "w".into(), why: "y".into(), hint: "do this".into() };
        let failed = ApplyError::StepFailed { id: "i".into(), step: "s".into(), cause: Box::new(enospc()) };
        let worse = ApplyError::RollbackFailed { id: "i".into(), cause: "c".into(), rollback: "r".into(), left: vec![] };
        let pending = |status| ApplyError::Pending { id: "i".into(), status };
        for (error, code, hint) in [
            (refused(), 3, "do this"),
            (failed, 4, "free some space on that file system"),
            (worse, 5, "remove the cause and run `swaptune rollback i` again"),
            (pending(TransactionStatus::Unfinished), 3, "finish it with `swaptune apply --resume`"),
            (pending(TransactionStatus::Undoing), 3, "finish it with `swaptune rollback i`"),
            (ApplyError::Locked(LockError::Held { pid: Some(7) }), 3, "wait until it is done"),
            (ApplyError::Journal(JournalError::Unknown { id: "x".into() }), 2, "`swaptune history` lists"),
            (ApplyError::from(enospc()), 3, "free some space"),
        ] {
            assert_eq!(error.exit_code(), code, "{error}");
            assert!(error.hint().starts_with(hint), "{error}: {}", error.hint());
        }
    }
}
