//! `swaptune watch`: what swap does now, on a screen, as lines, in a recording or for Prometheus.

use std::io::IsTerminal;
use std::net::{SocketAddr, TcpListener};
use std::path::{Path, PathBuf};

use swaptune_core::metrics::{Exposition, Sample, SampleLook, csv_header, csv_line, exposition, report};
use swaptune_host::error_chain;
use swaptune_host::sampling::{SampledParts, Sampler};
use swaptune_host::stop::Stop;
use swaptune_host::sys;
use swaptune_watch::record::{End, RecordError, RecordReader, SampleRecorder};
use swaptune_watch::screen::{self, RecordingState, ScreenMarks, View};
use swaptune_watch::{Pace, SampleSource, once, replace, serve};

use super::Context;
use crate::cli::WatchArgs;
use crate::failure::{Failure, USAGE};
use crate::output;

/// Watches until it is asked to stop.
pub fn run(context: &Context, args: &WatchArgs) -> Result<u8, Failure> {
    exclusive(context, args)?;
    let stop = Stop::on_signals().map_err(|error| Failure::new(1, format!("signals: {error}")))?;
    if let Some(address) = args.listen {
        return listen(context, address, &stop);
    }
    let mut source = source(context, args)?;
    let recorder = args.record.as_deref().map(open).transpose()?;
    let is_lines = args.once || args.csv || context.json || args.textfile.is_some();
    if is_lines {
        lines(context, args, &mut source, recorder, &stop)?;
    } else {
        screen(context, args, &mut source, recorder, &stop)?;
    }
    if let SampleSource::Recording { reader, .. } = &source {
        tell_end(reader.end());
    }
    Ok(0)
}

/// Refuses flags of this command that take no global one beside them. The command line cannot say so: a man page is made of a command by
/// itself, which does not know the flags of the program.
fn exclusive(context: &Context, args: &WatchArgs) -> Result<(), Failure> {
    let json = [("--csv", args.csv), ("--listen", args.listen.is_some()), ("--textfile", args.textfile.is_some())];
    let with_json = json.into_iter().find(|(_, given)| context.json && *given).map(|(flag, _)| ("--json", flag));
    let with_root = (args.replay.is_some() && !context.machine.is_live()).then_some(("--root", "--replay"));
    let Some((global, flag)) = with_json.or(with_root) else { return Ok(()) };
    Err(Failure::new(USAGE, format!("the argument '{global}' cannot be used with '{flag}'")).hint("leave one of them out"))
}

fn source<'a>(context: &'a Context, args: &WatchArgs) -> Result<SampleSource<'a>, Failure> {
    match &args.replay {
        Some(path) => RecordReader::open(path).map(SampleSource::recording).map_err(unreadable),
        None => Ok(SampleSource::machine(&context.machine)),
    }
}

fn unreadable(error: RecordError) -> Failure {
    Failure::new(USAGE, error_chain(&error))
}

fn open(path: &Path) -> Result<SampleRecorder, Failure> {
    // A file that holds something else was named wrongly; one that cannot be written is output like any other.
    let unwritable = |error| match error {
        RecordError::Io { .. } => Failure::new(1, error_chain(&error)),
        other => unreadable(other),
    };
    let recorder = SampleRecorder::open(path).map_err(unwritable)?;
    if recorder.cut > 0 {
        output::message(&format!(
            "{}: cut off {} B of a sample that an earlier run left unfinished",
            path.display(),
            recorder.cut
        ));
    }
    Ok(recorder)
}

fn tell_end(end: End) {
    match end {
        End::Whole => {}
        End::Torn { bytes } => output::message(&format!("the last sample is unfinished and left out ({bytes} B)")),
        End::Damaged { at } => output::message(&format!("damaged at byte {at}: what is behind it is left out")),
    }
}

/// The screen, on a terminal.
fn screen(
    context: &Context,
    args: &WatchArgs,
    source: &mut SampleSource<'_>,
    recorder: Option<SampleRecorder>,
    stop: &Stop,
) -> Result<(), Failure> {
    if !(std::io::stdin().is_terminal() && std::io::stdout().is_terminal()) {
        let failure = Failure::new(USAGE, "the screen needs a terminal");
        return Err(failure.hint("`swaptune watch --once`, `swaptune watch --csv` and `swaptune watch --json` print lines"));
    }
    let path = args.record.clone().unwrap_or_else(|| PathBuf::from("swaptune-watch.swrec"));
    let title =
        args.replay.as_deref().map_or_else(|| context.machine.root().display().to_string(), |path| path.display().to_string());
    let view = View::new(ScreenMarks::of_environment(), title);
    let failed = |error: std::io::Error| Failure::new(1, format!("terminal: {}", error_chain(&error)));
    screen::run(source, view, args.interval, RecordingState { path, recorder }, stop).map_err(failed)
}

/// One look, or one at each tick, as text, JSON, CSV or a file for node_exporter.
fn lines(
    context: &Context,
    args: &WatchArgs,
    source: &mut SampleSource<'_>,
    mut recorder: Option<SampleRecorder>,
    stop: &Stop,
) -> Result<(), Failure> {
    let mut pace = Pace::new(args.interval);
    let mut before: Option<Sample> = None;
    if args.csv {
        output::data(&csv_header())?;
    }
    while let Some(sample) = source.next(SampledParts::ALL) {
        recorder
            .as_mut()
            .map(|recorder| recorder.append(&sample))
            .transpose()
            .map_err(|error| Failure::new(1, error_chain(&error)))?;
        let is_last = !source.goes_on();
        // One look needs two samples where there are two; of a recording it is the last.
        let is_one = if source.is_live() { before.is_some() } else { is_last };
        if (is_one || is_last || !args.once) && !print(context, args, &SampleLook::new(&sample, before.as_ref()))? {
            break;
        }
        before = Some(sample);
        if args.once && is_one || is_last || source.is_live() && !pace.wait(stop) {
            break;
        }
    }
    Ok(())
}

/// Whether there is a reader for more.
fn print(context: &Context, args: &WatchArgs, look: &SampleLook<'_>) -> Result<bool, Failure> {
    match &args.textfile {
        Some(path) => replace(path, &exposition(look, Exposition::Text))
            .map(|()| true)
            .map_err(|error| Failure::new(1, format!("{}: {}", path.display(), error_chain(&error)))),
        None if args.csv => output::stream(&csv_line(look)),
        None if context.json && args.once => output::json(&report(look)).map(|()| true),
        None if context.json => output::stream(&(report(look).to_string() + "\n")),
        None => output::stream(&once(look)),
    }
}

/// Serves OpenMetrics; each answer is a look of its own.
fn listen(context: &Context, address: SocketAddr, stop: &Stop) -> Result<u8, Failure> {
    let failed = |error: std::io::Error| Failure::new(1, format!("{address}: {}", error_chain(&error)));
    let listener = match sys::inherited_listener().map_err(failed)? {
        Some(listener) => listener,
        None => TcpListener::bind(address).map_err(failed)?,
    };
    let bound = listener.local_addr().map_err(failed)?;
    output::message(&format!("http://{bound}/metrics"));
    let mut sampler = Sampler::new(&context.machine);
    let mut before: Option<Sample> = None;
    serve(&listener, stop, || {
        let sample = sampler.look(SampledParts::ALL);
        let page = exposition(&SampleLook::new(&sample, before.as_ref()), Exposition::OpenMetrics);
        before = Some(sample);
        page
    })
    .map_err(failed)?;
    Ok(0)
}
