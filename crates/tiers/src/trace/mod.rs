//! Traces: sequences of accesses to pages.

mod event;

pub use event::{Event, Op};
