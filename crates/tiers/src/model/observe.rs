//! Looking at a model while it works: one access at a time, and where pages are.

use super::zram::Zram;
use super::zswap::Zswap;
use super::{Model, Tier};

/// What the compressed pools hold at one moment.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Pools {
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
        self.pages.tier(page)
    }

    /// What the pools hold.
    #[must_use]
    pub fn pools(&self) -> Pools {
        Pools {
            zswap: self.zswap.as_ref().map_or(0, Zswap::pages),
            stored: self.zswap.as_ref().map_or(0, |zswap| zswap.stored_pages),
            same_filled: self.zswap.as_ref().map_or(0, |zswap| zswap.same_filled_pages),
            incompressible: self.zswap.as_ref().map_or(0, |zswap| zswap.stored_incompressible_pages),
            zram: self.zrams.iter().flatten().map(Zram::pages).sum(),
            zram_same: self.zrams.iter().flatten().map(|zram| zram.same_pages).sum(),
            zram_huge: self.zrams.iter().flatten().map(|zram| zram.huge_pages).sum(),
            bd_count: self.zrams.iter().flatten().map(Zram::bd_count).sum(),
            free: self.free_pages(),
        }
    }
}
