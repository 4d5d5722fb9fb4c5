//! oracleGeneral, the binary form of libCacheSim's published traces.
//!
//! Records of 24 bytes, little endian, one after the other: u32 time in seconds, u64 object, u32 size, i64 number of the
//! request that asks for the object next, from 1, or −1. Source: libCacheSim, `libCacheSim/traceReader/customizedReader/oracle/oracleGeneralBin.h`.
//! An object is taken as a page whatever its size.

use std::io::{self, Write};

use super::columns::{KeptColumns, Trace, TraceBuilder, since};
use super::error::{TraceError, TracePlace, too_long};
use super::intern::Interner;
use super::source::TraceSource;

/// Bytes of a record.
pub const RECORD: usize = 24;
/// Size of a page in records that are written.
const PAGE_SIZE: u32 = crate::alloc::PAGE_SIZE as u32;
/// Records that are decoded at once.
const BATCH: usize = 4096;

/// Reads records until the source ends.
///
/// # Errors
/// When the source fails or ends inside a record.
pub fn read(mut source: TraceSource<'_>, keep: KeptColumns) -> Result<Trace, TraceError> {
    let mut buffer = vec![0; BATCH * RECORD];
    let most = source.most();
    let (mut interner, mut builder) = (Interner::default(), TraceBuilder::new(keep));
    let (mut ids, mut start) = (Vec::with_capacity(BATCH), None);
    loop {
        let done = builder.len() as u64;
        let filled =
            source.fill(&mut buffer).map_err(|source| TraceError::Read { place: TracePlace::Record(done + 1), source })?;
        let records = &buffer[..filled - filled % RECORD];
        ids.clear();
        ids.extend(records.chunks_exact(RECORD).map(|record| u64::from_le_bytes(array(record, 4))));
        if done + ids.len() as u64 > most {
            return Err(too_long(most));
        }
        let trace = builder.trace_mut();
        interner.number_all(&ids, &mut trace.pages);
        if keep == KeptColumns::Everything {
            let seconds = records.chunks_exact(RECORD).map(|record| u32::from_le_bytes(array(record, 0)));
            let nanos = seconds.map(|seconds| u64::from(seconds) * 1_000_000_000);
            let start = *start.get_or_insert_with(|| nanos.clone().next().unwrap_or(0));
            let times = (done + 1..).zip(nanos).map(|(number, time)| since(start, time, number));
            trace.times.extend(done as usize, times.collect::<Result<Vec<u64>, TraceError>>()?.into_iter());
        }
        if filled % RECORD != 0 {
            let place = TracePlace::Record(done + ids.len() as u64 + 1);
            return Err(TraceError::malformed(
                place,
                format!("{} bytes and the end", filled % RECORD),
                format!("{RECORD} bytes"),
            ));
        }
        if filled < buffer.len() {
            return builder.finish(Some(interner.len()));
        }
    }
}

/// Bytes of a record from `at`; the record is long enough for them.
fn array<const N: usize>(record: &[u8], at: usize) -> [u8; N] {
    let mut bytes = [0; N];
    bytes.copy_from_slice(&record[at..at + N]);
    bytes
}

/// Writes a record for each event: object = page + 1, times in whole seconds. Operations and cgroups have no place in it.
///
/// # Errors
/// When writing fails.
pub fn write(trace: &Trace, out: &mut impl Write) -> io::Result<()> {
    let next = next_accesses(trace.pages(), trace.page_count());
    let mut records = Vec::with_capacity(BATCH * RECORD);
    for (index, event) in trace.iter().enumerate() {
        let seconds = u32::try_from(event.time / 1_000_000_000).unwrap_or(u32::MAX);
        records.extend_from_slice(&seconds.to_le_bytes());
        records.extend_from_slice(&(u64::from(event.page) + 1).to_le_bytes());
        records.extend_from_slice(&PAGE_SIZE.to_le_bytes());
        let next = if next[index] == 0 { -1 } else { i64::from(next[index]) };
        records.extend_from_slice(&next.to_le_bytes());
        if records.len() == BATCH * RECORD {
            out.write_all(&records)?;
            records.clear();
        }
    }
    out.write_all(&records)
}

/// The number, from 1, of the next event on the same page; 0 for none.
fn next_accesses(pages: &[u32], page_count: u32) -> Vec<u32> {
    let (mut next, mut seen) = (vec![0; pages.len()], vec![0; page_count as usize]);
    for (index, &page) in pages.iter().enumerate().rev() {
        next[index] = std::mem::replace(&mut seen[page as usize], index as u32 + 1);
    }
    next
}

#[cfg(test)]
mod tests {
    use super::super::event::Event;
    use super::*;

    fn record(time: u32, id: u64) -> Vec<u8> {
        [&time.to_le_bytes()[..], &id.to_le_bytes(), &4096u32.to_le_bytes(), &(-1i64).to_le_bytes()].concat()
    }

    fn parse(bytes: &[u8], keep: KeptColumns) -> Result<Trace, TraceError> {
        read(TraceSource::new(bytes).unwrap(), keep)
    }

    #[test]
    fn objects_become_pages_and_time_starts_at_zero() {
        let bytes = [record(100, 77), record(100, 1 << 60), record(103, 77)].concat();
        let trace = parse(&bytes, KeptColumns::Everything).unwrap();
        let seen: Vec<(u32, u64)> = trace.iter().map(|event| (event.page, event.time)).collect();
        assert_eq!(seen, [(0, 0), (1, 0), (0, 3_000_000_000)]);
        assert_eq!((trace.page_count(), parse(&bytes, KeptColumns::Pages).unwrap().end()), (2, 0));
        assert!(parse(&[], KeptColumns::Pages).unwrap().is_empty());
    }

    #[test]
    fn a_cut_record_is_named() {
        let bytes = [record(1, 1), record(1, 2), vec![0; 11]].concat();
        let error = parse(&bytes, KeptColumns::Pages).unwrap_err().to_string();
        assert_eq!(error, "record 3: found 11 bytes and the end, expected 24 bytes");
    }

    #[test]
    fn what_is_written_has_the_next_access_and_is_read_back() {
        let mut builder = TraceBuilder::new(KeptColumns::Everything);
        for (i, page) in [0, 1, 0, 0, 2].into_iter().enumerate() {
            builder.push(Event { page, time: i as u64 * 500_000_000, ..Event::default() }).unwrap();
        }
        let (trace, mut bytes) = (builder.finish(None).unwrap(), Vec::new());
        write(&trace, &mut bytes).unwrap();
        let field = |at: usize| bytes.chunks(RECORD).map(|r| i64::from_le_bytes(array(r, at))).collect::<Vec<_>>();
        assert_eq!(field(16), [3, -1, 4, -1, -1]);
        assert_eq!(field(4), [1, 2, 1, 1, 3]);
        assert_eq!(bytes.chunks(RECORD).map(|r| r[0]).collect::<Vec<_>>(), [0, 0, 1, 1, 2]);
        assert_eq!(parse(&bytes, KeptColumns::Pages).unwrap().pages(), trace.pages());
    }
}
