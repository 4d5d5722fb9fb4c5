//! Which slot comes next.

use swaptune_kernel::{behaviours, v};

use proptest::prelude::*;

use super::slots::AreaTurn::{Cluster, Slots as Batch};
use super::slots::*;

/// One area, its rules applied to plain lists.
struct Plain {
    owners: Vec<Option<u32>>,
    /// Slot to try next, in the cluster at hand.
    next: Option<usize>,
    /// Clusters, the oldest first: all free, with holes, with slots taken since.
    empty: Vec<usize>,
    holes: Vec<usize>,
    taken: Vec<usize>,
    holes_first: bool,
}

impl Plain {
    fn new(slots: usize, holes_first: bool) -> Self {
        let empty = (0..slots.div_ceil(512)).collect();
        Self { owners: vec![None; slots], next: None, empty, holes: Vec::new(), taken: Vec::new(), holes_first }
    }

    fn slots(&self, cluster: usize) -> std::ops::Range<usize> {
        cluster * 512..self.owners.len().min(cluster * 512 + 512)
    }

    fn free_slots(&self, cluster: usize) -> Vec<usize> {
        self.slots(cluster).filter(|&slot| self.owners[slot].is_none()).collect()
    }

    /// A cluster goes to the end of a list, if it is not in it already.
    fn go(&mut self, cluster: usize, released: bool) {
        let free = self.free_slots(cluster).len();
        let all = self.slots(cluster).len();
        let mut lists = [&mut self.empty, &mut self.holes, &mut self.taken];
        let to = if free == all {
            Some(0)
        } else if free == 0 {
            None
        } else if released {
            Some(1)
        } else {
            Some(2)
        };
        for (index, list) in lists.iter_mut().enumerate() {
            if Some(index) != to {
                list.retain(|&member| member != cluster);
            } else if !list.contains(&cluster) {
                list.push(cluster);
            }
        }
    }

    fn alloc(&mut self, page: u32) -> Option<usize> {
        let slot = self.at_hand().or_else(|| {
            let lists = [&self.holes, &self.empty, &self.taken];
            let order = if self.holes_first { [0, 1, 2] } else { [1, 0, 2] };
            let cluster = *order.into_iter().find_map(|index| lists[index].first())?;
            self.free_slots(cluster).first().copied()
        })?;
        self.owners[slot] = Some(page);
        self.go(slot / 512, false);
        let is_full = self.free_slots(slot / 512).is_empty();
        self.next = Some(slot + 1).filter(|next| next % 512 != 0 && !is_full);
        Some(slot)
    }

    fn at_hand(&mut self) -> Option<usize> {
        let next = self.next?;
        let cluster = next / 512;
        let free = self.free_slots(cluster);
        let slot = if free.len() == self.slots(cluster).len() { free.first() } else { free.iter().find(|&&slot| slot >= next) };
        if slot.is_none() {
            self.next = None;
            self.go(cluster, false);
        }
        slot.copied()
    }

    fn release(&mut self, slot: usize) {
        self.owners[slot] = None;
        self.go(slot / 512, true);
    }
}

/// Slots that come and go by runs; the step of a run leaves holes.
fn runs() -> impl Strategy<Value = Vec<(bool, u32, u32, u32)>> {
    prop::collection::vec((any::<bool>(), 0_u32..1600, 1_u32..700, 1_u32..4), 1..12)
}

/// Slots that come and go, beside a plain list. The second area, of lower priority, is used while the first is full.
fn are_those_of_a_plain_list(runs: &[(bool, u32, u32, u32)], holes: bool) -> Result<(), TestCaseError> {
    let kernel = if holes { v(6, 18) } else { v(6, 12) };
    let mut slots = Slots::new(kernel, &[(1100, 1, Batch(64)), (600, 0, Batch(64))], true);
    let mut plain = [Plain::new(1100, holes), Plain::new(600, holes)];
    let mut page = 0;
    for &(takes, first, count, step) in runs {
        for index in 0..count {
            page += 1;
            if takes {
                let expected = plain[0].alloc(page).or_else(|| Some(1100 + plain[1].alloc(page)?));
                prop_assert_eq!(slots.alloc(page).map(|slot| slot as usize), expected);
                continue;
            }
            let slot = (first + index * step) % 1700;
            let (area, own) = if slot < 1100 { (0, slot) } else { (1, slot - 1100) };
            let owner = plain[area].owners[own as usize];
            prop_assert_eq!((slots.area(slot), slots.index(area, slot)), (area, own));
            prop_assert_eq!(slots.owner_in(area, own), owner);
            if owner.is_some() {
                plain[area].release(own as usize);
                slots.release(slot);
            }
        }
    }
    let used = plain.iter().flat_map(|plain| &plain.owners).flatten().count();
    prop_assert_eq!(slots.fill(), (used as u64, 1700));
    Ok(())
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 64, ..ProptestConfig::default() })]

    #[test]
    fn slots_are_those_of_a_plain_list(runs in runs(), holes in any::<bool>()) {
        are_those_of_a_plain_list(&runs, holes)?;
    }
}

#[test]
fn turns_are_those_of_each_kernel() {
    assert_eq!([AreaTurn::of(v(6, 14), false), AreaTurn::of(v(6, 14), true)], [Batch(64); 2]);
    assert_eq!([AreaTurn::of(v(6, 15), false), AreaTurn::of(v(6, 15), true)], [Cluster, Batch(1)]);
    assert_eq!([AreaTurn::of(v(5, 10), false), AreaTurn::of(v(7, 2), true)], [Batch(64), Batch(1)]);
}

/// A cluster of which the beginning is in use is at its end sooner, and so is its area's turn.
#[test]
fn a_turn_lasts_to_the_end_of_a_cluster_however_many_slots_that_are() {
    let mut slots = Slots::new(v(6, 18), &[(1024, 0, Cluster), (1024, 0, Cluster)], false);
    let first: Vec<u32> = (0..2048).map(|page| slots.alloc(page).unwrap()).collect();
    assert_eq!(first, [0..512, 1024..1536, 512..1024, 1536..2048].into_iter().flatten().collect::<Vec<u32>>());
    // Three of the first area, in two clusters, and two of the second.
    [10, 20, 600, 1030, 1040].into_iter().for_each(|slot| slots.release(slot));
    let next: Vec<u32> = std::iter::from_fn(|| slots.alloc(0)).collect();
    assert_eq!(next, [10, 20, 1030, 1040, 600]);
}

/// An area with one slot at a time, beside one with a cluster at a time: each by its own device.
#[test]
fn areas_of_one_priority_may_differ_in_their_turns() {
    let mut slots = Slots::new(v(6, 18), &[(600, 0, Batch(1)), (1024, 0, Cluster)], false);
    let first: Vec<u32> = (0..1624).map(|page| slots.alloc(page).unwrap()).collect();
    assert_eq!((first[0], &first[1..513], first[513], first[514]), (0, &(600..1112).collect::<Vec<u32>>()[..], 1, 1112));
    assert_eq!(first[1026..], (2..600).collect::<Vec<u32>>(), "then the first alone, to its end");
}

#[test]
fn equal_priorities_take_turns_and_lower_ones_wait() {
    let mut slots = Slots::new(v(6, 12), &[(1000, 5, Batch(64)), (1000, 10, Batch(64)), (1000, 10, Batch(64))], false);
    let areas: Vec<usize> = (0..2001)
        .map(|page| {
            let slot = slots.alloc(page).unwrap();
            slots.area(slot)
        })
        .collect();
    assert!(areas[..64].iter().all(|&area| area == 1) && areas[64..128].iter().all(|&area| area == 2));
    assert!(areas[..2000].iter().all(|&area| area != 0));
    assert_eq!((areas[2000], slots.fill()), (0, (2001, 3000)));
}

#[test]
fn the_cluster_at_hand_does_not_lead_into_the_next() {
    let mut slots = Slots::new(v(6, 12), &[(1536, 0, Cluster)], false);
    (0..1536).for_each(|page| _ = slots.alloc(page));
    slots.release(5);
    assert_eq!(slots.alloc(0), Some(5));
    [3, 600].into_iter().for_each(|slot| slots.release(slot));
    assert_eq!((slots.alloc(0), slots.alloc(0)), (Some(3), Some(600)), "the first cluster with holes has one before slot 6");
}

#[test]
fn what_is_free_before_the_slot_to_try_next_waits_for_its_list_and_the_next_cluster_too() {
    let mut slots = Slots::new(v(6, 12), &[(1536, 0, Cluster)], false);
    (0..1536).for_each(|page| _ = slots.alloc(page));
    [3, 500].into_iter().for_each(|slot| slots.release(slot));
    assert_eq!(slots.alloc(0), Some(3));
    slots.release(1);
    assert_eq!(slots.alloc(0), Some(500));
    [1100, 600].into_iter().for_each(|slot| slots.release(slot));
    let rest: Vec<u32> = std::iter::from_fn(|| slots.alloc(0)).collect();
    assert_eq!(rest, [1100, 600, 1], "by the age of their holes; of the first cluster one was taken since");
}

#[test]
fn the_cluster_at_hand_begins_anew_when_all_of_it_was_given_back() {
    let mut slots = Slots::new(v(6, 12), &[(2048, 0, Cluster)], false);
    (0..522).for_each(|page| _ = slots.alloc(page));
    (512..522).for_each(|slot| slots.release(slot));
    assert_eq!((slots.alloc(0), slots.alloc(0)), (Some(512), Some(513)));
}

#[test]
fn a_cluster_that_was_given_back_whole_is_an_empty_one() {
    let mut slots = Slots::new(v(6, 12), &[(2048, 0, Cluster)], false);
    (0..2048).for_each(|page| _ = slots.alloc(page));
    slots.release(600);
    (0..512).for_each(|slot| slots.release(slot));
    let next: Vec<u32> = std::iter::from_fn(|| slots.alloc(0)).collect();
    assert_eq!(next, (0..512).chain([600]).collect::<Vec<u32>>(), "before the hole, which was there first");
}

#[test]
fn clusters_with_holes_are_filled_first_since_6_18() {
    for (kernel, expected) in [(v(6, 17), [1024, 1025]), (v(6, 18), [5, 700])] {
        let mut slots = Slots::new(kernel, &[(2048, 0, Cluster)], false);
        (0..1024).for_each(|page| _ = slots.alloc(page));
        [5, 700, 6].into_iter().for_each(|slot| slots.release(slot));
        let first = slots.alloc(0).unwrap();
        if behaviours::NONFULL_CLUSTERS_FIRST.is_in(kernel) {
            assert_eq!(slots.alloc(0), Some(6), "the current cluster goes on");
        }
        assert_eq!([first, slots.alloc(0).unwrap()], expected, "{kernel:?}");
    }
}

#[test]
fn empty_clusters_come_before_holes_and_every_slot_is_used_once() {
    let mut slots = Slots::new(v(6, 12), &[(1500, 0, Cluster)], true);
    let first: Vec<u32> = (0..600).map(|page| slots.alloc(page).unwrap()).collect();
    assert_eq!(first, (0..600).collect::<Vec<u32>>());
    for slot in (0..512).step_by(2) {
        slots.release(slot);
    }
    assert_eq!(slots.alloc(7000), Some(600), "the current cluster goes on");
    let mut rest: Vec<u32> = std::iter::from_fn(|| slots.alloc(1)).collect();
    assert_eq!(rest[..899], (601..1500).collect::<Vec<u32>>());
    rest.sort_unstable();
    rest.dedup();
    assert_eq!(rest.len(), 899 + 256);
    assert_eq!((slots.owner_in(0, 600), slots.owner_in(0, 1499)), (Some(7000), Some(1)));
    slots.release(600);
    assert_eq!((slots.owner_in(0, 600), slots.alloc(3)), (None, Some(600)));
}
