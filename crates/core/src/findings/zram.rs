//! zram: a device that is full, too small, too large, or not what its configuration asks for.

use super::ask::{disk_areas, knob_exhibit, number, pages, paths, paths_that, setters, swap_lines, zram_areas};
use super::{Exhibit, Finding, FindingEvidence, Severity};
use crate::Bytes;
use crate::facts::{Facts, SwapArea, ZramDevice};
use crate::parse::zram_generator;

pub(super) static ROWS: &[Finding] = &[
    Finding {
        code: "zram-lru-inversion",
        severity: Severity::Warning,
        title: "zram is full of cold pages, and hot ones go to the disk",
        source: "Documentation/admin-guide/blockdev/zram.rst: zram never evicts by itself",
        detect: lru_inversion,
    },
    Finding {
        code: "zram-full",
        severity: Severity::Warning,
        title: "zram is full and there is no other swap",
        source: "Documentation/admin-guide/blockdev/zram.rst",
        detect: full,
    },
    Finding {
        code: "zram-limit",
        severity: Severity::Error,
        title: "zram is at its memory limit, where writes fail",
        source: "Documentation/admin-guide/blockdev/zram.rst: mem_limit",
        detect: limit,
    },
    Finding {
        code: "zram-too-large",
        severity: Severity::Info,
        title: "zram is larger than what its memory can hold",
        source: "Documentation/admin-guide/blockdev/zram.rst: little point in more than twice the memory",
        detect: too_large,
    },
    Finding {
        code: "zram-incompressible",
        severity: Severity::Info,
        title: "many pages in zram do not compress",
        source: "Documentation/admin-guide/blockdev/zram.rst: huge_pages",
        detect: incompressible,
    },
    Finding {
        code: "zram-few-algorithms",
        severity: Severity::Info,
        title: "zram has only lzo",
        source: "drivers/block/zram/Kconfig: ZRAM_BACKEND_* (6.12 and later), CRYPTO_* before",
        detect: few_algorithms,
    },
    Finding {
        code: "zram-algorithm-differs",
        severity: Severity::Warning,
        title: "zram runs another compressor than its configuration asks for",
        source: "zram-generator.conf(5): compression-algorithm",
        detect: algorithm_differs,
    },
    Finding {
        code: "zram-writeback-unused",
        severity: Severity::Info,
        title: "zram has a backing device, and nothing was ever written to it",
        source: "Documentation/admin-guide/blockdev/zram.rst: writeback is a command, no kernel gives it by itself",
        detect: writeback_unused,
    },
    Finding {
        code: "zram-swappiness",
        severity: Severity::Warning,
        title: "swappiness is set for a disk while swap is zram",
        source: "Documentation/admin-guide/sysctl/vm.rst: above 100 where swap is faster than the file system",
        detect: swappiness,
    },
];

/// What a device holds before it is worth a word that nothing of it is written back (assumed: as `zram_floor` of the daemon).
const WORTH_WRITING: Bytes = Bytes::from_mib(64);

/// An area with less than a twentieth free is full: the kernel stops filling a little before the end.
fn is_full(area: &SwapArea) -> bool {
    area.size > Bytes(0) && u128::from(area.used.0) * 20 >= u128::from(area.size.0) * 19
}

fn initialised(facts: &Facts) -> impl Iterator<Item = &ZramDevice> {
    facts.zram.devices.iter().filter(|device| device.disksize > Bytes(0))
}

fn mm_stat(device: &ZramDevice, text: String) -> Exhibit {
    Exhibit { source: format!("/sys/block/{}/mm_stat", device.name), text }
}

fn lru_inversion(facts: &Facts) -> Option<FindingEvidence> {
    let full: Vec<&SwapArea> = zram_areas(facts).into_iter().filter(|area| is_full(area)).collect();
    let disks: Vec<&SwapArea> = disk_areas(facts).into_iter().filter(|area| area.used > Bytes(0)).collect();
    if full.is_empty() || disks.is_empty() {
        return None;
    }
    let spilled = Bytes(disks.iter().map(|area| area.used.0).sum());
    let what = format!(
        "{} full, and {spilled} went on to {}: what lies in zram is what was cold first, what goes to the disk is hotter",
        paths_that(&full, "is", "are"),
        paths(&disks)
    );
    Some(FindingEvidence::new(what, "swaptune plan --explain").seen_all(swap_lines(&full)).seen_all(swap_lines(&disks)))
}

fn full(facts: &Facts) -> Option<FindingEvidence> {
    let areas = zram_areas(facts);
    if areas.is_empty() || !areas.iter().all(|area| is_full(area)) || !disk_areas(facts).is_empty() {
        return None;
    }
    let what = format!(
        "{}: the next shortage ends in stalls and the OOM killer",
        paths_that(&areas, "is full and there is no swap behind it", "are full and there is no swap behind them")
    );
    Some(FindingEvidence::new(what, "swaptune plan --explain").seen_all(swap_lines(&areas)))
}

fn limit(facts: &Facts) -> Option<FindingEvidence> {
    let (device, stat) = initialised(facts).filter_map(|device| Some((device, device.mm_stat.value()?))).find(|(_, stat)| {
        stat.mem_limit > Bytes(0) && u128::from(stat.mem_used_total.0) * 20 >= u128::from(stat.mem_limit.0) * 19
    })?;
    let what = format!(
        "{} takes {} of the {} that mem_limit allows: at the limit its writes fail, and pages that should go out stay in memory",
        device.name, stat.mem_used_total, stat.mem_limit
    );
    let cure = format!("echo 0 > /sys/block/{}/mem_limit", device.name);
    Some(
        FindingEvidence::new(what, cure)
            .seen_all([mm_stat(device, format!("mem_used_total {}, mem_limit {}", stat.mem_used_total.0, stat.mem_limit.0))]),
    )
}

fn too_large(facts: &Facts) -> Option<FindingEvidence> {
    let total = facts.memory.total();
    let size = Bytes(initialised(facts).map(|device| device.disksize.0).sum());
    if total == Bytes(0) || u128::from(size.0) <= u128::from(total.0) * 2 {
        return None;
    }
    let what = format!(
        "zram offers {size} on {total} of RAM: at two to one it could hold at most {}, and its size is before compression",
        Bytes(total.0.saturating_mul(2))
    );
    let exhibits = initialised(facts)
        .map(|device| Exhibit { source: format!("/sys/block/{}/disksize", device.name), text: device.disksize.0.to_string() });
    Some(FindingEvidence::new(what, "swaptune plan --explain").seen_all(exhibits))
}

fn incompressible(facts: &Facts) -> Option<FindingEvidence> {
    let share = |device: &ZramDevice| {
        let stat = device.mm_stat.value()?;
        let huge = pages(facts, stat.huge_pages);
        (huge >= Bytes::from_mib(16) && u128::from(huge.0) * 4 > u128::from(stat.orig_data_size.0))
            .then_some((huge, stat.orig_data_size))
    };
    let (device, (huge, all)) = initialised(facts).find_map(|device| Some((device, share(device)?)))?;
    let what = format!("{huge} of the {all} in {} do not compress and take their full size", device.name);
    Some(
        FindingEvidence::new(what, "swaptune verify --prove")
            .seen_all([mm_stat(device, format!("huge_pages {} bytes of orig_data_size {}", huge.0, all.0))]),
    )
}

fn few_algorithms(facts: &Facts) -> Option<FindingEvidence> {
    let only_lzo =
        |device: &&ZramDevice| !device.algorithms.is_empty() && device.algorithms.iter().all(|name| name.starts_with("lzo"));
    let device = initialised(facts).find(only_lzo)?;
    let what = format!(
        "{} offers only {}: this kernel is built without zstd and lz4 for zram",
        device.name,
        device.algorithms.join(" and ")
    );
    let source = format!("/sys/block/{}/comp_algorithm", device.name);
    Some(FindingEvidence::new(what, "swaptune plan --explain").seen(source, device.algorithms.join(" ")))
}

fn algorithm_differs(facts: &Facts) -> Option<FindingEvidence> {
    for section in zram_generator::devices_of(facts, "") {
        let Some(key) = section.keys.get("compression-algorithm") else { continue };
        // `zstd(level=3) lz4 (type=idle)`: the first word is the primary compressor.
        let asked = key.value.split([' ', '(']).next().unwrap_or_default();
        let device = initialised(facts).find(|device| device.name == section.name);
        let Some((device, live)) = device.and_then(|device| Some((device, device.algorithm.value()?))) else { continue };
        if asked.is_empty() || asked == live {
            continue;
        }
        let what = format!(
            "{} compresses with {live} although {asked} is configured: the kernel lacks it, or the device was set up before",
            device.name
        );
        let found = FindingEvidence::new(what, "swaptune plan --explain")
            .seen(format!("{} line {}", key.path, key.line), format!("compression-algorithm = {}", key.value));
        return Some(found.seen(device.algorithm.source(), live.clone()));
    }
    None
}

fn writeback_unused(facts: &Facts) -> Option<FindingEvidence> {
    let stored = |device: &ZramDevice| device.mm_stat.value().map_or(Bytes(0), |stat| stat.orig_data_size);
    let is_unused = |device: &&ZramDevice| {
        device.written_back.value() == Some(&Bytes(0)) && stored(device) >= WORTH_WRITING && !facts.zram.kept
    };
    let backed = |device: &ZramDevice| device.backing_dev.value().filter(|backing| *backing != "none").cloned();
    let (device, backing) = initialised(facts).filter(is_unused).find_map(|device| Some((device, backed(device)?)))?;
    let what = format!(
        "{} holds {} and has {backing} to write idle pages to: the kernel does so only when it is told to, and nothing has told it",
        device.name,
        stored(device)
    );
    let found = FindingEvidence::new(what, "systemctl enable --now swaptuned").seen(device.backing_dev.source(), backing);
    Some(found.seen(device.written_back.source(), "nothing was written"))
}

fn swappiness(facts: &Facts) -> Option<FindingEvidence> {
    let areas = zram_areas(facts);
    let value = number(facts, "vm.swappiness").filter(|value| *value < 60)?;
    if areas.is_empty() {
        return None;
    }
    let stored = Bytes(initialised(facts).filter_map(|device| device.mm_stat.value()).map(|stat| stat.orig_data_size.0).sum());
    let who = setters(facts, "vm.swappiness");
    let by = match who.last() {
        Some(last) => format!("set by {}", last.source),
        None if facts.system.managers.iter().any(|m| m.active && m.name == "tuned") => {
            "probably set by tuned's profile".to_owned()
        }
        None => "by no sysctl file".to_owned(),
    };
    let what = format!(
        "vm.swappiness is {value}, {by}: page cache is dropped before {} {stored}",
        paths_that(&areas, "is used, which holds", "are used, which hold")
    );
    Some(
        FindingEvidence::new(what, "swaptune apply --set vm.swappiness=150")
            .seen_all([knob_exhibit(facts, "vm.swappiness")])
            .seen_all(who),
    )
}
