//! zswap's counters: a pool at its limit, pages that passed it by, write-back that fails.
//!
//! Counters count from the last change of the configuration, else from boot, so that one snapshot cannot tell a bad hour from a bad
//! minute; sentences say since when.

use super::ask::{counter, grown, grown_vmstat, log, pages, parameter, percent, since, written_back, zram_areas, zswap_on};
use super::{Exhibit, Finding, FindingEvidence, Severity};
use crate::Bytes;
use crate::facts::Facts;
use crate::profiles::auto::pool_percent_max;

/// Fewer pages than this (1 MiB) are noise of a boot.
const FEW: u64 = 256;
/// Pages that went past zswap before they count: what a boot swaps before zswap is enabled stays below 4 MiB, and the
/// random canaries of a few proofs on a kernel that rejects them below 16 MiB.
const PASSED: u64 = 4096;
const DEBUGFS: &str = "/sys/kernel/debug/zswap";

pub(super) static ROWS: &[Finding] = &[
    Finding {
        code: "zswap-pool-stuck",
        severity: Severity::Error,
        title: "zswap's pool is full and does not drain",
        source: "mm/zswap.c: shrink_worker; up to 6.4 one page a rejected store, 6.12 to 7.2 sixteen rotations and stop",
        detect: stuck,
    },
    Finding {
        code: "zswap-pool-near-limit",
        severity: Severity::Warning,
        title: "zswap's pool is at its limit",
        source: "Documentation/admin-guide/mm/zswap.rst: max_pool_percent, accept_threshold_percent",
        detect: near_limit,
    },
    Finding {
        code: "zswap-limit-hit",
        severity: Severity::Warning,
        title: "zswap's pool was full at times",
        source: "mm/zswap.c: pool_limit_hit; rejects between threshold and limit are counted nowhere",
        detect: limit_hit,
    },
    Finding {
        code: "zswap-rejects",
        severity: Severity::Warning,
        title: "pages went to the disk past zswap",
        source: "mm/page_io.c: pswpout counts write-back and rejected pages; zswpwb only write-back",
        detect: rejects,
    },
    Finding {
        code: "zswap-passed",
        severity: Severity::Info,
        title: "more went to the disk than zswap wrote back",
        source: "mm/page_io.c: pswpout counts write-back and pages that never met zswap; zswpwb only write-back",
        detect: passed_by,
    },
    Finding {
        code: "zswap-incompressible",
        severity: Severity::Info,
        title: "many pages do not compress",
        source: "mm/zswap.c: reject_compress_poor, reject_compress_fail; stored raw from 6.18 on",
        detect: incompressible,
    },
    Finding {
        code: "zswap-writeback-failing",
        severity: Severity::Warning,
        title: "zswap fails to write pages back",
        source: "mm/zswap.c: reject_reclaim_fail",
        detect: writeback_failing,
    },
    Finding {
        code: "zswap-no-memory",
        severity: Severity::Warning,
        title: "zswap found no memory for pages that it should store",
        source: "mm/zswap.c: reject_alloc_fail, reject_kmemcache_fail",
        detect: no_memory,
    },
    Finding {
        code: "zswap-decompress-fail",
        severity: Severity::Error,
        title: "zswap could not decompress a page",
        source: "mm/zswap.c: decompress_fail, SIGBUS to the task (6.15 and later)",
        detect: decompress_fail,
    },
];

/// The pool against its limit.
struct Fill {
    pool: Bytes,
    limit: Bytes,
    percent: u64,
    accept: u64,
    was_full: bool,
    source: &'static str,
}

impl Fill {
    /// At the limit, or was there and has not come below the threshold since, from which on it accepts pages again.
    fn is_full(&self) -> bool {
        let share = if self.was_full { self.accept } else { 100 };
        u128::from(self.pool.0) * 100 >= u128::from(self.limit.0) * u128::from(share)
    }

    fn sentence(&self) -> String {
        let over =
            if self.pool > self.limit { ", above the limit: a lower percentage works only from the next store on" } else { "" };
        format!("zswap's pool takes {} of {} ({} % of RAM){over}", self.pool, self.limit, self.percent)
    }

    fn exhibits(&self) -> [Exhibit; 2] {
        let pool = Exhibit { source: self.source.to_owned(), text: format!("{} bytes", self.pool.0) };
        [pool, parameter("max_pool_percent", &self.percent.to_string())]
    }
}

fn fill(facts: &Facts) -> Option<Fill> {
    let zswap = zswap_on(facts)?;
    let share = percent(zswap, "max_pool_percent").filter(|share| (1..=100).contains(share))?;
    let accept = percent(zswap, "accept_threshold_percent").filter(|share| (1..=100).contains(share)).unwrap_or(90);
    let (pool, source) = match counter(facts, "pool_total_size") {
        Some(bytes) => (Bytes(bytes), "/sys/kernel/debug/zswap/pool_total_size"),
        None => (facts.memory.get("Zswap")?, "/proc/meminfo Zswap"),
    };
    let limit = facts.memory.total().percent(share);
    let was_full = grown(facts, "pool_limit_hit").is_some_and(|hits| hits > 0);
    (limit > Bytes(0)).then_some(Fill { pool, limit, percent: share, accept, was_full, source })
}

/// Pages written to swap devices that zswap did not write back, with what was counted.
fn passed(facts: &Facts) -> Option<(u64, u64)> {
    let written = written_back(facts)?;
    Some((grown_vmstat(facts, "pswpout")?.saturating_sub(written), written))
}

fn is_stuck(facts: &Facts) -> bool {
    let full = fill(facts).is_some_and(|fill| fill.is_full());
    full && passed(facts).is_some_and(|(passed, written)| passed >= FEW && written.saturating_mul(10) < passed)
}

fn stuck(facts: &Facts) -> Option<FindingEvidence> {
    let fill = fill(facts).filter(|_| is_stuck(facts))?;
    let (passed, written) = passed(facts)?;
    let what = format!(
        "{} and does not drain: {} {} went straight to the disk and only {} were written back",
        fill.sentence(),
        since(facts),
        pages(facts, passed),
        pages(facts, written)
    );
    let cure = match (fill.percent + 10).min(pool_percent_max(&facts.memory)) {
        higher if higher > fill.percent => format!("swaptune apply --set zswap.max_pool_percent={higher}"),
        _ => "swaptune plan --explain".to_owned(),
    };
    Some(
        FindingEvidence::new(what, cure)
            .seen_all(fill.exhibits())
            .seen("/proc/vmstat", format!("pswpout − written back = {passed} pages, written back = {written} pages")),
    )
}

fn near_limit(facts: &Facts) -> Option<FindingEvidence> {
    let fill = fill(facts).filter(|fill| fill.is_full() && !is_stuck(facts))?;
    let shrinker = zswap_on(facts)?.parameter("shrinker_enabled") == Some("Y");
    let also = if shrinker { "; the shrinker is on and did not prevent it" } else { "" };
    let what = format!("{}: from here on new pages are rejected and go to the disk, the hottest first{also}", fill.sentence());
    Some(FindingEvidence::new(what, "swaptune plan --explain").seen_all(fill.exhibits()))
}

fn limit_hit(facts: &Facts) -> Option<FindingEvidence> {
    zswap_on(facts)?;
    let hits = grown(facts, "pool_limit_hit").filter(|hits| *hits > 0)?;
    if fill(facts).is_some_and(|fill| fill.is_full()) {
        return None;
    }
    let what = format!(
        "zswap's pool was at its limit {hits} times {}; it has drained since, but each time pages went straight to the disk",
        since(facts)
    );
    Some(FindingEvidence::new(what, "swaptune plan --explain").seen(format!("{DEBUGFS}/pool_limit_hit"), hits.to_string()))
}

/// The counters that explain a reject, those that are not zero.
fn causes(facts: &Facts) -> Vec<Exhibit> {
    let names = [
        "pool_limit_hit",
        "reject_compress_poor",
        "reject_compress_fail",
        "reject_alloc_fail",
        "reject_kmemcache_fail",
        "reject_reclaim_fail",
    ];
    let debugfs = names.iter().filter_map(|name| Some((format!("{DEBUGFS}/{name}"), grown(facts, name)?)));
    let huge = grown_vmstat(facts, "thp_swpout").map(|count| ("/proc/vmstat thp_swpout".to_owned(), count));
    let all = debugfs.chain(huge).filter(|(_, count)| *count > 0);
    all.map(|(source, count)| Exhibit { source, text: count.to_string() }).collect()
}

/// Pages that zswap stored, and how a sentence calls them. Before 5.19 no counter has them: those that it holds now are fewer.
fn stored(facts: &Facts) -> (u64, &'static str) {
    let held = || (counter(facts, "stored_pages").unwrap_or(0), "that are in it now");
    grown_vmstat(facts, "zswpout").map_or_else(held, |stored| (stored, "stored in it"))
}

/// Pages that went past zswap, those that it wrote back and a word on what it stored, when there are enough to matter.
fn past(facts: &Facts) -> Option<(u64, u64, String)> {
    zswap_on(facts)?;
    let (passed, written) = passed(facts)?;
    let (stored, how) = stored(facts);
    let few = passed < PASSED || passed.saturating_mul(100) <= stored;
    (!few && zram_areas(facts).is_empty() && !is_stuck(facts))
        .then(|| (passed, written, format!("{} {how}", pages(facts, stored))))
}

fn rejects(facts: &Facts) -> Option<FindingEvidence> {
    let (passed, written, stored) = past(facts)?;
    let causes = causes(facts);
    if causes.is_empty() {
        return None;
    }
    let why: Vec<String> =
        causes.iter().map(|c| format!("{} {}", c.source.rsplit(['/', ' ']).next().unwrap_or_default(), c.text)).collect();
    let what = format!(
        "{} went to the disk without passing zswap {}, against {stored} ({})",
        pages(facts, passed),
        since(facts),
        why.join(", ")
    );
    let found = FindingEvidence::new(what, "swaptune plan --explain")
        .seen("/proc/vmstat", format!("pswpout − written back = {passed} pages, written back = {written} pages"));
    Some(found.seen_all(causes))
}

/// No counter tells pages that zswap refused from those that were swapped before it was on.
fn passed_by(facts: &Facts) -> Option<FindingEvidence> {
    let (passed, written, stored) = past(facts).filter(|_| causes(facts).is_empty())?;
    let what = format!(
        "{} went to the disk without passing zswap {}, against {stored}; no counter says why, and pages \
         swapped before zswap was on are among them",
        pages(facts, passed),
        since(facts)
    );
    let seen = format!("pswpout − written back = {passed} pages, written back = {written} pages");
    Some(FindingEvidence::new(what, "swaptune verify --prove").seen("/proc/vmstat", seen))
}

fn incompressible(facts: &Facts) -> Option<FindingEvidence> {
    zswap_on(facts)?;
    let (raw, held) = (counter(facts, "stored_incompressible_pages").unwrap_or(0), counter(facts, "stored_pages").unwrap_or(0));
    if raw >= FEW && raw.saturating_mul(4) > held {
        let what = format!(
            "{} of the {} in zswap do not compress and take their full size in memory",
            pages(facts, raw),
            pages(facts, held)
        );
        return Some(
            FindingEvidence::new(what, "swaptune verify --prove")
                .seen(format!("{DEBUGFS}/stored_incompressible_pages"), raw.to_string()),
        );
    }
    let refused = grown(facts, "reject_compress_poor").unwrap_or(0) + grown(facts, "reject_compress_fail").unwrap_or(0);
    let (stored, how) = stored(facts);
    if refused < FEW || refused.saturating_mul(20) <= stored {
        return None;
    }
    let what = format!(
        "{} did not compress {} and went to the disk, against {} {how}",
        pages(facts, refused),
        since(facts),
        pages(facts, stored)
    );
    Some(FindingEvidence::new(what, "swaptune verify --prove").seen(format!("{DEBUGFS}/reject_compress_*"), refused.to_string()))
}

fn writeback_failing(facts: &Facts) -> Option<FindingEvidence> {
    zswap_on(facts)?;
    let failed = grown(facts, "reject_reclaim_fail").filter(|failed| *failed >= FEW)?;
    let written = written_back(facts).unwrap_or(0);
    if failed <= written {
        return None;
    }
    let what = format!(
        "writing back failed {failed} times {} against {written} pages that were written: the pool cannot drain as fast as it fills",
        since(facts)
    );
    Some(FindingEvidence::new(what, "swaptune plan --explain").seen(format!("{DEBUGFS}/reject_reclaim_fail"), failed.to_string()))
}

fn no_memory(facts: &Facts) -> Option<FindingEvidence> {
    zswap_on(facts)?;
    let failed = grown(facts, "reject_alloc_fail").unwrap_or(0) + grown(facts, "reject_kmemcache_fail").unwrap_or(0);
    if failed < FEW {
        return None;
    }
    let what = format!(
        "{failed} pages found no memory in zswap {} and went to the disk: memory ran so low that nothing was left to compress into",
        since(facts)
    );
    let found = FindingEvidence::new(what, "swaptune apply --set vm.watermark_scale_factor=50");
    Some(found.seen(format!("{DEBUGFS}/reject_alloc_fail and reject_kmemcache_fail"), failed.to_string()))
}

fn decompress_fail(facts: &Facts) -> Option<FindingEvidence> {
    let count = counter(facts, "decompress_fail").unwrap_or(0);
    let lines = log(facts, |line| line.contains("Decompression error from zswap"));
    if count == 0 && lines.is_empty() {
        return None;
    }
    let count = count.max(lines.len() as u64);
    let what = format!(
        "{count} pages could not be decompressed: the tasks that needed them were killed, and memory or the compressor is suspect"
    );
    let exhibit = Exhibit { source: format!("{DEBUGFS}/decompress_fail"), text: count.to_string() };
    Some(FindingEvidence::new(what, "swaptune apply --now --set zswap.compressor=lzo").seen_all([exhibit]).seen_all(lines))
}
