//! A zram device: a pool behind a swap area. Nothing leaves it by itself.

use super::page::{NONE, Tier};
use super::settings::Backing;
use super::{Codec, Model};
use crate::alloc::{Allocator, PAGE_SIZE, Pool};

#[derive(Clone, Debug)]
pub(super) struct Zram {
    pub(super) codec: Codec,
    pool: Pool,
    /// Compressed size from which a page is kept as it is.
    raw_from: u16,
    mem_limit: u64,
    pub(super) same_pages: u64,
    pub(super) huge_pages: u64,
}

impl Zram {
    pub(super) fn build(backing: &Backing) -> Option<Self> {
        let Backing::Zram { codec, allocator, mem_limit } = backing else { return None };
        let raw_from = if let Allocator::Zsmalloc(zsmalloc) = allocator { zsmalloc.huge_size() } else { PAGE_SIZE };
        let pool = Pool::new(allocator);
        Some(Self { codec: *codec, pool, raw_from, mem_limit: mem_limit.unwrap_or(u64::MAX), same_pages: 0, huge_pages: 0 })
    }

    pub(super) fn pages(&self) -> u64 {
        self.pool.pages()
    }

    /// Stores a page of this compressed size; `None` if mem_limit forbids it.
    fn store(&mut self, size: u16) -> Option<u32> {
        if size == 0 {
            self.same_pages += 1;
            return Some(NONE);
        }
        let raw = size >= self.raw_from;
        let handle = self.pool.alloc(if raw { PAGE_SIZE } else { size })?;
        if self.pool.pages() > self.mem_limit {
            self.pool.free(handle);
            return None;
        }
        self.huge_pages += u64::from(raw);
        Some(handle)
    }

    fn free(&mut self, handle: u32, size: u16) {
        if handle == NONE {
            self.same_pages -= 1;
            return;
        }
        self.huge_pages -= u64::from(size >= self.raw_from);
        self.pool.free(handle);
    }

    pub(super) fn freeable(&self) -> u64 {
        self.pool.freeable()
    }

    pub(super) fn compact<'a>(&mut self, handles: impl Iterator<Item = &'a mut u32>) -> u64 {
        self.pool.compact(handles)
    }

    /// Nanoseconds to bring a page of this size back: what is kept as it is, or only as a value, is copied.
    fn load_time(&self, size: u16) -> u64 {
        if size == 0 || size >= self.raw_from { COPY } else { self.codec.decompress }
    }
}

/// Nanoseconds to copy a cold page: bound by DRAM, measured (13.9 GB/s).
pub const COPY: u64 = 295;

impl Model {
    /// Writes a page to the zram of its slot. Tells the processor time, or `None` if the device refuses it.
    pub(super) fn write_to_zram(&mut self, area: usize, page: u32) -> Option<u64> {
        let size = self.settings.sizes.of(page, self.settings.seed);
        let zram = self.zrams[area].as_mut()?;
        let handle = zram.store(size)?;
        let time = if size == 0 { 0 } else { zram.codec.compress };
        self.pages[page as usize].entry = handle;
        self.pages[page as usize].tier = Tier::Zram;
        self.outcome.counters.pswpout += 1;
        Some(time)
    }

    /// The object of a page leaves zram. Tells what loading it takes.
    pub(super) fn remove_from_zram(&mut self, page: u32) -> u64 {
        let (slot, handle) = (self.pages[page as usize].slot, self.pages[page as usize].entry);
        let size = self.settings.sizes.of(page, self.settings.seed);
        self.pages[page as usize].entry = NONE;
        let area = self.slots.area(slot);
        self.zrams[area].as_mut().map_or(0, |zram| {
            zram.free(handle, size);
            zram.load_time(size)
        })
    }
}
