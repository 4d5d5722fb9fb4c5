//! How large pages are when compressed.

/// Compressed size of each page, in bytes: 0 is a page of zeros, 4096 and more do not compress.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum CompressedSizes {
    /// One size for each page of the trace; pages beyond its end start over.
    Each(Vec<u16>),
    /// Each page has the size of one of these, drawn by its number and the seed: a sample of real pages.
    Drawn(Vec<u16>),
}

impl CompressedSizes {
    /// Whether some page may be one of zeros.
    #[must_use]
    pub fn has_zeros(&self) -> bool {
        let (Self::Each(sizes) | Self::Drawn(sizes)) = self;
        sizes.is_empty() || sizes.contains(&0)
    }

    /// Size of a page.
    #[inline]
    #[must_use]
    pub fn of(&self, page: u32, seed: u64) -> u16 {
        match self {
            Self::Each(sizes) | Self::Drawn(sizes) if sizes.is_empty() => 0,
            Self::Each(sizes) => sizes[page as usize % sizes.len()],
            Self::Drawn(sizes) => {
                let draw = mix(seed.wrapping_mul(0xD134_2543_DE82_EF95) ^ u64::from(page)) >> 32;
                sizes[((draw * sizes.len() as u64) >> 32) as usize]
            }
        }
    }
}

/// A step of SplitMix64: spreads a number over all 64 bits. By hand, because a store needs it for each page and the seeding of
/// `rand_xoshiro` is not inlined.
const fn mix(number: u64) -> u64 {
    let z = number.wrapping_add(0x9E37_79B9_7F4A_7C15);
    let z = (z ^ (z >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
    let z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
    z ^ (z >> 31)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_draw_has_the_shares_of_the_sample() {
        let sizes = CompressedSizes::Drawn(vec![0, 1000, 1000, 4096]);
        let count = |size| (0..100_000).filter(|&page| sizes.of(page, 7) == size).count();
        assert!((24_000..26_000).contains(&count(0)) && (49_000..51_000).contains(&count(1000)));
        assert_ne!(
            (0..50).map(|page| sizes.of(page, 1)).collect::<Vec<_>>(),
            (0..50).map(|page| sizes.of(page, 2)).collect::<Vec<_>>()
        );
        assert_eq!(CompressedSizes::Each(vec![5, 6]).of(3, 0), 6);
    }

    #[test]
    fn without_sizes_all_pages_are_zeros() {
        for none in [CompressedSizes::Each(vec![]), CompressedSizes::Drawn(vec![])] {
            assert_eq!((none.of(3, 1), none.has_zeros()), (0, true));
        }
        let some = [
            CompressedSizes::Each(vec![700, 0]),
            CompressedSizes::Drawn(vec![700, 0]),
            CompressedSizes::Each(vec![700]),
            CompressedSizes::Drawn(vec![700]),
        ];
        assert_eq!(some.map(|sizes| sizes.has_zeros()), [true, true, false, false]);
    }
}
