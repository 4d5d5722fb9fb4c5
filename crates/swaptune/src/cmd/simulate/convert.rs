//! `simulate convert`: a trace, read or generated, in another format.

use swaptune_tiers::trace::KeptColumns;

use super::trace_file;
use crate::cli::ConvertArgs;
use crate::failure::Failure;
use crate::output::{self, text};

/// Reads, writes, and says how much it was.
pub fn run(args: &ConvertArgs) -> Result<u8, Failure> {
    let trace = trace_file::read(&args.workload, KeptColumns::Everything)?;
    trace_file::write(&trace, &args.output)?;
    let pages = text::count(trace.page_count() as usize, "page");
    output::data(&format!("{}: {} of {pages}\n", args.output.display(), text::count(trace.len(), "event"))).map(|()| 0)
}
