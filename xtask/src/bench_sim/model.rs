//! The full model beside the peer's LRU, which has no tiers and no costs.

use std::sync::atomic::{AtomicUsize, Ordering};

use anyhow::{Context, ensure};
use swaptune_tiers::alloc::{Allocator, Rule, Zsmalloc};
use swaptune_tiers::model::{
    AreaSettings, Backing, CodecCosts, CompressedSizes, DeviceTimes, Model, ModelSettings, ModelZswapSettings, Outcome,
};
use swaptune_tiers::trace::Trace;

use super::pairs::Rounds;
use super::timed;

/// What it is called beside the policies of replays.
pub const NAME: &str = "model";

/// How much swap there is. Below half full a page keeps its slot when it comes back, and what is only read is written once; above, each
/// fault gives its slot back and each eviction writes anew, which is three times the work.
const SWAP: [(&str, u32); 2] =
    [("swap never half full: slots stay", 2), ("swap just large enough: more than half full, slots are given back", 1)];

/// zswap with lz4 and zsmalloc in front of a disk that holds everything this many times; RAM is what the peer's memory is.
fn settings(ram: u32, pages: u32, times: u32) -> anyhow::Result<ModelSettings> {
    // Chain length 8, the kernel's default.
    let allocator = Allocator::Zsmalloc(Zsmalloc::new(8, Rule::LeastWaste).context("zsmalloc of chains of 8")?);
    let codec = CodecCosts::named("lz4").context("lz4 is in the table")?;
    let backing = Backing::Disk { device: 0, rotational: false };
    Ok(ModelSettings {
        zswap: Some(ModelZswapSettings::new(codec, allocator)),
        areas: vec![AreaSettings { priority: 0, slots: times * pages, backing }],
        devices: vec![DeviceTimes::NVME],
        page_cluster: 0,
        sizes: CompressedSizes::Drawn((0..256).map(|i| 300 + 11 * i).collect()),
        ..ModelSettings::new(u64::from(ram))
    })
}

/// Major faults of a machine with this many pages of RAM.
pub fn faults(trace: &Trace, ram: u32, times: u32) -> anyhow::Result<u64> {
    let outcome = Model::new(settings(ram, trace.page_count(), times)?, trace.page_count())?.run(trace);
    Ok(outcome.counters.pgmajfault)
}

/// Machines of these sizes, several at a time, with swap that is more than half full: the slower ones.
pub fn batch(trace: &Trace, sizes: &[u32], threads: usize) -> anyhow::Result<Vec<u64>> {
    let next = AtomicUsize::new(0);
    let work = || -> anyhow::Result<Vec<u64>> {
        let mine = std::iter::from_fn(|| sizes.get(next.fetch_add(1, Ordering::Relaxed)));
        mine.map(|&size| faults(trace, size, 1)).collect()
    };
    std::thread::scope(|scope| {
        let others: Vec<_> = (1..threads).map(|_| scope.spawn(work)).collect();
        let mut done = work()?;
        for other in others {
            done.extend(other.join().map_err(|_| anyhow::anyhow!("a thread of the batch panicked"))??);
        }
        Ok(done)
    })
}

/// Prints how many events a second the model does with much and with little swap, and how that is to the peer's LRU as `peer` times it:
/// stock, tuned. `load` reads the file that the peer reads.
pub fn run(
    trace: &Trace,
    ram: u32,
    rounds: usize,
    load: impl Fn() -> anyhow::Result<Trace>,
    mut peer: impl FnMut() -> anyhow::Result<[f64; 2]>,
) -> anyhow::Result<()> {
    let mut times = Rounds::new(["much swap", "little swap", "much swap and the peer's file", "stock", "tuned"]);
    let mut last = [None, None];
    for _ in 0..rounds {
        let mut seconds = [0.0; 2];
        for (index, (_, amount)) in SWAP.into_iter().enumerate() {
            let model = Model::new(settings(ram, trace.page_count(), amount)?, trace.page_count())?;
            let outcome: Outcome;
            (seconds[index], outcome) = timed(|| model.run(trace));
            ensure!(outcome.counters.accesses == trace.len() as u64, "the model ended early: {outcome:?}");
            last[index] = Some(outcome.counters);
        }
        let (end_to_end, faulted) = timed(|| load().and_then(|trace| faults(&trace, ram, SWAP[0].1)));
        ensure!(
            last[0].is_some_and(|counters| Some(counters.pgmajfault) == faulted.ok()),
            "another trace came out of the peer's file"
        );
        let [stock, tuned] = peer()?;
        times.add([seconds[0], seconds[1], end_to_end, stock, tuned]);
    }
    println!("  full model: RAM, zswap (lz4, zsmalloc), disk; the peer replays LRU only");
    println!("    Mev/s: {}", times.rates(trace.len() as f64 / 1e6));
    for (index, (what, _)) in SWAP.into_iter().enumerate() {
        let counters = last[index].context("at least one round")?;
        println!("    {what}");
        println!(
            "      {} pages out to zswap, {} in from it, {} written back, {} out to the disk, {} in from it",
            counters.zswpout, counters.zswpin, counters.zswpwb, counters.disk_out, counters.disk_in
        );
        println!("      to stock peer: {}; to tuned peer: {}", times.ratio(3, index), times.ratio(4, index));
    }
    println!(
        "    end to end, both from the same file, much swap: {} to stock, {} to tuned",
        times.ratio(3, 2),
        times.ratio(4, 2)
    );
    Ok(())
}
