//! Where a workload may write, from the side of who runs it.

use std::fs::{self, DirBuilder};
use std::io;
use std::os::unix::fs::DirBuilderExt;
use std::path::{Path, PathBuf};
use std::thread::sleep;
use std::time::Duration;

/// How often and how long it is waited for what was killed to be gone.
const PATIENCE: (u32, Duration) = (50, Duration::from_millis(20));

/// A folder of its own for what workloads write, removed with all that is in it when dropped: one that is killed, as for want of memory,
/// takes nothing away itself.
#[derive(Debug)]
#[must_use = "it is removed when dropped"]
pub struct WorkloadFolder(PathBuf);

impl WorkloadFolder {
    /// Makes one in `parent` that was not there.
    ///
    /// # Errors
    /// What the kernel says.
    pub fn make(parent: &Path) -> io::Result<Self> {
        let mut number = 0;
        loop {
            let folder = parent.join(format!("swaptune-workload-{}-{number}", std::process::id()));
            match DirBuilder::new().mode(0o700).create(&folder) {
                Ok(()) => return Ok(Self(folder)),
                // A process of this number left it, or another user made it to be written to.
                Err(error) if error.kind() == io::ErrorKind::AlreadyExists => number += 1,
                Err(error) => return Err(error),
            }
        }
    }

    /// Its path.
    #[must_use]
    pub fn path(&self) -> &Path {
        &self.0
    }
}

impl Drop for WorkloadFolder {
    fn drop(&mut self) {
        // A compiler that was killed may still end a write.
        for _ in 0..PATIENCE.0 {
            match fs::remove_dir_all(&self.0) {
                Err(error) if error.kind() != io::ErrorKind::NotFound => sleep(PATIENCE.1),
                _ => return,
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_killed_workload_left_goes_with_the_folder() {
        let parent = tempfile::tempdir().unwrap();
        let (one, other) = (WorkloadFolder::make(parent.path()).unwrap(), WorkloadFolder::make(parent.path()).unwrap());
        assert_ne!(one.path(), other.path());
        fs::create_dir(one.path().join("swaptune-build-1")).unwrap();
        fs::write(one.path().join("swaptune-build-1/0.c"), "").unwrap();
        drop((one, other));
        assert_eq!(parent.path().read_dir().unwrap().count(), 0);
        assert!(WorkloadFolder::make(Path::new("/nonexistent")).is_err());
    }
}
