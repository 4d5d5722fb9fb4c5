//! Programs and processes of tests, and waiting for what they do.

use std::fs;
use std::path::Path;
use std::process::Command;
use std::time::{Duration, Instant};

use libtest_mimic::Failed;

/// Long enough for a busy machine to give back half a GiB.
const PATIENCE: Duration = Duration::from_secs(120);

/// Children of a process whose command line is of the kind that is meant: their ids.
#[must_use]
pub fn children(of: u32, is_meant: impl Fn(&str) -> bool) -> Vec<String> {
    let is_child = |pid: &String| {
        let status = fs::read_to_string(format!("/proc/{pid}/status")).unwrap_or_default();
        let words = fs::read_to_string(format!("/proc/{pid}/cmdline")).unwrap_or_default();
        status.contains(&format!("PPid:\t{of}\n")) && is_meant(&words)
    };
    let names =
        fs::read_dir("/proc").into_iter().flatten().flatten().map(|entry| entry.file_name().to_string_lossy().into_owned());
    names.filter(|name| name.bytes().all(|byte| byte.is_ascii_digit())).filter(is_child).collect()
}

/// Copies a program that is to be run from where the copy is.
///
/// A process of its own writes it: a descriptor that this one held open for writing would be in each child that another thread starts
/// meanwhile, until that child's `execve`, and the kernel runs no file that is open for writing (`ETXTBSY`).
///
/// # Errors
/// What `cp` says.
pub fn copy_program(from: &Path, to: &Path) -> Result<(), Failed> {
    let output = Command::new("cp").arg("--").args([from, to]).output()?;
    if output.status.success() { Ok(()) } else { Err(String::from_utf8_lossy(&output.stderr).into_owned().into()) }
}

/// Waits until it is so, for two minutes at most.
///
/// # Errors
/// `what` was waited for in vain.
pub fn wait_for(what: &str, mut is_so: impl FnMut() -> bool) -> Result<(), Failed> {
    let start = Instant::now();
    while !is_so() {
        if start.elapsed() > PATIENCE {
            return Err(format!("waited in vain for {what}").into());
        }
        std::thread::sleep(Duration::from_millis(20));
    }
    Ok(())
}
