//! What the kernel counts for a group, in the words of either version.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

use swaptune_core::Bytes;
use swaptune_core::parse::keyed;

use super::HierarchyVersion;

/// Counters of a group. What this kernel does not count is `None`, or missing from `stat`.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct GroupCounters {
    /// RAM that is charged to it; on version 2 with its part of zswap's pool.
    pub usage: Bytes,
    /// The most RAM it ever had.
    pub peak: Option<Bytes>,
    /// Swap that it has, pages in zswap included.
    pub swap: Option<Bytes>,
    /// Its part of zswap's pool (version 2, Linux 5.19).
    pub zswap: Option<Bytes>,
    /// Its processes that were killed for want of memory.
    pub oom_kills: u64,
    /// `memory.stat`, as it is.
    pub stat: BTreeMap<String, u64>,
}

impl GroupCounters {
    /// Reads the files of a group.
    pub(super) fn read(folder: &Path, version: HierarchyVersion) -> Self {
        let text = |file: &str| fs::read_to_string(folder.join(file)).ok();
        let size = |file: &str| text(file)?.trim().parse().ok().map(Bytes);
        let counts = |file: &str| text(file).map(|text| keyed::counts(&text)).unwrap_or_default();
        let oom_kills = |file: &str| counts(file).get("oom_kill").copied().unwrap_or(0);
        match version {
            HierarchyVersion::V2 => Self {
                usage: size("memory.current").unwrap_or_default(),
                peak: size("memory.peak"),
                swap: size("memory.swap.current"),
                zswap: size("memory.zswap.current"),
                oom_kills: oom_kills("memory.events"),
                stat: counts("memory.stat"),
            },
            HierarchyVersion::V1 => {
                let stat = counts("memory.stat");
                Self {
                    usage: size("memory.usage_in_bytes").unwrap_or_default(),
                    peak: size("memory.max_usage_in_bytes"),
                    swap: stat.get("swap").copied().map(Bytes),
                    zswap: None,
                    oom_kills: oom_kills("memory.oom_control"),
                    stat,
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn both_versions_say_the_same() {
        let folder = tempfile::tempdir().unwrap();
        let write = |file: &str, text: &str| fs::write(folder.path().join(file), text).unwrap();
        for (file, text) in [
            ("memory.current", "4096\n"),
            ("memory.swap.current", "8192\n"),
            ("memory.events", "low 0\noom 2\noom_kill 1\n"),
            ("memory.stat", "anon 4096\nzswpout 3\nswap 8192\n"),
            ("memory.usage_in_bytes", "4096\n"),
            ("memory.oom_control", "oom_kill_disable 0\nunder_oom 0\noom_kill 1\n"),
        ] {
            write(file, text);
        }
        let [v1, v2] = [HierarchyVersion::V1, HierarchyVersion::V2].map(|version| GroupCounters::read(folder.path(), version));
        assert_eq!((v1.usage, v1.swap, v1.oom_kills, v1.peak), (Bytes(4096), Some(Bytes(8192)), 1, None));
        assert_eq!(v1, v2);
        assert_eq!(v2.stat["zswpout"], 3);
    }

    #[test]
    fn a_group_that_is_gone_counts_nothing() {
        assert_eq!(GroupCounters::read(Path::new("/nonexistent"), HierarchyVersion::V2), GroupCounters::default());
    }
}
