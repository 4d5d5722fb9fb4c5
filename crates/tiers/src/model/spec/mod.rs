//! What a machine is: RAM, kernel, pools, areas and what everything takes.

mod costs;
mod figures;
mod settings;
mod sizes;
mod upkeep;

pub use costs::{CODECS, COPY, CodecCosts, Costs, DeviceTimes};
pub use figures::{ModelFigures, NamedDevice};
pub use settings::{AreaSettings, Backing, Lru, ModelSettings, ModelSettingsError, ModelZswapSettings, Watermarks};
pub use sizes::CompressedSizes;
pub(super) use upkeep::batch;
pub use upkeep::{Recompress, Second, Upkeep, Which, Writeback};
