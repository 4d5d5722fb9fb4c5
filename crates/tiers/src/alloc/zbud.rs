//! zbud: at most two objects a page, in chunks of 64 bytes (mm/zbud.c, until 6.14).

use super::PAGE_SIZE;
use super::lists::Lists;

/// Bytes of a chunk: `CHUNK_SIZE`.
pub const CHUNK: u16 = 64;
/// Chunks left beside the header, which takes one: `NCHUNKS`.
const CHUNKS: u8 = ((PAGE_SIZE - CHUNK) / CHUNK) as u8;
/// Largest object in bytes; larger ones are refused with ENOSPC.
pub const LARGEST: u16 = PAGE_SIZE - CHUNK - CHUNK;

#[derive(Clone, Copy, Debug, Default)]
struct ZbudPage {
    first: u8,
    last: u8,
}

impl ZbudPage {
    const fn free(self) -> usize {
        (CHUNKS - self.first - self.last) as usize
    }
}

/// A pool of zbud.
#[derive(Clone, Debug)]
pub struct Zbud {
    /// All pages; lists of those with one object, by free chunks: the last changed is tried first, the smallest sufficient gap before
    /// larger ones.
    pages: Lists<ZbudPage>,
    /// Pages that hold nothing.
    empty: Vec<u32>,
}

impl Default for Zbud {
    fn default() -> Self {
        Self { pages: Lists::new(usize::from(CHUNKS)), empty: Vec::new() }
    }
}

impl Zbud {
    /// Pages of RAM that the pool holds.
    #[must_use]
    pub fn pages(&self) -> u64 {
        (self.pages.numbers().len() - self.empty.len()) as u64
    }

    /// Stores an object and tells its handle; `None` if it is empty or larger than 3968 bytes.
    pub fn alloc(&mut self, size: u16) -> Option<u32> {
        if size == 0 || size > LARGEST {
            return None;
        }
        let chunks = size.div_ceil(CHUNK) as u8;
        let gap = (usize::from(chunks)..usize::from(CHUNKS)).find_map(|free| self.pages.first(free));
        let index = match gap {
            Some(index) => {
                self.pages.remove(index);
                index
            }
            None => self.fresh(),
        };
        let page = &mut self.pages[index];
        let last = page.first != 0;
        *(if last { &mut page.last } else { &mut page.first }) = chunks;
        let page = *page;
        if page.first == 0 || page.last == 0 {
            self.pages.push(page.free(), index);
        }
        Some(index << 1 | u32::from(last))
    }

    /// Frees the object of a handle that [`Zbud::alloc`] returned and that was not freed since.
    pub fn free(&mut self, handle: u32) {
        let index = handle >> 1;
        let mut page = self.pages[index];
        if page.first == 0 || page.last == 0 {
            self.pages.remove(index);
        }
        *(if handle & 1 == 1 { &mut page.last } else { &mut page.first }) = 0;
        self.pages[index] = page;
        if page.first == 0 && page.last == 0 {
            self.empty.push(index);
        } else {
            self.pages.push(page.free(), index);
        }
    }

    fn fresh(&mut self) -> u32 {
        self.empty.pop().unwrap_or_else(|| self.pages.add(ZbudPage::default()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn filled(sizes: &[u16]) -> Zbud {
        let mut zbud = Zbud::default();
        for &size in sizes {
            zbud.alloc(size);
        }
        zbud
    }

    #[test]
    fn the_largest_object_is_3968_bytes() {
        assert_eq!(LARGEST, 3968);
        let mut zbud = Zbud::default();
        assert!(zbud.alloc(3968).is_some());
        assert_eq!(zbud.alloc(3969), None);
        assert_eq!(zbud.alloc(0), None);
        assert_eq!(zbud.pages(), 1);
    }

    #[test]
    fn two_share_a_page_if_their_chunks_fit_63() {
        assert_eq!(filled(&[32 * 64, 31 * 64]).pages(), 1);
        assert_eq!(filled(&[32 * 64, 31 * 64 + 1]).pages(), 2);
        assert_eq!(filled(&[1, 1, 1]).pages(), 2, "never three");
    }

    /// The same sizes take three or four pages, as they come: the smallest sufficient gap is filled first.
    #[test]
    fn the_order_of_arrival_matters() {
        let chunks = |sizes: [u16; 6]| filled(&sizes.map(|size| size * 64)).pages();
        assert_eq!(chunks([40, 23, 30, 33, 20, 43]), 3);
        assert_eq!(chunks([20, 23, 30, 33, 40, 43]), 4);
    }

    #[test]
    fn a_freed_place_is_used_again_and_an_empty_page_goes_back() {
        let mut zbud = Zbud::default();
        let (a, b) = (zbud.alloc(2000).unwrap(), zbud.alloc(1900).unwrap());
        zbud.free(a);
        assert_eq!(zbud.pages(), 1);
        assert_eq!(zbud.alloc(2016), Some(a));
        zbud.free(a);
        zbud.free(b);
        assert_eq!(zbud.pages(), 0);
    }
}
