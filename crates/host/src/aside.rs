//! Stepping aside: a command that changes the machine asks a running daemon to put back what it has moved, and to move nothing for as long
//! as the command runs.
//!
//! Both hold locks that the kernel frees when their holder dies. The command shares the lock of a file; the daemon sees at each tick that
//! it cannot have that lock alone.

use std::fs::{File, OpenOptions};
use std::io;
use std::os::unix::fs::OpenOptionsExt;
use std::path::PathBuf;
use std::time::Duration;

use rustix::fs::{FlockOperation, flock};
use rustix::io::Errno;

use crate::journal::StateDir;
use crate::lock::{Lock, LockError};
use crate::machine::Machine;

/// How often and how long a command waits until the daemon has stepped aside: several ticks.
const PATIENCE: (u32, Duration) = (300, Duration::from_millis(50));

/// The file whose lock commands share.
fn file(machine: &Machine) -> PathBuf {
    StateDir::volatile(machine).path().join("aside")
}

/// The lock that a running daemon holds.
pub(crate) fn daemon_lock(machine: &Machine) -> PathBuf {
    StateDir::volatile(machine).path().join("daemon.lock")
}

fn open(path: &PathBuf) -> io::Result<File> {
    OpenOptions::new().read(true).write(true).create(true).truncate(false).mode(0o600).open(path)
}

/// As long as it lives a daemon moves nothing.
#[derive(Debug)]
pub struct Aside(#[allow(dead_code, reason = "it is the lock")] File);

impl Aside {
    /// Asks a daemon that runs, and waits until it has put back what it moved. `None` where none runs, or where we may not ask: then
    /// what follows finds out by itself whether it may change anything.
    #[must_use]
    pub fn ask(machine: &Machine) -> Option<Self> {
        let holder = daemon(machine)?;
        let file = open(&file(machine)).ok()?;
        flock(&file, FlockOperation::LockShared).ok()?;
        let temporary = StateDir::temporary(machine).lock_path();
        let is_held = || matches!(Lock::take(&temporary), Err(LockError::Held { pid }) if pid == Some(holder));
        // Free at two looks: a daemon that looked just before we asked takes the lock, sees that it is asked, and lets go.
        let mut free = 0;
        for _ in 0..PATIENCE.0 {
            free = if is_held() { 0 } else { free + 1 };
            if free == 2 {
                break;
            }
            std::thread::sleep(PATIENCE.1);
        }
        Some(Self(file))
    }
}

/// The process number of the daemon that runs.
#[must_use]
pub fn daemon(machine: &Machine) -> Option<u32> {
    let path = daemon_lock(machine);
    match path.exists().then(|| Lock::take(&path)) {
        Some(Err(LockError::Held { pid })) => pid,
        _ => None,
    }
}

/// The daemon's side.
#[derive(Debug)]
pub(crate) struct Asked(Option<File>);

impl Asked {
    pub(crate) fn new(machine: &Machine) -> Self {
        Self(open(&file(machine)).ok())
    }

    /// Whether some command wants the machine for itself.
    pub(crate) fn is_asked(&self) -> bool {
        let Some(file) = &self.0 else { return false };
        match flock(file, FlockOperation::NonBlockingLockExclusive) {
            Err(Errno::WOULDBLOCK) => true,
            _ => {
                let _ = flock(file, FlockOperation::Unlock);
                false
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_daemon_is_asked_only_while_it_runs() {
        let dir = tempfile::tempdir().unwrap();
        let machine = Machine::at(dir.path());
        std::fs::create_dir_all(StateDir::temporary(&machine).path()).unwrap();
        assert!(Aside::ask(&machine).is_none());
        let running = Lock::take(&daemon_lock(&machine)).unwrap();
        assert_eq!(daemon(&machine), Some(std::process::id()));
        let asked = Asked::new(&machine);
        assert!(!asked.is_asked());
        let aside = Aside::ask(&machine).unwrap();
        assert!(asked.is_asked());
        drop(aside);
        assert!(!asked.is_asked());
        drop(running);
        assert!(Aside::ask(&machine).is_none());
    }
}
