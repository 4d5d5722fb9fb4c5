//! Saved bytes: whole, on disk before the line that names them, checked when they are read back.

use std::fs::{self, File, OpenOptions};
use std::io::Write;
use std::os::unix::fs::OpenOptionsExt;
use std::path::PathBuf;

use tracing::debug;

use super::record::Blob;
use super::{Journal, JournalError, StateDir, sync_dir};
use crate::checkpoint;

/// FNV-1a of 64 bits, hexadecimal: tells whether bytes are those that were seen before. Not against an adversary, who
/// could as well write to the journal.
#[must_use]
pub fn fingerprint(bytes: &[u8]) -> String {
    let hash =
        bytes.iter().fold(0xcbf2_9ce4_8422_2325_u64, |hash, byte| (hash ^ u64::from(*byte)).wrapping_mul(0x0000_0100_0000_01b3));
    format!("{hash:016x}")
}

impl Journal<'_> {
    /// Saves bytes for a step; `part` tells several of one step apart.
    pub fn save(&self, seq: usize, part: usize, bytes: &[u8]) -> Result<Blob, JournalError> {
        let name = format!("{}-{seq}-{part}", self.transaction.id);
        let path = self.state.blobs().join(&name);
        let failed = |source| JournalError::Io { operation: "write", path: path.clone(), source };
        self.faults.before("save", &path).map_err(failed)?;
        debug!("keep {} bytes in {}", bytes.len(), path.display());
        let open = OpenOptions::new().write(true).create(true).truncate(true).mode(0o600).open(&path);
        let write = |mut file: File| file.write_all(bytes).and_then(|()| file.sync_all());
        open.and_then(write).map_err(failed)?;
        sync_dir(&self.state.blobs())?;
        checkpoint::pass(self.machine);
        Ok(Blob { name, length: bytes.len() as u64, print: fingerprint(bytes) })
    }
}

impl StateDir {
    /// The file that holds saved bytes.
    pub(crate) fn saved_at(&self, blob: &Blob) -> PathBuf {
        self.blobs().join(&blob.name)
    }

    /// Reads saved bytes back and checks that they are the ones that were saved.
    pub(crate) fn load(&self, blob: &Blob) -> Result<Vec<u8>, JournalError> {
        let path = self.saved_at(blob);
        let bytes = fs::read(&path).map_err(|source| JournalError::Io { operation: "read", path: path.clone(), source })?;
        let damaged = |why: String| JournalError::Blob { path: path.clone(), why };
        if bytes.len() as u64 != blob.length {
            return Err(damaged(format!("{} bytes in place of {}", bytes.len(), blob.length)));
        }
        if fingerprint(&bytes) != blob.print {
            return Err(damaged("their fingerprint differs".to_owned()));
        }
        Ok(bytes)
    }

    /// Deletes the saved bytes of a transaction that has nothing left to undo. What cannot be deleted only takes space.
    pub(crate) fn forget(&self, id: &str) {
        let Ok(entries) = fs::read_dir(self.blobs()) else { return };
        let prefix = format!("{id}-");
        let of_it = |path: &PathBuf| path.file_name().is_some_and(|name| name.to_string_lossy().starts_with(&prefix));
        for path in entries.filter_map(|entry| Some(entry.ok()?.path())).filter(of_it) {
            let _ = fs::remove_file(path);
        }
    }
}
