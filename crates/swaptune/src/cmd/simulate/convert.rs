//! `simulate convert`: a trace, read or generated, in another format.

use serde::Serialize;
use swaptune_tiers::trace::KeptColumns;

use super::trace_file;
use crate::cli::ConvertArgs;
use crate::cmd::Context;
use crate::cmd::partial::refuse_existing;
use crate::failure::Failure;
use crate::output::{self, text};

/// What was written.
#[derive(Serialize)]
struct ConvertedTrace {
    file: String,
    events: usize,
    pages: u32,
}

/// Reads, writes, and says how much it was.
pub fn run(context: &Context, args: &ConvertArgs) -> Result<u8, Failure> {
    refuse_existing("--output", &args.output, args.overwrite)?;
    let trace = trace_file::read(&args.workload, KeptColumns::Everything)?;
    trace_file::write(&trace, &args.output)?;
    if context.json {
        let written = ConvertedTrace { file: args.output.display().to_string(), events: trace.len(), pages: trace.page_count() };
        return output::json_versioned(&written).map(|()| 0);
    }
    let pages = text::count(trace.page_count() as usize, "page");
    output::data(&format!("{}: {} of {pages}\n", args.output.display(), text::count(trace.len(), "event"))).map(|()| 0)
}
