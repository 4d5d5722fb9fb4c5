//! Where a trace comes from and goes to.

use std::fs::File;
use std::io::{BufWriter, Write, stdin};
use std::path::Path;

use swaptune_tiers::generate::{GenerateError, generate};
use swaptune_tiers::trace::{FORMATS, Format, Keep, Layout, Reading, Trace, read, write as write_trace};

use crate::cli::SimulateArgs;
use crate::failure::{Failure, USAGE};

/// The trace that the flags name.
pub fn trace(args: &SimulateArgs, keep: Keep) -> Result<Trace, Failure> {
    let Some(path) = &args.trace else {
        return generate(args.generate.as_deref().unwrap_or_default()).map_err(|error| no_generator(&error));
    };
    let reading = Reading { format: format(args)?, layout: layout(args)?, keep };
    let found = if path == Path::new("-") {
        read(stdin().lock(), &reading)
    } else {
        let hint = "--trace takes the path of a file of accesses; --generate makes one";
        read(File::open(path).map_err(|error| Failure::new(USAGE, format!("{}: {error}", path.display())).hint(hint))?, &reading)
    };
    let hint = "--format says what the file is; `swaptune simulate --list` describes each";
    let trace = found.map_err(|error| Failure::new(USAGE, format!("{}: {error}", path.display())).hint(hint))?;
    if trace.is_empty() {
        return Err(Failure::new(USAGE, format!("{}: found no events, expected at least one", path.display())).hint(hint));
    }
    Ok(trace)
}

/// Writes it in the format that the name tells.
pub fn write(trace: &Trace, path: &Path) -> Result<(), Failure> {
    let Some(format) = Format::of_name(&path.to_string_lossy()) else {
        let endings: Vec<&str> = FORMATS.iter().flat_map(|row| row.endings).copied().collect();
        let message = format!("--output {}: the end of the name tells no format", path.display());
        return Err(Failure::new(USAGE, message).hint(format!("end it with one of {}", endings.join(", "))));
    };
    let store = || {
        let mut out = BufWriter::with_capacity(1 << 20, File::create(path)?);
        write_trace(trace, format, &mut out)?;
        out.flush()
    };
    store().map_err(|error| Failure::new(1, format!("{}: {error}", path.display())))
}

fn format(args: &SimulateArgs) -> Result<Option<Format>, Failure> {
    let Some(name) = &args.format else { return Ok(None) };
    let known: Vec<&str> = FORMATS.iter().map(|row| row.name).collect();
    let unknown = || Failure::new(USAGE, format!("--format {name}: expected one of {}", known.join(", ")));
    Format::named(name).map(Some).ok_or_else(unknown)
}

fn layout(args: &SimulateArgs) -> Result<Option<Layout>, Failure> {
    let parse = |text: &String| Layout::parse(text).map_err(|error| Failure::new(USAGE, format!("--columns: {error}")));
    args.columns.as_ref().map(parse).transpose()
}

fn no_generator(error: &GenerateError) -> Failure {
    Failure::new(USAGE, format!("--generate: {error}")).hint("`swaptune simulate --list` shows generators and their parameters")
}
