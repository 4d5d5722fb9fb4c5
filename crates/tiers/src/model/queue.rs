//! A list in order of age from which anything can go: removal only forgets, and what is forgotten is skipped at the old end.

/// Places are counted modulo this plus one: two bits are left for the number of a list.
const PLACES: u32 = u32::MAX >> 2;

/// So far in advance memory is asked for.
const AHEAD: u32 = 24;

/// Numbers in order of age. A member knows its place; a place whose member says otherwise is stale.
#[derive(Clone, Debug, Default)]
pub(super) struct Queue {
    /// A ring of a power of two: the item of a place is at that place modulo the length.
    items: Vec<u32>,
    /// Place of the oldest item.
    first: u32,
    /// Items, stale ones too.
    count: u32,
    live: u32,
}

impl Queue {
    /// Members.
    #[inline]
    pub(super) const fn len(&self) -> usize {
        self.live as usize
    }

    /// Adds a member at the young end and tells its place.
    #[inline]
    pub(super) fn push(&mut self, item: u32) -> u32 {
        if self.count as usize == self.items.len() {
            self.grow();
        }
        let place = self.first.wrapping_add(self.count) & PLACES;
        *self.at(place) = item;
        self.count += 1;
        self.live += 1;
        place
    }

    #[inline]
    fn at(&mut self, place: u32) -> &mut u32 {
        let mask = self.items.len() - 1;
        &mut self.items[place as usize & mask]
    }

    #[cold]
    fn grow(&mut self) {
        let items: Vec<u32> = (0..self.count).map(|index| *self.at(self.first.wrapping_add(index) & PLACES)).collect();
        self.items = vec![0; (2 * items.len()).max(64)];
        for (index, item) in items.into_iter().enumerate() {
            *self.at(self.first.wrapping_add(index as u32) & PLACES) = item;
        }
    }

    /// A member has left; its place is stale from now on.
    #[inline]
    pub(super) fn forget(&mut self) {
        self.live -= 1;
    }

    /// Takes the oldest member. `is_at` tells whether a number is a member at a place; `soon` hears which it will be asked about.
    #[inline]
    pub(super) fn pop(&mut self, is_at: impl Fn(u32, u32) -> bool, soon: impl Fn(u32)) -> Option<u32> {
        while self.count > 0 {
            let place = self.first;
            let item = *self.at(place);
            if self.count > AHEAD {
                soon(*self.at(place.wrapping_add(AHEAD) & PLACES));
            }
            self.first = place.wrapping_add(1) & PLACES;
            self.count -= 1;
            if is_at(item, place) {
                self.live -= 1;
                return Some(item);
            }
        }
        None
    }

    /// Whether so much is stale that [`Queue::tidy`] pays.
    #[inline]
    pub(super) fn is_untidy(&self) -> bool {
        self.count as usize > 2 * self.len() + 4096
    }

    /// Drops what is stale. `is_at` as for [`Queue::pop`]; members are told their new places by `moved`.
    pub(super) fn tidy<T>(&mut self, members: &mut T, is_at: impl Fn(&T, u32, u32) -> bool, moved: impl Fn(&mut T, u32, u32)) {
        let (first, count) = (self.first, self.count);
        self.count = 0;
        for place in (0..count).map(|index| first.wrapping_add(index) & PLACES) {
            let item = *self.at(place);
            if is_at(members, item, place) {
                let kept = first.wrapping_add(self.count) & PLACES;
                *self.at(kept) = item;
                self.count += 1;
                moved(members, item, kept);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_left_is_skipped_and_tidying_keeps_the_order() {
        let mut queue = Queue::default();
        let mut places: Vec<Option<u32>> = (0..10_000).map(|item| Some(queue.push(item))).collect();
        for item in (0..10_000).filter(|item| item % 4 != 3) {
            places[item] = None;
            queue.forget();
        }
        assert!(queue.is_untidy());
        queue.tidy(
            &mut places,
            |places, item, at| places[item as usize] == Some(at),
            |places, item, at| places[item as usize] = Some(at),
        );
        assert!(!queue.is_untidy());
        places[7] = None;
        queue.forget();
        let order: Vec<u32> = std::iter::from_fn(|| queue.pop(|item, at| places[item as usize] == Some(at), |_| {})).collect();
        assert_eq!(order, (0..10_000).filter(|item| item % 4 == 3 && *item != 7).collect::<Vec<u32>>());
        assert_eq!(queue.len(), 0);
    }
}
