//! A region as cells that several threads may read and write at once.
#![allow(unsafe_code)]

use std::slice;
use std::sync::atomic::{AtomicU8, AtomicU64};

use super::OwnRegion;

impl OwnRegion {
    /// Its bytes as cells. A relaxed access of one is one plain load or store, which no compiler joins with its
    /// neighbours or leaves out.
    #[must_use]
    pub fn byte_cells(&mut self) -> &[AtomicU8] {
        // SAFETY: the mapping is `length` bytes long, readable and writable, and initialised by the kernel; an AtomicU8
        // is a byte in memory; `&mut self` makes this the only way to it while the cells live.
        unsafe { slice::from_raw_parts(self.start.as_ptr().cast(), self.length) }
    }

    /// Its 8-byte words as cells; a rest that fills no word is left out.
    #[must_use]
    pub fn word_cells(&mut self) -> &[AtomicU64] {
        // SAFETY: as in `byte_cells`; a mapping starts at a page, so its words are aligned.
        unsafe { slice::from_raw_parts(self.start.as_ptr().cast(), self.length / 8) }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::Ordering::Relaxed;

    use super::*;

    #[test]
    fn cells_are_the_bytes_of_the_region() {
        let mut region = OwnRegion::new(rustix::param::page_size()).unwrap();
        let cells = region.byte_cells();
        std::thread::scope(|scope| {
            for (number, half) in cells.chunks(cells.len() / 2).enumerate() {
                scope.spawn(move || half.iter().for_each(|cell| cell.store(number as u8 + 1, Relaxed)));
            }
        });
        assert_eq!((region.bytes()[0], region.bytes()[region.bytes_len() - 1]), (1, 2));
        let words = region.word_cells();
        assert_eq!(words.len() * 8, rustix::param::page_size());
        assert_eq!(words[0].load(Relaxed), 0x0101_0101_0101_0101);
    }
}
