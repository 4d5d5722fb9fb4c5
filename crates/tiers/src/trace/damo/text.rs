//! Records in lines: those of the kernel's event `damon:damon_aggregated`, one for each region, and damo's raw form.

use super::amounts::nanoseconds;
use super::{DamonRegion, DamonSnapshot, Targets, few_enough};
use crate::trace::digits::{hexadecimal, whole};
use crate::trace::error::TraceError;
use crate::trace::lines::Lines;
use crate::trace::sample_line::{SampleLine, tokens};
use crate::trace::source::TraceSource;

/// How events of DAMON begin, as perf and as the kernel names them.
const EVENTS: [&[u8]; 3] = [b"damon:", b"damon_", b"damos_"];
/// The one that tells of regions.
const AGGREGATED: &[u8] = b"damon_aggregated";
/// How the raw form begins.
const BASE: &[u8] = b"base_time_absolute:";
/// What one of its regions looks like.
const REGION: &str = "a region: START-END in hexadecimal, (SIZE), accesses";

/// Whether a record can begin with this line.
pub(in crate::trace) fn is_line(line: &[u8]) -> bool {
    let of_damon = |event: &[u8]| EVENTS.iter().any(|start| event.starts_with(start));
    line.starts_with(BASE) || SampleLine::split(line).is_some_and(|sample| of_damon(sample.event))
}

/// All snapshots of a record.
pub(super) fn snapshots(source: TraceSource<'_>) -> Result<Vec<DamonSnapshot>, TraceError> {
    let (mut lines, mut found) = (Lines::new(source), DamoText::default());
    while let Some((place, line)) = lines.next()? {
        let line = line.trim_ascii();
        if matches!(line.first(), None | Some(b'#')) {
            continue;
        }
        let taken = match SampleLine::split(line) {
            Some(sample) => found.event(&sample),
            None => found.raw(line),
        };
        if let Err(expected) = taken {
            let shown = format!("`{}`", String::from_utf8_lossy(line));
            return Err(TraceError::malformed(place, shown, expected));
        }
        few_enough(found.snapshots.len())?;
    }
    Ok(found.snapshots)
}

/// What was found so far.
#[derive(Default)]
struct DamoText {
    snapshots: Vec<DamonSnapshot>,
    targets: Targets,
    /// Of the events: for each target its last snapshot.
    open: Vec<OpenSnapshot>,
    /// Of the raw form: the time that its times count from, and the snapshot that is not begun.
    base: u64,
    head: DamonSnapshot,
}

/// A snapshot of which regions may still come, unless none are left.
#[derive(Clone, Copy, Default)]
struct OpenSnapshot {
    index: usize,
    left: u64,
    /// Where the last region ended; they stand in the order of addresses.
    end: u64,
}

/// Says what was expected when something else is there.
type LineTaken = Result<(), &'static str>;

impl DamoText {
    /// `target_id=0 nr_regions=2061 4294967296-4308508672: 0 3`: of the numbers at the end, accesses and age, the first versions had one.
    fn event(&mut self, sample: &SampleLine<'_>) -> LineTaken {
        const EXPECTED: &str = "damon:damon_aggregated: target_id=… nr_regions=… START-END: ACCESSES";
        if !sample.event.ends_with(AGGREGATED) {
            // The other events of DAMON say nothing of accesses.
            return if EVENTS.iter().any(|start| sample.event.starts_with(start)) { Ok(()) } else { Err(EXPECTED) };
        }
        let mut words = tokens(sample.rest);
        let mut word = || words.next().ok_or(EXPECTED);
        let target = word()?.strip_prefix(b"target_id=").ok_or(EXPECTED)?;
        let regions = word()?.strip_prefix(b"nr_regions=").and_then(whole).ok_or(EXPECTED)?;
        let (start, end) = word()?.strip_suffix(b":").and_then(|range| range_of(range, whole)).ok_or(EXPECTED)?;
        let accesses = accesses_of(word()?)?;
        let target = self.target(target)?;
        let snapshot = self.snapshot(target, sample.time, regions, start);
        snapshot.end = end;
        let index = snapshot.index;
        self.snapshots[index].regions.extend(DamonRegion::new(start, end, accesses));
        Ok(())
    }

    /// The snapshot to which a region belongs: the one that is not complete, unless this region lies before its last one because
    /// events were lost.
    fn snapshot(&mut self, target: u16, time: u64, regions: u64, start: u64) -> &mut OpenSnapshot {
        self.open.resize(self.open.len().max(usize::from(target) + 1), OpenSnapshot::default());
        let open = &mut self.open[usize::from(target)];
        if open.left == 0 || start < open.end {
            self.snapshots.push(DamonSnapshot { target, end: time, ..DamonSnapshot::default() });
            *open = OpenSnapshot { index: self.snapshots.len() - 1, left: regions, end: 0 };
        }
        open.left = open.left.saturating_sub(1);
        open
    }

    fn target(&mut self, name: &[u8]) -> Result<u16, &'static str> {
        self.targets.number(name).ok_or("at most 4096 targets")
    }

    /// A line of the raw form.
    fn raw(&mut self, line: &[u8]) -> LineTaken {
        let Some((name, value)) = named(line) else { return self.raw_region(line) };
        let time = || std::str::from_utf8(value).ok().and_then(nanoseconds).ok_or("a time, as 104.599 ms");
        match name {
            b"base_time_absolute" => self.base = time()?,
            b"monitoring_start" => self.head.start = Some(self.base.saturating_add(time()?)),
            b"monitoring_end" => self.head.end = self.base.saturating_add(time()?),
            b"target_id" => self.head.target = self.target(value)?,
            b"nr_regions" => self.snapshots.push(std::mem::take(&mut self.head)),
            b"monitoring_duration" | b"data source" => {}
            _ => return Err("a line of `damo report access --raw_form`, or of perf script with its time"),
        }
        Ok(())
    }

    /// `563ebaa00000-563ebc99e000(  31.617 MiB):        1`, or with a blank before the bracket, no colon, and the age at the end.
    fn raw_region(&mut self, line: &[u8]) -> LineTaken {
        let open = memchr::memchr(b'(', line).ok_or(REGION)?;
        let close = memchr::memchr(b')', line).filter(|close| *close > open).ok_or(REGION)?;
        let (start, end) = range_of(line[..open].trim_ascii(), hexadecimal).ok_or(REGION)?;
        let rest = &line[close + 1..];
        let accesses = accesses_of(tokens(rest.strip_prefix(b":").unwrap_or(rest)).next().ok_or(REGION)?)?;
        let snapshot = self.snapshots.last_mut().ok_or("nr_regions before the first region")?;
        snapshot.regions.extend(DamonRegion::new(start, end, accesses));
        Ok(())
    }
}

/// `NAME: VALUE`, where the name has no bracket.
fn named(line: &[u8]) -> Option<(&[u8], &[u8])> {
    let colon = memchr::memchr2(b':', b'(', line).filter(|at| line[*at] == b':')?;
    Some((&line[..colon], line[colon + 1..].trim_ascii()))
}

fn range_of(text: &[u8], parse: impl Fn(&[u8]) -> Option<u64>) -> Option<(u64, u64)> {
    let dash = memchr::memchr(b'-', text)?;
    let (start, end) = (parse(&text[..dash])?, parse(&text[dash + 1..])?);
    (start <= end).then_some((start, end))
}

/// Below zero in the snapshot that damo adds behind a single one, only to tell when that ended.
fn accesses_of(text: &[u8]) -> Result<u16, &'static str> {
    if text.first() == Some(&b'-') {
        return Ok(0);
    }
    whole(text).and_then(|count| u16::try_from(count).ok()).ok_or("accesses from 0 to 65535")
}
