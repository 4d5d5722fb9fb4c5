//! `memory.reclaim` of one group: asks the kernel to take memory from it now.

use std::io;
use std::path::Path;

use rustix::fd::OwnedFd;
use rustix::fs::{Mode, OFlags, fstat, open, openat};
use rustix::io::Errno;
use swaptune_core::Bytes;
use swaptune_kernel::{KernelVersion, behaviours};

use crate::machine::Machine;
use crate::sampling::groups::TREE;

/// How it is asked for anonymous pages rather than for those of files, best first; what a kernel does not take is not asked again.
#[derive(Clone, Debug)]
pub(super) struct Words(Vec<&'static str>);

impl Words {
    pub(super) fn of(kernel: Option<KernelVersion>) -> Self {
        let does = |row: &behaviours::Behaviour| kernel.is_some_and(|kernel| row.is_in(kernel));
        let only = does(&behaviours::RECLAIM_ANON_ONLY).then_some(" swappiness=max");
        let rather = does(&behaviours::RECLAIM_SWAPPINESS).then_some(" swappiness=200");
        Self([only, rather, Some("")].into_iter().flatten().collect())
    }
}

/// Why nothing was asked for.
#[derive(Debug, thiserror::Error)]
pub(super) enum ReclaimError {
    #[error("it is gone, or another one is there now")]
    Other,
    #[error("{0}")]
    Io(#[from] io::Error),
}

impl From<Errno> for ReclaimError {
    fn from(error: Errno) -> Self {
        match error {
            Errno::NOENT | Errno::NODEV | Errno::LOOP | Errno::NOTDIR | Errno::SRCH => Self::Other,
            error => Self::Io(error.into()),
        }
    }
}

/// Asks the kernel to take `bytes` from the group at `path`, if it is still the one with this inode. That it takes less is no error.
///
/// The folder is opened below the mount point without following links, and the file through it: whatever its owner does to names
/// meanwhile, memory is taken from the group that was looked at, or from none.
pub(super) fn reclaim(machine: &Machine, path: &str, id: u64, bytes: Bytes, words: &mut Words) -> Result<(), ReclaimError> {
    let top = machine.resolve(TREE).map_err(|error| io::Error::other(error.to_string()))?;
    let folder = folder(&top, path)?;
    if fstat(&folder)?.st_ino != id {
        return Err(ReclaimError::Other);
    }
    let file = openat(&folder, "memory.reclaim", OFlags::WRONLY | OFlags::NOFOLLOW | OFlags::CLOEXEC, Mode::empty())?;
    loop {
        let Some(word) = words.0.first() else { return Ok(()) };
        match rustix::io::write(&file, format!("{}{word}", bytes.0).as_bytes()) {
            Err(Errno::INVAL) if words.0.len() > 1 => drop(words.0.remove(0)),
            // It found less than was asked for, or a signal came: what it took is taken.
            Ok(_) | Err(Errno::AGAIN | Errno::INTR) => return Ok(()),
            Err(error) => return Err(error.into()),
        }
    }
}

/// Opens the folder at `path` below `top`, name by name: none may be a link or lead up. openat2(2) would do it at once, but a service with
/// systemd's RestrictSUIDSGID= has none.
fn folder(top: &Path, path: &str) -> Result<OwnedFd, Errno> {
    let flags = OFlags::DIRECTORY | OFlags::PATH | OFlags::CLOEXEC;
    let top = open(top, flags, Mode::empty())?;
    path.split('/').filter(|name| !name.is_empty()).try_fold(top, |folder, name| match name {
        "." | ".." => Err(Errno::NOENT),
        name => openat(&folder, name, flags | OFlags::NOFOLLOW, Mode::empty()),
    })
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::os::unix::fs::{MetadataExt, symlink};

    use super::*;
    use swaptune_kernel::v;

    #[test]
    fn the_group_that_was_looked_at_is_asked_or_none() {
        let dir = tempfile::tempdir().unwrap();
        let machine = Machine::at(dir.path());
        let top = dir.path().join("sys/fs/cgroup");
        let make = |path: &str| {
            fs::create_dir_all(top.join(path)).unwrap();
            fs::write(top.join(path).join("memory.reclaim"), "").unwrap();
            fs::metadata(top.join(path)).unwrap().ino()
        };
        let (mine, victim) = (make("user/mine"), make("system/victim"));
        let asked = |path: &str| fs::read_to_string(top.join(path).join("memory.reclaim")).unwrap();
        let ask = |path: &str, id| reclaim(&machine, path, id, Bytes(4096), &mut Words::of(Some(v(6, 17))));
        ask("/user/mine", mine).unwrap();
        assert_eq!(asked("user/mine"), "4096 swappiness=max");
        // Replaced by a link to another one, which has the same name but is not it; removed and made again; moved up by dots.
        fs::rename(top.join("user/mine"), top.join("user/was")).unwrap();
        symlink(top.join("system/victim"), top.join("user/mine")).unwrap();
        assert!(matches!(ask("/user/mine", victim), Err(ReclaimError::Other)));
        assert!(matches!(ask("/user/gone", mine), Err(ReclaimError::Other)));
        assert!(ask("/user/../../../etc", mine).is_err());
        assert!(matches!(ask("/user/was", mine + 1000), Err(ReclaimError::Other)));
        assert_eq!(asked("system/victim"), "");
        // A file that is a link is none.
        fs::remove_file(top.join("user/was/memory.reclaim")).unwrap();
        symlink(top.join("system/victim/memory.reclaim"), top.join("user/was/memory.reclaim")).unwrap();
        assert!(matches!(ask("/user/was", mine), Err(ReclaimError::Other)));
        assert_eq!(asked("system/victim"), "");
    }

    #[test]
    fn older_kernels_are_asked_in_words_that_they_know() {
        let words = |version| Words::of(version).0;
        assert_eq!(words(Some(v(6, 18))), [" swappiness=max", " swappiness=200", ""]);
        assert_eq!(words(Some(v(6, 12))), [" swappiness=200", ""]);
        assert_eq!(words(Some(v(6, 1))), [""]);
        assert_eq!(words(None), [""]);
    }
}
