//! What a program beside the trace can do: limits that are lowered and canaries that drain, reclaim of one group, limits put back.

use super::tests::{event, policy, with_zswap};
use super::*;
use crate::trace::{Event, Op};

const GROUP: u32 = 1000;
const MILLISECOND: u64 = 1_000_000;

/// Two groups of 1000 pages each that were written in turn, on a machine that has room for them.
fn two_groups() -> Model {
    let settings = ModelSettings { cgroups: vec![None, None], ..with_zswap(4000, policy("limit"), 20) };
    let mut model = Model::new(settings, 2 * GROUP).unwrap();
    for page in 0..2 * GROUP {
        model.advance(Event { cgroup: (page / GROUP) as u16, ..event(page, Op::Write) }).unwrap();
    }
    model
}

/// Offers canaries, 100 µs apart, for so long. Tells how many were refused.
fn offer(model: &mut Model, nanos: u64) -> u64 {
    let until = model.seen().now + nanos;
    let mut refused = 0;
    while model.seen().now < until {
        refused += u64::from(model.offer_canary());
        model.wait(model.seen().now + MILLISECOND / 10);
    }
    refused
}

#[test]
fn reclaim_takes_cold_pages_of_one_group_only() {
    let mut model = two_groups();
    // The second half is used again: it is not what goes first.
    (GROUP / 2..GROUP).for_each(|page| _ = model.advance(event(page, Op::Read)));
    let (before, now) = ([model.group(0), model.group(1)], model.seen().now);
    let left = model.reclaim(0, 300);
    assert!((300..400).contains(&left), "{left}");
    assert_eq!(before[0].memory - model.group(0).memory, left);
    assert_eq!(model.group(1), before[1]);
    assert_eq!((model.seen().stored, model.seen().now), (left, now), "it takes no time of the process");
    let gone = |pages: std::ops::Range<u32>| pages.filter(|&page| model.tier(page) == Tier::Zswap).count() as u64;
    assert_eq!((gone(0..GROUP / 2), gone(GROUP / 2..GROUP)), (left, 0));
    // What comes back is counted by group.
    (0..10).for_each(|page| _ = model.advance(event(page, Op::Read)));
    assert_eq!((model.group(0).refaults, model.group(1).refaults), (10, 0));
}

#[test]
fn a_group_gives_what_it_has_and_no_more() {
    let mut model = two_groups();
    assert_eq!(model.reclaim(0, 5000), u64::from(GROUP));
    assert_eq!((model.reclaim(0, 1), model.group(0).memory), (0, 0));
}

#[test]
fn canaries_at_a_lowered_limit_drain_the_oldest_of_each_group() {
    let mut model = two_groups();
    (0..2).for_each(|group| _ = model.reclaim(group, 500));
    let full = model.seen();
    assert_eq!(offer(&mut model, 10 * MILLISECOND), 0, "a pool with room refuses none");
    assert_eq!(model.seen().pool, full.pool);

    let low = full.pool * 100 / full.ram;
    model.set_pool_limits(low, 50);
    assert!(offer(&mut model, 500 * MILLISECOND) > 0);
    let drained = model.seen();
    let target = full.ram * low / 100 / 2;
    assert!(drained.pool <= target && drained.pool > target * 8 / 10, "{} of {}, down to {target}", drained.pool, full.pool);
    assert!(drained.zswpwb > 200 && drained.zswpwb == drained.pswpout, "{drained:?}");
    // Pages went to the pool in order, so that the oldest are the first of each group.
    for group in 0..2 {
        let pages = group * GROUP..(group + 1) * GROUP;
        let last_written = pages.clone().rposition(|page| model.tier(page) == Tier::Disk).unwrap();
        let first_kept = pages.clone().position(|page| model.tier(page) == Tier::Zswap).unwrap();
        assert!(last_written < first_kept, "group {group}: {last_written} {first_kept}");
    }
    // They are no refused stores of the trace.
    let counters = model.clone().finish().counters;
    assert_eq!((counters.pool_limit_hit, counters.reject_draining), (0, 0));
}

#[test]
fn limits_put_back_are_the_ones_that_count() {
    let mut model = two_groups();
    _ = model.reclaim(0, 500);
    let full = model.seen();
    model.set_pool_limits(full.pool * 100 / full.ram, 90);
    assert!(model.offer_canary());
    model.set_pool_limits(full.max_pool_percent, full.accept_threshold_percent);
    assert_eq!(model.seen().max_pool_percent, 20);
    // The worker that the canary queued finds room at its first look, after the one entry that it takes all the same.
    model.wait(full.now + 100 * MILLISECOND);
    let after = model.seen();
    assert!(after.zswpwb <= 1 && !model.offer_canary(), "{after:?}");
    assert!(model.reclaim(1, 500) >= 500);
    let counters = model.finish().counters;
    assert_eq!((counters.pool_limit_hit, counters.disk_out), (0, after.zswpwb));
}

#[test]
fn waiting_changes_nothing_that_is_asleep() {
    let mut model = two_groups();
    let mut before = model.seen();
    model.wait(before.now + 1000 * MILLISECOND);
    before.now += 1000 * MILLISECOND;
    assert_eq!(model.seen(), before);
    model.wait(0);
    assert_eq!(model.seen(), before, "time does not go back");
}
