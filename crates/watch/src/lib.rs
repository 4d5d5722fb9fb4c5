//! Watching a machine: a screen, a recording, a listener, lines of text. All of it shows the one table of `swaptune_core::metrics`.
//!
//! Nothing here changes the machine. What is written is a file that was asked for: a recording, or a text file for node_exporter.
#![forbid(unsafe_code)]

mod daemon;
mod pace;
pub mod record;
pub mod screen;
mod serve;
pub mod source;
mod text;
mod textfile;

pub use pace::Pace;
pub use serve::serve;
pub use source::SampleSource;
pub use text::once;
pub use textfile::replace;
