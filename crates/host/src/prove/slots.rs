//! Page table entries of swapped pages: which slot of which area.
//!
//! `/proc/self/pagemap` (Documentation/admin-guide/mm/pagemap.rst): bit 63 present, bit 62 swapped; for a swapped page
//! bits 0–4 are the number of the area and bits 5–54 the slot, shown as zero without CAP_SYS_ADMIN.

use std::collections::BTreeMap;

use swaptune_core::proof::Snapshot;

/// The page is in RAM and mapped.
pub(super) fn is_present(entry: u64) -> bool {
    entry >> 63 & 1 != 0
}

/// The page is out, in zswap, on a device, or still in the swap cache.
pub(super) fn is_swapped(entry: u64) -> bool {
    entry >> 62 & 1 != 0
}

/// A slot of an area.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct AreaSlot {
    area: u64,
    page: u64,
}

impl AreaSlot {
    /// The slot of a swapped page; `None` when the kernel hides it. Slot 0 holds the swap header and is never used.
    pub(super) fn of(entry: u64) -> Option<Self> {
        let slot = Self { area: entry & 0x1f, page: entry >> 5 & ((1 << 50) - 1) };
        (is_swapped(entry) && slot.page != 0).then_some(slot)
    }
}

/// Pages by the path of their area.
///
/// `/proc/swaps` lists areas in the order of their numbers but not the numbers. They are 0, 1, 2 … unless an area was
/// switched off while a later one stayed on: then a number is larger than its place in the list, and the slots that
/// came into use on each area tell which it is.
pub(super) fn by_area(
    slots: &[AreaSlot],
    before: &Snapshot,
    after: &Snapshot,
    areas: &[String],
    page_size: usize,
) -> BTreeMap<String, u64> {
    let mut pages: BTreeMap<u64, u64> = BTreeMap::new();
    for slot in slots {
        *pages.entry(slot.area).or_default() += 1;
    }
    let came_into_use = |path: &String| after.since(before, &format!("swaps.{path}")).unwrap_or(0).max(0).unsigned_abs();
    let (mut first, mut behind) = (0, pages.len());
    let mut named = BTreeMap::new();
    for (number, count) in pages {
        // No area stands later in the list than its number, and those of larger numbers stand behind it.
        behind -= 1;
        let last = usize::try_from(number).unwrap_or(usize::MAX).min(areas.len().saturating_sub(1 + behind));
        let fits = |place: &usize| came_into_use(&areas[*place]) >= count * page_size as u64 / 2;
        let place = (first..=last).rev().find(|place| *place < areas.len() && fits(place)).unwrap_or(last);
        if let Some(path) = areas.get(place) {
            *named.entry(path.clone()).or_default() += count;
        }
        first = place + 1;
    }
    named
}

#[cfg(test)]
mod tests {
    use super::*;

    const PAGE: usize = 4096;

    fn entry(area: u64, page: u64) -> u64 {
        1 << 62 | page << 5 | area
    }

    fn named(numbers: &[(u64, u64)], areas: &[(&str, u64)]) -> Vec<(String, u64)> {
        let slots: Vec<_> =
            numbers.iter().flat_map(|(area, count)| (1..=*count).filter_map(|page| AreaSlot::of(entry(*area, page)))).collect();
        let used = |grown: bool| {
            let bytes = |pages: u64| 1_000_000 + if grown { pages * PAGE as u64 } else { 0 };
            Snapshot(areas.iter().map(|(path, pages)| (format!("swaps.{path}"), bytes(*pages))).collect())
        };
        let paths: Vec<_> = areas.iter().map(|(path, _)| (*path).to_owned()).collect();
        by_area(&slots, &used(false), &used(true), &paths, PAGE).into_iter().collect()
    }

    #[test]
    fn entries_are_read_as_the_kernel_documents() {
        assert!(is_present(1 << 63) && !is_swapped(1 << 63));
        assert_eq!(AreaSlot::of(entry(3, 77)), Some(AreaSlot { area: 3, page: 77 }));
        assert_eq!(AreaSlot::of(1 << 62), None, "hidden");
        assert_eq!(AreaSlot::of(1 << 63 | 77 << 5), None, "present");
    }

    #[test]
    fn areas_are_found_by_number_and_by_what_came_into_use() {
        let named = |numbers, areas| named(numbers, areas).into_iter().collect::<Vec<_>>();
        let one = |path: &str, count| vec![(path.to_owned(), count)];
        assert_eq!(named(&[(0, 10)], &[("a", 10), ("b", 0)]), one("a", 10));
        assert_eq!(named(&[(1, 10)], &[("a", 0), ("b", 10)]), one("b", 10));
        // Area 0 was switched off: the only one left has number 1.
        assert_eq!(named(&[(1, 10)], &[("b", 10)]), one("b", 10));
        // Areas 1 and 2 are left, and 1 is in use.
        assert_eq!(named(&[(1, 10)], &[("b", 10), ("c", 0)]), one("b", 10));
        assert_eq!(named(&[(1, 10), (2, 5)], &[("b", 10), ("c", 5)]), [("b".to_owned(), 10), ("c".to_owned(), 5)]);
        assert_eq!(named(&[(0, 10)], &[]), []);
    }
}
