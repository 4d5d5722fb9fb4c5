//! The room of tiers: where a page can live and what it takes there.

pub mod alloc;
pub mod generate;
mod prefetch;
pub mod trace;
