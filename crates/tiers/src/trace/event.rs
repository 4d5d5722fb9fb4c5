//! One access.

use serde::{Deserialize, Serialize};

/// What is done to a page.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
#[repr(u8)]
pub enum Op {
    /// It is read.
    #[default]
    Read,
    /// It is written: what swap holds of it is stale. The first access to a page is an allocation, whatever it is called.
    Write,
    /// It is given back: process gone, memory unmapped. The next access allocates it again.
    Free,
}

impl Op {
    /// How it is written.
    pub(super) fn word(self) -> &'static str {
        match self {
            Self::Read => "read",
            Self::Write => "write",
            Self::Free => "free",
        }
    }

    /// The operation that a word names, in any case; traces of block devices and of libCacheSim have their own words.
    pub(super) fn named(word: &[u8]) -> Option<Self> {
        const WORDS: [(&str, Op); 12] = [
            ("read", Op::Read),
            ("write", Op::Write),
            ("free", Op::Free),
            ("r", Op::Read),
            ("w", Op::Write),
            ("f", Op::Free),
            ("get", Op::Read),
            ("set", Op::Write),
            ("delete", Op::Free),
            ("load", Op::Read),
            ("store", Op::Write),
            ("discard", Op::Free),
        ];
        WORDS.iter().find(|(known, _)| word.eq_ignore_ascii_case(known.as_bytes())).map(|&(_, op)| op)
    }
}

/// An access to one page at one moment.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct Event {
    /// Nanoseconds since the start of the trace at which the access is wanted; it happens later if the one before had to wait.
    pub time: u64,
    /// Dense number of the page, 0 to the number of pages − 1.
    pub page: u32,
    /// Number of the memory cgroup or application that does it, dense from 0.
    pub cgroup: u16,
    /// What it does.
    pub op: Op,
}
