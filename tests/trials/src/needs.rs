//! What a machine must have for a test.

use std::fs::File;
use std::io;
use std::path::Path;
use std::process::{Command, Stdio};

use rustix::fs::{FlockOperation, flock};

use crate::{TestResult, lacks};

/// Held by whoever has swap of a test on.
const LOCK: &str = "/tmp/swaptune-real-swap.lock";

/// We are root.
///
/// # Errors
/// The machine lacks it.
pub fn root() -> TestResult {
    if rustix::process::geteuid().is_root() { Ok(()) } else { lacks("needs root") }
}

/// This file or folder exists.
///
/// # Errors
/// The machine lacks it.
pub fn file(path: impl AsRef<Path>) -> TestResult {
    if path.as_ref().exists() { Ok(()) } else { lacks(format!("there is no {}", path.as_ref().display())) }
}

/// This program can be run with these words.
///
/// # Errors
/// The machine lacks it.
pub fn program(name: &str, words: &[&str]) -> TestResult {
    let status = Command::new(name).args(words).stdout(Stdio::null()).stderr(Stdio::null()).status();
    if status.is_ok_and(|status| status.success()) {
        Ok(())
    } else {
        lacks(format!("{name} is not installed, or cannot be used"))
    }
}

/// This kernel has zswap.
///
/// # Errors
/// The machine lacks it.
pub fn zswap() -> TestResult {
    file("/sys/module/zswap/parameters/enabled").or_else(|_| lacks("this kernel has no zswap"))
}

/// No swap is on.
///
/// # Errors
/// The machine has some.
pub fn no_swap() -> TestResult {
    let swaps = std::fs::read_to_string("/proc/swaps").unwrap_or_default();
    if swaps.lines().count() > 1 { lacks("swap is active on this machine, and the test must not touch it") } else { Ok(()) }
}

/// Keeps other tests of this project that swap out until it is dropped; waits for them.
///
/// # Errors
/// The system's, where the file cannot be locked.
pub fn swap_lock() -> io::Result<File> {
    let lock = File::options().create(true).append(true).open(LOCK)?;
    flock(&lock, FlockOperation::LockExclusive)?;
    Ok(lock)
}
