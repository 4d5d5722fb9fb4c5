//! Why something could not be read, in words that become the reason of an absent fact.

use std::io::{Error, ErrorKind};

use serde::{Deserialize, Serialize};
use swaptune_core::Fact;

/// Why a path could not be read.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error, Serialize, Deserialize)]
#[error("{path}: {reason}")]
pub struct ReadError {
    /// The path as it was asked for.
    pub path: String,
    /// Why, in words.
    pub reason: String,
    /// True when there is nothing at this path, as opposed to something that cannot be read.
    pub missing: bool,
}

impl ReadError {
    /// An error with a reason of its own.
    #[must_use]
    pub fn new(path: &str, reason: &str) -> Self {
        Self { path: path.to_owned(), reason: reason.to_owned(), missing: false }
    }

    /// What the kernel said, in words.
    #[must_use]
    pub fn from_io(path: &str, error: &Error) -> Self {
        let missing = matches!(error.kind(), ErrorKind::NotFound | ErrorKind::NotADirectory);
        let reason = match error.kind() {
            ErrorKind::NotFound | ErrorKind::NotADirectory => "no such file".to_owned(),
            ErrorKind::PermissionDenied if rustix::process::geteuid().is_root() => "permission denied".to_owned(),
            ErrorKind::PermissionDenied => "permission denied, try as root".to_owned(),
            _ => without_code(&error.to_string()),
        };
        Self { path: path.to_owned(), reason, missing }
    }

    /// The absent fact for this reason.
    #[must_use]
    pub fn absent<T>(self) -> Fact<T> {
        Fact::absent(self.to_string())
    }
}

impl From<ReadError> for String {
    fn from(error: ReadError) -> Self {
        error.to_string()
    }
}

/// `Input/output error (os error 5)` → `Input/output error`.
fn without_code(text: &str) -> String {
    text.split(" (os error").next().unwrap_or(text).to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reasons_are_words() {
        for (code, expect) in [(libc::ENOENT, "/x: no such file"), (libc::EIO, "/x: Input/output error")] {
            assert_eq!(ReadError::from_io("/x", &Error::from_raw_os_error(code)).to_string(), expect);
        }
        assert_eq!(ReadError::new("/x", "why").absent::<u8>().source(), "/x: why");
    }
}
