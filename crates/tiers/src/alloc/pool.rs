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

    /// Stores an object of `size` bytes and tells its handle; `None` if the allocator has no place for that size.
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
    pub(crate) fn prefetch(&self, handle: u32) {
        if let Self::Zsmalloc(pool) = self {
            pool.prefetch(handle);
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::alloc::{Rule, Zsmalloc};

    /// 24 objects of a quarter of a page, of which then each fourth stays: two of them share a page of zbud and three one of z3fold.
    #[test]
    fn a_pool_takes_what_its_allocator_takes() {
        let zsmalloc = Allocator::Zsmalloc(Zsmalloc::new(8, Rule::LeastWaste).unwrap());
        for (allocator, whole_page, filled, holed, freeable) in
            [(zsmalloc, true, 6, 6, 4), (Allocator::Zbud, false, 12, 6, 0), (Allocator::Z3fold, true, 8, 2, 0)]
        {
            let mut pool = Pool::new(&allocator);
            let mut takes = |size| pool.alloc(size).map(|handle| pool.free(handle)).is_some();
            assert_eq!([0, 1, 4096, 4097].map(&mut takes), [false, true, whole_page, false], "{}", allocator.name());
            let handles: Vec<u32> = (0..24).map(|_| pool.alloc(1000).unwrap()).collect();
            assert_eq!(pool.pages(), filled, "{}", allocator.name());
            let mut left: Vec<u32> = handles.iter().copied().step_by(4).collect();
            (0..24).filter(|index| index % 4 != 0).for_each(|index: usize| pool.free(handles[index]));
            assert_eq!((pool.pages(), pool.freeable()), (holed, freeable), "{}", allocator.name());
            assert_eq!(pool.compact(left.iter_mut()), freeable);
            assert_eq!((pool.pages(), pool.freeable()), (holed - freeable, 0), "{}", allocator.name());
            left.into_iter().for_each(|handle| pool.free(handle));
            assert_eq!(pool.pages(), 0);
        }
    }
}
