//! Flat files of `key value` lines: meminfo, vmstat, memory.stat, `/proc/cgroups`-like counters.
//!
//! Unknown keys are kept: a new kernel's counter is still a counter.

use std::collections::BTreeMap;

use crate::units::Bytes;

/// `/proc/vmstat`, `memory.stat` and other `name number` files. Lines without a number are left out.
#[must_use]
pub fn counts(text: &str) -> BTreeMap<String, u64> {
    text.lines()
        .filter_map(|line| {
            let mut words = line.split_whitespace();
            Some((words.next()?.to_owned(), words.next()?.parse().ok()?))
        })
        .collect()
}

/// `/proc/meminfo`: the lines in kB as bytes. `HugePages_*` lines are counts without a unit and are left out.
#[must_use]
pub fn meminfo(text: &str) -> BTreeMap<String, Bytes> {
    text.lines()
        .filter_map(|line| {
            let (key, rest) = line.split_once(':')?;
            let kib = rest.trim().strip_suffix("kB")?.trim_end().parse().ok()?;
            Some((key.trim().to_owned(), Bytes::from_kib(kib)))
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn meminfo_of_6_12() {
        let text = "MemTotal:        8133044 kB\nZswap:              1024 kB\nZswapped:           4096 kB\nDirty:               0 kB\n\
                    HugePages_Total:       0\nHugepagesize:       2048 kB\nActive(anon):         12 kB\nbroken\nAlso: broken kB\n";
        let map = meminfo(text);
        assert_eq!(map["MemTotal"], Bytes::from_kib(8_133_044));
        assert_eq!(map["Zswapped"], Bytes(4 << 20));
        assert_eq!(map["Active(anon)"], Bytes::from_kib(12));
        assert!(!map.contains_key("HugePages_Total"));
        assert_eq!(map.len(), 6);
    }

    #[test]
    fn meminfo_of_5_10_has_no_zswap_lines() {
        assert!(!meminfo("MemTotal: 1 kB\nSwapCached: 0 kB\n").contains_key("Zswap"));
    }

    #[test]
    fn vmstat_keeps_unknown_keys() {
        let map = counts("pswpin 3\npswpout 18446744073709551615\nnew_in_9_9 7\nnot a number\n\nlonely\n");
        assert_eq!(
            map.into_iter().collect::<Vec<_>>(),
            [("new_in_9_9".to_owned(), 7), ("pswpin".to_owned(), 3), ("pswpout".to_owned(), u64::MAX)]
        );
    }
}
