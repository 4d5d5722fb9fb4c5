//! Reads, generates and writes traces.

use std::fs::File;
use std::io::stdin;
use std::os::unix::fs::FileTypeExt;
use std::path::Path;

use swaptune_core::Bytes;
use swaptune_core::parse::keyed::meminfo;
use swaptune_host::machine::Machine;
use swaptune_tiers::generate::{GenerateError, generate_at_most};
use swaptune_tiers::trace::{
    EVENTS_MAX, FORMATS, FieldLayout, KeptColumns, Trace, TraceError, TraceFormat, TraceReading, read_at_most,
    write as write_trace, write_packed,
};

use crate::cli::TraceArgs;
use crate::cmd::partial::Partial;
use crate::failure::{Failure, USAGE};
use crate::output::progress::ProgressLine;

/// Bytes of memory that an event takes at most while a trace is read and replayed: its columns, the page, and what grows meanwhile.
const BYTES_OF_EVENT: u64 = 32;
/// What helps where a trace has more events than memory holds.
const TOO_LONG: &str = "half of the available memory holds no more: read a part, or on a machine with more memory";

/// Most events of a trace: as many as half of the available memory holds. A source without end would take all of it.
pub fn events_max() -> u64 {
    let text = Machine::live().read_text("/proc/meminfo").unwrap_or_default();
    meminfo(&text).get("MemAvailable").map_or(EVENTS_MAX, |&available| events_max_in(available))
}

fn events_max_in(available: Bytes) -> u64 {
    (available.0 / 2 / BYTES_OF_EVENT).min(EVENTS_MAX)
}

/// Opens a file or a pipe. A device has no end.
pub fn open(path: &Path) -> std::io::Result<File> {
    let file = File::open(path)?;
    if file.metadata()?.file_type().is_char_device() {
        return Err(std::io::Error::other("found a device, expected a file or a pipe"));
    }
    Ok(file)
}

/// The trace that the flags name, read or generated.
pub fn read(args: &TraceArgs, keep: KeptColumns) -> Result<Trace, Failure> {
    let progress = ProgressLine::start();
    progress.show(if args.trace.is_some() { "reading the trace" } else { "generating the trace" }, 0, 1);
    let Some(path) = &args.trace else {
        let spec = args.generate.as_deref().unwrap_or_default();
        return generate_at_most(spec, events_max()).map_err(|error| no_generator(&error));
    };
    let reading = TraceReading { format: format(args)?, layout: layout(args)?, keep };
    let found = if path == Path::new("-") {
        read_at_most(stdin().lock(), &reading, events_max())
    } else {
        let hint = "--trace takes the path of a file of accesses; without a file, --generate makes a trace";
        read_at_most(
            open(path).map_err(|error| Failure::new(USAGE, format!("{}: {error}", path.display())).hint(hint))?,
            &reading,
            events_max(),
        )
    };
    let hint = "--format says what the file is; `swaptune simulate list` describes each";
    let wrong = |error: TraceError| match &error {
        TraceError::TooLong { .. } => Failure::new(USAGE, format!("{}: {error}", path.display())).hint(TOO_LONG),
        TraceError::Packed { unpack, .. } => {
            let pipe = format!("{unpack} {} | swaptune simulate run --trace -", path.display());
            Failure::new(USAGE, format!("{}: {error}", path.display())).hint(pipe)
        }
        _ => Failure::new(USAGE, format!("{}: {error}", path.display())).hint(hint),
    };
    let trace = found.map_err(wrong)?;
    if trace.is_empty() {
        return Err(Failure::new(USAGE, format!("{}: found no events, expected at least one", path.display())).hint(hint));
    }
    Ok(trace)
}

/// Writes it in the format that the name tells: whole, or not at all.
pub fn write(trace: &Trace, path: &Path) -> Result<(), Failure> {
    let Some(format) = TraceFormat::of_name(&path.to_string_lossy()) else {
        let endings: Vec<&str> = FORMATS.iter().flat_map(|row| row.endings).copied().collect();
        let message = format!("--output {}: no format has this ending", path.display());
        return Err(Failure::new(USAGE, message).hint(format!("end the name with one of {}", endings.join(", "))));
    };
    if !format.can_say(trace) {
        let message = format!(
            "--output {}: found a trace that gives pages back, expected accesses only: records of libCacheSim have no other operation",
            path.display()
        );
        return Err(Failure::new(USAGE, message).hint("end the name with .swtrace or .csv"));
    }
    let is_packed = TraceFormat::is_packed_name(&path.to_string_lossy());
    let store = || {
        let (partial, mut out) = Partial::beside(path)?;
        if is_packed {
            write_packed(trace, format, &mut out)?
        } else {
            write_trace(trace, format, &mut out)?
        }
        partial.finished(out, path)
    };
    store().map_err(|error| Failure::new(1, format!("{}: {error}", path.display())))
}

fn format(args: &TraceArgs) -> Result<Option<TraceFormat>, Failure> {
    let Some(name) = &args.format else { return Ok(None) };
    let known: Vec<&str> = FORMATS.iter().map(|row| row.name).collect();
    let unknown = || Failure::new(USAGE, format!("--format: unknown format `{name}`; expected one of {}", known.join(", ")));
    TraceFormat::named(name).map(Some).ok_or_else(unknown)
}

fn layout(args: &TraceArgs) -> Result<Option<FieldLayout>, Failure> {
    let parse = |text: &String| FieldLayout::parse(text).map_err(|error| Failure::new(USAGE, format!("--columns: {error}")));
    args.columns.as_ref().map(parse).transpose()
}

fn no_generator(error: &GenerateError) -> Failure {
    if matches!(error, GenerateError::Trace(TraceError::TooLong { .. })) {
        let hint = "half of the available memory holds no more: ask for fewer events or pages, or a machine with more memory";
        return Failure::new(USAGE, format!("--generate: {error}")).hint(hint);
    }
    Failure::new(USAGE, format!("--generate: {error}")).hint("`swaptune simulate list` shows generators and their parameters")
}

#[cfg(test)]
mod tests {
    use swaptune_tiers::generate::generate;

    use super::*;

    #[test]
    fn a_trace_takes_no_more_than_half_of_what_is_available() {
        assert_eq!(events_max_in(Bytes::from_gib(4)) * BYTES_OF_EVENT, Bytes::from_gib(2).0);
        assert_eq!(events_max_in(Bytes(u64::MAX)), EVENTS_MAX);
        assert!(
            events_max() < EVENTS_MAX
                || Bytes::from_gib(256).0 < meminfo(&Machine::live().read_text("/proc/meminfo").unwrap())["MemAvailable"].0
        );
    }

    #[test]
    fn a_name_that_says_zstd_is_written_so() {
        let trace = generate("hold:pages=50").unwrap();
        let folder = tempfile::tempdir().unwrap();
        let bytes = |name: &str| {
            write(&trace, &folder.path().join(name)).map(|()| std::fs::read(folder.path().join(name)).unwrap()).ok().unwrap()
        };
        assert!(bytes("a.csv.zst").starts_with(&[0x28, 0xb5, 0x2f, 0xfd]) && bytes("a.csv").starts_with(b"time_ns,"));
    }

    #[test]
    fn a_device_is_no_trace() {
        let error = open(Path::new("/dev/zero")).unwrap_err();
        assert_eq!(error.to_string(), "found a device, expected a file or a pipe");
        assert!(open(Path::new("/proc/self/cmdline")).is_ok());
    }
}
