//! Traces: sequences of accesses to pages, in memory and in the formats that they are stored in.
//!
//! Readers take anything that can be read; this room opens no file. `format.rs` has the table of formats and tells which one a source
//! has; each format is one file (`binary`, `oracle`, `text`, `perf`) or folder (`damo`). What they share lies below them:
//!
//! ```text
//! format      which format, packed or not
//! binary · oracle · text (layout) · perf, damo (sample_line)
//! lines       lines of a source                numbered    events whose pages have ids of any kind
//! source      bytes, unpacked                  intern      dense numbers for ids
//! digits      numbers in text                  columns     the trace itself; event, error: its parts
//! ```

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

pub use columns::{KeptColumns, Trace, TraceBuilder};
pub use error::{EVENTS_MAX, TraceError, TracePlace};
pub use event::{Event, Op};
pub use format::{FORMATS, FormatRow, TraceFormat, TraceReading, read, read_at_most, write, write_packed};
pub use layout::FieldLayout;
pub use source::TraceSource;
