//! `swaptune inspect`: the facts, or a capture of the files that they come from.

use swaptune_host::capture::capture;
use swaptune_host::inspect::{InspectScope, inspect};

use super::Context;
use crate::cli::InspectArgs;
use crate::failure::{Failure, USAGE};
use crate::output;

/// Prints the facts, or copies what they were read from.
pub fn run(context: &Context, args: &InspectArgs) -> Result<u8, Failure> {
    if let Some(dir) = &args.capture {
        let report = capture(&context.machine, dir)
            .map_err(|error| Failure::new(USAGE, error).hint("name a folder that does not exist yet, or an empty one"))?;
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
