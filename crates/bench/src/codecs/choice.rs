//! Random choices that are the same in every run.

/// SplitMix64 (Steele, Lea, Flood 2014).
#[derive(Clone, Debug)]
pub struct SplitMix(u64);

impl SplitMix {
    /// A stream of its own for each seed.
    pub fn new(seed: u64) -> Self {
        Self(seed)
    }

    /// The next number below `bound`, which is not 0.
    pub fn below(&mut self, bound: u64) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        let random = z ^ (z >> 31);
        ((u128::from(random) * u128::from(bound)) >> 64) as u64
    }
}

/// `count` numbers below `total`, each as likely as any other, ascending; all when there are no more.
pub fn choose(total: u64, count: usize) -> Vec<u64> {
    let mut random = SplitMix::new(total);
    let mut left = count as u64;
    // Selection sampling: number i is taken with the chance that what is still to be taken has among what is left.
    let take = |number: &u64| {
        let taken = random.below(total - number) < left;
        left -= u64::from(taken);
        taken
    };
    (0..total).filter(take).collect()
}

/// The numbers below `count` in a random order.
pub fn shuffled(count: usize) -> Vec<u32> {
    let mut random = SplitMix::new(count as u64);
    let mut numbers: Vec<u32> = (0..count as u32).collect();
    for last in (1..count).rev() {
        numbers.swap(last, random.below(last as u64 + 1) as usize);
    }
    numbers
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn as_many_as_asked_for_are_chosen_from_everywhere() {
        let chosen = choose(10_000, 1000);
        assert_eq!(chosen.len(), 1000);
        assert!(chosen.windows(2).all(|pair| pair[0] < pair[1]) && chosen[999] < 10_000);
        // Each tenth holds 100 of them; 60 to 140 is four standard deviations.
        let tenths = (0..10).map(|tenth| chosen.iter().filter(|number| **number / 1000 == tenth).count());
        assert!(tenths.into_iter().all(|count| (60..=140).contains(&count)));
        assert_eq!(choose(5, 9), [0, 1, 2, 3, 4]);
        assert!(choose(0, 9).is_empty());
    }

    #[test]
    fn a_shuffle_keeps_every_number() {
        let mut numbers = shuffled(1000);
        assert!(numbers.windows(2).filter(|pair| pair[0] < pair[1]).count() < 700);
        numbers.sort_unstable();
        assert_eq!(numbers, (0..1000).collect::<Vec<_>>());
    }
}
