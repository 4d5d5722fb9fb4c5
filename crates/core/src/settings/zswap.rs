//! `[zswap]`: a view of zswap's rows of the knob table.

use std::collections::BTreeMap;

use serde::Serialize;

use super::{PoolLimit, Provenance, Setting};
use crate::knobs::{self, Knob, KnobKind};
use crate::units::Bytes;

/// What is wanted of one parameter, in the form that the kind of its row takes in a configuration.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(untagged)]
pub enum WantedParameter {
    /// On or off ([`KnobKind::Bool`]).
    Flag(bool),
    /// A number ([`KnobKind::Integer`]), in the unit of the row.
    Number(i64),
    /// Names in order of preference ([`KnobKind::Name`]); the first that this kernel has is taken.
    Names(Vec<String>),
    /// A share of RAM that is written as a size: `pool` for `max_pool_percent`.
    Size(Bytes),
}

impl WantedParameter {
    /// As the kernel shows it on a machine with this much RAM: of names the first, of a size its share. `None` where the RAM is
    /// unknown and matters.
    #[must_use]
    pub fn text(&self, ram: Bytes) -> Option<String> {
        match self {
            Self::Flag(on) => Some(if *on { "Y" } else { "N" }.to_owned()),
            Self::Number(number) => Some(number.to_string()),
            Self::Names(names) => names.first().cloned(),
            Self::Size(size) => PoolLimit::Size(*size).percent(ram).map(|percent| percent.to_string()),
        }
    }
}

impl From<bool> for WantedParameter {
    fn from(on: bool) -> Self {
        Self::Flag(on)
    }
}

impl From<i64> for WantedParameter {
    fn from(number: i64) -> Self {
        Self::Number(number)
    }
}

impl From<Vec<String>> for WantedParameter {
    fn from(names: Vec<String>) -> Self {
        Self::Names(names)
    }
}

impl From<PoolLimit> for WantedParameter {
    fn from(limit: PoolLimit) -> Self {
        match limit {
            PoolLimit::Percent(percent) => Self::Number(i64::try_from(percent).unwrap_or(i64::MAX)),
            PoolLimit::Size(size) => Self::Size(size),
        }
    }
}

/// What is wanted of zswap: parameters by their names below `/sys/module/zswap/parameters`.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
#[serde(transparent)]
pub struct ZswapSettings(BTreeMap<&'static str, Setting<WantedParameter>>);

impl ZswapSettings {
    /// zswap's rows of the knob table that take a value, in its order.
    pub fn rows() -> impl Iterator<Item = &'static Knob> {
        knobs::all().filter(|row| row.name.starts_with("zswap.") && !matches!(row.kind, KnobKind::Trigger | KnobKind::ReadOnly))
    }

    /// What is wanted of a parameter.
    #[must_use]
    pub fn get(&self, parameter: &str) -> Option<&Setting<WantedParameter>> {
        self.0.get(parameter)
    }

    /// Wants a value of the parameter of a row; says what was wanted before.
    pub fn set<T: Into<WantedParameter>>(&mut self, row: &'static Knob, setting: Setting<T>) -> Option<Setting<WantedParameter>> {
        self.0.insert(row.parameter(), Setting::new(setting.value.into(), setting.provenance))
    }

    /// The same with `setting` for a parameter that has a row.
    #[must_use]
    pub fn with<T: Into<WantedParameter>>(mut self, parameter: &str, setting: Option<Setting<T>>) -> Self {
        let row = Self::rows().find(|row| row.parameter() == parameter);
        if let (Some(row), Some(setting)) = (row, setting) {
            self.set(row, setting);
        }
        self
    }

    /// True when nothing is wanted.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Takes the values of another layer where it has some.
    pub(super) fn overlay(&mut self, above: Self) {
        self.0.extend(above.0);
    }

    /// Every value gets this origin.
    pub(super) fn mark(&mut self, provenance: &Provenance) {
        self.0.values_mut().for_each(|setting| setting.provenance = provenance.clone());
    }

    /// On or off.
    #[must_use]
    pub fn enabled(&self) -> Option<Setting<bool>> {
        self.typed("enabled", flag)
    }

    /// The dynamic shrinker.
    #[must_use]
    pub fn shrinker_enabled(&self) -> Option<Setting<bool>> {
        self.typed("shrinker_enabled", flag)
    }

    /// Compressors in order of preference.
    #[must_use]
    pub fn compressor(&self) -> Option<Setting<Vec<String>>> {
        self.typed("compressor", |wanted| if let WantedParameter::Names(names) = wanted { Some(names.clone()) } else { None })
    }

    /// Limit of the pool.
    #[must_use]
    pub fn pool(&self) -> Option<Setting<PoolLimit>> {
        self.typed("max_pool_percent", |wanted| match wanted {
            WantedParameter::Number(percent) => Some(PoolLimit::Percent(percent.unsigned_abs())),
            WantedParameter::Size(size) => Some(PoolLimit::Size(*size)),
            _ => None,
        })
    }

    fn typed<T>(&self, parameter: &str, value: impl Fn(&WantedParameter) -> Option<T>) -> Option<Setting<T>> {
        let setting = self.get(parameter)?;
        Some(Setting::new(value(&setting.value)?, setting.provenance.clone()))
    }
}

fn flag(wanted: &WantedParameter) -> Option<bool> {
    if let WantedParameter::Flag(on) = wanted { Some(*on) } else { None }
}
