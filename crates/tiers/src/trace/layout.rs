//! Where in a line of text the properties of an event stand.

use super::digits::{decimal, integer};
use super::error::{TraceError, TracePlace};
use super::event::{Event, Op};

/// Names of columns that are understood: what they hold, and for times how many nanoseconds their unit has.
const NAMES: [(&str, ColumnKind); 20] = [
    ("page", ColumnKind::Page),
    ("time_ns", ColumnKind::Time(1)),
    ("time_us", ColumnKind::Time(1_000)),
    ("time_ms", ColumnKind::Time(1_000_000)),
    ("time", ColumnKind::Time(1_000_000_000)),
    ("time_s", ColumnKind::Time(1_000_000_000)),
    ("timestamp", ColumnKind::Time(1_000_000_000)),
    ("clock_time", ColumnKind::Time(1_000_000_000)),
    ("op", ColumnKind::Op),
    ("cgroup", ColumnKind::Cgroup),
    ("id", ColumnKind::Page),
    ("obj_id", ColumnKind::Page),
    ("object", ColumnKind::Page),
    ("key", ColumnKind::Page),
    ("lbn", ColumnKind::Page),
    ("operation", ColumnKind::Op),
    ("rw", ColumnKind::Op),
    ("type", ColumnKind::Op),
    ("group", ColumnKind::Cgroup),
    ("application", ColumnKind::Cgroup),
];

/// What a column holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum ColumnKind {
    Page,
    Time(u64),
    Op,
    Cgroup,
}

/// Fields, from 0, of the properties of an event.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FieldLayout {
    page: usize,
    /// Field and nanoseconds of its unit.
    time: Option<(usize, u64)>,
    /// Field, and whether a number in it is ignored.
    op: Option<(usize, bool)>,
    cgroup: Option<usize>,
}

/// What is wrong with a line.
#[derive(Debug)]
pub(super) struct Fault {
    found: String,
    expected: String,
}

impl Fault {
    fn new(found: impl Into<String>, expected: impl Into<String>) -> Self {
        Self { found: found.into(), expected: expected.into() }
    }

    /// A time that is no number, or one that its unit makes larger than what can be counted.
    fn of_time(field: &[u8], unit: u64) -> Self {
        let found = format!("time `{}`", String::from_utf8_lossy(field));
        if unit == 1 || decimal(field, 1).is_none() {
            return Self::new(found, "a number, with decimals or without");
        }
        let most = u64::MAX / unit;
        let expected = format!(
            "at most {most} in this unit; name the column time_ns, time_us or time_ms, or with --columns time_ns=FIELD,page=FIELD"
        );
        Self::new(found, expected)
    }

    pub(super) fn at(self, place: TracePlace) -> TraceError {
        TraceError::Malformed { place, found: self.found, expected: self.expected }
    }
}

/// The fields of a line. Blanks around a comma belong to it.
pub(super) fn fields(line: &[u8]) -> Fields<'_> {
    let separator = [b',', b';', b'\t'].into_iter().find(|&byte| memchr::memchr(byte, line).is_some());
    Fields { rest: Some(line), separator: separator.unwrap_or(b' ') }
}

pub(super) struct Fields<'a> {
    rest: Option<&'a [u8]>,
    separator: u8,
}

impl<'a> Iterator for Fields<'a> {
    type Item = &'a [u8];

    #[inline]
    fn next(&mut self) -> Option<&'a [u8]> {
        loop {
            let rest = self.rest?;
            let end = rest.iter().position(|&byte| byte == self.separator);
            self.rest = end.map(|end| &rest[end + 1..]);
            let field = rest[..end.unwrap_or(rest.len())].trim_ascii();
            // Several blanks are one separator.
            if !field.is_empty() || self.separator != b' ' {
                return Some(field);
            }
        }
    }
}

impl FieldLayout {
    /// A page and nothing else.
    const PAGE: Self = Self { page: 0, time: None, op: None, cgroup: None };

    /// What `page=2,time_us=1,op=3` says: names of columns and their fields, from 1.
    ///
    /// # Errors
    /// When a name is not known, a field is not a number from 1, or there is no page.
    pub fn parse(text: &str) -> Result<Self, TraceError> {
        let fault = |found: String, expected: &str| TraceError::malformed(TracePlace::Header, found, expected);
        let mut found = NamedColumns::default();
        for part in text.split(',') {
            let Some((name, field)) = part.split_once('=') else {
                return Err(fault(format!("`{part}`"), "NAME=FIELD, for example page=2"));
            };
            let Some(holds) = holds(name) else {
                let names: Vec<&str> = NAMES.iter().take(10).map(|(name, _)| *name).collect();
                return Err(fault(format!("`{name}`"), &names.join(", ")));
            };
            let number = field.trim().parse::<usize>().ok().and_then(|field| field.checked_sub(1));
            found.add(holds, number.ok_or_else(|| fault(format!("`{field}`"), "the number of a field, from 1"))?);
        }
        found.layout().ok_or_else(|| fault(format!("`{text}`"), "one of the columns to be `page`"))
    }

    /// The layout that a header names; `None` for a line that is not a header because it has none of the names.
    pub(super) fn of_header(line: &[u8]) -> Option<Result<Self, Fault>> {
        if fields(line).all(|field| holds(&String::from_utf8_lossy(field)).is_none()) {
            return None;
        }
        let mut found = NamedColumns::default();
        for (field, name) in fields(line).enumerate() {
            if let Some(holds) = holds(&String::from_utf8_lossy(name)) {
                found.add(holds, field);
            }
        }
        let columns = || format!("columns {}", String::from_utf8_lossy(line));
        Some(found.layout().ok_or_else(|| Fault::new(columns(), "one of them to be `page`")))
    }

    /// Whether a line has something else than a number in place of the page, as a header of any names has.
    pub(super) fn is_header(&self, line: &[u8]) -> bool {
        fields(line).nth(self.page).is_some_and(|page| integer(page).is_none())
    }

    /// The layout of lines with this many fields and no header.
    pub(super) fn of_count(count: usize) -> Self {
        if count <= 1 {
            return Self::PAGE;
        }
        let optional = |field: usize| (count > field).then_some(field);
        Self { page: 1, time: Some((0, 1_000_000_000)), op: optional(2).map(|field| (field, true)), cgroup: optional(3) }
    }

    /// The id of the page, and the event, whose page is not numbered yet.
    pub(super) fn event(&self, line: &[u8]) -> Result<(u64, Event), Fault> {
        if let Some(page) = if *self == Self::PAGE { integer(line) } else { None } {
            return Ok((page, Event::default()));
        }
        let mut this = LineFields { line, cgroup: 0, op: Op::Read, time: 0, page: None, sized: false };
        for (number, field) in fields(line).enumerate() {
            this.take(self, number, field)?;
        }
        let Some(page) = this.page else {
            let count = fields(this.line).count();
            let found = format!("{count} field{}", if count == 1 { "" } else { "s" });
            return Err(Fault::new(found, format!("page in field {}", self.page + 1)));
        };
        Ok((page, Event { time: this.time, page: 0, cgroup: this.cgroup, op: this.op }))
    }
}

/// What was found so far in a line.
struct LineFields<'a> {
    line: &'a [u8],
    page: Option<u64>,
    time: u64,
    op: Op,
    cgroup: u16,
    /// A size stood in place of the operation, so what follows is not a cgroup either.
    sized: bool,
}

impl LineFields<'_> {
    fn take(&mut self, layout: &FieldLayout, number: usize, field: &[u8]) -> Result<(), Fault> {
        let text = || String::from_utf8_lossy(field).into_owned();
        if number == layout.page {
            let fault = || Fault::new(format!("page `{}`", text()), "a number, decimal or hexadecimal after 0x");
            self.page = Some(integer(field).ok_or_else(fault)?);
        } else if let Some((_, unit)) = layout.time.filter(|(time, _)| *time == number) {
            self.time = decimal(field, unit).ok_or_else(|| Fault::of_time(field, unit))?;
        } else if let Some((_, lenient)) = layout.op.filter(|(op, _)| *op == number) {
            self.sized = lenient && integer(field).is_some();
            let fault = || Fault::new(format!("op `{}`", text()), "read, write or free");
            self.op = if self.sized { Op::Read } else { Op::named(field).ok_or_else(fault)? };
        } else if layout.cgroup == Some(number) && !self.sized {
            let fault = || Fault::new(format!("cgroup `{}`", text()), "a number from 0 to 65535");
            self.cgroup = integer(field).and_then(|cgroup| u16::try_from(cgroup).ok()).ok_or_else(fault)?;
        }
        Ok(())
    }
}

/// Columns that were named so far.
#[derive(Default)]
struct NamedColumns {
    page: Option<usize>,
    time: Option<(usize, u64)>,
    op: Option<usize>,
    cgroup: Option<usize>,
}

impl NamedColumns {
    /// The first column of a kind counts.
    fn add(&mut self, holds: ColumnKind, field: usize) {
        match holds {
            ColumnKind::Page => _ = self.page.get_or_insert(field),
            ColumnKind::Time(unit) => _ = self.time.get_or_insert((field, unit)),
            ColumnKind::Op => _ = self.op.get_or_insert(field),
            ColumnKind::Cgroup => _ = self.cgroup.get_or_insert(field),
        }
    }

    fn layout(self) -> Option<FieldLayout> {
        Some(FieldLayout { page: self.page?, time: self.time, op: self.op.map(|field| (field, false)), cgroup: self.cgroup })
    }
}

fn holds(name: &str) -> Option<ColumnKind> {
    NAMES.iter().find(|(known, _)| name.trim().eq_ignore_ascii_case(known)).map(|&(_, holds)| holds)
}
