//! Looking at a model while it works: one access at a time, and where pages are.

use super::machine::Model;
use super::page::Tier;
use super::zram::Zram;

/// What the compressed pools hold at one moment.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct PoolContents {
    /// Pages of RAM of zswap's pool.
    pub zswap: u64,
    /// Pages stored in it, same-filled ones included.
    pub stored: u64,
    /// Of those: same-filled (`same_filled_pages`, until 6.11).
    pub same_filled: u64,
    /// Of those: kept as they are (`stored_incompressible_pages`, since 6.18).
    pub incompressible: u64,
    /// Pages of RAM of all zram devices.
    pub zram: u64,
    /// Pages that they keep as a value (`same_pages`).
    pub zram_same: u64,
    /// Pages that they keep as they are (`huge_pages`).
    pub zram_huge: u64,
    /// Pages on backing devices of zram (`bd_count` of bd_stat).
    pub bd_count: u64,
    /// Free pages of RAM: fewer than none when pools took reserves.
    pub free: i64,
}

impl Model {
    /// Where the newest content of a page is.
    ///
    /// # Panics
    /// If there is no such page.
    #[must_use]
    pub fn tier(&self, page: u32) -> Tier {
        self.memory.pages.tier(page)
    }

    /// What the pools hold.
    #[must_use]
    pub fn pools(&self) -> PoolContents {
        let zrams = || self.swap.zrams.iter();
        let zswap = self.zswap.as_ref().map(|zswap| &zswap.entries);
        PoolContents {
            zswap: zswap.map_or(0, |entries| entries.pages()),
            stored: zswap.map_or(0, |entries| entries.stored_pages),
            same_filled: zswap.map_or(0, |entries| entries.same_filled_pages),
            incompressible: zswap.map_or(0, |entries| entries.stored_incompressible_pages),
            zram: self.swap.zrams.pages(),
            zram_same: zrams().map(|zram| zram.same_pages).sum(),
            zram_huge: zrams().map(|zram| zram.huge_pages).sum(),
            bd_count: zrams().map(Zram::bd_count).sum(),
            free: self.free_pages(),
        }
    }
}
