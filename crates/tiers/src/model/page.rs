//! What the model knows of one page: 16 bytes.

/// No swap slot.
pub(super) const NONE: u32 = u32::MAX;

/// Where the newest content of a page is.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
#[repr(u8)]
pub enum Tier {
    /// Never touched, or given back.
    #[default]
    Absent,
    /// In RAM.
    Ram,
    /// A zero page that only its swap slot remembers (since 6.12).
    Zero,
    /// In zswap's pool.
    Zswap,
    /// On a zram device.
    Zram,
    /// On its way to the disk: the RAM is not free yet.
    Writing,
    /// On a disk.
    Disk,
    /// On the backing device of a zram device.
    WrittenBack,
}

impl Tier {
    /// Whether read-ahead brings such a page: it is in swap, and not in the swap cache.
    pub(super) const fn is_read_ahead(self) -> bool {
        matches!(self, Self::Zero | Self::Zswap | Self::Disk)
    }
}

/// It was accessed since it was last looked at.
pub(super) const REFERENCED: u8 = 1;
/// It has been on the active list since it came, or last came back soon (`PG_workingset`).
pub(super) const WORKINGSET: u8 = 2;
/// The copy in its swap slot is good, unless the page is [`DIRTY`]: nothing need be written.
pub(super) const CLEAN: u8 = 4;
/// zswap's pool holds an object of it.
pub(super) const POOLED: u8 = 8;
/// Reclaim found it accessed on the inactive list since it came (`PG_referenced`).
pub(super) const SEEN: u8 = 16;
/// Read ahead and not yet used.
pub(super) const AHEAD: u8 = 32;
/// Written since it came: what swap holds of it is stale, and it goes to the same slot again.
pub(super) const DIRTY: u8 = 64;

#[derive(Clone, Copy, Debug)]
pub(super) struct Page {
    pub(super) tier: Tier,
    pub(super) flags: u8,
    pub(super) cgroup: u16,
    /// List and place there while it is in RAM; the number of its write while that lasts; its shadow while it is elsewhere.
    pub(super) place: u32,
    /// Its entry in zswap, or the handle of its object in zram.
    pub(super) entry: u32,
    /// Its swap slot, which it may keep while it is in RAM.
    pub(super) slot: u32,
}

impl Default for Page {
    fn default() -> Self {
        Self { tier: Tier::Absent, flags: 0, cgroup: 0, place: 0, entry: NONE, slot: NONE }
    }
}

impl Page {
    pub(super) const fn has(&self, flag: u8) -> bool {
        self.flags & flag != 0
    }

    pub(super) const fn set(&mut self, flag: u8) {
        self.flags |= flag;
    }

    pub(super) const fn clear(&mut self, flag: u8) {
        self.flags &= !flag;
    }
}

#[cfg(test)]
mod tests {
    #[test]
    fn a_page_takes_16_bytes() {
        assert_eq!(size_of::<super::Page>(), 16);
    }
}
