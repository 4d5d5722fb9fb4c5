//! What a sample says about the whole: estimates with 95 % confidence intervals.
//!
//! All are for a simple random sample drawn without replacement, so that a sample of everything has an interval of no width.
//!
//! A ratio of totals (original size by compressed size) is not a mean of ratios: it is estimated by the ratio of the sample's
//! totals, with the variance of the linearised residuals `x − R·y` (delta method; W. G. Cochran, Sampling Techniques, chapter 6).
//! The interval is taken on the logarithm, because a ratio is skewed, with Student's t, because the variance is estimated too. A
//! share has E. B. Wilson's interval, which stays inside 0 and 1 and does not collapse when nothing was seen.

use crate::measurement::Estimate;

/// Two-sided 95 % point of the normal distribution.
const Z: f64 = 1.959_963_985;

/// A share of a population: `hits` of `sampled` pages, drawn from `population`. `None` when nothing was sampled.
#[must_use]
pub fn share(hits: u64, sampled: u64, population: u64) -> Option<Estimate> {
    if sampled == 0 {
        return None;
    }
    let value = hits as f64 / sampled as f64;
    let left = fraction_left(sampled, population);
    if left == 0.0 {
        return Some(Estimate { value, low: value, high: value });
    }
    // Drawing without replacement tells as much as this many more draws with it.
    let n = sampled as f64 / left;
    let z2 = Z * Z;
    let middle = (value + z2 / (2.0 * n)) / (1.0 + z2 / n);
    let half = Z / (1.0 + z2 / n) * (value * (1.0 - value) / n + z2 / (4.0 * n * n)).sqrt();
    Some(Estimate { value, low: (middle - half).clamp(0.0, value), high: (middle + half).clamp(value, 1.0) })
}

/// A ratio of totals `Σx / Σy` over a population of known size, from a sample of pairs `(x, y)`.
///
/// `None` with fewer than two pairs, which have no interval, and when the denominators are all zero.
#[must_use]
pub fn ratio(pairs: impl Iterator<Item = (f64, f64)> + Clone, population: u64) -> Option<Estimate> {
    let (mut count, mut x, mut y) = (0_u64, 0.0, 0.0);
    for pair in pairs.clone() {
        count += 1;
        x += pair.0;
        y += pair.1;
    }
    let value = x / y;
    if count < 2 || y <= 0.0 || value <= 0.0 {
        return None;
    }
    let squares: f64 = pairs.map(|(x, y)| (x - value * y).powi(2)).sum();
    let variance = squares / (count - 1) as f64;
    let error = (variance * fraction_left(count, population) / count as f64).sqrt() / (y / count as f64);
    let half = student_t(count - 1) * error / value;
    Some(Estimate { value, low: value * (-half).exp(), high: value * half.exp() })
}

/// The part of the population that was not drawn: the finite population correction.
fn fraction_left(sampled: u64, population: u64) -> f64 {
    population.saturating_sub(sampled) as f64 / population.max(1) as f64
}

/// Two-sided 95 % point of Student's t, by Cornish and Fisher's expansion around the normal one; exact values below 5.
fn student_t(freedom: u64) -> f64 {
    const FEW: [f64; 5] = [f64::INFINITY, 12.706, 4.303, 3.182, 2.776];
    if let Some(exact) = usize::try_from(freedom).ok().and_then(|freedom| FEW.get(freedom)) {
        return *exact;
    }
    let n = freedom as f64;
    let third = 3.0 * Z.powi(7) + 19.0 * Z.powi(5) + 17.0 * Z.powi(3) - 15.0 * Z;
    Z + (Z.powi(3) + Z) / (4.0 * n)
        + (5.0 * Z.powi(5) + 16.0 * Z.powi(3) + 3.0 * Z) / (96.0 * n * n)
        + third / (384.0 * n.powi(3))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Steele's SplitMix64: enough to draw with.
    struct Draws(u64);

    impl Draws {
        fn next(&mut self) -> u64 {
            self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
            let mut x = self.0;
            x = (x ^ (x >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
            x = (x ^ (x >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
            x ^ (x >> 31)
        }

        fn unit(&mut self) -> f64 {
            (self.next() >> 11) as f64 / (1_u64 << 53) as f64
        }

        /// `count` elements, without replacement: the front of a shuffle.
        fn sample<'a>(&mut self, all: &'a mut [u16], count: usize) -> &'a [u16] {
            for index in 0..count {
                let other = index + (self.next() % (all.len() - index) as u64) as usize;
                all.swap(index, other);
            }
            &all[..count]
        }
    }

    /// Sizes as zstd makes them of a browser's heap, by the quartiles and shares of real pages: many tiny, a long tail, and 3 % that
    /// do not compress.
    fn population() -> Vec<u16> {
        // Size at each of these shares of the pages, straight between them.
        const QUANTILES: [(f64, f64); 7] =
            [(0.0, 24.0), (0.1, 79.0), (0.25, 120.0), (0.5, 286.0), (0.75, 1100.0), (0.9, 1816.0), (0.97, 3600.0)];
        let mut draws = Draws(7);
        (0..60_000)
            .map(|_| {
                let u = draws.unit();
                let above = QUANTILES.iter().position(|(share, _)| *share > u).unwrap_or(QUANTILES.len());
                let (Some((s0, v0)), Some((s1, v1))) = (QUANTILES.get(above - 1), QUANTILES.get(above)) else { return 4096 };
                (v0 + (v1 - v0) * (u - s0) / (s1 - s0)) as u16
            })
            .collect()
    }

    /// In how many of 200 samples of this size the interval holds the truth, for the ratio and for the share of large pages.
    fn covered(count: usize, seed: u64) -> (u32, u32) {
        let mut sizes = population();
        let all = sizes.len() as u64;
        let truth = 4096.0 * all as f64 / sizes.iter().map(|size| f64::from(*size)).sum::<f64>();
        let large = sizes.iter().filter(|size| **size > 3624).count() as f64 / all as f64;
        let mut draws = Draws(seed);
        let (mut ratios, mut shares) = (0, 0);
        for _ in 0..200 {
            let sample = draws.sample(&mut sizes, count);
            let estimate = ratio(sample.iter().map(|size| (4096.0, f64::from(*size))), all).unwrap();
            let hits = sample.iter().filter(|size| **size > 3624).count() as u64;
            let shared = share(hits, count as u64, all).unwrap();
            ratios += u32::from((estimate.low..=estimate.high).contains(&truth));
            shares += u32::from((shared.low..=shared.high).contains(&large));
        }
        (ratios, shares)
    }

    #[test]
    fn intervals_hold_the_truth_in_95_of_100_samples() {
        // Of 200 samples chance lets 180 to 198 intervals hold it; over ten times 200 the mean is known better.
        for count in [400, 1000, 4096] {
            let runs: Vec<(u32, u32)> = (1..=10).map(|seed| covered(count, seed)).collect();
            assert!(runs.iter().all(|(a, b)| (180..=198).contains(a) && (180..=198).contains(b)), "{count} pages: {runs:?}");
            let mean = |each: fn(&(u32, u32)) -> u32| runs.iter().map(each).sum::<u32>() as f64 / 2000.0;
            let (ratios, shares) = (mean(|run| run.0), mean(|run| run.1));
            assert!((0.935..=0.965).contains(&ratios), "{count} pages: ratio {ratios}, {runs:?}");
            assert!((0.93..=0.97).contains(&shares), "{count} pages: share {shares}, {runs:?}");
        }
    }

    #[test]
    fn a_sample_of_everything_is_the_truth() {
        let pairs = [(4096.0, 1000.0), (4096.0, 3096.0)];
        let all = ratio(pairs.into_iter(), 2).unwrap();
        assert_eq!((all.value, all.low, all.high), (2.0, 2.0, 2.0));
        let part = ratio(pairs.into_iter(), 2000).unwrap();
        assert!(part.low < 1.0 && part.high > 4.0, "two pages say little: {part:?}");
        let known = share(3, 12, 12).unwrap();
        assert_eq!((known.value, known.low, known.high), (0.25, 0.25, 0.25));
    }

    #[test]
    fn shares_are_wilsons() {
        // Wilson 1927; the values are those of any statistics package for 10 of 100 and 0 of 20.
        let ten = share(10, 100, u64::MAX).unwrap();
        assert!((ten.low - 0.0552).abs() < 1e-4 && (ten.high - 0.1744).abs() < 1e-4, "{ten:?}");
        let none = share(0, 20, u64::MAX).unwrap();
        assert!(none.low == 0.0 && (none.high - 0.1611).abs() < 1e-4, "{none:?}");
        assert_eq!(share(20, 20, u64::MAX).unwrap().high, 1.0);
        assert_eq!(share(0, 0, 10), None);
    }

    #[test]
    fn nothing_has_no_ratio() {
        assert_eq!(ratio(std::iter::empty(), 10), None);
        assert_eq!(ratio([(4096.0, 0.0)].into_iter(), 10), None);
        assert_eq!(ratio([(4096.0, 1024.0)].into_iter(), 10), None, "one page has no interval");
    }

    #[test]
    fn students_t_is_that_of_the_tables() {
        for (freedom, t) in [(1, 12.706), (4, 2.776), (5, 2.571), (10, 2.228), (30, 2.042), (100, 1.984), (10_000, 1.960)] {
            assert!((student_t(freedom) - t).abs() < 0.012, "{freedom}: {}", student_t(freedom));
        }
    }
}
