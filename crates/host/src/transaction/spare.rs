//! Room that is taken before the first change, so that going back needs none.
//!
//! A file comes back by a copy beside it that is renamed over it, and a copy takes blocks, which a full file system does not
//! have. So before a transaction changes anything, each file that it may have to bring back gets a spare: an empty file beside
//! it, dressed like it, with all the blocks that its bytes need. Bringing it back fills the spare and renames it. The journal
//! has room of its own (`journal/mod.rs`). What is deleted or renamed on the way back needs no blocks.

use std::fs;

use swaptune_core::change::Change;

use super::error::StepError;
use super::run::{FileAttributes, Run, temporary};
use super::undo;
use crate::journal::record::SavedFile;
use crate::journal::{Journal, Saved, StepLog};

/// Only root may read what is brought back before it is dressed.
const MODE: u32 = 0o600;

/// The name of the spare of a file.
pub(super) fn name(real: &str, tag: &str) -> String {
    temporary(real, &format!("{tag}-spare"))
}

/// Takes the room for everything that may have to be brought back.
pub(crate) fn take(run: &Run<'_>, journal: &Journal<'_>) -> Result<(), StepError> {
    each(run, journal, |real, tag, saved| {
        let found = fs::metadata(run.host(real)).ok().filter(fs::Metadata::is_file);
        let Some(length) = saved.or_else(|| found.as_ref().map(fs::Metadata::len)) else { return Ok(()) };
        if !run.missing_folders(real).is_empty() {
            return Ok(());
        }
        let attributes = match found {
            Some(_) => FileAttributes::of(&run.host(real)).map_err(|error| StepError::io("read", real, error))?,
            None => FileAttributes::new(MODE),
        };
        run.make_spare(real, tag, length, &attributes)
    })
}

/// Gives back the room that was not needed.
pub(crate) fn give_back(run: &Run<'_>, journal: &Journal<'_>) -> Result<(), StepError> {
    each(run, journal, |real, tag, _| match run.exists(&name(real, tag)) {
        true => run.delete(&name(real, tag)),
        false => Ok(()),
    })
}

/// Every file of the transaction that a way back may have to fill, by its real path, the tag of its step, and the length of
/// what was saved of it; of a step that is not begun, none.
fn each(
    run: &Run<'_>,
    journal: &Journal<'_>,
    mut act: impl FnMut(&str, &str, Option<u64>) -> Result<(), StepError>,
) -> Result<(), StepError> {
    for (seq, log) in journal.transaction().steps.iter().enumerate() {
        let tag = undo::tag(&journal.transaction().id, seq);
        for (path, saved) in files(log) {
            act(&run.real(&path)?, &tag, saved)?;
        }
    }
    Ok(())
}

fn files(log: &StepLog) -> Vec<(String, Option<u64>)> {
    // What was not there goes by being deleted.
    let saved = |at: &String, file: &Option<SavedFile>| file.as_ref().map(|file| (at.clone(), Some(file.blob.length)));
    match (&log.step.change, &log.saved) {
        (_, Some(Saved::File { at, file, .. })) => saved(at, file).into_iter().collect(),
        (_, Some(Saved::Outputs { files })) => files.iter().filter_map(|(at, file)| saved(at, file)).collect(),
        (Change::File { path, before: Some(_), .. }, None) => vec![(path.clone(), None)],
        (Change::Generated { outputs, .. }, None) => outputs.iter().map(|path| (path.clone(), None)).collect(),
        _ => Vec::new(),
    }
}
