//! Traces: sequences of accesses to pages, in memory and in the formats that they are stored in.
//!
//! Readers take anything that can be read; this room opens no file.

pub mod binary;
mod columns;
mod damo;
mod digits;
mod error;
mod event;
mod format;
pub mod intern;
mod layout;
mod lines;
mod numbered;
pub mod oracle;
mod perf;
mod sample_line;
mod source;
pub mod text;

pub use columns::{Builder, Keep, Trace};
pub use error::{EVENTS_MAX, Place, TraceError};
pub use event::{Event, Op};
pub use format::{FORMATS, Format, FormatRow, Reading, read, write};
pub use layout::Layout;
pub use source::Source;
