//! Knobs of reclaim that follow from the tiering: swappiness, read-ahead, watermarks, huge pages.

use std::collections::BTreeMap;

use super::assume::ASSUMED;
use super::tiering::TieringDecision;
use super::{RuleGround, derived, measured};
use crate::facts::{Facts, Transport};
use crate::forecast::BackingTier;
use crate::settings::Setting;
use swaptune_kernel::behaviours;

/// The derived knobs.
pub(super) fn knobs(ground: &RuleGround<'_>, compressors: &Setting<Vec<String>>) -> BTreeMap<String, Setting<String>> {
    let (facts, tiering) = (ground.facts, ground.tiering);
    let rows = [
        ("vm.swappiness", swappiness(ground, compressors)),
        ("vm.page-cluster", page_cluster(ground)),
        ("vm.watermark_scale_factor", watermark(tiering)),
        ("transparent_hugepage.enabled", huge_pages(facts, tiering)),
    ];
    rows.into_iter().filter_map(|(name, setting)| Some((name.to_owned(), setting?))).collect()
}

/// swappiness = 200·x/(x+1) for swap that is x times as fast as file I/O (vm.rst).
#[must_use]
pub fn swappiness_for(ratio: f64) -> u64 {
    // A ratio is positive, so this lies between 0 and 200.
    (200.0 * ratio / (ratio + 1.0)) as u64
}

fn swappiness(ground: &RuleGround<'_>, compressors: &Setting<Vec<String>>) -> Option<Setting<String>> {
    let (facts, tiering) = (ground.facts, ground.tiering);
    let disk = tiering.disk.as_deref();
    if let Some(known) = super::measured::speed_ratio(ground.evidence, ground.cost(compressors), disk) {
        let (ratio, how) = known.value;
        let figures = &ASSUMED.measured;
        let value = swappiness_for(ratio).clamp(figures.swappiness_min, figures.swappiness_max);
        let reason = format!(
            "{how}: {ratio:.1} : 1, and 200·x/(x+1) = {} (kept within {} to {})",
            swappiness_for(ratio),
            figures.swappiness_min,
            figures.swappiness_max
        );
        return Some(measured(value.to_string(), reason, known.source));
    }
    let table = &ASSUMED.speed_ratio;
    let (ratio, what) = match (tiering.tier, tiering.transport) {
        (BackingTier::Disk | BackingTier::Nothing, _) => return None,
        (BackingTier::Zram, _) => (table.zram_only, "zram"),
        (_, _) if tiering.spinning => (table.rotational, "zswap over a spinning disk"),
        (_, Some(Transport::Nvme)) => (table.nvme, "zswap over NVMe"),
        (_, Some(Transport::Virtual)) => (table.virtual_disk, "zswap over a virtual disk"),
        (_, Some(Transport::Mmc | Transport::Usb)) => (table.mmc, "zswap over a slow card"),
        (_, None) if facts.image.is_some() => (table.scsi, "zswap over a disk that an image does not know"),
        _ => (table.scsi, "zswap over an SSD"),
    };
    let value = swappiness_for(ratio as f64);
    let reason = format!("{what}: swap is assumed {ratio} times as fast as file reads, and 200·x/(x+1) = {value}");
    Some(derived(value.to_string(), reason, table.source.clone()))
}

/// Read-ahead only where it was measured to bring more pages a second by more than such measurements scatter. Where zswap's stays in RAM
/// no measurement speaks for it: the benchmark uses all that it reads ahead, idle applications do not.
fn page_cluster(ground: &RuleGround<'_>) -> Option<Setting<String>> {
    let tiering = ground.tiering;
    if tiering.tier == BackingTier::Zswap && ground.facts.zswap_read_ahead_stays() {
        let reason = "reclaim of this kernel cannot evict what was read ahead from zswap and is not used, so that idle applications swap in \
                      more the more is read: with 3 nearly twice as much";
        let evidence = "mm/vmscan.c, pageout() (6.16 and later); docs/evidence/simulations.md, idle with zswap";
        return Some(derived("0".into(), reason, evidence));
    }
    let known = ground.evidence.read_ahead(tiering.tier == BackingTier::Zswap).filter(|_| tiering.tier != BackingTier::Zram);
    if let Some(known) = known {
        let (best, enough) = (known.value, 1.0 + ASSUMED.measured.gain_percent as f64 / 100.0);
        // Idle applications come back in order here and there, and at random: neither may pay for the other.
        let pays = best.in_order.low >= enough && best.at_random.high >= 1.0;
        let (value, verdict) =
            if pays { (best.page_cluster, "it pays") } else { (0, "not worth reading more than was asked for") };
        let reason = format!(
            "page-cluster {} brings {:.2} times the pages a second of 0 in order ({:.2} to {:.2}), {:.2} times at random: {verdict}",
            best.page_cluster, best.in_order.value, best.in_order.low, best.in_order.high, best.at_random.value
        );
        return Some(measured(value.to_string(), reason, known.source));
    }
    let table = &ASSUMED.page_cluster;
    let (value, reason) = match tiering.tier {
        BackingTier::Zram => (table.zram_only, "zram needs no read-ahead, and what lies below it is used rarely"),
        _ if tiering.spinning => (table.rotational, "a spinning disk: a few pages a seek"),
        _ => (table.solid_state, "read-ahead saves no seek here: each page is read, or decompressed, when it is needed"),
    };
    Some(derived(value.to_string(), reason, table.source.clone()))
}

fn watermark(tiering: &TieringDecision) -> Option<Setting<String>> {
    if tiering.tier == BackingTier::Disk {
        return None;
    }
    let reason = "kswapd starts earlier: compression happens in the background, not in an application's fault";
    Some(derived(ASSUMED.watermark.scale_factor.to_string(), reason, ASSUMED.watermark.source.clone()))
}

/// Huge pages for those that ask; a machine that turned them off altogether is left alone.
fn huge_pages(facts: &Facts, tiering: &TieringDecision) -> Option<Setting<String>> {
    let off = facts.knob("transparent_hugepage.enabled").is_none_or(|value| value == "never");
    if tiering.tier != BackingTier::Zswap || off {
        return None;
    }
    let version = *facts.kernel.version.value()?;
    let on_device = tiering.areas.iter().any(|area| area.path.starts_with("/dev/"));
    if behaviours::LARGE_FOLIOS_PAST_ZSWAP.is_in(version) && !tiering.spinning && on_device {
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
        assert_eq!(swappiness_for(2.0), 133);
        assert_eq!(swappiness_for(1.0), 100);
    }
}
