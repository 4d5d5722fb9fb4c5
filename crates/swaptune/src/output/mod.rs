//! Everything that is printed: data to standard output, messages to standard error.

pub mod cipher;
pub mod codecs;
pub mod codecs_kernel;
pub mod compare;
pub mod daemon;
pub mod density;
pub mod diff;
pub mod disk;
pub mod facts;
pub mod findings;
pub mod fit;
pub mod fleet;
pub mod measurement;
pub mod memory;
pub mod plan;
pub mod progress;
pub mod proof;
pub mod quickstart;
pub mod record;
pub mod report;
pub mod sample;
pub mod scenario;
pub mod scenario_html;
pub mod simulate;
pub mod status;
pub mod swap;
pub mod text;

use std::io::{ErrorKind, Write};

use serde::Serialize;
use swaptune_core::escape::visible_lines;

use crate::failure::Failure;

/// Prints data. What names of this or another machine hold does nothing to a terminal. A reader that has gone away (`swaptune plan | head`) ends it without a word.
pub fn data(text: &str) -> Result<(), Failure> {
    stream(text).map(drop)
}

/// The same for what does not end by itself: whether its reader is still there.
pub fn stream(text: &str) -> Result<bool, Failure> {
    match std::io::stdout().lock().write_all(visible_lines(text).as_bytes()) {
        Err(error) if error.kind() == ErrorKind::BrokenPipe => Ok(false),
        Err(error) => Err(Failure::new(1, format!("standard output: {error}"))),
        Ok(()) => Ok(true),
    }
}

/// Prints a line to standard error, with names made visible as in [`data`]. An error of that is ignored: there is no other place to report it.
pub fn message(line: &str) {
    let _ = writeln!(std::io::stderr().lock(), "{}", visible_lines(line));
}

/// Prints to standard error without an end of the line, for a question or for progress. An error is ignored, as that of [`message`]: a
/// terminal may be closed while something has to be put back.
pub fn unended(text: &str) {
    let _ = std::io::stderr().lock().write_all(text.as_bytes());
}

/// Version of the JSON forms that carry none of their own.
const SCHEMA: u32 = 1;

/// A value and the version of its form.
#[derive(Serialize)]
struct Versioned<'a, T: Serialize> {
    schema: u32,
    #[serde(flatten)]
    value: &'a T,
}

/// Prints a value that carries its schema version as JSON with a final newline.
pub fn json(value: &impl Serialize) -> Result<(), Failure> {
    let text = serde_json::to_string_pretty(value).map_err(|error| Failure::new(1, format!("JSON: {error}")))?;
    data(&(text + "\n"))
}

/// Prints a structure that carries no schema version, with one.
pub fn json_versioned(value: &impl Serialize) -> Result<(), Failure> {
    json(&Versioned { schema: SCHEMA, value })
}
