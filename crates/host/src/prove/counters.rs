//! Counters at one moment, under the names that the core's table of checks uses.

use std::collections::BTreeMap;

use swaptune_core::Facts;
use swaptune_core::parse::{keyed, mm_stat, swaps};
use swaptune_core::proof::Snapshot;

use crate::machine::{Machine, ReadError};

/// Lines of meminfo that matter here.
const MEMINFO: [&str; 5] = ["SwapTotal", "SwapFree", "SwapCached", "Zswap", "Zswapped"];
/// Beginnings of vmstat counters that matter here.
const VMSTAT: [&str; 10] =
    ["pswp", "zswp", "swpin", "swpout", "pgmajfault", "swap_ra", "workingset_", "pgactivate", "pgdeactivate", "pgsteal_"];

/// Where the counters of one machine are.
#[derive(Debug)]
pub struct CounterFiles<'a> {
    machine: &'a Machine,
    debugfs: Result<(), String>,
    zram: Vec<String>,
    areas: Vec<String>,
}

impl<'a> CounterFiles<'a> {
    /// Of an inspected machine.
    #[must_use]
    pub fn new(machine: &'a Machine, facts: &Facts) -> Self {
        let debugfs = match facts.zswap.value().map(|zswap| &zswap.counters) {
            Some(counters) if counters.is_known() => Ok(()),
            Some(counters) => Err(format!("zswap's own counters: {}", counters.source())),
            None => Err(String::new()),
        };
        Self {
            machine,
            debugfs,
            zram: facts.zram.devices.iter().filter(|device| device.disksize.0 > 0).map(|device| device.name.clone()).collect(),
            areas: facts.swaps.iter().map(|area| area.path.clone()).collect(),
        }
    }

    /// Paths of the areas in the kernel's order.
    pub(super) fn areas(&self) -> &[String] {
        &self.areas
    }

    /// What cannot be counted.
    pub(super) fn blind(&self) -> Option<String> {
        self.debugfs.clone().err().filter(|why| !why.is_empty())
    }

    /// Reads them all. Only vmstat must be there; what else this kernel lacks is left out.
    ///
    /// # Errors
    /// [`ReadError`] without vmstat.
    pub fn read(&self) -> Result<Snapshot, ReadError> {
        let mut counters = BTreeMap::new();
        let vmstat = keyed::counts(&self.machine.read_text("/proc/vmstat")?);
        let wanted = vmstat.into_iter().filter(|(name, _)| VMSTAT.iter().any(|start| name.starts_with(start)));
        counters.extend(wanted.map(|(name, count)| (format!("vmstat.{name}"), count)));
        if let Ok(text) = self.machine.read_text("/proc/meminfo") {
            let lines = keyed::meminfo(&text);
            counters.extend(MEMINFO.iter().filter_map(|name| Some((format!("meminfo.{name}"), lines.get(*name)?.0))));
        }
        if let Ok(text) = self.machine.read_text("/proc/swaps") {
            counters.extend(swaps::parse(&text).into_iter().map(|area| (format!("swaps.{}", area.path), area.used.0)));
        }
        if self.debugfs.is_ok() {
            let files = self.machine.debugfs("zswap").unwrap_or_default();
            counters
                .extend(files.into_iter().filter_map(|(name, text)| Some((format!("zswap.{name}"), text.trim().parse().ok()?))));
        }
        for device in &self.zram {
            counters.extend(self.zram(device).unwrap_or_default());
        }
        Ok(Snapshot(counters))
    }

    fn zram(&self, device: &str) -> Option<Vec<(String, u64)>> {
        let stat = mm_stat::parse(&self.machine.read_text(&format!("/sys/block/{device}/mm_stat")).ok()?)?;
        let counters = [
            ("orig_data_size", stat.orig_data_size.0),
            ("compr_data_size", stat.compr_data_size.0),
            ("mem_used_total", stat.mem_used_total.0),
            ("same_pages", stat.same_pages),
            ("huge_pages", stat.huge_pages),
        ];
        Some(counters.iter().map(|(name, count)| (format!("zram.{device}.{name}"), *count)).collect())
    }
}
