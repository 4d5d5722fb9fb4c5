//! swaptune's own form: columns in blocks, each with a checksum. It can be written while events happen.
//!
//! All numbers are little endian; checksums are CRC-32 (ISO-HDLC).
//!
//! | part | bytes |
//! |---|---|
//! | header | magic `swtrace\0`; u16 version 1; u16 columns: 1 times, 2 cgroups, 4 operations; u32 zero; u64 step; u32 checksum of these 24 |
//! | block of n events, 1 to 65536 | u32 n; u32 checksum of what follows in the block; n × u32 page; then, for each column that the header names, n × u64 time, n × u16 cgroup, n × u8 operation (0 read, 1 write, 2 free) |
//! | closing block | u32 zero; u32 checksum of what follows; u64 events; u32 pages; u32 compressed sizes, zero or as many as pages; then those, u16 each |
//!
//! Pages are numbered from 0 without gaps. Times are nanoseconds; without a column for them event i happens at i × step.
//! Without a column for them, cgroups are 0 and operations are reads. A file without its closing block is cut off.

use std::io::{self, Write};

use super::columns::{Column, EventTimes, KeptColumns, Trace, TraceBuilder};
use super::error::{EVENTS_MAX, TraceError, TracePlace, too_long};
use super::event::{Event, Op};
use super::source::TraceSource;

/// The first bytes of a file.
pub const MAGIC: [u8; 8] = *b"swtrace\0";
const VERSION: u16 = 1;
const HEADER: usize = 28;
/// Most events in a block.
pub const BLOCK_MAX: usize = 1 << 16;
const TIMES: u16 = 1;
const CGROUPS: u16 = 2;
const OPS: u16 = 4;

/// Which columns a file has, besides pages.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Columns {
    bits: u16,
    step: u64,
}

impl Columns {
    /// All of them, for events that are not known yet.
    pub const ALL: Self = Self { bits: TIMES | CGROUPS | OPS, step: 0 };

    /// Those that this trace needs.
    fn of(trace: &Trace) -> Self {
        let (times, step) = match trace.times {
            EventTimes::Every(step) => (0, step),
            EventTimes::Each(_) => (TIMES, 0),
        };
        let cgroups = if trace.cgroups == Column::Same(0) { 0 } else { CGROUPS };
        let ops = if trace.ops == Column::Same(Op::Read) { 0 } else { OPS };
        Self { bits: times | cgroups | ops, step }
    }

    fn has(self, column: u16) -> bool {
        self.bits & column != 0
    }

    /// Bytes of an event.
    fn width(self) -> usize {
        4 + 8 * usize::from(self.has(TIMES)) + 2 * usize::from(self.has(CGROUPS)) + usize::from(self.has(OPS))
    }
}

/// Writes events as they come.
#[derive(Debug)]
pub struct BinaryWriter<W: Write> {
    out: W,
    columns: Columns,
    block: Vec<Event>,
    events: u64,
    /// One more than the highest page.
    pages: u64,
}

impl<W: Write> BinaryWriter<W> {
    /// Begins a file with these columns.
    ///
    /// # Errors
    /// When writing fails.
    pub fn new(mut out: W, columns: Columns) -> io::Result<Self> {
        let mut header = Vec::with_capacity(HEADER);
        header.extend_from_slice(&MAGIC);
        header.extend_from_slice(&VERSION.to_le_bytes());
        header.extend_from_slice(&columns.bits.to_le_bytes());
        header.extend_from_slice(&0u32.to_le_bytes());
        header.extend_from_slice(&columns.step.to_le_bytes());
        header.extend_from_slice(&crc32fast::hash(&header).to_le_bytes());
        out.write_all(&header)?;
        Ok(Self { out, columns, block: Vec::with_capacity(BLOCK_MAX), events: 0, pages: 0 })
    }

    /// Adds an event. Its page must be one that came before, or the next new number; what has no column is dropped.
    ///
    /// # Errors
    /// When writing fails, when the page leaves a gap in the numbers, or when there are too many events.
    pub fn push(&mut self, event: Event) -> io::Result<()> {
        if u64::from(event.page) > self.pages || self.events >= EVENTS_MAX {
            return Err(io::Error::new(
                io::ErrorKind::InvalidInput,
                "pages are numbered without gaps, events are below 2^32 - 2",
            ));
        }
        self.pages = self.pages.max(u64::from(event.page) + 1);
        self.events += 1;
        self.block.push(event);
        if self.block.len() == BLOCK_MAX { self.flush() } else { Ok(()) }
    }

    fn flush(&mut self) -> io::Result<()> {
        if self.block.is_empty() {
            return Ok(());
        }
        let mut body = Vec::with_capacity(self.block.len() * self.columns.width());
        body.extend(self.block.iter().flat_map(|event| event.page.to_le_bytes()));
        if self.columns.has(TIMES) {
            body.extend(self.block.iter().flat_map(|event| event.time.to_le_bytes()));
        }
        if self.columns.has(CGROUPS) {
            body.extend(self.block.iter().flat_map(|event| event.cgroup.to_le_bytes()));
        }
        if self.columns.has(OPS) {
            body.extend(self.block.iter().map(|event| event.op as u8));
        }
        let count = self.block.len() as u32;
        self.block.clear();
        put(&mut self.out, count, &body)
    }

    /// Writes the closing block, with what each page compresses to where that is known, and gives the output back.
    ///
    /// # Errors
    /// When writing fails, or when there are sizes for another number of pages.
    pub fn finish(mut self, sizes: &[u16]) -> io::Result<W> {
        self.flush()?;
        if !sizes.is_empty() && sizes.len() as u64 != self.pages {
            return Err(io::Error::new(io::ErrorKind::InvalidInput, "one compressed size for each page"));
        }
        let mut body = Vec::with_capacity(16 + sizes.len() * 2);
        body.extend_from_slice(&self.events.to_le_bytes());
        body.extend_from_slice(&(self.pages as u32).to_le_bytes());
        body.extend_from_slice(&(sizes.len() as u32).to_le_bytes());
        body.extend(sizes.iter().flat_map(|size| size.to_le_bytes()));
        put(&mut self.out, 0, &body)?;
        self.out.flush()?;
        Ok(self.out)
    }
}

fn put(out: &mut impl Write, count: u32, body: &[u8]) -> io::Result<()> {
    out.write_all(&count.to_le_bytes())?;
    out.write_all(&crc32fast::hash(body).to_le_bytes())?;
    out.write_all(body)
}

/// Writes a whole trace.
///
/// # Errors
/// When writing fails.
pub fn write(trace: &Trace, out: &mut impl Write) -> io::Result<()> {
    let renumbered = Renumbered::new(trace);
    let mut writer = BinaryWriter::new(out, Columns::of(trace))?;
    for event in trace.iter() {
        writer.push(Event { page: renumbered.page(event.page), ..event })?;
    }
    writer.finish(&renumbered.sizes(trace)).map(|_| ())
}

/// Pages in the order of their first event, as a [`BinaryWriter`] wants them; most traces are like that already.
struct Renumbered {
    numbers: Vec<u32>,
    count: u32,
}

impl Renumbered {
    fn new(trace: &Trace) -> Self {
        let (mut numbers, mut count) = (vec![u32::MAX; trace.page_count() as usize], 0);
        for &page in trace.pages() {
            let number = &mut numbers[page as usize];
            if *number == u32::MAX {
                *number = count;
                count += 1;
            }
        }
        Self { numbers, count }
    }

    fn page(&self, page: u32) -> u32 {
        self.numbers[page as usize]
    }

    /// Sizes in the new order; those of pages without an event are left out.
    fn sizes(&self, trace: &Trace) -> Vec<u16> {
        let mut sizes = vec![0; if trace.sizes().is_empty() { 0 } else { self.count as usize }];
        for (&size, &number) in trace.sizes().iter().zip(&self.numbers) {
            if let Some(place) = sizes.get_mut(number as usize) {
                *place = size;
            }
        }
        sizes
    }
}

/// Reads a file.
///
/// # Errors
/// When the source fails, is cut off or damaged, or is of a version that is not known here.
pub fn read(source: TraceSource<'_>, keep: KeptColumns) -> Result<Trace, TraceError> {
    let mut reader = BinaryReader { source, place: TracePlace::Header };
    let columns = reader.header()?;
    let mut builder = TraceBuilder::new(keep);
    if keep == KeptColumns::Everything {
        builder.trace_mut().times =
            if columns.has(TIMES) { EventTimes::Each(Vec::new()) } else { EventTimes::Every(columns.step) };
    }
    let mut body = vec![0; BLOCK_MAX * columns.width()];
    for number in 1.. {
        reader.place = TracePlace::Block(number);
        let (count, checksum) = reader.block_head()?;
        if count == 0 {
            return reader.closing(checksum, builder);
        }
        let body = &mut body[..count * columns.width()];
        reader.exact(body)?;
        reader.check(crc32fast::hash(body), checksum)?;
        reader.events(&mut builder, columns, count, body)?;
    }
    unreachable!("the closing block or an error ends the loop")
}

struct BinaryReader<'a> {
    source: TraceSource<'a>,
    place: TracePlace,
}

impl BinaryReader<'_> {
    fn header(&mut self) -> Result<Columns, TraceError> {
        let mut header = [0; HEADER];
        self.exact(&mut header)?;
        if header[..8] != MAGIC {
            return Err(self.malformed(format!("{:02x?}", &header[..8]), format!("the magic number {MAGIC:02x?}")));
        }
        self.check(crc32fast::hash(&header[..24]), u32_at(&header, 24))?;
        let (version, bits) = (u16_at(&header, 8), u16_at(&header, 10));
        if version != VERSION {
            return Err(self.malformed(format!("version {version}"), format!("version {VERSION}")));
        }
        if bits & !Columns::ALL.bits != 0 || u32_at(&header, 12) != 0 {
            return Err(self.malformed(format!("columns {bits:#x} and {:#x}", u32_at(&header, 12)), "columns below 0x8 and 0x0"));
        }
        Ok(Columns { bits, step: u64_at(&header, 16) })
    }

    /// Number of events and checksum.
    fn block_head(&mut self) -> Result<(usize, u32), TraceError> {
        let mut head = [0; 8];
        self.exact(&mut head)?;
        let count = u32_at(&head, 0) as usize;
        if count > BLOCK_MAX {
            return Err(self.malformed(format!("{count} events"), format!("at most {BLOCK_MAX}")));
        }
        Ok((count, u32_at(&head, 4)))
    }

    fn events(&self, builder: &mut TraceBuilder, columns: Columns, count: usize, body: &[u8]) -> Result<(), TraceError> {
        let before = builder.len();
        if (before + count) as u64 > self.source.most() {
            return Err(too_long(self.source.most()));
        }
        let everything = builder.keep() == KeptColumns::Everything;
        let (pages, mut rest) = body.split_at(count * 4);
        builder.extend_pages(pages.chunks_exact(4).map(|page| u32_at(page, 0)));
        let mut column = |bit: u16, width: usize| {
            let (this, after) = rest.split_at(if columns.has(bit) { count * width } else { 0 });
            rest = after;
            this
        };
        let (times, cgroups, ops) = (column(TIMES, 8), column(CGROUPS, 2), column(OPS, 1));
        let trace = builder.trace_mut();
        if everything {
            if let EventTimes::Each(values) = &mut trace.times {
                values.extend(times.chunks_exact(8).map(|time| u64_at(time, 0)));
            }
            for (i, cgroup) in cgroups.chunks_exact(2).enumerate() {
                trace.cgroups.push(before + i, u16_at(cgroup, 0));
            }
        }
        for (i, &op) in ops.iter().enumerate() {
            let Some(&op) = [Op::Read, Op::Write, Op::Free].get(usize::from(op)) else {
                return Err(self.malformed(format!("operation {op} of event {}", before + i + 1), "0, 1 or 2"));
            };
            trace.ops.push(before + i, op);
        }
        Ok(())
    }

    fn closing(mut self, checksum: u32, mut builder: TraceBuilder) -> Result<Trace, TraceError> {
        let mut counts = [0; 16];
        self.exact(&mut counts)?;
        let (events, pages, sizes) = (u64_at(&counts, 0), u32_at(&counts, 8), u32_at(&counts, 12));
        if events != builder.len() as u64 {
            return Err(self.malformed(format!("{events} events"), format!("the {} that were read", builder.len())));
        }
        if sizes != 0 && sizes != pages || u64::from(pages) > events {
            return Err(
                self.malformed(format!("{pages} pages, {sizes} sizes"), "no more pages than events, a size for each or none")
            );
        }
        let mut bytes = vec![0; sizes as usize * 2];
        self.exact(&mut bytes)?;
        let mut hasher = crc32fast::Hasher::new();
        hasher.update(&counts);
        hasher.update(&bytes);
        self.check(hasher.finalize(), checksum)?;
        if !self.source.peek().map_err(|source| TraceError::Read { place: self.place, source })?.is_empty() {
            return Err(self.malformed("more bytes after the closing block", "the end"));
        }
        builder.sizes(bytes.chunks_exact(2).map(|size| u16_at(size, 0)).collect());
        builder.finish(Some(pages))
    }

    fn exact(&mut self, bytes: &mut [u8]) -> Result<(), TraceError> {
        let count = self.source.fill(bytes).map_err(|source| TraceError::Read { place: self.place, source })?;
        if count < bytes.len() {
            return Err(self.malformed(format!("the end after {count} bytes"), format!("{} bytes", bytes.len())));
        }
        Ok(())
    }

    fn check(&self, found: u32, expected: u32) -> Result<(), TraceError> {
        if found == expected {
            return Ok(());
        }
        Err(self.malformed(format!("bytes with checksum {found:08x}"), format!("checksum {expected:08x}")))
    }

    fn malformed(&self, found: impl std::fmt::Display, expected: impl std::fmt::Display) -> TraceError {
        TraceError::malformed(self.place, found, expected)
    }
}

fn u16_at(bytes: &[u8], at: usize) -> u16 {
    u16::from_le_bytes([bytes[at], bytes[at + 1]])
}

fn u32_at(bytes: &[u8], at: usize) -> u32 {
    u32::from_le_bytes([bytes[at], bytes[at + 1], bytes[at + 2], bytes[at + 3]])
}

fn u64_at(bytes: &[u8], at: usize) -> u64 {
    u64::from(u32_at(bytes, at)) | u64::from(u32_at(bytes, at + 4)) << 32
}

#[cfg(test)]
#[path = "binary_tests.rs"]
mod tests;
