//! Swap slots: areas by priority, taking turns, and clusters within an area.

use std::collections::VecDeque;

use swaptune_kernel::{KernelVersion, behaviours};

use super::clusters::{CLUSTER, ClusterRoom, Clusters};
use crate::model::page::NONE;
use crate::prefetch::prefetch;

/// Slots handed out before clusters rotate (`SWAP_BATCH`).
const BATCH: u32 = 64;

/// How long an area has its turn before another one of its priority.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum AreaTurn {
    /// This many slots.
    Slots(u32),
    /// To the end of the current cluster, of which some slots may have been in use.
    Cluster,
}

impl AreaTurn {
    /// That of a kernel, with a device that turns or one that does not.
    pub(crate) fn of(kernel: KernelVersion, rotational: bool) -> Self {
        if !behaviours::CLUSTERS_ROTATE.is_in(kernel) {
            Self::Slots(BATCH)
        } else if rotational {
            Self::Slots(1)
        } else {
            Self::Cluster
        }
    }
}

/// Slots of a word of bits.
const WORD: u32 = u64::BITS;

#[derive(Clone, Debug)]
struct SlotArea {
    /// Number of its first slot among all, and of its slots.
    base: u32,
    slots: u32,
    /// A bit for each slot, set while it is free: a full cluster is passed over in eight steps.
    bits: Vec<u64>,
    /// Page of each slot, or [`NONE`]; empty where the page of a slot is not asked for.
    owners: Vec<u32>,
    clusters: Clusters,
    /// The lists in which a cluster is looked for when the current one has no more room.
    lists: [ClusterRoom; 3],
    /// Slot to try next in the current cluster, or [`NONE`] where it has been gone through.
    cursor: u32,
    turn: AreaTurn,
    /// Slots left of its turn.
    left: u32,
}

impl SlotArea {
    fn new(base: u32, slots: u32, turn: AreaTurn, owners: bool, holes_first: bool) -> Self {
        let mut bits = vec![u64::MAX; slots.div_ceil(WORD) as usize];
        if let Some(last) = bits.last_mut() {
            *last >>= (WORD - slots % WORD) % WORD;
        }
        Self {
            base,
            slots,
            bits,
            owners: if owners { vec![NONE; slots as usize] } else { Vec::new() },
            clusters: Clusters::new(slots),
            lists: if holes_first {
                [ClusterRoom::Holes, ClusterRoom::Empty, ClusterRoom::Taken]
            } else {
                [ClusterRoom::Empty, ClusterRoom::Holes, ClusterRoom::Taken]
            },
            cursor: NONE,
            turn,
            left: 0,
        }
    }

    /// A slot of the current cluster, else of another one.
    #[inline]
    fn alloc(&mut self, page: u32) -> Option<u32> {
        let slot = self.current_cluster().or_else(|| self.other_cluster())?;
        Some(self.take(slot, page))
    }

    /// A slot while the turn of this area lasts.
    fn continue_turn(&mut self, page: u32) -> Option<u32> {
        let slot = match self.turn {
            AreaTurn::Slots(_) if self.left == 0 => None,
            AreaTurn::Slots(_) => self.current_cluster().or_else(|| self.other_cluster()),
            AreaTurn::Cluster => self.current_cluster(),
        }?;
        self.left = self.left.saturating_sub(1);
        Some(self.take(slot, page))
    }

    /// Begins a turn of this area.
    fn start_turn(&mut self, page: u32) -> Option<u32> {
        match self.turn {
            AreaTurn::Slots(slots) => self.left = slots,
            AreaTurn::Cluster => self.cursor = NONE,
        }
        let slot = self.current_cluster().or_else(|| self.other_cluster())?;
        self.left = self.left.saturating_sub(1);
        Some(self.take(slot, page))
    }

    #[inline]
    fn take(&mut self, slot: u32, page: u32) -> u32 {
        self.bits[(slot / WORD) as usize] &= !(1 << (slot % WORD));
        if let Some(owner) = self.owners.get_mut(slot as usize) {
            *owner = page;
        }
        let cluster = slot / CLUSTER;
        self.clusters.take(cluster);
        let ends = (slot + 1) % CLUSTER == 0 || self.clusters.is_full(cluster);
        self.cursor = if ends { NONE } else { slot + 1 };
        self.base + slot
    }

    /// The next free slot of the current cluster; of one that has become empty, the first (`cluster_is_empty`).
    #[inline]
    fn current_cluster(&mut self) -> Option<u32> {
        if self.cursor == NONE {
            return None;
        }
        let cluster = self.cursor / CLUSTER;
        if self.clusters.is_empty(cluster) {
            return Some(cluster * CLUSTER);
        }
        // Most often the next one is free.
        let word = self.bits.get((self.cursor / WORD) as usize).copied().unwrap_or(0);
        if word >> (self.cursor % WORD) & 1 == 1 {
            return Some(self.cursor);
        }
        let slot = self.free_from(self.cursor);
        if slot.is_none() {
            self.clusters.scanned(cluster);
            self.cursor = NONE;
        }
        slot
    }

    /// The first free slot of another cluster.
    fn other_cluster(&self) -> Option<u32> {
        let cluster = self.lists.iter().find_map(|&list| self.clusters.oldest(list))?;
        self.free_from(cluster * CLUSTER)
    }

    /// The first free slot of a cluster that is not before `slot`.
    fn free_from(&self, slot: u32) -> Option<u32> {
        let first = slot / WORD;
        let end = ((slot / CLUSTER + 1) * (CLUSTER / WORD)).min(self.bits.len() as u32);
        let mut word = self.bits.get(first as usize)? & (u64::MAX << (slot % WORD));
        for index in first..end {
            if word != 0 {
                return Some(index * WORD + word.trailing_zeros());
            }
            word = self.bits.get(index as usize + 1).copied().unwrap_or(0);
        }
        None
    }

    fn release(&mut self, slot: u32) {
        self.bits[(slot / WORD) as usize] |= 1 << (slot % WORD);
        if let Some(owner) = self.owners.get_mut(slot as usize) {
            *owner = NONE;
        }
        self.clusters.give_back(slot / CLUSTER);
    }
}

/// All slots of all areas.
#[derive(Clone, Debug)]
pub(crate) struct Slots {
    areas: Vec<SlotArea>,
    /// Areas of one priority, that whose turn it is last; the highest priority first.
    ranks: Vec<VecDeque<usize>>,
    used: u64,
    all: u64,
}

impl Slots {
    /// Areas as (slots, priority, turn); with `owners`, the page of a slot can be asked for.
    pub(crate) fn new(kernel: KernelVersion, given: &[(u32, i32, AreaTurn)], owners: bool) -> Self {
        let holes_first = behaviours::NONFULL_CLUSTERS_FIRST.is_in(kernel);
        let (mut areas, mut base) = (Vec::new(), 0);
        for &(slots, _, turn) in given {
            areas.push(SlotArea::new(base, slots, turn, owners, holes_first));
            base += slots;
        }
        let mut priorities: Vec<i32> = given.iter().map(|area| area.1).collect();
        priorities.sort_unstable_by(|a, b| b.cmp(a));
        priorities.dedup();
        let of = |priority| (0..given.len()).filter(|&index| given[index].1 == priority).collect();
        Self { areas, ranks: priorities.into_iter().map(of).collect(), used: 0, all: u64::from(base) }
    }

    /// A slot for a page: from the area of highest priority that has one and whose turn it is.
    #[inline]
    pub(crate) fn alloc(&mut self, page: u32) -> Option<u32> {
        if let [area] = &mut self.areas[..] {
            let slot = area.alloc(page);
            self.used += u64::from(slot.is_some());
            return slot;
        }
        self.alloc_by_rank(page)
    }

    fn alloc_by_rank(&mut self, page: u32) -> Option<u32> {
        let Self { areas, ranks, used, .. } = self;
        let slot = ranks.iter_mut().find_map(|rank| {
            let slot = rank.back().and_then(|&area| areas[area].continue_turn(page));
            slot.or_else(|| {
                (0..rank.len()).find_map(|_| {
                    rank.rotate_left(1);
                    rank.back().and_then(|&area| areas[area].start_turn(page))
                })
            })
        });
        *used += u64::from(slot.is_some());
        slot
    }

    /// Prefetches the memory of a slot that is given back soon.
    #[inline]
    pub(crate) fn prefetch_slot(&self, slot: u32) {
        let area = &self.areas[self.area(slot)];
        prefetch(&area.bits, ((slot - area.base) / WORD) as usize);
    }

    /// Gives a slot back.
    pub(crate) fn release(&mut self, slot: u32) {
        let area = self.area(slot);
        let base = self.areas[area].base;
        self.areas[area].release(slot - base);
        self.used -= 1;
    }

    /// The area of a slot.
    pub(crate) fn area(&self, slot: u32) -> usize {
        if self.areas.len() == 1 {
            return 0;
        }
        self.areas.partition_point(|area| area.base <= slot) - 1
    }

    /// Number of a slot within its area.
    pub(crate) fn index(&self, area: usize, slot: u32) -> u32 {
        slot - self.areas[area].base
    }

    /// Page of a slot of an area, if it is used; known only with `owners`.
    pub(crate) fn owner_in(&self, area: usize, index: u32) -> Option<u32> {
        self.areas[area].owners.get(index as usize).copied().filter(|&page| page != NONE)
    }

    /// Slots of an area.
    pub(crate) fn len(&self, area: usize) -> u32 {
        self.areas[area].slots
    }

    /// Used slots and all slots.
    pub(crate) const fn fill(&self) -> (u64, u64) {
        (self.used, self.all)
    }
}
