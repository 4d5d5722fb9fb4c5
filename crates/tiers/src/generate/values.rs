//! Values of a generator's parameters.

use rand::SeedableRng;
use rand_pcg::Pcg64;

use super::{GenerateError, ParameterRow};
use crate::trace::{EVENTS_MAX, KeptColumns, TraceBuilder};

/// Every parameter of a generator with its value.
#[derive(Clone, Debug)]
pub struct GeneratorValues {
    values: Vec<(&'static str, f64)>,
    /// Most events that are made.
    most: u64,
}

impl GeneratorValues {
    /// Defaults, and over them what `NAME=VALUE,NAME=VALUE` says.
    ///
    /// # Errors
    /// When a name is not in the table, or a value is no number or out of its range.
    pub(super) fn parse(generator: &'static str, table: &'static [ParameterRow], text: &str) -> Result<Self, GenerateError> {
        let fault = |found: &str, expected: String| GenerateError::Parameter { generator, found: found.to_owned(), expected };
        let mut values: Vec<(&'static str, f64)> = Vec::new();
        for row in table {
            values.push((row.name, number(row.default).ok_or_else(|| fault(row.default, "a number".into()))?));
        }
        for part in text.split(',').map(str::trim).filter(|part| !part.is_empty()) {
            let (name, value) = part.split_once('=').ok_or_else(|| fault(part, "NAME=VALUE".into()))?;
            let Some(index) = table.iter().position(|row| row.name == name.trim()) else {
                let names: Vec<&str> = table.iter().map(|row| row.name).collect();
                return Err(fault(name, format!("one of {}", names.join(", "))));
            };
            let value = number(value).ok_or_else(|| fault(part, "a number, for example 0.5, 20000, 20k, 20M".into()))?;
            let row = &table[index];
            if !(row.min..=row.max).contains(&value) {
                return Err(fault(part, format!("{} to {}", row.min, row.max)));
            }
            values[index].1 = value;
        }
        Ok(Self { values, most: EVENTS_MAX })
    }

    /// The same for a trace of no more events than these.
    pub(super) fn at_most(self, events: u64) -> Self {
        Self { most: events, ..self }
    }

    /// What a trace with everything is made by.
    pub(super) fn builder(&self) -> TraceBuilder {
        TraceBuilder::new(KeptColumns::Everything).at_most(self.most)
    }

    /// The value of a parameter that the table has.
    pub(super) fn float(&self, name: &str) -> f64 {
        let found = self.values.iter().find(|(known, _)| *known == name);
        debug_assert!(found.is_some(), "{name} is not in the table");
        found.map_or(0.0, |(_, value)| *value)
    }

    /// The same as a whole number; the ranges of counts lie within it.
    pub(super) fn whole(&self, name: &str) -> u64 {
        self.float(name) as u64
    }

    /// The same as a number of pages or applications.
    pub(super) fn count(&self, name: &str) -> u32 {
        self.float(name) as u32
    }

    /// Random numbers from the seed.
    pub(super) fn random(&self) -> Pcg64 {
        Pcg64::seed_from_u64(self.whole("seed"))
    }
}

/// A number with decimals or without; `k`, `M`, `G` multiply by thousands.
pub(crate) fn number(text: &str) -> Option<f64> {
    let text = text.trim();
    let (digits, factor) = match text.char_indices().last()? {
        (at, 'k' | 'K') => (&text[..at], 1e3),
        (at, 'M') => (&text[..at], 1e6),
        (at, 'G') => (&text[..at], 1e9),
        _ => (text, 1.0),
    };
    let value = digits.parse::<f64>().ok().filter(|value| value.is_finite())?;
    Some(value * factor)
}
