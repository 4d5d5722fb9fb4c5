//! The figures of `auto.toml`, typed.

use std::sync::LazyLock;

use serde::Deserialize;

use crate::units::Bytes;

/// Names in order of preference.
#[derive(Debug, Deserialize)]
pub(super) struct PreferredNames {
    pub(super) names: Vec<String>,
    pub(super) reason: String,
    pub(super) source: String,
}

#[derive(Debug, Deserialize)]
pub(super) struct SpeedRatio {
    pub(super) nvme: u64,
    pub(super) scsi: u64,
    #[serde(rename = "virtual")]
    pub(super) virtual_disk: u64,
    pub(super) mmc: u64,
    pub(super) rotational: u64,
    pub(super) zram_only: u64,
    pub(super) source: String,
}

#[derive(Debug, Deserialize)]
pub(super) struct PageCluster {
    pub(super) solid_state: u64,
    pub(super) rotational: u64,
    pub(super) zram_only: u64,
    pub(super) source: String,
}

#[derive(Debug, Deserialize)]
pub(super) struct PoolRules {
    pub(super) min_percent: u64,
    pub(super) max_percent: u64,
    /// The upper bound of machines so small that `left` would ask for less.
    pub(super) max_percent_small: u64,
    /// What a full pool leaves at least, where that allows more than the bound of small machines.
    #[serde(deserialize_with = "size")]
    pub(super) left: Bytes,
    /// From this ratio on the upper bound is allowed; at 1 : 1 the lower.
    pub(super) full_ratio: f64,
    pub(super) most: String,
    pub(super) less: String,
    pub(super) source: String,
}

#[derive(Debug, Deserialize)]
pub(super) struct ShrinkerRules {
    pub(super) enabled: bool,
    pub(super) reason: String,
    pub(super) source: String,
}

#[derive(Debug, Deserialize)]
pub(super) struct Watermark {
    pub(super) scale_factor: u64,
    pub(super) source: String,
}

#[derive(Debug, Deserialize)]
pub(super) struct SwapFileRules {
    pub(super) path: String,
    /// Slots that there should be, percent of RAM.
    pub(super) slots_percent: u64,
    #[serde(deserialize_with = "size")]
    pub(super) min: Bytes,
    #[serde(deserialize_with = "size")]
    pub(super) max: Bytes,
    pub(super) free_percent: u64,
    pub(super) source: String,
}

#[derive(Debug, Deserialize)]
pub(super) struct ZramRules {
    /// Without a measured ratio, percent of RAM.
    pub(super) percent: u64,
    /// Without a measured ratio.
    #[serde(deserialize_with = "size")]
    pub(super) max: Bytes,
    pub(super) source: String,
    /// Why it goes before a disk that has few slots.
    pub(super) before_disk: String,
}

/// How measurements are used.
#[derive(Debug, Deserialize)]
pub(super) struct MeasurementRules {
    pub(super) density_tolerance_percent: u64,
    pub(super) density_tolerance_percent_one_cpu: u64,
    pub(super) gain_percent: u64,
    pub(super) swappiness_min: u64,
    pub(super) swappiness_max: u64,
}

/// How simulations are used.
#[derive(Debug, Deserialize)]
pub(super) struct SimulationRules {
    pub(super) gain_percent: u64,
    pub(super) gain_percent_assumed: u64,
}

#[derive(Debug, Deserialize)]
pub(super) struct Assumed {
    pub(super) compressors: PreferredNames,
    pub(super) compressors_one_cpu: PreferredNames,
    pub(super) speed_ratio: SpeedRatio,
    pub(super) page_cluster: PageCluster,
    pub(super) pool: PoolRules,
    pub(super) shrinker: ShrinkerRules,
    pub(super) watermark: Watermark,
    pub(super) swap_file: SwapFileRules,
    pub(super) zram: ZramRules,
    pub(super) measured: MeasurementRules,
    pub(super) simulated: SimulationRules,
}

fn size<'de, D: serde::Deserializer<'de>>(deserializer: D) -> Result<Bytes, D::Error> {
    String::deserialize(deserializer)?.parse().map_err(serde::de::Error::custom)
}

/// The parsed file. It is part of the program, so a mistake in it is caught by the first test and never by a user.
pub(super) static ASSUMED: LazyLock<Assumed> =
    LazyLock::new(|| toml::from_str(include_str!("../auto.toml")).unwrap_or_else(|error| panic!("profiles/auto.toml: {error}")));
