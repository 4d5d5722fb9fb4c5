//! Knobs of reclaim that follow from the tiering: swappiness, read-ahead, watermarks, huge pages.

use std::collections::BTreeMap;

use super::assume::ASSUMED;
use super::derived;
use super::tiering::{Tier, Tiering};
use crate::facts::{Facts, Transport};
use crate::kernel::v;
use crate::settings::Setting;

/// The derived knobs.
pub(super) fn knobs(facts: &Facts, tiering: &Tiering) -> BTreeMap<String, Setting<String>> {
    let rows = [
        ("vm.swappiness", swappiness(tiering)),
        ("vm.page-cluster", page_cluster(tiering)),
        ("vm.watermark_scale_factor", watermark(tiering)),
        ("transparent_hugepage.enabled", huge_pages(facts, tiering)),
    ];
    rows.into_iter().filter_map(|(name, setting)| Some((name.to_owned(), setting?))).collect()
}

/// swappiness = 200·x/(x+1) for swap that is x times as fast as file I/O (vm.rst).
#[must_use]
pub fn swappiness_for(ratio: u64) -> u64 {
    200 * ratio / (ratio + 1)
}

fn swappiness(tiering: &Tiering) -> Option<Setting<String>> {
    let table = &ASSUMED.speed_ratio;
    let (ratio, what) = match (tiering.tier, tiering.transport) {
        (Tier::Disk | Tier::Nothing, _) => return None,
        (Tier::Zram, _) => (table.zram_only, "zram"),
        (_, _) if tiering.spinning => (table.rotational, "zswap over a spinning disk"),
        (_, Some(Transport::Nvme)) => (table.nvme, "zswap over NVMe"),
        (_, Some(Transport::Virtual)) => (table.virtual_disk, "zswap over a virtual disk"),
        (_, Some(Transport::Mmc | Transport::Usb)) => (table.mmc, "zswap over a slow card"),
        _ => (table.scsi, "zswap over an SSD"),
    };
    let reason =
        format!("{what}: swap is assumed {ratio} times as fast as file reads, and 200·x/(x+1) = {}", swappiness_for(ratio));
    Some(derived(swappiness_for(ratio).to_string(), reason, table.source.clone()))
}

fn page_cluster(tiering: &Tiering) -> Option<Setting<String>> {
    let table = &ASSUMED.page_cluster;
    let (value, reason) = match tiering.tier {
        Tier::Zram => (table.zram_only, "zram needs no read-ahead, and what lies below it is used rarely"),
        _ if tiering.spinning => (table.rotational, "a spinning disk: a few pages a seek"),
        _ => (table.solid_state, "no seek to save: each page is read, or decompressed, only when it is needed"),
    };
    Some(derived(value.to_string(), reason, table.source.clone()))
}

fn watermark(tiering: &Tiering) -> Option<Setting<String>> {
    if tiering.tier == Tier::Disk {
        return None;
    }
    let reason = "kswapd starts earlier, so that compression happens in the background and not in the fault of an application";
    Some(derived(ASSUMED.watermark.scale_factor.to_string(), reason, ASSUMED.watermark.source.clone()))
}

/// Huge pages for those that ask; a machine that turned them off altogether is left alone.
fn huge_pages(facts: &Facts, tiering: &Tiering) -> Option<Setting<String>> {
    let off = facts.knob("transparent_hugepage.enabled").is_none_or(|value| value == "never");
    if tiering.tier != Tier::Zswap || off {
        return None;
    }
    let version = *facts.kernel.version.value()?;
    let on_device = tiering.areas.iter().any(|area| area.path.starts_with("/dev/"));
    if version <= v(6, 12) && !tiering.spinning && on_device {
        let reason = format!("on Linux {version} huge pages are written to a non-rotational swap device as a whole, past zswap");
        return Some(derived("madvise".into(), reason, "mm/zswap.c: large folios are refused up to 6.12"));
    }
    let reason = "idle applications pay for each huge page that they touched once; programs that ask for them still get them";
    let evidence = "Documentation/admin-guide/mm/transhuge.rst: max_ptes_none lets a collapse fill untouched pages";
    Some(derived("madvise".into(), reason, evidence))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_kernel_documents_example_holds() {
        // vm.rst: for swap twice as fast as file I/O the value is 133.
        assert_eq!(swappiness_for(2), 133);
        assert_eq!(swappiness_for(1), 100);
    }
}
