//! The one shape of every fact: a value with where it came from, or the reason why there is none.
//!
//! A value that this kernel lacks is never a silent zero and never an error that ends an inspection.

use serde::{Deserialize, Serialize};

/// A value with its source, or the reason of its absence.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(untagged)]
pub enum Fact<T> {
    /// The value is known.
    Known {
        /// What was found.
        value: T,
        /// Where it was found: a path, or a path and a rule.
        source: String,
    },
    /// There is no value.
    Absent {
        /// Why not: a file that does not exist, a permission, a kernel without the feature.
        absent: String,
    },
}

impl<T> Fact<T> {
    /// A value and its source.
    pub fn known(value: T, source: impl Into<String>) -> Self {
        Self::Known { value, source: source.into() }
    }

    /// No value, for this reason.
    pub fn absent(why: impl Into<String>) -> Self {
        Self::Absent { absent: why.into() }
    }

    /// The value, if there is one.
    pub fn value(&self) -> Option<&T> {
        match self {
            Self::Known { value, .. } => Some(value),
            Self::Absent { .. } => None,
        }
    }

    /// Where the value came from, or why there is none.
    pub fn source(&self) -> &str {
        match self {
            Self::Known { source, .. } => source,
            Self::Absent { absent } => absent,
        }
    }

    /// True when there is a value.
    pub fn is_known(&self) -> bool {
        self.value().is_some()
    }

    /// The same fact about something derived from the value.
    pub fn map<U>(self, f: impl FnOnce(T) -> U) -> Fact<U> {
        match self {
            Self::Known { value, source } => Fact::Known { value: f(value), source },
            Self::Absent { absent } => Fact::Absent { absent },
        }
    }

    /// Derives a fact that may fail to exist for a reason of its own.
    pub fn and_then<U>(self, f: impl FnOnce(T) -> Result<U, String>) -> Fact<U> {
        match self {
            Self::Known { value, source } => match f(value) {
                Ok(value) => Fact::Known { value, source },
                Err(why) => Fact::Absent { absent: format!("{source}: {why}") },
            },
            Self::Absent { absent } => Fact::Absent { absent },
        }
    }
}

impl<T> Default for Fact<T> {
    fn default() -> Self {
        Self::absent("not looked for")
    }
}
