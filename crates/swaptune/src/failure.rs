//! How a command fails: one sentence, a hint, a fixed exit code.

use std::fmt::Display;

/// Usage or configuration error.
pub const USAGE: u8 = 2;
/// Refused for safety; nothing was changed.
pub const REFUSED: u8 = 3;
/// Findings or drift.
pub const FINDINGS: u8 = 1;

/// A failed command.
#[derive(Debug)]
pub struct Failure {
    /// Exit code.
    pub code: u8,
    /// One sentence: what failed, what was found, what was expected.
    pub message: String,
    /// What to type next; empty when there is nothing.
    pub hint: String,
}

impl Failure {
    /// A failure with this code and sentence.
    pub fn new(code: u8, message: impl Display) -> Self {
        Self { code, message: message.to_string(), hint: String::new() }
    }

    /// The same with a hint.
    pub fn hint(mut self, hint: impl Display) -> Self {
        self.hint = hint.to_string();
        self
    }

    /// Prints it to standard error.
    pub fn report(&self) {
        crate::output::talk(&format!("error: {}", self.message));
        if !self.hint.is_empty() {
            crate::output::talk(&format!("\nhint: {}", self.hint));
        }
    }
}

impl From<swaptune_core::settings::SettingsError> for Failure {
    fn from(error: swaptune_core::settings::SettingsError) -> Self {
        Self::new(USAGE, error).hint("`swaptune knobs` lists every name and range; swaptune(5) shows a whole file")
    }
}
