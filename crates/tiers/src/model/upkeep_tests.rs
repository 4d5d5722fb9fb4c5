//! What upkeep does to a zram device: by type, age, threshold and limit.

use swaptune_kernel::v;

use super::tests::{cycles, event, machine, zsmalloc};
use super::*;
use crate::policies::named;
use crate::trace::{Event, Op};

const SECOND: u64 = 1_000_000_000;
const PAGES: u32 = 4000;

/// A secondary algorithm of which every figure is known.
const SECONDARY: CodecCosts = CodecCosts { name: "zstd", compress: 10_000, decompress: 5_000 };

fn recompress(which: Which) -> Recompress {
    Recompress { codec: SECONDARY, sizes: Second::Share(700), which, age: 30 * SECOND, threshold: 0 }
}

fn writeback(which: Which) -> Writeback {
    Writeback { device: 0, blocks: 10_000, which, age: 30 * SECOND, limit: None }
}

fn upkeep(recompress: Option<Recompress>, writeback: Option<Writeback>) -> Upkeep {
    Upkeep { interval: 10 * SECOND, recompress, writeback }
}

/// RAM for half of the pages and a zram device for the rest. A quarter of the pages is huge and a quarter zeros, which zram keeps as
/// a value before 6.12.
fn settings(upkeep: Upkeep) -> ModelSettings {
    let backing = Backing::Zram {
        codec: CodecCosts::named("lz4").unwrap(),
        allocator: zsmalloc(),
        mem_limit: None,
        upkeep: Some(Box::new(upkeep)),
    };
    let areas = vec![AreaSettings { priority: 0, slots: 10_000, backing }];
    ModelSettings { kernel: v(6, 6), areas, sizes: CompressedSizes::Each(vec![1000, 2000, 4096, 0]), ..machine(2500) }
}

/// All pages are written at once; then a page that is in RAM is touched a minute later, and another for the time in between.
fn after(seconds: u64, settings: ModelSettings) -> Model {
    let mut model = Model::new(settings, PAGES + 2).unwrap();
    cycles(PAGES, 1).for_each(|event| _ = model.advance(event).unwrap());
    for (page, time) in [(PAGES, seconds), (PAGES + 1, seconds)] {
        model.advance(Event { time: time * SECOND, ..event(page, Op::Write) }).unwrap();
    }
    model.check();
    model
}

/// Pages in zram of this size class by the first algorithm.
fn held(model: &Model, size: u16) -> u64 {
    let of = |page: &u32| model.tier(*page) == Tier::Zram && model.memory.size_of(*page) == size;
    (0..PAGES).filter(of).count() as u64
}

#[test]
fn nothing_happens_before_the_first_visit_that_finds_old_pages() {
    let kept = upkeep(Some(recompress(Which::Idle)), None);
    for (seconds, done) in [(9, false), (29, false), (41, true)] {
        let counters = after(seconds, settings(kept.clone())).memory.vmstat;
        assert_eq!(counters.recompressed > 0, done, "{seconds} s");
    }
    let early = Recompress { which: Which::All, ..recompress(Which::All) };
    assert!(after(11, settings(upkeep(Some(early), None))).memory.vmstat.recompressed > 0, "age decides for idle pages only");
}

#[test]
fn recompression_makes_the_pool_smaller_and_slower() {
    let none = after(41, settings(upkeep(None, None)));
    let mut some = after(41, settings(upkeep(Some(recompress(Which::Idle)), None)));
    let (plain, huge) = (held(&some, 1000) + held(&some, 2000), held(&some, 4096));
    assert!(plain > 500 && huge > 200, "{plain} {huge}");
    assert_eq!(some.memory.vmstat.recompressed, plain);
    assert_eq!(some.memory.vmstat.recompress_rejected, huge, "what the first does not compress the second does not either");
    let objects = none.pools().zram - huge;
    let smaller = (none.pools().zram - some.pools().zram) as f64 / objects as f64;
    assert!((0.25..0.35).contains(&smaller), "70 % of the size: {smaller}");
    let page = (0..PAGES).find(|&page| some.tier(page) == Tier::Zram && page % 4 == 0).unwrap();
    let begin = some.clock.now;
    some.advance(event(page, Op::Read)).unwrap();
    assert_eq!(some.clock.now - begin, some.settings.costs.swap_in + SECONDARY.decompress + some.settings.costs.access);
}

/// A result that does not fall into a smaller class, or not below the threshold, is dropped, and not tried again.
#[test]
fn recompression_keeps_only_what_gains() {
    let of = |share, threshold| {
        let recompress = Recompress { sizes: Second::Share(share), threshold, ..recompress(Which::Idle) };
        let model = after(200, settings(upkeep(Some(recompress), None)));
        let counters = model.memory.vmstat;
        (counters.recompressed, counters.recompress_rejected, held(&model, 1000), held(&model, 2000), held(&model, 4096))
    };
    let (done, rejected, small, large, huge) = of(998, 0);
    assert_eq!((done, rejected), (0, small + large + huge), "two bytes less are the same class");
    let (done, rejected, small, large, huge) = of(700, 1500);
    assert_eq!(
        (done, rejected),
        (large, huge),
        "of 2000 bytes 1400 are left, and {small} of 1000 are below the threshold already"
    );
    let (done, rejected, _, large, huge) = of(700, 2000);
    assert_eq!((done, rejected), (large, huge), "2000 bytes are not below 2000, and 1400 are");
    let (done, rejected, _, large, huge) = of(750, 1500);
    assert_eq!((done, rejected), (0, large + huge), "1500 is not below 1500");
}

#[test]
fn each_type_writes_back_what_it_names() {
    let written = |which, seconds| {
        let model = after(seconds, settings(upkeep(None, Some(writeback(which)))));
        assert_eq!(model.memory.vmstat.bd_writes, model.pools().bd_count);
        assert_eq!(model.memory.vmstat.bd_writes, model.memory.vmstat.disk_out);
        (model.memory.vmstat.bd_writes, held(&model, 1000), held(&model, 4096), held(&model, 0), model.pools().zram)
    };
    let (all, small, huge, same, pool) = written(Which::Idle, 100);
    assert!(all > 700 && same > 200, "{all}");
    assert_eq!((small, huge, pool), (0, 0, 0), "pages of one value take no block");
    let (some, small, huge, ..) = written(Which::Huge, 11);
    assert!(some > 200 && small > 200 && huge == 0, "{some}");
    assert_eq!(written(Which::HugeIdle, 11).0, 0);
    assert_eq!(written(Which::HugeIdle, 100).0, some);
    assert_eq!(written(Which::Incompressible, 100).0, 0, "nothing was tried");
    let both = upkeep(Some(recompress(Which::Idle)), Some(writeback(Which::Incompressible)));
    let model = after(100, settings(both));
    assert_eq!(model.memory.vmstat.bd_writes, model.memory.vmstat.recompress_rejected);
    assert_eq!(model.memory.vmstat.bd_writes, some);
}

#[test]
fn limit_and_device_end_the_write_back() {
    for (limit, blocks, written) in [(Some(100), 10_000, 100), (None, 70, 70), (Some(0), 10_000, 0)] {
        let writeback = Writeback { limit, blocks, ..writeback(Which::Idle) };
        assert_eq!(after(300, settings(upkeep(None, Some(writeback)))).memory.vmstat.bd_writes, written);
    }
}

/// Two devices that write back to one disk have blocks of their own there, behind all slots.
#[test]
fn backing_devices_lie_side_by_side() {
    let one = settings(upkeep(None, Some(Writeback { blocks: 300, ..writeback(Which::Idle) })));
    let areas = vec![AreaSettings { slots: 2000, ..one.areas[0].clone() }; 2];
    let model = after(300, ModelSettings { areas, ..one });
    let mut pages = model.memory.pages.clone();
    let written = pages.entries().filter(|(state, ..)| state.tier() == Tier::WrittenBack);
    let mut blocks: Vec<u32> = written.map(|(.., block)| *block).collect();
    blocks.sort_unstable();
    assert_eq!(blocks, (4000..4600).collect::<Vec<u32>>());
}

#[test]
fn a_page_comes_back_from_the_backing_device() {
    let mut model = after(100, settings(upkeep(None, Some(writeback(Which::Idle)))));
    let page = (0..PAGES).find(|&page| model.tier(page) == Tier::WrittenBack).unwrap();
    let (begin, count) = (model.clock.now, model.pools().bd_count);
    model.advance(event(page, Op::Read)).unwrap();
    model.check();
    assert!(model.clock.now - begin > DeviceTimes::NVME.read_latency);
    let Counters { bd_reads, disk_in, pswpin, .. } = model.memory.vmstat;
    assert_eq!((bd_reads, disk_in, pswpin, model.pools().bd_count), (1, 1, 1, count - 1));
    let other = (0..PAGES).find(|&page| model.tier(page) == Tier::WrittenBack).unwrap();
    model.advance(event(other, Op::Free)).unwrap();
    model.check();
    assert_eq!(model.pools().bd_count, count - 2);
}

/// One page at a time until 6.18, 32 since: the same pages are out sooner.
#[test]
fn batches_are_faster_where_answers_take_long() {
    let time = |kernel| {
        let slow = DeviceTimes { write_latency: 10_000_000, ..DeviceTimes::NVME };
        let settings = ModelSettings { kernel, devices: vec![slow], ..settings(upkeep(None, Some(writeback(Which::Huge)))) };
        after(11, settings).memory.vmstat.bd_writes
    };
    assert_eq!(time(v(6, 18)), 100, "one second, and 10 ms for each page");
    assert!(time(v(6, 19)) > 200);
}

/// 20 ns for each slot of each visit; for each page that is recompressed what loading it takes, and the secondary algorithm.
#[test]
fn a_visit_takes_what_its_slots_and_its_pages_take() {
    let mut left_alone = settings(upkeep(None, None));
    if let Backing::Zram { upkeep, .. } = &mut left_alone.areas[0].backing {
        *upkeep = None;
    }
    let alone = after(11, left_alone).clock.system;
    let (young, slots) = (upkeep(Some(recompress(Which::Idle)), None), 10_000 * 20);
    assert_eq!(after(11, settings(young.clone())).clock.system - alone, slots);
    assert_eq!(after(21, settings(young)).clock.system - alone, 2 * slots);
    let all = after(11, settings(upkeep(Some(recompress(Which::All)), None))).finish();
    let Counters { recompressed, recompress_rejected: huge, .. } = all.counters;
    let load = recompressed * CodecCosts::named("lz4").unwrap().decompress + huge * COPY;
    assert_eq!(all.system - alone, slots + load + (recompressed + huge) * SECONDARY.compress);
}

/// Without batches the next page waits for the answer of the last, and each page is a request of its own.
#[test]
fn a_page_is_written_back_when_the_one_before_has_ended() {
    let device = DeviceTimes { request: 5_000, page: 0, seek: 0, read_latency: 0, write_latency: 0 };
    let settings = settings(upkeep(None, Some(writeback(Which::All))));
    let mut model = after(9, ModelSettings { devices: vec![device], sizes: CompressedSizes::Each(vec![1000]), ..settings });
    let each = CodecCosts::named("lz4").unwrap().decompress + device.request;
    for (nanos, written) in [(0, 0), (1, 1), (each, 1), (each + 1, 2), (100 * each, 100), (100 * each + 1, 101)] {
        model.clock.now = 10 * SECOND + nanos;
        model.run_upkeep();
        assert_eq!(model.memory.vmstat.bd_writes, written, "{nanos} ns after the visit began");
    }
}

#[test]
fn what_a_kernel_lacks_is_refused() {
    let error = |kernel| {
        ModelSettings { kernel, ..settings(upkeep(Some(recompress(Which::All)), None)) }.check().unwrap_err().to_string()
    };
    assert_eq!(error(v(6, 1)), "Linux 6.1 has no recompression in zram: it is there since 6.2");
    let settings = settings(Upkeep { interval: 0, ..upkeep(None, None) });
    assert_eq!(settings.check(), Err(ModelSettingsError::NoInterval(0)));
}

/// zswap in front: its entries hold slots of zram without being in it, and go there when they are written back.
#[test]
fn zswap_before_zram_keeps_its_own() {
    let mut settings = settings(upkeep(Some(recompress(Which::Idle)), Some(writeback(Which::HugeIdle))));
    let codec = CodecCosts::named("lz4").unwrap();
    settings.zswap = Some(ModelZswapSettings {
        policy: *named("write-back").unwrap(),
        max_pool_percent: 8,
        ..ModelZswapSettings::new(codec, zsmalloc())
    });
    let model = after(100, settings);
    let counters = model.memory.vmstat;
    assert!(counters.zswpout > 0 && counters.bd_writes > 0 && counters.recompressed > 0, "{counters:?}");
}
