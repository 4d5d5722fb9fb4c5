//! The room of tiers: where a page can live and what it takes there.

pub mod alloc;
pub mod generate;
pub mod model;
pub mod page_set;
pub mod policies;
mod prefetch;
pub mod replay;
pub mod scenario;
pub mod trace;
