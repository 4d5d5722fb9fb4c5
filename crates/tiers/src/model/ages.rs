//! Entries of zswap's pool in order of age, side by side in memory: what write-back meets next lies beside what it met last.

use std::collections::VecDeque;

use super::page::NONE;
use crate::prefetch::prefetch;

/// Places are counted up to here, then all entries get new ones.
const LAST_PLACE: u32 = u32::MAX >> 1;
/// Fewest places.
const FEWEST: usize = 64;
/// So many places ahead of write-back an entry is told to whoever brings memory near.
const SOON: u32 = 12;

/// A page in the pool.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Entry {
    /// Or [`NONE`]: the entry is gone.
    pub(super) page: u32,
    /// Its object in the pool.
    pub(super) handle: u32,
    /// Bytes of that.
    pub(super) size: u16,
    /// Not met by write-back since it was stored (`referenced`, since 6.12).
    pub(super) chance: bool,
}

const GONE: Entry = Entry { page: NONE, handle: NONE, size: 0, chance: false };

/// Entries that write-back met one after the other and passed over, without a store in between.
#[derive(Clone, Copy, Debug)]
struct Run {
    from: u32,
    to: u32,
    /// Where the next store went at that time: the run is younger than all before and older than all from there on.
    at: u32,
}

/// Entries in order of age, as the kernel's list has them, where an entry that is passed over goes to the young end.
///
/// Here it stays where it is: all entries before [`Ages::unmet`] have been met, and [`Run`]s say when. What leaves from the middle
/// leaves a hole, which is skipped.
#[derive(Clone, Debug, Default)]
pub(super) struct Ages {
    /// A ring of a power of two: the entry of a place is at that place modulo the length.
    entries: Vec<Entry>,
    /// First place that nobody has met.
    unmet: u32,
    /// Place of the next store.
    next: u32,
    met: VecDeque<Run>,
    live: u32,
}

impl Ages {
    /// Entries.
    pub(super) const fn len(&self) -> usize {
        self.live as usize
    }

    /// First place that may be in use.
    pub(super) fn first(&self) -> u32 {
        self.met.front().map_or(self.unmet, |run| run.from)
    }

    #[inline]
    fn index(&self, place: u32) -> usize {
        place as usize & (self.entries.len() - 1)
    }

    /// The entry of a place; at a hole one without a page.
    #[inline]
    pub(super) fn get(&self, place: u32) -> Entry {
        self.entries[self.index(place)]
    }

    /// The entry of a place; `None` where nothing has been stored yet.
    pub(super) fn known(&self, place: u32) -> Option<Entry> {
        (place < self.next).then(|| self.get(place))
    }

    /// Asks for the memory of a place.
    #[inline]
    pub(super) fn bring_near(&self, place: u32) {
        prefetch(&self.entries, self.index(place));
    }

    /// Adds an entry at the young end and tells its place. `moved` hears of pages whose entries have new places.
    #[inline]
    pub(super) fn push(&mut self, entry: Entry, moved: impl FnMut(u32, u32)) -> u32 {
        if (self.next - self.first()) as usize == self.entries.len() || self.next == LAST_PLACE {
            self.renumber(moved);
        }
        let (place, index) = (self.next, self.index(self.next));
        self.entries[index] = entry;
        self.next += 1;
        self.live += 1;
        place
    }

    /// Gives all entries places without holes, half as many as there is then room for.
    #[cold]
    fn renumber(&mut self, mut moved: impl FnMut(u32, u32)) {
        let first = self.first();
        let old = std::mem::take(self);
        self.entries = vec![GONE; (2 * old.len()).next_power_of_two().max(FEWEST)];
        let mut places = Vec::with_capacity((old.next - first) as usize + 1);
        for place in first..old.next {
            places.push(self.next);
            let entry = old.get(place);
            if entry.page != NONE {
                moved(entry.page, self.next);
                self.entries[self.next as usize] = entry;
                self.next += 1;
            }
        }
        places.push(self.next);
        let place = |old: u32| places[(old - first) as usize];
        self.met = old.met.iter().map(|run| Run { from: place(run.from), to: place(run.to), at: place(run.at) }).collect();
        (self.unmet, self.live) = (place(old.unmet), old.live);
    }

    /// The entry of a place is gone.
    #[inline]
    pub(super) fn remove(&mut self, place: u32) -> Entry {
        let index = self.index(place);
        self.live -= 1;
        std::mem::replace(&mut self.entries[index], GONE)
    }

    /// Place and entry of what is oldest. One that was met has used its chance.
    #[inline]
    pub(super) fn oldest(&mut self) -> Option<(u32, Entry)> {
        while self.unmet < self.next && self.get(self.unmet).page == NONE {
            self.unmet += 1;
        }
        while let Some(&Run { from, to, at }) = self.met.front() {
            if self.unmet < at {
                break;
            }
            let found = (from..to).find(|&place| self.get(place).page != NONE);
            let Some(place) = found else {
                self.met.pop_front();
                continue;
            };
            self.met[0].from = place;
            return Some((place, Entry { chance: false, ..self.get(place) }));
        }
        (self.unmet < self.next).then(|| (self.unmet, self.get(self.unmet)))
    }

    /// An entry that write-back meets soon after the one at a place.
    #[inline]
    pub(super) fn soon(&self, place: u32) -> Entry {
        self.get(place.wrapping_add(SOON))
    }

    /// The oldest entry, at this place, goes to the young end.
    #[inline]
    pub(super) fn pass_over(&mut self, place: u32, moved: impl FnMut(u32, u32)) {
        if place != self.unmet {
            return self.store_anew(place, moved);
        }
        self.unmet = place + 1;
        match self.met.back_mut() {
            Some(run) if run.at == self.next => run.to = self.unmet,
            _ => self.met.push_back(Run { from: place, to: self.unmet, at: self.next }),
        }
    }

    /// An entry goes to the young end, its chance used.
    pub(super) fn store_anew(&mut self, place: u32, mut moved: impl FnMut(u32, u32)) {
        let entry = self.remove(place);
        let place = self.push(Entry { chance: false, ..entry }, &mut moved);
        moved(entry.page, place);
    }

    /// Handles of all entries, oldest store first.
    pub(super) fn handles(&mut self) -> impl Iterator<Item = &mut u32> {
        self.entries.iter_mut().filter(|entry| entry.page != NONE).map(|entry| &mut entry.handle)
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
            let (mut ages, mut plain, mut places) = (Ages::default(), VecDeque::<(u32, bool)>::new(), Vec::new());
            for step in steps {
                match step {
                    Step::Store => {
                        let page = places.len() as u32;
                        places.push(NONE);
                        let entry = Entry { page, handle: page * 3, size: 7, chance: true };
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

    #[test]
    fn places_are_given_anew_before_they_run_out() {
        let mut ages = Ages { entries: vec![GONE; FEWEST], unmet: LAST_PLACE - 1, next: LAST_PLACE - 1, ..Ages::default() };
        let entry = |page| Entry { page, handle: 0, size: 1, chance: true };
        assert_eq!(ages.push(entry(5), |_, _| unreachable!()), LAST_PLACE - 1);
        let mut moved = Vec::new();
        assert_eq!(ages.push(entry(6), |page, place| moved.push((page, place))), 1);
        assert_eq!((moved, ages.first(), ages.known(1), ages.known(2)), (vec![(5, 0)], 0, Some(entry(6)), None));
    }
}
