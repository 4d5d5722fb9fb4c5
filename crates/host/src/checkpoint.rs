//! Points at which a test may kill the process or make an operation fail.
//!
//! After everything that is durable (a journal record synced, a write made) the code passes a checkpoint. In a tree that
//! is not `/`, `SWAPTUNE_TEST_KILL_AT=N` makes the process kill itself at the Nth one, so that a test can walk through
//! every moment at which a machine may lose power. On `/` the variable means nothing.

use std::io;
use std::path::Path;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicU64, Ordering};

use rustix::process::{Signal, getpid, kill_process};

use crate::machine::Machine;

/// The variable with the number of the checkpoint that kills.
pub const KILL_AT: &str = "SWAPTUNE_TEST_KILL_AT";

static PASSED: AtomicU64 = AtomicU64::new(0);
static KILL: OnceLock<Option<u64>> = OnceLock::new();

/// Passes a checkpoint.
pub(crate) fn pass(machine: &Machine) {
    if machine.root() == Path::new("/") {
        return;
    }
    let kill = KILL.get_or_init(|| std::env::var(KILL_AT).ok()?.parse().ok());
    let number = PASSED.fetch_add(1, Ordering::Relaxed) + 1;
    if *kill == Some(number) {
        // It cannot fail: the signal is valid and the process is our own.
        let _ = kill_process(getpid(), Signal::KILL);
    }
}

/// How many checkpoints this process has passed in trees that are not `/`.
#[must_use]
pub fn passed() -> u64 {
    PASSED.load(Ordering::Relaxed)
}

/// Makes operations fail, for tests; nothing fails by default.
pub trait Faults {
    /// Called before an operation that changes something; an error takes the place of the operation.
    ///
    /// # Errors
    /// Whatever the test wants to see.
    fn before(&self, operation: &str, path: &Path) -> io::Result<()>;
}

/// No faults.
#[derive(Clone, Copy, Debug)]
pub struct NoFaults;

impl Faults for NoFaults {
    fn before(&self, _: &str, _: &Path) -> io::Result<()> {
        Ok(())
    }
}
