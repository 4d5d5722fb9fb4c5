//! Counts checkpoints, and kills the process at one of them, so that a test can walk through every moment at which a machine may
//! lose power.

use std::path::Path;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicU64, Ordering};

use rustix::process::{Signal, getpid, kill_process};
use swaptune_host::machine::Machine;
use swaptune_host::temporary::guardian;

/// The variable with the number of the checkpoint that kills.
pub const KILL_AT: &str = "SWAPTUNE_TEST_KILL_AT";
/// The same for a guardian of temporary settings, which inherits the environment of the process that it guards.
pub const KILL_GUARDIAN_AT: &str = "SWAPTUNE_TEST_KILL_GUARDIAN_AT";

static PASSED: AtomicU64 = AtomicU64::new(0);
static KILL: OnceLock<Option<u64>> = OnceLock::new();

/// Passes a checkpoint of a folder; the running machine has none.
pub(crate) fn pass(machine: &Machine) {
    if machine.root() == Path::new("/") {
        return;
    }
    let number = PASSED.fetch_add(1, Ordering::Relaxed) + 1;
    if *KILL.get_or_init(kill_at) == Some(number) {
        // It cannot fail: the signal is valid and the process is our own.
        let _ = kill_process(getpid(), Signal::KILL);
    }
}

fn kill_at() -> Option<u64> {
    let is_guardian = std::env::args().any(|argument| argument == guardian::ARGUMENT);
    std::env::var(if is_guardian { KILL_GUARDIAN_AT } else { KILL_AT }).ok()?.parse().ok()
}

/// How many checkpoints this process has passed.
#[must_use]
pub fn passed() -> u64 {
    PASSED.load(Ordering::Relaxed)
}
