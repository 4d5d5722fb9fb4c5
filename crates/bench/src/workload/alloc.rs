//! Memory that is written once.

use std::hint::black_box;
use std::io;

use rand_pcg::Pcg64Mcg;
use rand_pcg::rand_core::{Rng, SeedableRng};

use super::Ask;

const PAGE: usize = 4096;
/// Bytes of a page that do not compress, of those pages that do: about 3 : 1 with any compressor.
const KERNEL_OF_PAGE: usize = 1200;

/// Takes the memory, writes every page of it, and gives it back.
pub(super) fn run(ask: &Ask) -> io::Result<()> {
    let size = usize::try_from(ask.size.0).map_err(io::Error::other)?;
    let mut memory: Vec<u8> = vec![0; size];
    fill(&mut memory, &mut Pcg64Mcg::seed_from_u64(ask.seed));
    black_box(&memory);
    Ok(())
}

/// Writes every page once, three of four so that they compress.
pub(crate) fn fill(memory: &mut [u8], random: &mut Pcg64Mcg) {
    for (number, page) in memory.chunks_mut(PAGE).enumerate() {
        let length = if number % 4 == 3 { page.len() } else { KERNEL_OF_PAGE.min(page.len()) };
        random.fill_bytes(&mut page[..length]);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn three_pages_of_four_compress() {
        let mut memory = vec![0_u8; 8 * PAGE];
        fill(&mut memory, &mut Pcg64Mcg::seed_from_u64(1));
        let zeros = |page: &[u8]| page.iter().filter(|byte| **byte == 0).count();
        let compressible = |page: &&[u8]| zeros(page) >= PAGE - KERNEL_OF_PAGE;
        assert_eq!(memory.chunks(PAGE).filter(compressible).count(), 6);
    }
}
