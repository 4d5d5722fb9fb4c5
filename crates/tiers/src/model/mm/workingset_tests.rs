//! Shadows of pages that left RAM, and what they make of them when they come back.

use crate::model::counters::Counters;
use crate::model::page::WORKINGSET;
use crate::model::tests::{event, machine, policy, with_zswap};
use crate::model::{Model, ModelSettings, Tier};
use crate::trace::Op;

/// Of a group of which some pages are active, who left last is active at once when it comes back, and who left first is not: from a
/// disk, which leaves the shadow at the page, and from zswap, whose entry has it.
#[test]
fn who_comes_back_soon_is_active_at_once() {
    for (settings, tier) in [(machine(2000), Tier::Disk), (with_zswap(2000, policy("limit"), 20), Tier::Zswap)] {
        come_back_soon_and_late(settings, tier);
    }
}

fn come_back_soon_and_late(settings: ModelSettings, tier: Tier) {
    let settings = ModelSettings { cgroups: vec![Some(100)], charge_zswap: false, page_cluster: 0, ..settings };
    let mut model = Model::new(settings, 1000).unwrap();
    for turn in 0..20 {
        (0..20).chain(100 + turn * 40..140 + turn * 40).for_each(|page| _ = model.advance(event(page, Op::Read)).unwrap());
    }
    model.end_writes(u64::MAX);
    assert!(model.memory.vmstat.pgactivate >= 20, "those that are used in each turn");
    let gone = |page: &u32| model.tier(*page) == tier;
    let shadow = |page: &u32| model.memory.pages.place(*page);
    let last = (0..1000).filter(gone).max_by_key(shadow).unwrap();
    let first = (0..1000).filter(gone).min_by_key(shadow).unwrap();
    let counts = |model: &Model| {
        let Counters { workingset_refault_anon, workingset_activate_anon, workingset_restore_anon, .. } = model.memory.vmstat;
        [workingset_refault_anon, workingset_activate_anon, workingset_restore_anon]
    };
    for (page, was_active, full, expected) in [
        (first, false, false, [1, 0, 0]),
        (last, false, false, [1, 1, 0]),
        (first, true, false, [1, 0, 0]),
        (last, true, false, [1, 1, 1]),
        (last, true, true, [1, 0, 0]),
    ] {
        let mut model = model.clone();
        if was_active {
            model.memory.pages.set(page, WORKINGSET);
        }
        // Room for it, and none in swap for any other.
        let others = (100..1000).filter(|&page| model.tier(page) == Tier::Ram).take(20);
        others.collect::<Vec<u32>>().into_iter().for_each(|page| model.free(page));
        while full && model.swap.slots.alloc(0).is_some() {}
        let before = counts(&model);
        model.advance(event(page, Op::Read)).unwrap();
        let after = counts(&model);
        assert_eq!([0, 1, 2].map(|index| after[index] - before[index]), expected, "{tier:?}: page {page}, {was_active} {full}");
    }
}
