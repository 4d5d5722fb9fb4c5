//! zswap beside the rest of the machine: what it stands in front of, and what this kernel makes of the combination.

use super::ask::{
    config, counter, device, disk_areas, does, does_not, drop_word, knob_exhibit, number, parameter, paths, paths_that, percent,
    release, setters, swap_lines, zram_areas, zswap_on,
};
use super::{Exhibit, Finding, FindingEvidence, Severity};
use crate::Bytes;
use crate::facts::{BootLoader, Facts, SwapArea, SwapKind};
use swaptune_kernel::behaviours;

pub(super) static ROWS: &[Finding] = &[
    Finding {
        code: "zswap-no-swap",
        severity: Severity::Error,
        title: "zswap is on without any swap area",
        source: "Documentation/admin-guide/mm/zswap.rst: every stored page holds a slot of a swap device",
        detect: no_swap,
    },
    Finding {
        code: "zswap-over-zram",
        severity: Severity::Warning,
        title: "zswap stands in front of zram",
        source: "mm/zswap.c: every page is compressed by zswap first; what it writes back is compressed again by zram",
        detect: over_zram,
    },
    Finding {
        code: "zswap-exclusive-loads",
        severity: Severity::Error,
        title: "exclusive_loads over a synchronous swap device can lose data",
        source: "mm/zswap.c: fixed by 25cd241408a2 in 6.9",
        detect: exclusive_loads,
    },
    Finding {
        code: "zswap-blocks-large-swapin",
        severity: Severity::Info,
        title: "zswap was enabled once, so zram swaps in single pages until the next boot",
        source: "mm/memory.c: zswap_never_enabled() gates large-folio swap-in (6.12 and later)",
        detect: blocks_large_swapin,
    },
    Finding {
        code: "zswap-zsmalloc-no-writeback",
        severity: Severity::Info,
        title: "this kernel cannot write zsmalloc pools back to the disk",
        source: "mm/zsmalloc.c: zs_zpool_shrink appears in 6.2",
        detect: zsmalloc_no_writeback,
    },
    Finding {
        code: "zswap-old-pool-blocks",
        severity: Severity::Warning,
        title: "a left-over zsmalloc pool blocks the shrinking of zswap",
        source: "mm/zswap.c: zswap_pool_last_get shrinks the oldest pool (up to 6.8)",
        detect: old_pool_blocks,
    },
    Finding {
        code: "zswap-memcg-off",
        severity: Severity::Warning,
        title: "without memory cgroups this kernel never writes back at the pool limit",
        source: "mm/zswap.c: shrink_worker and mem_cgroup_iter (6.8 to 7.1, fixed in 7.2)",
        detect: memcg_off,
    },
    Finding {
        code: "zswap-thp-bypass",
        severity: Severity::Warning,
        title: "huge pages go to the disk past zswap",
        source: "mm/zswap.c: large folios are stored from 6.13 on; mm/vmscan.c splits them on files and rotational devices",
        detect: thp_bypass,
    },
    Finding {
        code: "zswap-percent-range",
        severity: Severity::Warning,
        title: "a percentage of zswap is outside of 1 to 100",
        source: "mm/zswap.c: max_pool_percent and accept_threshold_percent are not range checked",
        detect: percent_range,
    },
    Finding {
        code: "zswap-shrinker-on",
        severity: Severity::Info,
        title: "zswap's shrinker writes back what would still fit",
        source: "docs/evidence/pool-limit.md; mm/zswap.c: zswap_shrinker_scan (6.8 and later)",
        detect: shrinker_on,
    },
    Finding {
        code: "zswap-shrinker-no-effect",
        severity: Severity::Warning,
        title: "the shrinker of zswap is on and finds nothing",
        source: "mm/zswap.c: zswap_shrinker_count reads the cgroup's zswapped pages, which mm/memcontrol.c counts on cgroup v2 only",
        detect: shrinker_no_effect,
    },
    Finding {
        code: "zswap-readahead-stays",
        severity: Severity::Warning,
        title: "what is read ahead from zswap stays in memory until it is used",
        source: "mm/vmscan.c: pageout() takes pages that no process has mapped for file pages (6.16 and later); docs/evidence/simulations.md",
        detect: readahead_stays,
    },
    Finding {
        code: "zswap-unused",
        severity: Severity::Info,
        title: "zswap is on and has stored nothing yet",
        source: "Documentation/admin-guide/mm/zswap.rst",
        detect: unused,
    },
    Finding {
        code: "zswap-off-holds-pages",
        severity: Severity::Info,
        title: "zswap is off and still holds pages",
        source: "Documentation/admin-guide/mm/zswap.rst: disabling only stops new stores",
        detect: off_holds_pages,
    },
];

fn no_swap(facts: &Facts) -> Option<FindingEvidence> {
    zswap_on(facts).filter(|_| facts.swaps.is_empty())?;
    let what = "zswap is on, but there is no swap area: it stores nothing, because each of its pages needs a slot of one";
    Some(FindingEvidence::new(what, "swaptune apply").seen_all([parameter("enabled", "Y")]).seen("/proc/swaps", "empty"))
}

fn over_zram(facts: &Facts) -> Option<FindingEvidence> {
    zswap_on(facts)?;
    let areas = zram_areas(facts);
    if areas.is_empty() {
        return None;
    }
    let what = format!(
        "zswap is on and swap is on {}: pages are compressed twice, memory moves between two pools, and both statistics mislead",
        paths(&areas)
    );
    Some(FindingEvidence::new(what, "swaptune apply").seen_all([parameter("enabled", "Y")]).seen_all(swap_lines(&areas)))
}

/// Areas that the kernel reads synchronously, past the swap cache.
fn synchronous(facts: &Facts) -> Vec<&SwapArea> {
    let is = |area: &&SwapArea| area.is_zram() || area.path.starts_with("/dev/pmem") || area.path.starts_with("/dev/ram");
    facts.swaps.iter().filter(is).collect()
}

fn exclusive_loads(facts: &Facts) -> Option<FindingEvidence> {
    let zswap = zswap_on(facts)?;
    let value = zswap.parameter("exclusive_loads").filter(|value| *value == "Y")?;
    let areas = synchronous(facts);
    if areas.is_empty() || !does(facts, &behaviours::EXCLUSIVE_LOADS_LOSE_PAGES) {
        return None;
    }
    let what = format!(
        "on {} a load from {} frees zswap's copy although the page bypasses the swap cache: its content can be lost",
        release(facts),
        paths(&areas)
    );
    let cure = "echo N > /sys/module/zswap/parameters/exclusive_loads";
    Some(FindingEvidence::new(what, cure).seen_all([parameter("exclusive_loads", value)]).seen_all(swap_lines(&areas)))
}

fn blocks_large_swapin(facts: &Facts) -> Option<FindingEvidence> {
    let zswap = facts.zswap.value()?;
    let areas = zram_areas(facts);
    if areas.is_empty() || !does(facts, &behaviours::LARGE_SWAPIN) || !(zswap.enabled || zswap.loaded.is_known()) {
        return None;
    }
    let what = format!(
        "zswap was enabled since boot, so {} one page at a time: large folios come back whole only after a boot without zswap",
        paths_that(&areas, "is read", "are read")
    );
    let evidence = match zswap.loaded.value() {
        Some(pool) => Exhibit { source: zswap.loaded.source().to_owned(), text: format!("zswap: loaded using pool {pool}") },
        None => parameter("enabled", "Y"),
    };
    Some(
        FindingEvidence::new(what, "swaptune apply --boot && systemctl reboot").seen_all([evidence]).seen_all(swap_lines(&areas)),
    )
}

fn zsmalloc_no_writeback(facts: &Facts) -> Option<FindingEvidence> {
    let zpool = zswap_on(facts)?.parameter("zpool").filter(|zpool| *zpool == "zsmalloc")?;
    let areas = disk_areas(facts);
    if areas.is_empty() || !does_not(facts, &behaviours::ZSMALLOC_WRITES_BACK) {
        return None;
    }
    let what = format!(
        "on {} a zsmalloc pool is never written back to {}: once it is full, cold pages stay in it and new ones go straight to the disk",
        release(facts),
        paths(&areas)
    );
    Some(FindingEvidence::new(what, "swaptune apply").seen_all([parameter("zpool", zpool)]))
}

fn old_pool_blocks(facts: &Facts) -> Option<FindingEvidence> {
    let zswap = zswap_on(facts)?;
    let zpool = zswap.parameter("zpool").filter(|zpool| *zpool != "zsmalloc")?;
    let loaded = zswap.loaded.value().filter(|loaded| loaded.ends_with("/zsmalloc"))?;
    if !does_not(facts, &behaviours::ZSMALLOC_WRITES_BACK) {
        return None;
    }
    let what = format!(
        "zswap began with {loaded} and was switched to {zpool}: until the old pool is empty, {} tries to shrink that one, and cannot",
        release(facts)
    );
    let failed = counter(facts, "reject_reclaim_fail").unwrap_or(0);
    let found = FindingEvidence::new(what, "swaptune apply --boot && systemctl reboot").seen_all([parameter("zpool", zpool)]);
    Some(
        found
            .seen(zswap.loaded.source(), format!("loaded using pool {loaded}"))
            .seen("/sys/kernel/debug/zswap/reject_reclaim_fail", failed.to_string()),
    )
}

fn memcg_off(facts: &Facts) -> Option<FindingEvidence> {
    zswap_on(facts)?;
    if !does(facts, &behaviours::WRITEBACK_NEEDS_MEMCG) {
        return None;
    }
    let what = |why: &str| {
        format!(
            "{why}, and {} then never writes zswap back when its pool is full: new pages go straight to the disk",
            release(facts)
        )
    };
    if let Some(value) = config(facts, "CONFIG_MEMCG").filter(|value| *value == "n") {
        let found = FindingEvidence::new(
            what("this kernel is built without memory cgroups"),
            "swaptune apply --set zswap.shrinker_enabled=Y",
        );
        return Some(found.seen(facts.kernel.config.source(), format!("CONFIG_MEMCG={value}")));
    }
    // A container sees the controllers that it was given, not those of the kernel.
    let controller = Some(&facts.system.memory_controller).filter(|_| !facts.system.container.is_known())?;
    controller.value().filter(|is_on| !**is_on)?;
    let found = FindingEvidence::new(what("the memory cgroup controller is disabled"), controller_cure(facts));
    Some(found.seen(controller.source(), "no memory controller"))
}

/// The firmware of a Raspberry Pi puts `cgroup_disable=memory` of its device tree before the words of `cmdline.txt`: there is nothing to take
/// out, and the later word wins.
fn controller_cure(facts: &Facts) -> String {
    let word = "cgroup_disable=memory";
    let store = facts.boot.arguments.value().filter(|_| facts.boot.loader.value() == Some(&BootLoader::Raspberry));
    match store.filter(|store| !store.configured.contains(word)) {
        Some(store) => format!("sed -i '1s/$/ cgroup_enable=memory/' {} && reboot", store.path),
        None => drop_word(facts, word),
    }
}

fn thp_bypass(facts: &Facts) -> Option<FindingEvidence> {
    zswap_on(facts)?;
    let always = facts.memory.thp.value().is_some_and(|thp| thp.enabled == "always")
        || facts.knob("transparent_hugepage.enabled") == Some("always");
    if !always || !does(facts, &behaviours::LARGE_FOLIOS_PAST_ZSWAP) {
        return None;
    }
    let flash = |area: &&SwapArea| {
        area.kind == SwapKind::Partition && device(facts, area).is_some_and(|d| d.rotational.value() == Some(&false))
    };
    let areas: Vec<&SwapArea> = disk_areas(facts).into_iter().filter(flash).collect();
    if areas.is_empty() {
        return None;
    }
    let whole = facts.memory.count("thp_swpout").unwrap_or(0);
    let what = format!(
        "transparent huge pages are `always`, and {} writes them to {} whole and uncompressed: {whole} since boot",
        release(facts),
        paths(&areas)
    );
    let found = FindingEvidence::new(what, "swaptune apply --set transparent_hugepage.enabled=madvise");
    Some(
        found
            .seen("/proc/vmstat", format!("thp_swpout {whole}"))
            .seen_all([knob_exhibit(facts, "transparent_hugepage.enabled")])
            .seen_all(swap_lines(&areas)),
    )
}

fn percent_range(facts: &Facts) -> Option<FindingEvidence> {
    let zswap = zswap_on(facts)?;
    let meaning = |name: &str, value: u64| match (name, value) {
        ("max_pool_percent", 0) => "every page is rejected".to_owned(),
        ("max_pool_percent", _) => "the pool may take all memory there is".to_owned(),
        (_, 0) => "once full, the pool accepts nothing until it is empty".to_owned(),
        _ => "the threshold lies above the limit and has no effect".to_owned(),
    };
    let (name, value) = ["max_pool_percent", "accept_threshold_percent"]
        .into_iter()
        .filter_map(|name| Some((name, percent(zswap, name)?)))
        .find(|(_, value)| !(1..=100).contains(value))?;
    let what = format!("zswap.{name} is {value}, which the kernel takes without a check: {}", meaning(name, value));
    Some(FindingEvidence::new(what, "swaptune apply").seen_all([parameter(name, &value.to_string())]))
}

fn shrinker_on(facts: &Facts) -> Option<FindingEvidence> {
    let value = zswap_on(facts)?.parameter("shrinker_enabled").filter(|value| *value == "Y")?;
    if disk_areas(facts).is_empty() || !facts.zswap_shrinker_counts() {
        return None;
    }
    let what = "the shrinker is on: reclaim writes idle applications to the disk while all of them still fit into the pool; counted on \
                Linux 6.12 and 6.18, a wake read 12 and 44 pages from the disk with it and none without";
    Some(
        FindingEvidence::new(what, "swaptune apply --set zswap.shrinker_enabled=N")
            .seen_all([parameter("shrinker_enabled", value)]),
    )
}

fn shrinker_no_effect(facts: &Facts) -> Option<FindingEvidence> {
    let value = zswap_on(facts)?.parameter("shrinker_enabled").filter(|value| *value == "Y")?;
    if disk_areas(facts).is_empty() || facts.zswap_shrinker_counts() {
        return None;
    }
    let what = "zswap's shrinker asks each memory cgroup how much it holds in zswap, and the memory controller of version 1 never counts \
                that: it writes nothing back, and the pool drains only at its limit; cgroup_no_v1=memory at boot gives it a controller that does";
    let version = Exhibit { source: facts.system.cgroup_version.source().to_owned(), text: "cgroup version 1".to_owned() };
    let cure = "swaptune apply --set zswap.shrinker_enabled=N";
    Some(FindingEvidence::new(what, cure).seen_all([parameter("shrinker_enabled", value), version]))
}

fn readahead_stays(facts: &Facts) -> Option<FindingEvidence> {
    zswap_on(facts).filter(|_| facts.zswap_read_ahead_stays())?;
    // With 1 a neighbour comes only where faults lie side by side or the last one was used: measured, that costs nothing.
    let value = number(facts, "vm.page-cluster").filter(|value| *value > 1)?;
    // Of zram nothing is read ahead.
    let areas = disk_areas(facts);
    if areas.is_empty() {
        return None;
    }
    let what = format!(
        "vm.page-cluster is {value}, and {} cannot evict pages that it read ahead from zswap before they are used: idle applications swapped in a third more with 2 than with 0, and nearly twice as much with 3",
        release(facts)
    );
    let found = FindingEvidence::new(what, "swaptune apply --set vm.page-cluster=0");
    let found = found.seen_all([knob_exhibit(facts, "vm.page-cluster"), parameter("enabled", "Y")]);
    Some(found.seen_all(setters(facts, "vm.page-cluster")).seen_all(swap_lines(&areas)))
}

fn unused(facts: &Facts) -> Option<FindingEvidence> {
    zswap_on(facts).filter(|_| !facts.swaps.is_empty())?;
    let seen = nothing_stored(facts)?;
    let what = "zswap is on and has stored nothing since boot: either there was no memory pressure yet, or something keeps pages from it";
    Some(FindingEvidence::new(what, "swaptune verify --prove").seen_all([seen]))
}

/// What shows that no page was ever stored. Before 5.19 no counter has them all: what is stored now, and what comes of pages that were.
fn nothing_stored(facts: &Facts) -> Option<Exhibit> {
    let none = |source: &str, text: &str| Exhibit { source: source.to_owned(), text: text.to_owned() };
    if let Some(stored) = facts.memory.count("zswpout") {
        return (stored == 0).then(|| none("/proc/vmstat", "zswpout 0"));
    }
    let traces = ["written_back_pages", "pool_limit_hit", "duplicate_entry"].map(|name| counter(facts, name));
    let is_unused = counter(facts, "stored_pages")? == 0 && traces.iter().all(|count| count.is_none_or(|count| count == 0));
    is_unused
        .then(|| none("/sys/kernel/debug/zswap", "stored_pages, written_back_pages, pool_limit_hit and duplicate_entry are 0"))
}

fn off_holds_pages(facts: &Facts) -> Option<FindingEvidence> {
    facts.zswap.value().filter(|zswap| !zswap.enabled)?;
    let held = facts.memory.get("Zswapped").filter(|held| *held > Bytes(0))?;
    let pool = facts.memory.get("Zswap").unwrap_or_default();
    let available = facts.memory.get("MemAvailable").unwrap_or_default();
    let what = format!(
        "zswap is off but still holds {held} of pages in {pool} of memory: they leave as they are read or freed, or at swapoff ({available} available)"
    );
    Some(
        FindingEvidence::new(what, "swapoff -a && swapon -a")
            .seen("/proc/meminfo", format!("Zswapped: {held}, Zswap: {pool}"))
            .seen_all([parameter("enabled", "N")]),
    )
}
