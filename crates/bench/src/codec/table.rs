//! The table of codecs.

use super::{CodecError, PageCodec, deflate, lz4, memcpy, zstd};

/// One codec.
#[derive(Clone, Copy, Debug)]
pub struct Codec {
    /// Our name, which is the kernel's where it has it.
    pub name: &'static str,
    /// What it is.
    pub doc: &'static str,
    /// The library, and its version.
    pub library: &'static str,
    /// What zram calls it; `None` when zram never has it.
    pub zram: Option<&'static str>,
    /// What zswap calls it; `None` when zswap never has it.
    pub zswap: Option<&'static str>,
    /// Which levels there are.
    pub levels: Levels,
    /// How near the sizes are to the kernel's.
    pub sizes: &'static str,
    /// Where its parameters come from.
    pub source: &'static str,
    /// Opens it at a level, for pages of this size.
    pub(super) open: fn(i32, usize) -> Result<Box<dyn PageCodec>, CodecError>,
}

/// The levels of a codec; zram takes them as `algorithm_params`, zswap always uses the default.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Levels {
    /// There is but one way.
    One,
    /// A level: higher is smaller and slower.
    Level {
        /// What the kernel uses.
        default: i32,
        /// Lowest level that the codec takes.
        min: i32,
        /// Highest level that the codec takes.
        max: i32,
    },
    /// An acceleration: higher is faster and larger.
    Acceleration {
        /// What the kernel uses.
        default: i32,
        /// Highest; 1 is the lowest.
        max: i32,
    },
}

impl Levels {
    /// What the kernel uses; 0 where there is but one way.
    #[must_use]
    pub fn default_level(self) -> i32 {
        match self {
            Self::One => 0,
            Self::Level { default, .. } | Self::Acceleration { default, .. } => default,
        }
    }

    /// Whether this level exists.
    #[must_use]
    pub fn contains(self, level: i32) -> bool {
        match self {
            Self::One => level == 0,
            Self::Level { min, max, .. } => (min..=max).contains(&level),
            Self::Acceleration { max, .. } => (1..=max).contains(&level),
        }
    }
}

/// All codecs that can be measured in this process.
pub const CODECS: &[Codec] = &[
    Codec {
        name: "memcpy",
        doc: "copies the page: no codec is faster",
        library: "the C library",
        zram: None,
        zswap: None,
        levels: Levels::One,
        sizes: "a page is a page",
        source: "the first row of lzbench",
        open: memcpy::open,
    },
    Codec {
        name: "lz4",
        doc: "LZ4: the fastest to load",
        library: "liblz4 1.10.0",
        zram: Some("lz4"),
        zswap: Some("lz4"),
        levels: Levels::Acceleration { default: 1, max: 65_537 },
        sizes: "the kernel's, whose older LZ4 misses a match at the very end of some pages: up to 5 bytes a page more",
        source: "drivers/block/zram/backend_lz4.c and crypto/lz4.c: acceleration 1, 16 KiB of state",
        open: lz4::open_fast,
    },
    Codec {
        name: "lz4hc",
        doc: "LZ4 with a thorough search: smaller, slow to store, as fast to load",
        library: "liblz4 1.10.0",
        zram: Some("lz4hc"),
        zswap: Some("lz4hc"),
        levels: Levels::Level { default: 9, min: 2, max: 12 },
        sizes: "near the kernel's, whose search is of LZ4 1.7",
        source: "include/linux/lz4.h: LZ4HC_DEFAULT_CLEVEL 9",
        open: lz4::open_hc,
    },
    Codec {
        name: "zstd",
        doc: "Zstandard as zram drives it: the smallest that is still quick",
        library: "libzstd 1.5.7",
        zram: Some("zstd"),
        zswap: Some("zstd"),
        levels: Levels::Level { default: 3, min: -131_072, max: 22 },
        sizes: "as the kernel's since its libzstd is 1.5.7, within 0.1 % before",
        source: "drivers/block/zram/backend_zstd.c: parameters for a source of one page, level 3",
        open: zstd::open_zram,
    },
    Codec {
        name: "zstd-crypto",
        doc: "Zstandard as the kernel's crypto API drives it for zswap, where its level cannot be set",
        library: "libzstd 1.5.7",
        zram: None,
        zswap: Some("zstd"),
        levels: Levels::One,
        sizes: "as the kernel's since crypto/zstd.c is an acomp",
        source: "crypto/zstd.c: ZSTD_DEF_LEVEL 3, parameters for a source of ZSTD_MAX_SIZE, 256 KiB",
        open: zstd::open_crypto,
    },
    Codec {
        name: "deflate",
        doc: "DEFLATE: slow both ways",
        library: "libdeflate 1.26",
        zram: Some("deflate"),
        zswap: Some("deflate"),
        levels: Levels::Level { default: 6, min: 1, max: 12 },
        sizes: "near the kernel's, whose zlib searches otherwise and looks back 2 KiB only (winbits 11)",
        source: "crypto/deflate.c: DEFLATE_DEF_WINBITS 11, Z_DEFAULT_COMPRESSION",
        open: deflate::open,
    },
];
