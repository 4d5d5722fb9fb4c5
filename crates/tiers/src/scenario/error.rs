//! Why a scenario cannot be run.

use crate::alloc::AllocError;
use crate::generate::GenerateError;
use crate::model::ModelSettingsError;

/// Why a scenario cannot be run.
#[derive(Debug, thiserror::Error)]
pub enum ScenarioError {
    /// The text is no TOML.
    #[error("{0}")]
    Toml(String),
    /// A key is missing or of another type.
    #[error("{}{message}", place(key))]
    File {
        /// The key, with its tables; empty for the file itself.
        key: String,
        /// What is wrong.
        message: String,
    },
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
    #[error("{}found `{found}`, expected one of {}", place(key), known.join(", "))]
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
        error: ModelSettingsError,
    },
}

/// A key before what is wrong with it.
fn place(key: &str) -> String {
    if key.is_empty() { String::new() } else { format!("{key}: ") }
}

impl ScenarioError {
    /// A value that is not what it should be.
    pub(super) fn key(key: impl Into<String>, found: impl ToString, expected: impl Into<String>) -> Self {
        Self::Key { key: key.into(), found: found.to_string(), expected: expected.into() }
    }

    /// What is wrong below a key, in the words of whoever found it.
    pub(super) fn file(key: &str, message: String) -> Self {
        Self::File { key: key.to_owned(), message }
    }

    /// A name that is none of these.
    pub(super) fn name<'a>(key: impl Into<String>, found: &str, known: impl IntoIterator<Item = &'a str>) -> Self {
        Self::Name { key: key.into(), found: found.to_owned(), known: known.into_iter().map(str::to_owned).collect() }
    }

    /// The same, where its key stands in a table or an array.
    pub(super) fn within(mut self, place: &str) -> Self {
        if let Self::Key { key, .. } | Self::Name { key, .. } | Self::File { key, .. } = &mut self {
            *key = if key.is_empty() { place.to_owned() } else { format!("{place}.{key}") };
        }
        self
    }

    /// The name that was found and those that there are, where the error is an unknown name: whoever prints it can say which is nearest.
    #[must_use]
    pub fn misspelt(&self) -> Option<(&str, Vec<&str>)> {
        match self {
            Self::Name { found, known, .. } => Some((found, known.iter().map(String::as_str).collect())),
            _ => None,
        }
    }
}

/// What serde says while it reads a file. Keys are put in front on the way out.
impl serde::de::Error for ScenarioError {
    fn custom<T: std::fmt::Display>(message: T) -> Self {
        Self::File { key: String::new(), message: message.to_string() }
    }

    fn unknown_field(field: &str, expected: &'static [&'static str]) -> Self {
        Self::name("", field, expected.iter().copied())
    }

    fn unknown_variant(variant: &str, expected: &'static [&'static str]) -> Self {
        Self::name("", variant, expected.iter().copied())
    }
}
