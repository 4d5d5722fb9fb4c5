//! `/proc/PID/status` (proc_pid_status(5)): who a process is and how much of it is where.

use crate::escape::visible;
use crate::units::Bytes;

/// The lines that matter here.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ProcStatus {
    /// `Name`: at most 15 bytes of the program's name, with control characters escaped; `\\` is so by the kernel.
    pub name: String,
    /// Effective user.
    pub uid: u32,
    /// True when it has memory of its own; kernel threads and processes that have ended have none.
    pub has_memory: bool,
    /// `RssAnon`: anonymous memory in RAM, roughly (the kernel counts it in batches).
    pub rss_anon: Bytes,
    /// `VmSwap`: anonymous memory in swap.
    pub swap: Bytes,
    /// `VmLck`: memory that it has locked.
    pub locked: Bytes,
    /// `CapEff`: what it may do, a bit for each capability.
    pub capabilities: u64,
}

/// Reads the whole file; `None` without a name.
#[must_use]
pub fn parse(text: &str) -> Option<ProcStatus> {
    let mut status = ProcStatus::default();
    let mut named = false;
    for (key, value) in text.lines().filter_map(|line| line.split_once(':')) {
        let value = value.trim();
        match key {
            "Name" => (status.name, named) = (visible(value), true),
            "Uid" => status.uid = value.split_whitespace().nth(1).and_then(|uid| uid.parse().ok()).unwrap_or_default(),
            "VmSize" => status.has_memory = true,
            "RssAnon" => status.rss_anon = kib(value),
            "VmSwap" => status.swap = kib(value),
            "VmLck" => status.locked = kib(value),
            "CapEff" => status.capabilities = u64::from_str_radix(value, 16).unwrap_or_default(),
            _ => {}
        }
    }
    named.then_some(status)
}

fn kib(value: &str) -> Bytes {
    Bytes::from_kib(value.strip_suffix("kB").and_then(|number| number.trim_end().parse().ok()).unwrap_or_default())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_process_of_6_18() {
        let text = "Name:\tsleep\nUmask:\t0022\nState:\tS (sleeping)\nPid:\t42\nUid:\t1000\t1001\t1000\t1000\nVmPeak:\t    5464 kB\n\
                    VmSize:\t    5464 kB\nVmLck:\t       8 kB\nVmRSS:\t    1792 kB\nRssAnon:\t     128 kB\nVmSwap:\t      12 kB\nThreads:\t1\n\
                    CapEff:\t0000000000880000\n";
        let status = parse(text).unwrap();
        assert_eq!((status.name.as_str(), status.uid, status.has_memory), ("sleep", 1001, true));
        assert_eq!(
            (status.rss_anon, status.swap, status.locked),
            (Bytes::from_kib(128), Bytes::from_kib(12), Bytes::from_kib(8))
        );
        assert_eq!(status.capabilities, 1 << 19 | 1 << 23);
    }

    #[test]
    fn a_kernel_thread_has_no_memory() {
        let status = parse("Name:\tkthreadd\nState:\tS (sleeping)\nUid:\t0\t0\t0\t0\nThreads:\t1\n").unwrap();
        assert!(!status.has_memory);
        assert_eq!(parse("State:\tS\n"), None);
        assert_eq!(parse(""), None);
    }
}
