//! One transaction as its lines tell it.

use std::path::Path;

use serde::Serialize;
use swaptune_core::plan::Step;

use super::error::JournalError;
use super::record::{
    Ending, GeneratorOutput, JournalLine, JournalRecord, RecordVersion, Saved, StepOutcome, TransactionKind, VERSION,
};

/// Where a transaction stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum TransactionStatus {
    /// It was cut short while steps were made.
    Unfinished,
    /// It was cut short while steps were undone.
    Undoing,
    /// In effect.
    Applied,
    /// Something failed, everything was undone.
    Reverted,
    /// Taken back.
    RolledBack,
}

impl TransactionStatus {
    /// As a word for a table.
    #[must_use]
    pub fn word(self) -> &'static str {
        match self {
            Self::Unfinished => "unfinished",
            Self::Undoing => "rollback unfinished",
            Self::Applied => "applied",
            Self::Reverted => "failed, undone",
            Self::RolledBack => "rolled back",
        }
    }

    /// True when something must still be done.
    #[must_use]
    pub fn is_pending(self) -> bool {
        matches!(self, Self::Unfinished | Self::Undoing)
    }
}

/// What the journal says of a device that is not there.
pub(crate) const AWAY: &str = "not there";

/// One step and what happened to it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StepLog {
    /// The step.
    pub step: Step,
    /// What was there before; `None` when the step was not begun, or changed nothing.
    pub saved: Option<Saved>,
    /// What came of it.
    pub outcome: Option<StepOutcome>,
    /// What a generator made.
    pub outputs: Vec<GeneratorOutput>,
    /// Why it failed.
    pub failed: Option<String>,
    /// True when it was undone.
    pub undone: bool,
    /// Why it was not undone: what was found in place of ours, or what failed before the user gave it up.
    pub left: Option<String>,
    /// True when the user gave it up in the last rollback.
    pub set_aside: bool,
}

impl StepLog {
    /// A step that is not begun.
    fn new(step: Step) -> Self {
        Self { step, saved: None, outcome: None, outputs: Vec::new(), failed: None, undone: false, left: None, set_aside: false }
    }

    /// True when the last rollback found no device that it was made on. It holds nothing up, and comes back with the device.
    #[must_use]
    pub fn is_away(&self) -> bool {
        self.left.as_deref() == Some(AWAY) && !self.set_aside
    }

    /// True when there may be something to undo.
    #[must_use]
    pub fn is_standing(&self) -> bool {
        self.saved.is_some() && !self.undone
    }
}

/// One transaction.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Transaction {
    /// Identifier of the transaction, as `history` shows it.
    pub id: String,
    /// UTC time of its beginning.
    pub time: String,
    /// Version of swaptune that began it.
    pub tool: String,
    /// What it is for.
    pub kind: TransactionKind,
    /// Id of the boot in which it was begun or last resumed.
    pub boot: String,
    /// The profile that was planned from.
    pub profile: String,
    /// What it does, in short.
    pub summary: String,
    /// Steps in the order of the plan, each with what became of it.
    pub steps: Vec<StepLog>,
    /// How it ended, or that it did not.
    pub status: TransactionStatus,
    /// True when it was in effect as a whole at some time.
    pub applied: bool,
    /// UTC time at which it was taken back.
    pub undone_at: Option<String>,
    /// True when undoing was asked for, false when it followed from a failure.
    pub undo_asked: bool,
}

impl Transaction {
    pub(super) fn begin(record: JournalRecord) -> Result<Self, String> {
        let JournalRecord::Begin { id, time, tool, kind, boot, profile, summary, steps } = record else {
            return Err("the first line must be `begin`".to_owned());
        };
        let steps = steps.into_iter().map(StepLog::new).collect();
        Ok(Self {
            id,
            time,
            tool,
            kind,
            boot,
            profile,
            summary,
            steps,
            status: TransactionStatus::Unfinished,
            applied: false,
            undone_at: None,
            undo_asked: false,
        })
    }

    /// Takes in the next line.
    pub(super) fn add(&mut self, record: JournalRecord) -> Result<(), String> {
        match record {
            JournalRecord::Begin { .. } => return Err("a second `begin`".to_owned()),
            JournalRecord::Add { step } => self.steps.push(StepLog::new(*step)),
            JournalRecord::Intent { seq, saved } => self.step(seq)?.saved = Some(saved),
            JournalRecord::Done { seq, outcome, outputs } => {
                let step = self.step(seq)?;
                step.outcome = Some(outcome);
                step.outputs = outputs;
            }
            JournalRecord::Failed { seq, error } => self.step(seq)?.failed = Some(error),
            JournalRecord::Resume { boot, .. } => self.boot = boot,
            JournalRecord::Undo { time, asked, .. } => {
                self.status = TransactionStatus::Undoing;
                self.undone_at = Some(time);
                self.undo_asked = asked;
                // Who asks anew wants all of it tried again.
                self.steps.iter_mut().for_each(|step| step.set_aside = false);
            }
            JournalRecord::Undone { seq } => {
                let step = self.step(seq)?;
                step.undone = true;
                step.left = None;
                step.set_aside = false;
            }
            JournalRecord::Left { seq, found, set_aside } => {
                let step = self.step(seq)?;
                step.left = Some(found);
                step.set_aside = set_aside;
            }
            JournalRecord::Settled { .. } => {}
            JournalRecord::End { ending } => {
                self.applied |= ending == Ending::Applied;
                self.status = match ending {
                    Ending::Applied => TransactionStatus::Applied,
                    Ending::Reverted => TransactionStatus::Reverted,
                    Ending::RolledBack => TransactionStatus::RolledBack,
                };
            }
        }
        Ok(())
    }

    fn step(&mut self, seq: usize) -> Result<&mut StepLog, String> {
        let count = self.steps.len();
        self.steps.get_mut(seq).ok_or_else(|| format!("step {seq} of {count}"))
    }

    /// Reads the lines of a journal. `None` when not even the first line was completed: nothing had been changed then.
    /// Also says how many bytes are whole lines; what follows was torn by a crash and means nothing.
    ///
    /// # Errors
    /// [`JournalError`] for any whole line that is not understood.
    pub(super) fn parse(path: &Path, bytes: &[u8]) -> Result<(Option<Self>, u64), JournalError> {
        let whole = bytes.iter().rposition(|byte| *byte == b'\n').map_or(0, |end| end + 1);
        let mut transaction: Option<Self> = None;
        for (index, line) in bytes[..whole].split_inclusive(|byte| *byte == b'\n').enumerate() {
            let malformed = |why: String| JournalError::Malformed { path: path.to_owned(), line: index + 1, why };
            let RecordVersion { v } = serde_json::from_slice(line).map_err(|error| malformed(plain(&error)))?;
            if v != VERSION {
                return Err(JournalError::Version { path: path.to_owned(), line: index + 1, found: v });
            }
            let JournalLine { record, .. } = serde_json::from_slice(line).map_err(|error| malformed(plain(&error)))?;
            match &mut transaction {
                None => transaction = Some(Self::begin(record).map_err(malformed)?),
                Some(transaction) => transaction.add(record).map_err(malformed)?,
            }
        }
        Ok((transaction, whole as u64))
    }
}

/// serde's message without its own line number, which is always 1 here.
fn plain(error: &serde_json::Error) -> String {
    let text = error.to_string();
    text.split(" at line 1").next().unwrap_or(&text).to_owned()
}
