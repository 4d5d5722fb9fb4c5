//! Measurements: what was measured on a machine, under which conditions, and what may be concluded from it.
//!
//! A measurement is one line of JSON, appended as soon as it is known, so that an interrupted benchmark loses nothing.
//! Figures carry their unit in their type or name. A number without its [`Conditions`] is not a result.

mod cipher;
mod compare;
mod conditions;
mod density;
mod disk;
mod evidence;
mod figures;

use serde::{Deserialize, Serialize};

pub use crate::stats::Estimate;
pub use cipher::{CipherChoice, recommend};
pub use compare::{CompareCounts, CompareFigures, CompareLook, CompareRun, CompareVerdict, Comparison, Incomparable};
pub use conditions::Conditions;
pub use density::{DensityCounts, DensityEnd, DensityFigures, DensityFit, DensityLevel, DensityLimit, DensityLoad, DensityRound};
pub use disk::{areas_gain, sweet_spot};
pub use evidence::{AreaSpread, DiskSpeed, Evidence, MeasuredAnswer, PageCost, ReadAhead, kernels_name};
pub use figures::{
    AllocatorFigures, CipherFigures, CodecFigures, CodecPath, ColdPages, DiskFigures, DiskIdentity, DiskShape, IoFigures,
    LandingFigures, MemoryData, MemoryFigures, MemoryOrder, PoolFigures, ResultFigures, SampleFigures, SampledCodec, SwapFigures,
    SwapRound, SwapTier,
};

/// Version of the line; raised when a field changes its meaning.
pub const SCHEMA: u32 = 1;

/// One result.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Measurement {
    /// Version of this structure.
    pub schema: u32,
    /// The run that it belongs to (`20261121-054801-a1b2`); several lines share it.
    pub run: String,
    /// When it was measured, RFC 3339 in UTC.
    pub at: String,
    /// What to type to measure it again.
    pub command: String,
    /// What must be known to trust it.
    pub conditions: Conditions,
    /// The numbers.
    #[serde(flatten)]
    pub figures: ResultFigures,
}
