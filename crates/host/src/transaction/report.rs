//! What a transaction is told to do, and what it says it did.

use serde::Serialize;
use swaptune_core::change::Change;

use crate::checkpoint::{Faults, NoFaults};
use crate::journal::{StepOutcome, TransactionKind};
use crate::kernel::WriteProgress;

/// How a plan is carried out.
#[derive(Clone, Copy)]
pub struct ApplyOptions<'a> {
    /// What the transaction is for.
    pub kind: TransactionKind,
    /// Told of the progress of long writes.
    pub progress: &'a dyn Fn(WriteProgress),
    /// For tests.
    pub faults: &'a dyn Faults,
    /// In a rollback: also take back what another program has changed since.
    pub force: bool,
    /// In a rollback: numbers of steps, from 1, that are left as they are.
    pub skip: &'a [usize],
}

impl Default for ApplyOptions<'_> {
    fn default() -> Self {
        Self { kind: TransactionKind::Apply, progress: &|_| (), faults: &NoFaults, force: false, skip: &[] }
    }
}

impl std::fmt::Debug for ApplyOptions<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Options").field("kind", &self.kind).field("force", &self.force).finish_non_exhaustive()
    }
}

/// One step and what came of it.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct StepReport {
    /// The change.
    pub change: Change,
    /// What came of it.
    pub outcome: StepOutcome,
}

/// What carrying out a plan did.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct ApplyReport {
    /// Id of the transaction; `None` for an empty plan.
    pub id: Option<String>,
    /// The steps in their order.
    pub steps: Vec<StepReport>,
    /// What went wrong without doing harm.
    pub warnings: Vec<String>,
}

impl ApplyReport {
    /// How many steps changed something.
    #[must_use]
    pub fn changed(&self) -> usize {
        let is_change = |outcome: &StepOutcome| matches!(outcome, StepOutcome::Changed { .. } | StepOutcome::FellBack { .. });
        self.steps.iter().filter(|step| is_change(&step.outcome)).count()
    }
}
