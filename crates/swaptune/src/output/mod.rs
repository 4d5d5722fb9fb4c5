//! Everything that is printed: data to standard output, talk to standard error.

pub mod diff;
pub mod facts;
pub mod findings;
pub mod plan;
pub mod proof;
pub mod status;
pub mod text;

use std::io::{ErrorKind, Write};

use serde::Serialize;

use crate::failure::Failure;

/// Prints data. A reader that has gone away (`swaptune plan | head`) ends it without a word.
pub fn data(text: &str) -> Result<(), Failure> {
    match std::io::stdout().lock().write_all(text.as_bytes()) {
        Err(error) if error.kind() != ErrorKind::BrokenPipe => Err(Failure::new(1, format!("standard output: {error}"))),
        _ => Ok(()),
    }
}

/// Prints a line for the person at the terminal. If even that fails there is nobody to tell.
pub fn talk(line: &str) {
    let _ = writeln!(std::io::stderr().lock(), "{line}");
}

/// Prints a value as JSON with a final newline.
pub fn json(value: &impl Serialize) -> Result<(), Failure> {
    let text = serde_json::to_string_pretty(value).map_err(|error| Failure::new(1, format!("JSON: {error}")))?;
    data(&(text + "\n"))
}
