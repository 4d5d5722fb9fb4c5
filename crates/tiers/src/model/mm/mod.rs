//! Memory as mm/ has it: pages of RAM in their lists, what each cgroup is charged for, and which of them leave (mm/vmscan.c, mm/memcontrol.c).

mod aging;
mod generations;
#[cfg(test)]
mod generations_tests;
mod lruvec;
#[cfg(test)]
mod lruvec_tests;
mod mglru;
#[cfg(test)]
mod mglru_tests;
mod vmscan;
#[cfg(test)]
mod vmscan_tests;
mod workingset;
#[cfg(test)]
mod workingset_tests;

pub(super) use lruvec::{BATCH, Lruvecs};

use swaptune_kernel::behaviours;

use super::counters::Counters;
use super::page::{Pages, REFERENCED, Tier};
use super::spec::{CompressedSizes, Lru, ModelSettings, Watermarks};
use crate::alloc::PAGE_SIZE;
use mglru::{Kswapd, MemcgLru};
use workingset::Refault;

/// What a memory cgroup is charged for.
#[derive(Clone, Copy, Debug, Default)]
struct Memcg {
    /// Pages in RAM and those that are still being written.
    charged: u64,
    /// Bytes that zswap holds of it.
    zswap: u64,
    /// Pages that came back after they were evicted.
    refaults: u64,
    limit: Option<u64>,
}

/// One control group, as an observer finds it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ObservedGroup {
    /// Pages of RAM that it is charged for, compressed ones left out.
    pub memory: u64,
    /// Bytes that zswap holds of it (`memory.zswap.current`).
    pub pooled: u64,
    /// Its pages that came back after they were evicted (`workingset_refault_anon` of memory.stat).
    pub refaults: u64,
}

/// What reclaim goes by.
#[derive(Clone, Copy, Debug)]
struct Rules {
    /// Nanoseconds to look at a page.
    scan: u64,
    swappiness: u32,
    charge_zswap: bool,
    /// Whether pages that zswap gave to read-ahead stay ([`behaviours::READ_AHEAD_STAYS`]).
    read_ahead_stays: bool,
}

/// What reclaim asks of the tiers below RAM.
pub(super) trait Pageout {
    /// Moves a page out of RAM; it is in no list. `false` if there is no place for it (`pageout`).
    fn pageout(&mut self, memory: &mut Memory, page: u32, time: &mut u64) -> bool;

    /// Whether there may be a place for another page: lists are not scanned without (`can_reclaim_anon_pages`).
    fn can_reclaim_anon(&self) -> bool;

    /// Lets the shrinkers do what reclaim of a cgroup at a priority asks of them (`shrink_slab`).
    fn shrink_slab(&mut self, memory: &mut Memory, cgroup: u16, priority: u32, time: &mut u64);
}

/// RAM and the pages that want to be in it.
#[derive(Clone, Debug)]
pub(super) struct Memory {
    pub(super) pages: Pages,
    pub(super) lruvecs: Lruvecs,
    memcgs: Vec<Memcg>,
    pub(super) marks: Watermarks,
    /// Time of kswapd while it is awake.
    pub(super) kswapd: Option<u64>,
    /// Pages of RAM that the trace may have, and those taken: by its pages, by those under write and by copies under write.
    ram: u64,
    used: u64,
    /// Cgroup that global reclaim visits next (`mem_cgroup_iter`).
    cursor: usize,
    /// The page that a fault brings: reclaim for its neighbours passes over it (`folio_trylock`).
    pub(super) locked: Option<u32>,
    memcg_lru: MemcgLru,
    /// kswapd with generations.
    generations: Kswapd,
    rules: Rules,
    pub(super) sizes: CompressedSizes,
    seed: u64,
    pub(super) vmstat: Counters,
}

impl Memory {
    /// RAM of a machine with untouched pages of these sizes; `entries`: a page has a place in a pool besides its place in RAM.
    pub(super) fn new(settings: &ModelSettings, sizes: CompressedSizes, pages: u32, entries: bool) -> Self {
        let rules = Rules {
            scan: settings.costs.scan,
            swappiness: settings.swappiness,
            charge_zswap: settings.charge_zswap,
            read_ahead_stays: behaviours::READ_AHEAD_STAYS.is_in(settings.kernel),
        };
        Self {
            pages: Pages::new(pages as usize, settings.cgroups.len() > 1, entries),
            lruvecs: Lruvecs::new(settings.lru, settings.cgroups.iter().map(Option::is_some)),
            memcgs: settings.cgroups.iter().map(|&limit| Memcg { limit, ..Memcg::default() }).collect(),
            marks: settings.watermarks(),
            kswapd: None,
            ram: settings.ram - settings.reserved,
            used: 0,
            cursor: 0,
            locked: None,
            memcg_lru: MemcgLru::new(settings.cgroups.len(), settings.seed),
            generations: Kswapd::default(),
            rules,
            sizes,
            seed: settings.seed,
            vmstat: Counters::default(),
        }
    }

    /// Compressed size of a page in bytes.
    #[inline]
    pub(super) fn size_of(&self, page: u32) -> u16 {
        self.size_in(&self.sizes, page)
    }

    /// The same by other sizes.
    #[inline]
    pub(super) fn size_in(&self, sizes: &CompressedSizes, page: u32) -> u16 {
        sizes.of(page, self.seed)
    }

    /// Pages of RAM that are free beside pools of this size; below zero where those took reserves.
    #[inline]
    pub(super) const fn free(&self, pools: u64) -> i64 {
        self.ram as i64 - (self.used + pools) as i64
    }

    /// A page of RAM is taken for a copy under write.
    pub(super) const fn take(&mut self) {
        self.used += 1;
    }

    /// And free again.
    pub(super) const fn give_back(&mut self) {
        self.used -= 1;
    }

    /// A page of RAM is taken for a cgroup.
    pub(super) fn charge(&mut self, cgroup: u16) {
        self.used += 1;
        self.memcgs[usize::from(cgroup)].charged += 1;
    }

    /// A page of RAM of a cgroup is free again.
    pub(super) fn uncharge(&mut self, cgroup: u16) {
        self.used -= 1;
        self.memcgs[usize::from(cgroup)].charged -= 1;
    }

    /// zswap stored an object of a cgroup (`obj_cgroup_charge_zswap`).
    pub(super) fn charge_zswap(&mut self, cgroup: u16, bytes: u16) {
        self.memcgs[usize::from(cgroup)].zswap += u64::from(bytes);
    }

    /// And no longer holds it (`obj_cgroup_uncharge_zswap`).
    pub(super) fn uncharge_zswap(&mut self, cgroup: u16, bytes: u16) {
        self.memcgs[usize::from(cgroup)].zswap -= u64::from(bytes);
    }

    /// What a cgroup has, and how much came back.
    pub(super) fn group(&self, cgroup: u16) -> ObservedGroup {
        let group = &self.memcgs[usize::from(cgroup)];
        ObservedGroup { memory: group.charged, pooled: group.zswap, refaults: group.refaults }
    }

    /// Whether a cgroup has no room for one more page.
    pub(super) fn is_over_limit(&self, cgroup: u16) -> bool {
        let group = &self.memcgs[usize::from(cgroup)];
        let Some(limit) = group.limit else { return false };
        let zswap = if self.rules.charge_zswap { group.zswap.div_ceil(u64::from(PAGE_SIZE)) } else { 0 };
        group.charged + zswap >= limit
    }

    /// Whether RAM keeps its pages in generations.
    pub(super) fn is_generational(&self) -> bool {
        self.lruvecs.kind() == Lru::Generational
    }

    /// The cgroup of an event: those that the settings do not know are the last one.
    pub(super) fn known_cgroup(&self, cgroup: u16) -> u16 {
        usize::from(cgroup).min(self.memcgs.len() - 1) as u16
    }

    /// Pages of RAM whose write has not ended.
    pub(super) fn under_write(&self) -> usize {
        self.used as usize - self.lruvecs.resident()
    }

    /// A page enters RAM for the first time, accessed (`folio_add_new_anon_rmap`).
    #[inline]
    pub(super) fn add_new(&mut self, page: u32) {
        self.charge(self.pages.cgroup(page));
        self.pages.go(page, Tier::Ram);
        self.pages.set(page, REFERENCED);
        self.lruvecs.insert(&mut self.pages, page);
    }

    /// A page that was under write is used again, in the swap cache.
    pub(super) fn add_again(&mut self, page: u32) {
        self.pages.go(page, Tier::Ram);
        self.pages.set(page, REFERENCED);
        self.lruvecs.insert(&mut self.pages, page);
    }

    /// The write of a page has ended. With generations it stays in the swap cache until reclaim finds it (`folio_rotate_reclaimable`); else
    /// its RAM is free.
    pub(super) fn end_write(&mut self, page: u32) {
        if self.is_generational() {
            self.lruvecs.rotate_written(&mut self.pages, page);
        } else {
            self.pages.go(page, Tier::Disk);
            self.gone(page);
        }
    }

    /// A page comes back into RAM with these flags (`workingset_refault`).
    #[inline]
    pub(super) fn refault(&mut self, page: u32, flags: u8, swap_is_free: bool) {
        self.charge(self.pages.cgroup(page));
        self.pages.go(page, Tier::Ram);
        self.pages.set(page, flags);
        self.memcgs[usize::from(self.pages.cgroup(page))].refaults += 1;
        let vmstat = &mut self.vmstat;
        vmstat.workingset_refault_anon += 1;
        match self.lruvecs.refault(&mut self.pages, page, swap_is_free) {
            Refault::Late => {}
            Refault::Activated => vmstat.workingset_activate_anon += 1,
            Refault::Restored => {
                vmstat.workingset_activate_anon += 1;
                vmstat.workingset_restore_anon += 1;
            }
        }
    }

    /// The RAM of a page is free, its content elsewhere. Tells its shadow (`workingset_eviction`).
    #[inline]
    pub(super) fn evict(&mut self, page: u32) -> u32 {
        let cgroup = self.pages.cgroup(page);
        let shadow = self.lruvecs.shadow(cgroup);
        self.uncharge(cgroup);
        shadow
    }

    /// The same of a page that keeps its shadow itself.
    #[inline]
    pub(super) fn gone(&mut self, page: u32) {
        let shadow = self.evict(page);
        self.pages.set_place(page, shadow);
    }

    /// A page in RAM is given back.
    pub(super) fn remove(&mut self, page: u32) {
        self.lruvecs.remove(&self.pages, page);
        self.uncharge(self.pages.cgroup(page));
    }
}

#[cfg(test)]
impl Memory {
    /// Pages that each cgroup is charged for, and all pages of RAM that are taken.
    pub(super) fn charged(&self) -> (Vec<u64>, u64) {
        (self.memcgs.iter().map(|group| group.charged).collect(), self.used)
    }
}
