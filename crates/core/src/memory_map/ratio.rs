//! Compression ratios: measured where something is stored, assumed from a table otherwise, and always labelled.

use std::fmt;

use serde::{Deserialize, Serialize};

use crate::measurement::MeasuredAnswer;
use crate::units::Bytes;

/// Fewer stored pages than this say little about the next ones: the mean compressed size of 1024 sampled pages is
/// known to about ±5 %, and a small zsmalloc pool is mostly half-filled zspages.
pub const PAGES_TO_TRUST: u64 = 1024;

/// Original size divided by the RAM it takes, dimensionless: 2.3 means that 2.3 GiB fit in 1 GiB.
#[derive(Clone, Copy, Debug, PartialEq, PartialOrd, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Ratio(f64);

impl Ratio {
    /// The ratio of two sizes; `None` when either is zero, for then there is nothing to divide.
    #[must_use]
    pub fn of(original: Bytes, ram: Bytes) -> Option<Self> {
        (original.0 > 0 && ram.0 > 0).then(|| Self(original.0 as f64 / ram.0 as f64))
    }

    /// As a number.
    #[must_use]
    pub fn value(self) -> f64 {
        self.0
    }

    /// How much original data fits into this much RAM.
    #[must_use]
    pub fn original_in(self, ram: Bytes) -> Bytes {
        // `as` saturates, which is what a size beyond 16 EiB deserves.
        Bytes((ram.0 as f64 * self.0) as u64)
    }

    /// How much RAM this much original data takes.
    #[must_use]
    pub fn ram_for(self, original: Bytes) -> Bytes {
        Bytes((original.0 as f64 / self.0) as u64)
    }
}

impl fmt::Display for Ratio {
    /// Two digits after the point: `2.37`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(&format!("{:.2}", self.0))
    }
}

/// Where a ratio comes from.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", tag = "basis")]
pub enum RatioBasis {
    /// From what is stored now.
    Measured {
        /// How many pages are stored.
        pages: u64,
    },
    /// From a result of this machine, because too little is stored.
    Earlier {
        /// The run.
        source: String,
    },
    /// From the table of this file, because too little is stored.
    Assumed {
        /// How many pages are stored: fewer than [`PAGES_TO_TRUST`].
        pages: u64,
        /// The row of the table and its origin.
        source: String,
    },
}

/// The ratio that a forecast uses, with its basis.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct PlanningRatio {
    /// The ratio.
    pub ratio: Ratio,
    /// Where it comes from.
    #[serde(flatten)]
    pub basis: RatioBasis,
}

impl PlanningRatio {
    /// The measured ratio when enough pages are stored, else the table's for this compressor and allocator.
    #[must_use]
    pub fn choose(measured: Option<Ratio>, pages: u64, compressor: Option<&str>, zpool: Option<&str>) -> Self {
        match measured {
            Some(ratio) if pages >= PAGES_TO_TRUST => Self { ratio, basis: RatioBasis::Measured { pages } },
            _ => {
                let (ratio, source) = assumed(compressor, zpool);
                Self { ratio, basis: RatioBasis::Assumed { pages, source } }
            }
        }
    }

    /// What a run found.
    #[must_use]
    pub fn of_a_run(found: MeasuredAnswer<f64>) -> Self {
        Self { ratio: Ratio(found.value), basis: RatioBasis::Earlier { source: found.source } }
    }

    /// True when it comes from pages of this machine.
    #[must_use]
    pub fn is_measured(&self) -> bool {
        !matches!(self.basis, RatioBasis::Assumed { .. })
    }
}

impl fmt::Display for PlanningRatio {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.basis {
            RatioBasis::Measured { pages } => write!(f, "{} (measured on {pages} stored pages)", self.ratio),
            RatioBasis::Earlier { source } => write!(f, "{} (measured: {source})", self.ratio),
            RatioBasis::Assumed { source, .. } => write!(f, "{} (assumed: {source})", self.ratio),
        }
    }
}

/// Planning figures per compressor, in hundredths.
///
/// They are cautious on purpose. The kernel's zram document plans with 2:1, distributions that ship zram report
/// 2:1 to 3:1 in use, and zstd compresses real pages of applications one and a half times as far as lz4.
const ASSUMED: &[(&str, u32)] = &[
    ("lzo", 180),
    ("lzo-rle", 190),
    ("lz4", 200),
    ("lz4hc", 210),
    ("zstd", 230),
    ("deflate", 230),
    // Sizes of 842 come in steps of a hardware block; no ratio for mixed pages is published.
    ("842", 150),
];

/// For a compressor that the table does not know: what the kernel's zram document plans with.
const UNKNOWN_COMPRESSOR: u32 = 200;

/// The most that an allocator can give, in hundredths: objects per page (mm/zbud.c, mm/z3fold.c).
const ALLOCATOR_CEILING: &[(&str, u32)] = &[("zbud", 200), ("z3fold", 300)];

/// The table's ratio and where it comes from, in words.
fn assumed(compressor: Option<&str>, zpool: Option<&str>) -> (Ratio, String) {
    let row = compressor.and_then(|name| ASSUMED.iter().find(|(row, _)| *row == name));
    let (hundredths, mut source) = match row {
        Some((name, hundredths)) => (*hundredths, format!("planning figure for {name}")),
        None => (UNKNOWN_COMPRESSOR, "2:1, as the kernel's zram document plans".to_owned()),
    };
    let ceiling = zpool.and_then(|name| ALLOCATOR_CEILING.iter().find(|(row, _)| *row == name));
    let hundredths = match ceiling {
        Some((name, most)) if *most < hundredths => {
            source = format!("{source}, held down by {name}");
            *most
        }
        _ => hundredths,
    };
    (Ratio(f64::from(hundredths) / 100.0), source)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_ratio_needs_two_sizes() {
        assert_eq!(Ratio::of(Bytes(0), Bytes(1)), None);
        assert_eq!(Ratio::of(Bytes(1), Bytes(0)), None);
        let ratio = Ratio::of(Bytes(237), Bytes(100)).unwrap();
        assert_eq!(ratio.to_string(), "2.37");
        assert_eq!(ratio.original_in(Bytes(1000)), Bytes(2370));
        assert_eq!(ratio.ram_for(Bytes(2370)), Bytes(1000));
    }

    #[test]
    fn few_pages_are_not_trusted() {
        let measured = Ratio::of(Bytes(400), Bytes(100));
        for (pages, compressor, zpool, text) in [
            (1024, Some("lz4"), None, "4.00 (measured on 1024 stored pages)"),
            (1023, Some("lz4"), None, "2.00 (assumed: planning figure for lz4)"),
            (0, Some("zstd"), Some("zbud"), "2.00 (assumed: planning figure for zstd, held down by zbud)"),
            (0, Some("zstd"), Some("z3fold"), "2.30 (assumed: planning figure for zstd)"),
            (0, Some("new"), None, "2.00 (assumed: 2:1, as the kernel's zram document plans)"),
            (0, None, None, "2.00 (assumed: 2:1, as the kernel's zram document plans)"),
        ] {
            let chosen = PlanningRatio::choose(measured, pages, compressor, zpool);
            assert_eq!(chosen.to_string(), text);
        }
    }
}
