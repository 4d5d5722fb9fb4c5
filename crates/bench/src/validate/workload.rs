//! THE table of workloads: sequences of accesses that are played on the kernel and in the simulator.

use swaptune_tiers::generate::{GenerateError, generate};
use swaptune_tiers::trace::Trace;

/// A workload.
#[derive(Clone, Copy, Debug)]
pub struct Workload {
    /// What it is called on the command line.
    pub name: &'static str,
    /// What it does, in one sentence.
    pub about: &'static str,
    /// Its generator and parameters, for so many pages of RAM.
    spec: fn(u64) -> String,
    /// Whether it is as large as it must be to fill a pool of 1 % of RAM.
    pub fills_pool: bool,
}

/// THE table. Pages compress to a third in the mean, 3 % are same-filled and 5 % do not compress, unless a row says otherwise.
pub const WORKLOADS: [Workload; 6] = [
    Workload {
        name: "sequential",
        about: "writes twice as many pages as there are in RAM, in order, and reads them all twice",
        spec: |ram| format!("hold:pages={},reads=2", ram * 2),
        fills_pool: false,
    },
    Workload {
        name: "zipf",
        about: "fills twice the RAM, then reads (70 %) and writes pages by Zipf's law",
        spec: |ram| format!("heap:ram={ram},percent=200,events={},theta=0.9,write=0.3,collections=0", ram * 10),
        fills_pool: false,
    },
    Workload {
        name: "idle",
        about: "sixteen applications, twice the RAM together, that wake in turn and touch a third of their pages",
        spec: |ram| format!("idle:apps=16,pages={},seconds=400,wake=40,touch=0.3", ram / 8),
        fills_pool: false,
    },
    Workload {
        name: "poor",
        about: "writes one and a half times the RAM, half of it incompressible, and reads it once",
        spec: |ram| format!("hold:pages={},reads=1,poor=0.5,same=0", ram * 3 / 2),
        fills_pool: false,
    },
    Workload {
        name: "same",
        about: "as sequential, four of ten pages same-filled",
        spec: |ram| format!("hold:pages={},reads=1,same=0.4", ram * 2),
        fills_pool: false,
    },
    Workload {
        name: "full",
        about: "fills a pool of 1 % of RAM by half more than it holds with pages that compress little, and reads them once",
        spec: |ram| format!("hold:pages={ram},reads=1,same=0,poor=0.05,size=2700"),
        fills_pool: true,
    },
];

impl Workload {
    /// Whether it is played when none is named: what fills a pool takes as long as all others together.
    #[must_use]
    pub const fn is_quick(&self) -> bool {
        !self.fills_pool
    }

    /// The one of this name.
    #[must_use]
    pub fn named(name: &str) -> Option<&'static Self> {
        static TABLE: [Workload; 6] = WORKLOADS;
        TABLE.iter().find(|workload| workload.name == name)
    }

    /// Its accesses when there are so many pages of RAM, and a pool of 1 % holds so many pages of RAM.
    ///
    /// # Errors
    /// [`GenerateError`] when it gets too long.
    pub fn trace(&self, ram: u64, pool: u64, seed: u64) -> Result<Trace, GenerateError> {
        // 2700 of 4096 bytes: the pages of a pool hold one and a half times as many.
        let pages = if self.fills_pool { ram + pool * 9 / 4 } else { ram };
        generate(&format!("{},seed={seed}", (self.spec)(pages)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn workloads_are_larger_than_ram_and_give_nothing_back() {
        for workload in WORKLOADS {
            let trace = workload.trace(2048, 1000, 1).unwrap();
            assert!(u64::from(trace.page_count()) >= 2048 * 3 / 2, "{}", workload.name);
            assert!(trace.frees().is_none() && trace.sizes().len() == trace.page_count() as usize, "{}", workload.name);
            assert_eq!(Workload::named(workload.name).map(|found| found.about), Some(workload.about));
        }
        assert!(Workload::named("full").unwrap().trace(2048, 100_000, 1).unwrap().page_count() > 220_000);
    }
}
