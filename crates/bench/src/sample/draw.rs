//! A simple random sample of the pages of some processes.
//!
//! All present pages of all processes stand in one row, and every set of `count` of them has the same chance to be drawn. So each
//! page has the same chance, whatever process it belongs to; and the intervals of `swaptune_core::estimate`, which are for such a
//! sample, are right without knowing anything about processes. Drawing in proportion from each process would be a little more
//! exact for the whole, but its variance cannot be told where a process is left with one page or none.

use std::collections::HashSet;
use std::hash::{BuildHasher, RandomState};

use rand_pcg::Pcg64Mcg;
use rand_pcg::rand_core::{Rng, SeedableRng};
use swaptune_host::processes::{Located, page_bytes};

/// A seed that is another one each time.
#[must_use]
pub fn fresh_seed() -> u64 {
    // The keys of the standard library's hasher come from the system's source of randomness.
    RandomState::new().hash_one(0)
}

/// For each process the addresses to read, ascending: `count` pages of all of them together, or all when there are fewer.
#[must_use]
pub fn draw(processes: &[Located], count: u64, seed: u64) -> Vec<Vec<u64>> {
    let all = processes.iter().map(|located| located.present).sum();
    let mut drawn = indices(all, count, seed).into_iter().peekable();
    let mut first = 0;
    processes
        .iter()
        .map(|located| {
            let mut addresses = Vec::new();
            for run in &located.runs {
                let behind = first + run.pages;
                while let Some(index) = drawn.next_if(|index| *index < behind) {
                    addresses.push(run.start + (index - first) * page_bytes() as u64);
                }
                first = behind;
            }
            addresses
        })
        .collect()
}

/// `count` different numbers below `all`, ascending (R. W. Floyd's algorithm).
fn indices(all: u64, count: u64, seed: u64) -> Vec<u64> {
    let count = count.min(all);
    let mut rng = Pcg64Mcg::seed_from_u64(seed);
    let mut chosen = HashSet::with_capacity(usize::try_from(count).unwrap_or(0));
    for last in all - count..all {
        let candidate = below(&mut rng, last + 1);
        // A number that is there already makes room for the new last one, which cannot be.
        if !chosen.insert(candidate) {
            chosen.insert(last);
        }
    }
    let mut indices: Vec<u64> = chosen.into_iter().collect();
    indices.sort_unstable();
    indices
}

/// A number below `bound`, each as likely: the high half of a product, numbers that would come up too often drawn again
/// (D. Lemire, Fast Random Integer Generation in an Interval).
fn below(rng: &mut Pcg64Mcg, bound: u64) -> u64 {
    loop {
        let product = u128::from(rng.next_u64()) * u128::from(bound);
        let low = product as u64;
        if low >= bound || low >= bound.wrapping_neg() % bound {
            return (product >> 64) as u64;
        }
    }
}

#[cfg(test)]
mod tests {
    use swaptune_host::processes::PageRun;

    use super::*;

    #[test]
    fn every_page_has_the_same_chance() {
        let mut counts = [0_u32; 50];
        for seed in 0..20_000 {
            let drawn = indices(50, 10, seed);
            assert_eq!(drawn.len(), 10);
            assert!(drawn.windows(2).all(|pair| pair[0] < pair[1]));
            drawn.into_iter().for_each(|index| counts[index as usize] += 1);
        }
        // 20 000 draws of 10 in 50: 4000 each, with a deviation of 57. Chi-square of 49 degrees: 85 is one in a thousand.
        let chi: f64 = counts.iter().map(|count| (f64::from(*count) - 4000.0).powi(2) / (4000.0 * 0.8)).sum();
        assert!(chi < 85.0, "{chi}: {counts:?}");
    }

    #[test]
    fn the_same_seed_draws_the_same() {
        assert_eq!(indices(1_000_000, 4096, 7), indices(1_000_000, 4096, 7));
        assert_ne!(indices(1_000_000, 4096, 7), indices(1_000_000, 4096, 8));
        assert_eq!(indices(3, 10, 1), [0, 1, 2]);
        assert!(indices(0, 10, 1).is_empty());
    }

    #[test]
    fn addresses_are_those_of_present_pages() {
        let page = page_bytes() as u64;
        let located = |runs: &[(u64, u64)]| {
            let runs: Vec<PageRun> = runs.iter().map(|(start, pages)| PageRun { start: start * page, pages: *pages }).collect();
            Located { present: runs.iter().map(|run| run.pages).sum(), runs, ..Located::default() }
        };
        let processes = [located(&[(10, 2), (20, 1)]), located(&[]), located(&[(5, 3)])];
        let all = draw(&processes, 100, 1);
        assert_eq!(all, [vec![10 * page, 11 * page, 20 * page], vec![], vec![5 * page, 6 * page, 7 * page]]);
        let some = draw(&processes, 4, 1);
        assert_eq!(some.iter().map(Vec::len).sum::<usize>(), 4);
        assert!(some.iter().zip(&all).all(|(some, all)| some.iter().all(|address| all.contains(address))));
    }

    #[test]
    fn fresh_seeds_differ() {
        assert_ne!(fresh_seed(), fresh_seed());
    }
}
