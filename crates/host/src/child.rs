//! What a child process of ours does to itself: it dies with its parent, and it is the first to go when memory runs out.

use std::fs;
use std::io;
use std::os::unix::fs::PermissionsExt;
use std::path::PathBuf;

use rustix::io::{read, retry_on_intr};
use rustix::mm::{MlockAllFlags, mlockall};
use rustix::process::{Pid, Resource, Rlimit, Signal, getppid, getrlimit, set_parent_process_death_signal, setrlimit};
use rustix::stdio::dup2_stdin;

/// The score that the out-of-memory killer takes first (proc_pid_oom_score_adj(5)).
const FIRST_TO_GO: &str = "1000";

/// Binds this process to `parent`, its parent, and has it go first when memory runs out.
///
/// # Errors
/// What the kernel says, or that the parent is gone already.
pub fn tether(parent: u32) -> io::Result<()> {
    die_with(parent)?;
    go_first()
}

/// Binds this process to `parent`, its parent: it is killed when the thread that started it ends.
///
/// # Errors
/// What the kernel says, or that the parent is gone already.
pub fn die_with(parent: u32) -> io::Result<()> {
    set_parent_process_death_signal(Some(Signal::KILL))?;
    // A parent that died before the call above did not kill this process.
    if getppid().map(Pid::as_raw_nonzero).is_none_or(|pid| pid.get() as u32 != parent) {
        return Err(io::Error::other("the process that started this one is gone"));
    }
    Ok(())
}

/// Has this process go first when memory runs out. It cannot be taken back without `CAP_SYS_RESOURCE`.
///
/// # Errors
/// What the kernel says.
pub fn go_first() -> io::Result<()> {
    fs::write("/proc/self/oom_score_adj", FIRST_TO_GO)
}

/// Waits until the parent says, with one byte on standard input, that this process is in the group where it shall be. What follows that
/// byte stays for whatever this process becomes.
///
/// # Errors
/// What the kernel says, or that the parent gave up.
pub fn wait_for_parent() -> io::Result<()> {
    let mut byte = [0];
    match retry_on_intr(|| read(io::stdin(), &mut byte))? {
        0 => Err(io::Error::other("the process that started this one gave up")),
        _ => Ok(()),
    }
}

/// Lets this process, and what it becomes, find nothing on standard input.
///
/// # Errors
/// What the kernel says.
pub fn read_nothing() -> io::Result<()> {
    Ok(dup2_stdin(fs::File::open("/dev/null")?)?)
}

/// Keeps all pages of this process in RAM from now on, those that it has and those to come.
///
/// # Errors
/// EPERM or ENOMEM beyond `RLIMIT_MEMLOCK` without the privilege.
pub fn lock_memory() -> io::Result<()> {
    Ok(mlockall(MlockAllFlags::CURRENT | MlockAllFlags::FUTURE)?)
}

/// Lets this process open as many files as it may at all: of the usual 1024 two for each child are 500 children.
///
/// # Errors
/// What the kernel says; it does not refuse what is below the hard limit.
pub fn open_many_files() -> io::Result<()> {
    let limit = getrlimit(Resource::Nofile);
    Ok(setrlimit(Resource::Nofile, Rlimit { current: limit.maximum, ..limit })?)
}

/// Nanoseconds that this thread was ready to run while others had the processor (`/proc/thread-self/schedstat`, second number); 0 where
/// the kernel does not count them.
#[must_use]
pub fn waited() -> u64 {
    let text = fs::read_to_string("/proc/thread-self/schedstat").unwrap_or_default();
    text.split(' ').nth(1).and_then(|nanos| nanos.parse().ok()).unwrap_or(0)
}

/// Where programs of the system are; the `PATH` of a user may lack them, as on Debian.
const SYSTEM: [&str; 3] = ["/usr/sbin", "/sbin", "/usr/local/sbin"];

/// Where a program is: in `PATH`, else where the system has its own; its name where it is in none of them.
#[must_use]
pub fn program(name: &str) -> PathBuf {
    let path = std::env::var_os("PATH").unwrap_or_default();
    let system = SYSTEM.iter().map(PathBuf::from);
    among(name, std::env::split_paths(&path).chain(system)).unwrap_or_else(|| name.into())
}

fn among(name: &str, mut folders: impl Iterator<Item = PathBuf>) -> Option<PathBuf> {
    let is_one = |path: &PathBuf| path.metadata().is_ok_and(|found| found.is_file() && found.permissions().mode() & 0o111 != 0);
    folders.find_map(|folder| Some(folder.join(name)).filter(is_one))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_program_is_found_behind_the_path_of_a_user() {
        let dir = tempfile::tempdir().unwrap();
        let folder = |name: &str| dir.path().join(name);
        for (name, mode) in [("bin", 0o644), ("sbin", 0o755)] {
            fs::create_dir(folder(name)).unwrap();
            fs::write(folder(name).join("cryptsetup"), "").unwrap();
            fs::set_permissions(folder(name).join("cryptsetup"), fs::Permissions::from_mode(mode)).unwrap();
        }
        let look = |name: &str| among(name, [folder("none"), folder("bin"), folder("sbin")].into_iter());
        assert_eq!(look("cryptsetup"), Some(folder("sbin").join("cryptsetup")), "what cannot be run is none");
        assert_eq!(look("fio"), None);
        assert_eq!(program("no-such-program"), PathBuf::from("no-such-program"));
    }

    #[test]
    fn as_many_files_can_be_open_as_the_hard_limit_says() {
        open_many_files().unwrap();
        let limit = getrlimit(Resource::Nofile);
        assert_eq!(limit.current, limit.maximum);
    }
}
