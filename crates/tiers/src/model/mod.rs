//! The model: what a machine with RAM, zswap, zram and disks makes of a trace, in virtual time.
//!
//! [`Model`] is a function of (trace, [`ModelSettings`]): no clock, no randomness but [`ModelSettings::seed`]. One process at a time does what the
//! trace says; kswapd and zswap's worker have clocks of their own and catch up whenever the trace faults.
//!
//! `machine.rs` has the way of a page that is wanted, `pageout.rs` that of one that leaves. What is modelled of each part, and from
//! which source, stands in its folder: `mm/` lists and reclaim, `zswap/`, `swap/` slots, areas and read-ahead, `zram/`, `disk/`.
//! Each part knows only those below it: zswap writes back to swap, swap sends to zram and to disks.

mod clock;
mod counters;
mod disk;
#[cfg(test)]
mod fault_tests;
mod hands;
#[cfg(test)]
mod hands_tests;
mod machine;
mod mm;
mod observe;
mod outcome;
mod page;
mod pageout;
#[cfg(test)]
mod policy_tests;
#[cfg(test)]
mod readahead_tests;
#[cfg(test)]
mod reclaim_tests;
mod ring;
mod run;
mod shrinker;
mod spec;
mod swap;
#[cfg(test)]
mod tests;
#[cfg(test)]
mod upkeep_tests;
#[cfg(test)]
mod worker_tests;
mod zram;
mod zswap;

pub use counters::Counters;
pub use hands::MachineSeen;
pub use machine::Model;
pub use mm::ObservedGroup;
pub use observe::PoolContents;
pub use outcome::{Histogram, Outcome};
pub use page::Tier;
pub use spec::{
    AreaSettings, Backing, CODECS, COPY, CodecCosts, CompressedSizes, Costs, DeviceTimes, Lru, ModelFigures, ModelSettings,
    ModelSettingsError, ModelZswapSettings, NamedDevice, Recompress, Second, Upkeep, Watermarks, Which, Writeback,
};
pub use zswap::ZswapLimit;
