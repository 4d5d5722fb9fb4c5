//! The model as a whole: every page is somewhere, the counters add up, the same input gives the same outcome.

use swaptune_kernel::{KernelVersion, behaviours, v};

use proptest::prelude::*;

use super::mm::Pageout;
use super::page::{CLEAN, NONE, POOLED};
use super::zswap::Zswap;
use super::*;
use crate::alloc::{Allocator, Rule, Zsmalloc};
use crate::policies::{POLICIES, Policy, named};
use crate::trace::{Event, KeptColumns, Op, TraceBuilder};

pub(super) fn zsmalloc() -> Allocator {
    Allocator::Zsmalloc(Zsmalloc::new(8, Rule::LeastWaste).unwrap())
}

pub(super) fn disk(priority: i32, slots: u32) -> AreaSettings {
    AreaSettings { priority, slots, backing: Backing::Disk { device: 0, rotational: false } }
}

pub(super) fn zram(priority: i32, slots: u32) -> AreaSettings {
    let backing =
        Backing::Zram { codec: CodecCosts::named("lz4").unwrap(), allocator: zsmalloc(), mem_limit: None, upkeep: None };
    AreaSettings { priority, slots, backing }
}

/// `ram` pages of RAM, one disk, no zswap.
pub(super) fn machine(ram: u64) -> ModelSettings {
    ModelSettings { areas: vec![disk(0, 100_000)], devices: vec![DeviceTimes::NVME], page_cluster: 0, ..ModelSettings::new(ram) }
}

pub(super) fn with_zswap(ram: u64, policy: Policy, percent: u64) -> ModelSettings {
    let zswap = ModelZswapSettings {
        policy,
        max_pool_percent: percent,
        ..ModelZswapSettings::new(CodecCosts::named("lz4").unwrap(), zsmalloc())
    };
    ModelSettings { zswap: Some(zswap), ..machine(ram) }
}

pub(super) fn policy(name: &str) -> Policy {
    *named(name).unwrap()
}

pub(super) fn event(page: u32, op: Op) -> Event {
    Event { time: 0, page, cgroup: 0, op }
}

/// Writes all pages once, then reads them in the same order, again and again.
pub(super) fn cycles(pages: u32, rounds: u32) -> impl Iterator<Item = Event> + Clone {
    (0..pages * rounds).map(move |index| event(index % pages, if index < pages { Op::Write } else { Op::Read }))
}

pub(super) fn run(settings: ModelSettings, pages: u32, trace: impl IntoIterator<Item = Event>) -> Outcome {
    let mut model = Model::new(settings, pages).unwrap();
    trace.into_iter().all(|event| model.advance(event).is_some());
    model.finish()
}

/// A trace may know more cgroups than the settings: the rest of them is the last one.
#[test]
fn cgroups_without_an_entry_are_the_last_one() {
    let groups = |count: u16| cycles(3000, 3).map(move |event| Event { cgroup: (event.page / 300) as u16 % count, ..event });
    let limited = |cgroups: Vec<Option<u64>>| ModelSettings { cgroups, ..with_zswap(2000, policy("limit"), 20) };
    let (few, all) = (vec![None, Some(500)], vec![None, Some(500), Some(500)]);
    let two = run(limited(few.clone()), 3000, groups(2));
    assert!(two.counters.zswpout > 0);
    assert_eq!(run(limited(few), 3000, groups(10)).out_of_memory, None);
    assert_ne!(run(limited(all), 3000, groups(3)), two);
}

/// Parts of a model by themselves.
impl Model {
    pub(super) fn zswap(&mut self) -> &mut Zswap {
        self.zswap.as_mut().unwrap()
    }

    /// What it was made of.
    pub(super) fn machine(&self) -> ModelSettings {
        ModelSettings { sizes: self.memory.sizes.clone(), ..self.settings.clone() }
    }

    pub(super) fn wake_worker(&mut self, time: u64) {
        let Self { zswap, memory, swap, clock, .. } = self;
        zswap.iter_mut().for_each(|zswap| zswap.wake_worker(memory, swap, clock, time));
    }

    pub(super) fn pause_worker(&mut self) {
        let now = self.clock.now;
        self.zswap().pause(now);
    }

    pub(super) fn run_worker(&mut self) {
        let Self { zswap, memory, swap, clock, .. } = self;
        zswap.iter_mut().for_each(|zswap| zswap.run_worker(memory, swap, clock));
    }

    pub(super) fn run_cleaner(&mut self) {
        let Self { zswap, memory, swap, clock, .. } = self;
        zswap.iter_mut().for_each(|zswap| zswap.run_cleaner(memory, swap, clock));
    }

    pub(super) fn run_upkeep(&mut self) {
        self.clock.system += self.swap.run_upkeep(&mut self.memory, self.clock.now);
    }

    pub(super) fn make_room_in_pool(&mut self, time: &mut u64) {
        let Self { zswap, memory, swap, .. } = self;
        zswap.iter_mut().for_each(|zswap| zswap.make_room(memory, swap, time));
    }

    pub(super) fn write_back_oldest(&mut self, group: u16, second_chance: bool, time: &mut u64) -> Option<bool> {
        let Self { zswap, memory, swap, .. } = self;
        zswap.as_mut()?.write_back_oldest(memory, swap, group, second_chance, time)
    }

    pub(super) fn pageout(&mut self, page: u32, time: &mut u64) -> bool {
        let (memory, mut below) = self.split();
        below.pageout(memory, page, time)
    }

    pub(super) fn swap_out(&mut self, page: u32, time: &mut u64) -> bool {
        let (memory, mut below) = self.split();
        below.swap_writeout(memory, page, time)
    }

    pub(super) fn shrink_slab(&mut self, cgroup: u16, priority: u32, time: &mut u64) {
        let (memory, mut below) = self.split();
        below.shrink_slab(memory, cgroup, priority, time);
    }

    pub(super) fn reclaim_slots(&mut self, page: u32) -> Option<u32> {
        let (memory, mut below) = self.split();
        below.reclaim_slots(memory, page)
    }

    pub(super) fn compactable(&mut self) -> u64 {
        self.split().1.compactable()
    }
}

impl Model {
    /// What must hold between any two accesses.
    pub(super) fn check(&self) {
        let count = |what: &dyn Fn(u32) -> bool| self.memory.pages.numbers().filter(|&page| what(page)).count() as u64;
        let tier = |tier| count(&|page| self.tier(page) == tier);
        let (ram, writing) = (tier(Tier::Ram), tier(Tier::Writing));
        assert_eq!(self.memory.lruvecs.resident() as u64, ram);
        let (charged, used) = self.memory.charged();
        let charged: u64 = charged.into_iter().sum();
        assert_eq!(charged, ram + writing);
        assert!(used >= charged);
        for page in self.memory.pages.numbers() {
            let (state, slot) = (self.memory.pages.state(page), self.memory.pages.slot(page) != NONE);
            assert!(slot || matches!(state.tier(), Tier::Absent | Tier::Ram), "{page}: {state:?}");
            assert!(if slot { state.tier() != Tier::Absent } else { !state.has(CLEAN) }, "{page}: {state:?}");
            assert!(state.has(POOLED) || state.tier() != Tier::Zswap);
        }
        assert_eq!(self.swap.slots.fill().0, count(&|page| self.memory.pages.slot(page) != NONE));
        let stored = count(&|page| self.memory.pages.has(page, POOLED));
        assert_eq!(self.zswap.as_ref().map_or(0, |zswap| zswap.entries.stored_pages), stored);
        let in_zram = count(&|page| self.tier(page) == Tier::Zram && self.memory.pages.entry(page) == NONE);
        assert_eq!(self.pools().bd_count, tier(Tier::WrittenBack));
        assert_eq!(self.swap.zrams.iter().map(|zram| zram.same_pages).sum::<u64>(), in_zram);
    }
}

#[test]
fn what_fits_into_ram_never_leaves_it() {
    let outcome = run(machine(5000), 4000, cycles(4000, 5));
    let Counters { accesses, pswpout, pgscan, .. } = outcome.counters;
    assert_eq!((accesses, pswpout, pgscan), (20_000, 0, 0));
    assert_eq!(outcome.elapsed, 20_000 * 100 + 4000 * 800);
    assert_eq!((outcome.stall, outcome.out_of_memory), (0, None));
}

#[test]
fn without_swap_memory_runs_out_at_the_minimum() {
    let outcome = run(ModelSettings::new(5000), 6000, cycles(6000, 1));
    assert_eq!(outcome.out_of_memory, Some(5000 - Watermarks::of(5000, 10).min));
}

#[test]
fn a_cycle_larger_than_ram_reads_from_the_disk() {
    let outcome = run(machine(2000), 3000, cycles(3000, 4));
    let counters = outcome.counters;
    assert!(counters.pswpin > 3000 && counters.disk_in == counters.pswpin, "{counters:?}");
    assert!(outcome.latency.quantile(0.99).unwrap() >= 80_000);
    assert!(outcome.stall > counters.pswpin * 80_000);
    assert!(counters.pswpout < 4500, "clean pages are not written twice: {}", counters.pswpout);
}

#[test]
fn the_same_cycle_stays_in_zswap() {
    let outcome = run(with_zswap(2000, policy("limit"), 60), 3000, cycles(3000, 4));
    let counters = outcome.counters;
    assert!(counters.zswpin > 3000 && counters.pswpin == 0, "{counters:?}");
    assert!(outcome.latency.quantile(0.99).unwrap() < 40_000);
    assert!(outcome.pool_peak > 300);
}

#[test]
fn zero_pages_reach_the_pool_only_before_6_12() {
    for (kernel, zeros) in [(v(6, 12), true), (v(6, 11), false)] {
        let settings = ModelSettings { kernel, sizes: CompressedSizes::Each(vec![0]), ..with_zswap(2000, policy("limit"), 20) };
        let counters = run(settings, 3000, cycles(3000, 2)).counters;
        assert_eq!((counters.swpout_zero > 0, counters.zswpout == 0), (zeros, zeros), "{kernel:?}");
        assert_eq!(counters.pswpout, 0);
    }
}

#[test]
fn incompressible_pages_are_kept_raw_only_since_6_18_or_by_policy() {
    for (kernel, name, raw) in [(v(6, 17), "limit", false), (v(6, 18), "limit", true), (v(6, 17), "raw", true)] {
        let settings = ModelSettings { kernel, sizes: CompressedSizes::Each(vec![4096]), ..with_zswap(2000, policy(name), 20) };
        let counters = run(settings, 2500, cycles(2500, 1)).counters;
        assert_eq!((counters.zswpout > 0, counters.reject_compress_fail == 0), (raw, raw), "{kernel:?} {name}");
    }
}

#[test]
fn pools_tell_what_they_keep_uncompressed() {
    let sizes = CompressedSizes::Each(vec![0, 1000, 3700, 4096]);
    let settings = ModelSettings { kernel: v(6, 18), sizes: sizes.clone(), ..with_zswap(2000, policy("limit"), 50) };
    let mut model = Model::new(settings, 2400).unwrap();
    cycles(2400, 1).for_each(|event| _ = model.advance(event).unwrap());
    let pools = model.pools();
    assert!(
        pools.incompressible > 50 && pools.incompressible * 3 < pools.stored * 2,
        "one of the three that zswap sees: {pools:?}"
    );
    assert_eq!(pools.same_filled, 0, "zero pages do not reach it");
    let mut model = Model::new(ModelSettings { areas: vec![zram(0, 1000)], sizes, ..machine(2000) }, 2050).unwrap();
    cycles(2050, 1).for_each(|event| _ = model.advance(event).unwrap());
    let pools = model.pools();
    assert!(pools.zram_huge > 50 && pools.zram_same == 0, "3700 bytes are huge to zram: {pools:?}");
}

#[test]
fn a_write_makes_the_copy_in_swap_stale_and_keeps_the_slot() {
    let mut model = Model::new(machine(2000), 3000).unwrap();
    for event in cycles(3000, 2) {
        model.advance(event).unwrap();
    }
    let clean =
        model.memory.pages.numbers().find(|&page| model.tier(page) == Tier::Ram && model.memory.pages.has(page, CLEAN)).unwrap();
    let slot = model.memory.pages.slot(clean);
    for op in [Op::Read, Op::Write] {
        let model = &mut model.clone();
        model.advance(event(clean, op)).unwrap();
        assert_eq!(model.memory.pages.slot(clean), slot, "{op:?}: no fault tells the kernel");
        let (written, tier) = (model.memory.vmstat.pswpout, if op == Op::Write { Tier::Writing } else { Tier::Disk });
        model.memory.lruvecs.remove(&model.memory.pages, clean);
        let mut time = model.clock.now;
        assert!(model.pageout(clean, &mut time));
        assert_eq!((model.tier(clean), model.memory.pages.slot(clean)), (tier, slot), "{op:?}");
        assert_eq!(model.memory.vmstat.pswpout - written, u64::from(op == Op::Write));
    }
    model.end_writes(u64::MAX);
    model.check();
}

/// zram is filled first and never drained: the pages that came first stay there, later ones go to the disk.
#[test]
fn zram_before_a_disk_inverts_the_order() {
    let settings = ModelSettings { areas: vec![zram(10, 500), disk(5, 100_000)], ..machine(2000) };
    let mut model = Model::new(settings, 4000).unwrap();
    for event in cycles(4000, 1) {
        model.advance(event).unwrap();
    }
    model.check();
    let oldest = |tier| model.memory.pages.numbers().find(|&page| model.tier(page) == tier);
    assert_eq!((oldest(Tier::Zram), oldest(Tier::Disk).is_some()), (Some(0), true));
    assert_eq!(model.memory.pages.numbers().filter(|&page| model.tier(page) == Tier::Zram).count(), 500);
    assert!(oldest(Tier::Disk) > Some(499));
}

/// Pages that zswap writes back come into RAM again when the zram behind it takes none: the run must end all the same, and say so.
#[test]
fn pages_that_only_go_round_are_out_of_memory() {
    let full =
        Backing::Zram { codec: CodecCosts::named("lz4").unwrap(), allocator: zsmalloc(), mem_limit: Some(20), upkeep: None };
    let area = AreaSettings { priority: 10, slots: 100_000, backing: full };
    for name in ["shrinker", "limit", "write-back", "proactive"] {
        for cgroups in [vec![None], vec![Some(600)]] {
            let settings =
                ModelSettings { areas: vec![area.clone(), disk(5, 100_000)], cgroups, ..with_zswap(1000, policy(name), 20) };
            let outcome = run(settings, 20_000, cycles(20_000, 1));
            assert!(outcome.out_of_memory.is_some(), "{name}: {outcome:?}");
        }
    }
}

/// A full pool sends page after page to a slow disk, and one fault waits for thousands of writes. They end.
#[test]
fn a_long_queue_of_writes_is_waited_for() {
    let settings = ModelSettings { devices: vec![DeviceTimes::HDD], ..with_zswap(20_000, policy("limit"), 50) };
    let outcome = run(settings, 80_000, cycles(80_000, 1));
    assert_eq!(outcome.out_of_memory, None, "{outcome:?}");
    assert!(outcome.counters.allocstall > 4 * u64::from(machine::HOPELESS), "{outcome:?}");
}

/// zswap in front of the same disk: the pages that came first are those on the disk.
#[test]
fn zswap_before_a_disk_keeps_the_order() {
    let mut model = Model::new(with_zswap(2000, policy("proactive"), 10), 4000).unwrap();
    for event in cycles(4000, 1) {
        model.advance(event).unwrap();
    }
    let mean = |tier| {
        let pages: Vec<u32> = (0..4000).filter(|&page| model.tier(page) == tier).collect();
        pages.iter().sum::<u32>() / pages.len() as u32
    };
    assert!(mean(Tier::Disk) < mean(Tier::Zswap), "{} {}", mean(Tier::Disk), mean(Tier::Zswap));
}

#[test]
fn a_cgroup_stays_below_its_limit_and_others_are_left_alone() {
    let settings = ModelSettings { cgroups: vec![Some(500), None], ..machine(4000) };
    let mut model = Model::new(settings, 3000).unwrap();
    for page in 0..3000 {
        model.advance(Event { cgroup: u16::from(page >= 1500), ..event(page, Op::Write) }).unwrap();
        assert!(model.memory.charged().0[0] <= 500);
    }
    model.check();
    assert_eq!(model.memory.charged().0[1], 1500);
}

#[test]
fn write_through_evicts_for_nothing() {
    let outcome = |name| {
        let mut settings = with_zswap(2000, policy(name), 10);
        settings.zswap.as_mut().unwrap().allocator = Allocator::Zbud;
        run(settings, 4000, cycles(4000, 1)).counters
    };
    let (back, through) = (outcome("write-back"), outcome("write-through"));
    assert!(back.zswpwb > 0 && through.zswpwb == 0);
    assert_eq!(through.pswpout, through.zswpout);
    let zeros = ModelSettings {
        kernel: v(6, 11),
        sizes: CompressedSizes::Each(vec![0]),
        ..with_zswap(2000, policy("write-through"), 10)
    };
    let zeros = run(zeros, 4000, cycles(4000, 1)).counters;
    assert!(zeros.zswpout > 0 && zeros.pswpout == 0, "a page of one value is dropped for nothing anyway");
    assert_eq!(back.pool_limit_hit > 0, through.pool_limit_hit > 0);
    assert_eq!(2 * back.pool_limit_hit, back.zswpwb, "a page of zbud holds two");
}

#[test]
fn the_worker_pauses_for_half_a_second() {
    let settings = with_zswap(2000, policy("interrupted"), 10);
    let mut model = Model::new(settings, 4000).unwrap();
    for event in cycles(4000, 1) {
        model.advance(event).unwrap();
    }
    let rejected = model.memory.vmstat.pool_limit_hit;
    let written = model.memory.vmstat.zswpwb;
    assert!(rejected > 0, "{:?}", model.memory.vmstat);
    model.pause_worker();
    model.wake_worker(model.clock.now);
    for (later, resumes) in [(499_999_999, false), (500_000_001, true)] {
        let mut model = model.clone();
        model.clock.now += later;
        model.run_worker();
        assert_eq!(model.memory.vmstat.zswpwb > written, resumes, "{later}");
    }
}

#[test]
fn who_advances_a_model_learns_when_and_where_it_ended() {
    let mut model = Model::new(ModelSettings::new(1000), 1000).unwrap();
    assert_eq!(model.advance(Event { time: 500, ..event(0, Op::Write) }), Some((500, 500 + 900)));
    assert_eq!(model.advance(event(0, Op::Read)), Some((1400, 1500)), "the next begins when the last is done");
    let last = (1..1000).find(|&page| model.advance(event(page, Op::Write)).is_none());
    assert_eq!(last.map(|page| u64::from(page) + 1), model.outcome.out_of_memory);
}

/// Objects leave holes; reclaim on its way compacts the pools of zswap and of each zram device, and every page can still be had.
#[test]
fn reclaim_compacts_all_pools() {
    for (zswap, areas) in [(true, vec![disk(0, 100_000)]), (false, vec![zram(2, 1000), zram(1, 1000), disk(0, 10_000)])] {
        let settings = with_zswap(2000, policy("limit"), 60);
        let settings = ModelSettings { areas, zswap: settings.zswap.filter(|_| zswap), ..settings };
        let mut model = Model::new(settings, 4000).unwrap();
        cycles(4000, 1).for_each(|event| _ = model.advance(event).unwrap());
        for page in (0..4000).filter(|page| page % 3 != 0) {
            model.advance(event(page, Op::Free)).unwrap();
        }
        let (mut time, freeable) = (model.clock.now, model.compactable());
        let before = model.pools();
        assert!(freeable > 100, "{freeable}");
        model.shrink_slab(0, 0, &mut time);
        let after = model.pools();
        assert_eq!(before.zswap + before.zram - after.zswap - after.zram, freeable);
        assert_eq!((model.memory.vmstat.pages_compacted, model.compactable()), (freeable, 0));
        (0..4000).filter(|page| page % 3 == 0).for_each(|page| _ = model.advance(event(page, Op::Read)).unwrap());
        model.check();
    }
}

#[test]
fn huge_gaps_of_time_cost_nothing() {
    let trace = (0..100).map(|page| Event { time: u64::from(page) * 1_000_000_000, ..event(page, Op::Write) });
    let outcome = run(machine(1000), 100, trace);
    assert_eq!(outcome.elapsed, 99_000_000_000 + 900);
}

/// A zram device with as much upkeep as a kernel has.
fn tended(kernel: KernelVersion) -> Backing {
    let (codec, allocator) = (CodecCosts::named("lz4").unwrap(), zsmalloc());
    let recompress = Recompress { codec, sizes: Second::Share(600), which: Which::Idle, age: 1_000_000, threshold: 0 };
    let writeback = Writeback { device: 0, blocks: 40, which: Which::HugeIdle, age: 2_000_000, limit: None };
    let upkeep = Upkeep { interval: 1_000_000, recompress: Some(recompress), writeback: Some(writeback) };
    let upkeep = behaviours::ZRAM_RECOMPRESSION.is_in(kernel).then(|| Box::new(upkeep));
    Backing::Zram { codec, allocator, mem_limit: None, upkeep }
}

fn settings() -> impl Strategy<Value = ModelSettings> {
    let kernels = prop::sample::select(vec![v(5, 10), v(6, 1), v(6, 6), v(6, 8), v(6, 12), v(6, 18), v(7, 3)]);
    let lru = prop::sample::select(vec![Lru::Exact, Lru::Classic, Lru::Generational]);
    let allocator = prop::sample::select(vec![zsmalloc(), Allocator::Zbud, Allocator::Z3fold]);
    let numbers = (200_u64..600, 1_u64..60, 0_u32..6, any::<u64>(), 0_usize..POLICIES.len());
    (kernels, lru, allocator, numbers, any::<[bool; 4]>()).prop_map(
        |(kernel, lru, allocator, (ram, percent, cluster, seed, policy), on)| {
            let mut settings =
                ModelSettings { kernel, lru, seed, page_cluster: cluster, ..with_zswap(ram, POLICIES[policy], percent) };
            settings.zswap.as_mut().unwrap().allocator = allocator;
            settings.zswap = settings.zswap.filter(|_| on[0]);
            if on[1] {
                settings.areas.insert(0, AreaSettings { backing: tended(kernel), ..zram(7, 60) });
            }
            settings.areas[0].slots = if on[2] { 300 } else { 100_000 };
            if on[3] {
                settings.cgroups = vec![None, Some(90), None];
                settings.devices[0] = DeviceTimes::HDD;
            }
            settings.sizes = CompressedSizes::Drawn(vec![0, 300, 1000, 1500, 2500, 3900, 4096]);
            settings
        },
    )
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 200, ..ProptestConfig::default() })]

    #[test]
    fn every_page_is_in_one_place_and_the_counters_add_up(
        settings in settings(),
        steps in proptest::collection::vec((0_u32..900, 0_u8..20, 0_u64..50_000), 1..3000),
        even_reads in proptest::option::of(0_u64..3_000),
    ) {
        let cgroups = settings.cgroups.len() as u32;
        let mut time = 0;
        let mixed = steps.iter().map(|&(page, kind, gap)| {
            time += gap;
            let op = match kind { 0 => Op::Free, 1..=7 => Op::Write, _ => Op::Read };
            Event { time, page, cgroup: (page % cgroups) as u16, op }
        });
        let reads = |step| steps.iter().zip(0..).map(move |(step_of, index)| Event { time: index * step, ..event(step_of.0, Op::Read) });
        let trace: Vec<Event> = even_reads.map_or_else(|| mixed.collect(), |step| reads(step).collect());
        let mut model = Model::new(settings.clone(), 900).unwrap();
        for (index, &event) in trace.iter().enumerate() {
            let before = model.clock.now;
            if model.advance(event).is_none() {
                break;
            }
            prop_assert!(model.clock.now >= before.max(event.time));
            if index % 64 == 0 {
                model.check();
            }
        }
        model.check();
        let frees = trace.iter().take((model.hits + model.misses) as usize).filter(|event| event.op == Op::Free).count() as u64;
        let outcome = run(settings.clone(), 900, trace.iter().copied());
        let failed = u64::from(outcome.out_of_memory.is_some());
        prop_assert_eq!(outcome.latency.count() + frees + failed, outcome.counters.accesses);
        let mut builder = TraceBuilder::new(KeptColumns::Everything);
        trace.iter().for_each(|&event| builder.push(event).unwrap());
        let whole = builder.finish(None).map(|trace| Model::new(settings, 900).unwrap().run(&trace));
        prop_assert!(whole.is_ok_and(|whole| whole == outcome) || trace.len() < 900, "a trace as a whole is its events one by one");
    }
}
