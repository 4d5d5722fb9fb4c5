//! Points at which a test may look, and operations that a test may make fail.
//!
//! After everything that is durable (a journal record synced, a write made) the code passes a checkpoint. Nothing happens there
//! unless the program was linked with something that watches: no variable and no flag can ask for it.

use std::io;
use std::path::Path;
use std::sync::OnceLock;

use crate::machine::Machine;

static WATCH: OnceLock<fn(&Machine)> = OnceLock::new();

/// Lets this function see every checkpoint of this process; the first one stays. For tests.
pub fn watch_in_tests(watch: fn(&Machine)) {
    let _ = WATCH.set(watch);
}

/// Passes a checkpoint.
pub fn pass(machine: &Machine) {
    if let Some(watch) = WATCH.get() {
        watch(machine);
    }
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
