//! Units as types: no bare number crosses a public interface.
//!
//! [`Bytes`] is the one size type. It reads what people write in configuration files
//! (`3G`, `512MiB`, `4096`) with binary multiples, as the kernel's own `memparse` does.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};

/// A number of bytes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Bytes(pub u64);

impl Bytes {
    /// `n` KiB, the unit of `/proc/meminfo` and `/proc/swaps`. Saturates.
    #[must_use]
    pub const fn from_kib(n: u64) -> Self {
        Self(n.saturating_mul(1 << 10))
    }

    /// `n` MiB. Saturates.
    #[must_use]
    pub const fn from_mib(n: u64) -> Self {
        Self(n.saturating_mul(1 << 20))
    }

    /// `n` GiB. Saturates.
    #[must_use]
    pub const fn from_gib(n: u64) -> Self {
        Self(n.saturating_mul(1 << 30))
    }

    /// Whole MiB, rounded down.
    #[must_use]
    pub const fn mib(self) -> u64 {
        self.0 >> 20
    }

    /// This many bytes as a share of `whole`, in percent rounded up, at most 100.
    ///
    /// `None` when `whole` is zero.
    #[must_use]
    pub fn percent_of(self, whole: Self) -> Option<u64> {
        if whole.0 == 0 {
            return None;
        }
        let percent = (u128::from(self.0) * 100).div_ceil(u128::from(whole.0));
        Some(u64::try_from(percent.min(100)).unwrap_or(100))
    }

    /// `percent` of this size.
    #[must_use]
    pub fn percent(self, percent: u64) -> Self {
        let part = u128::from(self.0) * u128::from(percent) / 100;
        Self(u64::try_from(part).unwrap_or(u64::MAX))
    }

    /// The shortest exact way to write it in a configuration file: `3G`, `1536M`, `4097`.
    #[must_use]
    pub fn compact(self) -> String {
        for (shift, letter) in [(40, 'T'), (30, 'G'), (20, 'M'), (10, 'K')] {
            if self.0 != 0 && self.0.trailing_zeros() >= shift {
                return format!("{}{letter}", self.0 >> shift);
            }
        }
        self.0.to_string()
    }
}

impl fmt::Display for Bytes {
    /// Three significant digits with a binary unit: `23.1 GiB`, `512 MiB`, `0 B`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let units = ["B", "KiB", "MiB", "GiB", "TiB", "PiB"];
        let mut value = self.0 as f64;
        let mut unit = 0;
        while value >= 1023.5 && unit < units.len() - 1 {
            value /= 1024.0;
            unit += 1;
        }
        let text = if unit == 0 || value >= 99.95 {
            format!("{value:.0} {}", units[unit])
        } else if (value - value.round()).abs() < 0.05 {
            format!("{:.0} {}", value.round(), units[unit])
        } else {
            format!("{value:.1} {}", units[unit])
        };
        f.pad(&text)
    }
}

/// What was wrong with a size.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("`{text}` is not a size: write a number with K, M, G or T, for example \"3G\"")]
pub struct BytesError {
    /// The text as it was given.
    pub text: String,
}

impl FromStr for Bytes {
    type Err = BytesError;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let error = || BytesError { text: text.to_owned() };
        let trimmed = text.trim();
        let digits = trimmed.len() - trimmed.trim_start_matches(|c: char| c.is_ascii_digit() || c == '.').len();
        let (number, unit) = trimmed.split_at(digits);
        let shift = match unit.trim().to_ascii_lowercase().as_str() {
            "" | "b" => 0,
            "k" | "kb" | "kib" => 10,
            "m" | "mb" | "mib" => 20,
            "g" | "gb" | "gib" => 30,
            "t" | "tb" | "tib" => 40,
            _ => return Err(error()),
        };
        if let Ok(whole) = number.parse::<u64>() {
            return whole.checked_mul(1 << shift).map(Self).ok_or_else(error);
        }
        let fraction: f64 = number.parse().map_err(|_| error())?;
        let bytes = fraction * (1u64 << shift) as f64;
        if number.is_empty() || shift == 0 || !(0.0..1e18).contains(&bytes) {
            return Err(error());
        }
        Ok(Self(bytes as u64))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_are_read_as_people_write_them() {
        for (text, bytes) in
            [("0", 0), ("4096", 4096), ("3G", 3 << 30), ("512MiB", 512 << 20), ("1.5g", 3 << 29), (" 64 K ", 65536)]
        {
            assert_eq!(text.parse(), Ok(Bytes(bytes)), "{text}");
        }
        for text in ["", "G", "-1", "3X", "1.5", "99999999999G", "1e3"] {
            assert!(text.parse::<Bytes>().is_err(), "{text}");
        }
    }

    #[test]
    fn sizes_are_shown_with_three_digits() {
        for (bytes, text) in [
            (0, "0 B"),
            (1023, "1023 B"),
            (1536, "1.5 KiB"),
            (3 << 30, "3 GiB"),
            (24_817_000_000, "23.1 GiB"),
            (130 << 20, "130 MiB"),
        ] {
            assert_eq!(Bytes(bytes).to_string(), text);
        }
    }

    #[test]
    fn compact_sizes_read_back() {
        for bytes in [0, 1, 4096, 3 << 30, (3 << 30) + (1 << 20), 5 << 40] {
            assert_eq!(Bytes(bytes).compact().parse(), Ok(Bytes(bytes)));
        }
    }

    #[test]
    fn a_share_is_rounded_up_and_capped() {
        assert_eq!(Bytes::from_mib(3072).percent_of(Bytes::from_mib(8192)), Some(38));
        assert_eq!(Bytes::from_gib(9).percent_of(Bytes::from_gib(8)), Some(100));
        assert_eq!(Bytes(1).percent_of(Bytes(0)), None);
    }
}
