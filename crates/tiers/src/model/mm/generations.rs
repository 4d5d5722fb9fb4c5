//! Generations of the pages of a group: when it needs another one, and what reclaim takes of the oldest (mm/vmscan.c: `should_run_aging`,
//! `scan_folios`; include/linux/mm_inline.h: `lru_gen_add_folio`).

use super::aging::{Candidates, Walks};
use super::lruvec::{Lruvec, Lruvecs, MIN_GENERATIONS, Scan, WRITTEN, generation, list_of};
use crate::model::page::{AHEAD, CLEAN, NONE, Pages, Tier};

impl Lruvecs {
    /// Whether a group needs another generation before pages can be taken from it, or should have one, and its pages (`should_run_aging`).
    pub(super) fn should_run_aging(&mut self, cgroup: u16) -> (bool, usize) {
        let group = &mut self.groups[usize::from(cgroup)];
        group.forget_empty();
        let (total, generations) = (group.len(), group.youngest + 1 - group.oldest);
        if generations != MIN_GENERATIONS + 1 {
            return (total > 0 && generations <= MIN_GENERATIONS, total);
        }
        // Pages should be spread evenly: neither too many in the youngest generation, nor too few in the oldest.
        let (young, old) = (group.generation(group.youngest), group.generation(group.oldest));
        (young * MIN_GENERATIONS as usize > total || old * (MIN_GENERATIONS as usize + 2) < total, total)
    }

    /// Whether only those generations of a group are left that reclaim leaves.
    pub(super) fn has_fewest_generations(&mut self, cgroup: u16) -> bool {
        let group = &mut self.groups[usize::from(cgroup)];
        group.forget_empty();
        group.youngest + 1 - group.oldest <= MIN_GENERATIONS
    }

    /// Pages of the generations that the kernel counts as inactive: all but the youngest two.
    pub(super) fn inactive_generations(&self, cgroup: u16) -> usize {
        let group = &self.groups[usize::from(cgroup)];
        group.len() - group.generation(group.youngest) - group.generation(group.youngest - 1)
    }

    pub(super) fn youngest(&self, cgroup: u16) -> u32 {
        self.groups[usize::from(cgroup)].youngest
    }

    pub(super) fn inc_max_seq(&mut self, cgroup: u16) {
        self.groups[usize::from(cgroup)].youngest += 1;
    }

    pub(super) fn walks(&mut self, cgroup: u16) -> &mut Walks {
        &mut self.groups[usize::from(cgroup)].walks
    }

    /// Pages of a group that are in its lists.
    pub(super) fn pages_of(&self, cgroup: u16) -> impl Iterator<Item = u32> {
        let lists = self.groups[usize::from(cgroup)].lists.iter();
        lists.flat_map(|list| (list.first()..list.next()).map(|place| list.get(place))).filter(|&page| page != NONE)
    }

    /// A page goes to the youngest generation (`folio_update_gen`).
    pub(super) fn promote(&mut self, pages: &mut Pages, page: u32) {
        let (group, place) = (&mut self.groups[usize::from(pages.cgroup(page))], pages.place(page));
        let youngest = generation(group.youngest);
        if list_of(place) != youngest {
            group.forget(place);
            group.push(pages, page, youngest);
        }
    }

    /// Takes a batch of pages of the oldest generation out of its lists, while there are more than reclaim leaves; `all`: not only those that have
    /// been written.
    pub(super) fn isolate_oldest(&mut self, pages: &Pages, cgroup: u16, all: bool, scan: &mut Scan) -> Candidates {
        let mut isolated = Candidates::new();
        if self.has_fewest_generations(cgroup) {
            return isolated;
        }
        let group = &mut self.groups[usize::from(cgroup)];
        let oldest = generation(group.oldest);
        while !isolated.is_full() {
            let written = group.pop(pages, WRITTEN);
            let Some(page) = written.or_else(|| if all { group.pop(pages, oldest) } else { None }) else { break };
            isolated.push(page);
        }
        scan.scanned += isolated.len() as u64;
        self.resident -= isolated.len();
        isolated
    }

    /// The write of a page has ended: it is in the swap cache, clean and not mapped, and reclaim takes it next.
    pub(super) fn rotate_written(&mut self, pages: &mut Pages, page: u32) {
        pages.go(page, Tier::Ram);
        pages.set(page, AHEAD | CLEAN);
        self.insert_into(pages, page, WRITTEN);
    }

    /// Whether a group has pages in RAM that have been written.
    pub(super) fn has_written(&self, cgroup: u16) -> bool {
        self.groups[usize::from(cgroup)].lists[WRITTEN].len() > 0
    }

    /// Whether a page in RAM has been there since its write.
    pub(crate) fn was_written(&self, pages: &Pages, page: u32) -> bool {
        list_of(pages.place(page)) == WRITTEN
    }
}

impl Lruvec {
    /// Pages of a generation.
    fn generation(&self, seq: u32) -> usize {
        self.lists[generation(seq)].len() + if seq == self.oldest { self.lists[WRITTEN].len() } else { 0 }
    }

    /// An empty generation is none, while there are more than reclaim leaves (`try_to_inc_min_seq`).
    fn forget_empty(&mut self) {
        while self.oldest + MIN_GENERATIONS <= self.youngest && self.generation(self.oldest) == 0 {
            self.oldest += 1;
        }
    }
}
