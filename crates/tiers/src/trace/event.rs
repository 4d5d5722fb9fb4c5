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
