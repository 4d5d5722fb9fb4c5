//! `swaptune sample --record`: which pages are used, as a trace.

use std::fs::{self, File, OpenOptions};
use std::io::{self, BufWriter};
use std::path::{Path, PathBuf};
use std::time::Duration;

use swaptune_bench::sample::record::{AccessRecordError, AccessRecording, RecordRequest, record};
use swaptune_host::stop::Stop;

use super::choice;
use crate::cli::{GroupBy, SampleArgs};
use crate::cmd::Context;
use crate::failure::{Failure, REFUSED, USAGE};
use crate::output::progress::ProgressLine;
use crate::output::{self, record as page, text};

/// Records into `file` and prints what it holds.
pub fn run(context: &Context, args: &SampleArgs, file: &Path) -> Result<u8, Failure> {
    if file.exists() && !args.overwrite {
        let message = format!("--record {}: the file is there already", file.display());
        return Err(Failure::new(REFUSED, message).hint("name another one, or replace it with --overwrite"));
    }
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
    out.into_inner().map_err(io::IntoInnerError::into_error).and_then(|file| file.sync_all()).map_err(failed)?;
    partial.becomes(file).map_err(failed)?;
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

/// A file that is not whole yet; it goes when it is dropped.
struct Partial(PathBuf);

impl Partial {
    /// Beside the file that it is to become, so that it can be renamed. The number of this process keeps two recordings apart.
    fn beside(file: &Path) -> io::Result<(Self, BufWriter<File>)> {
        let name = file.file_name().ok_or_else(|| io::Error::new(io::ErrorKind::InvalidInput, "expected the name of a file"))?;
        let path = file.with_file_name(format!(".{}.{}.partial", name.to_string_lossy(), std::process::id()));
        let out = OpenOptions::new().write(true).create_new(true).open(&path)?;
        Ok((Self(path), BufWriter::with_capacity(1 << 20, out)))
    }

    fn becomes(self, file: &Path) -> io::Result<()> {
        fs::rename(&self.0, file)
    }
}

impl Drop for Partial {
    fn drop(&mut self) {
        // Renamed already is fine.
        let _ = fs::remove_file(&self.0);
    }
}
