//! What is in the pages: some hundred made-up pages that the whole workload is filled with, one after the other.
//!
//! Their compressed sizes are asked for once each, and are then those of every page: the simulator gets the sizes of the
//! very bytes that the kernel compresses.

use swaptune_core::proof::CanaryClass;
use swaptune_tiers::alloc::PAGE_SIZE;

/// Bytes of a page.
pub(super) const PAGE: usize = PAGE_SIZE as usize;
/// Random bytes come in this many steps from none to a whole page.
const STEPS: usize = 64;
/// Different pages of each step.
const VARIANTS: usize = 4;
/// Number of the page of zeros, and of the one that one word fills.
pub(super) const ZERO: u16 = 0;
const SAME: u16 = 1;
/// Numbers of the others begin here.
const FIRST: u16 = 2;
/// How many there are.
pub(super) const COUNT: u16 = FIRST + ((STEPS + 1) * VARIANTS) as u16;
/// Bytes of text behind the random ones, as far as there is room; zeros follow.
const TEXT: usize = PAGE / 2;
/// What a page of text takes, roughly, under a fast codec.
const TEXT_PAGE: usize = 1_580;
/// Any: pages must be the same in every run.
const SEED: u64 = 11;

/// Which content suits a page that is said to compress to `size` bytes: 0 is same-filled, by turns with zeros and with another
/// word; 4096 does not compress; between, random bytes before text and zeros.
pub(super) fn suiting(page: u32, size: u16) -> u16 {
    if size == 0 {
        return if page % 2 == 0 { ZERO } else { SAME };
    }
    // A random byte adds one where zeros were, and less in the place of text.
    let beside_zeros = usize::from(size).saturating_sub(TEXT_PAGE * TEXT / PAGE);
    let beside_text = usize::from(size).saturating_sub(TEXT_PAGE) * PAGE / (PAGE - TEXT_PAGE);
    let random = beside_zeros.min(PAGE - TEXT).max(beside_text);
    let step = (random * STEPS / PAGE).min(STEPS);
    FIRST + (step * VARIANTS + page as usize % VARIANTS) as u16
}

/// Writes content number `number`.
pub(super) fn fill(number: u16, page: &mut [u8]) {
    match number {
        ZERO => CanaryClass::Zero.fill(page, 0, SEED),
        SAME => CanaryClass::Same.fill(page, 1, SEED),
        _ => {
            let random = usize::from(number - FIRST) / VARIANTS * PAGE / STEPS;
            CanaryClass::Text.fill(page, u64::from(number), SEED);
            page[(random + TEXT).min(PAGE)..].fill(0);
            CanaryClass::Random.fill(&mut page[..random], u64::from(number), SEED);
        }
    }
}

/// All contents, one behind the other.
pub(super) fn all() -> Vec<u8> {
    let mut bytes = vec![0; usize::from(COUNT) * PAGE];
    bytes.chunks_mut(PAGE).zip(0..).for_each(|(page, number)| fill(number, page));
    bytes
}

#[cfg(test)]
mod tests {
    use super::*;
    use swaptune_bench::codec::{CODECS, CodecSetting, same_filled};

    #[test]
    fn pages_compress_to_about_what_they_are_said_to() {
        let lz4 = CODECS.iter().find(|codec| codec.name == "lz4").unwrap();
        let mut lz4 = CodecSetting::of(lz4).open(PAGE).unwrap();
        let (mut page, mut out) = (vec![0; PAGE], vec![0; 2 * PAGE]);
        for size in [1000, 1365, 2000, 3000] {
            fill(suiting(5, size), &mut page);
            let found = lz4.compress(&page, &mut out).unwrap();
            assert!(found.abs_diff(usize::from(size)) < 300, "{size}: {found}");
        }
        fill(suiting(5, 4096), &mut page);
        assert!(lz4.compress(&page, &mut out).is_none_or(|size| size >= PAGE));
    }

    #[test]
    fn same_filled_pages_are_zeros_or_another_word_and_no_number_is_beyond_the_end() {
        let mut page = vec![1; PAGE];
        fill(suiting(4, 0), &mut page);
        assert_eq!(same_filled(&page), Some(true));
        fill(suiting(5, 0), &mut page);
        assert_eq!(same_filled(&page), Some(false));
        assert!((0..=4096).all(|size| (0..8).all(|page| suiting(page, size) < COUNT)));
        assert_eq!(all().len(), usize::from(COUNT) * PAGE);
    }
}
