//! What is asked of a helper process, and what it answers: one line of JSON each.

use serde::{Deserialize, Serialize};
use swaptune_core::Bytes;
use swaptune_core::measurement::{MemoryData, MemoryOrder};

/// How many parts a measurement's time has; each gives a speed of its own.
pub const PARTS: u32 = 5;

/// One pattern of access.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Pattern {
    /// What the pages hold.
    pub data: MemoryData,
    /// In which order they are touched.
    pub order: MemoryOrder,
    /// Write instead of read.
    pub write: bool,
    /// 1: byte by byte. More: blocks of this size, word by word; a multiple of 8.
    pub block: Bytes,
    /// Threads at once.
    pub threads: u32,
}

/// What a helper shall do.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum HelperTask {
    /// Fill memory, say [`MemoryReady`], wait for a line, access it, say [`WorkDone`].
    Access {
        /// The pattern.
        pattern: Pattern,
        /// Size of the memory.
        size: Bytes,
        /// How long to access it, milliseconds.
        millis: u64,
    },
    /// Hold memory that does not compress, say [`MemoryReady`], and keep it until the end of the input.
    Hold {
        /// Size of the memory.
        size: Bytes,
        /// Others go first when memory ends.
        spared: bool,
    },
    /// Fill memory as programs do, say [`MemoryReady`], wake now and then to touch some of it until a line comes or the input ends, and say how
    /// long each wake took (`Option<Quantiles>`).
    Wake {
        /// Size of the memory.
        size: Bytes,
        /// When wakes are due and what they touch is drawn from this number.
        seed: u64,
    },
}

/// The memory is filled.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct MemoryReady {
    /// Speed of the same loop over memory that fits into the first cache, all threads, MB/s; zero for a hog.
    pub ceiling_mb_per_second: f64,
    /// Whether its pages are locked in RAM.
    pub locked: bool,
}

/// The memory was accessed.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct WorkDone {
    /// Bytes that were accessed.
    pub bytes: u64,
    /// Until the last thread had ended, nanoseconds.
    pub nanos: u64,
    /// Speed in each part of the time, MB/s.
    pub parts: Vec<f64>,
}
