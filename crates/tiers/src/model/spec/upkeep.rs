//! Upkeep of a zram device at intervals: the device by itself neither writes back nor recompresses anything.
//!
//! Sources: Documentation/admin-guide/blockdev/zram.rst and drivers/block/zram/zram_drv.c (`writeback_store`, `recompress_store`,
//! `recompress_slot`, `mark_idle`).

use swaptune_kernel::{Behaviour, KernelVersion, behaviours};

use super::costs::CodecCosts;
use super::sizes::CompressedSizes;

/// Pages of write-back under way at once where there are several (`writeback_batch_size`).
const BATCH: u32 = 32;

/// Which pages are taken (`type=` of `recompress`, the word written to `writeback`).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Which {
    /// All that the device holds compressed, or as they are.
    All,
    /// Those that were stored at least the given age ago.
    Idle,
    /// Those kept as they are, because they did not compress.
    Huge,
    /// Both at once.
    HugeIdle,
    /// Those that the secondary algorithm could not make smaller.
    Incompressible,
}

impl Which {
    /// Whether age decides.
    #[must_use]
    pub const fn is_by_age(self) -> bool {
        matches!(self, Self::Idle | Self::HugeIdle)
    }

    pub(crate) const fn takes(self, idle: bool, huge: bool, incompressible: bool) -> bool {
        match self {
            Self::All => true,
            Self::Idle => idle,
            Self::Huge => huge,
            Self::HugeIdle => huge && idle,
            Self::Incompressible => incompressible,
        }
    }
}

/// How large pages are under the secondary algorithm.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Second {
    /// Thousandths of their size under the first one. What that does not compress this does not either.
    Share(u16),
    /// As they were measured.
    Sizes(CompressedSizes),
}

/// `recomp_algorithm` and `recompress`.
#[derive(Clone, Debug, PartialEq)]
pub struct Recompress {
    /// The secondary algorithm.
    pub codec: CodecCosts,
    /// What it makes of pages.
    pub sizes: Second,
    /// Which pages.
    pub which: Which,
    /// Nanoseconds since a page was stored that make it idle.
    pub age: u64,
    /// `threshold`: smaller objects are left alone, and a result that is not smaller is dropped. 0: none.
    pub threshold: u16,
}

/// `backing_dev`, `writeback` and `writeback_limit`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Writeback {
    /// Index of the device in [`super::ModelSettings::devices`].
    pub device: usize,
    /// Pages that the backing device holds.
    pub blocks: u32,
    /// Which pages.
    pub which: Which,
    /// Nanoseconds since a page was stored that make it idle.
    pub age: u64,
    /// `writeback_limit`, in units of 4 KiB: the most pages in all; nothing refills it.
    pub limit: Option<u64>,
}

/// Visits to a device at intervals. Each page is written back if that is due, else recompressed if that is.
#[derive(Clone, Debug, PartialEq)]
pub struct Upkeep {
    /// Nanoseconds from one visit to the next.
    pub interval: u64,
    /// What is recompressed; `None`: nothing.
    pub recompress: Option<Recompress>,
    /// What is written back to the backing device; `None`: nothing.
    pub writeback: Option<Writeback>,
}

impl Upkeep {
    /// What a kernel lacks of this: the words for it, and the row of the table of behaviours.
    #[must_use]
    pub fn lacks(&self, kernel: KernelVersion) -> Option<(&'static str, &'static Behaviour)> {
        let recompress = self.recompress.as_ref().map(|recompress| recompress.which);
        let writeback = self.writeback.map(|writeback| writeback.which);
        let by_age = [recompress, writeback].into_iter().flatten().any(Which::is_by_age);
        let incompressible = writeback == Some(Which::Incompressible);
        [
            (by_age, "marking pages of zram idle by age", &behaviours::ZRAM_IDLE_BY_AGE),
            (recompress.is_some() || incompressible, "recompression in zram", &behaviours::ZRAM_RECOMPRESSION),
        ]
        .into_iter()
        .find_map(|(wanted, what, row)| (wanted && !row.is_in(kernel)).then_some((what, row)))
    }
}

/// Pages of write-back under way at once.
pub(crate) fn batch(kernel: KernelVersion) -> u32 {
    if behaviours::ZRAM_WRITEBACK_BATCHES.is_in(kernel) { BATCH } else { 1 }
}

#[cfg(test)]
mod tests {
    use swaptune_kernel::v;

    use super::*;

    #[test]
    fn each_part_has_its_first_kernel() {
        let codec = CodecCosts::named("zstd").unwrap();
        let recompress = Recompress { codec, sizes: Second::Share(800), which: Which::Huge, age: 0, threshold: 0 };
        let writeback = Writeback { device: 0, blocks: 1, which: Which::Huge, age: 0, limit: None };
        let bare = Upkeep { interval: 1, recompress: None, writeback: None };
        let lacks = |upkeep: &Upkeep, kernel| upkeep.lacks(kernel).and_then(|(_, row)| row.since);
        let recompressing = Upkeep { recompress: Some(recompress), ..bare.clone() };
        assert_eq!((lacks(&recompressing, v(6, 1)), lacks(&recompressing, v(6, 2))), (Some(v(6, 2)), None));
        let of = |which| Upkeep { writeback: Some(Writeback { which, ..writeback }), ..bare.clone() };
        assert_eq!(lacks(&of(Which::Huge), v(5, 10)), None);
        for which in [Which::Idle, Which::HugeIdle] {
            assert_eq!((lacks(&of(which), v(5, 15)), lacks(&of(which), v(5, 16))), (Some(v(5, 16)), None));
        }
        assert_eq!(lacks(&of(Which::Incompressible), v(6, 1)), Some(v(6, 2)));
        assert_eq!((batch(v(6, 18)), batch(v(6, 19))), (1, 32));
    }

    #[test]
    fn a_type_takes_what_it_names() {
        let of = |which: Which| {
            [(true, false, false), (false, true, false), (true, true, false), (false, false, true)]
                .map(|(idle, huge, poor)| which.takes(idle, huge, poor))
        };
        assert_eq!(of(Which::All), [true; 4]);
        assert_eq!(of(Which::Idle), [true, false, true, false]);
        assert_eq!(of(Which::Huge), [false, true, true, false]);
        assert_eq!(of(Which::HugeIdle), [false, false, true, false]);
        assert_eq!(of(Which::Incompressible), [false, false, false, true]);
    }
}
