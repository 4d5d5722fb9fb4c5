//! Kernel versions, as the knob table and the rules compare them.

use std::fmt;

use serde::{Deserialize, Serialize};

/// A kernel version: major and minor decide everything that this tool knows.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct KernelVersion {
    /// The 6 of 6.12.
    pub major: u16,
    /// The 12 of 6.12.
    pub minor: u16,
}

/// Shorthand for tables: `v(6, 12)`.
#[must_use]
pub const fn v(major: u16, minor: u16) -> KernelVersion {
    KernelVersion { major, minor }
}

impl KernelVersion {
    /// What is assumed where no version is known: the newest long-term kernel that was measured.
    pub const ASSUMED: Self = v(6, 18);

    /// The oldest that the tables know: what older ones lack, or do otherwise, is in none of them.
    pub const OLDEST: Self = v(5, 10);

    /// True for a kernel that the tables know.
    #[must_use]
    pub fn is_known(self) -> bool {
        self >= Self::OLDEST
    }

    /// Reads the start of a release string such as `6.12.107+deb13-amd64`.
    #[must_use]
    pub fn from_release(release: &str) -> Option<Self> {
        let mut parts = release.split(|c: char| !c.is_ascii_digit());
        Some(v(parts.next()?.parse().ok()?, parts.next()?.parse().ok()?))
    }
}

impl fmt::Display for KernelVersion {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}.{}", self.major, self.minor)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn releases_of_real_kernels_parse() {
        for (text, expect) in [
            ("6.18.44-fc-v669", Some(v(6, 18))),
            ("5.10.0-32-amd64", Some(v(5, 10))),
            ("7.3-rc7", Some(v(7, 3))),
            ("6.1", Some(v(6, 1))),
            ("linux", None),
            ("", None),
        ] {
            assert_eq!(KernelVersion::from_release(text), expect, "{text}");
        }
        assert!(v(6, 9) < v(6, 12));
    }
}
