//! Processes that a test started, and waiting for what they do.

use std::fs;
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
