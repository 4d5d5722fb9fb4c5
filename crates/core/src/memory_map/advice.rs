//! One line of advice: the first thing that is wrong with this machine's swap, worst first.
//!
//! `status` shows one line, not a report; `verify` has the full table of findings. To add a check is to add a
//! function to [`CHECKS`] at the place of its weight.

use serde::{Deserialize, Serialize};

use super::MemoryMap;
use crate::facts::{Facts, SwapArea, Transport};
use crate::units::Bytes;

/// What is wrong and what to do.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Advice {
    /// Stable name for scripts: `swap-full`.
    pub code: String,
    /// One sentence with the figures that show it, one with the remedy.
    pub text: String,
}

type Check = fn(&Facts, &MemoryMap) -> Option<String>;

/// Worst first.
const CHECKS: &[(&str, Check)] = &[
    ("swap-full", swap_full),
    ("zswap-without-swap", zswap_without_swap),
    ("zswap-at-limit", zswap_at_limit),
    ("zswap-over-zram", zswap_over_zram),
    ("priority-inverted", priority_inverted),
    ("no-swap", no_swap),
    ("uncompressed-swap", uncompressed_swap),
];

pub(super) fn first(facts: &Facts, map: &MemoryMap) -> Option<Advice> {
    CHECKS.iter().find_map(|(code, check)| check(facts, map).map(|text| Advice { code: (*code).into(), text }))
}

/// Swap counts as full from this share of its slots.
const FULL_PERCENT: u64 = 95;

fn swap_full(_: &Facts, map: &MemoryMap) -> Option<String> {
    let percent = map.swap.used.percent_of(map.swap.total)?;
    (percent >= FULL_PERCENT).then(|| {
        format!(
            "swap is full: {} of {} used; what does not fit next is killed. Add swap: `swaptune plan`",
            map.swap.used, map.swap.total
        )
    })
}

fn zswap_without_swap(facts: &Facts, _: &MemoryMap) -> Option<String> {
    (facts.zswap_is_on() && facts.swaps.is_empty() && swap_may_be_planned(facts)).then(|| {
        "zswap is on but no swap area is: it stores nothing, for each page needs a slot. `swaptune plan` adds one".into()
    })
}

/// A pool that was full rejects stores down to the acceptance threshold, and counts none of them; one that never was
/// takes pages up to its limit.
fn zswap_at_limit(facts: &Facts, map: &MemoryMap) -> Option<String> {
    let pool = map.zswap.value().filter(|pool| pool.enabled)?;
    let (ram, limit) = (*pool.ram.value()?, *pool.limit.value()?);
    let counters = facts.zswap.value()?.counters.value();
    let was_full = counters.and_then(|counters| counters.get("pool_limit_hit")).is_some_and(|hits| *hits > 0);
    let full = pool.accept_below.value().copied().filter(|_| was_full).unwrap_or(limit);
    let past = map.swap.past_zswap.value().copied().unwrap_or_default();
    (limit.0 > 0 && ram >= full && past.0 > 0).then(|| {
        format!(
            "zswap's pool is at its limit ({ram} of {limit}) and up to {past} went past it to the disk since boot. \
             `swaptune plan` says how far zswap.max_pool_percent may go"
        )
    })
}

fn zswap_over_zram(facts: &Facts, _: &MemoryMap) -> Option<String> {
    let area = facts.swaps.iter().find(|area| area.is_zram()).filter(|_| facts.zswap_is_on())?;
    Some(format!(
        "zswap is on in front of {}: pages are compressed twice and only move from pool to pool. `swaptune plan` keeps one",
        area.path
    ))
}

/// What decides how fast an area answers, best first; `None` when nothing is known for sure.
fn speed_class(facts: &Facts, area: &SwapArea) -> Option<u8> {
    if area.is_zram() {
        return Some(0);
    }
    let disk = facts.disk_of(area.device.value()?)?;
    match (disk.transport, disk.rotational.value()) {
        // Disks of a hypervisor say that they spin whether they do or not.
        (Transport::Virtual, _) => None,
        (Transport::Mmc | Transport::Usb, _) => Some(2),
        (_, Some(false)) => Some(1),
        (_, Some(true)) => Some(2),
        _ => None,
    }
}

fn priority_inverted(facts: &Facts, _: &MemoryMap) -> Option<String> {
    for slow in &facts.swaps {
        for fast in &facts.swaps {
            // Any disk is slower than zram, even one whose speed is unknown.
            let slower = match (speed_class(facts, slow), speed_class(facts, fast)) {
                (None, Some(0)) => true,
                (Some(slow), Some(fast)) => slow > fast,
                _ => false,
            };
            if slower && slow.priority >= fast.priority {
                return Some(format!(
                    "{} (priority {}) is filled no later than the faster {} (priority {}). `swaptune plan` puts the fast one first",
                    slow.path, slow.priority, fast.path, fast.priority
                ));
            }
        }
    }
    None
}

/// Where `plan` refuses what brings swap, no line sends anybody there.
fn swap_may_be_planned(facts: &Facts) -> bool {
    !facts.system.container.is_known() && facts.system.kubelets.iter().all(|kubelet| kubelet.objection().is_none())
}

fn no_swap(facts: &Facts, _: &MemoryMap) -> Option<String> {
    (facts.swaps.is_empty() && swap_may_be_planned(facts))
        .then(|| "no swap area is on: idle memory of applications stays in RAM uncompressed. `swaptune plan` proposes one".into())
}

fn uncompressed_swap(facts: &Facts, map: &MemoryMap) -> Option<String> {
    let compressed = facts.zswap_is_on() || facts.swaps.iter().any(SwapArea::is_zram);
    let used = map.swap.used;
    (!compressed && used > Bytes(0) && swap_may_be_planned(facts))
        .then(|| format!("{used} lie on disk uncompressed: no zswap, no zram. `swaptune plan` proposes compressed swap"))
}
