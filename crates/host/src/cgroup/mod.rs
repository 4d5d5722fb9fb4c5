//! A control group of our own with a memory limit, for a child process.
//!
//! With systemd the group is a transient scope that systemd makes and that is delegated to us, so that nothing is written
//! into its tree. Without it the group is a folder of version 2 (below the nearest group that may have one) or at the top
//! of version 1. Either goes away with this process: systemd removes an empty scope, and a folder has a guardian that
//! removes it once our end of a pipe closes, even when we are killed. Should the guardian be killed too, the next group that
//! is made removes what is left.

mod counters;
mod place;
mod scope;

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use swaptune_core::Bytes;
use thiserror::Error;

use crate::folder_guardian::FolderGuardian;
use crate::machine::Machine;
use place::GroupMaker;
use scope::ProcessScope;

pub use counters::GroupCounters;

/// How names of our groups begin.
const PREFIX: &str = "swaptune-";

/// Why there is no group, or what cannot be done with it.
#[derive(Debug, Error)]
pub enum CgroupError {
    /// No version of the memory controller can be reached.
    #[error(
        "no memory controller: neither a cgroup2 mount with `memory` in cgroup.controllers nor a version 1 `memory` hierarchy"
    )]
    NoController,
    /// A folder is no running machine.
    #[error("{0}: a control group can only be made on the running machine")]
    NotLive(String),
    /// No group above ours passes the memory controller on.
    #[error("{0}: no control group above this process hands the memory controller to its children")]
    NotDelegated(String),
    /// systemd made no scope.
    #[error("systemd-run made no scope: {0}")]
    Systemd(String),
    /// This kernel reclaims no group on demand.
    #[error("{0}: no such file; reclaim on demand came with Linux 5.19")]
    NoReclaim(String),
    /// A file of the group.
    #[error("{path}: {source}")]
    Io {
        /// The file.
        path: String,
        /// What the kernel said.
        source: io::Error,
    },
}

impl CgroupError {
    fn io(path: &Path, source: io::Error) -> Self {
        Self::Io { path: path.display().to_string(), source }
    }

    /// What to do about it.
    #[must_use]
    pub fn hint(&self) -> &'static str {
        match self {
            Self::NoController => {
                "boot without cgroup_disable=memory (a Raspberry Pi: with cgroup_enable=memory); in a container, let it have its cgroup file system"
            }
            Self::NotLive(_) => "leave --root out",
            Self::NotDelegated(_) => "run as root, or in a group of its own: systemd-run --user --scope -p Delegate=yes …",
            Self::Systemd(_) => "run as root; systemd-run comes with the package systemd",
            Self::NoReclaim(_) => "use a smaller limit instead",
            Self::Io { source, .. } if source.kind() == io::ErrorKind::PermissionDenied => "run as root",
            Self::Io { .. } => "in a container, let it have a writable cgroup file system; else run as root",
        }
    }
}

/// The two kinds of hierarchy.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum HierarchyVersion {
    /// One hierarchy for each controller.
    V1,
    /// One hierarchy for all.
    V2,
}

impl HierarchyVersion {
    fn limit_file(self) -> &'static str {
        match self {
            Self::V1 => "memory.limit_in_bytes",
            Self::V2 => "memory.max",
        }
    }

    fn reclaim_file(self) -> &'static str {
        match self {
            Self::V1 => "memory.force_empty",
            Self::V2 => "memory.reclaim",
        }
    }
}

/// A control group of our own with a memory limit. Dropped, it is removed; the processes in it must have ended by then.
#[derive(Debug)]
pub struct LimitedGroup {
    folder: PathBuf,
    version: HierarchyVersion,
    keeper: GroupRemover,
}

/// Who removes the group.
#[derive(Debug)]
enum GroupRemover {
    Scope(ProcessScope),
    Folder(FolderGuardian),
}

impl LimitedGroup {
    /// Makes a group whose processes may have at most `limit` of RAM; swap is not limited. `name` goes into its name
    /// and must be made of letters.
    ///
    /// # Errors
    /// [`CgroupError`]: no controller, no right, or systemd refuses.
    pub fn create(machine: &Machine, name: &str, limit: Bytes) -> Result<Self, CgroupError> {
        if !machine.is_live() {
            return Err(CgroupError::NotLive(machine.root().display().to_string()));
        }
        place::remove_leftovers(machine);
        let name = format!("{PREFIX}{name}-{}", std::process::id());
        let group = match place::find(machine)? {
            GroupMaker::Systemd { user } => {
                let scope = ProcessScope::start(&name, user, limit)?;
                let (folder, version) = place::of_process(machine, scope.pid())?;
                Self { folder, version, keeper: GroupRemover::Scope(scope) }
            }
            GroupMaker::Folders { version, parents, enable } => {
                let (folder, enabled) = make(&name, &parents, enable.as_deref())?;
                let guardian =
                    FolderGuardian::start(&folder, enabled.as_deref()).map_err(|source| CgroupError::io(&folder, source))?;
                Self { folder, version, keeper: GroupRemover::Folder(guardian) }
            }
        };
        group.write(group.version.limit_file(), &limit.0.to_string())?;
        Ok(group)
    }

    /// Puts a process into the group; what it allocates from now on counts.
    ///
    /// # Errors
    /// [`CgroupError::Io`]: no such process, or it may not be moved.
    pub fn add(&self, pid: u32) -> Result<(), CgroupError> {
        self.write("cgroup.procs", &pid.to_string())
    }

    /// What the kernel counts for it now.
    #[must_use]
    pub fn counters(&self) -> GroupCounters {
        GroupCounters::read(&self.folder, self.version)
    }

    /// Asks the kernel to take `bytes` of RAM from the group, and says how much less it has after that. Version 1 takes
    /// all that can be taken, whatever was asked for.
    ///
    /// # Errors
    /// [`CgroupError::NoReclaim`] before Linux 5.19, [`CgroupError::Io`] otherwise. Less than asked for is no error.
    pub fn reclaim(&self, bytes: Bytes) -> Result<Bytes, CgroupError> {
        let file = self.version.reclaim_file();
        let path = self.folder.join(file);
        if !path.exists() {
            return Err(CgroupError::NoReclaim(path.display().to_string()));
        }
        let before = self.counters().usage;
        let asked = if self.version == HierarchyVersion::V1 { Bytes(0) } else { bytes };
        match fs::write(&path, asked.0.to_string()) {
            // EAGAIN: it found less than was asked for. EBUSY: version 1 could not take everything.
            Err(error) if ![Some(libc::EAGAIN), Some(libc::EBUSY)].contains(&error.raw_os_error()) => {
                return Err(CgroupError::io(&path, error));
            }
            _ => {}
        }
        Ok(Bytes(before.0.saturating_sub(self.counters().usage.0)))
    }

    /// Keeps its pages from the disk: what zswap refuses of them stays in RAM (version 2, Linux 6.8).
    ///
    /// # Errors
    /// [`CgroupError::Io`]: the kernel has no such switch.
    pub fn keep_from_disk(&self) -> Result<(), CgroupError> {
        self.write("memory.zswap.writeback", "0")
    }

    /// Which kind of hierarchy it is in.
    #[must_use]
    pub fn version(&self) -> HierarchyVersion {
        self.version
    }

    /// Its folder.
    #[must_use]
    pub fn folder(&self) -> &Path {
        &self.folder
    }

    fn write(&self, file: &str, text: &str) -> Result<(), CgroupError> {
        let path = self.folder.join(file);
        fs::write(&path, text).map_err(|source| CgroupError::io(&path, source))
    }
}

impl Drop for LimitedGroup {
    fn drop(&mut self) {
        match &mut self.keeper {
            GroupRemover::Scope(scope) => scope.end(),
            GroupRemover::Folder(guardian) => guardian.end(),
        }
    }
}

/// Makes the folder below the first parent that lets us, nearest first. `enable` is a group whose children do not have
/// the controller yet: it is handed on for as long as the group lives, and named in the result.
fn make(name: &str, parents: &[PathBuf], enable: Option<&Path>) -> Result<(PathBuf, Option<PathBuf>), CgroupError> {
    let mut failed = None;
    for parent in parents {
        let folder = parent.join(name);
        match fs::create_dir(&folder) {
            Ok(()) => return Ok((folder, None)),
            Err(source) => failed = failed.or(Some(CgroupError::io(&folder, source))),
        }
    }
    let Some(parent) = enable else {
        return Err(failed.unwrap_or_else(|| CgroupError::NotDelegated(name.to_owned())));
    };
    let control = parent.join("cgroup.subtree_control");
    fs::write(&control, "+memory").map_err(|source| CgroupError::io(&control, source))?;
    let folder = parent.join(name);
    match fs::create_dir(&folder) {
        Ok(()) => Ok((folder, Some(control))),
        Err(source) => {
            let _ = fs::write(&control, "-memory");
            Err(CgroupError::io(&folder, source))
        }
    }
}
