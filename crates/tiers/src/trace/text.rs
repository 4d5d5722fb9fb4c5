//! Text: one event a line, fields between commas, semicolons, tabs or blanks.
//!
//! Columns are named by a first line (`time_ns,page,op,cgroup`), by the caller, or follow from their number: one is a page,
//! more are time, page, operation, cgroup, in this order; a number in place of an operation is the size of an object, which
//! is ignored, so libCacheSim's `time, object, size, next access` is read as it is. Empty lines and lines after `#` are comments.

use std::io::{self, Write};

use super::columns::{KeptColumns, Trace};
use super::error::{TraceError, TracePlace};
use super::layout::{Fault, FieldLayout, fields};
use super::lines::Lines;
use super::numbered::Numbered;
use super::source::TraceSource;

/// U+FEFF in UTF-8.
const BYTE_ORDER_MARK: &[u8] = b"\xef\xbb\xbf";

/// Reads lines until the source ends. Pages are numbered in the order of their first event, cgroups are taken as they are.
///
/// # Errors
/// When the source fails, or a line is not an event.
pub fn read(source: TraceSource<'_>, keep: KeptColumns, layout: Option<FieldLayout>) -> Result<Trace, TraceError> {
    let mut trace = Numbered::new(keep, source.most());
    let (mut lines, mut layout, mut first) = (Lines::new(source), layout, true);
    while let Some((place, line)) = lines.next()? {
        let content = without_mark(place, line).trim_ascii();
        if content.is_empty() || content[0] == b'#' {
            continue;
        }
        if std::mem::take(&mut first) && names_columns(&mut layout, content).map_err(|fault| fault.at(place))? {
            continue;
        }
        let layout = layout.get_or_insert_with(|| FieldLayout::of_count(fields(content).count()));
        let (id, event) = layout.event(content).map_err(|fault| fault.at(place))?;
        trace.push(id, event)?;
    }
    trace.finish()
}

/// Whether the first line has names in place of an event. They say where things stand unless that was given.
fn names_columns(layout: &mut Option<FieldLayout>, line: &[u8]) -> Result<bool, Fault> {
    if let Some(given) = layout {
        return Ok(given.is_header(line));
    }
    *layout = FieldLayout::of_header(line).transpose()?;
    Ok(layout.is_some())
}

/// What spreadsheets put before the first line, U+FEFF, is no part of the name of a column.
fn without_mark(place: TracePlace, line: &[u8]) -> &[u8] {
    if place == TracePlace::Line(1) { line.strip_prefix(BYTE_ORDER_MARK).unwrap_or(line) } else { line }
}

/// Writes a header and a line for each event.
///
/// # Errors
/// When writing fails.
pub fn write(trace: &Trace, out: &mut impl Write) -> io::Result<()> {
    writeln!(out, "time_ns,page,op,cgroup")?;
    for event in trace.iter() {
        writeln!(out, "{},{},{},{}", event.time, event.page, event.op.word(), event.cgroup)?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::super::columns::TraceBuilder;
    use super::super::event::{Event, Op};
    use super::super::intern::Interner;
    use super::*;

    fn parse(text: &str) -> Result<Trace, TraceError> {
        read(TraceSource::new(text.as_bytes()).unwrap(), KeptColumns::Everything, None)
    }

    fn events(text: &str) -> Vec<(u64, u32, Op, u16)> {
        parse(text).unwrap().iter().map(|e| (e.time, e.page, e.op, e.cgroup)).collect()
    }

    #[test]
    fn plain_text_is_pages() {
        let trace = parse("# a comment\n100\n0x64\n\n7\n").unwrap();
        assert_eq!((trace.pages(), trace.page_count()), (&[0, 0, 1][..], 2));
        assert!(parse("").unwrap().is_empty());
    }

    #[test]
    fn columns_follow_from_their_number_or_their_names() {
        let expected = [(0, 0, Op::Read, 0), (1_500_000_000, 1, Op::Write, 3)];
        assert_eq!(events("10,5,r,0\n11.5,6,W,3\n"), expected);
        assert_eq!(events("cgroup op time_ms page\n0 read 10 5\n3 write 1510 6\n"), expected);
        assert_eq!(events("page;time_ns\n5;7\n6;9\n"), [(0, 0, Op::Read, 0), (2, 1, Op::Read, 0)]);
        // libCacheSim: time, object, size, next access.
        assert_eq!(events("10, 5, 4096, 3\n12, 6, 512, -1\n"), [(0, 0, Op::Read, 0), (2_000_000_000, 1, Op::Read, 0)]);
        assert_eq!(events("timestamp,obj_id,obj_size\n1,5,9\n"), [(0, 0, Op::Read, 0)]);
    }

    #[test]
    fn a_byte_order_mark_hides_no_column() {
        let expected = [(0, 0, Op::Read, 0), (2_000_000_000, 1, Op::Read, 0)];
        assert_eq!(events("\u{feff}time,page\n10,5\n12,6\n"), expected);
        assert_eq!(events("\u{feff}10,5\n12,6\n"), expected);
        assert!(parse("1\n\u{feff}2\n").is_err(), "in the first line only");
    }

    #[test]
    fn columns_can_be_given() {
        let layout = FieldLayout::parse("page=3,time_us=1").unwrap();
        let trace = read(TraceSource::new(&b"5 x 9\n8 y 9\n"[..]).unwrap(), KeptColumns::Everything, Some(layout)).unwrap();
        assert_eq!((trace.pages(), trace.end()), (&[0, 0][..], 3000));
        for text in ["when,address\n5,9\n", "time,address\n5,9\n", "page,offset\n5,9\n", "5,9\n"] {
            let layout = FieldLayout::parse("time_us=1,page=2").unwrap();
            let trace = read(TraceSource::new(text.as_bytes()).unwrap(), KeptColumns::Everything, Some(layout)).unwrap();
            assert_eq!(trace.len(), 1, "{text}");
        }
        for (text, found) in [("page=0", "`0`"), ("time=1", "`time=1`"), ("page=1,colour=2", "`colour`"), ("page", "`page`")] {
            assert!(FieldLayout::parse(text).unwrap_err().to_string().contains(found), "{text}");
        }
    }

    #[test]
    fn faults_are_named_with_their_line() {
        for (text, says) in [
            ("1,2\n1\n", "line 2: found 1 field, expected page in field 2"),
            ("1\nx\n", "line 2: found page `x`, expected a number, decimal or hexadecimal after 0x"),
            ("1,2,r,70000\n", "line 1: found cgroup `70000`, expected a number from 0 to 65535"),
            ("1,2,up\n", "line 1: found op `up`, expected read, write or free"),
            ("1.x,2\n", "line 1: found time `1.x`, expected a number, with decimals or without"),
            (
                "time,page\n1732000000000,2\n",
                "line 2: found time `1732000000000`, expected at most 18446744073 in this unit; name the column time_ns, time_us or time_ms, \
                 or with --columns time_ns=FIELD,page=FIELD",
            ),
            ("time,size\n", "line 1: found columns time,size, expected one of them to be `page`"),
        ] {
            assert_eq!(parse(text).unwrap_err().to_string(), says, "{text}");
        }
        assert!(parse(&"1".repeat(5000)).unwrap_err().to_string().contains("a line without end"));
    }

    proptest! {
        #[test]
        fn nothing_panics(text in "[0-9a-z,. \n#;_x-]{0,80}") {
            let _ = parse(&text);
        }

        #[test]
        fn what_is_written_is_read_back(list in prop::collection::vec((0..9u32, 0..1u64 << 40, 0..3u8, any::<u16>()), 0..40)) {
            let (mut builder, mut interner, mut page) = (TraceBuilder::new(KeptColumns::Everything), Interner::default(), Vec::new());
            let start = list.first().map_or(0, |first| first.1);
            for (id, time, kind, cgroup) in list {
                page.clear();
                interner.number_all(&[u64::from(id)], &mut page);
                let op = [Op::Read, Op::Write, Op::Free][usize::from(kind)];
                builder.push(Event { page: page[0], time: time.saturating_sub(start), op, cgroup }).unwrap();
            }
            let (trace, mut text) = (builder.finish(None).unwrap(), Vec::new());
            write(&trace, &mut text).unwrap();
            let back = parse(std::str::from_utf8(&text).unwrap()).unwrap();
            prop_assert_eq!(back.iter().collect::<Vec<_>>(), trace.iter().collect::<Vec<_>>());
        }
    }
}
