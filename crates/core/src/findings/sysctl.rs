//! sysctls: who wins over whom, and settings that do not do what guides say.

use super::ask::{disk_areas, knob_exhibit, number, setters, zram_areas, zswap_on};
use super::{Finding, FindingEvidence, Severity};
use crate::Bytes;
use crate::facts::{Facts, SysctlSource};
use crate::knobs;

pub(super) static ROWS: &[Finding] = &[
    Finding {
        code: "sysctl-overridden",
        severity: Severity::Warning,
        title: "another file overrides swaptune's sysctls",
        source: "sysctl.d(5): files are read in the order of their names, the last one wins",
        detect: overridden,
    },
    Finding {
        code: "sysctl-live-differs",
        severity: Severity::Warning,
        title: "a sysctl is not what the files say",
        source: "sysctl.d(5)",
        detect: live_differs,
    },
    Finding {
        code: "sysctl-swappiness-zero",
        severity: Severity::Warning,
        title: "swappiness 0 keeps compressed swap unused",
        source: "Documentation/admin-guide/sysctl/vm.rst; get_scan_count() in mm/vmscan.c",
        detect: swappiness_zero,
    },
    Finding {
        code: "sysctl-swappiness-high-for-disk",
        severity: Severity::Warning,
        title: "swappiness above 100 while swap is a plain disk",
        source: "Documentation/admin-guide/sysctl/vm.rst: above 100 only where swap is faster than the file system",
        detect: swappiness_high,
    },
    Finding {
        code: "sysctl-watermark-scale-factor",
        severity: Severity::Info,
        title: "a larger watermark_scale_factor makes reclaim start earlier",
        source: "Documentation/admin-guide/sysctl/vm.rst; __setup_per_zone_wmarks() in mm/page_alloc.c",
        detect: watermark_scale,
    },
    Finding {
        code: "sysctl-overcommit-always",
        severity: Severity::Info,
        title: "overcommit_memory 1 saves no memory",
        source: "__vm_enough_memory() in mm/util.c",
        detect: overcommit_always,
    },
    Finding {
        code: "sysctl-overcommit-ratio",
        severity: Severity::Info,
        title: "overcommit_ratio has no effect",
        source: "Documentation/admin-guide/sysctl/vm.rst: overcommit_ratio counts only with overcommit_memory 2",
        detect: overcommit_ratio,
    },
    Finding {
        code: "sysctl-min-ttl",
        severity: Severity::Info,
        title: "min_ttl_ms kills processes to protect the working set",
        source: "Documentation/admin-guide/mm/multigen_lru.rst",
        detect: min_ttl,
    },
    Finding {
        code: "sysctl-vfs-cache-pressure-zero",
        severity: Severity::Warning,
        title: "vfs_cache_pressure 0 can end in out of memory",
        source: "Documentation/admin-guide/sysctl/vm.rst: dentries and inodes are never reclaimed",
        detect: vfs_cache_pressure,
    },
    Finding {
        code: "sysctl-page-cluster",
        severity: Severity::Info,
        title: "page-cluster is set and has no effect on zram",
        source: "mm/memory.c: SWP_SYNCHRONOUS_IO devices are read without read-ahead",
        detect: page_cluster,
    },
];

fn is_ours(source: &SysctlSource) -> bool {
    source.path.rsplit('/').next().is_some_and(|name| name.contains("swaptune"))
}

/// Values that mean the same to the knob, or that no other program sets.
fn same(name: &str, a: &str, b: &str) -> bool {
    knobs::find(name).map_or(a.trim() == b.trim(), |row| row.same(a, b))
}

fn overridden(facts: &Facts) -> Option<FindingEvidence> {
    for (name, sources) in &facts.sysctl_sources {
        let Some(ours) = sources.iter().rposition(is_ours) else { continue };
        let Some(winner) = sources.last().filter(|last| !is_ours(last) && !same(name, &last.value, &sources[ours].value)) else {
            continue;
        };
        let what = format!(
            "{name} is {} in {}, but line {} of {} sets {} after it",
            sources[ours].value, sources[ours].path, winner.line, winner.path, winner.value
        );
        return Some(FindingEvidence::new(what, "swaptune apply").seen_all(setters(facts, name)));
    }
    None
}

fn live_differs(facts: &Facts) -> Option<FindingEvidence> {
    for (name, sources) in &facts.sysctl_sources {
        // Writing one of a ratio and its bytes clears the other, so their files and values differ without a fault.
        if knobs::find(name).is_some_and(|row| row.excluded().is_some()) {
            continue;
        }
        let Some((last, live)) = sources.last().zip(facts.knob(name)) else { continue };
        if same(name, &last.value, live) {
            continue;
        }
        let tuned = facts.system.managers.iter().any(|manager| manager.active && manager.name == "tuned");
        let who = if tuned { "tuned is active and may have set it" } else { "something set it after the files were read" };
        let what = format!("{name} is {} now, although {} says {}: {who}", live.trim(), last.path, last.value);
        return Some(
            FindingEvidence::new(what, "swaptune apply --now")
                .seen_all([knob_exhibit(facts, name)])
                .seen_all(setters(facts, name)),
        );
    }
    None
}

fn swappiness_zero(facts: &Facts) -> Option<FindingEvidence> {
    number(facts, "vm.swappiness").filter(|value| *value == 0)?;
    // zram with a low swappiness has a finding of its own.
    zswap_on(facts).filter(|_| zram_areas(facts).is_empty() && !facts.swaps.is_empty())?;
    let what = "vm.swappiness is 0: the kernel swaps only when file pages are nearly gone, so zswap stays empty until the machine is in trouble";
    Some(
        FindingEvidence::new(what, "swaptune apply")
            .seen_all([knob_exhibit(facts, "vm.swappiness")])
            .seen_all(setters(facts, "vm.swappiness")),
    )
}

fn swappiness_high(facts: &Facts) -> Option<FindingEvidence> {
    let value = number(facts, "vm.swappiness").filter(|value| *value > 100)?;
    if disk_areas(facts).is_empty() || !zram_areas(facts).is_empty() || facts.zswap_is_on() {
        return None;
    }
    let what = format!(
        "vm.swappiness is {value} and swap is a plain disk: memory is swapped rather than cached files dropped, as if swap were faster than the file system"
    );
    Some(
        FindingEvidence::new(what, "swaptune apply")
            .seen_all([knob_exhibit(facts, "vm.swappiness")])
            .seen_all(setters(facts, "vm.swappiness")),
    )
}

fn watermark_scale(facts: &Facts) -> Option<FindingEvidence> {
    let value = number(facts, "vm.watermark_scale_factor").filter(|value| *value > 10)?;
    let step = Bytes(facts.memory.total().0 / 10_000 * u64::try_from(value).unwrap_or(0));
    let what = format!(
        "vm.watermark_scale_factor is {value}: kswapd wakes earlier and keeps about {step} more free at each step; this is more eager reclaim, not less"
    );
    let found =
        FindingEvidence::new(what, "swaptune plan --explain").seen_all([knob_exhibit(facts, "vm.watermark_scale_factor")]);
    Some(found.seen_all(setters(facts, "vm.watermark_scale_factor")))
}

fn overcommit_always(facts: &Facts) -> Option<FindingEvidence> {
    number(facts, "vm.overcommit_memory").filter(|value| *value == 1)?;
    let what = "vm.overcommit_memory is 1: no allocation is refused, which saves nothing and turns a failed malloc into a later OOM kill";
    let found = FindingEvidence::new(what, "swaptune apply --set vm.overcommit_memory=0")
        .seen_all([knob_exhibit(facts, "vm.overcommit_memory")]);
    Some(found.seen_all(setters(facts, "vm.overcommit_memory")))
}

fn overcommit_ratio(facts: &Facts) -> Option<FindingEvidence> {
    let mode = number(facts, "vm.overcommit_memory").filter(|mode| *mode != 2)?;
    let who = setters(facts, "vm.overcommit_ratio");
    let last = who.last()?;
    let what = format!("{} sets vm.overcommit_ratio, which counts only with overcommit_memory 2; it is {mode}", last.source);
    Some(
        FindingEvidence::new(what, "swaptune plan --explain")
            .seen_all([knob_exhibit(facts, "vm.overcommit_memory")])
            .seen_all(who),
    )
}

fn min_ttl(facts: &Facts) -> Option<FindingEvidence> {
    let value = number(facts, "lru_gen.min_ttl_ms").filter(|value| *value > 0)?;
    let what = format!(
        "lru_gen.min_ttl_ms is {value}: when pages used within that time cannot stay in memory, the OOM killer runs, swap or not"
    );
    Some(
        FindingEvidence::new(what, "swaptune apply --set lru_gen.min_ttl_ms=0")
            .seen_all([knob_exhibit(facts, "lru_gen.min_ttl_ms")]),
    )
}

fn vfs_cache_pressure(facts: &Facts) -> Option<FindingEvidence> {
    number(facts, "vm.vfs_cache_pressure").filter(|value| *value == 0)?;
    let what = "vm.vfs_cache_pressure is 0: directory and inode caches are never given back, until memory is out";
    let found = FindingEvidence::new(what, "swaptune apply --set vm.vfs_cache_pressure=100")
        .seen_all([knob_exhibit(facts, "vm.vfs_cache_pressure")]);
    Some(found.seen_all(setters(facts, "vm.vfs_cache_pressure")))
}

fn page_cluster(facts: &Facts) -> Option<FindingEvidence> {
    let value = number(facts, "vm.page-cluster").filter(|value| *value > 0)?;
    let who = setters(facts, "vm.page-cluster");
    let last = who.last()?;
    if zram_areas(facts).is_empty() || !disk_areas(facts).is_empty() {
        return None;
    }
    let what = format!("{} sets vm.page-cluster to {value}, but zram is read without read-ahead: it has no effect", last.source);
    Some(FindingEvidence::new(what, "swaptune plan --explain").seen_all([knob_exhibit(facts, "vm.page-cluster")]).seen_all(who))
}
