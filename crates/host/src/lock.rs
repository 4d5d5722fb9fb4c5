//! One apply at a time: a lock that the kernel frees when its holder dies.

use std::fs::{File, OpenOptions};
use std::io::{self, Read};
use std::os::unix::fs::{FileExt, OpenOptionsExt};
use std::path::{Path, PathBuf};

use rustix::fs::{FlockOperation, flock};
use rustix::io::Errno;
use tracing::info;

/// Why the lock was not taken.
#[derive(Debug, thiserror::Error)]
pub enum LockError {
    /// Another process holds it.
    #[error("another swaptune is changing this machine{}", pid.map(|pid| format!(" (process {pid})")).unwrap_or_default())]
    Held {
        /// Process id of the holder, when it wrote one.
        pid: Option<u32>,
    },
    /// The lock file cannot be used.
    #[error("cannot use the lock file {}", path.display())]
    Io {
        /// The lock file.
        path: PathBuf,
        /// What the kernel said.
        source: io::Error,
    },
}

/// A lock that is held until it is dropped.
#[derive(Debug)]
pub struct Lock {
    file: File,
}

impl Drop for Lock {
    /// A child that another thread has just started may hold a copy of the file until it runs its program; the lock
    /// itself is freed for all copies at once.
    fn drop(&mut self) {
        let _ = flock(&self.file, FlockOperation::Unlock);
    }
}

impl Lock {
    /// Takes the lock, without waiting.
    ///
    /// # Errors
    /// [`LockError`].
    pub fn take(path: &Path) -> Result<Self, LockError> {
        let failed = |source: io::Error| LockError::Io { path: path.to_owned(), source };
        // The file stays when the lock is freed: deleting it would let two processes lock two files of one name.
        let options = OpenOptions::new().read(true).write(true).create(true).truncate(false).mode(0o600).open(path);
        let mut file = options.map_err(failed)?;
        match flock(&file, FlockOperation::NonBlockingLockExclusive) {
            Ok(()) => {}
            Err(Errno::WOULDBLOCK) => return Err(LockError::Held { pid: holder(&mut file) }),
            Err(error) => return Err(failed(error.into())),
        }
        info!("lock {}", path.display());
        name_us(&file);
        Ok(Self { file })
    }
}

/// Writes our process number over the one before. Truncating first would free the block, and on a full file system another program takes
/// it: then nothing could be locked, and nothing put back. If the write fails, the lock is held and names no process.
fn name_us(file: &File) {
    let line = format!("{}\n", std::process::id());
    if file.write_all_at(line.as_bytes(), 0).and_then(|()| file.set_len(line.len() as u64)).is_err() {
        let _ = file.set_len(0);
    }
}

fn holder(file: &mut File) -> Option<u32> {
    let mut text = String::new();
    file.read_to_string(&mut text).ok()?;
    text.trim().parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_second_one_learns_who_the_first_is() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("lock");
        let held = Lock::take(&path).unwrap();
        let error = Lock::take(&path).unwrap_err();
        let expect = format!("another swaptune is changing this machine (process {})", std::process::id());
        assert_eq!(error.to_string(), expect);
        drop(held);
        Lock::take(&path).unwrap();
    }

    #[test]
    fn a_longer_number_before_leaves_nothing() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("lock");
        std::fs::write(&path, "4294967295\n").unwrap();
        let _held = Lock::take(&path).unwrap();
        assert_eq!(std::fs::read_to_string(&path).unwrap(), format!("{}\n", std::process::id()));
    }

    #[test]
    fn without_room_for_a_number_it_is_held_all_the_same() {
        let _held = Lock::take(Path::new("/dev/full")).unwrap();
        let other = File::open("/dev/full").unwrap();
        assert_eq!(flock(&other, FlockOperation::NonBlockingLockExclusive), Err(Errno::WOULDBLOCK));
    }

    #[test]
    fn a_folder_that_is_not_there_is_an_error_of_its_own() {
        assert!(matches!(Lock::take(Path::new("/nonexistent/lock")), Err(LockError::Io { .. })));
    }
}
