//! Sizes as they are typed.

use serde::de::Error;
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use swaptune_kernel::KernelVersion;
use toml::Value;

use super::ScenarioError;
use crate::alloc::PAGE_SIZE;

const PAGE: f64 = PAGE_SIZE as f64;

/// What stands for a number of pages. In a file: `"512M"`, `"1.5G"`, a number of bytes, or a share such as `"50%"`; sizes are powers
/// of 1024.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Size {
    /// A number of pages.
    Pages(u64),
    /// A share of something, 100 for all of it.
    Percent(f64),
}

impl Size {
    /// What is typed for a key.
    ///
    /// # Errors
    /// When it is no size.
    pub fn parse(key: &str, text: &str) -> Result<Self, ScenarioError> {
        Self::of(&Value::from(text)).map_err(|expected| ScenarioError::key(key, Value::from(text), expected))
    }

    /// The size, or what was expected.
    fn of(value: &Value) -> Result<Self, &'static str> {
        let percent = value.as_str().and_then(|text| text.trim().strip_suffix('%')).map(|percent| percent.trim().parse::<f64>());
        if let Some(percent) = percent {
            let percent = percent.ok().filter(|percent| (0.0..=100_000.0).contains(percent));
            return percent.map(Self::Percent).ok_or("a share such as \"50%\"");
        }
        let bytes = bytes(value).filter(|bytes| *bytes >= PAGE || *bytes == 0.0);
        let pages = bytes.map(|bytes| Self::Pages((bytes / PAGE) as u64));
        pages.ok_or("a size of at least a page, for example \"512M\", \"1.5G\" or \"50%\"")
    }

    /// One of `parts` equal parts.
    pub(super) fn part(self, parts: u32) -> Self {
        match self {
            Self::Pages(pages) => Self::Pages(pages / u64::from(parts)),
            Self::Percent(percent) => Self::Percent(percent / f64::from(parts)),
        }
    }
}

impl Serialize for Size {
    fn serialize<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        let bytes = match self {
            Self::Percent(percent) => return to.serialize_str(&format!("{percent}%")),
            Self::Pages(pages) => pages * u64::from(PAGE_SIZE),
        };
        let unit = [(30, 'G'), (20, 'M'), (10, 'K')].into_iter().find(|(bits, _)| bytes.trailing_zeros() >= *bits && bytes > 0);
        to.serialize_str(&unit.map_or_else(|| bytes.to_string(), |(bits, unit)| format!("{}{unit}", bytes >> bits)))
    }
}

impl<'de> Deserialize<'de> for Size {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        let value = Value::deserialize(from)?;
        Self::of(&value).map_err(|expected| D::Error::custom(format!("found {value}, expected {expected}")))
    }
}

/// A kernel in a file: `"6.12"`.
pub(super) mod kernel {
    use super::{Deserialize, Deserializer, Error, KernelVersion, Serializer};

    pub(in super::super) fn serialize<S: Serializer>(version: &KernelVersion, to: S) -> Result<S::Ok, S::Error> {
        to.collect_str(version)
    }

    pub(in super::super) fn deserialize<'de, D: Deserializer<'de>>(from: D) -> Result<KernelVersion, D::Error> {
        let text = String::deserialize(from)?;
        let version = KernelVersion::from_release(&text).filter(|version| version.to_string() == text);
        version.ok_or_else(|| D::Error::custom(format!("found {text}, expected a version such as \"6.12\"")))
    }
}

/// Bytes of a size.
pub(super) fn bytes(value: &Value) -> Option<f64> {
    let bytes = match value {
        Value::Integer(bytes) => *bytes as f64,
        Value::Float(bytes) => *bytes,
        Value::String(text) => typed(text.trim())?,
        _ => return None,
    };
    (bytes.is_finite() && (0.0..1e18).contains(&bytes)).then_some(bytes)
}

fn typed(text: &str) -> Option<f64> {
    let digits = text.trim_end_matches(|c: char| c.is_ascii_alphabetic());
    let factor = match text[digits.len()..].trim_end_matches("iB").trim_end_matches('B') {
        "" => 1.0,
        "K" | "k" => 1024.0,
        "M" => 1024.0 * 1024.0,
        "G" => 1024.0 * 1024.0 * 1024.0,
        "T" => 1024.0 * 1024.0 * 1024.0 * 1024.0,
        _ => return None,
    };
    digits.trim().parse::<f64>().ok().map(|number| number * factor)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_are_read_as_people_write_them() {
        let of = |text: &str| Size::parse("ram", text);
        for (text, pages) in [("1G", 262_144), ("1.5 MiB", 384), ("64K", 16), ("8192", 2), ("0", 0)] {
            assert_eq!(of(text).unwrap(), Size::Pages(pages), "{text}");
        }
        assert_eq!(Size::of(&Value::Integer(4096)), Ok(Size::Pages(1)));
        assert_eq!((of("50%").unwrap(), of("12.5 %").unwrap()), (Size::Percent(50.0), Size::Percent(12.5)));
        assert!(of("x%").is_err() && of("-1%").is_err() && of("%").is_err());
        let message = of("1X").unwrap_err().to_string();
        assert_eq!(message, "ram: found \"1X\", expected a size of at least a page, for example \"512M\", \"1.5G\" or \"50%\"");
        assert!(of("-1G").is_err() && of("100").is_err() && of("").is_err() && of("é").is_err());
    }

    #[test]
    fn what_is_written_is_read_again() {
        for (size, text) in
            [(Size::Pages(2048), "8M"), (Size::Pages(3), "12K"), (Size::Pages(0), "0"), (Size::Percent(33.3), "33.3%")]
        {
            assert_eq!(Value::try_from(size).unwrap(), Value::from(text));
            assert_eq!(Size::parse("size", text).unwrap(), size);
        }
    }
}
