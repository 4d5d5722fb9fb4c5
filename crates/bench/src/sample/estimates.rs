//! What a sample says: shares, ratios, what a pool would hold, each with its interval.

use std::collections::BTreeMap;

use swaptune_core::estimate::{ratio, share};
use swaptune_core::facts::KernelFacts;
use swaptune_core::measurement::{ColdPages, Estimate, SampleFigures, SampledCodec};
use swaptune_kernel::behaviours;
use swaptune_tiers::alloc::{Allocator, Footprint, Incompressible, Zsmalloc};
use swaptune_tiers::page_set::{PageClass, PageSet, Touch};

use super::MemorySample;
use crate::pools;

/// First kernel whose zswap compresses same-filled pages that are not zero.
/// Parts of a sample that are filled into pools of their own, to see how much pools differ.
const PARTS: usize = 32;

/// What a pool of this kernel does with compressed pages.
#[derive(Clone, Debug)]
pub struct EstimatedPools {
    allocators: Vec<Allocator>,
    incompressible: Incompressible,
    same_filled_free: bool,
    whole_page_from: u16,
}

impl EstimatedPools {
    /// zswap of a kernel.
    #[must_use]
    pub fn of(kernel: &KernelFacts) -> Self {
        let allocators = pools::allocators(kernel);
        let zsmalloc = allocators.iter().find_map(|allocator| match allocator {
            Allocator::Zsmalloc(zsmalloc) => Some(zsmalloc.huge_size()),
            _ => None,
        });
        Self {
            whole_page_from: zsmalloc.unwrap_or(super::PAGE_SIZE),
            allocators,
            incompressible: pools::incompressible(kernel),
            same_filled_free: kernel.does(&behaviours::SAME_FILLED_IN_ZSWAP) == Some(true),
        }
    }

    /// Compressed size from which a page takes a whole page of zsmalloc, so that nothing is saved.
    #[must_use]
    pub fn whole_page_from(&self) -> u16 {
        self.whole_page_from
    }

    /// Original size by RAM taken, for each allocator.
    fn stored(&self, sizes: &[u16], population: u64) -> BTreeMap<String, Estimate> {
        let estimate = |allocator: &Allocator| {
            let estimate = match allocator {
                Allocator::Zsmalloc(zsmalloc) => self.in_zsmalloc(zsmalloc, sizes, population),
                other => self.in_parts(other, sizes, population),
            };
            Some((allocator.name().to_owned(), estimate?))
        };
        self.allocators.iter().filter_map(estimate).collect()
    }

    /// An object takes its share of a zspage of its class, whatever else is in the pool.
    fn in_zsmalloc(&self, zsmalloc: &Zsmalloc, sizes: &[u16], population: u64) -> Option<Estimate> {
        let page = f64::from(super::PAGE_SIZE);
        let taken = |size: &u16| {
            let class = zsmalloc.class_of(*size);
            if *size == 0 { 0.0 } else { page * f64::from(class.pages) / f64::from(class.objects) }
        };
        let rejects = self.incompressible == Incompressible::Rejected;
        let kept = sizes.iter().filter(|size| !(rejects && **size >= super::PAGE_SIZE));
        ratio(kept.map(|size| (page, taken(size))), population)
    }

    /// What an object takes depends on its neighbours: parts of the sample fill pools of their own, and these are the sample.
    fn in_parts(&self, allocator: &Allocator, sizes: &[u16], population: u64) -> Option<Estimate> {
        // Neighbours in the sample are neighbours in memory; a part takes pages from everywhere, in an order of chance.
        let mut parts = vec![Vec::new(); PARTS.min(sizes.len() / 8)];
        let count = parts.len().max(1);
        for (index, size) in sizes.iter().enumerate() {
            let scattered = (index as u64).wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 32;
            if let Some(part) = parts.get_mut(scattered as usize % count) {
                part.push(*size);
            }
        }
        let filled: Vec<(f64, f64)> = parts
            .into_iter()
            .map(|part| Footprint::of(allocator, self.incompressible, part))
            .map(|footprint| (footprint.original as f64, footprint.pages as f64))
            .collect();
        ratio(filled.iter().copied(), population / (sizes.len() / count).max(1) as u64)
    }
}

/// Numbers about a sample or about the pages of one group in it.
#[derive(Clone, Debug, PartialEq)]
pub struct Numbers {
    /// Pages of the sample.
    pub sampled: u64,
    /// Pages that they stand for.
    pub present: u64,
    /// Pages of the same processes in swap.
    pub swapped: u64,
    /// Share of pages of zeros.
    pub zero: Estimate,
    /// Share of pages that repeat one word, those of zeros included.
    pub same_filled: Estimate,
    /// What each codec makes of them; one that has too few pages for an interval is left out.
    pub codecs: Vec<SampledCodec>,
    /// Share of pages that were not touched, where it was watched.
    pub cold: Option<Estimate>,
}

impl Numbers {
    /// Of the whole sample.
    #[must_use]
    pub fn whole(set: &PageSet, pools: &EstimatedPools) -> Option<Self> {
        let rows: Vec<usize> = (0..set.len()).collect();
        let groups: Vec<usize> = (0..set.groups.len()).collect();
        Self::of(set, pools, &rows, &groups)
    }

    /// Of one group each; `None` for a group that has too few pages in the sample.
    #[must_use]
    pub fn each(set: &PageSet, pools: &EstimatedPools) -> Vec<Option<Self>> {
        let mut rows = vec![Vec::new(); set.groups.len()];
        for (row, group) in set.group.iter().enumerate() {
            if let Some(rows) = rows.get_mut(*group as usize) {
                rows.push(row);
            }
        }
        rows.iter().enumerate().map(|(group, rows)| Self::of(set, pools, rows, &[group])).collect()
    }

    /// Of several groups together.
    #[must_use]
    pub fn of_groups(set: &PageSet, pools: &EstimatedPools, groups: &[usize]) -> Option<Self> {
        let is_of = |row: &usize| set.group.get(*row).is_some_and(|group| groups.contains(&(*group as usize)));
        let rows: Vec<usize> = (0..set.len()).filter(is_of).collect();
        Self::of(set, pools, &rows, groups)
    }

    fn of(set: &PageSet, pools: &EstimatedPools, rows: &[usize], groups: &[usize]) -> Option<Self> {
        let (sampled, class) = (rows.len() as u64, |row: &usize| set.class.get(*row));
        let mine = || groups.iter().filter_map(|group| set.groups.get(*group));
        let present = mine().map(|group| group.present).sum();
        let count = |wanted: fn(&PageClass) -> bool| rows.iter().filter_map(class).filter(|class| wanted(class)).count() as u64;
        Some(Self {
            sampled,
            present,
            swapped: mine().map(|group| group.swapped).sum(),
            zero: share(count(|class| *class == PageClass::Zero), sampled, present)?,
            same_filled: share(count(|class| *class != PageClass::Data), sampled, present)?,
            codecs: set.sizes.keys().filter_map(|codec| sampled_codec(set, pools, codec, rows, present)).collect(),
            cold: cold(set, rows, groups, present),
        })
    }
}

fn sampled_codec(set: &PageSet, pools: &EstimatedPools, codec: &str, rows: &[usize], present: u64) -> Option<SampledCodec> {
    let column = set.sizes.get(codec)?;
    let page = f64::from(set.page_size);
    let data = rows.iter().filter(|row| set.class.get(**row) == Some(&PageClass::Data));
    let sizes = data.filter_map(|row| column.get(*row));
    let count = sizes.clone().count() as u64;
    let whole = sizes.clone().filter(|size| **size >= pools.whole_page_from).count() as u64;
    // Of the population there are as many data pages as the sample says, as far as anybody knows.
    let data_pages = (present as u128 * u128::from(count) / rows.len().max(1) as u128) as u64;
    let stored: Vec<u16> = rows.iter().filter_map(|row| set.stored(codec, *row, pools.same_filled_free)).collect();
    Some(SampledCodec {
        codec: codec.to_owned(),
        ratio: ratio(sizes.map(|size| (page, f64::from(*size))), data_pages.max(count))?,
        incompressible: share(whole, rows.len() as u64, present)?,
        stored: pools.stored(&stored, present),
    })
}

/// Of single pages a share of those whose fate is known; of whole groups what was counted.
fn cold(set: &PageSet, rows: &[usize], groups: &[usize], present: u64) -> Option<Estimate> {
    if let Some(touch) = &set.touch {
        let known = rows.iter().filter_map(|row| touch.get(*row)).filter(|touch| **touch != Touch::Unknown);
        let cold = known.clone().filter(|touch| **touch == Touch::Cold).count() as u64;
        return share(cold, known.count() as u64, present);
    }
    let watched = groups.iter().filter_map(|group| set.groups.get(*group)?.watched);
    let (pages, cold) = watched.fold((0, 0), |(pages, cold), watched| (pages + watched.pages, cold + watched.cold));
    share(cold, pages, pages)
}

impl MemorySample {
    /// What is kept as a result; `None` for a sample of fewer than two pages.
    #[must_use]
    pub fn figures(&self, pools: &EstimatedPools) -> Option<SampleFigures> {
        let whole = Numbers::whole(&self.set, pools)?;
        let cold = self.cold.as_ref().zip(whole.cold);
        Some(SampleFigures {
            of: self.set.origin.of.clone(),
            present: whole.present,
            sampled: whole.sampled,
            processes: self.tally.processes,
            unread: self.tally.unread(),
            zero: whole.zero,
            same_filled: whole.same_filled,
            codecs: whole.codecs,
            cold: cold.map(|(how, share)| ColdPages { seconds: how.seconds, share, method: how.method.to_owned() }),
        })
    }
}

#[cfg(test)]
mod tests {
    use swaptune_core::Fact;
    use swaptune_kernel::v;
    use swaptune_tiers::page_set::{GroupKind, PageGroup, SCHEMA, WatchedPages};

    use super::*;

    fn pools(major: u16, minor: u16) -> EstimatedPools {
        EstimatedPools::of(&KernelFacts { version: Fact::known(v(major, minor), "test"), ..KernelFacts::default() })
    }

    /// Two groups: one of zeros and pages that compress to a quarter, one of pages that do not compress.
    fn set() -> PageSet {
        let group = |name: &str, present, watched| PageGroup {
            name: name.into(),
            kind: GroupKind::Process,
            processes: 1,
            present,
            swapped: 7,
            watched: Some(WatchedPages { pages: present, cold: watched }),
        };
        let sizes: Vec<u16> = [vec![0; 100], vec![1000; 100], vec![1048; 100], vec![4096; 100]].concat();
        let class = sizes.iter().map(|size| if *size == 0 { PageClass::Zero } else { PageClass::Data }).collect();
        PageSet {
            schema: SCHEMA,
            page_size: 4096,
            groups: vec![group("a", 30_000, 10_000), group("b", 10_000, 10_000)],
            group: [vec![0; 300], vec![1; 100]].concat(),
            class,
            sizes: [("lz4".into(), sizes)].into(),
            ..PageSet::default()
        }
    }

    #[test]
    fn numbers_of_a_known_set() {
        let (set, pools) = (set(), pools(6, 18));
        let whole = Numbers::whole(&set, &pools).unwrap();
        assert_eq!((whole.sampled, whole.present, whole.swapped), (400, 40_000, 14));
        assert_eq!((whole.zero.value, whole.same_filled.value), (0.25, 0.25));
        assert!(whole.zero.low < 0.22 && whole.zero.high > 0.28, "{:?}", whole.zero);
        let lz4 = &whole.codecs[0];
        assert!((lz4.ratio.value - 2.0).abs() < 0.001, "300 pages in 614 400 bytes: {:?}", lz4.ratio);
        assert_eq!(lz4.incompressible.value, 0.25);
        let stored = lz4.stored["zsmalloc"];
        assert!((2.5..2.7).contains(&stored.value) && stored.low < stored.value && stored.value < stored.high, "{stored:?}");
        assert_eq!(whole.cold.unwrap().value, 0.5);
        let each = Numbers::each(&set, &pools);
        assert_eq!(each[1].as_ref().unwrap().codecs[0].ratio.value, 1.0);
        assert_eq!(Numbers::of_groups(&set, &pools, &[0, 1]), Some(whole));
        assert_eq!(each[0].as_ref().unwrap().zero.value, 1.0 / 3.0);
    }

    #[test]
    fn what_is_stored_is_what_the_kernel_would_store() {
        let set = set();
        // zswap up to 6.17 refuses the pages that do not compress: 300 pages remain, 200 of them objects.
        let old = &Numbers::whole(&set, &pools(6, 12)).unwrap().codecs[0].stored;
        assert!((5.5..6.0).contains(&old["zsmalloc"].value), "{old:?}");
        assert!((2.8..3.0).contains(&old["zbud"].value) && (3.9..4.6).contains(&old["z3fold"].value), "{old:?}");
        assert!(old["zbud"].low <= old["zbud"].value && old["zbud"].value <= old["zbud"].high);
        // In a large pool the zspages that are not full do not matter.
        let many = set.sizes["lz4"].iter().copied().cycle().take(400_000);
        let expected = Footprint::of(&pools(6, 12).allocators[0], Incompressible::Rejected, many);
        let ratio = expected.original as f64 / expected.pages as f64;
        assert!((old["zsmalloc"].value - ratio).abs() < 0.01, "{expected:?}");
    }

    #[test]
    fn same_filled_pages_cost_what_they_cost_in_that_kernel() {
        let mut set = set();
        set.class[100..200].fill(PageClass::SameFilled);
        let stored = |pools| Numbers::whole(&set, &pools).unwrap().codecs[0].stored["zsmalloc"].value;
        assert!(stored(pools(6, 1)) > 1.5 * stored(pools(6, 12)), "{} {}", stored(pools(6, 1)), stored(pools(6, 12)));
    }

    #[test]
    fn single_pages_that_were_watched_are_a_share() {
        let touch = [vec![Touch::Cold; 100], vec![Touch::Touched; 300]].concat();
        let mut set = PageSet { touch: Some(touch), ..set() };
        assert_eq!(Numbers::whole(&set, &pools(6, 18)).unwrap().cold.unwrap().value, 0.25);
        set.touch.as_mut().unwrap()[..50].fill(Touch::Unknown);
        assert_eq!(Numbers::whole(&set, &pools(6, 18)).unwrap().cold.unwrap().value, 50.0 / 350.0);
    }
}
