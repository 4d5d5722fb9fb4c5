//! Canary pages: what is written into memory before it is pushed out, and how it is known again when it comes back.
//!
//! The content of a page is a function of its class, its number and a seed, so checking needs no copy that could
//! itself be swapped out. Every page but the zero ones begins with its number and the seed: a page that comes back in
//! the place of another is seen.

use std::fmt;

use serde::{Deserialize, Serialize};

/// Kinds of content that a kernel treats differently.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum CanaryClass {
    /// All bytes zero: kept as a mark, not as data, by most kernels.
    Zero,
    /// One word of eight bytes over and over, another in each page: kept as that word up to Linux 6.11.
    Same,
    /// Words in a random order: compresses two- to fourfold, as application memory does.
    Text,
    /// Random bytes: does not compress at all.
    Random,
}

impl CanaryClass {
    /// All classes.
    pub const ALL: [Self; 4] = [Self::Zero, Self::Same, Self::Text, Self::Random];
    /// Those of a proof, in the order in which they are pushed.
    pub const PROVED: [Self; 3] = [Self::Zero, Self::Text, Self::Random];

    /// Writes the content of page `number` into `page`.
    pub fn fill(self, page: &mut [u8], number: u64, seed: u64) {
        match self {
            Self::Zero => page.fill(0),
            Self::Same => {
                let word = CanaryRandom::new(number, seed).next().to_le_bytes();
                page.chunks_mut(8).for_each(|chunk| chunk.copy_from_slice(&word[..chunk.len()]));
            }
            Self::Text => {
                let (stamp, rest) = page.split_at_mut(STAMP.min(page.len()));
                write_stamp(stamp, number, seed);
                write_words(rest, &mut CanaryRandom::new(number, seed));
            }
            Self::Random => {
                let (stamp, rest) = page.split_at_mut(STAMP.min(page.len()));
                write_stamp(stamp, number, seed);
                let mut random = CanaryRandom::new(number, seed);
                for chunk in rest.chunks_mut(8) {
                    chunk.copy_from_slice(&random.next().to_le_bytes()[..chunk.len()]);
                }
            }
        }
    }
}

impl fmt::Display for CanaryClass {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(match self {
            Self::Zero => "zero",
            Self::Same => "same",
            Self::Text => "text",
            Self::Random => "random",
        })
    }
}

/// Bytes at the start of a page that hold its number and the seed.
const STAMP: usize = 16;

fn write_stamp(stamp: &mut [u8], number: u64, seed: u64) {
    let mut whole = [0; STAMP];
    whole[..8].copy_from_slice(&number.to_le_bytes());
    whole[8..].copy_from_slice(&seed.to_le_bytes());
    stamp.copy_from_slice(&whole[..stamp.len()]);
}

/// Words of eight bytes with their space, so that a page is filled by copying without a remainder. They come in
/// phrases; between phrases stand numbers as programs have them, small with zero bytes above.
const WORDS: [&[u8; 8]; 32] = [
    b"memory  ",
    b"kernel  ",
    b"compress",
    b"page    ",
    b"swapped ",
    b"idle    ",
    b"window  ",
    b"string  ",
    b"object  ",
    b"function",
    b"return  ",
    b"value   ",
    b"default ",
    b"message ",
    b"address ",
    b"request ",
    b"response",
    b"content ",
    b"document",
    b"element ",
    b"callback",
    b"handler ",
    b"promise ",
    b"context ",
    b"resource",
    b"version ",
    b"license ",
    b"package ",
    b"library ",
    b"process ",
    b"thread  ",
    b"pointer ",
];

fn write_words(target: &mut [u8], random: &mut CanaryRandom) {
    let (mut words, mut next) = (0, 0);
    for chunk in target.chunks_mut(8) {
        let word = if words == 0 {
            let bits = random.next();
            words = bits as usize % 6;
            next = (bits >> 8) as usize;
            (bits >> 46).to_le_bytes()
        } else {
            words -= 1;
            next += 1;
            *WORDS[next % WORDS.len()]
        };
        chunk.copy_from_slice(&word[..chunk.len()]);
    }
}

/// xorshift64*: fast, and random enough that no compressor finds anything in it.
struct CanaryRandom(u64);

impl CanaryRandom {
    fn new(number: u64, seed: u64) -> Self {
        // Neighbouring numbers must not give neighbouring streams; zero is the one state xorshift cannot leave.
        let mixed = (seed ^ number.wrapping_mul(0x9e37_79b9_7f4a_7c15)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        Self((mixed ^ (mixed >> 31)) | 1)
    }

    fn next(&mut self) -> u64 {
        self.0 ^= self.0 >> 12;
        self.0 ^= self.0 << 25;
        self.0 ^= self.0 >> 27;
        self.0.wrapping_mul(0x2545_f491_4f6c_dd1d)
    }
}

/// A byte that came back different.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Corruption {
    /// Number of the page within its class.
    pub page: u64,
    /// Offset of the first wrong byte.
    pub offset: u64,
    /// What was written.
    pub expected: u8,
    /// What came back.
    pub found: u8,
}

impl Corruption {
    /// The first difference between what was written and what came back.
    #[must_use]
    pub fn find(page: u64, expected: &[u8], found: &[u8]) -> Option<Self> {
        if expected == found {
            return None;
        }
        let offset = expected.iter().zip(found).position(|(a, b)| a != b)?;
        Some(Self { page, offset: offset as u64, expected: expected[offset], found: found[offset] })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn page(class: CanaryClass, number: u64, seed: u64) -> Vec<u8> {
        let mut page = vec![0xaa; 4096];
        class.fill(&mut page, number, seed);
        page
    }

    #[test]
    fn content_is_a_function_of_class_number_and_seed() {
        for class in [CanaryClass::Same, CanaryClass::Text, CanaryClass::Random] {
            assert_eq!(page(class, 3, 9), page(class, 3, 9));
            assert_ne!(page(class, 3, 9), page(class, 4, 9));
            assert_ne!(page(class, 3, 9), page(class, 3, 10));
            assert_ne!(page(class, 0, 0)[STAMP..], page(class, 1, 0)[STAMP..]);
        }
        assert!(page(CanaryClass::Zero, 3, 9).iter().all(|byte| *byte == 0));
        let same = page(CanaryClass::Same, 3, 9);
        assert!(same.chunks(8).all(|chunk| *chunk == same[..8]) && same[..8] != [0; 8]);
    }

    #[test]
    fn random_pages_use_all_bytes_and_text_pages_do_not() {
        let distinct = |class| {
            let mut seen = [false; 256];
            page(class, 1, 2)[STAMP..].iter().for_each(|byte| seen[usize::from(*byte)] = true);
            seen.iter().filter(|seen| **seen).count()
        };
        assert!(distinct(CanaryClass::Random) > 250);
        let zeros = page(CanaryClass::Text, 1, 2).iter().filter(|byte| **byte == 0).count();
        assert!((500..2000).contains(&zeros), "{zeros}");
    }

    #[test]
    fn the_first_wrong_byte_is_found() {
        let good = page(CanaryClass::Random, 1, 2);
        assert_eq!(Corruption::find(1, &good, &good), None);
        let mut bad = good.clone();
        bad[77] ^= 1;
        let found = Corruption::find(1, &good, &bad).unwrap();
        assert_eq!((found.page, found.offset, found.expected ^ found.found), (1, 77, 1));
    }

    #[test]
    fn pages_of_any_size_can_be_filled() {
        for size in [0, 7, 16, 20, 4097] {
            for class in CanaryClass::ALL {
                class.fill(&mut vec![1; size], 5, 6);
            }
        }
    }
}
