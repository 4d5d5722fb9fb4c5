//! All transactions of a state folder.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use serde::Serialize;

use super::{JournalError, StateDir, StepLog, Transaction, TransactionKind, TransactionStatus};

/// One row of the history.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct HistoryEntry {
    /// Identifier of the transaction, as `history` shows it.
    pub id: String,
    /// UTC time of its beginning, empty when its journal cannot be read.
    pub time: String,
    /// What it is for; `None` when its journal cannot be read.
    pub kind: Option<TransactionKind>,
    /// Where it stands; `None` when its journal cannot be read.
    pub status: Option<TransactionStatus>,
    /// How many steps changed something.
    pub changes: usize,
    /// How many of its changes are not undone although it was taken back.
    pub left: usize,
    /// Those changes; while it is being taken back, all that are still to be undone.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub standing: Vec<StandingStep>,
    /// The profile that was planned from.
    pub profile: String,
    /// What it did, in short.
    pub summary: String,
    /// UTC time at which it was taken back.
    pub undone_at: Option<String>,
    /// Why its journal cannot be read.
    pub error: Option<String>,
}

/// A step that is not undone.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct StandingStep {
    /// Its number, from 1, as `rollback --skip` takes it.
    pub number: usize,
    /// The step, in words.
    pub step: String,
    /// Why, as far as a rollback has tried.
    pub why: String,
    /// True when the user gave it up.
    pub set_aside: bool,
}

/// Steps that a rollback of this machine has set aside: the id of the transaction and the step, oldest first.
///
/// # Errors
/// [`JournalError`] when any journal cannot be read.
pub fn set_aside(state: &StateDir) -> Result<Vec<(String, StandingStep)>, JournalError> {
    let of = |transaction: Transaction| {
        let aside = standing(&transaction).into_iter().filter(|step| step.set_aside);
        aside.map(|step| (transaction.id.clone(), step)).collect::<Vec<_>>()
    };
    Ok(all(state)?.into_iter().flat_map(of).collect())
}

fn standing(transaction: &Transaction) -> Vec<StandingStep> {
    let is_told = |(_, log): &(usize, &StepLog)| match transaction.status {
        TransactionStatus::Undoing => log.is_standing(),
        _ => log.left.is_some(),
    };
    let row = |(seq, log): (usize, &StepLog)| StandingStep {
        number: seq + 1,
        step: log.step.change.to_string(),
        why: log.left.clone().or_else(|| log.failed.clone()).unwrap_or_default(),
        set_aside: log.set_aside,
    };
    transaction.steps.iter().enumerate().filter(is_told).map(row).collect()
}

/// All transactions, oldest first. A journal that cannot be read is a row with the reason.
///
/// # Errors
/// [`JournalError`] when the folder cannot be listed; a missing folder is an empty history.
pub fn history(state: &StateDir) -> Result<Vec<HistoryEntry>, JournalError> {
    let rows = ids(state)?.into_iter().filter_map(|id| match transaction(state, &id) {
        Ok(transaction) => transaction.map(|transaction| row(&transaction)),
        Err(error) => Some(HistoryEntry {
            id,
            time: String::new(),
            kind: None,
            status: None,
            changes: 0,
            left: 0,
            standing: Vec::new(),
            profile: String::new(),
            summary: String::new(),
            undone_at: None,
            error: Some(error.to_string()),
        }),
    });
    Ok(rows.collect())
}

/// The transaction that was cut short, if there is one: resume it or roll it back.
///
/// # Errors
/// [`JournalError`] when any journal cannot be read: it might be the one.
pub fn pending(state: &StateDir) -> Result<Option<Transaction>, JournalError> {
    Ok(all(state)?.into_iter().rfind(|transaction| transaction.status.is_pending()))
}

/// The newest transaction of this kind that is in effect.
///
/// # Errors
/// [`JournalError`] when any journal cannot be read.
pub fn newest_applied(state: &StateDir, kind: TransactionKind) -> Result<Option<Transaction>, JournalError> {
    Ok(all(state)?.into_iter().rfind(|transaction| transaction.kind == kind && transaction.status == TransactionStatus::Applied))
}

/// What is to be taken back so that nothing of this machine is swaptune's: the transaction that was cut short, then every apply of which
/// something stands that was not set aside, newest first. One that was taken back before is among them where it left a step alone: that
/// step may be as it was made again by now.
///
/// # Errors
/// [`JournalError`] when any journal cannot be read.
pub fn to_take_back(state: &StateDir) -> Result<Vec<Transaction>, JournalError> {
    let stands = |log: &StepLog| log.is_standing() && !log.set_aside;
    let is_asked = |transaction: &Transaction| {
        let is_left = transaction.status == TransactionStatus::Applied || transaction.steps.iter().any(stands);
        transaction.status.is_pending() || transaction.kind == TransactionKind::Apply && is_left
    };
    let mut found: Vec<_> = all(state)?.into_iter().rev().filter(is_asked).collect();
    found.sort_by_key(|transaction| !transaction.status.is_pending());
    Ok(found)
}

/// One transaction; `None` when a crash came before its first line, and so before any change.
///
/// # Errors
/// [`JournalError`] when its journal does not exist or cannot be read.
pub fn transaction(state: &StateDir, id: &str) -> Result<Option<Transaction>, JournalError> {
    let path = state.journal(id);
    let unknown = || JournalError::Unknown { id: id.to_owned() };
    // An id is a file name; anything else would lead out of the folder.
    if id.is_empty() || Path::new(id).components().count() != 1 || id.contains('/') {
        return Err(unknown());
    }
    let bytes = match fs::read(&path) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Err(unknown()),
        read => read.map_err(|source| JournalError::Io { operation: "read", path: path.clone(), source })?,
    };
    let (transaction, _) = Transaction::parse(&path, &bytes)?;
    if let Some(other) = transaction.as_ref().filter(|transaction| transaction.id != id) {
        let why = format!("it is the journal of `{}`", other.id);
        return Err(JournalError::Malformed { path, line: 1, why });
    }
    Ok(transaction)
}

/// Reads the bytes of a journal; `name` only names it in errors. `None` when not even its first line is whole.
///
/// # Errors
/// [`JournalError`] for any whole line that is not understood.
pub fn parse(name: &Path, bytes: &[u8]) -> Result<Option<Transaction>, JournalError> {
    Transaction::parse(name, bytes).map(|(transaction, _)| transaction)
}

/// All transactions, oldest first.
pub(crate) fn all(state: &StateDir) -> Result<Vec<Transaction>, JournalError> {
    ids(state)?.iter().filter_map(|id| transaction(state, id).transpose()).collect()
}

/// An id that sorts after `newest`: `drawn`, or the one after `newest` where two began in one second or the clock was set back. The newest
/// transaction must be the one that began last, for a rollback takes that one back first.
pub(super) fn later(newest: Option<String>, drawn: String) -> String {
    let Some(newest) = newest.filter(|newest| *newest >= drawn) else { return drawn };
    let number = |end: &str| u16::from_str_radix(end, 16).ok().filter(|number| format!("{number:04x}") == end)?.checked_add(1);
    match newest.rsplit_once('-').and_then(|(stamp, end)| Some((stamp, number(end)?))) {
        Some((stamp, number)) => format!("{stamp}-{number:04x}"),
        None => newest + "0",
    }
}

pub(super) fn ids(state: &StateDir) -> Result<Vec<String>, JournalError> {
    let folder = state.journals();
    let failed = |source| JournalError::Io { operation: "list", path: folder.clone(), source };
    let entries = match fs::read_dir(&folder) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
        entries => entries.map_err(failed)?,
    };
    let paths = entries.map(|entry| Ok(entry.map_err(failed)?.path())).collect::<Result<Vec<PathBuf>, _>>()?;
    let id = |path: &PathBuf| Some(path.file_name()?.to_str()?.strip_suffix(".jsonl")?.to_owned());
    let mut ids: Vec<String> = paths.iter().filter_map(id).collect();
    ids.sort_unstable();
    Ok(ids)
}

fn row(transaction: &Transaction) -> HistoryEntry {
    let standing = standing(transaction);
    let Transaction { id, time, kind, status, profile, summary, undone_at, steps, .. } = transaction.clone();
    HistoryEntry {
        id,
        time,
        kind: Some(kind),
        status: Some(status),
        changes: steps.iter().filter(|step| step.saved.is_some()).count(),
        left: steps.iter().filter(|step| step.left.is_some()).count(),
        standing,
        profile,
        summary,
        undone_at,
        error: None,
    }
}
