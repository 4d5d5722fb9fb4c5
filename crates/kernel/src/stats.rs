//! Medians, quantiles of latencies, ratios of pairs.
//!
//! A latency without its tail says nothing about swap: the median page comes back in microseconds and the
//! hundredth may wait for a disk. Quantiles are nearest-rank, so each is a latency that really occurred.

use std::collections::BTreeMap;
use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};

/// A duration in nanoseconds.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Nanos(pub u64);

impl fmt::Display for Nanos {
    /// Two or three digits and the unit that suits: `850 ns`, `4.8 µs`, `62 µs`, `1.2 ms`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let value = self.0 as f64;
        let (value, unit) = match self.0 {
            0..1_000 => return f.pad(&format!("{} ns", self.0)),
            1_000..999_950 => (value / 1e3, "µs"),
            999_950..999_950_000 => (value / 1e6, "ms"),
            _ => (value / 1e9, "s"),
        };
        let text = if value < 9.95 { format!("{value:.1} {unit}") } else { format!("{value:.0} {unit}") };
        f.pad(&text)
    }
}

/// A text that is no duration.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("`{text}` is not a duration: write a number with ns, us, ms or s, for example \"1ms\"")]
pub struct NanosError {
    /// The text as it was given.
    pub text: String,
}

impl FromStr for Nanos {
    type Err = NanosError;

    /// A number and its unit: `500us`, `1.5 ms`, `2s`. A bare number would leave the unit to be guessed.
    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let error = || NanosError { text: text.to_owned() };
        let trimmed = text.trim();
        let digits = trimmed.len() - trimmed.trim_start_matches(|c: char| c.is_ascii_digit() || c == '.').len();
        let (number, unit) = trimmed.split_at(digits);
        let scale = match unit.trim() {
            "ns" => 1.0,
            "us" | "µs" => 1e3,
            "ms" => 1e6,
            "s" => 1e9,
            _ => return Err(error()),
        };
        let nanos = number.parse::<f64>().map_err(|_| error())? * scale;
        if nanos < 1e18 { Ok(Self(nanos as u64)) } else { Err(error()) }
    }
}

/// A share or ratio with its 95 % confidence interval.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Estimate {
    /// The estimate.
    pub value: f64,
    /// Lower end of the interval.
    pub low: f64,
    /// Upper end of the interval.
    pub high: f64,
}

/// Fewer latencies than this give no p99.9: it would rest on less than ten of them.
pub const SAMPLES_FOR_P999: usize = 10_000;

/// What a set of latencies looks like.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Quantiles {
    /// How many were measured.
    pub samples: u64,
    /// The shortest.
    pub min: Nanos,
    /// Half are no longer than this.
    pub p50: Nanos,
    /// 90 of 100 are no longer than this.
    pub p90: Nanos,
    /// 99 of 100 are no longer than this; with fewer than 100 samples, the longest.
    pub p99: Nanos,
    /// 999 of 1000 are no longer than this; `None` with fewer than [`SAMPLES_FOR_P999`] samples, which say nothing about it.
    pub p999: Option<Nanos>,
    /// The longest.
    pub max: Nanos,
}

impl Quantiles {
    /// Quantiles of these nanoseconds, less an overhead that each of them contains; `None` when there are none.
    ///
    /// The slice is sorted in place.
    #[must_use]
    pub fn of(nanos: &mut [u64], overhead: Nanos) -> Option<Self> {
        nanos.sort_unstable();
        let rank = |permille: usize| {
            let rank = (nanos.len() * permille).div_ceil(1000).max(1);
            nanos.get(rank - 1).map(|value| Nanos(value.saturating_sub(overhead.0)))
        };
        Some(Self {
            samples: nanos.len() as u64,
            min: rank(0)?,
            p50: rank(500)?,
            p90: rank(900)?,
            p99: rank(990)?,
            p999: if nanos.len() >= SAMPLES_FOR_P999 { rank(999) } else { None },
            max: rank(1000)?,
        })
    }
}

impl Quantiles {
    /// Quantiles of a histogram: how often each latency, in nanoseconds, was seen. `None` when it is empty.
    ///
    /// Histograms of several jobs are merged before they come here: a mean of percentiles is no percentile.
    #[must_use]
    pub fn of_counts(counts: &BTreeMap<u64, u64>) -> Option<Self> {
        let samples = counts.values().fold(0_u64, |sum, count| sum.saturating_add(*count));
        let rank = |permille: u128| {
            let rank = (u128::from(samples) * permille).div_ceil(1000).max(1);
            let mut seen = 0_u128;
            counts.iter().find_map(|(nanos, count)| {
                seen += u128::from(*count);
                (seen >= rank).then_some(Nanos(*nanos))
            })
        };
        Some(Self {
            samples,
            min: rank(0)?,
            p50: rank(500)?,
            p90: rank(900)?,
            p99: rank(990)?,
            p999: if samples >= SAMPLES_FOR_P999 as u64 { rank(999) } else { None },
            max: rank(1000)?,
        })
    }
}

/// The middle value, or the mean of the two in the middle; `None` of none.
#[must_use]
pub fn median(values: &[f64]) -> Option<f64> {
    let mut sorted = values.to_vec();
    sorted.sort_by(f64::total_cmp);
    let middle = sorted.len() / 2;
    let upper = *sorted.get(middle)?;
    Some(if sorted.len() % 2 == 1 { upper } else { f64::midpoint(sorted[middle - 1], upper) })
}

/// The median with an interval in which the true one lies with at least 95 % (sign test): as many values are left out at each end as a
/// fair coin makes improbable. With fewer than six values that is none, and the interval is their range. `None` of none.
#[must_use]
pub fn median_interval(values: &[f64]) -> Option<Estimate> {
    let value = median(values)?;
    let mut sorted = values.to_vec();
    sorted.sort_by(f64::total_cmp);
    let count = sorted.len();
    // As a logarithm: from 1075 values on one of 2^count is too small for a number.
    let (mut term, mut below, mut drop) = (-(count as f64) * std::f64::consts::LN_2, 0.0, 0);
    // `below` is the chance that at most `drop` values lie below the true median.
    while drop < count / 2 {
        below += term.exp();
        if below > 0.025 {
            break;
        }
        term += ((count - drop) as f64 / (drop + 1) as f64).ln();
        drop += 1;
    }
    let end = drop.saturating_sub(1);
    Some(Estimate { value, low: sorted[end], high: sorted[count - 1 - end] })
}

/// Two-sided 97.5 % points of Student's t for 1, 2, … degrees of freedom.
const T: [f64; 30] = [
    12.706, 4.303, 3.182, 2.776, 2.571, 2.447, 2.365, 2.306, 2.262, 2.228, 2.201, 2.179, 2.160, 2.145, 2.131, 2.120, 2.110,
    2.101, 2.093, 2.086, 2.080, 2.074, 2.069, 2.064, 2.060, 2.056, 2.052, 2.048, 2.045, 2.042,
];

/// The geometric mean of the ratios of interleaved pairs, with its 95 % interval (Student's t on the logarithms).
///
/// What disturbs a machine for a while disturbs both of a pair, so pairs say more than two means. `None` with fewer than
/// two pairs, or when a value is not positive.
#[must_use]
pub fn paired_ratio(pairs: &[(f64, f64)]) -> Option<Estimate> {
    let freedom = pairs.len().checked_sub(1).filter(|freedom| *freedom > 0)?;
    if pairs.iter().any(|(a, b)| !(*a > 0.0 && *b > 0.0 && a.is_finite() && b.is_finite())) {
        return None;
    }
    let logs: Vec<f64> = pairs.iter().map(|(a, b)| (a / b).ln()).collect();
    let mean = logs.iter().sum::<f64>() / logs.len() as f64;
    let variance = logs.iter().map(|log| (log - mean).powi(2)).sum::<f64>() / freedom as f64;
    let half = T.get(freedom - 1).copied().unwrap_or(1.96) * (variance / logs.len() as f64).sqrt();
    Some(Estimate { value: mean.exp(), low: (mean - half).exp(), high: (mean + half).exp() })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_interval_of_a_median_is_the_one_of_the_sign_test() {
        let of = |count: u32| median_interval(&(1..=count).rev().map(f64::from).collect::<Vec<_>>());
        let is = |low, value, high| Some(Estimate { value, low, high });
        // Tables of the sign test: 10 values leave out one at each end, 20 five, 5 none.
        assert_eq!((of(10), of(20), of(5)), (is(2.0, 5.5, 9.0), is(6.0, 10.5, 15.0), is(1.0, 3.0, 5.0)));
        // Exactly, with binomials as whole numbers.
        assert_eq!((of(1074), of(1075)), (is(505.0, 537.5, 570.0), is(505.0, 538.0, 571.0)));
        assert_eq!((of(2000), of(5000)), (is(956.0, 1000.5, 1045.0), is(2431.0, 2500.5, 2570.0)));
        assert_eq!((of(0), of(1), median(&[])), (None, is(1.0, 1.0, 1.0), None));
    }

    #[test]
    fn quantiles_are_latencies_that_occurred() {
        let mut nanos: Vec<u64> = (1..=200).rev().collect();
        let quantiles = Quantiles::of(&mut nanos, Nanos(0)).unwrap();
        let (min, p50, p90, p99, max) = (quantiles.min.0, quantiles.p50.0, quantiles.p90.0, quantiles.p99.0, quantiles.max.0);
        assert_eq!((quantiles.samples, min, p50, p90, p99, max), (200, 1, 100, 180, 198, 200));
        assert_eq!(quantiles.p999, None, "200 samples say nothing about one in a thousand");
        let mut many: Vec<u64> = (1..=10_000).collect();
        assert_eq!(Quantiles::of(&mut many, Nanos(0)).unwrap().p999, Some(Nanos(9990)));
        assert_eq!(Quantiles::of(&mut [], Nanos(0)), None);
        let one = Quantiles::of(&mut [7], Nanos(2)).unwrap();
        assert_eq!((one.min, one.p50, one.p99, one.max), (Nanos(5), Nanos(5), Nanos(5), Nanos(5)));
    }

    #[test]
    fn overhead_never_makes_a_latency_negative() {
        assert_eq!(Quantiles::of(&mut [3, 10], Nanos(5)).unwrap().min, Nanos(0));
    }

    #[test]
    fn a_histogram_has_the_quantiles_of_its_latencies() {
        let mut nanos: Vec<u64> = (0..20_000).map(|i| (i * 7919) % 1013).collect();
        let mut counts = BTreeMap::new();
        for value in &nanos {
            *counts.entry(*value).or_insert(0) += 1;
        }
        assert_eq!(Quantiles::of_counts(&counts), Quantiles::of(&mut nanos, Nanos(0)));
        assert_eq!(Quantiles::of_counts(&BTreeMap::new()), None);
        assert_eq!(Quantiles::of_counts(&BTreeMap::from([(5, 0)])), None);
        let huge = BTreeMap::from([(1, u64::MAX), (2, u64::MAX)]);
        assert_eq!(Quantiles::of_counts(&huge).map(|q| q.p50), Some(Nanos(1)), "sums that overflow are no panic");
    }

    #[test]
    fn pairs_cancel_what_disturbs_both() {
        let same = paired_ratio(&[(2.0, 1.0), (20.0, 10.0), (200.0, 100.0)]).unwrap();
        assert!((same.value - 2.0).abs() < 1e-12 && (same.high - same.low).abs() < 1e-12);
        // By hand: logarithms 0, ln 2, ln 4; mean ln 2, deviation ln 2, t 4.303 for two degrees of freedom.
        let spread = paired_ratio(&[(1.0, 1.0), (2.0, 1.0), (4.0, 1.0)]).unwrap();
        let half = (4.303 * 2.0_f64.ln() / 3.0_f64.sqrt()).exp();
        assert!((spread.value - 2.0).abs() < 1e-12, "{spread:?}");
        assert!((spread.low - 2.0 / half).abs() < 1e-9 && (spread.high - 2.0 * half).abs() < 1e-9, "{spread:?}");
        for bad in [&[(1.0, 1.0)][..], &[(1.0, 1.0), (0.0, 1.0)], &[(1.0, 1.0), (f64::NAN, 1.0)]] {
            assert_eq!(paired_ratio(bad), None);
        }
    }

    #[test]
    fn durations_are_read_as_people_write_them() {
        for (text, nanos) in [("1ms", 1_000_000), ("500us", 500_000), ("1.5 ms", 1_500_000), ("2s", 2_000_000_000), ("0ns", 0)] {
            assert_eq!(text.parse(), Ok(Nanos(nanos)), "{text}");
        }
        for text in ["", "1", "ms", "-1ms", "1m", "1.1.1s", "99999999999999s"] {
            assert!(text.parse::<Nanos>().is_err(), "{text}");
        }
    }

    #[test]
    fn durations_read_well() {
        for (nanos, text) in [
            (0, "0 ns"),
            (850, "850 ns"),
            (4_812, "4.8 µs"),
            (61_770, "62 µs"),
            (999_960, "1.0 ms"),
            (1_240_000, "1.2 ms"),
            (2_000_000_000, "2.0 s"),
        ] {
            assert_eq!(Nanos(nanos).to_string(), text);
        }
    }
}
