//! Many machines.

pub mod plan;
pub mod report;

use std::path::PathBuf;

use serde::Serialize;

use super::text::count;

/// A file that does not hold what it should.
#[derive(Debug, Serialize)]
pub struct Unread {
    /// The file.
    pub file: PathBuf,
    /// Why, as one sentence.
    pub why: String,
}

/// A number of machines, in words.
fn machines(number: u64) -> String {
    count(usize::try_from(number).unwrap_or(usize::MAX), "machine")
}

/// A line for each file that could not be read.
fn unread(unread: &[Unread]) -> impl Iterator<Item = String> {
    unread.iter().map(|unread| format!("{}: {}", unread.file.display(), unread.why))
}
