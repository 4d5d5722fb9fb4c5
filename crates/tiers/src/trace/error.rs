//! What can be wrong with a trace.

use std::fmt;
use std::io;

/// Where in its source something was found.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TracePlace {
    /// A line of text, from 1.
    Line(u64),
    /// A record of a fixed size, from 1.
    Record(u64),
    /// A block of swaptune's own format, from 1.
    Block(u64),
    /// The start of the file.
    Header,
    /// The trace as a whole.
    Whole,
}

impl fmt::Display for TracePlace {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Line(number) => write!(f, "line {number}"),
            Self::Record(number) => write!(f, "record {number}"),
            Self::Block(number) => write!(f, "block {number}"),
            Self::Header => write!(f, "header"),
            Self::Whole => write!(f, "trace"),
        }
    }
}

/// Why a trace cannot be had.
#[derive(Debug, thiserror::Error)]
pub enum TraceError {
    /// Its content is not what its format asks for.
    #[error("{place}: found {found}, expected {expected}")]
    Malformed {
        /// Line, block or byte of the source.
        place: TracePlace,
        /// What stands there.
        found: String,
        /// What should.
        expected: String,
    },
    /// It is packed in a way that is not unpacked here.
    #[error("found a file packed by {by}, expected plain bytes or zstd: unpack it with {unpack}")]
    Packed {
        /// What packed it.
        by: &'static str,
        /// The program that unpacks it to standard output.
        unpack: &'static str,
    },
    /// It has more events than it may have.
    #[error("trace: found more events, expected at most {most}; cut it into parts")]
    TooLong {
        /// How many it may have.
        most: u64,
    },
    /// The source failed.
    #[error("{place}: {source}")]
    Read {
        /// How far reading had come.
        place: TracePlace,
        /// What failed.
        source: io::Error,
    },
}

impl TraceError {
    /// Something at `place` that is not what was expected there.
    pub fn malformed(place: TracePlace, found: impl fmt::Display, expected: impl fmt::Display) -> Self {
        Self::Malformed { place, found: found.to_string(), expected: expected.to_string() }
    }
}

/// Most events that a trace may have: positions, with one value to spare, are 32 bits wide.
pub const EVENTS_MAX: u64 = u32::MAX as u64 - 1;

/// The error for a trace of more events than it may have.
pub(crate) const fn too_long(most: u64) -> TraceError {
    TraceError::TooLong { most }
}
