//! The room of measurements: what this machine's pages, codecs, disks and swap paths really do.
//!
//! Every benchmark appends each of its results to a [`results::Store`] with the [`conditions`] it was measured under.
//! Nothing here writes configuration: what must be set for a moment is set through the host room's journal and taken back.

pub mod cipher;
pub mod codec;
pub mod codecs;
pub mod compare;
pub mod conditions;
pub mod density;
pub mod disk;
pub mod keep;
pub mod memory;
mod order;
mod pools;
pub mod predict;
pub mod process;
pub mod results;
pub mod sample;
pub mod space;
pub mod swap;
pub mod this_machine;
pub mod variant;
pub mod workload;
