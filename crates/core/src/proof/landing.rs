//! Where the pages of one class landed, from bounds.
//!
//! Of our `n` swapped pages at most Δ`zswpout` entered zswap, at most Δ`pswpout` − Δ`zswpwb` were written to an area,
//! at most Δ`swpout_zero` got a zero mark, and at most those still in the swap cache stayed in RAM. What one place
//! holds at least is what the upper bounds of all others leave over. When no other process swaps, both bounds meet.

use serde::{Deserialize, Serialize};

use super::behaviour::{Destination, SwapBehaviour};
use super::observation::ClassObservation;
use crate::canary::CanaryClass;

/// Pages in one place.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Landing {
    /// The place.
    pub destination: Destination,
    /// The most likely number of pages.
    pub pages: u64,
    /// The number that is certain, whatever other processes did meanwhile.
    pub at_least: u64,
}

/// Movements of the counters that decide, never negative.
struct CounterMoves {
    zero: u64,
    zswap: Option<u64>,
    stored: Option<u64>,
    direct: u64,
}

impl CounterMoves {
    fn of(class: &ClassObservation) -> Self {
        let moved = |name: &str| class.stored.since(&class.before, name).map(|delta| delta.max(0).unsigned_abs());
        let written_back = moved("vmstat.zswpwb").unwrap_or(0);
        Self {
            zero: moved("vmstat.swpout_zero").unwrap_or(0),
            zswap: moved("vmstat.zswpout"),
            stored: moved("zswap.stored_pages"),
            direct: moved("vmstat.pswpout").unwrap_or(0).saturating_sub(written_back),
        }
    }
}

/// How much further the deciding counters moved than our pages explain: swapping by others.
pub(super) fn surplus(class: &ClassObservation) -> u64 {
    let moved = CounterMoves::of(class);
    (moved.zero + moved.zswap.unwrap_or(0) + moved.direct).saturating_sub(class.swapped)
}

/// All places that hold pages of this class, fullest first.
pub(super) fn landings(behaviour: &SwapBehaviour, class: &ClassObservation) -> Vec<Landing> {
    let moved = CounterMoves::of(class);
    let n = class.swapped;
    let most = Most {
        zero: if class.class == CanaryClass::Zero { moved.zero.min(n) } else { 0 },
        // Before 5.19 no event is counted; root has the gauge, and without it only the pages themselves are a bound.
        zswap: moved.zswap.or(moved.stored).unwrap_or(if behaviour.zswap { n } else { 0 }).min(n),
        direct: moved.direct.min(n),
        cached: class.cached.min(n),
    };
    let likely = most.likely(n, moved.zswap.is_some());
    let sum = most.zero + most.zswap + most.direct + most.cached;
    let at_least = |own: u64| n.saturating_sub(sum - own);
    let stayed = class.pages.saturating_sub(n);
    let mut landings = vec![
        Landing { destination: Destination::ZeroMark, pages: likely.zero, at_least: at_least(most.zero) },
        Landing { destination: Destination::Zswap, pages: likely.zswap, at_least: at_least(most.zswap) },
        Landing { destination: written_to(behaviour, class), pages: likely.direct, at_least: at_least(most.direct) },
        Landing { destination: Destination::Ram, pages: likely.cached + stayed, at_least: at_least(most.cached) + stayed },
    ];
    landings.retain(|landing| landing.pages > 0);
    landings.sort_by_key(|landing| std::cmp::Reverse(landing.pages));
    landings
}

/// Upper bounds, and later the likely numbers.
struct Most {
    zero: u64,
    zswap: u64,
    direct: u64,
    cached: u64,
}

impl Most {
    /// Fills the places in the order of how directly their counter speaks.
    fn likely(&self, n: u64, zswap_is_counted: bool) -> Self {
        let mut left = n;
        let mut take = |most: u64| {
            let taken = most.min(left);
            left -= taken;
            taken
        };
        let zero = take(self.zero);
        if zswap_is_counted {
            let (zswap, direct) = (take(self.zswap), take(self.direct));
            return Self { zero, zswap, direct, cached: take(u64::MAX) };
        }
        // zswap gets what was neither written nor is still here. A page in the swap cache was written before others.
        let direct = take(self.direct);
        let cached = take(self.cached.saturating_sub(direct));
        let zswap = take(self.zswap);
        Self { zero, zswap, direct, cached: cached + take(u64::MAX) }
    }
}

/// What kind of area the pages that were written are on: by page table entries if they tell (`pagemap` shows slots to
/// `CAP_SYS_ADMIN` only), else by the area of which `/proc/swaps` counts the most new slots, else the expected one.
fn written_to(behaviour: &SwapBehaviour, class: &ClassObservation) -> Destination {
    let by_entries = class.areas.iter().max_by_key(|(_, pages)| **pages).map(|(path, _)| path.as_str());
    let expected = behaviour.first_areas().first().map(|area| area.path.as_str());
    let path = by_entries.or_else(|| fullest_by_slots(behaviour, class)).or(expected);
    path.and_then(|path| behaviour.kind_of(path)).unwrap_or(Destination::Disk)
}

/// The area that took the most slots meanwhile, ours and those of others; `None` when no area took any.
fn fullest_by_slots<'a>(behaviour: &'a SwapBehaviour, class: &ClassObservation) -> Option<&'a str> {
    let taken = |path: &str| class.stored.since(&class.before, &format!("swaps.{path}")).filter(|bytes| *bytes > 0);
    let grown = behaviour.areas.iter().filter_map(|area| Some((taken(&area.path)?, area.path.as_str())));
    grown.max_by_key(|(bytes, _)| *bytes).map(|(_, path)| path)
}
