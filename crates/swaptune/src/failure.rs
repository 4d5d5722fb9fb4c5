//! How a command fails: one sentence, a hint, a fixed exit code.

use std::fmt::Display;
use std::path::Path;

pub use crate::cli::{EXIT_CODES, ExitCode, FINDINGS, REFUSED, USAGE};

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

    /// The same for a machine below a folder: what its hint says to type names that folder.
    pub fn at(mut self, root: Option<&Path>) -> Self {
        self.hint = at_root(&self.hint, root);
        self
    }

    /// The sentence and the hint, as they are printed.
    pub fn text(&self) -> String {
        let hint = if self.hint.is_empty() { String::new() } else { format!("\n\nhint: {}", self.hint) };
        format!("error: {}{hint}", self.message)
    }
}

/// Commands that hints name and that would otherwise work on the running machine.
const COMMANDS: [&str; 6] = ["apply", "rollback", "history", "plan", "verify", "watch"];

/// A text with the folder in every command that it names.
pub fn at_root(text: &str, root: Option<&Path>) -> String {
    let Some(root) = root else { return text.to_owned() };
    let program = env!("CARGO_PKG_NAME");
    let below = format!("{program} --root {}", root.display());
    COMMANDS
        .iter()
        .fold(text.to_owned(), |text, command| text.replace(&format!("{program} {command}"), &format!("{below} {command}")))
}

impl From<swaptune_core::settings::SettingsError> for Failure {
    fn from(error: swaptune_core::settings::SettingsError) -> Self {
        Self::new(USAGE, error).hint("`swaptune knobs` lists every name and range; swaptune(5) shows a whole file")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn commands_in_a_hint_name_the_folder() {
        let hint = "finish it with `swaptune apply --resume`, or take it back with `swaptune rollback x`";
        let there =
            "finish it with `swaptune --root /mnt apply --resume`, or take it back with `swaptune --root /mnt rollback x`";
        assert_eq!(at_root(hint, Some(Path::new("/mnt"))), there);
        assert_eq!(at_root(hint, None), hint);
        assert_eq!(at_root("sudo make install", Some(Path::new("/mnt"))), "sudo make install");
    }
}
