//! The memory of this process itself.
#![allow(unsafe_code)]

use std::io;

use rustix::mm::{Advice, MlockAllFlags, madvise, mlockall};

/// Keeps what this process has in RAM, and what it will have, from being reclaimed; what its start needed of the program's file is given up
/// before. Pages are locked as they are touched (`MCL_ONFAULT`), so that the rest of the program takes no RAM.
///
/// # Errors
/// EPERM or ENOMEM beyond `RLIMIT_MEMLOCK` without `CAP_IPC_LOCK`; EINVAL before Linux 4.4. Nothing is locked then.
pub fn lock_what_is_used() -> io::Result<()> {
    give_up_files()?;
    Ok(mlockall(MlockAllFlags::CURRENT | MlockAllFlags::FUTURE | MlockAllFlags::ONFAULT)?)
}

/// Code and constants come back from their file as they are used again.
fn give_up_files() -> io::Result<()> {
    for (start, length) in unchanged(&std::fs::read_to_string("/proc/self/smaps")?) {
        // SAFETY: a private mapping of a file that is not writable and has no page of its own has none that differs from the file, so that
        // each comes back as it was when it is touched; the range is one mapping, as the kernel has just said, and nothing unmaps a program.
        unsafe { madvise(start as *mut _, length, Advice::LinuxDontNeed)? };
    }
    Ok(())
}

/// Address and length of the private mappings of files that are as the file is, in the text of `/proc/PID/smaps`: not writable, and without a
/// page that was written before they became so, as relocated addresses are.
fn unchanged(smaps: &str) -> Vec<(usize, usize)> {
    let mut found = Vec::new();
    let mut mapping = None;
    for line in smaps.lines() {
        let mut words = line.split_ascii_whitespace();
        match words.next() {
            Some("Anonymous:") if words.next() == Some("0") => found.extend(mapping.take()),
            Some(key) if key.ends_with(':') => {}
            Some(range) => mapping = read_only_file(range, words),
            None => {}
        }
    }
    found
}

/// Address and length, if the mapping is of a file, private and read-only.
fn read_only_file<'a>(range: &str, mut words: impl Iterator<Item = &'a str>) -> Option<(usize, usize)> {
    let (from, to) = range.split_once('-')?;
    let is_read_only = matches!(words.next()?, "r-xp" | "r--p") && words.nth(3).is_some_and(|path| path.starts_with('/'));
    let (from, to) = (usize::from_str_radix(from, 16).ok()?, usize::from_str_radix(to, 16).ok()?);
    is_read_only.then(|| to.checked_sub(from).map(|length| (from, length)))?
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_is_as_its_file_is_given_up() {
        let smaps = "\
55f0c1000000-55f0c1200000 r--p 00000000 fe:00 131 /usr/bin/swaptune
Rss:                1280 kB
Anonymous:             0 kB
55f0c1200000-55f0c1e00000 r-xp 00200000 fe:00 131 /usr/bin/swaptune
Anonymous:             0 kB
VmFlags: rd ex mr mw me
55f0c1e00000-55f0c1e40000 r--p 00e00000 fe:00 131 /usr/bin/swaptune
Anonymous:           256 kB
55f0c1e40000-55f0c1f00000 rw-p 00e40000 fe:00 131 /usr/bin/swaptune
Anonymous:             0 kB
7ffd3a000000-7ffd3a002000 r-xp 00000000 00:00 0   [vdso]
Anonymous:             0 kB
7f0000000000-7f0000001000 r-xp 00000000 00:00 0
Anonymous:             0 kB
";
        assert_eq!(unchanged(smaps), [(0x55f0_c100_0000, 0x20_0000), (0x55f0_c120_0000, 0xc0_0000)]);
    }

    #[test]
    fn what_is_given_up_comes_back() {
        let constant = "a text of this program".to_owned();
        give_up_files().unwrap();
        assert_eq!(constant, "a text of this program");
        assert!(!unchanged(&std::fs::read_to_string("/proc/self/smaps").unwrap()).is_empty());
    }
}
