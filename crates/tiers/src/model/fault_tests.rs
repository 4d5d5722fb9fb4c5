//! What a fault is counted as, and what it leaves behind in swap.

use swaptune_kernel::v;

use super::page::{CLEAN, REFERENCED};
use super::tests::{cycles, event, machine, policy, with_zswap, zram};
use super::*;
use crate::trace::Op;

/// A machine after 2500 pages were written in order: the first of them are in swap.
fn written(settings: ModelSettings) -> Model {
    let mut model = Model::new(settings, 2500).unwrap();
    cycles(2500, 1).for_each(|event| _ = model.advance(event).unwrap());
    model
}

fn zeros() -> ModelSettings {
    ModelSettings { sizes: CompressedSizes::Each(vec![0]), ..machine(2000) }
}

fn in_zram() -> ModelSettings {
    ModelSettings { areas: vec![zram(0, 10_000)], ..machine(2000) }
}

#[test]
fn a_fault_is_counted_where_its_page_comes_from() {
    let in_zswap = with_zswap(2000, policy("limit"), 90);
    for (settings, tier, counts) in [
        (machine(2000), Tier::Disk, [10, 10, 0, 0]),
        (in_zram(), Tier::Zram, [10, 0, 0, 0]),
        (in_zswap, Tier::Zswap, [0, 0, 10, 0]),
        (zeros(), Tier::Zero, [0, 0, 0, 10]),
    ] {
        let mut model = written(settings);
        assert_eq!(model.tier(0), tier);
        (0..10).for_each(|page| _ = model.advance(event(page, Op::Read)).unwrap());
        let counters = model.memory.vmstat;
        let found = [counters.pswpin, counters.disk_in, counters.zswpin, counters.swpin_zero];
        assert_eq!((found, counters.pgmajfault, counters.workingset_refault_anon), (counts, 10, 10), "{tier:?}");
        assert!((1..=model.clock.now).contains(&model.outcome.stall), "{tier:?}");
    }
}

#[test]
fn a_zero_page_is_made_again() {
    let mut model = written(zeros());
    let (begin, costs) = (model.clock.now, model.settings.costs);
    model.advance(event(0, Op::Read)).unwrap();
    assert_eq!(model.clock.now - begin, costs.swap_in + COPY + costs.access);
}

/// A page that was read keeps its copy on the disk until half of all slots are used, and one that was written loses it.
#[test]
fn a_copy_stays_while_half_of_swap_is_free() {
    let used = written(machine(2000)).swap.slots.fill().0;
    for (slots, op, lost) in [(2 * used, Op::Read, 0), (2 * used, Op::Write, 1), (2 * used - 1, Op::Read, 1)] {
        let mut settings = machine(2000);
        settings.areas[0].slots = slots as u32;
        let mut model = written(settings);
        model.advance(event(0, op)).unwrap();
        assert_eq!(model.swap.slots.fill().0, used - lost, "{slots} slots, {op:?}");
    }
    let mut model = written(in_zram());
    let used = model.swap.slots.fill().0;
    model.advance(event(0, Op::Read)).unwrap();
    assert_eq!(model.swap.slots.fill().0, used - 1, "zram keeps nothing of what it gave");
}

#[test]
fn zswap_gives_its_copy_up_since_6_9() {
    for (kernel, given_up) in [(v(6, 8), 0), (v(6, 9), 1)] {
        let mut model = written(ModelSettings { kernel, ..with_zswap(2000, policy("limit"), 90) });
        let stored = model.pools().stored;
        model.advance(event(0, Op::Read)).unwrap();
        assert_eq!(stored - model.pools().stored, given_up, "{kernel:?}");
        let mut time = model.clock.now;
        assert_eq!(
            model.write_back_oldest(0, false, &mut time),
            Some(true),
            "a copy that was read is not the oldest: {kernel:?}"
        );
    }
}

/// What is loaded or given back is no longer counted as what it was stored as.
#[test]
fn pools_count_what_they_hold() {
    let raw = with_zswap(2000, policy("limit"), 90);
    for (sizes, kernel, counts) in [(vec![0], v(6, 11), [1, 0]), (vec![4096], v(6, 18), [0, 1]), (vec![1000], v(6, 18), [0, 0])] {
        let mut model = written(ModelSettings { sizes: CompressedSizes::Each(sizes), kernel, ..raw.clone() });
        let held = |model: &Model| {
            let pools = model.pools();
            [pools.stored, pools.same_filled, pools.incompressible]
        };
        let [stored, same, huge] = held(&model);
        assert_eq!([same, huge], counts.map(|count| count * stored), "{kernel:?}");
        model.free(0);
        model.free(1);
        assert_eq!(held(&model), [stored - 2, (stored - 2) * counts[0], (stored - 2) * counts[1]], "{kernel:?}");
    }
}

/// A page under write is in the swap cache. The end of a write that it has outlived frees nothing.
#[test]
fn a_page_is_taken_back_from_under_its_write() {
    let slow = DeviceTimes { request: 0, page: 1_000_000, seek: 0, read_latency: 0, write_latency: 0 };
    let mut model = Model::new(ModelSettings { devices: vec![slow], ..machine(2000) }, 1).unwrap();
    model.advance(event(0, Op::Write)).unwrap();
    let mut tiers = Vec::new();
    for op in [Op::Write, Op::Read] {
        model.memory.lruvecs.remove(&model.memory.pages, 0);
        let slot = model.swap.slots.alloc(0).unwrap();
        model.memory.pages.set_slot(0, slot);
        let mut time = model.clock.now;
        model.swap_out(0, &mut time);
        tiers.push(model.tier(0));
        if op == Op::Write {
            let back = &mut model.clone();
            back.advance(event(0, Op::Read)).unwrap();
            assert!(back.memory.pages.has(0, CLEAN), "who only reads it has a copy on the disk");
            assert!(back.memory.pages.has(0, REFERENCED), "reclaim takes it for accessed");
            model.advance(event(0, op)).unwrap();
            tiers.push(model.tier(0));
        }
    }
    assert_eq!((tiers, model.memory.vmstat.workingset_refault_anon), (vec![Tier::Writing, Tier::Ram, Tier::Writing], 0));
    for (end, tier) in [(1_500_000, Tier::Writing), (2_500_000, Tier::Disk)] {
        model.end_writes(end);
        assert_eq!(model.tier(0), tier, "at {end} ns");
    }
}
