//! Effective capacity: how much application data this machine can hold, and how much of it without touching a disk.
//!
//! The sum that guides print is RAM + pool × ratio + disk swap. It counts two things twice:
//!
//! - the pool's RAM, which is part of RAM: a full pool of 3 GiB leaves 5 of 8 GiB for everything else;
//! - the slots of the pages in zswap: zswap is write-back, so each stored page keeps one slot of a swap area, and a
//!   slot in use for a page in the pool cannot hold another page on the disk.
//!
//! What really fits: with `P` the pool's limit, `r` the ratio and `S` the swap areas of zswap,
//! the pool holds at most `C = min(P × r, S)` in `C ÷ r` of RAM, `S − C` of the slots are left for the disk, and the
//! machine holds `RAM − C ÷ r + C + (S − C) = RAM − C ÷ r + S`. Each zram device that is swap adds its own slots and
//! takes its own RAM in the same way, with nothing on a disk.
//!
//! So zswap over areas of `S` lets `C ÷ r` less fit in all than the same areas alone, `RAM + S`: it moves pages nearer, and adds no
//! room. What it adds is what fits without the disk, `RAM − C ÷ r + C` instead of `RAM`. Larger areas add room. Write-back can free
//! the pool's RAM, but below the limit nothing makes the kernel write back once the slots are used up, the shrinker apart, which is
//! not counted on: where all applications are in one control group it was seen to write nothing.
//! For the guide's example (8 GiB, 3 GiB × 2.3, 8 GiB) that is 13 GiB, 11.9 of them without the disk, not 23.

use serde::{Deserialize, Serialize};

use super::pools::{ZramPool, ZswapPool};
use super::ratio::PlanningRatio;
use crate::units::Bytes;

/// What fits.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Capacity {
    /// MemTotal less huge pages that are set aside, which hold nothing else.
    pub ram: Bytes,
    /// RAM that the compressed pools take when they are full.
    pub pool_ram: Bytes,
    /// What the full pools hold, uncompressed.
    pub compressed: Bytes,
    /// Swap slots that are left for pages on disks.
    pub disk: Bytes,
    /// `ram` − `pool_ram` + `compressed` + `disk`.
    pub total: Bytes,
    /// `ram` − `pool_ram` + `compressed`: what is served without reading a disk.
    pub without_disk: Bytes,
    /// The sum of the guides, for comparison only: `ram` + pool limits × ratio + all disk swap.
    pub popular_sum: Bytes,
    /// False when any ratio in it is assumed.
    pub measured: bool,
}

/// What one pool can hold.
struct Full {
    original: Bytes,
    ram: Bytes,
}

/// A pool filled up to its slots, its own limit and the RAM that is left.
fn fill(slots: Bytes, limit: Option<Bytes>, left: Bytes, planning: &PlanningRatio) -> Full {
    let ram = limit.unwrap_or(left).min(left);
    let original = slots.min(planning.ratio.original_in(ram));
    Full { original, ram: planning.ratio.ram_for(original).min(ram) }
}

impl Capacity {
    /// Capacity of a machine with this much RAM, these pools, and this much swap on disks.
    #[must_use]
    pub fn new(ram: Bytes, disk_swap: Bytes, zswap: Option<&ZswapPool>, zram: &[ZramPool]) -> Self {
        let mut capacity = Self { ram, disk: disk_swap, measured: true, ..Self::default() };
        let mut popular = u128::from(ram.0) + u128::from(disk_swap.0);
        // A zram slot always costs RAM; zswap gets what is left, since it can fall back to its disk.
        for device in zram.iter().filter(|device| device.is_swap) {
            let limit = device.limit.value().copied();
            let full = capacity.take(device.disksize, limit, &device.planning);
            popular += u128::from(full.original.0);
        }
        if let Some(pool) = zswap.filter(|pool| pool.enabled) {
            let limit = pool.limit.value().copied();
            let full = capacity.take(disk_swap, limit, &pool.planning);
            capacity.disk.0 -= full.original.0;
            popular += u128::from(pool.planning.ratio.original_in(limit.unwrap_or_default()).0);
        }
        capacity.without_disk = Bytes((ram.0 - capacity.pool_ram.0).saturating_add(capacity.compressed.0));
        capacity.total = Bytes(capacity.without_disk.0.saturating_add(capacity.disk.0));
        capacity.popular_sum = Bytes(u64::try_from(popular).unwrap_or(u64::MAX));
        capacity
    }

    /// Slots of swap, those of pages in the pools included.
    #[must_use]
    pub fn slots(&self) -> Bytes {
        Bytes(self.compressed.0.saturating_add(self.disk.0))
    }

    fn take(&mut self, slots: Bytes, limit: Option<Bytes>, planning: &PlanningRatio) -> Full {
        let full = fill(slots, limit, Bytes(self.ram.0 - self.pool_ram.0), planning);
        self.pool_ram.0 += full.ram.0;
        self.compressed.0 = self.compressed.0.saturating_add(full.original.0);
        self.measured &= planning.is_measured();
        full
    }
}
