//! Reclaim with generations: one control group at a time (mm/vmscan.c: `shrink_many`, `shrink_one`, `try_to_shrink_lruvec`).
//!
//! A visit takes 64 pages, or the share of the priority if that is more, and then calls the shrinkers once for that group. A group from
//! which pages can be taken keeps its place; one that had to be aged goes to the next generation of groups, which is visited when the
//! present one has none left. kswapd begins at a priority between 6 and 12 by how much is to be reclaimed, and lowers it after a pass
//! over the groups that scanned less than that.
//!
//! A pass of kswapd ends when as much was reclaimed as the watermarks of all zones together, not when enough is free: `should_abort_scan`
//! asks that of every zone, and the zone DMA of an x86 machine is low whenever kswapd wakes, for pages are taken from it last. What a
//! disk is still to get does not count as reclaimed, and nothing waits for it (`lru_gen_shrink_node` leaves before `reclaim_throttle`).

use std::collections::VecDeque;
use std::ops::AddAssign;

use super::lruvec::Scan;
use super::vmscan::DEFAULT_PRIORITY;
use super::{BATCH, Memory, Pageout};
use crate::model::page::{REFERENCED, Tier};

/// Lists of a generation of groups (`MEMCG_NR_BINS`).
const BINS: usize = 8;

/// What becomes of a group after its visit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum AfterVisit {
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

/// What reclaim did to pages of the oldest generation.
#[derive(Clone, Copy, Debug, Default)]
struct Evicted {
    /// Those it looked at.
    scanned: usize,
    /// Those that left their list, and those of them whose RAM is free: a disk is still to get the others.
    left: usize,
    reclaimed: usize,
}

impl AddAssign for Evicted {
    fn add_assign(&mut self, other: Self) {
        self.scanned += other.scanned;
        self.left += other.left;
        self.reclaimed += other.reclaimed;
    }
}

/// A visit of a group.
#[derive(Clone, Copy, Debug)]
struct Visit {
    cgroup: u16,
    priority: u32,
    /// Pages that are enough.
    enough: usize,
    done: Evicted,
    /// As much was scanned as was to be, or enough reclaimed.
    is_over: bool,
}

impl Visit {
    fn new(cgroup: u16, priority: u32, enough: usize) -> Self {
        Self { cgroup, priority, enough, done: Evicted::default(), is_over: false }
    }
}

/// A pass over the groups of a generation, at one priority.
#[derive(Clone, Copy, Debug)]
pub(super) struct Pass {
    priority: u32,
    generation: usize,
    bin: usize,
    bins_left: usize,
    index: usize,
    done: Evicted,
    visit: Option<Visit>,
}

/// kswapd while it is awake: the pass that it is in, the next priority, and what it has reclaimed since that was the first.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Kswapd {
    pass: Option<Pass>,
    priority: Option<u32>,
    reclaimed: usize,
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
        Pass { priority, generation: self.present, bin, bins_left: BINS, index: 0, done: Evicted::default(), visit: None }
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

    /// A group was visited (`lru_gen_rotate_memcg`). Direct reclaim may have moved it meanwhile.
    fn turn(&mut self, pass: &mut Pass, group: u16, turn: AfterVisit) {
        let is_here = self.fifo[pass.generation][pass.bin].get(pass.index) == Some(&group);
        if turn == AfterVisit::Stays {
            pass.index += usize::from(is_here);
            return;
        }
        let here = Some((pass.generation, pass.bin, pass.index)).filter(|_| is_here);
        let Some((from, bin, index)) = here.or_else(|| self.find(group)) else { return };
        self.fifo[from][bin].remove(index);
        let generation = if turn == AfterVisit::Young { 1 - self.present } else { from };
        self.tail[usize::from(group)] = turn == AfterVisit::Tail;
        let bin = self.any_bin();
        self.fifo[generation][bin].push_back(group);
        if self.fifo[self.present].iter().all(VecDeque::is_empty) {
            self.present = 1 - self.present;
        }
    }

    /// Generation, bin and place there of a group.
    fn find(&self, group: u16) -> Option<(usize, usize, usize)> {
        let bins = self
            .fifo
            .iter()
            .enumerate()
            .flat_map(|(generation, bins)| (0..).zip(bins).map(move |(bin, fifo)| (generation, bin, fifo)));
        bins.filter_map(|(generation, bin, fifo)| Some((generation, bin, fifo.iter().position(|&other| other == group)?))).next()
    }
}

impl Memory {
    /// Direct reclaim of all groups: ever larger shares until a batch has left (`do_try_to_free_pages`).
    pub(super) fn shrink_generations(&mut self, below: &mut impl Pageout, time: &mut u64) -> usize {
        let mut left = 0;
        for priority in (0..=DEFAULT_PRIORITY).rev() {
            let mut pass = self.memcg_lru.begin(priority);
            while (pass.visit.is_some() || left + pass.done.left < BATCH) && self.go_on(&mut pass, usize::MAX, below, time) {}
            left += pass.done.left;
            if left >= BATCH {
                break;
            }
        }
        left
    }

    /// The same of one group that is at its limit.
    pub(super) fn shrink_generations_of(&mut self, cgroup: u16, below: &mut impl Pageout, time: &mut u64) -> usize {
        let mut left = 0;
        for priority in (0..=DEFAULT_PRIORITY).rev() {
            let mut visit = Visit::new(cgroup, priority, usize::MAX);
            while self.shrink_batch(&mut visit, below, time).is_none() {}
            left += visit.done.left;
            if left >= BATCH {
                break;
            }
        }
        left
    }

    /// kswapd takes a batch of the group that it visits, so that writes end meanwhile. `false` when nothing could be reclaimed at any priority (`balance_pgdat`).
    pub(in crate::model) fn kswapd_goes_on(&mut self, below: &mut impl Pageout, time: &mut u64) -> bool {
        let wanted = self.marks.high as usize;
        let Kswapd { pass, priority, reclaimed } = self.generations;
        let begins = priority.unwrap_or_else(|| self.initial_priority(wanted));
        let mut pass = pass.unwrap_or_else(|| self.memcg_lru.begin(begins));
        if self.go_on(&mut pass, wanted, below, time) && (pass.visit.is_some() || pass.done.reclaimed < wanted) {
            self.generations = Kswapd { pass: Some(pass), priority: Some(begins), reclaimed };
            return true;
        }
        let reclaimed = reclaimed + pass.done.reclaimed;
        let lower = begins - u32::from(pass.done.scanned < wanted || pass.done.reclaimed == 0);
        self.generations = if lower > 0 { Kswapd { pass: None, priority: Some(lower), reclaimed } } else { Kswapd::default() };
        lower > 0 || reclaimed > 0
    }

    /// Whether kswapd is within a pass, which does not end because enough is free.
    pub(in crate::model) const fn kswapd_is_in_a_pass(&self) -> bool {
        self.generations.pass.is_some()
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

    /// Takes a batch of the group that a pass is at, or of the next one. `false` when there is none.
    fn go_on(&mut self, pass: &mut Pass, enough: usize, below: &mut impl Pageout, time: &mut u64) -> bool {
        let begun = pass
            .visit
            .take()
            .or_else(|| Some(Visit::new(self.memcg_lru.next(pass)?, pass.priority, enough.saturating_sub(pass.done.reclaimed))));
        let Some(mut visit) = begun else { return false };
        match self.shrink_batch(&mut visit, below, time) {
            None => pass.visit = Some(visit),
            Some(turn) => {
                pass.done += visit.done;
                self.memcg_lru.turn(pass, visit.cgroup, turn);
            }
        }
        true
    }

    /// Takes a batch of a group that is visited. The last call of a visit takes none: after what the last batch had to wait for, the group's shrinkers
    /// give what they have, and its next turn is told (`shrink_one`).
    fn shrink_batch(&mut self, visit: &mut Visit, below: &mut impl Pageout, time: &mut u64) -> Option<AfterVisit> {
        let Visit { cgroup, priority, enough, is_over, .. } = *visit;
        let mut ages = false;
        // Where swap is full the kernel leaves those too that have been written; on a machine that is small beside its disk's queue that would be all.
        if !is_over && (below.can_reclaim_anon() || self.lruvecs.has_written(cgroup)) {
            let (must_age, total) = self.lruvecs.should_run_aging(cgroup);
            ages = must_age && priority < DEFAULT_PRIORITY;
            if ages {
                self.lruvecs.age(&mut self.pages, cgroup);
            } else if total >> priority > 0 {
                let batch = self.evict_folios(cgroup, below, time);
                visit.done += batch;
                // In a group that would need another generation now nothing more is scanned; it gets one when it is visited next.
                let none_left = batch.scanned == 0 || self.lruvecs.has_fewest_generations(cgroup);
                visit.is_over = none_left || visit.done.scanned >= total >> priority || visit.done.reclaimed >= enough;
                return None;
            }
        }
        below.shrink_slab(self, cgroup, priority, time);
        Some(match () {
            () if ages => AfterVisit::Young,
            () if self.lruvecs.len(cgroup) >> priority > 0 => AfterVisit::Stays,
            () if self.memcg_lru.tail[usize::from(cgroup)] => AfterVisit::Young,
            () => AfterVisit::Tail,
        })
    }

    /// Takes a batch of the oldest generation; those of them that were used go to the youngest (`evict_folios`).
    fn evict_folios(&mut self, cgroup: u16, below: &mut impl Pageout, time: &mut u64) -> Evicted {
        let (mut scan, mut done) = (Scan::default(), Evicted::default());
        let mut isolated = self.lruvecs.isolate_oldest(&self.pages, cgroup, below.can_reclaim_anon(), &mut scan);
        for index in 0..isolated.len() {
            let page = isolated.get(index);
            if self.pages.has(page, REFERENCED) {
                self.pages.clear(page, REFERENCED);
                self.lruvecs.look_around(&mut self.pages, page, &mut isolated);
                self.lruvecs.insert(&mut self.pages, page);
            } else if isolated.was_used(index) {
                self.lruvecs.insert(&mut self.pages, page);
            } else if self.cannot_be_written(page) {
                self.lruvecs.activate(&mut self.pages, page, &mut scan);
            } else if below.pageout(self, page, time) {
                done.left += 1;
                done.reclaimed += usize::from(self.pages.tier(page) != Tier::Writing);
            } else {
                self.lruvecs.insert(&mut self.pages, page);
            }
        }
        done.scanned = isolated.len();
        *time += scan.scanned * self.rules.scan;
        self.count(scan, done.left);
        done
    }
}
