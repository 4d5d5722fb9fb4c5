//! What comes along with a page that is read from swap, and what that takes.

use swaptune_kernel::v;

use super::page::NONE;
use super::tests::{cycles, disk, event, machine, policy, with_zswap};
use super::*;
use crate::trace::{Event, Op};

/// A machine that reads up to eight pages ahead, after `pages` were written in order.
fn written(settings: ModelSettings, pages: u32) -> Model {
    let mut model = Model::new(ModelSettings { page_cluster: 3, ..settings }, pages).unwrap();
    cycles(pages, 1).for_each(|event| _ = model.advance(event).unwrap());
    model
}

/// Pages that came into RAM with this one.
fn brought(model: &mut Model, page: u32) -> Vec<u32> {
    let away: Vec<u32> = (0..model.memory.pages.len() as u32).filter(|&page| model.tier(page) != Tier::Ram).collect();
    model.advance(event(page, Op::Read)).unwrap();
    model.check();
    away.into_iter().filter(|&other| other != page && model.tier(other) == Tier::Ram).collect()
}

/// A rotational disk gives the neighbours of a slot, another one those of an address. Pages are written in steps of 1000, so that
/// neighbours of one kind are none of the other.
#[test]
fn read_ahead_is_by_slots_where_an_area_is_rotational() {
    for (rotational, devices) in [(false, vec![DeviceTimes::NVME]), (true, vec![DeviceTimes::HDD])] {
        let answer = devices[0].read_latency + devices[0].request;
        let mut settings = ModelSettings { devices, page_cluster: 3, ..machine(2000) };
        settings.areas[0].backing = Backing::Disk { device: 0, rotational };
        let mut model = Model::new(settings, 3001).unwrap();
        let page = |order: u32| order * 1000 % 3001;
        (0..3001).for_each(|order| _ = model.advance(event(page(order), Op::Write)).unwrap());
        let read = 100;
        let away: Vec<u32> = (0..3001).filter(|&order| model.tier(page(order)) == Tier::Disk).collect();
        // What was read ahead before has been used, so that the window is open.
        (0..4).for_each(|_| model.swap.readahead.hit(&mut model.memory, page(0)));
        let begin = model.clock.now;
        model.advance(event(page(read), Op::Read)).unwrap();
        assert!(model.clock.now - begin > answer, "the page itself is waited for");
        let came = away.into_iter().filter(|&order| order != read && model.tier(page(order)) == Tier::Ram);
        let near = |order: &u32| if rotational { order.abs_diff(read) < 8 } else { page(*order).abs_diff(page(read)) < 8 };
        let (near, far): (Vec<u32>, Vec<u32>) = came.partition(near);
        assert!(!near.is_empty() && far.is_empty(), "rotational: {rotational}, {near:?} {far:?}");
    }
}

/// Once a page that was read ahead is used its slot is worth as much as that of any other: a write makes it useless.
#[test]
fn a_write_to_what_was_read_ahead_gives_its_slot_back() {
    for (op, kept) in [(Op::Read, true), (Op::Write, false)] {
        let mut model = written(machine(2000), 3500);
        let page = brought(&mut model, 100)[0];
        assert_ne!(model.memory.pages.slot(page), NONE);
        model.advance(event(page, op)).unwrap();
        assert_eq!(model.memory.pages.slot(page) != NONE, kept, "{op:?}");
    }
}

/// Who reads in order waits for every eighth page only, because the pages that came along are used.
#[test]
fn read_ahead_that_is_used_goes_on() {
    for (rotational, devices) in [(false, vec![DeviceTimes::NVME]), (true, vec![DeviceTimes::HDD])] {
        let mut settings = ModelSettings { devices, ..machine(2000) };
        settings.areas[0].backing = Backing::Disk { device: 0, rotational };
        let mut model = written(settings, 3500);
        (0..800).for_each(|page| _ = model.advance(event(page, Op::Read)).unwrap());
        let Counters { pgmajfault, swap_ra, swap_ra_hit, .. } = model.memory.vmstat;
        assert!((100..=110).contains(&pgmajfault) && swap_ra_hit == 800 - pgmajfault, "{pgmajfault} {swap_ra_hit}");
        // The header takes the first place of an area, so that the last page is the first of a cluster.
        let most = if rotational { 16 } else { 8 };
        assert!(swap_ra - swap_ra_hit < most, "{rotational}: {swap_ra} {swap_ra_hit}");
    }
}

/// Neighbours come from wherever they are; by addresses they are of the same process.
#[test]
fn neighbours_come_from_zswap_from_the_disk_and_from_zeros() {
    let zeros = ModelSettings { sizes: CompressedSizes::Each(vec![0]), ..machine(2000) };
    for (settings, tier) in [
        (with_zswap(2000, policy("limit"), 0), Tier::Disk),
        (with_zswap(2000, policy("limit"), 90), Tier::Zswap),
        (zeros, Tier::Zero),
    ] {
        let mut model = written(settings, 3500);
        assert_eq!(model.tier(100), tier);
        assert_eq!(brought(&mut model, 100), [97, 98, 99, 101, 102, 103, 104], "{tier:?}");
        assert_eq!((model.memory.vmstat.swap_ra, model.memory.vmstat.swap_ra_hit), (7, 0), "{tier:?}");
        let disk_swapins = model.zswap.map_or(0, |zswap| zswap.disk_swapins());
        assert_eq!(disk_swapins, u64::from(tier == Tier::Disk), "{tier:?}");
    }
    let mut model = Model::new(ModelSettings { cgroups: vec![None; 2], page_cluster: 3, ..machine(2000) }, 3500).unwrap();
    cycles(3500, 1).for_each(|event| _ = model.advance(Event { cgroup: (event.page % 2) as u16, ..event }).unwrap());
    assert_eq!(brought(&mut model, 100), [98, 102, 104]);
}

/// Adjacent slots are read in one request; who waits for one of them does not wait for those of another area.
#[test]
fn adjacent_slots_of_an_area_are_one_request() {
    let area =
        |priority, device, slots| AreaSettings { backing: Backing::Disk { device, rotational: false }, ..disk(priority, slots) };
    let areas = vec![area(1, 0, 400), area(0, 1, 100_000)];
    let model = written(ModelSettings { areas, devices: vec![DeviceTimes::NVME; 2], ..machine(2000) }, 3500);
    let (costs, nvme) = (model.settings.costs, DeviceTimes::NVME);
    for (page, together) in [(100, 8), (398, 5), (401, 6)] {
        let mut model = model.clone();
        model.clock.now += 1_000_000_000;
        model.advance(event(3499, Op::Read)).unwrap();
        let begin = model.clock.now;
        assert_eq!(brought(&mut model, page).len(), 7);
        let read = nvme.request + together * nvme.page + nvme.read_latency;
        assert_eq!(model.clock.now - begin, costs.swap_in + read + costs.access, "page {page}");
    }
}

/// What nobody has used of the pages that came from zswap stays, because reclaim since 6.16 does not know them for anonymous; zswap of before
/// 6.9 still has them. From the disk they are clean and go.
#[test]
fn what_was_read_ahead_from_zswap_stays_until_it_is_used() {
    let zswap = |kernel| ModelSettings { kernel, ..with_zswap(2000, policy("limit"), 90) };
    for (settings, stays) in [
        (zswap(v(6, 18)), true),
        (zswap(v(6, 16)), true),
        (zswap(v(6, 15)), false),
        (zswap(v(6, 8)), false),
        (ModelSettings { kernel: v(6, 18), ..machine(2000) }, false),
    ] {
        let kernel = settings.kernel;
        let mut model = written(settings, 3500);
        let ahead = brought(&mut model, 100);
        (1000..3500).for_each(|page| _ = model.advance(event(page, Op::Read)).unwrap());
        model.check();
        let still = |model: &Model| ahead.iter().filter(|&&page| model.tier(page) == Tier::Ram).count();
        assert_eq!((ahead.len(), still(&model)), (7, if stays { 7 } else { 0 }), "{kernel:?}");
        assert_eq!(model.memory.vmstat.pgactivate > 0, stays, "{kernel:?}");
        let kept = |model: &Model| {
            ahead.iter().filter(|&&page| model.tier(page) == Tier::Ram && model.memory.cannot_be_written(page)).count()
        };
        assert_eq!(kept(&model), still(&model), "{kernel:?}");
        ahead.iter().for_each(|&page| _ = model.advance(event(page, Op::Read)).unwrap());
        assert_eq!(kept(&model), 0, "{kernel:?}: once used they are as others");
    }
}

/// Areas that take turns give pages that follow each other places beside each other, and only places are compared.
#[test]
fn the_page_after_this_one_is_beside_it_in_another_area() {
    let mut settings = ModelSettings { devices: vec![DeviceTimes::HDD], ..machine(2000) };
    let area = AreaSettings { priority: 0, slots: 5_000, backing: Backing::Disk { device: 0, rotational: true } };
    settings.areas = vec![area; 2];
    let mut model = written(ModelSettings { kernel: v(6, 18), ..settings }, 3500);
    // The window is closed: no hits, and the last one was small.
    for page in [101, 401, 701, 901, 1001] {
        brought(&mut model, page);
    }
    assert_eq!(brought(&mut model, 200).len(), 0);
    let came = brought(&mut model, 202);
    assert_eq!(came.len(), 1, "{came:?}");
    assert!(came[0] % 2 == 0, "of the same area: {came:?}");
}
