//! Dense numbers for page ids: each id gets the next number when it is first seen.
//!
//! Most ids are small numbers already, and for those an array is the fastest table there is. It grows with the trace, so
//! that a trace with one huge id does not ask for memory that the trace itself does not justify; ids beyond it go to a hash
//! table with open addressing.

use crate::prefetch::prefetch;

/// Ids below this are always looked up in the array.
const DIRECT_START: u64 = 1 << 20;
/// The array may have this many places for each id that was looked up.
const DIRECT_PER_LOOKUP: u64 = 8;
/// Ids whose place in the hash table is asked for ahead of time.
const AHEAD: usize = 16;

/// Gives ids their numbers.
#[derive(Debug, Default)]
pub struct Interner {
    /// Number + 1 of the id that is the index; 0 for none.
    direct: Vec<u32>,
    hashed: Table,
    lookups: u64,
    next: u32,
}

impl Interner {
    /// How many ids have a number.
    #[must_use]
    pub fn len(&self) -> u32 {
        self.next
    }

    /// Whether none has.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.next == 0
    }

    /// The numbers of these ids, in order, appended to `out`.
    ///
    /// At most `u32::MAX` ids can have a number; a trace has fewer events than that, see `EVENTS_MAX`.
    pub fn number_all(&mut self, ids: &[u64], out: &mut Vec<u32>) {
        self.lookups += ids.len() as u64;
        let highest = ids.iter().copied().fold(0, u64::max);
        self.grow(highest);
        if highest < self.direct.len() as u64 && self.hashed.filled == 0 && !ids.is_empty() {
            let last = ids[ids.len() - 1];
            let ahead = ids.iter().skip(AHEAD).chain(std::iter::repeat_n(&last, AHEAD));
            out.extend(ids.iter().zip(ahead).map(|(&id, &ahead)| {
                prefetch(&self.direct, ahead as usize);
                number_direct(&mut self.direct, &mut self.next, id)
            }));
            return;
        }
        for (i, &id) in ids.iter().enumerate() {
            if let Some(&ahead) = ids.get(i + AHEAD) {
                self.prefetch(ahead);
            }
            out.push(self.number(id));
        }
    }

    fn prefetch(&self, id: u64) {
        if id < self.direct.len() as u64 {
            prefetch(&self.direct, id as usize);
        } else {
            prefetch(&self.hashed.slots, self.hashed.home(id));
        }
    }

    /// Makes the array long enough for `id`, if the number of lookups so far justifies it.
    fn grow(&mut self, id: u64) {
        let limit = DIRECT_START.max(self.lookups.saturating_mul(DIRECT_PER_LOOKUP));
        if id < self.direct.len() as u64 || id >= limit {
            return;
        }
        // Fresh zeroed memory and a copy: the kernel gives zero pages only for what is touched.
        let mut grown = vec![0; (id + 1).next_power_of_two() as usize];
        grown[..self.direct.len()].copy_from_slice(&self.direct);
        self.direct = grown;
    }

    fn number(&mut self, id: u64) -> u32 {
        if id >= self.direct.len() as u64 {
            return self.hashed.number(id, &mut self.next);
        }
        // An id that came before the array was this long stands in the hash table.
        let slot = &mut self.direct[id as usize];
        if *slot == 0 {
            *slot = match self.hashed.find(id) {
                Some(number) => number + 1,
                None => {
                    self.next += 1;
                    self.next
                }
            };
        }
        *slot - 1
    }
}

fn number_direct(direct: &mut [u32], next: &mut u32, id: u64) -> u32 {
    let slot = &mut direct[id as usize];
    if *slot == 0 {
        *next += 1;
        *slot = *next;
    }
    *slot - 1
}

/// A hash table with linear probing; its length is a power of two, and at most three quarters of it are in use.
#[derive(Debug, Default)]
struct Table {
    slots: Vec<InternSlot>,
    filled: usize,
}

#[derive(Clone, Copy, Debug, Default)]
struct InternSlot {
    id: u64,
    /// Number + 1; 0 for an empty slot.
    number: u32,
}

impl Table {
    /// Where a search for `id` begins.
    fn home(&self, id: u64) -> usize {
        let mixed = (id ^ (id >> 32)).wrapping_mul(0x9e37_79b9_7f4a_7c15);
        ((mixed ^ (mixed >> 29)).wrapping_mul(0xbf58_476d_1ce4_e5b9) >> 20) as usize & self.slots.len().wrapping_sub(1)
    }

    /// The slot of `id`, or the empty one where it belongs. The table must have an empty slot.
    fn slot(&self, id: u64) -> usize {
        let mut place = self.home(id);
        while self.slots[place].number != 0 && self.slots[place].id != id {
            place = (place + 1) & (self.slots.len() - 1);
        }
        place
    }

    fn find(&self, id: u64) -> Option<u32> {
        if self.filled == 0 {
            return None;
        }
        self.slots[self.slot(id)].number.checked_sub(1)
    }

    fn number(&mut self, id: u64, next: &mut u32) -> u32 {
        if self.filled * 4 >= self.slots.len() * 3 {
            self.double();
        }
        let place = self.slot(id);
        let slot = &mut self.slots[place];
        if slot.number == 0 {
            *next += 1;
            *slot = InternSlot { id, number: *next };
            self.filled += 1;
        }
        slot.number - 1
    }

    fn double(&mut self) {
        let old = std::mem::take(&mut self.slots);
        self.slots = vec![InternSlot::default(); (old.len() * 2).max(1024)];
        for slot in old.into_iter().filter(|slot| slot.number != 0) {
            let place = self.slot(slot.id);
            self.slots[place] = slot;
        }
    }
}

#[cfg(test)]
mod tests {
    use std::collections::HashMap;

    use proptest::prelude::*;

    use super::*;

    fn id() -> impl Strategy<Value = u64> {
        prop_oneof![0..100u64, (1u64 << 20) - 3..(1 << 20) + 3, 1u64 << 20..1 << 22, any::<u64>(), Just(u64::MAX)]
    }

    proptest! {
        #[test]
        fn numbers_are_those_of_a_map(batches in prop::collection::vec(prop::collection::vec(id(), 0..300), 0..12)) {
            let (mut interner, mut numbers) = (Interner::default(), Vec::new());
            for batch in &batches {
                interner.number_all(batch, &mut numbers);
            }
            let mut map = HashMap::new();
            let expected: Vec<u32> = batches.iter().flatten().map(|&id| { let next = map.len() as u32; *map.entry(id).or_insert(next) }).collect();
            prop_assert_eq!(numbers, expected);
            prop_assert_eq!(interner.len() as usize, map.len());
        }
    }

    #[test]
    fn an_id_keeps_its_number_when_the_array_grows_over_it() {
        let (mut interner, mut numbers) = (Interner::default(), Vec::new());
        let late = DIRECT_START + 5;
        interner.number_all(&[7, late, 7], &mut numbers);
        assert!(interner.direct.len() as u64 <= late, "first in the hash table");
        let many: Vec<u64> = (0..DIRECT_START).collect();
        interner.number_all(&many, &mut Vec::new());
        numbers.clear();
        interner.number_all(&[late, 7, DIRECT_START + 6], &mut numbers);
        assert!(interner.direct.len() as u64 > late);
        assert_eq!((numbers[0], numbers[1]), (1, 0));
        assert_eq!(numbers[2], interner.len() - 1);
    }
}
