//! The journal: what was there before each change, on disk before the change is made.
//!
//! One transaction is one file of JSON lines, `<state>/journal/<id>.jsonl`, that only grows. Each line is synced before
//! the change that it announces; bytes that are too many for a line lie in `<state>/blobs/` and are synced before the
//! line that names them. A last line without its end is what a crash leaves and is ignored. Everything else that is not
//! understood is an error, and nothing is changed while there is one.

mod blobs;
mod error;
mod history;
pub mod record;
mod transaction;

use std::fs::{self, File, OpenOptions};
use std::io::{self, Write};
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt};
use std::path::{Path, PathBuf};

use rustix::fs::{FallocateFlags, fallocate};
use rustix::io::Errno;
use swaptune_core::plan::Step;
use tracing::{info, trace};

pub(crate) use crate::stamp::Stamp;
pub use blobs::fingerprint;
pub use error::JournalError;
pub(crate) use history::all;
pub use history::{HistoryEntry, StandingStep, history, newest_applied, parse, pending, set_aside, to_take_back, transaction};
pub use record::{Ending, Saved, StepOutcome, TransactionKind};
pub(crate) use transaction::AWAY;
pub use transaction::{StepLog, Transaction, TransactionStatus};

use crate::checkpoint::{self, Faults};
use crate::machine::Machine;
use record::{JournalLine, JournalRecord, VERSION};

/// Bytes that are reserved for a journal: a base, and a part for each step. A step has at most five lines;
/// what is long in them, the plan, is in the first, which is written before anything is changed.
const RESERVE: (u64, u64) = (16 << 10, 4 << 10);

/// Where journals, saved bytes and the lock lie.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StateDir {
    path: PathBuf,
}

impl StateDir {
    /// `/var/lib/swaptune` of the machine: for what a user applies.
    #[must_use]
    pub fn persistent(machine: &Machine) -> Self {
        Self::inside(machine, "/var/lib/swaptune")
    }

    /// `/run/swaptune` of the machine: for what the boot service switches on and a reboot forgets.
    #[must_use]
    pub fn volatile(machine: &Machine) -> Self {
        Self::inside(machine, "/run/swaptune")
    }

    /// Any folder.
    #[must_use]
    pub fn at(path: impl Into<PathBuf>) -> Self {
        Self { path: path.into() }
    }

    /// The folder.
    #[must_use]
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// The lock file.
    #[must_use]
    pub fn lock_path(&self) -> PathBuf {
        self.path.join("lock")
    }

    /// The folder of the journals.
    #[must_use]
    pub fn journals(&self) -> PathBuf {
        self.path.join("journal")
    }

    /// The folder of saved bytes.
    #[must_use]
    pub fn blobs(&self) -> PathBuf {
        self.path.join("blobs")
    }

    /// The journal of one transaction.
    #[must_use]
    pub fn journal(&self, id: &str) -> PathBuf {
        self.journals().join(format!("{id}.jsonl"))
    }

    /// Makes the folders. They are closed to others: saved files may hold secrets.
    pub(crate) fn create(&self) -> Result<(), JournalError> {
        for path in [self.journals(), self.blobs()] {
            let make = fs::DirBuilder::new().recursive(true).mode(0o700).create(&path);
            make.map_err(|source| JournalError::Io { operation: "create", path: path.clone(), source })?;
        }
        // A folder exists after a crash only if the one above it is synced.
        for path in self.path.ancestors().take(3) {
            sync_dir(path)?;
        }
        Ok(())
    }

    /// `/run/swaptune/scratch` of the machine: for temporary settings, each of which is taken back.
    #[must_use]
    pub fn temporary(machine: &Machine) -> Self {
        Self::inside(machine, "/run/swaptune/scratch")
    }

    /// Deletes the journal of a transaction that was taken back as a whole and has no place in the history.
    pub(crate) fn erase(&self, id: &str) -> Result<(), JournalError> {
        self.forget(id);
        let path = self.journal(id);
        let removed = fs::remove_file(&path).map_err(|source| JournalError::Io { operation: "delete", path, source });
        removed.and_then(|()| sync_dir(&self.journals()))
    }

    fn inside(machine: &Machine, path: &str) -> Self {
        let real = machine.real_path(path).unwrap_or_else(|_| path.to_owned());
        Self { path: machine.root().join(real.trim_start_matches('/')) }
    }
}

/// What a transaction begins with.
pub(crate) struct Beginning<'a> {
    pub kind: TransactionKind,
    pub boot: String,
    pub profile: &'a str,
    pub summary: String,
    pub steps: Vec<Step>,
}

/// A journal that is being written, and the transaction that it tells.
pub(crate) struct Journal<'a> {
    machine: &'a Machine,
    faults: &'a dyn Faults,
    state: &'a StateDir,
    path: PathBuf,
    file: File,
    length: u64,
    broken: bool,
    transaction: Transaction,
}

impl<'a> Journal<'a> {
    /// Begins a transaction; its first line is on disk when this returns.
    pub fn create(
        machine: &'a Machine,
        faults: &'a dyn Faults,
        state: &'a StateDir,
        beginning: Beginning<'_>,
    ) -> Result<Self, JournalError> {
        let (id, path, file) = create_file(state)?;
        info!("journal {}", path.display());
        let Beginning { kind, boot, profile, summary, steps } = beginning;
        let tool = env!("CARGO_PKG_VERSION").to_owned();
        let time = Stamp::now().text();
        let begin = JournalRecord::Begin { id, time, tool, kind, boot, profile: profile.to_owned(), summary, steps };
        let malformed = |why| JournalError::Malformed { path: path.clone(), line: 1, why };
        let transaction = Transaction::begin(begin.clone()).map_err(malformed)?;
        let mut journal = Self { machine, faults, state, path, file, length: 0, broken: false, transaction };
        let written = journal.write(begin).and_then(|()| journal.reserve()).and_then(|()| sync_dir(&state.journals()));
        if written.is_err() {
            // Nothing has been changed: a journal that says nothing would only be in the way.
            let _ = fs::remove_file(&journal.path);
        }
        written.map(|()| journal)
    }

    /// Opens the journal of a transaction to go on with it. What a crash left of a line is cut off.
    pub fn open(machine: &'a Machine, faults: &'a dyn Faults, state: &'a StateDir, id: &str) -> Result<Self, JournalError> {
        let path = state.journal(id);
        let failed = |operation| {
            let path = path.clone();
            move |source| JournalError::Io { operation, path, source }
        };
        let bytes = match fs::read(&path) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => {
                return Err(JournalError::Unknown { id: id.to_owned() });
            }
            read => read.map_err(failed("read"))?,
        };
        let (transaction, length) = Transaction::parse(&path, &bytes)?;
        let transaction = transaction.ok_or_else(|| JournalError::Unknown { id: id.to_owned() })?;
        let file = OpenOptions::new().append(true).open(&path).map_err(failed("open"))?;
        // Only what is torn is cut off: it would give away the blocks that are reserved, too.
        if length < bytes.len() as u64 {
            file.set_len(length).and_then(|()| file.sync_all()).map_err(failed("write"))?;
        }
        let journal = Self { machine, faults, state, path, file, length, broken: false, transaction };
        // Without room it may still reach its end: what is taken back makes some.
        let _ = journal.reserve();
        Ok(journal)
    }

    /// Takes blocks for the lines to come, so that a file system that fills up meanwhile does not keep us from writing them.
    fn reserve(&self) -> Result<(), JournalError> {
        let steps = self.transaction.steps.len() as u64;
        let room = RESERVE.0 + steps * RESERVE.1;
        match fallocate(&self.file, FallocateFlags::KEEP_SIZE, self.length, room) {
            // A file system that cannot: lines are short, and each is synced before its change is made.
            Ok(()) | Err(Errno::OPNOTSUPP | Errno::NOSYS) => Ok(()),
            Err(error) => Err(JournalError::Io { operation: "reserve", path: self.path.clone(), source: error.into() }),
        }
    }

    pub fn transaction(&self) -> &Transaction {
        &self.transaction
    }

    pub fn state(&self) -> &StateDir {
        self.state
    }

    /// Adds a line. It is on disk when this returns if it announces anything; a line about what has been done may follow
    /// with the next one, since a step that is announced is looked at again in any case.
    pub fn add(&mut self, record: JournalRecord) -> Result<(), JournalError> {
        self.write(record.clone())?;
        let malformed = |why| JournalError::Malformed { path: self.path.clone(), line: 0, why };
        self.transaction.add(record).map_err(malformed)
    }

    fn write(&mut self, record: JournalRecord) -> Result<(), JournalError> {
        if self.broken {
            return Err(JournalError::Broken { path: self.path.clone() });
        }
        let failed = |source| JournalError::Io { operation: "write", path: self.path.clone(), source };
        self.faults.before("journal", &self.path).map_err(failed)?;
        let may_wait = matches!(record, JournalRecord::Done { .. } | JournalRecord::Undone { .. } | JournalRecord::Left { .. });
        let is_end = matches!(record, JournalRecord::End { .. });
        let mut line = serde_json::to_vec(&JournalLine { v: VERSION, record }).map_err(|error| failed(error.into()))?;
        trace!("journal {}: {}", self.path.display(), String::from_utf8_lossy(&line));
        line.push(b'\n');
        let mut written = self.file.write_all(&line);
        if !may_wait {
            written = written.and_then(|()| self.file.sync_data());
        }
        if let Err(source) = written {
            // A torn line may only be the last: cut it off, or else write no more.
            self.broken = self.file.set_len(self.length).and_then(|()| self.file.sync_data()).is_err();
            // The cut gave away what was reserved.
            let _ = self.reserve();
            return Err(JournalError::Io { operation: "write", path: self.path.clone(), source });
        }
        self.length += line.len() as u64;
        if is_end {
            // Gives back what was reserved and not needed; if it cannot be, it only takes space.
            let _ = self.file.set_len(self.length);
        }
        checkpoint::pass(self.machine);
        Ok(())
    }
}

fn create_file(state: &StateDir) -> Result<(String, PathBuf, File), JournalError> {
    loop {
        let id = history::later(history::ids(state)?.pop(), Stamp::now().id());
        let path = state.journal(&id);
        match OpenOptions::new().append(true).create_new(true).mode(0o600).open(&path) {
            Ok(file) => return Ok((id, path, file)),
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {}
            Err(source) => return Err(JournalError::Io { operation: "create", path, source }),
        }
    }
}

/// Makes names in a folder durable.
pub(crate) fn sync_dir(path: &Path) -> Result<(), JournalError> {
    let sync = File::open(path).and_then(|dir| dir.sync_all());
    sync.map_err(|source| JournalError::Io { operation: "sync", path: path.to_owned(), source })
}

#[cfg(test)]
mod tests;
