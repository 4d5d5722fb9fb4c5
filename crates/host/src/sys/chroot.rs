//! A child with another root.
#![allow(unsafe_code)]

use std::ffi::CString;
use std::io;
use std::os::fd::AsRawFd;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::Command;

use rustix::pipe::PipeFlags;

/// Gives this thread mounts of its own, and its children process numbers of their own: unshare(2). The first child is process 1
/// of them: when it ends, so do all others.
///
/// # Errors
/// EPERM without the privilege.
pub fn own_world() -> io::Result<()> {
    // SAFETY: takes an integer and touches no memory of ours.
    let done = unsafe { libc::unshare(libc::CLONE_NEWNS | libc::CLONE_NEWPID) };
    if done == 0 { Ok(()) } else { Err(io::Error::last_os_error()) }
}

/// Lets a child see `root` as `/`, and end when the thread that starts it does.
///
/// # Errors
/// A path with a zero in it, or no descriptors left; spawning fails with EPERM without the privilege.
pub fn rooted<'a>(command: &'a mut Command, root: &Path) -> io::Result<&'a mut Command> {
    let root = CString::new(root.as_os_str().as_bytes())?;
    let (reader, writer) = rustix::pipe::pipe_with(PipeFlags::CLOEXEC)?;
    let enter = move || {
        // SAFETY: takes two integers and touches no memory of ours.
        let asked = unsafe { libc::prctl(libc::PR_SET_PDEATHSIG, libc::SIGKILL as libc::c_ulong) };
        // SAFETY: a descriptor that this process got with its birth and that nothing of it uses.
        let closed = unsafe { libc::close(writer.as_raw_fd()) };
        let mut watch = libc::pollfd { fd: reader.as_raw_fd(), events: 0, revents: 0 };
        // SAFETY: one initialised element, and its number.
        let ended = unsafe { libc::poll(&raw mut watch, 1, 0) };
        // When our starter died before we asked, no signal comes. Its number says nothing in a world of our own; its end of the pipe does.
        if asked != 0 || closed != 0 || ended != 0 {
            return Err(io::Error::from_raw_os_error(libc::ESRCH));
        }
        // SAFETY: both take a string that ends with a zero and lives until exec.
        let entered = unsafe { libc::chroot(root.as_ptr()) == 0 && libc::chdir(c"/".as_ptr()) == 0 };
        if entered { Ok(()) } else { Err(io::Error::last_os_error()) }
    };
    // SAFETY: between fork and exec the closure calls prctl, close, poll, chroot and chdir only, all async-signal-safe, and does not
    // allocate.
    Ok(unsafe { command.pre_exec(enter) })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_child_of_another_root_ends_with_the_thread_that_started_it() {
        let start = || rooted(Command::new("sleep").arg("600"), Path::new("/")).unwrap().spawn();
        let started = std::thread::spawn(start).join().unwrap();
        if !rustix::process::geteuid().is_root() {
            assert_eq!(started.unwrap_err().raw_os_error(), Some(libc::EPERM));
            return;
        }
        let mut child = started.unwrap();
        let ended = child.wait().unwrap();
        assert_eq!(std::os::unix::process::ExitStatusExt::signal(&ended), Some(libc::SIGKILL), "{ended}");
    }
}
