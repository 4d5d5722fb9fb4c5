//! What can go wrong when the kernel's codecs are driven.

use std::error::Error;
use std::io;

use swaptune_host::machine::ReadError;
use swaptune_host::temporary::TemporaryError;
use thiserror::Error;

/// Why the kernel's codecs were not measured.
#[derive(Debug, Error)]
pub enum KernelError {
    /// A temporary setting.
    #[error(transparent)]
    Temporary(#[from] TemporaryError),
    /// A counter of the kernel.
    #[error(transparent)]
    Read(#[from] ReadError),
    /// Data into the kernel or back.
    #[error("{what}: {source}")]
    Io {
        /// What was read or written.
        what: String,
        /// What the system says.
        source: io::Error,
    },
    /// A page came back different.
    #[error("{what}: page {page} came back different from what was stored")]
    Changed {
        /// The device or pool.
        what: String,
        /// Which page, from 0.
        page: usize,
    },
    /// The kernel does not count, or counts something else than what was done.
    #[error("{what}: {why}")]
    Counters {
        /// The device or pool.
        what: String,
        /// What was found and expected.
        why: String,
    },
}

impl KernelError {
    pub(super) fn io(what: impl Into<String>, source: io::Error) -> Self {
        Self::Io { what: what.into(), source }
    }

    /// True when only this codec cannot be had, or is not counted: the others can go on.
    pub(super) fn is_of_the_codec(&self) -> bool {
        matches!(self, Self::Temporary(TemporaryError::Step { .. } | TemporaryError::Refused { .. }) | Self::Counters { .. })
    }

    /// With all causes.
    pub(super) fn words(&self) -> String {
        let mut words = self.to_string();
        let mut cause = self.source();
        while let Some(error) = cause {
            let more = error.to_string();
            if !words.ends_with(&more) {
                words += &format!(": {more}");
            }
            cause = error.source();
        }
        words
    }
}
