//! Which configuration is better, and when it must not be said.
//!
//! What disturbs a machine for a while disturbs a whole block of runs, so only ratios within a block count. An interval comes from
//! resampling blocks, and a claim needs more: the exact test that flips the sign of each block's difference (Fisher's randomisation
//! test), corrected for the number of configurations (Holm), and a difference beyond what two runs of the same configuration show.

use std::cmp::Ordering;

use rand_pcg::Pcg64Mcg;
use rand_pcg::rand_core::{Rng, SeedableRng};
use swaptune_core::measurement::{CompareVerdict, Comparison};
use swaptune_core::stats::{Estimate, median};

/// The chance that is taken of calling two equal configurations different, over all of them.
const LEVEL: f64 = 0.05;
/// How often blocks are drawn for an interval.
const RESAMPLES: usize = 4000;
/// Up to this number of blocks every choice of signs is tried; beyond, as many are drawn.
const EXACT: usize = 14;
/// Intervals of the same figures are the same at each look.
const SEED: u64 = 0x5eed;

/// Judges configurations against the first. `pairs` has, for each of the others, what it took and what the first took in the same
/// block, less being better; `same` has pairs of the first configuration with itself. Within `delta` (0.03 for 3 %) two are equivalent.
pub fn judge(pairs: &[Vec<(f64, f64)>], same: &[(f64, f64)], delta: f64) -> Vec<Option<Comparison>> {
    let resolution = resolution(same).unwrap_or(1.0);
    let tests: Vec<Option<(Estimate, f64)>> = pairs.iter().map(|pairs| Some((interval(pairs)?, sign_flips(pairs)?))).collect();
    let corrected = holm(&tests.iter().map(|test| test.map(|(_, p)| p)).collect::<Vec<_>>());
    let judged = tests.into_iter().zip(corrected);
    judged.map(|(test, p)| Some(verdict(test?.0, p?, resolution, delta))).collect()
}

/// The fewest blocks with which a difference from the first can be proved when `others` are compared with it: however clear, the exact test
/// gives no chance below 2 of 2ⁿ, and Holm's correction multiplies it.
pub fn blocks_needed(others: usize) -> usize {
    let smallest = |blocks: &usize| 0.5_f64.powi(*blocks as i32 - 1) * others.max(1) as f64;
    (1..=64).find(|blocks| smallest(blocks) <= LEVEL).unwrap_or(64)
}

/// The ratio that two runs of the same configuration may show: smaller differences are this machine's, not the configuration's. `None`
/// without two pairs.
pub fn resolution(same: &[(f64, f64)]) -> Option<f64> {
    let interval = interval(same)?;
    Some(interval.high.max(1.0 / interval.low))
}

fn verdict(ratio: Estimate, p: f64, resolution: f64, delta: f64) -> Comparison {
    let differs = p <= LEVEL && ratio.value.max(1.0 / ratio.value) > resolution;
    let verdict = match ratio {
        ratio if differs && ratio.high < 1.0 => CompareVerdict::Better,
        ratio if differs && ratio.low > 1.0 => CompareVerdict::Worse,
        ratio if ratio.low >= 1.0 / (1.0 + delta) && ratio.high <= 1.0 + delta => CompareVerdict::Equivalent,
        _ => CompareVerdict::Inconclusive,
    };
    Comparison { ratio, p, verdict }
}

/// What may be said where a configuration has other than as many failed runs as the first (`failures`: its number against the first's). Those
/// that ended are a choice then, of the easier moments: the one that fails more is neither better nor as good.
pub fn with_failures(verdict: CompareVerdict, failures: Ordering) -> CompareVerdict {
    match (failures, verdict) {
        (Ordering::Greater, CompareVerdict::Better | CompareVerdict::Equivalent)
        | (Ordering::Less, CompareVerdict::Worse | CompareVerdict::Equivalent) => CompareVerdict::Inconclusive,
        (_, verdict) => verdict,
    }
}

/// The median ratio of the blocks with its 95 % interval (percentiles of medians of resampled blocks). `None` with fewer than two blocks,
/// or when a figure is not positive.
fn interval(pairs: &[(f64, f64)]) -> Option<Estimate> {
    let ratios = ratios(pairs)?;
    let mut rng = Pcg64Mcg::seed_from_u64(SEED);
    let mut draw = || ratios[below(&mut rng, ratios.len())];
    let mut medians: Vec<f64> = Vec::with_capacity(RESAMPLES);
    for _ in 0..RESAMPLES {
        medians.extend(median(&(0..ratios.len()).map(|_| draw()).collect::<Vec<_>>()));
    }
    medians.sort_by(f64::total_cmp);
    let at = |share: f64| medians[((medians.len() - 1) as f64 * share).round() as usize];
    Some(Estimate { value: median(&ratios)?, low: at(0.025), high: at(0.975) })
}

/// The chance of a difference at least as large if each block's sign were by chance: two-sided, on the sum of logarithms.
fn sign_flips(pairs: &[(f64, f64)]) -> Option<f64> {
    let logs: Vec<f64> = ratios(pairs)?.iter().map(|ratio| ratio.ln()).collect();
    let seen = logs.iter().sum::<f64>().abs() * (1.0 - 1e-12);
    let extreme = |signs: &[u64]| {
        let is_flipped = |block: usize| signs.get(block / 64).is_some_and(|word| word >> (block % 64) & 1 == 1);
        let sum: f64 = logs.iter().enumerate().map(|(block, log)| if is_flipped(block) { -log } else { *log }).sum();
        sum.abs() >= seen
    };
    if logs.len() <= EXACT {
        let all = 1_u64 << logs.len();
        return Some((0..all).filter(|signs| extreme(&[*signs])).count() as f64 / all as f64);
    }
    let mut rng = Pcg64Mcg::seed_from_u64(SEED);
    let draws = 1_usize << EXACT;
    let mut draw = || -> Vec<u64> { (0..logs.len().div_ceil(64)).map(|_| rng.next_u64()).collect() };
    let extremes = (0..draws).filter(|_| extreme(&draw())).count();
    // What was seen is one of the choices.
    Some((extremes + 1) as f64 / (draws + 1) as f64)
}

fn ratios(pairs: &[(f64, f64)]) -> Option<Vec<f64>> {
    let usable = pairs.len() >= 2 && pairs.iter().all(|(a, b)| *a > 0.0 && *b > 0.0 && a.is_finite() && b.is_finite());
    usable.then(|| pairs.iter().map(|(a, b)| a / b).collect())
}

/// Holm's correction: the smallest of `n` chances counts `n` times, the next `n - 1` times, none less than the one before.
fn holm(chances: &[Option<f64>]) -> Vec<Option<f64>> {
    let mut order: Vec<usize> = (0..chances.len()).filter(|place| chances[*place].is_some()).collect();
    order.sort_by(|a, b| chances[*a].unwrap_or(1.0).total_cmp(&chances[*b].unwrap_or(1.0)));
    let mut corrected = vec![None; chances.len()];
    let mut before = 0.0_f64;
    for (rank, place) in order.iter().enumerate() {
        before = before.max(chances[*place].unwrap_or(1.0) * (order.len() - rank) as f64).min(1.0);
        corrected[*place] = Some(before);
    }
    corrected
}

fn below(rng: &mut Pcg64Mcg, count: usize) -> usize {
    (rng.next_u64() % count.max(1) as u64) as usize
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A configuration's value and the first one's, by block.
    type Pairs = Vec<(f64, f64)>;

    /// A block of `others` configurations that differ from the first by these factors, and the first twice, with noise of `spread`
    /// within a block and four times as much from block to block.
    fn blocks(factors: &[f64], blocks: usize, spread: f64, seed: u64) -> (Vec<Pairs>, Pairs) {
        let mut rng = Pcg64Mcg::seed_from_u64(seed);
        // Twelve uniform numbers are nearly a normal one.
        let mut normal = |spread: f64| {
            let sum: f64 = (0..12).map(|_| (rng.next_u64() >> 11) as f64 / (1_u64 << 53) as f64).sum();
            ((sum - 6.0) * spread).exp()
        };
        let (mut pairs, mut same) = (vec![Vec::new(); factors.len()], Vec::new());
        for _ in 0..blocks {
            let level = 100.0 * normal(spread * 4.0);
            let first = level * normal(spread);
            factors.iter().zip(&mut pairs).for_each(|(factor, pairs)| pairs.push((level * factor * normal(spread), first)));
            same.push((level * normal(spread), first));
        }
        (pairs, same)
    }

    fn verdicts(factors: &[f64], count: usize, spread: f64, seed: u64) -> Vec<CompareVerdict> {
        let (pairs, same) = blocks(factors, count, spread, seed);
        judge(&pairs, &same, 0.03).into_iter().map(|found| found.unwrap().verdict).collect()
    }

    #[test]
    fn a_clear_difference_is_proved_with_the_fewest_blocks_and_not_with_one_less() {
        for others in [1, 3, 8] {
            let needed = blocks_needed(others);
            let found = |blocks| verdicts(&vec![0.2; others], blocks, 0.001, 3);
            assert_eq!(found(needed), vec![CompareVerdict::Better; others], "{needed} blocks");
            assert!(!found(needed - 1).contains(&CompareVerdict::Better), "{others} others: {needed} blocks are too many");
        }
        assert_eq!([1, 2, 3, 5].map(blocks_needed), [6, 7, 7, 8]);
    }

    #[test]
    fn equal_configurations_are_called_different_in_one_set_of_twenty_at_most() {
        for (count, others) in [(6, 1), (10, 1), (10, 5), (24, 3)] {
            let wrong = |seed: &u64| {
                let found = verdicts(&vec![1.0; others], count, 0.05, *seed);
                found.iter().any(|verdict| matches!(verdict, CompareVerdict::Better | CompareVerdict::Worse))
            };
            let wrong = (0..200).filter(wrong).count();
            assert!(wrong <= 10, "{wrong} of 200 sets of {count} blocks, {others} others");
        }
    }

    #[test]
    fn what_differs_by_more_than_noise_is_found() {
        let found = |seed: &u64| verdicts(&[0.8, 1.0, 1.25], 12, 0.03, *seed);
        let right = |found: &Vec<CompareVerdict>| found[0] == CompareVerdict::Better && found[2] == CompareVerdict::Worse;
        assert!((0..50).map(|seed| found(&seed)).filter(right).count() >= 48);
        assert_eq!(verdicts(&[1.0], 24, 0.01, 1), [CompareVerdict::Equivalent]);
        assert_eq!(verdicts(&[1.0], 12, 0.3, 1), [CompareVerdict::Inconclusive]);
    }

    #[test]
    fn more_blocks_than_a_word_has_bits_are_judged_like_few() {
        assert_eq!(verdicts(&[0.8, 1.25], 70, 0.03, 1), [CompareVerdict::Better, CompareVerdict::Worse]);
        // Half of them say so and half the opposite, the latter past the first word.
        let split: Vec<(f64, f64)> = (0..128).map(|block| if block < 64 { (2.0, 1.0) } else { (1.0, 2.0) }).collect();
        assert!(sign_flips(&split).unwrap() > 0.9);
    }

    #[test]
    fn five_blocks_prove_nothing() {
        assert_eq!(verdicts(&[0.5], 5, 0.001, 1), [CompareVerdict::Inconclusive], "2 of 32 choices of signs are as extreme");
        assert_eq!(verdicts(&[0.5], 6, 0.001, 1), [CompareVerdict::Better], "2 of 64 are");
    }

    #[test]
    fn a_difference_that_the_same_configuration_shows_too_is_none() {
        let pairs: Vec<(f64, f64)> = (0..12).map(|_| (104.0, 100.0)).collect();
        let noisy = |block: i32| if block % 2 == 0 { (120.0, 100.0) } else { (100.0, 120.0) };
        let judged = |same: &[(f64, f64)]| judge(std::slice::from_ref(&pairs), same, 0.03)[0].unwrap().verdict;
        assert_eq!(judged(&[(100.0, 100.0); 12]), CompareVerdict::Worse);
        assert_eq!(judged(&(0..12).map(noisy).collect::<Vec<_>>()), CompareVerdict::Inconclusive);
    }

    #[test]
    fn corrected_chances_are_those_of_holm() {
        let near = |found: Vec<Option<f64>>, wanted: [Option<f64>; 4]| {
            found
                .iter()
                .zip(wanted)
                .all(|(a, b)| a.is_some() == b.is_some() && (a.unwrap_or(0.0) - b.unwrap_or(0.0)).abs() < 1e-9)
        };
        let chances = [Some(0.04), Some(0.01), None, Some(0.03)];
        assert!(near(holm(&chances), [Some(0.06), Some(0.03), None, Some(0.06)]));
        assert!(near(holm(&[Some(0.9), Some(0.8), Some(0.7), Some(0.6)]), [Some(1.0); 4]));
    }

    #[test]
    fn what_cannot_be_compared_has_no_verdict() {
        assert_eq!(judge(&[vec![(1.0, 1.0)], vec![(0.0, 1.0), (1.0, 1.0)], Vec::new()], &[], 0.03), [None, None, None]);
        assert_eq!(resolution(&[]), None);
    }
}
