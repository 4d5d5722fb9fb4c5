//! Counters of the kernel as they were when the configuration was last changed: what came before is no fault of it.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use super::Facts;

/// Counters that only grow. Others say what is, and are never compared.
const OF_ZSWAP: &[&str] = &[
    "pool_limit_hit",
    "written_back_pages",
    "reject_alloc_fail",
    "reject_kmemcache_fail",
    "reject_compress_poor",
    "reject_compress_fail",
    "reject_reclaim_fail",
];
const OF_VMSTAT: &[&str] = &["pswpin", "pswpout", "zswpin", "zswpout", "zswpwb", "thp_swpout"];

/// Counters at one moment of a boot.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct CountersSinceBoot {
    /// What changed the configuration then: `apply 20261121-054801-a1b2`.
    pub by: String,
    /// UTC time.
    pub at: String,
    /// Id of the boot: the counters of another one began anew.
    pub boot: String,
    /// Counters of zswap in debugfs.
    pub zswap: BTreeMap<String, u64>,
    /// Counters of `/proc/vmstat`.
    pub vmstat: BTreeMap<String, u64>,
}

impl CountersSinceBoot {
    /// What these facts show.
    #[must_use]
    pub fn of(facts: &Facts, by: String, at: String, boot: String) -> Self {
        let only = |map: Option<&BTreeMap<String, u64>>, names: &[&str]| {
            let counters = map.into_iter().flatten().filter(|(name, _)| names.contains(&name.as_str()));
            counters.map(|(name, count)| (name.clone(), *count)).collect()
        };
        let zswap = facts.zswap.value().and_then(|zswap| zswap.counters.value());
        let (zswap, vmstat) = (only(zswap, OF_ZSWAP), only(facts.memory.vmstat.value(), OF_VMSTAT));
        Self { by, at, boot, zswap, vmstat }
    }
}
