//! What `perf script` prints of page faults and of sampled loads and stores: one access for each sample that has an address.
//!
//! | event | address | operation |
//! |---|---|---|
//! | `exceptions:page_fault_user`, `…_kernel` | `address=0x…` | write when bit 1 of `error_code` is set (x86: the access was a write), else read |
//! | `page-faults` and others with the field `addr` | the hexadecimal number behind the event | read |
//! | `mem-loads`, `mem-stores` and others with `data_src` | the same | write when the event or its `|OP …|` is a store |
//!
//! A page is 4 KiB of the address space of one process, and each process is a cgroup of the trace, in the order of their first
//! events. Addresses of the kernel's half and 0, which processors report when they do not know, are left out, as are lines after
//! `#` and stacks, whose lines begin with a tab.

use std::collections::HashMap;

use super::columns::{KeptColumns, Trace};
use super::digits::hexadecimal;
use super::error::{TraceError, TracePlace};
use super::event::{Event, Op};
use super::lines::Lines;
use super::numbered::Numbered;
use super::sample_line::{SampleLine, tokens};
use super::source::TraceSource;

/// How perf's own file begins.
pub(super) const BINARY: &[u8] = b"PERFILE2";
/// Bits of an address below its page number.
const PAGE_SHIFT: u32 = 12;
/// Bits of an id for the page, of 56 bits of the address; processes have those above. In the highest byte some processors allow a tag.
const PAGE_BITS: u32 = 44;
/// Bit of an address that is set in the kernel's half.
const KERNEL: u64 = 1 << 63;
/// Bit of x86's page-fault error code: the access was a write.
const WRITE: u64 = 2;
/// What to type, so that the output has what is needed.
const EXPECTED: &str = "the address of the data (perf record -d, then perf script -F comm,pid,tid,time,event,addr)";

/// Reads lines until the source ends.
///
/// # Errors
/// When the source fails, a line is not a sample, or a sample has no address.
pub fn read(mut source: TraceSource<'_>, keep: KeptColumns) -> Result<Trace, TraceError> {
    let fail = |source| TraceError::Read { place: TracePlace::Header, source };
    if source.peek().map_err(fail)?.starts_with(BINARY) {
        let expected = "its text: perf script -i FILE -F comm,pid,tid,time,event,addr";
        return Err(TraceError::malformed(TracePlace::Header, "perf's binary file", expected));
    }
    let mut trace = Numbered::new(keep, source.most());
    let (mut lines, mut processes) = (Lines::new(source), PerfProcesses::default());
    while let Some((place, line)) = lines.next()? {
        if matches!(line.trim_ascii_start().first(), None | Some(b'#')) || line[0] == b'\t' {
            continue;
        }
        let fault = |found: &[u8], expected: &str| {
            Err(TraceError::malformed(place, format!("`{}`", String::from_utf8_lossy(found.trim_ascii())), expected))
        };
        let Some(sample) = SampleLine::split(line) else {
            return fault(line, "a sample with its time, SECONDS.FRACTION:");
        };
        let Some((address, op)) = access(&sample) else {
            let found = if sample.rest.is_empty() { sample.event } else { sample.rest };
            return fault(found, EXPECTED);
        };
        if address & KERNEL != 0 || address == 0 {
            continue;
        }
        let process = sample.process().unwrap_or(0);
        let Some(cgroup) = processes.number(process) else {
            return fault(process.to_string().as_bytes(), "at most 65536 processes");
        };
        let page = address >> PAGE_SHIFT & ((1 << PAGE_BITS) - 1);
        trace.push(u64::from(cgroup) << PAGE_BITS | page, Event { time: sample.time, page: 0, cgroup, op })?;
    }
    trace.finish()
}

/// The address of a sample, and what was done there.
fn access(sample: &SampleLine<'_>) -> Option<(u64, Op)> {
    let mut words = tokens(sample.rest);
    let first = words.next()?;
    if let Some(address) = first.strip_prefix(b"address=0x") {
        let code = words.find_map(|token| token.strip_prefix(b"error_code=0x")).and_then(hexadecimal);
        let op = if code.is_some_and(|code| code & WRITE != 0) { Op::Write } else { Op::Read };
        return hexadecimal(address).map(|address| (address, op));
    }
    let address = hexadecimal(first)?;
    let named = sample.event.windows(5).any(|part| part == b"store");
    if words.clone().next().is_none() {
        return Some((address, store(named)));
    }
    // With instruction pointers too, the address is the first of two numbers; one number and a symbol is the instruction alone.
    let source = words.clone().find_map(|token| token.strip_prefix(b"|OP"));
    let another = words.any(|token| token.len() >= 6 && hexadecimal(token).is_some());
    let stored = named || source.is_some() && memchr::memmem::find(sample.rest, b"|OP STORE").is_some();
    (source.is_some() || another).then(|| (address, store(stored)))
}

fn store(stored: bool) -> Op {
    if stored { Op::Write } else { Op::Read }
}

/// Numbers of processes, in the order in which they appear.
#[derive(Default)]
struct PerfProcesses {
    numbers: HashMap<u64, u16>,
    /// Most samples are of the process that the one before was of.
    last: Option<(u64, u16)>,
}

impl PerfProcesses {
    fn number(&mut self, process: u64) -> Option<u16> {
        if let Some((_, number)) = self.last.filter(|(last, _)| *last == process) {
            return Some(number);
        }
        let next = u16::try_from(self.numbers.len());
        let number = match self.numbers.get(&process) {
            Some(&number) => number,
            None => *self.numbers.entry(process).or_insert(next.ok()?),
        };
        self.last = Some((process, number));
        Some(number)
    }
}

#[cfg(test)]
#[path = "perf_tests.rs"]
mod tests;
