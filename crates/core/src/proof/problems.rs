//! Why pages are not where they should be: the counters that explain it, and the cure.

use serde::{Deserialize, Serialize};

use super::behaviour::{Destination, SwapBehaviour};
use super::checks::moved;
use super::landing::Landing;
use super::observation::{CgroupLimits, ClassObservation, Observation};
use super::{ClassProof, Impossible};
use crate::units::Bytes;

/// Something that is not as it should be.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Problem {
    /// Stable name for scripts: `zswap-at-limit`.
    pub code: String,
    /// What was seen, with counters and figures.
    pub text: String,
    /// What to do.
    pub cure: String,
}

pub(super) fn problem(code: &str, text: impl Into<String>, cure: impl Into<String>) -> Problem {
    Problem { code: code.into(), text: text.into(), cure: cure.into() }
}

/// Everything that is wrong with one class.
pub(super) fn of_class(observation: &Observation, class: &ClassObservation, proof: &ClassProof) -> Vec<Problem> {
    let mut problems = Vec::new();
    if let Some(corrupt) = &class.corrupt {
        problems.push(problem(
            "corrupt",
            format!(
                "{} page {} came back wrong: byte {} was {:#04x} and is {:#04x}",
                class.class, corrupt.page, corrupt.offset, corrupt.expected, corrupt.found
            ),
            UNSAFE,
        ));
    }
    if class.unreadable > 0 {
        let failed = moved(&class.loaded, &class.stored, "zswap.decompress_fail").unwrap_or(0);
        problems.push(problem(
            "unreadable",
            format!(
                "{} of {} {} pages could not be brought back (zswap.decompress_fail +{failed})",
                class.unreadable, class.pages, class.class
            ),
            UNSAFE,
        ));
    }
    if !proof.as_planned {
        let strays = proof.landed.iter().filter(|landing| landing.destination != proof.expected);
        problems.extend(strays.take(1).map(|landing| stray(observation, class, proof.expected, landing)));
    }
    problems.extend(wrong_area(&observation.behaviour, class));
    problems
}

const UNSAFE: &str = "stop using this swap area and this compressor, test the RAM and the disk, and keep the kernel log";

/// The explanation for the largest group of pages in the wrong place.
fn stray(observation: &Observation, class: &ClassObservation, expected: Destination, landing: &Landing) -> Problem {
    let written = matches!(landing.destination, Destination::Disk | Destination::Zram);
    match (expected, landing.destination) {
        (Destination::Zswap, _) if written => bypass(observation, class, landing),
        (_, Destination::Ram) => kept(&observation.cgroup, class, landing),
        (expected, found) => problem(
            "elsewhere",
            format!(
                "{} of {} {} pages went to {} and not to {}",
                landing.pages,
                class.pages,
                class.class,
                found.name(),
                expected.name()
            ),
            "compare `swaptune inspect` with the plan: the kernel behaves otherwise than its settings say",
        ),
    }
}

/// zswap refused pages that it should take. Its counters say why, except in the band below the limit.
fn bypass(observation: &Observation, class: &ClassObservation, landing: &Landing) -> Problem {
    let (behaviour, cgroup) = (&observation.behaviour, &observation.cgroup);
    let went =
        format!("{} of {} {} pages went past zswap to {}", landing.pages, class.pages, class.class, landing.destination.name());
    let moved = |name: &str| moved(&class.stored, &class.before, name).unwrap_or(0);
    let pool = class.before.get("meminfo.Zswap").or_else(|| class.before.get("zswap.pool_total_size")).map(Bytes);
    let raise = "raise zswap.max_pool_percent; `swaptune plan --explain` says how far it may go";
    let above = |limit: Option<Bytes>| pool.zip(limit).is_some_and(|(pool, limit)| pool >= limit);
    if moved("zswap.pool_limit_hit") > 0 || above(behaviour.pool_limit) {
        let hits = moved("zswap.pool_limit_hit");
        let size = pool.map_or_else(|| "of unknown size".to_owned(), |pool| format!("at {pool}"));
        return problem("zswap-at-limit", format!("{went}: the pool {size} is at its limit (pool_limit_hit +{hits})"), raise);
    }
    let hits = class.before.get("zswap.pool_limit_hit");
    if above(behaviour.pool_accepts_below) && hits != Some(0) {
        let was = if hits.is_some() { "was full and has not drained" } else { "may have been full and not have drained" };
        let text = format!("{went}: the pool {was} below accept_threshold_percent; such rejects are counted nowhere");
        return problem("zswap-draining", text, raise);
    }
    for (counter, why, cure) in REJECTS {
        let count = moved(counter);
        if count > 0 {
            return problem("zswap-rejects", format!("{went}: {why} ({counter} +{count})"), *cure);
        }
    }
    if let Some(limit) = cgroup.zswap_max {
        let text = format!("{went}: memory.zswap.max of {} allows {limit}", cgroup.path);
        return problem("zswap-group-limit", text, "run it outside this control group, or raise memory.zswap.max");
    }
    problem(
        "zswap-bypassed",
        format!("{went}, and no counter says why"),
        "look at the kernel log for zswap lines, and at zswap's own counters as root",
    )
}

const REJECTS: &[(&str, &str, &str)] = &[
    (
        "zswap.reject_alloc_fail",
        "the allocator had no memory for them",
        "keep some memory free: raise vm.watermark_scale_factor or vm.min_free_kbytes",
    ),
    ("zswap.reject_kmemcache_fail", "the kernel had no memory for entries", "keep some memory free: raise vm.min_free_kbytes"),
    (
        "zswap.reject_compress_fail",
        "the compressor failed on them",
        "choose another zswap.compressor and look at the kernel log: text must compress",
    ),
    (
        "zswap.reject_compress_poor",
        "their compressed size was too large for the allocator",
        "choose zsmalloc as zswap.zpool (up to Linux 6.17)",
    ),
];

/// Pages that did not leave RAM.
fn kept(cgroup: &CgroupLimits, class: &ClassObservation, landing: &Landing) -> Problem {
    let text = format!("{} of {} {} pages stayed in RAM", landing.pages, class.pages, class.class);
    if class.swapped > 0 && cgroup.writeback_off {
        return problem(
            "zswap-writeback-off",
            format!("{text}: zswap refused them and memory.zswap.writeback=0 on {} forbids the disk", cgroup.path),
            "write 1 to memory.zswap.writeback of the group and its parents, if pages may go to disk",
        );
    }
    let why = why_stuck(cgroup, Some(class));
    problem("stayed-in-ram", format!("{text}: {}", why.reason), why.remedy)
}

/// The likeliest reason for pages that cannot be swapped out at all.
pub(super) fn why_stuck(cgroup: &CgroupLimits, class: Option<&ClassObservation>) -> Impossible {
    let impossible = |reason: String, remedy: &str| Impossible { reason, remedy: remedy.into() };
    if let Some(limit) = cgroup.swap_max.filter(|limit| *limit < Bytes::from_mib(1 << 20)) {
        return impossible(
            format!("memory.swap.max of {} allows {limit} of swap", cgroup.path),
            "run it outside this control group, or raise memory.swap.max",
        );
    }
    let free = class.and_then(|class| class.before.get("meminfo.SwapFree")).map(Bytes);
    if let Some(free) = free.filter(|free| *free < Bytes::from_mib(16)) {
        return impossible(format!("swap is full ({free} free)"), "add a swap area: `swaptune plan`");
    }
    impossible(
        "the kernel did not move pages that MADV_PAGEOUT named, and no limit explains it".into(),
        "run it on the host and not in a container, as root, and look for mlockall limits and memory.swap.max",
    )
}

/// Pages on an area that is not the next to be filled.
fn wrong_area(behaviour: &SwapBehaviour, class: &ClassObservation) -> Option<Problem> {
    let first = behaviour.first_areas();
    let (path, pages) =
        class.areas.iter().find(|(path, pages)| **pages * 20 > class.swapped && !first.iter().any(|area| area.path == **path))?;
    let better = first.first()?;
    Some(problem(
        "wrong-area",
        format!(
            "{pages} of {} {} pages got slots on {path} although {} has the higher priority ({}) and room",
            class.swapped, class.class, better.path, better.priority
        ),
        "a CPU fills the cluster it has begun before it turns to a new area (Linux 6.15 and later): run it again, or switch the slower area off and on",
    ))
}
