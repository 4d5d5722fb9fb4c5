//! z3fold: at most three objects a page, in chunks of 64 bytes (mm/z3fold.c, until 6.14).

use super::PAGE_SIZE;
use super::lists::Lists;

/// Bytes of a chunk: `CHUNK_SIZE`.
pub const CHUNK: u16 = 64;
/// Chunks of the header: the structure has 84 bytes on 64 bits.
const HEADER: u8 = 2;
/// All chunks of a page: `TOTAL_CHUNKS`.
const TOTAL: u8 = (PAGE_SIZE / CHUNK) as u8;
/// Chunks for objects: `NCHUNKS`.
const CHUNKS: u8 = TOTAL - HEADER;
/// Largest object in bytes that can share its page; a larger one has the page alone, without a header.
pub const LARGEST_SHARED: u16 = PAGE_SIZE - (HEADER as u16 + 1) * CHUNK;
/// Chunks that moving the middle object must gain: `BIG_CHUNK_GAP`.
const BIG_GAP: u8 = 3;

/// Where in its page an object is. The numbers are those of handles.
const FIRST: usize = 0;
const MIDDLE: usize = 1;
const LAST: usize = 2;

#[derive(Clone, Copy, Debug, Default)]
struct Z3foldPage {
    /// Chunks of the first, the middle and the last object, 0 where there is none.
    chunks: [u8; 3],
    start_middle: u8,
    /// An object of another page was moved here, or the page is one object's alone: its objects stay where they are.
    settled: bool,
}

impl Z3foldPage {
    /// Largest gap that the kernel looks for (`num_free_chunks`).
    fn free(self) -> usize {
        let [first, middle, last] = self.chunks;
        let free = match middle {
            0 => CHUNKS - first - last,
            _ => {
                let before = if first == 0 { self.start_middle - HEADER } else { 0 };
                let after = if last == 0 { TOTAL - self.start_middle - middle } else { 0 };
                before.max(after)
            }
        };
        usize::from(free)
    }

    /// Where an object goes that fits (`get_free_buddy`): beside a middle object one of the two places is taken.
    fn place(self) -> usize {
        let [first, middle, last] = self.chunks;
        match middle {
            0 if first == 0 => FIRST,
            0 if last == 0 => LAST,
            0 => MIDDLE,
            _ if first == 0 => FIRST,
            _ => LAST,
        }
    }

    fn put(&mut self, place: usize, chunks: u8) {
        self.chunks[place] = chunks;
        if place == MIDDLE {
            self.start_middle = self.chunks[FIRST] + HEADER;
        }
    }

    fn objects(self) -> usize {
        self.chunks.iter().filter(|&&chunks| chunks != 0).count()
    }

    /// Of two objects, moves the middle one towards the other, where that gains enough (`z3fold_compact_page`).
    fn compact(&mut self) {
        let [first, middle, last] = self.chunks;
        if middle == 0 {
            return;
        }
        if last == 0 && self.start_middle - (first + HEADER) >= BIG_GAP {
            self.start_middle = first + HEADER;
        } else if first == 0 && TOTAL - (last + self.start_middle + middle) >= BIG_GAP {
            self.start_middle = TOTAL - last - middle;
        }
    }
}

/// A pool of z3fold, as one processor sees it: the kernel keeps its lists of pages with room per processor.
#[derive(Clone, Debug)]
pub struct Z3fold {
    /// All pages; lists of those with room, by [`Z3foldPage::free`].
    pages: Lists<Z3foldPage>,
    /// Pages that hold nothing.
    empty: Vec<u32>,
    /// From handle to place: `page × 3 + place`.
    places: Vec<u32>,
    /// Back from there.
    handles: Vec<u32>,
    free_handles: Vec<u32>,
}

impl Default for Z3fold {
    fn default() -> Self {
        Self {
            pages: Lists::new(usize::from(CHUNKS)),
            empty: Vec::new(),
            places: Vec::new(),
            handles: Vec::new(),
            free_handles: Vec::new(),
        }
    }
}

impl Z3fold {
    /// Pages of RAM that the pool holds.
    #[must_use]
    pub fn pages(&self) -> u64 {
        (self.pages.numbers().len() - self.empty.len()) as u64
    }

    /// Stores an object and tells its handle; `None` if it is empty or larger than a page.
    pub fn alloc(&mut self, size: u16) -> Option<u32> {
        if size == 0 || size > PAGE_SIZE {
            return None;
        }
        let (index, place) = if size > LARGEST_SHARED {
            let index = self.fresh();
            self.pages[index] = Z3foldPage { chunks: [CHUNKS, 0, 0], start_middle: 0, settled: true };
            (index, FIRST)
        } else {
            self.put(size.div_ceil(CHUNK) as u8, None)
        };
        let handle = self.free_handles.pop().unwrap_or_else(|| {
            self.places.push(0);
            (self.places.len() - 1) as u32
        });
        self.name(handle, index, place);
        Some(handle)
    }

    /// Frees the object of a handle that [`Z3fold::alloc`] returned and that was not freed since.
    pub fn free(&mut self, handle: u32) {
        let (index, place) = (self.places[handle as usize] / 3, (self.places[handle as usize] % 3) as usize);
        self.free_handles.push(handle);
        self.unlist(index);
        let page = &mut self.pages[index];
        page.chunks[place] = 0;
        match page.objects() {
            0 => self.empty.push(index),
            1 => self.settle_single(index),
            _ => {
                page.compact();
                self.list(index);
            }
        }
    }

    /// What the kernel's worker does with a page of one object: moves it to another page if one has room, else to the front.
    fn settle_single(&mut self, index: u32) {
        let page = self.pages[index];
        let from = page.chunks.iter().position(|&chunks| chunks != 0).unwrap_or(FIRST);
        let (chunks, handle) = (page.chunks[from], self.handles[index as usize * 3 + from]);
        if !page.settled && self.gap(chunks).is_some() {
            let (to, place) = self.put(chunks, Some(index));
            self.pages[to].settled = true;
            self.name(handle, to, place);
            self.empty.push(index);
            return;
        }
        if from == MIDDLE {
            self.pages[index].chunks = [chunks, 0, 0];
            self.name(handle, index, FIRST);
        }
        self.list(index);
    }

    /// Smallest gap that takes this many chunks.
    fn gap(&self, chunks: u8) -> Option<u32> {
        (usize::from(chunks)..usize::from(CHUNKS)).find_map(|free| self.pages.first(free))
    }

    /// Puts chunks into a page with room, or into a fresh one unless they only move.
    fn put(&mut self, chunks: u8, moved_from: Option<u32>) -> (u32, usize) {
        let index = match self.gap(chunks) {
            Some(index) => {
                self.pages.remove(index);
                index
            }
            None => moved_from.unwrap_or_else(|| self.fresh()),
        };
        let page = &mut self.pages[index];
        let place = page.place();
        page.put(place, chunks);
        self.list(index);
        (index, place)
    }

    fn name(&mut self, handle: u32, index: u32, place: usize) {
        self.places[handle as usize] = index * 3 + place as u32;
        self.handles[index as usize * 3 + place] = handle;
    }

    /// Into the list of its gap, if a place is free (`add_to_unbuddied`).
    fn list(&mut self, index: u32) {
        let page = self.pages[index];
        if page.chunks.contains(&0) {
            self.pages.push(page.free(), index);
        }
    }

    fn unlist(&mut self, index: u32) {
        let page = self.pages[index];
        if page.chunks.contains(&0) && page.chunks[FIRST] != CHUNKS {
            self.pages.remove(index);
        }
    }

    fn fresh(&mut self) -> u32 {
        let index = self.empty.pop().unwrap_or_else(|| {
            let index = self.pages.add(Z3foldPage::default());
            self.handles.resize((index as usize + 1) * 3, 0);
            index
        });
        self.pages[index] = Z3foldPage::default();
        index
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn filled(sizes: &[u16]) -> Z3fold {
        let mut z3fold = Z3fold::default();
        for &size in sizes {
            z3fold.alloc(size);
        }
        z3fold
    }

    #[test]
    fn three_share_a_page_if_their_chunks_fit_62() {
        assert_eq!(filled(&[20 * 64, 21 * 64, 21 * 64]).pages(), 1);
        assert_eq!(filled(&[20 * 64, 21 * 64, 21 * 64 + 1]).pages(), 2);
        assert_eq!(filled(&[1, 1, 1, 1]).pages(), 2, "never four");
    }

    #[test]
    fn an_object_above_3904_bytes_has_its_page_alone() {
        assert_eq!(LARGEST_SHARED, 3904);
        assert_eq!(filled(&[3904, 64]).pages(), 1);
        assert_eq!(filled(&[3905, 64]).pages(), 2);
        assert_eq!(filled(&[4096]).pages(), 1);
        assert_eq!(Z3fold::default().alloc(4097), None);
    }

    /// Pages after these steps: an object of this many chunks comes, or below zero the one of this number, from 1, goes.
    fn pages_after(steps: &[i16]) -> u64 {
        let (mut z3fold, mut handles) = (Z3fold::default(), Vec::new());
        for &step in steps {
            match u16::try_from(step) {
                Ok(chunks) => handles.push(z3fold.alloc(chunks * CHUNK).unwrap()),
                Err(_) => z3fold.free(handles[usize::from(step.unsigned_abs()) - 1]),
            }
        }
        z3fold.pages()
    }

    /// First, last and middle come in this order. What the last step of each line needs is there, or one chunk less than that.
    #[test]
    fn the_middle_object_moves_when_three_chunks_are_gained() {
        for (steps, pages) in [
            (vec![20, 19, 20, -1, 23], 1),
            (vec![20, 19, 20, -1, 24], 2),
            (vec![20, 20, 20, -1, 20], 1),
            (vec![20, 20, 20, -1, 21], 2),
            // It lies at the end now. The last one goes: from three chunks beside the new first one on it moves back.
            (vec![20, 19, 20, -1, 20, -2, 22], 1),
            (vec![20, 19, 20, -1, 20, -2, 23], 2),
            (vec![20, 19, 20, -1, 21, -2, 19], 1),
            (vec![20, 19, 20, -1, 21, -2, 20], 2),
            // The middle one itself goes.
            (vec![20, 19, 20, -3, 23], 1),
            (vec![20, 19, 20, -3, 24], 2),
            // Alone it moves to the front.
            (vec![20, 19, 20, -1, -2, 42], 1),
            (vec![20, 19, 20, -1, -2, 43], 2),
        ] {
            assert_eq!(pages_after(&steps), pages, "{steps:?}");
        }
    }

    #[test]
    fn a_single_object_moves_to_a_page_with_room() {
        let mut z3fold = Z3fold::default();
        let handles: Vec<u32> = [20, 21, 21, 30, 31].iter().map(|chunks| z3fold.alloc(chunks * 64).unwrap()).collect();
        assert_eq!(z3fold.pages(), 2);
        z3fold.free(handles[0]);
        z3fold.free(handles[3]);
        assert_eq!(z3fold.pages(), 2, "31 chunks fit nowhere else");
        z3fold.free(handles[1]);
        assert_eq!(z3fold.pages(), 1, "21 chunks fit beside the 31");
        z3fold.free(handles[2]);
        z3fold.free(handles[4]);
        assert_eq!(z3fold.pages(), 0);
    }
}
