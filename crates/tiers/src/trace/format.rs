//! The formats, in one table, and which one a source has.

use std::io::{self, Read, Write};

use super::columns::{KeptColumns, Trace};
use super::error::{EVENTS_MAX, TraceError, TracePlace};
use super::layout::FieldLayout;
use super::source::{TraceSource, is_json, packer};
use super::{binary, damo, oracle, perf, sample_line, text};

/// A form that traces are stored in. Each may be zstd-compressed when it is read; some can only be read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TraceFormat {
    /// swaptune's own.
    Swaptune,
    /// Text, CSV.
    Text,
    /// libCacheSim's binary records.
    OracleGeneral,
    /// Samples with addresses, as perf prints them.
    Perf,
    /// What DAMON saw, as damo writes it.
    Damo,
}

type ReadFn = fn(TraceSource<'_>, &TraceReading) -> Result<Trace, TraceError>;
type WriteFn = fn(&Trace, &mut dyn Write) -> io::Result<()>;

/// A row of the table of formats.
#[derive(Clone, Copy, Debug)]
pub struct FormatRow {
    /// Which one.
    pub format: TraceFormat,
    /// Its name on the command line.
    pub name: &'static str,
    /// Ends of file names that tell it, in lower case; none for what is only read.
    pub endings: &'static [&'static str],
    /// What it is, in one sentence.
    pub doc: &'static str,
    read: ReadFn,
    write: Option<WriteFn>,
}

impl FormatRow {
    /// Whether traces can be written in it, not only read.
    #[must_use]
    pub fn is_written(&self) -> bool {
        self.write.is_some()
    }
}

/// All formats.
pub static FORMATS: [FormatRow; 5] = [
    FormatRow {
        format: TraceFormat::Swaptune,
        name: "swaptune",
        endings: &[".swtrace"],
        doc: "columns in blocks with checksums; keeps everything an event has",
        read: |source, reading| binary::read(source, reading.keep),
        write: Some(|trace, mut out| binary::write(trace, &mut out)),
    },
    FormatRow {
        format: TraceFormat::Text,
        name: "text",
        endings: &[".csv", ".txt", ".text", ".tsv"],
        doc: "one event a line: a page, or time, page, operation, cgroup, or columns that the first line names",
        read: |source, reading| text::read(source, reading.keep, reading.layout.clone()),
        write: Some(|trace, mut out| text::write(trace, &mut out)),
    },
    FormatRow {
        format: TraceFormat::OracleGeneral,
        name: "oracle-general",
        endings: &[".oraclegeneral", ".oraclegeneral.bin"],
        doc: "records of 24 bytes, as libCacheSim publishes its traces",
        read: |source, reading| oracle::read(source, reading.keep),
        write: Some(|trace, mut out| oracle::write(trace, &mut out)),
    },
    FormatRow {
        format: TraceFormat::Perf,
        name: "perf",
        endings: &[],
        doc: "page faults, loads or stores with their addresses, as perf script prints them",
        read: |source, reading| perf::read(source, reading.keep),
        write: None,
    },
    FormatRow {
        format: TraceFormat::Damo,
        name: "damo",
        endings: &[],
        doc: "regions of memory and how often DAMON saw them accessed, as damo records and reports them",
        read: |source, reading| damo::read(source, reading.keep),
        write: None,
    },
];

impl TraceFormat {
    /// The format of this name.
    #[must_use]
    pub fn named(name: &str) -> Option<Self> {
        FORMATS.iter().find(|row| row.name == name).map(|row| row.format)
    }

    /// The format that the end of a file name tells, whether or not `.zst` stands behind it.
    #[must_use]
    pub fn of_name(name: &str) -> Option<Self> {
        let name = name.to_ascii_lowercase();
        let name = name.strip_suffix(".zst").unwrap_or(&name);
        FORMATS.iter().find(|row| row.endings.iter().any(|ending| name.ends_with(ending))).map(|row| row.format)
    }

    /// Whether a file of this name is zstd-compressed.
    #[must_use]
    pub fn is_packed_name(name: &str) -> bool {
        name.to_ascii_lowercase().ends_with(".zst")
    }

    /// The format that the first bytes tell: records have no mark, so they are what is neither marked nor text.
    fn of_head(head: &[u8]) -> Self {
        let control = |byte: &u8| !matches!(byte, b'\t' | b'\n' | b'\r' | b' '..=b'~' | 0x80..);
        if head.starts_with(&binary::MAGIC) {
            Self::Swaptune
        } else if head.starts_with(perf::BINARY) {
            Self::Perf
        } else if head.iter().any(control) {
            Self::OracleGeneral
        } else {
            Self::of_text(head)
        }
    }

    /// The format of text that begins so.
    fn of_text(head: &[u8]) -> Self {
        let mut lines = head.split(|&byte| byte == b'\n').map(<[u8]>::trim_ascii);
        match lines.find(|line| !matches!(line.first(), None | Some(b'#'))) {
            _ if is_json(head) => Self::Damo,
            Some(line) if damo::text::is_line(line) => Self::Damo,
            Some(line) if sample_line::SampleLine::split(line).is_some() => Self::Perf,
            // `perf script --header` begins with more comments than are looked at here.
            None if head.starts_with(b"# ========") => Self::Perf,
            _ => Self::Text,
        }
    }

    /// Whether a trace can be written in it without becoming another one: records have no place for an operation, and a page that is given back
    /// would be read.
    #[must_use]
    pub fn can_say(self, trace: &Trace) -> bool {
        self != Self::OracleGeneral || trace.frees().is_none()
    }

    fn row(self) -> &'static FormatRow {
        const { assert!(FORMATS.len() == Self::Damo as usize + 1, "a row for each, in their order") };
        &FORMATS[self as usize]
    }
}

/// How a trace is to be read.
#[derive(Clone, Debug)]
pub struct TraceReading {
    /// Its format; for `None`, what its first bytes tell.
    pub format: Option<TraceFormat>,
    /// Where in a line of text things stand; for `None`, as [`text`] says.
    pub layout: Option<FieldLayout>,
    /// What is kept of it.
    pub keep: KeptColumns,
}

/// Reads a trace, zstd-compressed or not.
///
/// # Errors
/// When the source fails or is not of the format; the error names the line, record or block.
pub fn read(input: impl Read, reading: &TraceReading) -> Result<Trace, TraceError> {
    read_at_most(input, reading, EVENTS_MAX)
}

/// The same, of a trace that has no more events than `most`: what the memory of this machine holds is not known here.
///
/// # Errors
/// As [`read`], and when there are more.
pub fn read_at_most(input: impl Read, reading: &TraceReading, most: u64) -> Result<Trace, TraceError> {
    let fail = |source: io::Error| TraceError::Read { place: TracePlace::Header, source };
    let mut source = TraceSource::new(input).map_err(fail)?.at_most(most);
    let format = match reading.format {
        Some(format) => format,
        None => {
            let head = source.peek().map_err(fail)?;
            packer(head).map_or(Ok(()), |(by, unpack)| Err(TraceError::Packed { by, unpack }))?;
            TraceFormat::of_head(head)
        }
    };
    if reading.layout.is_some() && format != TraceFormat::Text {
        let found = format!("columns for a trace of the format {}", format.row().name);
        return Err(TraceError::malformed(
            TracePlace::Header,
            found,
            "them for text alone: leave --columns out, or say --format text",
        ));
    }
    (format.row().read)(source, reading)?.in_order()
}

/// Writes a trace.
///
/// # Errors
/// When writing fails, or the format is one that is only read.
pub fn write(trace: &Trace, format: TraceFormat, out: &mut impl Write) -> io::Result<()> {
    let row = format.row();
    let only_read = || io::Error::new(io::ErrorKind::Unsupported, format!("the format {} is only read", row.name));
    row.write.ok_or_else(only_read)?(trace, out)
}

/// The same, zstd-compressed.
///
/// # Errors
/// As [`write()`].
pub fn write_packed(trace: &Trace, format: TraceFormat, out: &mut impl Write) -> io::Result<()> {
    let mut frame = zstd::Encoder::new(out, zstd::DEFAULT_COMPRESSION_LEVEL)?;
    write(trace, format, &mut frame)?;
    frame.finish().map(drop)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::trace::{Event, Op, TraceBuilder};

    fn guess() -> TraceReading {
        TraceReading { format: None, layout: None, keep: KeptColumns::Pages }
    }

    #[test]
    fn every_format_is_told_by_its_bytes_packed_or_not() {
        let mut builder = TraceBuilder::new(KeptColumns::Pages);
        for page in [0, 1, 2, 0, 3, 1] {
            builder.push(Event { page, ..Event::default() }).unwrap();
        }
        let trace = builder.finish(None).unwrap();
        for row in FORMATS.iter().filter(|row| row.is_written()) {
            let mut bytes = Vec::new();
            write(&trace, row.format, &mut bytes).unwrap();
            assert_eq!(read(&bytes[..], &guess()).unwrap().pages(), trace.pages(), "{}", row.name);
            let mut packed = Vec::new();
            write_packed(&trace, row.format, &mut packed).unwrap();
            assert!(packed.starts_with(&[0x28, 0xb5, 0x2f, 0xfd]), "{}", row.name);
            assert_eq!(read(&packed[..], &guess()).unwrap().pages(), trace.pages(), "{} packed", row.name);
            assert_eq!(TraceFormat::named(row.name), Some(row.format));
            for ending in row.endings {
                assert_eq!(TraceFormat::of_name(&format!("X{}.zst", ending.to_uppercase())), Some(row.format));
            }
        }
        assert_eq!(TraceFormat::of_name("trace.bin"), None);
        assert!(TraceFormat::is_packed_name("a.CSV.zst") && !TraceFormat::is_packed_name("a.zst.csv"));
        assert!(FORMATS.iter().all(|row| row.format.row().name == row.name));
        let error = write(&trace, TraceFormat::Perf, &mut Vec::new()).unwrap_err();
        assert_eq!(error.to_string(), "the format perf is only read");
    }

    #[test]
    fn columns_are_of_text_alone() {
        let reading = TraceReading { layout: Some(FieldLayout::parse("page=1").unwrap()), ..guess() };
        assert_eq!(read(&b"7\n8\n"[..], &reading).unwrap().len(), 2);
        let error = read(&[0; 48][..], &reading).unwrap_err().to_string();
        assert!(
            error.contains("found columns for a trace of the format oracle-general, expected them for text alone"),
            "{error}"
        );
    }

    #[test]
    fn records_cannot_say_that_a_page_is_given_back() {
        let trace = |ops: [Op; 2]| {
            let mut builder = TraceBuilder::new(KeptColumns::Pages);
            ops.into_iter().for_each(|op| builder.push(Event { op, ..Event::default() }).unwrap());
            builder.finish(None).unwrap()
        };
        let can = |ops| FORMATS.iter().filter(|row| row.format.can_say(&trace(ops))).count();
        assert_eq!((can([Op::Read, Op::Write]), can([Op::Write, Op::Free])), (FORMATS.len(), FORMATS.len() - 1));
        assert!(!TraceFormat::OracleGeneral.can_say(&trace([Op::Free, Op::Free])));
    }

    #[test]
    fn what_others_packed_is_no_record() {
        let says = |bytes: &[u8]| read(&[bytes, &[0; 48]].concat()[..], &guess()).map_err(|error| error.to_string());
        for (bytes, by, unpack) in [
            (&b"\x1f\x8b\x08\0"[..], "gzip", "zcat"),
            (b"\xfd7zXZ\0", "xz", "xzcat"),
            (b"BZh91AY&SY", "bzip2", "bzcat"),
            (b"\x04\"M\x18", "lz4", "lz4cat"),
        ] {
            let expected = format!("found a file packed by {by}, expected plain bytes or zstd: unpack it with {unpack}");
            assert_eq!(says(bytes).unwrap_err(), expected);
        }
        assert_eq!(read(&b"BZh,page\n1,2\n"[..], &guess()).unwrap().len(), 1, "a column of that name");
    }

    #[test]
    fn times_that_go_back_a_little_are_held_and_others_refused_in_every_format() {
        let reading = TraceReading { keep: KeptColumns::Everything, ..guess() };
        let trace = |seconds: [u64; 4]| {
            let mut builder = TraceBuilder::new(KeptColumns::Everything);
            for time in seconds.map(|seconds| seconds * 1_000_000_000) {
                builder.push(Event { time, ..Event::default() }).unwrap();
            }
            builder.finish(None).unwrap()
        };
        for row in FORMATS.iter().filter(|row| row.is_written()) {
            let read_back = |seconds| {
                let mut bytes = Vec::new();
                write(&trace(seconds), row.format, &mut bytes).unwrap();
                read(&bytes[..], &reading)
            };
            let times: Vec<u64> = read_back([0, 7, 6, 9]).unwrap().iter().map(|event| event.time / 1_000_000_000).collect();
            assert_eq!(times, [0, 7, 7, 9], "{}", row.name);
            let says = "trace: found event 4, 5.0 s before the one before it, expected times that go back by 1.0 s at most: sort it, or cut it there";
            assert_eq!(read_back([0, 6, 7, 2]).unwrap_err().to_string(), says, "{}", row.name);
            let says = says.replace("event 4, 5.0 s", "event 2, 50 s");
            assert_eq!(read_back([100, 50, 10, 60]).unwrap_err().to_string(), says, "{}: before the first", row.name);
            let held = read_back([100, 99, 100, 101]).unwrap();
            assert_eq!(held.get(1).time, held.get(0).time, "{}", row.name);
        }
    }

    #[test]
    fn no_more_events_are_taken_than_may_be() {
        let mut builder = TraceBuilder::new(KeptColumns::Pages);
        (0..50_000).for_each(|page| builder.push(Event { page, ..Event::default() }).unwrap());
        let (trace, most) = (builder.finish(None).unwrap(), 49_999);
        for row in FORMATS.iter().filter(|row| row.is_written()) {
            let mut bytes = Vec::new();
            write(&trace, row.format, &mut bytes).unwrap();
            let error = read_at_most(&bytes[..], &guess(), most).unwrap_err();
            let says = format!("trace: found more events, expected at most {most}; cut it into parts");
            assert_eq!(error.to_string(), says, "{}", row.name);
            assert_eq!(read_at_most(&bytes[..], &guess(), most + 1).unwrap().len(), 50_000, "{}", row.name);
        }
        // A source without end.
        assert!(read_at_most(io::repeat(0), &guess(), 100_000).unwrap_err().to_string().contains("at most 100000"));
    }

    proptest! {
        #[test]
        fn nothing_panics(bytes in prop::collection::vec(any::<u8>(), 0..300)) {
            let _ = read(&bytes[..], &guess());
            let _ = read(&[&[0x28, 0xb5, 0x2f, 0xfd], &bytes[..]].concat()[..], &guess());
        }
    }
}
