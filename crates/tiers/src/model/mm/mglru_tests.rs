//! Reclaim with generations: visits of groups, passes of kswapd, and pages that have been written.

use crate::model::page::REFERENCED;
use crate::model::tests::{disk, event, machine, policy, with_zswap};
use crate::model::{DeviceTimes, Lru, Model, ModelSettings, Tier};
use crate::trace::Op;

/// Four groups with a thousand pages each that have not been used since two generations came.
fn four_groups(settings: ModelSettings) -> Model {
    let mut model = Model::new(ModelSettings { lru: Lru::Generational, cgroups: vec![None; 4], ..settings }, 4000).unwrap();
    let memory = &mut model.memory;
    for page in 0..4000 {
        memory.pages.set_cgroup(page, (page / 1000) as u16);
        memory.add_new(page);
        memory.pages.clear(page, REFERENCED);
    }
    (0..4).for_each(|group| [(); 2].into_iter().for_each(|()| memory.lruvecs.age(&mut memory.pages, group)));
    model
}

fn lengths(model: &Model) -> [usize; 4] {
    [0, 1, 2, 3].map(|group| model.memory.lruvecs.len(group))
}

fn kswapd_goes_on(model: &mut Model) -> bool {
    let (memory, mut below) = model.split();
    memory.kswapd_goes_on(&mut below, &mut 0)
}

/// Of four groups whose pages are old a visit takes 64 pages of one, then the next one's turn comes.
#[test]
fn generations_are_visited_one_group_at_a_time() {
    let mut model = four_groups(with_zswap(8000, policy("limit"), 90));
    for visited in 1..=4 {
        assert!(kswapd_goes_on(&mut model), "a batch");
        assert!(kswapd_goes_on(&mut model), "the end of the visit");
        let lengths = lengths(&model);
        assert_eq!(lengths.iter().filter(|&&left| left == 1000 - 64).count(), visited, "{lengths:?}");
        assert_eq!(lengths.iter().sum::<usize>(), 4000 - 64 * visited);
    }
    model.check();
}

/// Half of RAM is free, and a pass ends all the same when as much was reclaimed as the high watermark.
#[test]
fn a_pass_goes_on_when_enough_is_free() {
    let mut model = four_groups(with_zswap(8000, policy("limit"), 90));
    let high = model.memory.marks.high;
    assert!(kswapd_goes_on(&mut model) && model.memory.kswapd_is_in_a_pass() && model.free_pages() > high as i64);
    let mut passes = 0;
    while passes < 3 {
        assert!(kswapd_goes_on(&mut model));
        passes += u32::from(!model.memory.kswapd_is_in_a_pass());
        let reclaimed = model.memory.vmstat.pgsteal;
        assert!(reclaimed < 3 * high, "{reclaimed} in {passes} passes");
    }
    assert!(model.memory.vmstat.pgsteal >= high);
}

/// A group of which only the generations are left that reclaim leaves keeps its place, and is aged when its turn comes again.
#[test]
fn a_group_without_old_pages_is_aged_at_its_next_visit() {
    let mut model = Model::new(ModelSettings { lru: Lru::Generational, ..with_zswap(8000, policy("limit"), 90) }, 214).unwrap();
    let memory = &mut model.memory;
    for (pages, ages) in [(0..64, 1), (64..214, 1)] {
        pages.for_each(|page| memory.add_new(page));
        (0..ages).for_each(|_| memory.lruvecs.age(&mut memory.pages, 0));
    }
    assert_eq!(memory.lruvecs.should_run_aging(0), (false, 214));
    let young = memory.lruvecs.youngest(0);
    assert!(kswapd_goes_on(&mut model));
    let lists = &mut model.memory.lruvecs;
    assert_eq!((lists.len(0), lists.youngest(0), lists.has_fewest_generations(0)), (150, young, true));
    while model.memory.kswapd_is_in_a_pass() {
        assert!(kswapd_goes_on(&mut model));
    }
    assert!(kswapd_goes_on(&mut model));
    assert_eq!((model.memory.lruvecs.len(0), model.memory.lruvecs.youngest(0)), (150, young + 1));
    model.check();
}

/// What was written stays in the swap cache: it is no more reclaimed than it was, a use finds it there, and the next visit frees it without
/// another write.
#[test]
fn written_pages_stay_until_reclaim_finds_them() {
    let mut model = four_groups(ModelSettings { areas: vec![disk(0, 8000)], ..machine(8000) });
    assert!(kswapd_goes_on(&mut model));
    let written: Vec<u32> = (0..4000).filter(|&page| model.tier(page) == Tier::Writing).collect();
    let free = model.free_pages();
    assert_eq!((written.len(), model.memory.under_write()), (64, 64));
    model.end_writes(u64::MAX / 2);
    assert!(written.iter().all(|&page| model.tier(page) == Tier::Ram));
    assert_eq!((model.memory.under_write(), model.free_pages()), (0, free));
    model.check();
    let group = model.memory.pages.cgroup(written[0]);
    model.advance(event(written[0], Op::Read)).unwrap();
    let vmstat = &model.memory.vmstat;
    assert_eq!((vmstat.pswpin, vmstat.swap_ra_hit, vmstat.pgmajfault), (0, 0, 0));
    let (memory, mut below) = model.split();
    assert_eq!(memory.shrink_generations_of(group, &mut below, &mut 0), 63, "the one that was used stays");
    assert_eq!((model.memory.vmstat.pswpout, model.free_pages()), (64, free + 63));
    assert!(written[1..].iter().all(|&page| model.tier(page) == Tier::Disk) && model.tier(written[0]) == Tier::Ram);
    model.check();
}

/// A program that writes its pages once, on a slow disk: kswapd does not wait for what it has sent, but for the queue, so that little more is
/// written than does not fit. Without the queue's end it would be nearly all.
#[test]
fn a_full_queue_holds_kswapd_up() {
    let device = DeviceTimes { request: 100_000, page: 200_000, seek: 0, read_latency: 0, write_latency: 0 };
    let (areas, devices) = (vec![disk(0, 60_000)], vec![device]);
    let mut model = Model::new(ModelSettings { lru: Lru::Generational, areas, devices, ..machine(20_000) }, 40_000).unwrap();
    (0..40_000).for_each(|page| _ = model.advance(event(page, Op::Write)).unwrap());
    let written = model.memory.vmstat.pswpout;
    assert!((20_000..25_000).contains(&written), "{written}");
    model.check();
}
