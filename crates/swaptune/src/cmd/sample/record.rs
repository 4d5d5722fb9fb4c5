//! `swaptune sample --record`: which pages are used, as a trace.

use std::io;
use std::path::Path;
use std::time::Duration;

use swaptune_bench::sample::record::{AccessRecordError, AccessRecording, RecordRequest, record};
use swaptune_host::stop::Stop;

use super::choice;
use crate::cli::{GroupBy, SampleArgs};
use crate::cmd::Context;
use crate::cmd::partial::{Partial, refuse_existing};
use crate::failure::{Failure, USAGE};
use crate::output::progress::ProgressLine;
use crate::output::{self, record as page, text};

/// Records into `file` and prints what it holds.
pub fn run(context: &Context, args: &SampleArgs, file: &Path) -> Result<u8, Failure> {
    refuse_existing("--record", file, args.overwrite)?;
    let choice = choice(args);
    let by_unit = args.by.map_or(choice.is_everything(), |by| by == GroupBy::Unit);
    let request = RecordRequest { choice, by_unit, interval: args.interval, length: args.length };
    let failed = |error: io::Error| Failure::new(1, format!("--record {}: {error}", file.display()));
    let stop = Stop::on_signals().map_err(failed)?;
    let (partial, out) = Partial::beside(file).map_err(failed)?;
    let (recording, out) = {
        let progress = ProgressLine::start();
        let mut on = |at: Duration, so_far: &AccessRecording| show(&progress, &request, at, so_far);
        record(&context.machine, &request, out, &stop, &mut on).map_err(|error| failure(error, file))?
    };
    partial.finished(out, file).map_err(failed)?;
    if context.json {
        output::json_versioned(&recording)?;
    } else {
        output::data(&page::text(&recording, file))?;
    }
    Ok(0)
}

fn show(progress: &ProgressLine, request: &RecordRequest, at: Duration, so_far: &AccessRecording) {
    let millis = |time: Duration| usize::try_from(time.as_millis()).unwrap_or(usize::MAX);
    let events = usize::try_from(so_far.events.all()).unwrap_or(usize::MAX);
    let what = format!("recording: {}, {}", text::count(so_far.looks as usize, "look"), text::count(events, "event"));
    progress.show(&what, millis(at), millis(request.length));
}

fn failure(error: AccessRecordError, file: &Path) -> Failure {
    match error {
        AccessRecordError::Nothing(nothing) => Failure::from(nothing),
        AccessRecordError::Groups => Failure::new(USAGE, error).hint("name fewer processes, or --by unit"),
        AccessRecordError::Io(error) => Failure::new(1, format!("--record {}: {error}", file.display())),
    }
}
