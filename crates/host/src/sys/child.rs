//! Children that do not outlive us.
#![allow(unsafe_code)]

use std::io;
use std::os::unix::process::CommandExt;
use std::process::Command;

/// Lets the kernel kill the child when the thread that starts it ends, however that ends: prctl(2), `PR_SET_PDEATHSIG`.
pub fn dies_with_us(command: &mut Command) -> &mut Command {
    let us = std::process::id();
    let ask = move || {
        // SAFETY: takes two integers and touches no memory of ours.
        let asked = unsafe { libc::prctl(libc::PR_SET_PDEATHSIG, libc::SIGKILL as libc::c_ulong) };
        // SAFETY: takes nothing and cannot fail.
        let parent = unsafe { libc::getppid() };
        // When we died before the child asked, no signal comes.
        if asked != 0 || u32::try_from(parent) != Ok(us) { Err(io::Error::last_os_error()) } else { Ok(()) }
    };
    // SAFETY: between fork and exec the closure calls prctl and getppid only, both async-signal-safe, and does not allocate.
    unsafe { command.pre_exec(ask) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_child_ends_with_the_thread_that_started_it() {
        let start = || dies_with_us(Command::new("sleep").arg("600")).spawn().unwrap();
        let mut child = std::thread::spawn(start).join().unwrap();
        let ended = child.wait().unwrap();
        assert_eq!(std::os::unix::process::ExitStatusExt::signal(&ended), Some(libc::SIGKILL), "{ended}");
    }
}
