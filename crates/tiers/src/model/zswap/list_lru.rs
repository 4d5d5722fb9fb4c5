//! Entries of zswap's pool in order of age (`list_lru`), side by side in memory: what write-back meets next lies beside what it met last.

use std::collections::VecDeque;

use crate::model::page::NONE;
use crate::model::ring::{Member, Ring};
use crate::prefetch::prefetch;

/// Places ahead of write-back at which an entry is prefetched.
const PREFETCH: u32 = 12;

/// A page in the pool.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct PoolEntry {
    /// Or [`NONE`]: the entry is gone.
    pub(crate) page: u32,
    /// Its object in the pool.
    pub(crate) handle: u32,
    /// Bytes of that.
    pub(crate) size: u16,
    /// Not met by write-back since it was stored (`referenced`, since 6.12).
    pub(crate) chance: bool,
    /// That of its page, where the page's place is that of the entry.
    pub(crate) shadow: u32,
    /// Its page is on the disk too, because it was cleaned ahead.
    pub(crate) clean: bool,
}

impl Member for PoolEntry {
    const HOLE: Self = Self { page: NONE, handle: NONE, size: 0, chance: false, clean: false, shadow: 0 };

    #[inline(always)]
    fn page(&self) -> u32 {
        self.page
    }
}

/// Entries that write-back met one after the other and passed over, without a store in between.
#[derive(Clone, Copy, Debug)]
struct PassedOver {
    from: u32,
    to: u32,
    /// Where the next store went at that time: the run is younger than all before and older than all from there on.
    at: u32,
}

/// Entries in order of age, as the kernel's list has them, where an entry that is passed over goes to the young end.
///
/// Here it stays where it is: all entries before [`ListLru::unmet`] have been met, and [`PassedOver`]s say when. What leaves from the middle
/// leaves a hole, which is skipped.
#[derive(Clone, Debug, Default)]
pub(crate) struct ListLru {
    entries: Ring<PoolEntry>,
    /// First place that write-back has not met.
    unmet: u32,
    met: VecDeque<PassedOver>,
    /// First place that cleaning ahead has not met.
    uncleaned: u32,
}

impl ListLru {
    /// How many entries it has.
    pub(crate) const fn len(&self) -> usize {
        self.entries.len()
    }

    /// The entry of a place; at a hole one without a page.
    #[inline]
    pub(crate) fn get(&self, place: u32) -> PoolEntry {
        self.entries.get(place)
    }

    /// The entry that was stored first of those that cleaning ahead has not met.
    pub(crate) fn next_uncleaned(&mut self) -> Option<PoolEntry> {
        let places = self.uncleaned.max(self.entries.first())..self.entries.next();
        let found = places.map(|place| (place, self.get(place))).find(|(_, entry)| entry.page != NONE);
        self.uncleaned = found.map_or(self.entries.next(), |(place, _)| place + 1);
        Some(found?.1)
    }

    /// The entry of a place, which has to exist.
    #[inline]
    pub(crate) fn get_mut(&mut self, place: u32) -> &mut PoolEntry {
        self.entries.get_mut(place)
    }

    /// Prefetches the memory of a place.
    #[inline]
    pub(crate) fn prefetch(&self, place: u32) {
        prefetch(self.entries.members(), self.entries.index(place));
    }

    /// Adds an entry at the young end and tells its place. `moved` hears of pages whose entries have new places.
    #[inline]
    pub(crate) fn push(&mut self, entry: PoolEntry, moved: impl FnMut(u32, u32)) -> u32 {
        if self.entries.is_full() {
            self.entries.skip_holes();
            if self.entries.is_full() {
                self.renumber(moved);
            }
        }
        self.entries.push(entry)
    }

    #[cold]
    fn renumber(&mut self, moved: impl FnMut(u32, u32)) {
        let first = self.entries.first();
        let places = self.entries.renumber(moved);
        // What is before the first place are holes.
        let place = |old: u32| places[old.saturating_sub(first) as usize];
        for run in &mut self.met {
            *run = PassedOver { from: place(run.from), to: place(run.to), at: place(run.at) };
        }
        (self.unmet, self.uncleaned) = (place(self.unmet), place(self.uncleaned));
    }

    /// The entry of a place is gone.
    #[inline]
    pub(crate) fn remove(&mut self, place: u32) -> PoolEntry {
        self.entries.remove(place)
    }

    /// Place and entry of what is oldest. One that was met has used its chance.
    #[inline]
    pub(crate) fn oldest(&mut self) -> Option<(u32, PoolEntry)> {
        // What is before the first place is another entry's by now.
        let (first, next) = (self.entries.first(), self.entries.next());
        self.unmet = self.unmet.max(first);
        while self.unmet < next && self.get(self.unmet).page == NONE {
            self.unmet += 1;
        }
        while let Some(&PassedOver { from, to, at }) = self.met.front() {
            if self.unmet < at {
                break;
            }
            let found = (from.max(first)..to).find(|&place| self.get(place).page != NONE);
            let Some(place) = found else {
                self.met.pop_front();
                continue;
            };
            self.met[0].from = place;
            return Some((place, PoolEntry { chance: false, ..self.get(place) }));
        }
        (self.unmet < next).then(|| (self.unmet, self.get(self.unmet)))
    }

    /// An entry that write-back meets soon after the one at a place.
    #[inline]
    pub(crate) fn ahead(&self, place: u32) -> PoolEntry {
        self.get(place.wrapping_add(PREFETCH))
    }

    /// The oldest entry, at this place, goes to the young end.
    #[inline]
    pub(crate) fn pass_over(&mut self, place: u32, moved: impl FnMut(u32, u32)) {
        if place != self.unmet {
            return self.store_anew(place, moved);
        }
        self.unmet = place + 1;
        match self.met.back_mut() {
            Some(run) if run.at == self.entries.next() => run.to = self.unmet,
            _ => self.met.push_back(PassedOver { from: place, to: self.unmet, at: self.entries.next() }),
        }
    }

    /// An entry goes to the young end, its chance used.
    pub(crate) fn store_anew(&mut self, place: u32, mut moved: impl FnMut(u32, u32)) {
        let entry = self.remove(place);
        let place = self.push(PoolEntry { chance: false, ..entry }, &mut moved);
        moved(entry.page, place);
    }

    /// Handles of all entries, oldest store first.
    pub(crate) fn handles(&mut self) -> impl Iterator<Item = &mut u32> {
        self.entries.in_order().filter(|entry| entry.page != NONE).map(|entry| &mut entry.handle)
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[derive(Clone, Copy, Debug)]
    enum Step {
        Store,
        PassOver,
        WriteBack,
        Load(usize),
        Anew(usize),
    }

    fn steps() -> impl Strategy<Value = Vec<Step>> {
        let step = prop_oneof![
            4 => Just(Step::Store),
            3 => Just(Step::PassOver),
            1 => Just(Step::WriteBack),
            2 => any::<usize>().prop_map(Step::Load),
            1 => any::<usize>().prop_map(Step::Anew),
        ];
        prop::collection::vec((step, 1_usize..80), 1..60)
            .prop_map(|runs| runs.into_iter().flat_map(|(step, times)| std::iter::repeat_n(step, times)).collect())
    }

    proptest! {
        /// Pages in order of age and whether each has its chance, in a plain list.
        #[test]
        fn entries_are_in_the_order_of_a_plain_list(steps in steps()) {
            let (mut ages, mut plain, mut places) = (ListLru::default(), VecDeque::<(u32, bool)>::new(), Vec::new());
            for step in steps {
                match step {
                    Step::Store => {
                        let page = places.len() as u32;
                        places.push(NONE);
                        let entry = PoolEntry { page, handle: page * 3, size: 7, chance: true, clean: false, shadow: page };
                        places[page as usize] = ages.push(entry, |page, place| places[page as usize] = place);
                        plain.push_back((page, true));
                    }
                    Step::PassOver | Step::WriteBack => {
                        let oldest = ages.oldest();
                        prop_assert_eq!(oldest.map(|(_, entry)| (entry.page, entry.chance)), plain.front().copied());
                        let Some((place, entry)) = oldest else { continue };
                        prop_assert_eq!((place, entry.handle, entry.size), (places[entry.page as usize], entry.page * 3, 7));
                        plain.pop_front();
                        if matches!(step, Step::WriteBack) {
                            ages.remove(place);
                        } else {
                            ages.pass_over(place, |page, place| places[page as usize] = place);
                            plain.push_back((entry.page, false));
                        }
                    }
                    Step::Load(which) | Step::Anew(which) if !plain.is_empty() => {
                        let (page, _) = plain.remove(which % plain.len()).unwrap();
                        let place = places[page as usize];
                        if matches!(step, Step::Load(_)) {
                            prop_assert_eq!(ages.remove(place).page, page);
                        } else {
                            ages.store_anew(place, |page, place| places[page as usize] = place);
                            plain.push_back((page, false));
                        }
                    }
                    Step::Load(_) | Step::Anew(_) => {}
                }
                prop_assert_eq!(ages.len(), plain.len());
            }
            let mut handles: Vec<u32> = ages.handles().map(|handle| *handle / 3).collect();
            let mut pages: Vec<u32> = plain.iter().map(|(page, _)| *page).collect();
            handles.sort_unstable();
            pages.sort_unstable();
            prop_assert_eq!(handles, pages);
        }
    }
}
