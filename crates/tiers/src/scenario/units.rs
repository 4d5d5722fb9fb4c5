//! Sizes as they are typed.

use toml::Value;

use super::ScenarioError;
use crate::alloc::PAGE_SIZE;

const PAGE: f64 = PAGE_SIZE as f64;

/// What stands for a number of pages.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Size {
    /// A number of pages.
    Pages(u64),
    /// A share of something, 1 for all of it.
    Share(f64),
}

/// A size: `"512M"`, `"1.5G"`, a number of bytes, or a share such as `"50%"`. Sizes are powers of 1024.
pub(super) fn size(key: &str, value: &Value) -> Result<Size, ScenarioError> {
    let share = value.as_str().and_then(|text| text.trim().strip_suffix('%')).map(|percent| percent.trim().parse::<f64>());
    if let Some(share) = share {
        let share = share.ok().filter(|percent| (0.0..=100_000.0).contains(percent));
        return share
            .map(|percent| Size::Share(percent / 100.0))
            .ok_or_else(|| ScenarioError::key(key, value, "a share such as \"50%\""));
    }
    let bytes = bytes(value).filter(|bytes| *bytes >= PAGE || *bytes == 0.0);
    bytes
        .map(|bytes| Size::Pages((bytes / PAGE) as u64))
        .ok_or_else(|| ScenarioError::key(key, value, "a size of at least a page, for example \"512M\", \"1.5G\" or \"50%\""))
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
        let of = |text: &str| size("ram", &Value::String(text.into()));
        for (text, pages) in [("1G", 262_144), ("1.5 MiB", 384), ("64K", 16), ("8192", 2), ("0", 0)] {
            assert_eq!(of(text).unwrap(), Size::Pages(pages), "{text}");
        }
        assert_eq!(size("ram", &Value::Integer(4096)).unwrap(), Size::Pages(1));
        assert_eq!((of("50%").unwrap(), of("12.5 %").unwrap()), (Size::Share(0.5), Size::Share(0.125)));
        assert!(of("x%").is_err() && of("-1%").is_err() && of("%").is_err());
        let message = of("1X").unwrap_err().to_string();
        assert_eq!(message, "ram: found \"1X\", expected a size of at least a page, for example \"512M\", \"1.5G\" or \"50%\"");
        assert!(of("-1G").is_err() && of("100").is_err() && of("").is_err() && of("é").is_err());
    }
}
