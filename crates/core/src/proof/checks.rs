//! Which counters must move for pages in which place, and by how much.
//!
//! One table. A counter that this machine does not show is not checked, so a row needs a condition only where a
//! counter exists but means something else. Versions: vmstat and debugfs tables of mm/zswap.c, mm/page_io.c,
//! drivers/block/zram/zram_drv.c.

use serde::{Deserialize, Serialize};

use super::behaviour::{Destination, SwapBehaviour};
use super::landing::Landing;
use super::observation::{ClassObservation, Snapshot};
use crate::canary::CanaryClass;
use swaptune_kernel::behaviours;

/// When a counter was compared.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Phase {
    /// While pages were pushed out.
    Store,
    /// While pages were read back.
    Load,
}

/// One counter that should have moved.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct CounterCheck {
    /// Pages of this class.
    pub class: CanaryClass,
    /// During this phase.
    pub phase: Phase,
    /// The counter, named by its file; a `*` stands for the sum of several.
    pub counter: String,
    /// What this kernel should do: `at least +512`.
    pub expected: String,
    /// What it did, in the counter's own unit.
    pub moved: i64,
    /// Whether that is what should happen.
    pub holds: bool,
}

/// How a counter should move for `n` pages.
#[derive(Clone, Copy)]
enum CounterMove {
    /// An event counter: up by at least `n`; others may add to it.
    Count,
    /// A gauge of pages: up by about `n`; others may take pages out meanwhile.
    Up,
    /// A gauge of bytes: up by about `n` pages.
    UpBytes,
    /// A gauge of bytes: down by about `n` pages.
    DownBytes,
    /// A gauge of bytes: not down by more than a few pages.
    StayBytes,
}

/// What a row's condition may look at: the kernel, the class, and whether zswap took the text pages.
type Applies = fn(&SwapBehaviour, &ClassObservation, bool) -> bool;

struct CounterRow {
    phase: Phase,
    class: Option<CanaryClass>,
    destination: Destination,
    counter: &'static str,
    how: CounterMove,
    when: Applies,
}

const ALWAYS: Applies = |_, _, _| true;

const fn row(
    phase: Phase,
    class: Option<CanaryClass>,
    destination: Destination,
    counter: &'static str,
    how: CounterMove,
) -> CounterRow {
    CounterRow { phase, class, destination, counter, how, when: ALWAYS }
}

use Destination::{Disk, ZeroMark, Zram, Zswap};
use Phase::{Load, Store};

static ROWS: &[CounterRow] = &[
    row(Store, None, ZeroMark, "vmstat.swpout_zero", CounterMove::Count),
    row(Load, None, ZeroMark, "vmstat.swpin_zero", CounterMove::Count),
    row(Store, None, Zswap, "vmstat.zswpout", CounterMove::Count),
    row(Store, None, Zswap, "meminfo.Zswapped", CounterMove::UpBytes),
    row(Store, None, Zswap, "zswap.stored_pages", CounterMove::Up),
    CounterRow {
        when: |behaviour, _, _| behaviour.zswap_takes_same_filled,
        ..row(Store, Some(CanaryClass::Zero), Zswap, "zswap.same_filled_pages", CounterMove::Up)
    },
    row(Store, Some(CanaryClass::Random), Zswap, "zswap.stored_incompressible_pages", CounterMove::Up),
    row(Load, None, Zswap, "vmstat.zswpin", CounterMove::Count),
    CounterRow {
        // From 6.9 a load takes the entry out. A synchronous device is read past the swap cache, and zswap keeps its
        // entry until the slot is freed (6.9 to 7.0).
        when: |behaviour, class, _| behaviour.zswap_load_frees == Some(true) && !on_zram(behaviour, class),
        ..row(Load, None, Zswap, "meminfo.Zswapped", CounterMove::DownBytes)
    },
    CounterRow {
        // Up to 6.8 the entry stays beside the page, as long as the slot does (swap less than half full).
        when: |behaviour, class, _| {
            behaviour.zswap_load_frees == Some(false) && !on_zram(behaviour, class) && slots_are_kept(class)
        },
        ..row(Load, None, Zswap, "meminfo.Zswapped", CounterMove::StayBytes)
    },
    row(Store, None, Disk, "vmstat.pswpout", CounterMove::Count),
    row(Load, None, Disk, "vmstat.pswpin", CounterMove::Count),
    CounterRow {
        // Before 6.7 a compressor's failure is counted nowhere; a zswap that refuses everything does not even try.
        when: |behaviour, _, zswap_takes_text| {
            let counted = behaviour.version.is_some_and(|version| behaviours::COUNTS_COMPRESS_FAIL.is_in(version));
            zswap_takes_text && !behaviour.zswap_stores_raw && counted
        },
        ..row(Store, Some(CanaryClass::Random), Disk, "zswap.reject_*", CounterMove::Count)
    },
    row(Store, None, Zram, "vmstat.pswpout", CounterMove::Count),
    row(Load, None, Zram, "vmstat.pswpin", CounterMove::Count),
    row(Store, None, Zram, "zram.*.orig_data_size", CounterMove::UpBytes),
    row(Store, Some(CanaryClass::Zero), Zram, "zram.*.same_pages", CounterMove::Up),
    row(Store, Some(CanaryClass::Random), Zram, "zram.*.huge_pages", CounterMove::Up),
];

fn on_zram(behaviour: &SwapBehaviour, class: &ClassObservation) -> bool {
    let known = class.areas.keys().any(|path| behaviour.kind_of(path) == Some(Zram));
    known || behaviour.first_areas().iter().any(|area| area.zram)
}

fn slots_are_kept(class: &ClassObservation) -> bool {
    let (free, total) = (class.loaded.get("meminfo.SwapFree"), class.loaded.get("meminfo.SwapTotal"));
    free.zip(total).is_some_and(|(free, total)| free > total / 2)
}

/// Checks every row that applies to where these pages landed.
pub(super) fn check(
    behaviour: &SwapBehaviour,
    class: &ClassObservation,
    landings: &[Landing],
    zswap_takes_text: bool,
) -> Vec<CounterCheck> {
    let mut checks = Vec::new();
    for landing in landings {
        let rows = ROWS.iter().filter(|row| row.destination == landing.destination);
        let rows = rows.filter(|row| row.class.is_none_or(|wanted| wanted == class.class));
        for row in rows.filter(|row| (row.when)(behaviour, class, zswap_takes_text)) {
            checks.extend(check_row(behaviour, class, landing, row));
        }
    }
    checks
}

fn check_row(behaviour: &SwapBehaviour, class: &ClassObservation, landing: &Landing, row: &CounterRow) -> Option<CounterCheck> {
    let (earlier, later) = match row.phase {
        Store => (&class.before, &class.stored),
        Load => (&class.stored, &class.loaded),
    };
    let moved = moved(later, earlier, row.counter)?;
    // Pages with a copy in RAM come back from there; pages that zswap wrote back meanwhile come from the area.
    let written_back = class.loaded.since(&class.before, "vmstat.zswpwb").unwrap_or(0).max(0).unsigned_abs();
    let elsewhere = match (row.phase, landing.destination) {
        (Load, Zswap) => class.cached + written_back,
        (Load, _) => class.cached,
        (Store, Zswap) if !matches!(row.how, CounterMove::Count) => written_back,
        (Store, _) => 0,
    };
    let pages = i64::try_from(landing.pages.saturating_sub(elsewhere)).ok()?;
    let page = i64::try_from(behaviour.page_size.0).ok()?;
    let about = pages - pages / 20;
    let (least, most) = match row.how {
        CounterMove::Count => (Some(pages), None),
        CounterMove::Up => (Some(about), None),
        CounterMove::UpBytes => (Some(about * page), None),
        CounterMove::DownBytes => (None, Some(-about * page)),
        CounterMove::StayBytes => (Some(-(pages / 20) * page), None),
    };
    let holds = least.is_none_or(|least| moved >= least) && most.is_none_or(|most| moved <= most);
    let expected = match (least, most) {
        (Some(least), _) => format!("at least {least:+}"),
        (None, most) => format!("at most {:+}", most.unwrap_or(0)),
    };
    Some(CounterCheck { class: class.class, phase: row.phase, counter: row.counter.into(), expected, moved, holds })
}

/// Movement of a counter, or the sum of those that a `*` stands for; `None` when there is none.
pub(super) fn moved(later: &Snapshot, earlier: &Snapshot, counter: &str) -> Option<i64> {
    let Some((head, tail)) = counter.split_once('*') else { return later.since(earlier, counter) };
    let matching = later.0.keys().filter(|name| name.starts_with(head) && name[head.len()..].ends_with(tail));
    let moves: Vec<i64> = matching.filter_map(|name| later.since(earlier, name)).collect();
    (!moves.is_empty()).then(|| moves.iter().sum())
}
