//! The pure room of swaptune: facts, knobs, settings, changes, plans, findings and proofs.
//!
//! Nothing here performs I/O, reads a clock or uses unsafe code; `clippy.toml` of this crate forbids the first two.
//! Everything is a function of its arguments, so every rule can be tested from a fixture.
#![forbid(unsafe_code)]

pub mod adopt;
pub mod canary;
pub mod change;
pub mod codec_choice;
pub mod control;
pub mod device;
pub mod edit;
pub mod emit;
pub mod escape;
pub mod estimate;
pub mod fact;
pub mod facts;
pub mod findings;
pub mod fleet;
pub mod forecast;
pub mod knobs;
pub mod measurement;
pub mod memory_map;
pub mod metrics;
pub mod parse;
pub mod plan;
pub mod profiles;
pub mod proof;
pub mod settings;
pub mod swapoff;

pub use fact::Fact;
pub use facts::Facts;
pub use swaptune_kernel::{Bytes, KernelVersion, stats, units};
