//! What can go wrong with temporary settings, and what to do then.

use std::io;

use swaptune_core::knobs::KnobError;

use crate::journal::JournalError;
use crate::lock::LockError;
use crate::transaction::{ApplyError, NotUndone, StepError};

/// Why a temporary setting was not made, or not put back.
#[derive(Debug, thiserror::Error)]
pub enum TemporaryError {
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
    /// Another process has temporary settings, or is changing this machine; nothing was changed.
    #[error(transparent)]
    Busy(#[from] LockError),
    /// There is no such knob, or it does not take this value.
    #[error(transparent)]
    Knob(#[from] KnobError),
    /// The journal cannot be used; nothing was changed.
    #[error(transparent)]
    Journal(#[from] JournalError),
    /// The process that puts everything back when this one is killed could not be started, or is gone; nothing was changed.
    #[error("there is no process that would put temporary settings back when this one is killed")]
    Guardian(#[source] io::Error),
    /// A setting could not be made. What it had begun is taken back; what was set before it still stands.
    #[error("{change} failed")]
    Step {
        /// The change, in words.
        change: String,
        /// What the kernel or the file system said.
        #[source]
        cause: Box<StepError>,
    },
    /// Not everything is as it was before.
    #[error("not everything could be put back: {}", words(left))]
    NotRestored {
        /// What is not.
        left: Vec<NotUndone>,
    },
}

impl TemporaryError {
    /// What to type or to change next; empty when there is nothing that always helps.
    #[must_use]
    pub fn hint(&self) -> String {
        match self {
            Self::Refused { hint, .. } => hint.clone(),
            Self::Busy(LockError::Held { .. }) => "wait until it is done: benchmarks that set something run one at a time".into(),
            Self::Guardian(_) => {
                "look at free memory and at the limit of processes (`ulimit -u`; of a service TasksMax), then try again".into()
            }
            Self::Busy(LockError::Io { .. }) => String::new(),
            Self::Knob(_) => "`swaptune knobs` lists every name and range".into(),
            Self::Journal(_) => "temporary settings are recorded in /run/swaptune/scratch, which must be writable".into(),
            Self::Step { cause, .. } => cause.hint(),
            Self::NotRestored { left } if left.iter().all(|step| !step.failed) => {
                "something else has set it since: it stays so, unless you set it".into()
            }
            Self::NotRestored { .. } => "remove the cause; the next swaptune command that changes something tries again".into(),
        }
    }

    /// The class of the exit code: 2 usage, 3 refused, 4 failed and undone, 5 failed and not undone.
    #[must_use]
    pub fn exit_code(&self) -> u8 {
        match self {
            Self::Knob(_) => 2,
            Self::Refused { .. } | Self::Busy(_) | Self::Journal(_) | Self::Guardian(_) => 3,
            Self::Step { cause, .. } if matches!(**cause, StepError::Refused { .. } | StepError::Conflict { .. }) => 3,
            Self::Step { .. } => 4,
            Self::NotRestored { .. } => 5,
        }
    }
}

fn words(left: &[NotUndone]) -> String {
    left.iter().map(|left| format!("{} ({})", left.step, left.why)).collect::<Vec<_>>().join("; ")
}

/// An error before anything was changed.
impl From<ApplyError> for TemporaryError {
    fn from(error: ApplyError) -> Self {
        match error {
            ApplyError::Locked(error) => Self::Busy(error),
            ApplyError::Journal(error) => Self::Journal(error),
            ApplyError::Refused { what, why, hint } => Self::Refused { what, why, hint },
            other => Self::Refused { what: "temporary settings".into(), why: other.to_string(), hint: other.hint() },
        }
    }
}
