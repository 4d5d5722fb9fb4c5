//! The ground: what Linux does, since when and until when, and what the rooms above share to say it.
//!
//! [`behaviours`] is THE table of kernel behaviours. No other crate compares versions: it asks a row.
#![forbid(unsafe_code)]

pub mod behaviours;
mod nearest;
mod version;

pub use behaviours::Behaviour;
pub use nearest::nearest;
pub use version::{KernelVersion, v};
