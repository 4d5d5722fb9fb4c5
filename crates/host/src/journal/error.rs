//! What can be wrong with a journal. None of it is ever passed over: what cannot be read cannot be undone.

use std::io;
use std::path::PathBuf;

/// Why a journal cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum JournalError {
    /// It cannot be read or written.
    #[error("cannot {operation} {}", path.display())]
    Io {
        /// What was tried.
        operation: &'static str,
        /// The file or folder.
        path: PathBuf,
        /// What the kernel said.
        source: io::Error,
    },
    /// A line is not what it should be.
    #[error("{}, line {line}: {why}", path.display())]
    Malformed {
        /// The file.
        path: PathBuf,
        /// Line number, from 1.
        line: usize,
        /// What is wrong with it.
        why: String,
    },
    /// A line of a version that this program does not know.
    #[error("{}, line {line}: version {found}; this program reads version {}", path.display(), super::record::VERSION)]
    Version {
        /// The file.
        path: PathBuf,
        /// Line number, from 1.
        line: usize,
        /// The version found.
        found: u32,
    },
    /// Saved bytes are missing or not what they were.
    #[error("{}: saved bytes are damaged: {why}", path.display())]
    Blob {
        /// The file.
        path: PathBuf,
        /// What is wrong with it.
        why: String,
    },
    /// An earlier write to the journal failed, and so nothing more is written.
    #[error("{}: an earlier line could not be written", path.display())]
    Broken {
        /// The file.
        path: PathBuf,
    },
    /// There is no such transaction.
    #[error("unknown transaction `{id}`")]
    Unknown {
        /// What was asked for.
        id: String,
    },
}
