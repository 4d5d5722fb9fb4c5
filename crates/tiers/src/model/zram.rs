//! A zram device: a pool behind a swap area. Nothing leaves it by itself; what [`super::Upkeep`] does to it stands in `caretaker.rs`.

use super::caretaker::Caretaker;
use super::page::{NONE, Tier};
use super::settings::Backing;
use super::{Codec, Model};
use crate::alloc::{Allocator, PAGE_SIZE, Pool};

/// What the device knows of a slot besides its object: kept only where somebody asks for it.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Stored {
    pub(super) at: u64,
    /// Compressed size, as it is now.
    pub(super) size: u16,
    /// Compressed by the secondary algorithm.
    pub(super) secondary: bool,
    /// Which could not make it smaller.
    pub(super) incompressible: bool,
}

#[derive(Clone, Debug)]
pub(super) struct Zram {
    pub(super) codec: Codec,
    allocator: Allocator,
    pool: Pool,
    /// Compressed size from which a page is kept as it is.
    raw_from: u16,
    mem_limit: u64,
    pub(super) same_pages: u64,
    pub(super) huge_pages: u64,
    /// By slot; empty without a caretaker.
    table: Vec<Stored>,
    pub(super) caretaker: Option<Caretaker>,
}

impl Zram {
    /// The device of an area of so many slots. Blocks of its backing device are numbered from `first_block`.
    pub(super) fn build(backing: &Backing, slots: u32, first_block: u32) -> Option<Self> {
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
            caretaker: upkeep.as_deref().map(|upkeep| Caretaker::new(upkeep.clone(), first_block)),
        })
    }

    pub(super) fn pages(&self) -> u64 {
        self.pool.pages()
    }

    /// Stores a page of this compressed size; `None` if mem_limit forbids it.
    fn store(&mut self, index: u32, size: u16, at: u64) -> Option<u32> {
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
    pub(super) const fn is_huge(&self, size: u16) -> bool {
        size >= self.raw_from
    }

    /// The object of a slot goes; `size` is what the page has under the first algorithm.
    pub(super) fn free(&mut self, index: u32, handle: u32, size: u16) {
        if handle == NONE {
            self.same_pages -= 1;
            return;
        }
        self.huge_pages -= u64::from(self.is_huge(self.stored(index, size).size));
        self.pool.free(handle);
    }

    /// What is known of a slot that holds a page of this size under the first algorithm.
    pub(super) fn stored(&self, index: u32, size: u16) -> Stored {
        self.table.get(index as usize).copied().unwrap_or(Stored { size, ..Stored::default() })
    }

    /// Puts an object of another size in place of one, if that falls into a smaller class. Tells its handle.
    pub(super) fn replace(&mut self, index: u32, handle: u32, size: u16, threshold: u16) -> Option<u32> {
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

    pub(super) fn freeable(&self) -> u64 {
        self.pool.freeable()
    }

    pub(super) fn compact<'a>(&mut self, handles: impl Iterator<Item = &'a mut u32>) -> u64 {
        self.pool.compact(handles)
    }

    /// Nanoseconds to bring a page back: what is kept as it is, or only as a value, is copied.
    pub(super) fn load_time(&self, stored: Stored) -> u64 {
        if stored.size == 0 || self.is_huge(stored.size) {
            return COPY;
        }
        let second = self.caretaker.as_ref().and_then(Caretaker::second).filter(|_| stored.secondary);
        second.unwrap_or(self.codec).decompress
    }
}

/// Copying a cold page: bound by DRAM, measured (13.9 GB/s).
pub const COPY: u64 = 295;

impl Model {
    /// Writes a page to the zram of its slot. Tells the processor time, or `None` if the device refuses it.
    pub(super) fn write_to_zram(&mut self, area: usize, page: u32, time: u64) -> Option<u64> {
        let size = self.settings.sizes.of(page, self.settings.seed);
        let index = self.slots.index(area, self.pages.slot(page));
        let zram = self.zrams[area].as_mut()?;
        let handle = zram.store(index, size, time)?;
        self.outcome.counters.huge_pages_since += u64::from(zram.is_huge(size));
        let time = if size == 0 { 0 } else { zram.codec.compress };
        self.pages.set_entry(page, handle);
        self.pages.go(page, Tier::Zram);
        self.outcome.counters.pswpout += 1;
        Some(time)
    }

    /// The object of a page leaves zram. Tells what loading it takes.
    pub(super) fn remove_from_zram(&mut self, page: u32) -> u64 {
        let (slot, handle) = (self.pages.slot(page), self.pages.entry(page));
        let size = self.settings.sizes.of(page, self.settings.seed);
        self.pages.set_entry(page, NONE);
        let area = self.slots.area(slot);
        let index = self.slots.index(area, slot);
        self.zrams[area].as_mut().map_or(0, |zram| {
            let time = zram.load_time(zram.stored(index, size));
            zram.free(index, handle, size);
            time
        })
    }
}
