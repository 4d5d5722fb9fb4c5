//! A list in order of age from which anything can go: removal only forgets, and what is forgotten is skipped at the old end.

use std::collections::VecDeque;

/// Places are counted modulo this plus one: two bits are left for the number of a list.
pub(super) const PLACES: u32 = u32::MAX >> 2;

/// So far in advance memory is asked for.
const AHEAD: usize = 16;

/// Numbers in order of age. A member knows its place; a place whose member says otherwise is stale.
#[derive(Clone, Debug, Default)]
pub(super) struct Queue {
    items: VecDeque<u32>,
    /// Place of the oldest item.
    first: u32,
    live: u32,
}

impl Queue {
    /// Members.
    pub(super) const fn len(&self) -> usize {
        self.live as usize
    }

    /// Adds a member at the young end and tells its place.
    pub(super) fn push(&mut self, item: u32) -> u32 {
        let place = self.place(self.items.len());
        self.items.push_back(item);
        self.live += 1;
        place
    }

    fn place(&self, index: usize) -> u32 {
        self.first.wrapping_add(index as u32) & PLACES
    }

    /// A member has left; its place is stale from now on.
    pub(super) fn forget(&mut self) {
        self.live -= 1;
    }

    /// Takes the oldest member. `is_at` tells whether a number is a member at a place; `soon` hears which it will be asked about.
    pub(super) fn pop(&mut self, is_at: impl Fn(u32, u32) -> bool, soon: impl Fn(u32)) -> Option<u32> {
        while let Some(item) = self.items.pop_front() {
            if let Some(&later) = self.items.get(AHEAD) {
                soon(later);
            }
            let place = self.first;
            self.first = place.wrapping_add(1) & PLACES;
            if is_at(item, place) {
                self.live -= 1;
                return Some(item);
            }
        }
        None
    }

    /// Whether so much is stale that [`Queue::tidy`] pays.
    pub(super) fn is_untidy(&self) -> bool {
        self.items.len() > 2 * self.len() + 4096
    }

    /// Drops what is stale. `is_at` as for [`Queue::pop`]; members are told their new places by `moved`.
    pub(super) fn tidy<T>(&mut self, members: &mut T, is_at: impl Fn(&T, u32, u32) -> bool, moved: impl Fn(&mut T, u32, u32)) {
        let old = std::mem::take(&mut self.items);
        let start = self.first;
        self.first = start.wrapping_add(old.len() as u32) & PLACES;
        for (index, item) in old.into_iter().enumerate() {
            if is_at(members, item, start.wrapping_add(index as u32) & PLACES) {
                moved(members, item, self.place(self.items.len()));
                self.items.push_back(item);
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
