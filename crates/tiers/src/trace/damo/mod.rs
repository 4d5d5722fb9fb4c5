//! What DAMON saw of regions of memory, as damo stores and prints it, made into accesses to pages.
//!
//! | form | made by | read in |
//! |---|---|---|
//! | JSON, zlib-packed or not | `damo record` (`--output_type json_compressed`, `json`), `damo report access --json` | [`json`] |
//! | trace lines of `damon:damon_aggregated` | `damo record --output_type perf_script`, `perf script`, `trace-cmd report` | [`text`] |
//! | raw form | `damo report access --raw_form`, in older versions `damo report raw` | [`text`] |
//!
//! **The rule.** DAMON looks at one page of each region once a sampling interval, and says at the end of an aggregation interval in how
//! many of them that page was accessed. All pages of a region are taken to be like the one that was looked at: a region with n accesses
//! becomes n reads of each of its pages. They are spread over the interval in as many steps as the region with most accesses of this
//! snapshot has: the region with n of N accesses is read, from its first page to its last, in n of the N steps, at equal distances.
//! So what is accessed often is accessed again before what is accessed seldom. A region without accesses is no event: DAMON does not say
//! whether there is memory in it. Each target is a cgroup, and its pages are its own.
//!
//! Sources: Documentation/mm/damon/design.rst of Linux 6.18, "Region Based Sampling"; the forms are those that damo 3.4.3 writes.

mod amounts;
mod json;
pub(super) mod text;

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use super::columns::{KeptColumns, Trace};
use super::error::{TraceError, TracePlace, too_long};
use super::event::{Event, Op};
use super::numbered::Numbered;
use super::source::{TraceSource, is_json};

/// Most accesses that a record may become, or a file of a few lines would ask for all memory. Fewer in tests and when fuzzed, which would
/// spend their time on nothing else.
const ACCESSES_MAX: u64 = if cfg!(any(test, fuzzing)) { 1 << 16 } else { 1 << 28 };
/// Most snapshots: five days of the usual ten a second, in some 300 MB. Those without accesses become no events, and count only here.
const SNAPSHOTS_MAX: usize = if cfg!(any(test, fuzzing)) { 1 << 10 } else { 1 << 22 };
/// Bytes of a page.
const PAGE_SIZE: u64 = crate::alloc::PAGE_SIZE as u64;
/// Bits of an id for the page; targets have those above.
const PAGE_BITS: u32 = 52;
/// Most targets, as many as fit above a page.
const TARGETS_MAX: usize = 1 << (64 - PAGE_BITS);

/// Refuses more snapshots than there may be.
fn few_enough(snapshots: usize) -> Result<(), TraceError> {
    if snapshots <= SNAPSHOTS_MAX {
        return Ok(());
    }
    Err(TraceError::malformed(TracePlace::Whole, "more snapshots", format!("at most {SNAPSHOTS_MAX}: a shorter record")))
}

/// What DAMON saw of one target in one aggregation interval.
#[derive(Debug, Default, PartialEq, Eq)]
struct DamonSnapshot {
    target: u16,
    /// Nanoseconds; `None` when the form does not say.
    start: Option<u64>,
    end: u64,
    /// Those with accesses.
    regions: Vec<DamonRegion>,
}

/// Pages that are taken to be alike.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct DamonRegion {
    first: u64,
    pages: u64,
    /// Sampling intervals with an access.
    accesses: u16,
}

impl DamonRegion {
    /// The pages from address `start` to before `end`; `None` when there are none, or they were never accessed.
    fn new(start: u64, end: u64, accesses: u16) -> Option<Self> {
        let (first, after) = (start / PAGE_SIZE, end.div_ceil(PAGE_SIZE));
        (after > first && accesses > 0).then(|| Self { first, pages: after - first, accesses })
    }

    /// Whether it is accessed in this step of all steps.
    fn in_step(&self, step: u64, steps: u64) -> bool {
        let until = |step: u64| (2 * step * u64::from(self.accesses) + steps) / (2 * steps);
        until(step + 1) > until(step)
    }
}

/// Numbers of targets, in the order in which they appear.
#[derive(Default)]
struct Targets(Vec<Vec<u8>>);

impl Targets {
    /// `None` when there are too many.
    fn number(&mut self, name: &[u8]) -> Option<u16> {
        if let Some(number) = self.0.iter().position(|known| known == name) {
            return Some(number as u16);
        }
        if self.0.len() == TARGETS_MAX {
            return None;
        }
        self.0.push(name.to_vec());
        Some(self.0.len() as u16 - 1)
    }
}

/// Reads a record in any of its forms.
///
/// # Errors
/// When the source fails, is not a record, or has more accesses than a trace may be long.
pub fn read(mut source: TraceSource<'_>, keep: KeptColumns) -> Result<Trace, TraceError> {
    let fail = |source| TraceError::Read { place: TracePlace::Header, source };
    let room = source.most();
    let json = is_json(source.peek().map_err(fail)?);
    let mut snapshots = if json { json::snapshots(source)? } else { text::snapshots(source)? };
    fill_starts(&mut snapshots);
    accesses(&snapshots, keep, room)
}

/// A snapshot without a start began when the one before of its target ended; the first lasted as long as the others in the mean.
fn fill_starts(snapshots: &mut [DamonSnapshot]) {
    let targets = snapshots.iter().map(|snapshot| snapshot.target + 1).max().unwrap_or(0);
    for target in 0..targets {
        let mut of_target: Vec<&mut DamonSnapshot> = snapshots.iter_mut().filter(|snapshot| snapshot.target == target).collect();
        let ends: Vec<u64> = of_target.iter().map(|snapshot| snapshot.end).collect();
        // A target that is named and has no snapshot.
        let (Some(&first), Some(&last)) = (ends.first(), ends.last()) else { continue };
        let mean = last.saturating_sub(first) / (ends.len() as u64 - 1).max(1);
        of_target[0].start.get_or_insert(first.saturating_sub(mean));
        for (snapshot, &before) in of_target[1..].iter_mut().zip(&ends) {
            snapshot.start.get_or_insert(before.min(snapshot.end));
        }
    }
}

/// A step of a snapshot: when it is, which one.
type DamonStep = (u64, usize, u64);

fn accesses(snapshots: &[DamonSnapshot], keep: KeptColumns, room: u64) -> Result<Trace, TraceError> {
    let each = |region: &DamonRegion| region.pages.saturating_mul(u64::from(region.accesses));
    let count = snapshots.iter().flat_map(|snapshot| &snapshot.regions).map(each).fold(0, u64::saturating_add);
    if count > ACCESSES_MAX {
        let expected = format!("at most {ACCESSES_MAX}: a shorter record, or fewer samples in an aggregation interval");
        return Err(TraceError::malformed(TracePlace::Whole, format!("regions with {count} accesses to pages"), expected));
    }
    if count > room {
        return Err(too_long(room));
    }
    let mut trace = Numbered::new(keep, room);
    let mut coming: BinaryHeap<Reverse<DamonStep>> =
        (0..snapshots.len()).filter_map(|index| step(snapshots, index, 0)).map(Reverse).collect();
    while let Some(Reverse((time, index, number))) = coming.pop() {
        coming.extend(step(snapshots, index, number + 1).map(Reverse));
        let snapshot = &snapshots[index];
        let steps = most(snapshot);
        for region in snapshot.regions.iter().filter(|region| region.in_step(number, steps)) {
            let first = u64::from(snapshot.target) << PAGE_BITS | region.first;
            trace.push_run(first, region.pages, Event { time, page: 0, cgroup: snapshot.target, op: Op::Read })?;
        }
    }
    trace.finish()
}

/// The most accesses of a region.
fn most(snapshot: &DamonSnapshot) -> u64 {
    snapshot.regions.iter().map(|region| u64::from(region.accesses)).max().unwrap_or(0)
}

/// One step of a snapshot, `None` after its last. Targets are looked at side by side, so that steps of several snapshots are taken in turn:
/// the next of each is all that is kept, or a file of a few lines would take gigabytes.
fn step(snapshots: &[DamonSnapshot], index: usize, step: u64) -> Option<DamonStep> {
    let snapshot = &snapshots[index];
    let (count, start) = (most(snapshot), snapshot.start.unwrap_or(snapshot.end));
    let length = u128::from(snapshot.end.saturating_sub(start));
    let middle = (length * u128::from(2 * step + 1)).checked_div(u128::from(2 * count))? as u64;
    (step < count).then(|| (start.saturating_add(middle), index, step))
}

#[cfg(test)]
mod tests;
