//! zsmalloc: the table of size classes (mm/zsmalloc.c, Documentation/mm/zsmalloc.rst).

use super::{AllocError, PAGE_SIZE};

/// Smallest object, with its handle.
const MIN_SIZE: u16 = 32;
/// Distance of the classes: `ZS_SIZE_CLASS_DELTA`, a 256th of a page.
const STEP: u16 = 16;
/// Bytes added to each object: `ZS_HANDLE_SIZE`.
pub const HANDLE: u16 = 8;
/// Classes before merging.
const CLASSES: usize = ((PAGE_SIZE - MIN_SIZE) / STEP + 1) as usize;

/// How the number of pages of a zspage is chosen.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Rule {
    /// The first number that uses the highest percentage, rounded down; until 6.2. The kernel's document still shows these classes.
    UsedPercent,
    /// The first number that wastes fewest bytes, which is one page for powers of two; since 6.3.
    LeastWaste,
}

impl Rule {
    /// Pages of a zspage of objects of this size, 1 to `chain`.
    fn pages(self, size: u16, chain: u8) -> u8 {
        match self {
            Self::LeastWaste => first_best(chain, |pages| u64::MAX - u64::from(waste(size, pages))),
            Self::UsedPercent => first_best(chain, |pages| {
                let bytes = u32::from(PAGE_SIZE) * u32::from(pages);
                u64::from((bytes - waste(size, pages)) * 100 / bytes)
            }),
        }
    }
}

/// Bytes of a zspage that no object of this size can use.
fn waste(size: u16, pages: u8) -> u32 {
    u32::from(PAGE_SIZE) * u32::from(pages) % u32::from(size)
}

/// The smallest number of pages, 1 to `chain`, of the highest merit.
fn first_best(chain: u8, merit: impl Fn(u8) -> u64) -> u8 {
    (1..=chain).fold((1, 0), |best, pages| if merit(pages) > best.1 { (pages, merit(pages)) } else { best }).0
}

/// One class: objects up to `size` bytes, `objects` of them in each zspage of `pages` pages.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SizeClass {
    /// Bytes of an object with its handle, at most; bytes that it takes.
    pub size: u16,
    /// Pages of a zspage.
    pub pages: u8,
    /// Objects of a full zspage.
    pub objects: u16,
}

impl SizeClass {
    fn new(size: u16, chain: u8, rule: Rule) -> Self {
        let pages = rule.pages(size, chain);
        let objects = u32::from(PAGE_SIZE) * u32::from(pages) / u32::from(size);
        // At most 16 × 4096 / 32.
        Self { size, pages, objects: objects as u16 }
    }

    /// Whether an object takes a whole page: nothing is saved.
    #[must_use]
    pub const fn is_huge(&self) -> bool {
        self.objects == 1 && self.pages == 1
    }

    const fn merges_with(&self, other: &Self) -> bool {
        self.pages == other.pages && self.objects == other.objects
    }
}

/// The classes of one build of zsmalloc.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Zsmalloc {
    /// Ascending by size.
    classes: Vec<SizeClass>,
    /// From the class before merging to its index in `classes`.
    merged: Vec<u8>,
}

impl Zsmalloc {
    /// Classes for zspages of up to `chain` pages (CONFIG_ZSMALLOC_CHAIN_SIZE).
    ///
    /// # Errors
    /// A chain length outside 4 to 16.
    pub fn new(chain: u8, rule: Rule) -> Result<Self, AllocError> {
        if !(4..=16).contains(&chain) {
            return Err(AllocError::Chain(chain));
        }
        let mut classes: Vec<SizeClass> = Vec::new();
        let mut descending = Vec::with_capacity(CLASSES);
        // From the largest down, as the kernel does: a class that merges takes the size of its larger neighbour.
        for index in (0..CLASSES as u16).rev() {
            let class = SizeClass::new(MIN_SIZE + index * STEP, chain, rule);
            if !classes.last().is_some_and(|larger| larger.merges_with(&class)) {
                classes.push(class);
            }
            descending.push(classes.len() - 1);
        }
        let last = classes.len() - 1;
        classes.reverse();
        let merged = descending.iter().rev().map(|&index| (last - index) as u8).collect();
        Ok(Self { classes, merged })
    }

    /// The classes that are left after merging, ascending by size.
    #[must_use]
    pub fn classes(&self) -> &[SizeClass] {
        &self.classes
    }

    /// Index in [`Zsmalloc::classes`] for an object of `size` bytes before its handle is added; more than a page is taken as a page.
    #[must_use]
    pub fn class_index(&self, size: u16) -> usize {
        let index = size.saturating_add(HANDLE).saturating_sub(MIN_SIZE).div_ceil(STEP);
        usize::from(self.merged[usize::from(index).min(CLASSES - 1)])
    }

    /// The class for an object of `size` bytes before its handle is added.
    #[must_use]
    pub fn class_of(&self, size: u16) -> &SizeClass {
        &self.classes[self.class_index(size)]
    }

    /// Size of the largest class that saves something, in bytes with the handle: the watermark of the kernel's document.
    #[must_use]
    pub fn huge_threshold(&self) -> u16 {
        self.classes.iter().rev().find(|class| !class.is_huge()).map_or(0, |class| class.size)
    }

    /// Compressed size from which an object takes a whole page: what the kernel's `zs_huge_class_size()` returns, and from which
    /// zram keeps the page uncompressed.
    #[must_use]
    pub fn huge_size(&self) -> u16 {
        self.huge_threshold() - (HANDLE - 1)
    }
}

/// What the kernel's document says for each chain length, to check the model against: chain length, classes (by the rule until 6.2),
/// classes by the rule since, size of the smallest object that takes a whole page by both, bytes (Documentation/mm/zsmalloc.rst).
pub const DOCUMENTED: [(u8, usize, usize, u16); 13] = [
    (4, 69, 69, 3264),
    (5, 86, 86, 3408),
    (6, 93, 94, 3504),
    (7, 112, 110, 3584),
    (8, 123, 119, 3632),
    (9, 140, 136, 3680),
    (10, 143, 141, 3712),
    (11, 159, 153, 3744),
    (12, 164, 159, 3776),
    (13, 180, 173, 3792),
    (14, 183, 179, 3808),
    (15, 188, 186, 3840),
    (16, 191, 192, 3840),
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn class_counts_are_those_of_the_kernels_document() {
        for (chain, document, current, _) in DOCUMENTED {
            assert_eq!(Zsmalloc::new(chain, Rule::UsedPercent).unwrap().classes().len(), document, "chain {chain}, old rule");
            assert_eq!(Zsmalloc::new(chain, Rule::LeastWaste).unwrap().classes().len(), current, "chain {chain}, current rule");
        }
    }

    #[test]
    fn watermarks_are_those_of_the_kernels_document() {
        for (chain, _, _, watermark) in DOCUMENTED {
            for rule in [Rule::UsedPercent, Rule::LeastWaste] {
                let zsmalloc = Zsmalloc::new(chain, rule).unwrap();
                assert_eq!(zsmalloc.huge_threshold(), watermark, "chain {chain}, {rule:?}");
                assert!(!zsmalloc.class_of(watermark - HANDLE).is_huge());
                assert!(zsmalloc.class_of(zsmalloc.huge_size()).is_huge());
                assert!(!zsmalloc.class_of(zsmalloc.huge_size() - 1).is_huge());
                assert!(!zsmalloc.class_of(2048 - HANDLE).is_huge(), "two objects in one page");
            }
        }
    }

    /// Class sizes with their pages, as Documentation/mm/zsmalloc.rst prints the ends of its tables.
    #[test]
    fn the_largest_classes_are_those_of_the_kernels_document() {
        let rows = [(202, 4), (206, 13), (207, 9), (208, 14), (211, 5), (212, 16), (214, 11), (217, 6), (219, 13), (222, 7)];
        let more = [(223, 15), (225, 8), (228, 9), (230, 10), (232, 11), (234, 12), (235, 13), (236, 14), (238, 15), (254, 1)];
        for (chain, expect) in [
            (4, vec![(202, 4), (254, 1)]),
            (8, vec![(202, 4), (211, 5), (217, 6), (222, 7), (225, 8), (254, 1)]),
            (16, [rows, more].concat()),
        ] {
            let zsmalloc = Zsmalloc::new(chain, Rule::UsedPercent).unwrap();
            let index = |class: &SizeClass| (class.size - MIN_SIZE) / STEP;
            let last: Vec<_> =
                zsmalloc.classes().iter().map(|class| (index(class), class.pages)).filter(|row| row.0 >= 202).collect();
            assert_eq!(last, expect, "chain {chain}");
        }
    }

    /// The document's example of merging: 1536 takes 3 pages, and 1552 to 1632 all go to zspages of 2 pages and 5 objects.
    #[test]
    fn neighbours_merge_as_in_the_kernels_document() {
        let zsmalloc = Zsmalloc::new(4, Rule::UsedPercent).unwrap();
        assert_eq!(zsmalloc.class_of(1536 - HANDLE), &SizeClass { size: 1536, pages: 3, objects: 8 });
        for size in [1552, 1568, 1632] {
            assert_eq!(zsmalloc.class_of(size - HANDLE), &SizeClass { size: 1632, pages: 2, objects: 5 });
        }
        let five = Zsmalloc::new(5, Rule::UsedPercent).unwrap();
        assert_eq!(five.class_of(1568 - HANDLE), &SizeClass { size: 1568, pages: 5, objects: 13 });
    }

    #[test]
    fn an_object_fits_its_class_and_no_smaller_one() {
        for chain in 4..=16 {
            let zsmalloc = Zsmalloc::new(chain, Rule::LeastWaste).unwrap();
            for size in 1..=PAGE_SIZE - HANDLE {
                let index = zsmalloc.class_index(size);
                assert!(zsmalloc.classes()[index].size >= size + HANDLE);
                assert!(index == 0 || zsmalloc.classes()[index - 1].size < size + HANDLE);
            }
            assert_eq!(zsmalloc.class_of(PAGE_SIZE).size, PAGE_SIZE);
        }
    }

    #[test]
    fn chain_lengths_outside_the_range_of_the_option_are_refused() {
        assert_eq!(Zsmalloc::new(3, Rule::LeastWaste), Err(AllocError::Chain(3)));
        assert_eq!(Zsmalloc::new(17, Rule::LeastWaste), Err(AllocError::Chain(17)));
    }
}
