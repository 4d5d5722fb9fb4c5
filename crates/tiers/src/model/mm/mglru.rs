//! Reclaim with generations: one control group at a time (mm/vmscan.c: `shrink_many`, `shrink_one`, `try_to_shrink_lruvec`).
//!
//! A visit takes 64 pages, or the share of the priority if that is more, and then calls the shrinkers once for that group. A group from
//! which pages can be taken keeps its place; one that had to be aged goes to the next generation of groups, which is visited when the
//! present one has none left. kswapd begins at a priority between 6 and 12 by how much is to be reclaimed, and lowers it after a pass
//! over the groups that scanned less than that. Ageing does not look at page tables: a page that was used is met in its old generation.

use std::collections::VecDeque;

use super::lruvec::{MIN_LRU_BATCH, Scan};
use super::vmscan::DEFAULT_PRIORITY;
use super::{BATCH, Memory, Pageout};

/// Lists of a generation of groups (`MEMCG_NR_BINS`).
const BINS: usize = 8;

/// What becomes of a group after its visit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Turn {
    /// It keeps its place.
    Stays,
    /// It is visited once more in this generation.
    Tail,
    /// It goes to the next generation.
    Young,
}

/// Groups in the order of their visits (`pgdat->memcg_lru`).
#[derive(Clone, Debug)]
pub(super) struct MemcgLru {
    fifo: [[VecDeque<u16>; BINS]; 2],
    /// Index of the generation that is visited.
    present: usize,
    /// Groups that had their one visit more.
    tail: Vec<bool>,
    random: u64,
}

/// A pass over the groups of a generation, at one priority.
#[derive(Clone, Copy, Debug)]
pub(super) struct Pass {
    priority: u32,
    generation: usize,
    bin: usize,
    bins_left: usize,
    index: usize,
    scanned: usize,
    evicted: usize,
}

/// kswapd while it is awake: the pass that it is in, the next priority, and what it has reclaimed since that was the first.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Kswapd {
    pass: Option<Pass>,
    priority: Option<u32>,
    evicted: usize,
}

impl MemcgLru {
    pub(super) fn new(groups: usize, seed: u64) -> Self {
        let mut lru = Self { fifo: Default::default(), present: 0, tail: vec![false; groups], random: seed };
        (0..groups).for_each(|group| {
            let bin = lru.any_bin();
            lru.fifo[0][bin].push_back(group as u16);
        });
        lru
    }

    /// A bin by chance (SplitMix64).
    fn any_bin(&mut self) -> usize {
        self.random = self.random.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mixed = (self.random ^ (self.random >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        let mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        (mixed >> 61) as usize
    }

    fn begin(&mut self, priority: u32) -> Pass {
        let bin = self.any_bin();
        Pass { priority, generation: self.present, bin, bins_left: BINS, index: 0, scanned: 0, evicted: 0 }
    }

    /// The group that a pass visits next.
    fn next(&self, pass: &mut Pass) -> Option<u16> {
        while pass.bins_left > 0 {
            if let Some(&group) = self.fifo[pass.generation][pass.bin].get(pass.index) {
                return Some(group);
            }
            (pass.bin, pass.index, pass.bins_left) = ((pass.bin + 1) % BINS, 0, pass.bins_left - 1);
        }
        None
    }

    /// The group of a pass was visited (`lru_gen_rotate_memcg`).
    fn turn(&mut self, pass: &mut Pass, turn: Turn) {
        if turn == Turn::Stays {
            pass.index += 1;
            return;
        }
        let Some(group) = self.fifo[pass.generation][pass.bin].remove(pass.index) else { return };
        let generation = if turn == Turn::Young { 1 - pass.generation } else { pass.generation };
        self.tail[usize::from(group)] = turn == Turn::Tail;
        let bin = self.any_bin();
        self.fifo[generation][bin].push_back(group);
        if self.present == pass.generation && self.fifo[pass.generation].iter().all(VecDeque::is_empty) {
            self.present = 1 - self.present;
        }
    }
}

impl Memory {
    /// Direct reclaim of all groups: ever larger shares until a batch has left (`do_try_to_free_pages`).
    pub(super) fn shrink_generations(&mut self, below: &mut impl Pageout, time: &mut u64) -> usize {
        let mut evicted = 0;
        for priority in (0..=DEFAULT_PRIORITY).rev() {
            let mut pass = self.memcg_lru.begin(priority);
            while evicted + pass.evicted < BATCH && self.visit(&mut pass, usize::MAX, below, time) {}
            evicted += pass.evicted;
            if evicted >= BATCH {
                break;
            }
        }
        evicted
    }

    /// The same of one group that is at its limit.
    pub(super) fn shrink_generations_of(&mut self, cgroup: u16, below: &mut impl Pageout, time: &mut u64) -> usize {
        let mut evicted = 0;
        for priority in (0..=DEFAULT_PRIORITY).rev() {
            evicted += self.shrink_one(cgroup, priority, usize::MAX, below, time).2;
            if evicted >= BATCH {
                break;
            }
        }
        evicted
    }

    /// kswapd visits one group. `false` when nothing could be reclaimed at any priority (`balance_pgdat`).
    pub(in crate::model) fn kswapd_visits(&mut self, below: &mut impl Pageout, time: &mut u64) -> bool {
        let wanted = self.marks.high as usize;
        let Kswapd { pass, priority, evicted } = self.generations;
        let begins = priority.unwrap_or_else(|| self.initial_priority(wanted));
        let mut pass = pass.unwrap_or_else(|| self.memcg_lru.begin(begins));
        if self.visit(&mut pass, wanted, below, time) && pass.evicted < wanted {
            self.generations = Kswapd { pass: Some(pass), priority: Some(begins), evicted };
            return true;
        }
        let evicted = evicted + pass.evicted;
        let lower = begins - u32::from(pass.scanned < wanted || pass.evicted == 0);
        self.generations = if lower > 0 { Kswapd { pass: None, priority: Some(lower), evicted } } else { Kswapd::default() };
        lower > 0 || evicted > 0
    }

    /// Free pages at which kswapd ends a pass: those at which it sleeps, and a batch while it is at it (`should_abort_scan`).
    pub(in crate::model) fn kswapd_wants(&self) -> i64 {
        self.marks.high as i64 + if self.generations.pass.is_some() { MIN_LRU_BATCH as i64 } else { 0 }
    }

    /// kswapd sleeps.
    pub(in crate::model) fn kswapd_sleeps(&mut self) {
        self.generations = Kswapd::default();
    }

    /// By how much is to be reclaimed of the older generations (`set_initial_priority`).
    fn initial_priority(&self, wanted: usize) -> u32 {
        let bits = |pages: usize| (usize::BITS - pages.leading_zeros()) as i32;
        let inactive: usize = (0..self.memcgs.len()).map(|group| self.lruvecs.inactive_generations(group as u16)).sum();
        (bits(inactive) - 1 - bits(wanted.saturating_sub(1))).clamp(DEFAULT_PRIORITY as i32 / 2, DEFAULT_PRIORITY as i32) as u32
    }

    /// Visits the next group of a pass. `false` when there is none.
    fn visit(&mut self, pass: &mut Pass, enough: usize, below: &mut impl Pageout, time: &mut u64) -> bool {
        let Some(group) = self.memcg_lru.next(pass) else { return false };
        let left = enough.saturating_sub(pass.evicted);
        let (turn, scanned, evicted) = self.shrink_one(group, pass.priority, left, below, time);
        pass.scanned += scanned;
        pass.evicted += evicted;
        self.memcg_lru.turn(pass, turn);
        true
    }

    /// Reclaims from a group, then from what its shrinkers have (`shrink_one`). Tells its next turn, pages scanned and pages evicted.
    fn shrink_one(
        &mut self,
        cgroup: u16,
        priority: u32,
        enough: usize,
        below: &mut impl Pageout,
        time: &mut u64,
    ) -> (Turn, usize, usize) {
        let (mut scanned, mut evicted, mut aged) = (0, 0, false);
        while below.can_reclaim_anon() {
            let (must_age, total) = self.lruvecs.should_run_aging(cgroup);
            if must_age && priority < DEFAULT_PRIORITY {
                self.lruvecs.age(cgroup);
                aged = true;
                break;
            }
            let wanted = total >> priority;
            if scanned >= wanted || evicted >= enough {
                break;
            }
            let (looked_at, left) = self.evict_folios(cgroup, below, time);
            (scanned, evicted) = (scanned + looked_at, evicted + left);
            let is_free = enough != usize::MAX && self.free(below.pools()) >= self.kswapd_wants();
            if looked_at == 0 || is_free {
                break;
            }
        }
        below.shrink_slab(self, cgroup, priority, time);
        let turn = match () {
            () if aged => Turn::Young,
            () if self.lruvecs.len(cgroup) >> priority > 0 => Turn::Stays,
            () if self.memcg_lru.tail[usize::from(cgroup)] => Turn::Young,
            () => Turn::Tail,
        };
        (turn, scanned, evicted)
    }

    /// Takes 64 pages of the oldest generation. Tells how many were looked at and how many left (`evict_folios`).
    fn evict_folios(&mut self, cgroup: u16, below: &mut impl Pageout, time: &mut u64) -> (usize, usize) {
        let (mut scan, mut evicted, mut taken) = (Scan::default(), 0, 0);
        while taken < MIN_LRU_BATCH {
            let Some(page) = self.lruvecs.victim(&mut self.pages, cgroup, &mut scan) else { break };
            taken += 1;
            if self.cannot_be_written(page) {
                self.lruvecs.activate(&mut self.pages, page, &mut scan);
            } else if below.pageout(self, page, time) {
                evicted += 1;
            } else {
                self.lruvecs.insert(&mut self.pages, page);
            }
        }
        *time += scan.scanned * self.rules.scan;
        self.count(scan, evicted);
        (scan.scanned as usize, evicted)
    }
}
