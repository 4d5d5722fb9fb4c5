//! What the model knows of its pages: 9 bytes of each, and what some machines need besides.
//!
//! An access that finds its page in RAM looks at one byte, its [`PageState`], and most accesses do: all these bytes together fit where the
//! processor has them at hand, which all that is known of all pages does not.

use crate::prefetch::{filled, prefetch};

/// No swap slot.
pub(crate) const NONE: u32 = u32::MAX;

/// Where the newest content of a page is.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
#[repr(u8)]
pub enum Tier {
    /// Never touched, or given back.
    #[default]
    Absent,
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
    /// In RAM.
    Ram,
}

impl Tier {
    /// Whether read-ahead brings such a page: it is in swap, and not in the swap cache.
    pub(crate) const fn is_read_ahead(self) -> bool {
        matches!(self, Self::Zero | Self::Zswap | Self::Disk)
    }
}

/// It was accessed since it was last looked at.
pub(crate) const REFERENCED: u8 = 1;
/// Reclaim found it accessed on the inactive list since it came (`PG_referenced`).
pub(crate) const SEEN: u8 = 2;
/// In the swap cache and not mapped: read ahead and not yet used, or written and not yet reclaimed.
pub(crate) const AHEAD: u8 = 4;
/// Written since it came: what swap holds of it is stale, and it goes to the same slot again.
pub(crate) const DIRTY: u8 = 8;
/// It has been on the active list since it came, or last came back soon (`PG_workingset`).
pub(crate) const WORKINGSET: u8 = 16;
/// The copy in its swap slot is good, unless the page is [`DIRTY`]: nothing need be written.
pub(crate) const CLEAN: u8 = 32;
/// zswap's pool holds an object of it.
pub(crate) const POOLED: u8 = 64;

/// It is in RAM, and has flags that only such pages have; else these bits are the number of its tier.
const IN_RAM: u8 = 128;
const ONLY_IN_RAM: u8 = REFERENCED | SEEN | AHEAD | DIRTY;

/// Tier and flags of a page.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct PageState(u8);

impl PageState {
    #[inline(always)]
    pub(crate) const fn is_in_ram(self) -> bool {
        self.0 & IN_RAM != 0
    }

    /// Whether an access finds it in RAM and used before.
    #[inline(always)]
    pub(crate) const fn is_mapped(self) -> bool {
        self.0 & (IN_RAM | AHEAD) == IN_RAM
    }

    #[inline(always)]
    pub(crate) const fn tier(self) -> Tier {
        match self.0 & (IN_RAM | ONLY_IN_RAM) {
            0 => Tier::Absent,
            1 => Tier::Zero,
            2 => Tier::Zswap,
            3 => Tier::Zram,
            4 => Tier::Writing,
            5 => Tier::Disk,
            6 => Tier::WrittenBack,
            _ => Tier::Ram,
        }
    }

    /// Whether it has any of these flags. Away from RAM there are no flags that only pages in RAM have.
    #[inline(always)]
    pub(crate) const fn has(self, flags: u8) -> bool {
        debug_assert!(self.is_in_ram() || flags & ONLY_IN_RAM == 0);
        self.0 & flags != 0
    }

    #[inline(always)]
    pub(crate) const fn set(&mut self, flags: u8) {
        debug_assert!(self.is_in_ram() || flags & ONLY_IN_RAM == 0);
        self.0 |= flags;
    }

    #[inline(always)]
    pub(crate) const fn clear(&mut self, flags: u8) {
        debug_assert!(self.is_in_ram() || flags & ONLY_IN_RAM == 0);
        self.0 &= !flags;
    }

    /// The page is elsewhere now; flags that only pages in RAM have are gone, or not yet set.
    #[inline(always)]
    pub(crate) const fn go(&mut self, tier: Tier) {
        let number = if matches!(tier, Tier::Ram) { IN_RAM } else { tier as u8 };
        self.0 = self.0 & !(IN_RAM | ONLY_IN_RAM) | number;
    }
}

/// Where lists and swap areas have a page.
#[derive(Clone, Copy, Debug)]
pub(crate) struct PagePlace {
    /// List and place there while it is in RAM; the number of its write while that lasts; its shadow while it is elsewhere, or where that
    /// has it, the place of its entry in zswap.
    pub(crate) place: u32,
    /// Its swap slot, which it may keep while it is in RAM.
    pub(crate) slot: u32,
}

/// An untouched page.
const UNTOUCHED: PagePlace = PagePlace { place: 0, slot: NONE };

/// All pages.
#[derive(Clone, Debug)]
pub(crate) struct Pages {
    states: Vec<PageState>,
    places: Vec<PagePlace>,
    /// Cgroup of each page; empty where there is but one.
    cgroups: Vec<u16>,
    /// Entry of each page in zswap, handle of its object in zram, or block on the backing device of that. Empty where its place can say
    /// it: of an entry that exists while the page is nowhere else, and that has the shadow.
    entries: Vec<u32>,
}

impl Pages {
    /// Untouched pages, of several cgroups or of one, with entries of their own or without.
    pub(crate) fn new(count: usize, cgroups: bool, entries: bool) -> Self {
        Self {
            states: filled(PageState::default(), count),
            places: filled(UNTOUCHED, count),
            cgroups: filled(0, if cgroups { count } else { 0 }),
            entries: filled(NONE, if entries { count } else { 0 }),
        }
    }

    pub(crate) fn len(&self) -> usize {
        self.states.len()
    }

    /// Numbers of all pages.
    pub(crate) fn numbers(&self) -> std::ops::Range<u32> {
        0..self.states.len() as u32
    }

    #[inline(always)]
    pub(crate) fn state(&self, page: u32) -> PageState {
        self.states[page as usize]
    }

    /// Notes an access of a page. `false` if it is not mapped.
    #[inline(always)]
    pub(crate) fn mark(&mut self, page: u32) -> bool {
        let state = &mut self.states[page as usize];
        let mapped = state.is_mapped();
        if mapped {
            state.set(REFERENCED);
        }
        mapped
    }

    #[inline(always)]
    pub(crate) fn state_mut(&mut self, page: u32) -> &mut PageState {
        &mut self.states[page as usize]
    }

    #[inline(always)]
    pub(crate) fn tier(&self, page: u32) -> Tier {
        self.state(page).tier()
    }

    #[inline(always)]
    pub(crate) fn has(&self, page: u32, flags: u8) -> bool {
        self.state(page).has(flags)
    }

    #[inline(always)]
    pub(crate) fn set(&mut self, page: u32, flags: u8) {
        self.state_mut(page).set(flags);
    }

    #[inline(always)]
    pub(crate) fn clear(&mut self, page: u32, flags: u8) {
        self.state_mut(page).clear(flags);
    }

    /// The page is elsewhere now.
    #[inline(always)]
    pub(crate) fn go(&mut self, page: u32, tier: Tier) {
        self.state_mut(page).go(tier);
    }

    #[inline(always)]
    pub(crate) fn place(&self, page: u32) -> u32 {
        self.places[page as usize].place
    }

    #[inline(always)]
    pub(crate) fn set_place(&mut self, page: u32, place: u32) {
        self.places[page as usize].place = place;
    }

    #[inline(always)]
    pub(crate) fn slot(&self, page: u32) -> u32 {
        self.places[page as usize].slot
    }

    #[inline(always)]
    pub(crate) fn set_slot(&mut self, page: u32, slot: u32) {
        self.places[page as usize].slot = slot;
    }

    #[inline(always)]
    pub(crate) fn cgroup(&self, page: u32) -> u16 {
        if self.cgroups.is_empty() { 0 } else { self.cgroups[page as usize] }
    }

    #[inline(always)]
    pub(crate) fn set_cgroup(&mut self, page: u32, cgroup: u16) {
        if let Some(own) = self.cgroups.get_mut(page as usize) {
            *own = cgroup;
        }
    }

    /// Whether the place of a page in zswap is that of its entry, which has its shadow.
    #[inline]
    pub(crate) fn share_places(&self) -> bool {
        self.entries.is_empty()
    }

    /// Entry, handle or block of a page.
    #[inline]
    pub(crate) fn entry(&self, page: u32) -> u32 {
        if self.share_places() { self.place(page) } else { self.entries[page as usize] }
    }

    #[inline]
    pub(crate) fn set_entry(&mut self, page: u32, entry: u32) {
        if self.share_places() {
            self.set_place(page, entry);
        } else {
            self.entries[page as usize] = entry;
        }
    }

    /// Pages with their entries, where they have no places to share.
    pub(crate) fn entries(&mut self) -> impl Iterator<Item = (PageState, u32, &mut u32)> {
        let pages = self.states.iter().zip(&self.places).zip(&mut self.entries);
        pages.map(|((state, place), entry)| (*state, place.slot, entry))
    }

    /// The page is given back; zswap and zram have forgotten it.
    pub(crate) fn forget(&mut self, page: u32) {
        self.states[page as usize] = PageState::default();
        self.places[page as usize] = UNTOUCHED;
    }

    /// Prefetches the memory of a page's state.
    #[inline(always)]
    pub(crate) fn prefetch_state(&self, page: u32) {
        prefetch(&self.states, page as usize);
    }

    /// Prefetches what a fault of a page needs, if there would be one now.
    #[inline(always)]
    pub(crate) fn prefetch_fault(&self, page: u32) {
        // Without a branch, which could not be foreseen: of other pages what is asked for is always near.
        let in_ram = self.state(page).is_in_ram();
        prefetch(&self.places, page as usize & usize::from(in_ram).wrapping_sub(1));
    }

    /// Prefetches all memory of a page.
    #[inline(always)]
    pub(crate) fn prefetch(&self, page: u32) {
        prefetch(&self.states, page as usize);
        prefetch(&self.places, page as usize);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_page_takes_9_bytes() {
        assert_eq!((size_of::<PageState>(), size_of::<PagePlace>()), (1, 8));
    }

    #[test]
    fn read_ahead_brings_what_is_in_swap_and_not_on_its_way() {
        use Tier::{Absent, Disk, Ram, Writing, WrittenBack, Zero, Zram, Zswap};
        assert_eq!([Zero, Zswap, Disk].map(Tier::is_read_ahead), [true; 3]);
        assert_eq!([Absent, Zram, Writing, WrittenBack, Ram].map(Tier::is_read_ahead), [false; 5]);
    }

    #[test]
    fn a_state_is_a_tier_and_flags() {
        use Tier::{Absent, Disk, Ram, Writing, WrittenBack, Zero, Zram, Zswap};
        for tier in [Absent, Zero, Zswap, Zram, Writing, Disk, WrittenBack, Ram] {
            for kept in [0, WORKINGSET, CLEAN, POOLED, WORKINGSET | CLEAN | POOLED] {
                let mut state = PageState::default();
                state.go(Tier::Ram);
                state.set(kept | ONLY_IN_RAM);
                assert!(state.has(AHEAD) && !state.is_mapped());
                state.clear(AHEAD);
                assert!(state.is_mapped());
                state.go(tier);
                assert_eq!((state.tier(), state.is_in_ram()), (tier, tier == Tier::Ram));
                let flags = [WORKINGSET, CLEAN, POOLED].into_iter().filter(|&flag| state.has(flag)).sum::<u8>();
                assert_eq!(flags, kept, "{tier:?}");
                state.go(Tier::Ram);
                assert!(!state.has(ONLY_IN_RAM), "{tier:?}");
            }
        }
    }
}
