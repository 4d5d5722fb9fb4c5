//! What things take, in nanoseconds.

/// Time of one page in a codec, in nanoseconds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CodecCosts {
    /// The kernel's name.
    pub name: &'static str,
    /// Compress one page.
    pub compress: u64,
    /// Decompress one page.
    pub decompress: u64,
}

/// Medians of cold 4 KiB pages through the C libraries, one thread, AMD Zen 4 guest: 16 318 pages of live processes, in random order.
/// The kernel's own builds are up to a third slower. LZO-RLE is taken as LZO, lz4hc and deflate from their throughput beside lz4 and
/// zstd on the same pages. `bench codecs` and `bench swap` replace these figures by the machine's own.
pub const CODECS: [CodecCosts; 6] = [
    CodecCosts { name: "lz4", compress: 4_400, decompress: 1_160 },
    CodecCosts { name: "lz4hc", compress: 9_600, decompress: 1_100 },
    CodecCosts { name: "lzo", compress: 4_710, decompress: 3_060 },
    CodecCosts { name: "lzo-rle", compress: 4_710, decompress: 3_060 },
    CodecCosts { name: "zstd", compress: 12_500, decompress: 4_490 },
    CodecCosts { name: "deflate", compress: 26_000, decompress: 38_000 },
];

impl CodecCosts {
    /// The codec of this name.
    #[must_use]
    pub fn named(name: &str) -> Option<Self> {
        CODECS.into_iter().find(|codec| codec.name == name)
    }
}

/// Times of the kernel's path beside codecs and devices, in nanoseconds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Costs {
    /// Access to a page in RAM. 100: the usual figure for DRAM.
    pub access: u64,
    /// First touch: page fault and a page of zeros. 800: a fault of about 500 and clearing a cold page, 295 (DRAM bound, measured).
    pub allocate: u64,
    /// Swap-out of one page without codec and device: unmap, slot, swap cache. 3190 for a page of zeros through zram, 1 thread
    /// (K. Song, "rework of swap allocator locks", October 2024).
    pub swap_out: u64,
    /// Swap-in of one page without codec and device: fault, swap cache, map. 1830 for a page of zeros through zram (same series).
    pub swap_in: u64,
    /// Fault on a page that is in the swap cache: read ahead, or still being written. 700: swap-in without a read; assumed.
    pub minor: u64,
    /// Looking at one page of a list in reclaim, with its reverse map. 150; assumed.
    pub scan: u64,
    /// From the request to the first step of zswap's worker on another processor (since 6.9). 50 µs; assumed, for a guest whose processors
    /// have other work too. How many entries lose their second chance before a full pool writes back hangs on it and on `round`.
    pub wake: u64,
    /// What a step of zswap's worker takes beside its entry, since it goes round all memory control groups of the machine for each
    /// (6.12). 0: no groups but those of the trace. 6.18 in a guest: 78 ns for each group and 34 for each that is gone and not yet freed.
    pub round: u64,
    /// The least time that zswap's worker needs for a page that it writes back: it is a request of its own, which waits for a place in the
    /// disk's queue. 0: the queue has room. In a guest, while stores are refused and written too: 17 to 40 µs, on a disk of 7 µs a page.
    pub write_back: u64,
}

impl Default for Costs {
    fn default() -> Self {
        Self {
            access: 100,
            allocate: 800,
            swap_out: 3_190,
            swap_in: 1_830,
            minor: 700,
            scan: 150,
            wake: 50_000,
            round: 0,
            write_back: 0,
        }
    }
}

/// Copying a cold page: bound by DRAM, measured (13.9 GB/s).
pub const COPY: u64 = 295;

/// Times of a device, in nanoseconds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct DeviceTimes {
    /// Time that the device is busy with each request, however small: 1 by its limit of requests a second.
    pub request: u64,
    /// Time that it is busy with each page of a request: 4096 by its bandwidth.
    pub page: u64,
    /// Added for a request that does not begin where the last one ended.
    pub seek: u64,
    /// From the end of its work to the answer of a read.
    pub read_latency: u64,
    /// From the end of its work to the answer of a write.
    pub write_latency: u64,
}

impl DeviceTimes {
    /// A usual NVMe drive: 250 000 requests and 2 GB a second, read in 80 µs, write in 20 µs.
    pub const NVME: Self = Self { request: 4_000, page: 2_050, seek: 0, read_latency: 80_000, write_latency: 20_000 };
    /// A usual SATA solid state drive: 60 000 requests and 500 MB a second, read in 150 µs, write in 60 µs.
    pub const SSD: Self = Self { request: 16_000, page: 8_200, seek: 0, read_latency: 150_000, write_latency: 60_000 };
    /// A usual hard disk: 8 ms to another place, 150 MB a second.
    pub const HDD: Self = Self { request: 100_000, page: 27_300, seek: 8_000_000, read_latency: 0, write_latency: 0 };
}
