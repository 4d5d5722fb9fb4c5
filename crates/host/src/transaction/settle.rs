//! What other programs must be told after files have changed.

use std::path::Path;

use swaptune_core::change::Change;

use super::run::Run;
use crate::journal::Journal;
use crate::journal::record::JournalRecord;

/// Folders that systemd reads units from, and the files that its generators read.
const OF_SYSTEMD: [&str; 6] = [
    "/etc/systemd/system/",
    "/usr/lib/systemd/system/",
    "/lib/systemd/system/",
    "/run/systemd/system/",
    "/etc/fstab",
    "/etc/crypttab",
];

/// Makes systemd read its units again, when it runs here and any of them changed. Says what went wrong: the files are
/// right all the same, and systemd reads them at the next boot at the latest.
pub(crate) fn settle(run: &Run<'_>, journal: &mut Journal<'_>) -> Option<String> {
    let touched = journal.transaction().steps.iter().any(|log| log.saved.is_some() && is_of_systemd(&log.step.change));
    let runs = run.machine.root() == Path::new("/") && Path::new("/run/systemd/system").is_dir();
    if !touched || !runs {
        return None;
    }
    let command = ["systemctl", "daemon-reload"].map(str::to_owned);
    let error = match run.run(&command, &[]) {
        Ok(ran) if ran.code == Some(0) => None,
        Ok(ran) => Some(format!("{} failed: {}", command.join(" "), ran.output)),
        Err(error) => Some(crate::error_chain(&error)),
    };
    let record = JournalRecord::Settled { command: command.join(" "), error: error.clone() };
    let noted = journal.add(record).err().map(|error| error.to_string());
    error.or(noted)
}

fn is_of_systemd(change: &Change) -> bool {
    let (Change::File { path, .. } | Change::Link { path, .. }) = change else { return false };
    OF_SYSTEMD.iter().any(|place| path.starts_with(place))
}
