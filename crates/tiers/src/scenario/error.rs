//! Why a scenario cannot be run.

use crate::alloc::AllocError;
use crate::generate::GenerateError;
use crate::model::SettingsError;

/// Why a scenario cannot be run.
#[derive(Debug, thiserror::Error)]
pub enum ScenarioError {
    /// The text is no TOML, or a key is unknown, missing or of another type.
    #[error("{0}")]
    Toml(String),
    /// A value is not what it should be.
    #[error("{key}: found {found}, expected {expected}")]
    Key {
        /// The key, with its table.
        key: String,
        /// What stands there.
        found: String,
        /// What could.
        expected: String,
    },
    /// A name that is none.
    #[error("{key}: found `{found}`, expected one of {}", known.join(", "))]
    Name {
        /// The key, with its table.
        key: String,
        /// What stands there.
        found: String,
        /// The names that there are.
        known: Vec<String>,
    },
    /// The workload cannot be made.
    #[error("workload: {0}")]
    Workload(#[from] GenerateError),
    /// The allocator cannot be had.
    #[error("tiering `{tiering}`: {error}")]
    Allocator {
        /// The tiering.
        tiering: String,
        /// What is wrong with it.
        error: AllocError,
    },
    /// The machine cannot be.
    #[error("tiering `{tiering}`: {error}")]
    Machine {
        /// The tiering.
        tiering: String,
        /// What is wrong with it.
        error: SettingsError,
    },
}

impl ScenarioError {
    /// A value that is not what it should be.
    pub(super) fn key(key: impl Into<String>, found: impl ToString, expected: impl Into<String>) -> Self {
        Self::Key { key: key.into(), found: found.to_string(), expected: expected.into() }
    }

    /// A name that is none of these.
    pub(super) fn name<'a>(key: impl Into<String>, found: &str, known: impl IntoIterator<Item = &'a str>) -> Self {
        Self::Name { key: key.into(), found: found.to_owned(), known: known.into_iter().map(str::to_owned).collect() }
    }

    /// The name that was found and those that there are, where the error is an unknown name: whoever prints it can say which is nearest.
    #[must_use]
    pub fn misspelt(&self) -> Option<(&str, Vec<&str>)> {
        match self {
            Self::Name { found, known, .. } => Some((found, known.iter().map(String::as_str).collect())),
            // "unknown field `x`, expected one of `a`, `b`": names stand between backticks.
            Self::Toml(message) => {
                let rest = &message[message.find("unknown field `")?..];
                let first = rest.lines().next().unwrap_or(rest);
                let mut names = first.split('`').skip(1).step_by(2);
                Some((names.next()?, names.collect()))
            }
            _ => None,
        }
    }
}
