//! A pool of any allocator.

use super::{Allocator, PAGE_SIZE, Z3fold, Zbud, ZsPool};

/// A living pool of any allocator.
#[derive(Clone, Debug)]
pub enum Pool {
    /// zsmalloc.
    Zsmalloc(ZsPool),
    /// zbud.
    Zbud(Zbud),
    /// z3fold.
    Z3fold(Z3fold),
}

impl Pool {
    /// An empty pool.
    #[must_use]
    pub fn new(allocator: &Allocator) -> Self {
        match allocator {
            Allocator::Zsmalloc(zsmalloc) => Self::Zsmalloc(ZsPool::new(zsmalloc.clone())),
            Allocator::Zbud => Self::Zbud(Zbud::default()),
            Allocator::Z3fold => Self::Z3fold(Z3fold::default()),
        }
    }

    /// Stores an object of so many bytes and tells its handle; `None` if the allocator has no place for that size.
    pub fn alloc(&mut self, size: u16) -> Option<u32> {
        match self {
            Self::Zsmalloc(pool) => (1..=PAGE_SIZE).contains(&size).then(|| pool.alloc(size)),
            Self::Zbud(pool) => pool.alloc(size),
            Self::Z3fold(pool) => pool.alloc(size),
        }
    }

    /// Frees the object of a handle that [`Pool::alloc`] returned and that was not freed since.
    pub fn free(&mut self, handle: u32) {
        match self {
            Self::Zsmalloc(pool) => pool.free(handle),
            Self::Zbud(pool) => pool.free(handle),
            Self::Z3fold(pool) => pool.free(handle),
        }
    }

    /// Asks for the memory of an object that is used soon.
    #[inline]
    pub(crate) fn soon(&self, handle: u32) {
        if let Self::Zsmalloc(pool) = self {
            pool.soon(handle);
        }
    }

    /// Pages of RAM that the pool holds.
    #[must_use]
    pub fn pages(&self) -> u64 {
        match self {
            Self::Zsmalloc(pool) => pool.pages(),
            Self::Zbud(pool) => pool.pages(),
            Self::Z3fold(pool) => pool.pages(),
        }
    }

    /// Pages that compaction would free; only zsmalloc compacts.
    #[must_use]
    pub fn freeable(&self) -> u64 {
        match self {
            Self::Zsmalloc(pool) => pool.freeable(),
            Self::Zbud(_) | Self::Z3fold(_) => 0,
        }
    }

    /// Compacts, see [`ZsPool::compact`]: the handles of all objects are needed. Tells how many pages became free.
    pub fn compact<'a>(&mut self, objects: impl Iterator<Item = &'a mut u32>) -> u64 {
        match self {
            Self::Zsmalloc(pool) => pool.compact(objects),
            Self::Zbud(_) | Self::Z3fold(_) => 0,
        }
    }
}
