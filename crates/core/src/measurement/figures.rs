//! The numbers themselves, one structure a benchmark.

use std::collections::BTreeMap;
use std::fmt;

use serde::{Deserialize, Serialize};

use super::compare::CompareFigures;
use super::density::DensityFigures;
use crate::canary::CanaryClass;
use crate::stats::{Estimate, Nanos, Quantiles};
use crate::units::Bytes;

/// One line's numbers, by what was measured.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "kind", content = "figures", rename_all = "lowercase")]
pub enum ResultFigures {
    /// Pages of live processes: `sample`.
    Sample(SampleFigures),
    /// One codec: `bench codecs`.
    Codec(CodecFigures),
    /// One load on a disk: `bench disk`.
    Disk(DiskFigures),
    /// One cipher: `bench cipher`.
    Cipher(CipherFigures),
    /// One tier of the kernel's swap path: `bench swap`.
    Swap(SwapFigures),
    /// One pattern of memory access: `bench memory`.
    Memory(MemoryFigures),
    /// One configuration: `bench density`.
    Density(DensityFigures),
    /// One configuration: `compare`.
    Compare(CompareFigures),
}

impl ResultFigures {
    /// The name of the kind, as in the file.
    #[must_use]
    pub fn kind(&self) -> &'static str {
        match self {
            Self::Sample(_) => "sample",
            Self::Codec(_) => "codec",
            Self::Disk(_) => "disk",
            Self::Cipher(_) => "cipher",
            Self::Swap(_) => "swap",
            Self::Memory(_) => "memory",
            Self::Density(_) => "density",
            Self::Compare(_) => "compare",
        }
    }
}

/// A sample of pages of live processes.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct SampleFigures {
    /// What was sampled: `all processes`, `unit nginx.service`, `pid 42`.
    pub of: String,
    /// Present anonymous pages of it.
    pub present: u64,
    /// Pages that were read.
    pub sampled: u64,
    /// Processes that were looked at.
    pub processes: u64,
    /// Processes that had vanished or may not be read.
    pub unread: u64,
    /// Share of pages that are all zero, 0 to 1.
    pub zero: Estimate,
    /// Share of pages that repeat one word, zero pages included, 0 to 1.
    pub same_filled: Estimate,
    /// What each codec makes of them.
    pub codecs: Vec<SampledCodec>,
    /// Which were not touched for a while, where that can be seen.
    pub cold: Option<ColdPages>,
}

impl SampleFigures {
    /// [`SampleFigures::of`] for a sample of the whole system.
    pub const ALL: &str = "all processes";
}

/// Pages that were not touched.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ColdPages {
    /// For how long.
    pub seconds: u64,
    /// Share of the pages, 0 to 1.
    pub share: Estimate,
    /// How it was seen: `page_idle`, `clear_refs`, `damon`.
    pub method: String,
}

/// What one codec makes of a sample.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct SampledCodec {
    /// Kernel's name with our level (`lz4`, `zstd`, `zstd:1`).
    pub codec: String,
    /// Original size by compressed size, pages that are same-filled left out.
    pub ratio: Estimate,
    /// Share of pages that do not compress, 0 to 1.
    pub incompressible: Estimate,
    /// Original size by RAM taken, for each allocator, same-filled pages included as the pool of this kernel has them.
    pub stored: BTreeMap<String, Estimate>,
}

/// How a codec was driven.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum CodecPath {
    /// The C library in this process.
    Library,
    /// A scratch zram device of this kernel.
    Zram,
    /// zswap of this kernel.
    Zswap,
}

/// One codec over one set of pages.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct CodecFigures {
    /// Name with its level or acceleration (`lz4`, `lz4:17`, `zstd:3`, `memcpy`).
    pub codec: String,
    /// How it was driven.
    pub path: CodecPath,
    /// Where the pages come from: `live processes`, `synthetic text`, a path.
    pub pages_of: String,
    /// How many pages.
    pub pages: u64,
    /// Threads at work.
    pub threads: u32,
    /// Megabytes (10⁶ B) of original data a second and thread of processor time. On the kernel's paths all that it does for a page
    /// counts: the block layer and the allocator of zram, reclaim and the swap cache of zswap.
    pub compress_mb_s: Option<f64>,
    /// As before, of original data produced.
    pub decompress_mb_s: Option<f64>,
    /// One page.
    pub compress: Option<Quantiles>,
    /// One page.
    pub decompress: Option<Quantiles>,
    /// Original size by compressed size. zswap does not say how large that is: there by what the pool took.
    pub ratio: f64,
    /// What the pool took: measured on the kernel's own, for these pages; computed for a library, for a GiB of such pages.
    pub pools: Vec<PoolFigures>,
    /// In this kernel: `built in`, `module`, `absent`, with the reason.
    pub in_kernel: String,
}

impl CodecFigures {
    /// [`CodecFigures::pages_of`] for pages of the whole system's processes.
    pub const LIVE: &str = "live processes";
}

/// RAM that a pool takes for a set of pages.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct PoolFigures {
    /// Allocator (`zsmalloc`, `zbud`, `z3fold`).
    pub allocator: AllocatorFigures,
    /// Size before.
    pub original: Bytes,
    /// Pages of RAM taken, in bytes.
    pub used: Bytes,
}

/// An allocator, and whether its figure is measured.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct AllocatorFigures {
    /// Kernel's name.
    pub name: String,
    /// True when the kernel's counter says so, false when the model does.
    pub measured: bool,
}

/// A load on a disk.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum DiskShape {
    /// 4 KiB, 70 % reads and 30 % writes at random, direct, queue depth 4: swap under pressure.
    Mixed,
    /// Sequential writes of clusters, as reclaim writes.
    ClusterWrite,
    /// Single pages read at random, as a fault reads.
    PageRead,
    /// Sequential reads through the page cache, all in it.
    CachedRead,
    /// Sequential reads through the page cache, none in it.
    BufferedRead,
}

/// One direction of a load.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct IoFigures {
    /// Operations a second.
    pub iops: f64,
    /// Bytes a second.
    pub bytes_per_second: f64,
    /// Completion latency of one operation, all jobs and rounds together.
    pub latency: Quantiles,
}

/// What tells a disk from another, which may have its name after a boot. What the kernel does not say is absent.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct DiskIdentity {
    /// A hash of its world-wide name or serial number, which gives nothing away.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub id: Option<String>,
    /// Capacity.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub size: Option<Bytes>,
    /// Model.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub model: Option<String>,
}

impl DiskIdentity {
    /// True when they cannot be the same disk. One that has kept its world-wide name may have grown.
    #[must_use]
    pub fn is_another(&self, other: &Self) -> bool {
        match (&self.id, &other.id) {
            (Some(one), Some(other)) => one != other,
            _ => differ(self.size, other.size) || differ(self.model.as_ref(), other.model.as_ref()),
        }
    }
}

fn differ<T: PartialEq>(one: Option<T>, other: Option<T>) -> bool {
    one.zip(other).is_some_and(|(one, other)| one != other)
}

/// One load on one disk.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct DiskFigures {
    /// Whole disks that lie below (`vda`).
    pub disks: Vec<String>,
    /// What tells each of them from another of its name, in the same order; empty in results that are older than this.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub identities: Vec<DiskIdentity>,
    /// The files or devices that were loaded.
    pub places: Vec<String>,
    /// The load.
    pub shape: DiskShape,
    /// Jobs at once.
    pub jobs: u32,
    /// Bytes that the load is spread over, all places together.
    pub size: Bytes,
    /// Length of one round, seconds.
    pub seconds: f64,
    /// How requests were handed to the kernel: fio's engine (`libaio`).
    pub engine: String,
    /// Operations a second of each round, reads and writes together. Round for round comparable with the rows measured beside it.
    pub rounds: Vec<f64>,
    /// Reads, median of the rounds.
    pub read: Option<IoFigures>,
    /// Writes, median of the rounds.
    pub write: Option<IoFigures>,
}

/// One cipher, as `cryptsetup benchmark` has it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct CipherFigures {
    /// `aes-xts`.
    pub cipher: String,
    /// Bits of its key.
    pub key_bits: u32,
    /// MiB (2²⁰ B) a second.
    pub encrypt_mib_s: f64,
    /// MiB (2²⁰ B) a second.
    pub decrypt_mib_s: f64,
}

/// Where a page of the swap path goes.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "type", rename_all = "lowercase")]
pub enum SwapTier {
    /// The compressed pool of zswap.
    Zswap {
        /// The compressor, by the kernel's name.
        compressor: String,
        /// The allocator (`zpool`), `zsmalloc` where the kernel has no other.
        zpool: String,
    },
    /// A zram device.
    Zram {
        /// The compressor, as `comp_algorithm` names it.
        algorithm: String,
    },
    /// Areas on disks, without zswap.
    Disk {
        /// Whole disks below (`vda`).
        disks: Vec<String>,
        /// How many areas share them.
        areas: u32,
    },
    /// A mark that the page is zero, since 6.12: stored nowhere.
    Zero,
    /// Pages that zswap wrote back to its disk.
    Writeback {
        /// The compressor, by the kernel's name.
        compressor: String,
        /// Whole disks below (`vda`).
        disks: Vec<String>,
    },
}

impl fmt::Display for SwapTier {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let text = match self {
            Self::Zswap { compressor, zpool } => format!("zswap {compressor}/{zpool}"),
            Self::Zram { algorithm } => format!("zram {algorithm}"),
            Self::Zero => "zero mark".into(),
            Self::Disk { disks, areas: 1 } => format!("disk {}", disks.join("+")),
            Self::Disk { disks, areas } => format!("disk {}, {areas} areas", disks.join("+")),
            Self::Writeback { compressor, disks } => format!("zswap {compressor}, written back to {}", disks.join("+")),
        };
        f.pad(&text)
    }
}

/// Store and load of pages through the kernel's own path.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct SwapFigures {
    /// The tier.
    pub tier: SwapTier,
    /// Content of the pages.
    pub class: CanaryClass,
    /// vm.page-cluster while it ran.
    pub page_cluster: u32,
    /// Threads at work.
    pub threads: u32,
    /// Order in which the pages were touched.
    #[serde(default = "at_random")]
    pub order: MemoryOrder,
    /// `MADV_PAGEOUT` of one page, until the call returns; for a disk, until the write is under way.
    pub store: Option<Quantiles>,
    /// First touch of one page.
    pub load: Option<Quantiles>,
    /// Pages a second, stored by all threads.
    pub stores_per_second: f64,
    /// Pages a second, loaded by all threads.
    pub loads_per_second: f64,
    /// Where the pages were, by the kernel's counters.
    pub landing: LandingFigures,
    /// Each round by itself: how far they differ is how far the figures above can be trusted.
    #[serde(default)]
    pub rounds: Vec<SwapRound>,
}

/// What lines say that were written when there was no other order.
fn at_random() -> MemoryOrder {
    MemoryOrder::Random
}

/// One round of [`SwapFigures`].
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct SwapRound {
    /// Median store.
    pub store: Nanos,
    /// Median load.
    pub load: Nanos,
    /// Pages a second, stored by all threads.
    pub stores_per_second: f64,
    /// Pages a second, loaded by all threads.
    pub loads_per_second: f64,
}

/// What the kernel's counters say about where the pages went and came from.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct LandingFigures {
    /// Pages pushed out.
    pub pages: u64,
    /// By how much each counter rose while storing (`zswpout`, `pswpout`, `swpout_zero`, …).
    pub stored: BTreeMap<String, u64>,
    /// By how much each counter rose while loading (`zswpin`, `pswpin`, `swpin_zero`, …).
    pub loaded: BTreeMap<String, u64>,
}

/// Content of the memory that is accessed (seed row E11).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum MemoryData {
    /// Random bytes.
    High,
    /// `i mod 8`.
    Low,
    /// Zero bytes, which flatter zswap: most kernels do not even store them.
    Zero,
}

/// Order of access.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum MemoryOrder {
    /// One after the other.
    Sequential,
    /// At random.
    Random,
}

/// One pattern of memory access.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct MemoryFigures {
    /// What the pages hold.
    pub data: MemoryData,
    /// In which order they are touched.
    pub order: MemoryOrder,
    /// True for writes.
    pub write: bool,
    /// Bytes at a time: 1, or the block of a block-wise run.
    pub block: Bytes,
    /// Size of the memory.
    pub size: Bytes,
    /// Threads at work.
    pub threads: u32,
    /// Limit that it ran under.
    pub limit: Option<Bytes>,
    /// RAM that a hog held meanwhile.
    pub hog: Option<Bytes>,
    /// Where pages that did not fit went first; `None` when everything was to stay in RAM.
    pub tier: Option<SwapTier>,
    /// Megabytes (10⁶ B) a second, by all threads, over the whole time.
    pub mb_per_second: f64,
    /// The same of the slowest and the fastest fifth of the time.
    pub fifths_mb_per_second: [f64; 2],
    /// The same of the loop itself, over memory that fits into the first cache: a figure near it says nothing about memory.
    pub ceiling_mb_per_second: f64,
    /// By how much the counters of swapping rose meanwhile, on the whole machine (`pswpin`, `pswpout`, `zswpin`, …).
    pub swapping: BTreeMap<String, u64>,
    /// The same while the memory was filled.
    pub filling: BTreeMap<String, u64>,
}
