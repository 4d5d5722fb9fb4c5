//! Proof: what pages of known content say about the swap of this machine.
//!
//! The host room pushes canary pages out, reads them back, and notes what it saw ([`Observation`]). [`judge()`] says what
//! that means: where pages landed and whether they should have, how well and how fast, what happens to pages that do
//! not compress, whether the counters moved as this kernel documents, and whether every byte came back. Each verdict
//! names the counters and figures that it rests on.

mod behaviour;
mod checks;
mod judge;
mod landing;
mod observation;
mod problems;
#[cfg(test)]
mod tests;

use serde::{Deserialize, Serialize};

pub use crate::canary::{CanaryClass, Corruption};
pub use behaviour::{ActiveArea, Destination, SwapBehaviour};
pub use checks::{CounterCheck, Phase};
pub use judge::judge;
pub use landing::Landing;
pub use observation::{CgroupLimits, ClassObservation, Impossible, Observation, Snapshot};
pub use problems::Problem;

use crate::memory_map::Ratio;
use crate::stats::{Nanos, Quantiles};
use crate::units::Bytes;

/// The verdict in one word.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Verdict {
    /// Pages went where they should and every byte came back.
    Proved,
    /// Pages went elsewhere; every byte came back.
    NotAsPlanned,
    /// A byte came back wrong, or a page not at all. Nothing else matters.
    Corrupt,
    /// Others swapped so much meanwhile that the counters prove nothing, or too many pages were not read back from where they had gone.
    Undecided,
    /// No page could be pushed out.
    Impossible,
}

/// What became of one class.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ClassProof {
    /// What was in the pages.
    pub class: CanaryClass,
    /// How many.
    pub pages: u64,
    /// Where they should go.
    pub expected: Destination,
    /// Why there.
    pub because: String,
    /// Where they went, fullest place first.
    pub landed: Vec<Landing>,
    /// Slots by area, as far as page table entries could be read.
    pub areas: Vec<(String, u64)>,
    /// Nearly all of them went where they should.
    pub as_planned: bool,
    /// Time to push a page out, overhead taken off.
    pub store: Option<Quantiles>,
    /// Time to get a page back, overhead taken off.
    pub load: Option<Quantiles>,
    /// Where it went, as a sentence with the counters that say so.
    pub text: String,
}

/// What the kernel does with pages that do not compress.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum IncompressiblePages {
    /// zswap keeps them as they are.
    StoredRaw,
    /// zram keeps them as they are.
    StoredInZram,
    /// They go to the disk.
    WrittenToDisk,
    /// They stay in RAM.
    KeptInRam,
}

/// The outcome.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Proof {
    /// In one word.
    pub verdict: Verdict,
    /// In one sentence.
    pub summary: String,
    /// Set when the verdict is [`Verdict::Impossible`]: why, and what to do.
    pub impossible: Option<Impossible>,
    /// Class by class.
    pub classes: Vec<ClassProof>,
    /// Compression of the text canary, allocator overhead included. It says that the compressor works; how well *your*
    /// pages compress is in `status`.
    pub ratio: Option<Ratio>,
    /// What happened to pages that do not compress.
    pub incompressible: Option<IncompressiblePages>,
    /// Every counter that was compared.
    pub checks: Vec<CounterCheck>,
    /// All of them moved as this kernel documents.
    pub documented: bool,
    /// Bytes that were compared after they came back from where they had gone; copies that were still in RAM do not count.
    pub bytes_checked: Bytes,
    /// What is wrong, worst first.
    pub problems: Vec<Problem>,
    /// What could not be seen, and what disturbed the measurement.
    pub notes: Vec<String>,
    /// What each store latency had taken off: the median cost of the same call when there is nothing to do.
    pub overhead_store: Nanos,
    /// What each load latency had taken off.
    pub overhead_load: Nanos,
    /// How long it took.
    pub elapsed: Nanos,
}
