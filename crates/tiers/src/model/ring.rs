//! A list in order of age from which anything can go: what leaves from the middle leaves a hole, which is skipped at the old end.

use super::page::NONE;

/// Places are counted up to here, then all members get new ones: three bits are left for the number of a list.
pub(crate) const LAST_PLACE: u32 = u32::MAX >> 3;
/// Fewest places.
const FEWEST: usize = 64;

/// What a ring can hold.
pub(crate) trait Member: Copy {
    /// Stands where a member has left.
    const HOLE: Self;

    /// Its page; [`NONE`] of a hole.
    fn page(&self) -> u32;
}

/// A page itself.
impl Member for u32 {
    const HOLE: Self = NONE;

    #[inline(always)]
    fn page(&self) -> u32 {
        *self
    }
}

/// Members in order of age. Who removes one has to know its place.
#[derive(Clone, Debug)]
pub(crate) struct Ring<T> {
    /// As many as a power of two: the member of a place is at that place modulo their number.
    members: Vec<T>,
    /// First place that may have a member.
    first: u32,
    /// Place of the next one.
    next: u32,
    live: u32,
}

impl<T> Default for Ring<T> {
    fn default() -> Self {
        Self { members: Vec::new(), first: 0, next: 0, live: 0 }
    }
}

impl<T: Member> Ring<T> {
    /// How many members it has.
    #[inline]
    pub(crate) const fn len(&self) -> usize {
        self.live as usize
    }

    /// First place that may have a member.
    #[inline]
    pub(crate) const fn first(&self) -> u32 {
        self.first
    }

    /// Place of the next member.
    #[inline]
    pub(crate) const fn next(&self) -> u32 {
        self.next
    }

    /// Forgets the holes before the oldest member.
    pub(crate) fn skip_holes(&mut self) {
        while self.first < self.next && self.get(self.first).page() == NONE {
            self.first += 1;
        }
    }

    #[inline(always)]
    pub(crate) fn index(&self, place: u32) -> usize {
        place as usize & self.members.len().wrapping_sub(1)
    }

    /// All places with what is there, whatever their order.
    #[inline]
    pub(crate) fn members(&self) -> &[T] {
        &self.members
    }

    /// All places from the oldest on, with what is there.
    pub(crate) fn in_order(&mut self) -> impl Iterator<Item = &mut T> {
        let first = if self.members.is_empty() { 0 } else { self.index(self.first) };
        let (young, old) = self.members.split_at_mut(first);
        old.iter_mut().chain(young)
    }

    /// The member of a place, or a hole.
    #[inline(always)]
    pub(crate) fn get(&self, place: u32) -> T {
        self.members.get(self.index(place)).copied().unwrap_or(T::HOLE)
    }

    /// The member of a place, which has to exist.
    #[inline]
    pub(crate) fn get_mut(&mut self, place: u32) -> &mut T {
        let index = self.index(place);
        &mut self.members[index]
    }

    /// Whether [`Ring::push`] needs [`Ring::renumber`] first.
    #[inline]
    pub(crate) fn is_full(&self) -> bool {
        (self.next - self.first) as usize == self.members.len() || self.next == LAST_PLACE
    }

    /// Adds a member at the young end and tells its place. The ring must not be full.
    #[inline(always)]
    pub(crate) fn push(&mut self, member: T) -> u32 {
        let (place, index) = (self.next, self.index(self.next));
        self.members[index] = member;
        self.next += 1;
        self.live += 1;
        place
    }

    /// A member leaves.
    #[inline]
    pub(crate) fn remove(&mut self, place: u32) -> T {
        let index = self.index(place);
        self.live -= 1;
        std::mem::replace(&mut self.members[index], T::HOLE)
    }

    /// Takes the oldest member.
    #[inline(always)]
    pub(crate) fn pop(&mut self) -> Option<T> {
        while self.first < self.next {
            let member = self.get(self.first);
            self.first += 1;
            if member.page() != NONE {
                self.live -= 1;
                return Some(member);
            }
        }
        None
    }

    /// Gives all members places without holes, in a ring that has room for more. `moved` hears of each page and its place. Tells the
    /// new place of each old one from the first on, of a hole that of who comes after it.
    #[cold]
    pub(crate) fn renumber(&mut self, mut moved: impl FnMut(u32, u32)) -> Vec<u32> {
        let old = std::mem::take(self);
        let room = old.len() + old.len() / 2 + 1;
        self.members = vec![T::HOLE; room.next_power_of_two().max(FEWEST)];
        let mut places = Vec::with_capacity((old.next - old.first) as usize + 1);
        for place in old.first..old.next {
            places.push(self.next);
            let member = old.get(place);
            if member.page() != NONE {
                moved(member.page(), self.next);
                self.push(member);
            }
        }
        places.push(self.next);
        places
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Adds a page as every user of a ring does.
    fn push(ring: &mut Ring<u32>, places: &mut Vec<u32>, page: u32) {
        if ring.is_full() {
            ring.renumber(|page, place| places[page as usize] = place);
        }
        places.push(ring.push(page));
    }

    #[test]
    fn what_left_is_skipped_and_new_places_keep_the_order() {
        let (mut ring, mut places) = (Ring::default(), Vec::new());
        (0..10_000).for_each(|page| push(&mut ring, &mut places, page));
        for page in (0..10_000).filter(|page| page % 4 != 3) {
            assert_eq!(ring.remove(places[page as usize]), page);
        }
        assert_eq!((ring.len(), ring.get(places[3]), ring.get(places[4])), (2500, 3, NONE));
        let map = ring.renumber(|page, place| places[page as usize] = place);
        assert_eq!((map.len(), map[0], map[4], map[10_000], ring.next()), (10_001, 0, 1, 2500, 2500));
        ring.remove(places[7]);
        let order: Vec<u32> = std::iter::from_fn(|| ring.pop()).collect();
        assert_eq!(order, (0..10_000).filter(|page| page % 4 == 3 && *page != 7).collect::<Vec<u32>>());
        assert_eq!((ring.len(), ring.pop()), (0, None));
    }

    #[test]
    fn places_are_given_anew_before_they_run_out() {
        let mut ring = Ring { members: vec![NONE; FEWEST], first: LAST_PLACE - 1, next: LAST_PLACE - 1, live: 0 };
        let mut places = Vec::new();
        push(&mut ring, &mut places, 0);
        assert_eq!((places[0], ring.is_full()), (LAST_PLACE - 1, true));
        push(&mut ring, &mut places, 1);
        assert_eq!((places, ring.first(), ring.next()), (vec![0, 1], 0, 2));
    }
}
