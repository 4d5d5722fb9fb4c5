//! A set of positions of a trace that answers quickly how many of them lie beyond a given one.
//!
//! Bits, and counts of set bits of larger and larger parts: 8 words, then 64 of those, then 64 of those, and so on. A question
//! adds up a few words and at most 63 counts of each size, all next to each other in memory; the whole takes an eighth of a
//! byte per position and little more. Trees that halve need a jump per bit of the length instead.

/// Words that the smallest count is of.
const WORDS: usize = 8;
/// Counts that a larger count is of.
const FAN_OUT: usize = 64;

/// The set.
#[derive(Debug)]
pub(super) struct Positions {
    words: Vec<u64>,
    /// Counts of [`WORDS`] words, of [`FAN_OUT`] times as many, and so on.
    levels: Vec<Vec<u32>>,
}

impl Positions {
    /// An empty set of positions below `length`.
    pub(super) fn new(length: usize) -> Self {
        let words = length.div_ceil(64).max(1);
        let mut levels = vec![vec![0; words.div_ceil(WORDS)]];
        while let Some(below) = levels.last().map(Vec::len).filter(|&below| below > FAN_OUT) {
            levels.push(vec![0; below.div_ceil(FAN_OUT)]);
        }
        Self { words: vec![0; words], levels }
    }

    /// Adds a position that is not in the set.
    pub(super) fn insert(&mut self, position: usize) {
        self.words[position / 64] |= 1 << (position % 64);
        let mut at = position / 64 / WORDS;
        for level in &mut self.levels {
            level[at] += 1;
            at /= FAN_OUT;
        }
    }

    /// Takes a position out that is in the set.
    pub(super) fn remove(&mut self, position: usize) {
        self.words[position / 64] &= !(1 << (position % 64));
        let mut at = position / 64 / WORDS;
        for level in &mut self.levels {
            level[at] -= 1;
            at /= FAN_OUT;
        }
    }

    /// How many are larger than `position`, when none is larger than `newest`.
    pub(super) fn count_beyond(&self, position: usize, newest: usize) -> u32 {
        let (word, newest) = (position / 64, newest / 64);
        // Two shifts: one by 64 would be none at all.
        let mut count = (self.words[word] >> (position % 64) >> 1).count_ones();
        let end = (word + 1).next_multiple_of(WORDS).min(newest + 1);
        count += self.words[(word + 1).min(end)..end].iter().map(|word| word.count_ones()).sum::<u32>();
        let (mut at, mut newest) = (word / WORDS, newest / WORDS);
        for level in &self.levels {
            if at >= newest {
                break;
            }
            let end = (at + 1).next_multiple_of(FAN_OUT).min(newest + 1);
            count += level[at + 1..end].iter().sum::<u32>();
            (at, newest) = (at / FAN_OUT, newest / FAN_OUT);
        }
        count
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn counts_are_those_of_a_sorted_set(length in 1..300_000usize, ops in prop::collection::vec((any::<prop::sample::Index>(), any::<prop::sample::Index>()), 1..200)) {
            let (mut positions, mut set) = (Positions::new(length), BTreeSet::new());
            for (at, from) in ops {
                let (at, from) = (at.index(length), from.index(length));
                if set.insert(at) { positions.insert(at) } else { set.remove(&at); positions.remove(at) }
                let newest = set.last().copied().unwrap_or(0).max(from);
                prop_assert_eq!(positions.count_beyond(from, newest) as usize, set.range(from + 1..).count());
                prop_assert_eq!(positions.count_beyond(from, length - 1) as usize, set.range(from + 1..).count());
            }
        }
    }
}
