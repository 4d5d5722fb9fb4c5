//! The memory of this process itself.
#![allow(unsafe_code)]

use std::io;

use rustix::mm::{Advice, MlockAllFlags, madvise, mlockall};

/// Keeps what this process has in RAM, and what it will have, from being reclaimed; what its start needed of the program's code is given up
/// before. Pages are locked as they are touched (`MCL_ONFAULT`), so that the rest of the program takes no RAM.
///
/// # Errors
/// EPERM or ENOMEM beyond `RLIMIT_MEMLOCK` without `CAP_IPC_LOCK`; EINVAL before Linux 4.4. Nothing is locked then.
pub fn lock_what_is_used() -> io::Result<()> {
    give_up_code()?;
    Ok(mlockall(MlockAllFlags::CURRENT | MlockAllFlags::FUTURE | MlockAllFlags::ONFAULT)?)
}

/// Code comes back from its file as it is used again.
fn give_up_code() -> io::Result<()> {
    for (start, length) in code(&std::fs::read_to_string("/proc/self/maps")?) {
        // SAFETY: a private mapping of a file that is only read and executed has no page that differs from the file, so that each
        // comes back as it was when it is touched; the range is one mapping, as the kernel has just said, and nothing unmaps a program.
        unsafe { madvise(start as *mut _, length, Advice::LinuxDontNeed)? };
    }
    Ok(())
}

/// Address and length of the mappings of code from files, in the text of `/proc/PID/maps`.
fn code(maps: &str) -> Vec<(usize, usize)> {
    let range = |line: &str| {
        let mut words = line.split_ascii_whitespace();
        let (from, to) = words.next()?.split_once('-')?;
        let is_code = words.next()? == "r-xp" && words.nth(3).is_some_and(|path| path.starts_with('/'));
        let (from, to) = (usize::from_str_radix(from, 16).ok()?, usize::from_str_radix(to, 16).ok()?);
        is_code.then(|| to.checked_sub(from).map(|length| (from, length)))?
    };
    maps.lines().filter_map(range).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_code_of_files_is_given_up() {
        let maps = "\
55f0c1000000-55f0c1200000 r--p 00000000 fe:00 131 /usr/bin/swaptune
55f0c1200000-55f0c1e00000 r-xp 00200000 fe:00 131 /usr/bin/swaptune
55f0c1e00000-55f0c1f00000 rw-p 00e00000 fe:00 131 /usr/bin/swaptune
7ffd3a000000-7ffd3a002000 r-xp 00000000 00:00 0   [vdso]
7f0000000000-7f0000001000 r-xp 00000000 00:00 0
ffffffffff600000-ffffffffff601000 --xp 00000000 00:00 0 [vsyscall]
";
        assert_eq!(code(maps), [(0x55f0_c120_0000, 0xc0_0000)]);
    }

    #[test]
    fn code_that_is_given_up_comes_back() {
        give_up_code().unwrap();
        assert!(!code(&std::fs::read_to_string("/proc/self/maps").unwrap()).is_empty());
    }
}
