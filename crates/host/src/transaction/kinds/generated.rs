//! Files that a command makes out of others: `grub.cfg`, an initramfs.
//!
//! There is nothing to compare before the command runs. Going back restores the captured bytes, unless the command
//! was run again since: then the files may list newer kernels, and the caller runs it again after their sources are back. What was found
//! after a run that was killed does not tell whether another has followed: a later rollback runs it again too ([`is_half_made`]).

use crate::journal::record::{GeneratorOutput, StepOutcome};
use crate::journal::{Journal, Saved, StepLog, fingerprint};
use crate::transaction::error::StepError;

use super::{ChangeHandler, Completed, Observed, RecordedStep, Restored, StepContext, UndoState, mismatch};

/// Why a plan cannot ask for captured files: only a rollback has them.
const FORWARD_ONLY: &str = "captured files come back only by a rollback";

pub(super) struct Generated<'a> {
    pub what: &'a str,
    pub command: &'a [String],
    pub outputs: &'a [String],
    pub made: bool,
}

/// True where the command was begun and never told its end: what it made is not known.
pub(crate) fn is_half_made(log: &StepLog) -> bool {
    matches!(log.saved, Some(Saved::Outputs { .. })) && log.outcome.is_none()
}

impl ChangeHandler for Generated<'_> {
    fn observe(&self, _: StepContext<'_>) -> Result<Observed, StepError> {
        if self.made {
            return Ok(Observed::Before);
        }
        let hint = "`swaptune rollback` brings them back".into();
        Err(StepError::Refused { what: self.what.into(), why: FORWARD_ONLY.into(), hint })
    }

    fn save(&self, cx: StepContext<'_>, journal: &Journal<'_>, seq: usize) -> Result<Saved, StepError> {
        let save = |(part, output): (usize, &String)| {
            let real = cx.run.real(output)?;
            let file = cx.save_file(journal, seq, part, &real)?;
            Ok((real, file))
        };
        Ok(Saved::Outputs { files: self.outputs.iter().enumerate().map(save).collect::<Result<_, StepError>>()? })
    }

    fn make(&self, cx: StepContext<'_>) -> Result<Completed, StepError> {
        let reals = self.outputs.iter().map(|output| cx.run.real(output)).collect::<Result<Vec<_>, _>>()?;
        let before = prints(cx, &reals)?;
        let hosts: Vec<_> = reals.iter().map(|real| cx.run.host(real)).collect();
        let ran = cx.run.run(self.command, &hosts)?;
        if ran.code != Some(0) {
            let code = ran.code.map_or_else(|| "a signal".into(), |code| format!("exit code {code}"));
            let command = self.command.join(" ");
            return Err(StepError::Command { command, why: format!("{code}: {}", ran.output) });
        }
        self.check_outputs(cx, &reals)?;
        let outputs = prints(cx, &reals)?;
        let outcome = if outputs == before {
            StepOutcome::Unchanged
        } else {
            StepOutcome::Changed { before: "as captured".into(), after: "made anew".into() }
        };
        Ok(Completed { outcome, outputs })
    }

    fn undo_state(&self, cx: StepContext<'_>, recorded: RecordedStep<'_>) -> Result<UndoState, StepError> {
        let Saved::Outputs { files } = recorded.saved else { return Err(mismatch(self.what)) };
        let saved: Vec<GeneratorOutput> =
            files.iter().map(|(at, file)| output(at, file.as_ref().map(|f| &f.blob.print))).collect();
        let reals: Vec<String> = files.iter().map(|(real, _)| real.clone()).collect();
        let found = prints(cx, &reals)?;
        if found == saved {
            return Ok(UndoState::Saved);
        }
        // A rollback that was cut short has brought some of them back.
        let is_known = |output: &GeneratorOutput| recorded.log.outputs.contains(output) || saved.contains(output);
        let ours = is_half_made(recorded.log) || found.iter().all(is_known);
        Ok(if ours { UndoState::Ours } else { UndoState::Other("made again since".into()) })
    }

    fn restore(&self, cx: StepContext<'_>, recorded: RecordedStep<'_>) -> Result<Restored, StepError> {
        let Saved::Outputs { files } = recorded.saved else { return Err(mismatch(self.what)) };
        for (real, file) in files {
            if !cx.is_saved(real, file.as_ref())? {
                cx.restore_file(recorded.state, real, file.as_ref())?;
            }
        }
        Ok(Restored::Whole)
    }
}

impl Generated<'_> {
    /// A generator that says that all went well is not believed: what it should have made is there and holds something.
    fn check_outputs(&self, cx: StepContext<'_>, reals: &[String]) -> Result<(), StepError> {
        for real in reals {
            let why = match cx.run.read(real)? {
                None => format!("it ended well, but {real} is not there"),
                Some(bytes) if bytes.is_empty() => format!("it ended well, but {real} is empty"),
                Some(_) => continue,
            };
            return Err(StepError::Command { command: self.command.join(" "), why });
        }
        Ok(())
    }
}

fn prints(cx: StepContext<'_>, reals: &[String]) -> Result<Vec<GeneratorOutput>, StepError> {
    let print = |real: &String| {
        let print = cx.run.read(real)?.map(|bytes| fingerprint(&bytes));
        Ok(output(real, print.as_ref()))
    };
    reals.iter().map(print).collect()
}

fn output(at: &str, print: Option<&String>) -> GeneratorOutput {
    GeneratorOutput { at: at.to_owned(), print: print.cloned() }
}
