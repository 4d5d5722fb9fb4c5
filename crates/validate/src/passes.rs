//! What things take on this machine, for the simulator's clock: short sequences of their own, played like the workloads and between them.
//! Each leaves the simulator one time that it does not know, and the one with which it takes as long as the kernel did is it.
//!
//! They are spread over all rounds because a machine is faster or slower for minutes, all sequences alike, and a few plays in a row tell
//! only of their own moment. The figures of the kernel are medians over the same minutes.
//!
//! Unmapping, codecs and the disk are measured as reclaim in a group uses them, in the group, on the swap file's disk, with pages
//! of the same mix. No workload has a part in it.

use swaptune_core::stats::Nanos;
use swaptune_tiers::generate::generate;
use swaptune_tiers::model::{CodecCosts, Costs, ModelSettings};

use crate::bench::ValidationBench;
use crate::content::{self, PAGE};
use crate::player::Script;
use crate::sequence::{ContentSizes, Sequence};
use crate::tiering::{KernelTiering, PoolKind};
use crate::times::{MachineTimes, MeasuredTime};
use crate::worker::Worked;
use crate::{ValidateError, model};
use swaptune_bench::codecs::Rates;

/// Each sequence is played so often, all in turn, and the median counts. Of twenty plays in a row the middle half was 3 to 20 % wide, and
/// now and then one of the disk took three times as long; the median of nine leaves that out, and of five it sometimes did not.
const PASSES: usize = 9;
/// Passes from one look at zswap's worker to the next, the first pass included: it takes longer than all the others.
const WORKER: usize = 4;
/// Longest time of one page that is looked for, nanoseconds.
const LONGEST: u64 = 1 << 24;

/// How a sequence accesses its pages.
#[derive(Clone, Copy, Debug)]
enum Order {
    /// Half of RAM is filled.
    Fill,
    /// Four times as much as RAM is filled, so that most leave it.
    Overfill,
    /// Half more than RAM is filled and then read at random.
    Read,
}

impl Order {
    fn spec(self, ram: u64) -> String {
        match self {
            Self::Fill => format!("hold:pages={},reads=0", ram / 2),
            Self::Overfill => format!("hold:pages={},reads=0", ram * 4),
            Self::Read => format!("heap:ram={ram},percent=150,events={},theta=0,write=0,collections=0", ram * 6),
        }
    }
}

/// A sequence and the time that follows from it.
struct ProbeSequence {
    what: String,
    order: Order,
    /// Pages of zeros only, which no codec sees and no disk.
    zeros: bool,
    pool: Option<PoolKind>,
    set: Set,
}

/// Puts a number of nanoseconds in its place; the name is the compressor's.
type Set = fn(&mut MachineTimes, Option<&str>, u64);

impl ProbeSequence {
    fn compressor(&self) -> Option<&str> {
        self.pool.as_ref().map(|pool| pool.compressor.as_str())
    }
}

/// What is measured, in an order in which each leaves one unknown.
fn probes(pools: &[PoolKind]) -> Vec<ProbeSequence> {
    let probe = |what: &str, order, zeros: bool, pool: Option<&PoolKind>, set: Set| {
        let what = pool.filter(|_| !zeros).map_or_else(|| what.to_owned(), |pool| format!("{} {what}", pool.compressor));
        ProbeSequence { what, order, zeros, pool: pool.cloned(), set }
    };
    let mut probes = vec![probe("first touch", Order::Fill, false, None, |times, _, nanos| times.costs.allocate = nanos)];
    if let Some(first) = pools.first() {
        probes.push(probe("out and back without a codec", Order::Read, true, Some(first), |times, _, nanos| {
            let Costs { swap_out, swap_in, .. } = Costs::default();
            (times.costs.swap_out, times.costs.swap_in) = split(nanos, swap_out, swap_in);
        }));
    }
    for pool in pools {
        probes.push(probe("out and back", Order::Read, false, Some(pool), |times, name, nanos| {
            let Some(CodecCosts { name, compress, decompress }) = name.and_then(CodecCosts::named) else { return };
            let (compress, decompress) = split(nanos, compress, decompress);
            times.codecs.insert(name.to_owned(), CodecCosts { name, compress, decompress });
        }));
    }
    probes.push(probe("disk, page", Order::Overfill, false, None, |times, _, nanos| times.device().page = nanos));
    probes.push(probe("disk, read", Order::Read, false, None, |times, _, nanos| times.device().read_latency = nanos));
    probes
}

/// Parts a time as two usual ones are to each other: pages come back about as often as they leave, so that the sum is what is seen.
const fn split(nanos: u64, one: u64, other: u64) -> (u64, u64) {
    let first = nanos * one / (one + other);
    (first, nanos - first)
}

/// A probe and what it showed.
struct PlayedProbe {
    probe: ProbeSequence,
    sequence: Sequence,
    nanos: Vec<f64>,
    /// The machine that it ran on, as the simulator has it.
    machine: Option<ModelSettings>,
}

/// All probes; in a pass each is played once.
pub(super) struct Passes {
    all: Vec<PlayedProbe>,
    done: usize,
    /// With which pool zswap's worker is looked at; none where no workload fills one.
    pool: Option<PoolKind>,
    workers: Vec<Worked>,
}

impl Passes {
    /// Whether one is due after `cases` of `of`: passes are spread evenly, the first before any case.
    const fn is_due(&self, cases: usize, of: usize) -> bool {
        self.done < PASSES && self.done * of <= cases * PASSES
    }
}

impl ValidationBench<'_> {
    /// What is to be measured with these pools, and with that which fills.
    pub(super) fn passes(&self, pools: &[PoolKind], pool: Option<PoolKind>) -> Result<Passes, ValidateError> {
        let all = probes(pools).into_iter().map(|probe| self.prepared(probe)).collect::<Result<_, _>>()?;
        Ok(Passes { all, done: 0, pool, workers: Vec::new() })
    }

    /// Plays the passes that are due now. One that is stopped does not count.
    pub(super) fn measure(
        &mut self,
        passes: &mut Passes,
        (cases, of): (usize, usize),
        show: &mut dyn FnMut(&str, usize, usize),
    ) -> Result<(), ValidateError> {
        while passes.is_due(cases, of) {
            for played in &mut passes.all {
                show(&format!("measuring: {}", played.probe.what), cases, of);
                match self.again(played) {
                    Err(ValidateError::Player(_)) if self.stop.is_asked() => {}
                    played => played?,
                }
                if self.stop.is_asked() {
                    passes.all.iter_mut().for_each(|played| played.nanos.truncate(passes.done));
                    return Ok(());
                }
            }
            if let Some(pool) = passes.pool.as_ref().filter(|_| passes.done % WORKER == 0) {
                show("measuring: zswap's worker", cases, of);
                match self.worker(pool) {
                    Err(ValidateError::Player(_)) if self.stop.is_asked() => {}
                    worked => passes.workers.extend(worked?),
                }
            }
            passes.done += 1;
        }
        Ok(())
    }

    /// What a page takes with each of these pools and on the disk, by what was seen; usual figures if not one pass was whole.
    pub(super) fn times(&self, passes: &Passes, sizes: &ContentSizes) -> Result<MachineTimes, ValidateError> {
        let mut times = MachineTimes::default();
        let played = if passes.done == 0 { &[] } else { &passes.all[..] };
        for played in played {
            let nanos = self.unknown(played, sizes, &times)?;
            (played.probe.set)(&mut times, played.probe.compressor(), nanos);
            times.told.push(MeasuredTime { what: played.probe.what.clone(), time: Nanos(nanos) });
        }
        times.learn_of(&passes.workers);
        Ok(times)
    }

    fn prepared(&self, probe: ProbeSequence) -> Result<PlayedProbe, ValidateError> {
        let trace = generate(&format!("{},seed={}", probe.order.spec(self.options.limit.0 / PAGE as u64), self.options.seed))?;
        let suiting = |(page, size): (u32, &u16)| if probe.zeros { content::ZERO } else { content::suiting(page, *size) };
        let contents = (0..).zip(trace.sizes()).map(suiting).collect();
        let sequence = Sequence { script: Script::new(&trace, None, contents), trace };
        Ok(PlayedProbe { probe, sequence, nanos: Vec::new(), machine: None })
    }

    /// Plays it once more.
    fn again(&mut self, played: &mut PlayedProbe) -> Result<(), ValidateError> {
        let tiering = KernelTiering { pool: played.probe.pool.clone(), ..KernelTiering::plain() };
        let mark = self.temporary.mark()?;
        let seen = self.play(&tiering, &played.sequence);
        self.temporary.back_to(mark)?;
        let (seen, machine, _) = seen?;
        played.nanos.extend(seen.nanos.map(|nanos| nanos as f64));
        played.machine = Some(machine);
        Ok(())
    }

    /// The time that a probe is about, when all others are known.
    fn unknown(&self, played: &PlayedProbe, sizes: &ContentSizes, times: &MachineTimes) -> Result<u64, ValidateError> {
        let Some(machine) = &played.machine else { return Ok(0) };
        let each = played.sequence.sizes(sizes, played.probe.pool.as_ref());
        let takes = |nanos: u64| -> Result<f64, ValidateError> {
            let (mut times, mut machine) = (times.clone(), machine.clone());
            (played.probe.set)(&mut times, played.probe.compressor(), nanos);
            times.put(&mut machine);
            let simulated = model::run(&machine, &played.sequence, each.clone(), self.options.seed, None)?;
            Ok(simulated.outcome.elapsed as f64)
        };
        fitting(LONGEST, Rates::median(&played.nanos), takes)
    }
}

/// Elapsed grows with every time, so that the one that fits is found by halves: the largest number below `end` of which `takes` makes no more
/// than `wanted`, or no more than without it. For a disk may be so fast that no process waits for it: then it is as slow as that allows, also
/// where all the rest took a little less than in the other sequences.
fn fitting<E>(end: u64, wanted: f64, takes: impl Fn(u64) -> Result<f64, E>) -> Result<u64, E> {
    let wanted = wanted.max(takes(0)?);
    let (mut low, mut high) = (0, end);
    while high - low > 1 {
        let middle = low.midpoint(high);
        if takes(middle)? <= wanted {
            low = middle;
        } else {
            high = middle;
        }
    }
    Ok(low)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_time_that_fits_is_found() {
        let takes = |nanos: u64| Ok::<f64, ()>(1000.0 + 20.0 * nanos as f64);
        assert_eq!(fitting(LONGEST, 1000.0 + 20.0 * 777.0, takes), Ok(777));
        assert_eq!(fitting(LONGEST, 10.0, takes), Ok(0), "the rest takes longer already");
        assert_eq!(fitting(100, 1e9, takes), Ok(99));
        let beside = |nanos: u64| Ok::<f64, ()>((20.0 * nanos as f64).max(1000.0));
        assert_eq!([990.0, 1000.0, 1100.0].map(|wanted| fitting(100, wanted, beside)), [Ok(50), Ok(50), Ok(55)]);
    }

    #[test]
    fn passes_are_spread_over_all_cases() {
        let before = |of: usize| -> Vec<usize> {
            let mut passes = Passes { all: Vec::new(), done: 0, pool: None, workers: Vec::new() };
            let mut at = Vec::new();
            for cases in 0..=of {
                while passes.is_due(cases, of) {
                    passes.done += 1;
                    at.push(cases);
                }
            }
            at
        };
        assert_eq!(before(18), [0, 2, 4, 6, 8, 10, 12, 14, 16]);
        assert_eq!(before(4), [0, 1, 1, 2, 2, 3, 3, 4, 4], "the last are due after the last case");
        assert_eq!(before(100).len(), PASSES);
    }

    #[test]
    fn each_probe_has_one_unknown_and_what_it_needs_is_measured_before() {
        let pool = |name: &str| PoolKind { compressor: name.into(), zpool: None };
        let found = probes(&[pool("lzo"), pool("zstd")]);
        let names: Vec<&str> = found.iter().map(|probe| probe.what.as_str()).collect();
        let expected =
            ["first touch", "out and back without a codec", "lzo out and back", "zstd out and back", "disk, page", "disk, read"];
        assert_eq!(names, expected);
        let mut times = MachineTimes::default();
        for (number, probe) in found.iter().enumerate() {
            (probe.set)(&mut times, probe.compressor(), 1000 + number as u64);
        }
        let Costs { allocate, swap_out, swap_in, .. } = times.costs;
        assert_eq!((allocate, swap_out + swap_in), (1000, 1001));
        assert!(swap_out > swap_in, "as it usually is");
        let codec = |name: &str| times.codecs.get(name).map(|codec| codec.compress + codec.decompress);
        assert_eq!((codec("lzo"), codec("zstd")), (Some(1002), Some(1003)));
        assert_eq!(times.device.map(|device| (device.page, device.read_latency)), Some((1004, 1005)));
        assert_eq!(probes(&[]).len(), 3, "without zswap: first touch and the disk");
    }
}
