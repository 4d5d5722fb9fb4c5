//! THE table of workloads: sequences of accesses that are played on the kernel and in the simulator.

use serde::{Deserialize, Serialize};
use swaptune_tiers::generate::{GenerateError, generate};
use swaptune_tiers::trace::{Event, KeptColumns, Op, Trace, TraceBuilder};

use crate::content;

/// Where its accesses come from.
#[derive(Clone, Copy, Debug)]
enum AccessSource {
    /// A generator and parameters, for this many pages of RAM.
    Generator(fn(u64) -> String),
    /// [`paced`].
    Paced,
}

/// From an access on, a pause before every n-th of them.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Pauses {
    /// The first access after a pause.
    pub from: usize,
    /// Accesses from one to the next.
    pub every: usize,
    /// How long each is, nanoseconds.
    pub nanos: u64,
}

impl Pauses {
    /// Whether there is one before this access.
    pub const fn is_before(&self, access: usize) -> bool {
        access >= self.from && (access - self.from) % self.every == 0
    }
}

/// A workload.
#[derive(Clone, Copy, Debug)]
pub struct PlayedWorkload {
    /// What it is called on the command line.
    pub name: &'static str,
    /// What it does, in one sentence.
    pub about: &'static str,
    source: AccessSource,
    /// Whether it is as large as it must be to fill a pool of 1 % of RAM.
    pub fills_pool: bool,
}

/// THE table. Pages compress to a third in the mean, 3 % are same-filled and 5 % do not compress, unless a row says otherwise.
pub const WORKLOADS: [PlayedWorkload; 7] = [
    PlayedWorkload {
        name: "sequential",
        about: "writes twice as many pages as there are in RAM, in order, and reads them all twice",
        source: AccessSource::Generator(|ram| format!("hold:pages={},reads=2", ram * 2)),
        fills_pool: false,
    },
    PlayedWorkload {
        name: "zipf",
        about: "fills twice the RAM, then reads (70 %) and writes pages by Zipf's law",
        source: AccessSource::Generator(|ram| {
            format!("heap:ram={ram},percent=200,events={},theta=0.9,write=0.3,collections=0", ram * 10)
        }),
        fills_pool: false,
    },
    PlayedWorkload {
        name: "idle",
        about: "sixteen applications, twice the RAM together, that wake in turn and touch a third of their pages",
        source: AccessSource::Generator(|ram| format!("idle:apps=16,pages={},seconds=400,wake=40,touch=0.3", ram / 8)),
        fills_pool: false,
    },
    PlayedWorkload {
        name: "poor",
        about: "writes one and a half times the RAM, half of it incompressible, and reads it once",
        source: AccessSource::Generator(|ram| format!("hold:pages={},reads=1,poor=0.5,same=0", ram * 3 / 2)),
        fills_pool: false,
    },
    PlayedWorkload {
        name: "same",
        about: "as sequential, four of ten pages same-filled",
        source: AccessSource::Generator(|ram| format!("hold:pages={},reads=1,same=0.4", ram * 2)),
        fills_pool: false,
    },
    PlayedWorkload {
        name: "full",
        about: "writes four times what a pool of 1 % of RAM holds, pages that compress little, and reads them once",
        source: AccessSource::Generator(|ram| format!("hold:pages={ram},reads=1,same=0,poor=0.05,size=2700")),
        fills_pool: true,
    },
    PlayedWorkload {
        name: "paced",
        about: "fills a pool of 1 % of RAM, then goes on by a page at a time with pauses, so that zswap's worker ends before the next store",
        source: AccessSource::Paced,
        fills_pool: true,
    },
];

/// Pages of zeros between two others: more than reclaim takes at a time, so that it finds one page to store or none.
const ZEROS: u64 = 64;
/// A worker that writes nothing back ends within a twentieth of this; one that drains the pool takes a hundred such pauses.
const PAUSE: u64 = 1_000_000;
/// What of a page is left by a codec: so much that the allocator gives it a page, and that a pool has as many pages as entries.
const LARGE: u16 = 3_900;

/// Fills a pool that holds this many pages and goes on by one page at a time. RAM is kept full by pages of zeros, which are remembered
/// by the swap map and touch no pool: one after the other is read, so that reclaim takes mostly such, and what it stores comes alone.
///
/// The shares are such that a pool at its limit is walked through once, 16 entries for each store that is refused, is drained to 90 %
/// then and two times after, and that the end lies halfway to the next time.
fn paced(ram: u64, pool: u64) -> Result<(Trace, Pauses), GenerateError> {
    let (zeros, filled, portions) = (2 * ram, pool * 97 / 100, pool * 34 / 100);
    let mut builder = TraceBuilder::new(KeptColumns::Everything);
    let mut access = |page: u64, op| builder.push(Event { time: 0, page: page as u32, cgroup: 0, op });
    (0..zeros + filled).try_for_each(|page| access(page, Op::Write))?;
    for portion in 0..portions {
        access(zeros + filled + portion, Op::Write)?;
        (portion * ZEROS..(portion + 1) * ZEROS).try_for_each(|number| access(number % zeros, Op::Read))?;
    }
    let pauses = Pauses { from: (zeros + filled) as usize, every: 1 + ZEROS as usize, nanos: PAUSE };
    let pages = zeros + filled + portions;
    builder.sizes((0..pages).map(|page| if page < zeros { 0 } else { LARGE }).collect());
    Ok((builder.finish(Some(pages as u32))?, pauses))
}

impl PlayedWorkload {
    /// Whether it is played when none is named: what fills a pool takes as long as all others together.
    #[must_use]
    pub const fn is_quick(&self) -> bool {
        !self.fills_pool
    }

    /// The one of this name.
    #[must_use]
    pub fn named(name: &str) -> Option<&'static Self> {
        static TABLE: [PlayedWorkload; WORKLOADS.len()] = WORKLOADS;
        TABLE.iter().find(|workload| workload.name == name)
    }

    /// Its accesses with this many pages of RAM, and as many in a pool of 1 %; and where it pauses.
    ///
    /// # Errors
    /// [`GenerateError`] when it gets too long.
    pub(super) fn trace(&self, ram: u64, pool: u64, seed: u64) -> Result<(Trace, Option<Pauses>), GenerateError> {
        match self.source {
            AccessSource::Generator(spec) => {
                // 2700 of 4096 bytes: the pages of a pool hold one and a half times as many. The first walk through them, which drains
                // nothing, may take as many stores as fill the pool, and what follows must be many drains of a tenth.
                let pages = if self.fills_pool { ram + pool * 6 } else { ram };
                Ok((generate(&format!("{},seed={seed}", spec(pages)))?, None))
            }
            AccessSource::Paced => paced(ram, pool).map(|(trace, pauses)| (trace, Some(pauses))),
        }
    }

    /// The content of a page that is said to compress to this many bytes; same-filled ones of [`paced`] are all zeros.
    pub(super) fn content(&self, page: u32, size: u16) -> u16 {
        content::suiting(if matches!(self.source, AccessSource::Paced) { page & !1 } else { page }, size)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn workloads_are_larger_than_ram_and_give_nothing_back() {
        for workload in WORKLOADS {
            let (trace, pauses) = workload.trace(2048, 1000, 1).unwrap();
            assert_eq!(pauses.is_some(), workload.name == "paced");
            assert!(u64::from(trace.page_count()) >= 2048 * 3 / 2, "{}", workload.name);
            assert!(trace.frees().is_none() && trace.sizes().len() == trace.page_count() as usize, "{}", workload.name);
            assert_eq!(PlayedWorkload::named(workload.name).map(|found| found.about), Some(workload.about));
        }
        assert!(PlayedWorkload::named("full").unwrap().trace(2048, 100_000, 1).unwrap().0.page_count() > 600_000);
    }

    #[test]
    fn a_page_to_store_comes_after_each_pause_and_zeros_until_the_next() {
        let paced = PlayedWorkload::named("paced").unwrap();
        let (trace, pauses) = paced.trace(100, 1000, 1).unwrap();
        let pauses = pauses.unwrap();
        assert_eq!((pauses.from, trace.len(), trace.page_count()), (200 + 970, 1170 + 340 * 65, 1170 + 340));
        let mut stored = 0;
        for (index, event) in trace.iter().enumerate().skip(pauses.from) {
            let zeros = paced.content(event.page, trace.sizes()[event.page as usize]) == content::ZERO;
            assert_eq!((zeros, event.op == Op::Read), (!pauses.is_before(index), !pauses.is_before(index)), "{index}");
            stored += u32::from(!zeros);
        }
        assert_eq!(stored, 340);
        assert!(!pauses.is_before(pauses.from - 65) && !pauses.is_before(0));
    }
}
