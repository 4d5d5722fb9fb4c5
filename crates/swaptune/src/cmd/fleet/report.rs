//! `swaptune fleet report`: what machines hold together, from the status of each.

use std::path::Path;

use swaptune_core::fleet::FleetState;
use swaptune_core::memory_map::MemoryMap;

use super::{files, kept, sum};
use crate::cli::FleetReportArgs;
use crate::cmd::Context;
use crate::failure::{FINDINGS, Failure};
use crate::output::fleet::report as shown;
use crate::output::{self, report};

/// Sums and prints.
pub(super) fn run(context: &Context, args: &FleetReportArgs) -> Result<u8, Failure> {
    let files = files(&args.status, "`swaptune status --json > NAME.json` on each machine")?;
    let one = |path: &Path| kept::<MemoryMap>(path, "status");
    let (state, unread) = sum(&files, "reading", one, |state: &mut FleetState, name, map| state.add(name, &map))?;
    let all = shown::FleetReport { state, unread };
    if context.json {
        output::json_versioned(&all)?;
    } else {
        output::data(&shown::text(&all))?;
    }
    if let Some(path) = &args.html {
        report::write(path, &shown::html(&all))?;
    }
    Ok(if all.unread.is_empty() { 0 } else { FINDINGS })
}
