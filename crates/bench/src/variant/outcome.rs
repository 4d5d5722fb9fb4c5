//! What comes of runs with several configurations.

use serde::Serialize;

/// A configuration without a result, and why.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Skipped {
    /// Its name.
    pub variant: String,
    /// The reason, as one sentence for the user.
    pub why: String,
}

/// What came of all of them; `F` is the result of one.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct VariantOutcome<F> {
    /// Results, in the order of the configurations.
    pub figures: Vec<F>,
    /// Configurations without one.
    pub skipped: Vec<Skipped>,
    /// True when it was stopped before all rounds were done.
    pub stopped: bool,
    /// What a killed run had left and was put back first.
    pub recovered: Option<String>,
}

impl<F> Default for VariantOutcome<F> {
    fn default() -> Self {
        Self { figures: Vec::new(), skipped: Vec::new(), stopped: false, recovered: None }
    }
}
