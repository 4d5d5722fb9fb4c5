//! Files that a command makes out of others: `grub.cfg`, an initramfs.
//!
//! There is nothing to compare before the command runs. Going back restores the captured bytes, unless somebody has run
//! the command since: then the files may list newer kernels, and the caller runs it again after their sources are back.

use crate::apply::error::StepError;
use crate::journal::record::{Outcome, Output};
use crate::journal::{Journal, Saved, fingerprint};

use super::{At, Back, Doer, Made, Past, Restored, Stand, mismatch};

/// Why a plan cannot ask for captured files: only a rollback has them.
const FORWARD_ONLY: &str = "captured files come back only by a rollback";

pub(super) struct Generated<'a> {
    pub what: &'a str,
    pub command: &'a [String],
    pub outputs: &'a [String],
    pub made: bool,
}

impl Doer for Generated<'_> {
    fn stand(&self, _: At<'_>) -> Result<Stand, StepError> {
        if self.made {
            return Ok(Stand::Before);
        }
        let hint = "`swaptune rollback` brings them back".into();
        Err(StepError::Refused { what: self.what.into(), why: FORWARD_ONLY.into(), hint })
    }

    fn save(&self, at: At<'_>, journal: &Journal<'_>, seq: usize) -> Result<Saved, StepError> {
        let save = |(part, output): (usize, &String)| {
            let real = at.run.real(output)?;
            let file = at.save_file(journal, seq, part, &real)?;
            Ok((real, file))
        };
        Ok(Saved::Outputs { files: self.outputs.iter().enumerate().map(save).collect::<Result<_, StepError>>()? })
    }

    fn make(&self, at: At<'_>) -> Result<Made, StepError> {
        let reals = self.outputs.iter().map(|output| at.run.real(output)).collect::<Result<Vec<_>, _>>()?;
        let before = prints(at, &reals)?;
        let hosts: Vec<_> = reals.iter().map(|real| at.run.host(real)).collect();
        let ran = at.run.run(self.command, &hosts)?;
        if ran.code != Some(0) {
            let code = ran.code.map_or_else(|| "a signal".into(), |code| format!("exit code {code}"));
            let command = self.command.join(" ");
            return Err(StepError::Command { command, why: format!("{code}: {}", ran.output) });
        }
        self.look(at, &reals)?;
        let outputs = prints(at, &reals)?;
        let outcome = if outputs == before {
            Outcome::Unchanged
        } else {
            Outcome::Changed { before: "as captured".into(), after: "made anew".into() }
        };
        Ok(Made { outcome, outputs })
    }

    fn stand_back(&self, at: At<'_>, past: Past<'_>) -> Result<Back, StepError> {
        let Saved::Outputs { files } = past.saved else { return Err(mismatch(self.what)) };
        let saved: Vec<Output> = files.iter().map(|(at, file)| output(at, file.as_ref().map(|f| &f.blob.print))).collect();
        let reals: Vec<String> = files.iter().map(|(real, _)| real.clone()).collect();
        let found = prints(at, &reals)?;
        if found == saved {
            return Ok(Back::Saved);
        }
        // A rollback that was cut short has brought some of them back.
        let is_known = |output: &Output| past.log.outputs.contains(output) || saved.contains(output);
        let ours = past.log.outputs.is_empty() || found.iter().all(is_known);
        Ok(if ours { Back::Ours } else { Back::Other("made again since".into()) })
    }

    fn restore(&self, at: At<'_>, past: Past<'_>) -> Result<Restored, StepError> {
        let Saved::Outputs { files } = past.saved else { return Err(mismatch(self.what)) };
        for (real, file) in files {
            if !at.is_saved(real, file.as_ref())? {
                at.restore_file(past.state, real, file.as_ref())?;
            }
        }
        Ok(Restored::Whole)
    }
}

impl Generated<'_> {
    /// A generator that says that all went well is not believed: what it should have made is there and holds something.
    fn look(&self, at: At<'_>, reals: &[String]) -> Result<(), StepError> {
        for real in reals {
            let why = match at.run.read(real)? {
                None => format!("it ended well, but {real} is not there"),
                Some(bytes) if bytes.is_empty() => format!("it ended well, but {real} is empty"),
                Some(_) => continue,
            };
            return Err(StepError::Command { command: self.command.join(" "), why });
        }
        Ok(())
    }
}

fn prints(at: At<'_>, reals: &[String]) -> Result<Vec<Output>, StepError> {
    let print = |real: &String| {
        let print = at.run.read(real)?.map(|bytes| fingerprint(&bytes));
        Ok(output(real, print.as_ref()))
    };
    reals.iter().map(print).collect()
}

fn output(at: &str, print: Option<&String>) -> Output {
    Output { at: at.to_owned(), print: print.cloned() }
}
