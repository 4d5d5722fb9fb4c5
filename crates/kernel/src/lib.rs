//! The ground: what Linux does, since when and until when, and what the rooms above share to say it.
//!
//! [`behaviours`] is THE table of kernel behaviours. No other crate compares versions: it asks a row. [`units`] and [`stats`] are what figures are
//! made of in every room.
#![forbid(unsafe_code)]

pub mod behaviours;
mod nearest;
pub mod stats;
pub mod units;
mod version;

pub use behaviours::Behaviour;
pub use nearest::nearest;
pub use units::Bytes;
pub use version::{KernelVersion, v};
