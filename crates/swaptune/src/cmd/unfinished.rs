//! An apply or rollback that was cut short: the first thing to say about a machine.

use std::io::ErrorKind;

use serde::Serialize;
use swaptune_core::plan::Note;
use swaptune_host::journal::{JournalError, StateDir, Transaction, TransactionStatus, pending};
use swaptune_host::transaction::ApplyError;

use super::Context;
use crate::failure::Failure;
use crate::output::text::count;

/// What is known of it.
#[derive(Debug, Serialize)]
pub struct Unfinished {
    /// Id, as `swaptune history` shows it.
    pub id: String,
    /// What was cut short, in words.
    pub what: String,
    /// Changes that are not made, or not taken back.
    pub left: usize,
    /// What to type.
    pub next: Vec<String>,
}

impl Unfinished {
    /// Looks for it. `Err` with the reason where only root may look.
    pub fn look(context: &Context) -> Result<Result<Option<Self>, String>, Failure> {
        match pending(&StateDir::persistent(&context.machine)) {
            Ok(transaction) => Ok(Ok(transaction.as_ref().map(Self::of))),
            Err(JournalError::Io { path, source, .. }) if source.kind() == ErrorKind::PermissionDenied => {
                Ok(Err(format!("only root may read {}", path.display())))
            }
            Err(error) => Err(ApplyError::from(error).into()),
        }
    }

    /// Of this one.
    pub fn of(transaction: &Transaction) -> Self {
        let undoing = transaction.status == TransactionStatus::Undoing;
        let steps = || transaction.steps.iter();
        let left = if undoing {
            steps().filter(|step| step.is_standing()).count()
        } else {
            steps().filter(|step| step.outcome.is_none()).count()
        };
        let back = format!("swaptune rollback {}", transaction.id);
        let (what, next) = match undoing {
            true => {
                (format!("the rollback of {} was interrupted with {} to go", transaction.id, count(left, "change")), vec![back])
            }
            false => (
                format!("apply {} was interrupted with {} to go", transaction.id, count(left, "change")),
                vec!["swaptune apply --resume".to_owned(), back],
            ),
        };
        Self { id: transaction.id.clone(), what, left, next }
    }

    /// `…: `swaptune apply --resume` finishes it, …`.
    pub fn sentence(&self) -> String {
        format!("{}: {}", self.what, self.how())
    }

    /// What to type, and what it does.
    pub fn how(&self) -> String {
        match self.next.as_slice() {
            [resume, back] => format!("`{resume}` finishes it, `{back}` takes it back"),
            others => format!("`{}` goes on with it", others.join("`, `")),
        }
    }

    /// For a plan, which is one of a machine in between.
    pub fn note(&self) -> Note {
        Note {
            about: "unfinished".into(),
            text: self.sentence(),
            evidence: "the journal in /var/lib/swaptune".into(),
            pending: true,
        }
    }
}
