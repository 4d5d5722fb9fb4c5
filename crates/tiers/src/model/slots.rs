//! Swap slots: areas by priority, taking turns, and clusters within an area.

use std::collections::VecDeque;

use super::page::NONE;
use crate::prefetch::prefetch;

/// Slots of a cluster (`SWAPFILE_CLUSTER`).
pub const CLUSTER: u32 = 512;
/// First kernel that hands out whole clusters, and single pages on rotational devices, to each area in turn.
const CLUSTERS_ROTATE: (u16, u16) = (6, 15);
/// First kernel that fills clusters from which slots were given back before it takes an empty one (K. Song, "mm, swap: prefer nonfull over
/// free clusters", August 2025), unless the device wants to be told what is free.
const HOLES_FIRST: (u16, u16) = (6, 18);
/// Slots handed out before that (`SWAP_BATCH`).
const BATCH: u32 = 64;

/// Slots that one area hands out before another of its priority has its turn.
#[must_use]
pub const fn turn(kernel: (u16, u16), rotational: bool) -> u32 {
    if kernel.0 < CLUSTERS_ROTATE.0 || (kernel.0 == CLUSTERS_ROTATE.0 && kernel.1 < CLUSTERS_ROTATE.1) {
        BATCH
    } else if rotational {
        1
    } else {
        CLUSTER
    }
}

/// Slots of a word of bits.
const WORD: u32 = u64::BITS;

#[derive(Clone, Debug)]
struct Area {
    /// Number of its first slot among all.
    base: u32,
    slots: u32,
    /// A bit for each slot, set while it is free: a full cluster is passed over in eight steps.
    bits: Vec<u64>,
    /// Page of each slot, or [`NONE`]; empty unless somebody asks who is next to whom.
    owners: Vec<u32>,
    /// Free slots of each cluster.
    free: Vec<u16>,
    /// Clusters with every slot free, oldest first. One may be listed twice; the count decides.
    empty: VecDeque<u32>,
    /// Clusters from which a slot was given back since they were last taken at hand, oldest first; which they are. One that becomes whole
    /// stays listed, and has its old place when it has holes again before that is met; the kernel would list it anew.
    partial: VecDeque<u32>,
    listed: Vec<bool>,
    /// Whether those are filled before empty ones.
    holes_first: bool,
    /// Slot to try next.
    cursor: u32,
    used: u32,
    turn: u32,
    left: u32,
}

impl Area {
    fn new(base: u32, slots: u32, turn: u32, owners: bool, holes_first: bool) -> Self {
        let clusters = slots.div_ceil(CLUSTER);
        let mut bits = vec![u64::MAX; slots.div_ceil(WORD) as usize];
        if let Some(last) = bits.last_mut() {
            *last >>= (WORD - slots % WORD) % WORD;
        }
        Self {
            base,
            slots,
            bits,
            owners: if owners { vec![NONE; slots as usize] } else { Vec::new() },
            free: (0..clusters).map(|index| CLUSTER.min(slots - index * CLUSTER) as u16).collect(),
            empty: (0..clusters).collect(),
            partial: VecDeque::new(),
            listed: vec![false; clusters as usize],
            holes_first,
            cursor: NONE,
            used: 0,
            turn,
            left: turn,
        }
    }

    fn alloc(&mut self, page: u32) -> Option<u32> {
        if self.used == self.slots {
            return None;
        }
        let slot = self.find()?;
        self.bits[(slot / WORD) as usize] &= !(1 << (slot % WORD));
        if let Some(owner) = self.owners.get_mut(slot as usize) {
            *owner = page;
        }
        self.free[(slot / CLUSTER) as usize] -= 1;
        self.used += 1;
        self.cursor = slot + 1;
        Some(self.base + slot)
    }

    /// The next free slot of the cluster at hand, else of another one.
    #[inline]
    fn find(&mut self) -> Option<u32> {
        if self.cursor != NONE && !self.cursor.is_multiple_of(CLUSTER) {
            // Most often the next one is free.
            let word = self.bits.get((self.cursor / WORD) as usize).copied().unwrap_or(0);
            if word >> (self.cursor % WORD) & 1 == 1 {
                return Some(self.cursor);
            }
            if let Some(slot) = self.free_from(self.cursor) {
                return Some(slot);
            }
        }
        self.find_elsewhere()
    }

    fn find_elsewhere(&mut self) -> Option<u32> {
        let found = if self.holes_first { self.hole().or_else(|| self.fresh()) } else { self.fresh().or_else(|| self.hole()) };
        if found.is_some() {
            return found;
        }
        let word = self.bits.iter().position(|&word| word != 0)?;
        Some(word as u32 * WORD + self.bits[word].trailing_zeros())
    }

    /// The beginning of an empty cluster.
    fn fresh(&mut self) -> Option<u32> {
        while let Some(cluster) = self.empty.pop_front() {
            if u32::from(self.free[cluster as usize]) == self.size(cluster) {
                return Some(cluster * CLUSTER);
            }
        }
        None
    }

    /// The first free slot of a cluster from which one was given back.
    fn hole(&mut self) -> Option<u32> {
        while let Some(cluster) = self.partial.pop_front() {
            self.listed[cluster as usize] = false;
            if u32::from(self.free[cluster as usize]) == self.size(cluster) {
                continue;
            }
            if let Some(slot) = self.free_from(cluster * CLUSTER) {
                return Some(slot);
            }
        }
        None
    }

    /// The first free slot of a cluster that is not before `slot`.
    fn free_from(&self, slot: u32) -> Option<u32> {
        if slot >= self.slots || self.free[(slot / CLUSTER) as usize] == 0 {
            return None;
        }
        let first = slot / WORD;
        let end = ((slot / CLUSTER + 1) * (CLUSTER / WORD)).min(self.bits.len() as u32);
        let mut word = self.bits[first as usize] & (u64::MAX << (slot % WORD));
        for index in first..end {
            if word != 0 {
                return Some(index * WORD + word.trailing_zeros());
            }
            word = self.bits.get(index as usize + 1).copied().unwrap_or(0);
        }
        None
    }

    fn size(&self, cluster: u32) -> u32 {
        CLUSTER.min(self.slots - cluster * CLUSTER)
    }

    fn release(&mut self, slot: u32) {
        let cluster = slot / CLUSTER;
        self.bits[(slot / WORD) as usize] |= 1 << (slot % WORD);
        if let Some(owner) = self.owners.get_mut(slot as usize) {
            *owner = NONE;
        }
        self.used -= 1;
        let free = &mut self.free[cluster as usize];
        *free += 1;
        if u32::from(*free) == self.size(cluster) {
            self.empty.push_back(cluster);
        } else if !std::mem::replace(&mut self.listed[cluster as usize], true) {
            self.partial.push_back(cluster);
        }
    }
}

/// All slots of all areas.
#[derive(Clone, Debug)]
pub(super) struct Slots {
    areas: Vec<Area>,
    /// Areas of one priority, in their turns; the highest priority first.
    ranks: Vec<VecDeque<usize>>,
    used: u64,
    all: u64,
}

impl Slots {
    /// Areas as (slots, priority, slots of a turn); with `owners`, the page of a slot can be asked for.
    pub(super) fn new(kernel: (u16, u16), given: &[(u32, i32, u32)], owners: bool) -> Self {
        let holes_first = kernel >= HOLES_FIRST;
        let (mut areas, mut base) = (Vec::new(), 0);
        for &(slots, _, turn) in given {
            areas.push(Area::new(base, slots, turn, owners, holes_first));
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
    pub(super) fn alloc(&mut self, page: u32) -> Option<u32> {
        if let [area] = &mut self.areas[..] {
            let slot = area.alloc(page);
            self.used += u64::from(slot.is_some());
            return slot;
        }
        self.alloc_by_rank(page)
    }

    fn alloc_by_rank(&mut self, page: u32) -> Option<u32> {
        for rank in &mut self.ranks {
            for _ in 0..rank.len() {
                let area = &mut self.areas[rank[0]];
                let slot = area.alloc(page);
                if rank.len() > 1 {
                    area.left -= u32::from(slot.is_some());
                    if slot.is_none() || area.left == 0 {
                        area.left = area.turn;
                        rank.rotate_left(1);
                    }
                }
                if slot.is_some() {
                    self.used += 1;
                    return slot;
                }
            }
        }
        None
    }

    /// Asks for the memory of a slot that is given back soon.
    #[inline]
    pub(super) fn soon(&self, slot: u32) {
        let area = &self.areas[self.area(slot)];
        prefetch(&area.bits, ((slot - area.base) / WORD) as usize);
    }

    /// Gives a slot back.
    pub(super) fn release(&mut self, slot: u32) {
        let area = self.area(slot);
        let base = self.areas[area].base;
        self.areas[area].release(slot - base);
        self.used -= 1;
    }

    /// The area of a slot.
    pub(super) fn area(&self, slot: u32) -> usize {
        if self.areas.len() == 1 {
            return 0;
        }
        self.areas.partition_point(|area| area.base <= slot) - 1
    }

    /// Number of a slot within its area.
    pub(super) fn index(&self, area: usize, slot: u32) -> u32 {
        slot - self.areas[area].base
    }

    /// Page of a slot of an area, if it is used; known only with `owners`.
    pub(super) fn owner_in(&self, area: usize, index: u32) -> Option<u32> {
        self.areas[area].owners.get(index as usize).copied().filter(|&page| page != NONE)
    }

    /// Used slots and all slots.
    pub(super) const fn fill(&self) -> (u64, u64) {
        (self.used, self.all)
    }
}
