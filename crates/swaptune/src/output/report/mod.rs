//! Reports: one file of HTML each, with pictures, that needs no other file, no network and no script.
//!
//! A [`HtmlPage`] takes text, tables and [`svg::Picture`]s and escapes what it is given: names of processes and what was typed are text here, whatever
//! they hold. Pictures are as wide as the window, with letters of the same size in each.

mod axis;
mod escape;
mod page;
mod style;
mod svg;

pub use page::HtmlPage;
pub use style::{STEPS, colour};
pub use svg::{Bar, Chart, bars, intervals, lines, stacks, strip};

use std::io;
use std::path::Path;

use swaptune_bench::results;

use super::message;
use crate::failure::Failure;

/// Writes the report that `--html FILE` asks for and says where it is; a file that is there is replaced.
pub fn write(path: &Path, html: &str) -> Result<(), Failure> {
    std::fs::write(path, html).map_err(|error| failed(path, &error))?;
    message(&format!("report: {}", path.display()));
    Ok(())
}

/// Refuses a page that could not be written later, before what it shall show is measured.
pub fn can_be_written(path: &Path) -> Result<(), Failure> {
    results::can_be_written(path).map_err(|error| failed(path, &error).hint("name a file in a folder that is there"))
}

fn failed(path: &Path, error: &io::Error) -> Failure {
    Failure::new(1, format!("--html {}: {error}", path.display()))
}
