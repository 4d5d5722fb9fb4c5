//! Rounds of reclaim of a group at its limit.

use swaptune_kernel::v;

use super::lruvec::Scan;
use super::vmscan::{Round, share};
use crate::model::page::AHEAD;
use crate::model::tests::{cycles, disk, machine, policy, with_zswap};
use crate::model::{Model, ModelSettings, Tier};

/// How many pages the rounds evicted while 20 000 pages that are used once came through 8192 of RAM.
fn evicted(settings: ModelSettings) -> Vec<u64> {
    let mut model = Model::new(ModelSettings { cgroups: vec![Some(8192)], ..settings }, 20_000).unwrap();
    let steal = |event| {
        let before = model.memory.vmstat.pgsteal;
        model.advance(event).unwrap();
        model.memory.vmstat.pgsteal - before
    };
    cycles(20_000, 1).map(steal).filter(|&count| count > 0).collect()
}

#[test]
fn shares_of_the_list_are_looked_at_until_they_were_enough() {
    let counts = evicted(ModelSettings { charge_zswap: false, ..with_zswap(40_000, policy("limit"), 90) });
    // 1, 2, 5, 11 and 22, as the trace events of a kernel showed for such a group; but where the list has been gone through and
    // begins anew with pages that were just used.
    let others = counts.iter().filter(|&&count| count != 41).count();
    assert!(counts.len() > 250 && others <= 2, "{counts:?}");
    assert_eq!([10, 9, 8, 7, 6].map(|priority| share(8192 - 1, priority, 60)), [1, 2, 5, 11, 22]);
    assert_eq!((share(8191, 11, 60), share(8191, 0, 60)), (0, 8191));
    assert_eq!([1, 100, 180, 200].map(|swappiness| share(8191, 4, swappiness)), [1, 170, 418, 511]);
}

#[test]
fn no_more_than_a_batch_is_written() {
    let counts = evicted(ModelSettings { areas: vec![disk(0, 20_000)], ..machine(40_000) });
    assert!(counts.len() > 300 && counts[1..].iter().all(|&count| count == 32), "{counts:?}");
}

/// Of a share that is larger than a batch the rest is not looked at when a batch was enough.
#[test]
fn a_large_share_is_left_when_there_is_enough() {
    let mut model =
        Model::new(ModelSettings { cgroups: vec![Some(9000)], ..with_zswap(20_000, policy("limit"), 90) }, 9000).unwrap();
    for page in 0..8000 {
        model.memory.add_new(page);
    }
    let mut round = Round::default();
    scan_at_priority(&mut model, (0, false), &mut round);
    assert_eq!((round.evicted, model.memory.vmstat.pgscan), (0, 8000), "each was used once");
    scan_at_priority(&mut model, (2, false), &mut round);
    scan_at_priority(&mut model, (2, false), &mut round);
    assert_eq!((round.evicted, model.memory.vmstat.pgscan), (64, 8000 + 64), "of 352 and 347");
}

fn scan_at_priority(model: &mut Model, at: (u32, bool), round: &mut Round) {
    let (memory, mut below) = model.split();
    memory.scan_at_priority(0, at, round, &mut below, &mut 0);
}

/// 100 pages of a group that were used, and 20 active ones.
fn used_and_active(settings: ModelSettings) -> Model {
    let mut model = Model::new(ModelSettings { cgroups: vec![Some(200)], ..settings }, 200).unwrap();
    let mut scan = Scan::default();
    for page in 0..100 {
        model.memory.add_new(page);
    }
    for page in 100..120 {
        model.memory.charge(0);
        model.memory.pages.go(page, Tier::Ram);
        model.memory.lruvecs.activate(&mut model.memory.pages, page, &mut scan);
    }
    model.memory.lruvecs.note(0, scan);
    model
}

#[test]
fn a_look_takes_its_time_for_each_page() {
    let mut model = used_and_active(with_zswap(4000, policy("limit"), 90));
    let (mut round, mut time) = (Round::default(), 1000);
    let (memory, mut below) = model.split();
    memory.shrink_lists(0, (10, 5), &mut round, &mut below, &mut time);
    assert_eq!((round.evicted, time - 1000), (0, 15 * model.settings.costs.scan));
}

/// 24 pages of the round are on their way to a disk, so that 8 of 32 are looked at, and of the 20 active ones as small a part.
#[test]
fn who_waits_for_a_disk_looks_at_less_of_both_lists() {
    let mut model = used_and_active(machine(4000));
    scan_at_priority(&mut model, (0, true), &mut Round { evicted: 0, written: 24 });
    let counters = model.memory.vmstat;
    assert_eq!((counters.pgdeactivate, counters.pgscan), (5, 8 + 5 + 8 + 8 + 4));
}

/// Pages that cannot go fill the inactive list, of active ones there are few: those go all the same.
#[test]
fn active_pages_go_where_nothing_else_can() {
    let mut model = used_and_active(ModelSettings { kernel: v(6, 18), ..with_zswap(4000, policy("limit"), 90) });
    (0..100).for_each(|page| model.memory.pages.set(page, AHEAD));
    let (memory, mut below) = model.split();
    assert_eq!(memory.scan_at_priorities(0, false, &mut below, &mut 0), 0);
    assert!(memory.shrink_memcg(0, &mut below, &mut 0) > 0);
    assert!((0..100).all(|page| model.tier(page) == Tier::Ram) && (100..120).any(|page| model.tier(page) == Tier::Zswap));
    model.check();
}
