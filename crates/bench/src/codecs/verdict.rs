//! What a row of the table says about a codec, beside the others.

use super::CodecRow;

/// Differences of speed below this are noise.
const NOISE: f64 = 0.03;
/// Differences of size below this do not count; sizes have no noise.
const LITTLE: f64 = 0.005;

/// How a codec stands.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum CodecVerdict {
    /// What memory itself can do.
    Bound,
    /// Another codec, here also to be had, is as good in everything and better in something.
    Beaten {
        /// The other.
        by: String,
    },
    /// No codec of this table is better in everything; it is the best in these respects, which may be none.
    Choice {
        /// `smallest`, `fastest load`, `fastest store`.
        best: Vec<&'static str>,
    },
}

impl std::fmt::Display for CodecVerdict {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Bound => f.pad("what memory can do"),
            Self::Beaten { by } => f.pad(&format!("{by} beats it")),
            Self::Choice { best } if best.is_empty() => f.pad("in between"),
            Self::Choice { best } => f.pad(&best.join(", ")),
        }
    }
}

/// The three things that count.
#[derive(Clone, Copy)]
struct Merits {
    ratio: f64,
    compress: f64,
    decompress: f64,
}

impl Merits {
    fn of(row: &CodecRow) -> Self {
        let rate = |rate: Option<f64>| rate.unwrap_or(0.0);
        let figures = &row.figures;
        Self { ratio: figures.ratio, compress: rate(figures.compress_mb_s), decompress: rate(figures.decompress_mb_s) }
    }

    fn pairs(self, other: Self) -> [(f64, f64); 3] {
        [(self.ratio, other.ratio), (self.compress, other.compress), (self.decompress, other.decompress)]
    }

    /// No worse in anything, and better in something.
    fn beats(self, other: Self) -> bool {
        let pairs = self.pairs(other).into_iter().zip([LITTLE, NOISE, NOISE]);
        pairs.clone().all(|((mine, theirs), slack)| mine >= theirs * (1.0 - slack))
            && pairs.clone().any(|((mine, theirs), slack)| mine > theirs * (1.0 + 2.0 * slack))
    }
}

/// A verdict for each row of one table, all of one thread. Codecs that this kernel lacks do not outdo those that it has.
#[must_use]
pub fn verdicts(rows: &[CodecRow]) -> Vec<CodecVerdict> {
    rows.iter().map(|row| verdict(row, rows)).collect()
}

fn verdict(row: &CodecRow, rows: &[CodecRow]) -> CodecVerdict {
    if row.is_memcpy() {
        return CodecVerdict::Bound;
    }
    let mine = Merits::of(row);
    let rivals = || rows.iter().filter(|other| !other.is_memcpy() && other.setting != row.setting);
    let fair = |other: &&CodecRow| other.in_kernel.usable() || !row.in_kernel.usable();
    let better = rivals().filter(fair).find(|other| Merits::of(other).beats(mine));
    if let Some(better) = better {
        return CodecVerdict::Beaten { by: better.setting.to_string() };
    }
    let names = ["smallest", "fastest store", "fastest load"];
    let is_best = |which: usize| rivals().all(|other| Merits::of(other).pairs(mine)[which].0 <= mine.pairs(mine)[which].0);
    CodecVerdict::Choice { best: (0..names.len()).filter(|which| is_best(*which)).map(|which| names[which]).collect() }
}
