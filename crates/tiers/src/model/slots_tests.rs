//! Which slot comes next.

use std::collections::VecDeque;

use proptest::prelude::*;

use super::slots::*;

/// One area, its rules applied to a plain list of who is where.
#[derive(Default)]
struct Plain {
    owners: Vec<Option<u32>>,
    next: usize,
    empty: VecDeque<usize>,
    partial: VecDeque<usize>,
    holes_first: bool,
}

impl Plain {
    fn new(slots: usize, holes_first: bool) -> Self {
        Self { owners: vec![None; slots], empty: (0..slots.div_ceil(512)).collect(), holes_first, ..Self::default() }
    }

    fn free_slots(&self, cluster: usize) -> impl Iterator<Item = usize> {
        (cluster * 512..self.owners.len().min(cluster * 512 + 512)).filter(|&slot| self.owners[slot].is_none())
    }

    fn alloc(&mut self, page: u32) -> Option<usize> {
        // A full area is not looked at: its lists keep clusters that have long been taken.
        if self.owners.iter().all(Option::is_some) {
            return None;
        }
        let at_hand = self.free_slots(self.next / 512).find(|&slot| slot >= self.next && !self.next.is_multiple_of(512));
        let slot = at_hand.or_else(|| self.of_lists()).or_else(|| self.owners.iter().position(Option::is_none))?;
        self.owners[slot] = Some(page);
        self.next = slot + 1;
        Some(slot)
    }

    fn of_lists(&mut self) -> Option<usize> {
        let of = |plain: &mut Self, holes: bool| {
            let list = if holes { &mut plain.partial } else { &mut plain.empty };
            let cluster = list.pop_front()?;
            let is_empty = plain.free_slots(cluster).count() == 512.min(plain.owners.len() - cluster * 512);
            Some(if is_empty == holes { None } else { plain.free_slots(cluster).next() })
        };
        [self.holes_first, !self.holes_first]
            .into_iter()
            .find_map(|holes| std::iter::from_fn(|| of(self, holes)).find_map(|slot| slot))
    }

    fn release(&mut self, slot: usize) {
        self.owners[slot] = None;
        let cluster = slot / 512;
        match self.free_slots(cluster).count() {
            free if free == 512.min(self.owners.len() - cluster * 512) => self.empty.push_back(cluster),
            _ if self.partial.contains(&cluster) => {}
            _ => self.partial.push_back(cluster),
        }
    }
}

/// Slots that come and go by runs; the step of a run leaves holes.
fn runs() -> impl Strategy<Value = Vec<(bool, u32, u32, u32)>> {
    prop::collection::vec((any::<bool>(), 0_u32..1600, 1_u32..700, 1_u32..4), 1..12)
}

/// Slots that come and go, beside a plain list. The second area, of lower priority, is used while the first is full.
fn are_those_of_a_plain_list(runs: &[(bool, u32, u32, u32)], holes: bool) -> Result<(), TestCaseError> {
    let kernel = if holes { (6, 18) } else { (6, 12) };
    let mut slots = Slots::new(kernel, &[(1100, 1, 64), (600, 0, 64)], true);
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
    #![proptest_config(ProptestConfig { cases: 24, ..ProptestConfig::default() })]

    #[test]
    fn slots_are_those_of_a_plain_list(runs in runs(), holes in any::<bool>()) {
        are_those_of_a_plain_list(&runs, holes)?;
    }
}

/// One of the rarer cases above: an area is full while its lists still name a cluster, of which a slot is given back after another's.
#[test]
fn a_full_area_is_not_looked_at() {
    let runs =
        [(true, 0, 488, 1), (true, 0, 612, 1), (false, 563, 537, 1), (true, 0, 538, 1), (false, 619, 136, 3), (true, 0, 200, 1)];
    are_those_of_a_plain_list(&runs, false).unwrap();
}

#[test]
fn turns_are_those_of_each_kernel() {
    assert_eq!((turn((6, 14), false), turn((6, 14), true)), (64, 64));
    assert_eq!((turn((6, 15), false), turn((6, 15), true)), (512, 1));
    assert_eq!((turn((5, 10), false), turn((7, 2), true)), (64, 1));
}

#[test]
fn equal_priorities_take_turns_and_lower_ones_wait() {
    let mut slots = Slots::new((6, 12), &[(1000, 5, 64), (1000, 10, 64), (1000, 10, 64)], false);
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
    let mut slots = Slots::new((6, 12), &[(1536, 0, 512)], false);
    (0..1536).for_each(|page| _ = slots.alloc(page));
    slots.release(5);
    assert_eq!(slots.alloc(0), Some(5));
    [3, 600].into_iter().for_each(|slot| slots.release(slot));
    assert_eq!((slots.alloc(0), slots.alloc(0)), (Some(3), Some(600)), "the first cluster with holes has one before slot 6");
}

#[test]
fn a_cluster_that_was_given_back_whole_is_an_empty_one() {
    let mut slots = Slots::new((6, 12), &[(2048, 0, 512)], false);
    (0..2048).for_each(|page| _ = slots.alloc(page));
    slots.release(600);
    (0..512).for_each(|slot| slots.release(slot));
    let next: Vec<u32> = std::iter::from_fn(|| slots.alloc(0)).collect();
    assert_eq!(next, (0..512).chain([600]).collect::<Vec<u32>>(), "before the hole, which was there first");
}

#[test]
fn clusters_with_holes_are_filled_first_since_6_18() {
    for (kernel, expected) in [((6, 17), [1024, 1025]), ((6, 18), [5, 700])] {
        let mut slots = Slots::new(kernel, &[(2048, 0, 512)], false);
        (0..1024).for_each(|page| _ = slots.alloc(page));
        [5, 700, 6].into_iter().for_each(|slot| slots.release(slot));
        let first = slots.alloc(0).unwrap();
        if kernel == (6, 18) {
            assert_eq!(slots.alloc(0), Some(6), "the cluster at hand goes on");
        }
        assert_eq!([first, slots.alloc(0).unwrap()], expected, "{kernel:?}");
    }
}

#[test]
fn empty_clusters_come_before_holes_and_every_slot_is_used_once() {
    let mut slots = Slots::new((6, 12), &[(1500, 0, 512)], true);
    let first: Vec<u32> = (0..600).map(|page| slots.alloc(page).unwrap()).collect();
    assert_eq!(first, (0..600).collect::<Vec<u32>>());
    for slot in (0..512).step_by(2) {
        slots.release(slot);
    }
    assert_eq!(slots.alloc(7000), Some(600), "the cluster at hand goes on");
    let mut rest: Vec<u32> = std::iter::from_fn(|| slots.alloc(1)).collect();
    assert_eq!(rest[..899], (601..1500).collect::<Vec<u32>>());
    rest.sort_unstable();
    rest.dedup();
    assert_eq!(rest.len(), 899 + 256);
    assert_eq!((slots.owner_in(0, 600), slots.owner_in(0, 1499)), (Some(7000), Some(1)));
    slots.release(600);
    assert_eq!((slots.owner_in(0, 600), slots.alloc(3)), (None, Some(600)));
}
