//! `swaptune inspect`: the facts, or a capture of the files that they come from.

use swaptune_host::capture::{CaptureError, capture};
use swaptune_host::inspect::{InspectScope, inspect};

use super::Context;
use crate::cli::InspectArgs;
use crate::failure::{Failure, USAGE};
use crate::output;

/// Prints the facts, or copies what they were read from.
pub fn run(context: &Context, args: &InspectArgs) -> Result<u8, Failure> {
    if let Some(dir) = &args.capture {
        let failed = |error: CaptureError| match error {
            CaptureError::NotEmpty { .. } => Failure::new(USAGE, error),
            CaptureError::Write { .. } => Failure::new(1, error),
        };
        let hint = "name a folder that does not exist yet, or an empty one";
        let report = capture(&context.machine, dir).map_err(|error| failed(error).hint(hint))?;
        output::message(&report.to_string());
        return Ok(0);
    }
    let facts = inspect(&context.machine, InspectScope::FULL);
    if context.json {
        output::json(&facts)?;
    } else {
        output::data(&output::facts::text(&facts))?;
    }
    Ok(0)
}
