//! What a machine is: RAM, kernel, pools, areas and what everything takes.

mod costs;
mod figures;
mod settings;
mod sizes;
mod upkeep;

pub use costs::{CODECS, COPY, Codec, Costs, DeviceTimes};
pub use figures::{Figures, NamedDevice};
pub use settings::{AreaSettings, Backing, Lru, Settings, SettingsError, Watermarks, ZswapSettings};
pub use sizes::Sizes;
pub(super) use upkeep::batch;
pub use upkeep::{Recompress, Second, Upkeep, Which, Writeback};
