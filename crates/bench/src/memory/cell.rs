//! The units that are accessed: bytes and 8-byte words, each by one plain load or store that no compiler joins with its
//! neighbours or leaves out.

use std::sync::atomic::Ordering::Relaxed;
use std::sync::atomic::{AtomicU8, AtomicU64};

use swaptune_core::measurement::MemoryData;
use swaptune_host::sys::OwnRegion;

/// Bytes of a page of the content.
pub const PAGE: usize = 4096;

/// One unit.
pub trait Cell: Sized + Sync {
    /// Its size in bytes.
    const SIZE: usize;
    /// A region as such units.
    fn of(region: &mut OwnRegion) -> &[Self];
    /// The units of one word.
    fn of_word(word: u64) -> impl Iterator<Item = Self>;
    /// Its value.
    fn read(&self) -> u64;
    /// Takes the value of another.
    fn copy(&self, from: &Self);
}

impl Cell for AtomicU8 {
    const SIZE: usize = 1;

    fn of(region: &mut OwnRegion) -> &[Self] {
        region.byte_cells()
    }

    fn of_word(word: u64) -> impl Iterator<Item = Self> {
        word.to_le_bytes().into_iter().map(Self::new)
    }

    #[inline]
    fn read(&self) -> u64 {
        u64::from(self.load(Relaxed))
    }

    #[inline]
    fn copy(&self, from: &Self) {
        self.store(from.load(Relaxed), Relaxed);
    }
}

impl Cell for AtomicU64 {
    const SIZE: usize = 8;

    fn of(region: &mut OwnRegion) -> &[Self] {
        region.word_cells()
    }

    fn of_word(word: u64) -> impl Iterator<Item = Self> {
        std::iter::once(Self::new(word))
    }

    #[inline]
    fn read(&self) -> u64 {
        self.load(Relaxed)
    }

    #[inline]
    fn copy(&self, from: &Self) {
        self.store(from.load(Relaxed), Relaxed);
    }
}

/// Xorshift of 64 bits (Marsaglia 2003): a few instructions for a number.
#[derive(Clone, Debug)]
pub struct Xorshift(u64);

impl Xorshift {
    /// Begins; any seed will do.
    #[must_use]
    pub fn new(seed: u64) -> Self {
        Self(seed.wrapping_add(1).wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1)
    }

    /// The next 64 bits.
    #[inline]
    pub fn next(&mut self) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0
    }

    /// The next number below `end`.
    #[inline]
    pub fn below(&mut self, end: usize) -> usize {
        ((u128::from(self.next()) * end as u128) >> 64) as usize
    }
}

/// The words of a content, without end; `seed` makes random ones its own.
pub fn words(data: MemoryData, seed: u64) -> impl Iterator<Item = u64> {
    let mut random = Xorshift::new(seed);
    std::iter::repeat_with(move || match data {
        MemoryData::High => random.next(),
        // Byte i is i mod 8 (seed row E11).
        MemoryData::Low => u64::from_le_bytes([0, 1, 2, 3, 4, 5, 6, 7]),
        MemoryData::Zero => 0,
    })
}

/// Fills memory with a content. Zeros are written too, or there would be no pages.
pub fn fill(data: MemoryData, memory: &[AtomicU64], seed: u64) {
    memory.iter().zip(words(data, seed)).for_each(|(cell, word)| cell.store(word, Relaxed));
}

/// One page of a content: small enough to stay in the first cache, it is what writes come from.
#[must_use]
pub fn page<C: Cell>(data: MemoryData) -> Vec<C> {
    words(data, 7).take(PAGE / 8).flat_map(C::of_word).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn contents_are_what_they_are_called() {
        let mut region = OwnRegion::new(4 * PAGE).unwrap();
        fill(MemoryData::Low, region.word_cells(), 1);
        assert!(region.bytes().iter().enumerate().all(|(i, byte)| usize::from(*byte) == i % 8));
        fill(MemoryData::High, region.word_cells(), 1);
        let mut counts = [0_u32; 256];
        region.bytes().iter().for_each(|byte| counts[usize::from(*byte)] += 1);
        // 64 of each value are expected of 16384 random bytes.
        assert!(counts.iter().all(|count| (20..130).contains(count)), "{counts:?}");
        let first = region.bytes().to_vec();
        fill(MemoryData::High, region.word_cells(), 2);
        assert_ne!(first, region.bytes(), "another seed, another content");
        fill(MemoryData::Zero, region.word_cells(), 1);
        assert!(region.bytes().iter().all(|byte| *byte == 0));
    }

    #[test]
    fn a_page_is_the_same_in_either_unit() {
        let bytes: Vec<u8> = page::<AtomicU8>(MemoryData::High).iter().map(|cell| cell.load(Relaxed)).collect();
        let words = page::<AtomicU64>(MemoryData::High);
        assert_eq!((bytes.len(), words.len()), (PAGE, PAGE / 8));
        assert!(bytes.chunks(8).zip(&words).all(|(bytes, word)| bytes == word.load(Relaxed).to_le_bytes()));
    }

    #[test]
    fn numbers_at_random_reach_everything_below_the_end() {
        let mut random = Xorshift::new(0);
        let mut seen = [false; 10];
        (0..1000).for_each(|_| seen[random.below(10)] = true);
        assert_eq!(seen, [true; 10]);
    }
}
