//! What the machine can hold before a plan and after it, and why it may be less.
//!
//! After it means: with every live step carried out, also where only the next boot is planned. It is what `status` says then, but
//! that a ratio which was measured before takes the place of an assumed one, on both sides.

use serde::{Deserialize, Serialize};

use super::draft::Draft;
use crate::facts::Facts;
use crate::measurement::Evidence;
use crate::memory_map::{Capacity, MemoryMap};
use crate::profiles::auto;
use crate::units::Bytes;

/// What fits before the plan and after it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct CapacityChange {
    /// As the machine is set up.
    pub before: Capacity,
    /// As the plan sets it up.
    pub after: Capacity,
}

/// What the note is about that says why less fits with a plan.
pub const CAPACITY: &str = "capacity";

/// What the note is about that says that swap has too few slots.
pub const SLOTS: &str = "swap areas";

/// A note where the areas, and not the pool, limit what fits.
pub(super) fn slots(draft: &mut Draft<'_>) {
    let wanted = draft.settings().swap.as_ref().map(|swap| swap.value.clone()).unwrap_or_default();
    if let Some(why) = auto::shortage(draft.facts(), &wanted, zram_before(draft)) {
        draft.note(SLOTS, why, "profiles/auto.toml: slots_percent of RAM; docs/evidence/density.md");
    }
}

/// What zram holds before the areas take a page: that of the plan, or that which its manager keeps. Nothing where there is none.
fn zram_before(draft: &Draft<'_>) -> Bytes {
    let settings = draft.settings();
    let planned: u64 = settings.zram.iter().flat_map(|devices| &devices.value).map(|device| device.size.0).sum();
    let kept = || draft.facts().swaps.iter().filter(|area| area.is_zram()).map(|area| area.size.0).sum();
    Bytes(match planned {
        0 if !settings.wants_zswap() => kept(),
        size => size,
    })
}

/// Both sides, and a note where the plan makes less fit. Nothing where the size of RAM is unknown.
pub(super) fn of(draft: &mut Draft<'_>, planned: &Facts) -> Option<CapacityChange> {
    let (facts, evidence) = (draft.facts(), draft.request.evidence);
    let map = map(planned, evidence);
    let change = CapacityChange { before: *self::map(facts, evidence).capacity.value()?, after: *map.capacity.value()? };
    if change.after.total < change.before.total {
        draft.note(CAPACITY, less(&change, &map), "memory map: RAM − pools + what they hold + the slots left for the disk");
    }
    Some(change)
}

fn map(facts: &Facts, evidence: &Evidence) -> MemoryMap {
    let zpool = facts.zswap.value().and_then(|zswap| zswap.parameter("zpool")).unwrap_or("zsmalloc");
    MemoryMap::from_facts(facts).with_ratios(zpool, |compressor, allocator| evidence.stored_ratio(compressor, allocator))
}

/// Why less fits, what is had for it, and what makes up for it.
fn less(change: &CapacityChange, map: &MemoryMap) -> String {
    let CapacityChange { before, after } = change;
    let mut why = Vec::new();
    if after.pool_ram > before.pool_ram {
        why.push(format!(
            "full pools take {} of RAM instead of {}, and a page in zswap keeps its slot on the disk",
            after.pool_ram, before.pool_ram
        ));
    }
    if after.slots() < before.slots() {
        why.push(format!("swap has {} of slots instead of {}", after.slots(), before.slots()));
    }
    let quick = match after.without_disk > before.without_disk {
        true => format!("; in exchange {} instead of {} fits without reading a disk", after.without_disk, before.without_disk),
        false => String::new(),
    };
    let more = map.swap_that_holds(before.total).map(|more| format!("; {more} more disk swap makes up for it"));
    format!("falls from {} to {}: {}{quick}{}", before.total, after.total, why.join(", "), more.unwrap_or_default())
}
