//! A zram device: a pool behind a swap area. Nothing leaves it by itself; what upkeep does to it stands in `visits.rs`.

use swaptune_kernel::KernelVersion;

use super::visits::{Stored, Visits};
use crate::alloc::{Allocator, PAGE_SIZE, Pool};
use crate::model::page::NONE;
use crate::model::spec::{Backing, COPY, CodecCosts};

#[derive(Clone, Debug)]
pub(crate) struct Zram {
    pub(crate) codec: CodecCosts,
    allocator: Allocator,
    pool: Pool,
    /// Compressed size from which a page is kept as it is.
    raw_from: u16,
    mem_limit: u64,
    pub(crate) same_pages: u64,
    pub(crate) huge_pages: u64,
    /// By slot; empty without upkeep.
    table: Vec<Stored>,
    pub(crate) visits: Option<Visits>,
}

impl Zram {
    /// The device behind an area of this many slots. Blocks of its backing device are numbered from `first_block`.
    pub(crate) fn build(backing: &Backing, slots: u32, first_block: u32, kernel: KernelVersion) -> Option<Self> {
        let Backing::Zram { codec, allocator, mem_limit, upkeep } = backing else { return None };
        let raw_from = if let Allocator::Zsmalloc(zsmalloc) = allocator { zsmalloc.huge_size() } else { PAGE_SIZE };
        let table = if upkeep.is_some() { vec![Stored::default(); slots as usize] } else { Vec::new() };
        Some(Self {
            codec: *codec,
            allocator: allocator.clone(),
            pool: Pool::new(allocator),
            raw_from,
            mem_limit: mem_limit.unwrap_or(u64::MAX),
            same_pages: 0,
            huge_pages: 0,
            table,
            visits: upkeep.as_deref().map(|upkeep| Visits::new(upkeep.clone(), first_block, kernel)),
        })
    }

    pub(crate) fn pages(&self) -> u64 {
        self.pool.pages()
    }

    /// Stores a page of this compressed size; `None` if mem_limit forbids it.
    pub(crate) fn store(&mut self, index: u32, size: u16, at: u64) -> Option<u32> {
        if let Some(stored) = self.table.get_mut(index as usize) {
            *stored = Stored { at, size, ..Stored::default() };
        }
        if size == 0 {
            self.same_pages += 1;
            return Some(NONE);
        }
        let handle = self.pool.alloc(self.object(size))?;
        if self.pool.pages() > self.mem_limit {
            self.pool.free(handle);
            return None;
        }
        self.huge_pages += u64::from(self.is_huge(size));
        Some(handle)
    }

    /// Bytes of the object of a page of this compressed size.
    fn object(&self, size: u16) -> u16 {
        if self.is_huge(size) { PAGE_SIZE } else { size }
    }

    /// Whether a page of this compressed size is kept as it is.
    pub(crate) const fn is_huge(&self, size: u16) -> bool {
        size >= self.raw_from
    }

    /// The object of a slot goes; `size` is what the page has under the first algorithm.
    pub(crate) fn free(&mut self, index: u32, handle: u32, size: u16) {
        if handle == NONE {
            self.same_pages -= 1;
            return;
        }
        self.huge_pages -= u64::from(self.is_huge(self.stored(index, size).size));
        self.pool.free(handle);
    }

    /// What is known of a slot that holds a page of this size under the first algorithm.
    pub(crate) fn stored(&self, index: u32, size: u16) -> Stored {
        self.table.get(index as usize).copied().unwrap_or(Stored { size, ..Stored::default() })
    }

    /// Puts an object of another size in place of one, if that falls into a smaller class. Tells its handle.
    pub(crate) fn replace(&mut self, index: u32, handle: u32, size: u16, threshold: u16) -> Option<u32> {
        let stored = self.table[index as usize];
        let too_large = threshold > 0 && size >= threshold;
        if too_large || self.class(size) >= self.class(stored.size) {
            self.table[index as usize].incompressible = true;
            return None;
        }
        self.free(index, handle, size);
        // A smaller class is never that of whole pages.
        self.table[index as usize] = Stored { size, secondary: true, ..stored };
        self.pool.alloc(self.object(size))
    }

    fn class(&self, size: u16) -> usize {
        let object = self.object(size);
        match &self.allocator {
            Allocator::Zsmalloc(zsmalloc) => zsmalloc.class_index(object),
            Allocator::Zbud | Allocator::Z3fold => usize::from(object),
        }
    }

    pub(crate) fn freeable(&self) -> u64 {
        self.pool.freeable()
    }

    pub(crate) fn compact<'a>(&mut self, handles: impl Iterator<Item = &'a mut u32>) -> u64 {
        self.pool.compact(handles)
    }

    /// Pages on its backing device.
    pub(crate) fn bd_count(&self) -> u64 {
        self.visits.as_ref().map_or(0, |visits| u64::from(visits.bd_count()))
    }

    /// Nanoseconds to bring a page back: what is kept as it is, or only as a value, is copied.
    pub(crate) fn load_time(&self, stored: Stored) -> u64 {
        if stored.size == 0 || self.is_huge(stored.size) {
            return COPY;
        }
        let second = self.visits.as_ref().and_then(Visits::second).filter(|_| stored.secondary);
        second.unwrap_or(self.codec).decompress
    }
}
