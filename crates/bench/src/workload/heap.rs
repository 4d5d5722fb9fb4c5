//! A heap of objects of a page each, which transactions read and change.

use std::hint::black_box;
use std::io;

use rand_pcg::Pcg64Mcg;
use rand_pcg::rand_core::{Rng, SeedableRng};

use super::Ask;

const PAGE: usize = 4096;
/// Transactions for each object.
const TRANSACTIONS: usize = 4;
/// Transactions of ten that go to a fifth of the objects.
const HOT_OF_TEN: u64 = 8;
/// Words that a transaction changes.
const WORDS: usize = 32;

/// Makes the objects, then plays the transactions.
pub(super) fn run(ask: &Ask) -> io::Result<()> {
    let objects = usize::try_from(ask.size.0).map_err(io::Error::other)? / PAGE;
    if objects == 0 {
        return Ok(());
    }
    let mut random = Pcg64Mcg::seed_from_u64(ask.seed);
    let mut heap: Vec<Box<[u64]>> = (0..objects).map(|number| object(number, &mut random)).collect();
    let mut sum = 0_u64;
    for _ in 0..objects * TRANSACTIONS {
        let number = draw(objects as u64, &mut random) as usize;
        let start = (random.next_u64() % 4) as usize * WORDS;
        for word in &mut heap[number][start..start + WORDS] {
            sum = sum.rotate_left(5) ^ *word;
            *word = word.wrapping_add(1);
        }
    }
    black_box(sum);
    Ok(())
}

/// A page of small numbers and a few large ones, as heaps are: it compresses two- to fourfold.
fn object(number: usize, random: &mut Pcg64Mcg) -> Box<[u64]> {
    let word = |place: usize, random: &mut Pcg64Mcg| match place % 4 {
        0 => random.next_u64(),
        1 => random.next_u64() % 1000,
        _ => number as u64,
    };
    (0..PAGE / 8).map(|place| word(place, random)).collect()
}

/// An object: of every five the first is hot, so that hot ones lie everywhere.
fn draw(objects: u64, random: &mut Pcg64Mcg) -> u64 {
    let any = random.next_u64() % objects;
    if random.next_u64() % 10 < HOT_OF_TEN { any - any % 5 } else { any }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn most_transactions_go_to_a_fifth() {
        let mut random = Pcg64Mcg::seed_from_u64(3);
        let hot = (0..10_000).filter(|_| draw(1_000, &mut random) % 5 == 0).count();
        assert!((8_200..8_600).contains(&hot), "eight of ten, and a fifth of the others: {hot}");
    }
}
