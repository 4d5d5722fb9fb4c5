//! Copies of chosen pages of a process, many in one call.
//!
//! A page that was given back since it was found would be made anew by reading it, as a page of zeros, and one that went to
//! swap would be brought back. So pagemap is asked again just before: what is no longer in RAM is not read, and counted.

use std::fs::File;
use std::io;
use std::os::unix::fs::FileExt;

use super::locate::{entry, words};
use super::{Unseen, open, page_bytes};
use crate::sys::pages::{ProcessRange, read_ranges};

/// Most ranges of one call.
const RANGES: usize = 256;
/// Most bytes of one call.
const BATCH: usize = 1 << 20;
/// Pages that lie no further apart are asked about in one read of pagemap.
const WINDOW: u64 = 64;

/// What became of the pages of one process.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ProcessRead {
    /// Pages that were read.
    pub read: u64,
    /// Pages that were gone, into swap or altogether.
    pub vanished: u64,
    /// Of those read, pages that other processes map too.
    pub shared: u64,
}

/// One page as it is handed over.
#[derive(Debug)]
pub struct ProcessPage<'a> {
    /// Which of the addresses that were asked for.
    pub index: usize,
    /// Its bytes.
    pub bytes: &'a mut [u8],
    /// True when other processes map it too.
    pub shared: bool,
}

/// A page that is to be read.
#[derive(Clone, Copy, Debug)]
struct WantedPage {
    index: usize,
    address: u64,
    shared: bool,
}

/// Reads pages; keeps its buffers from one process to the next.
#[derive(Debug)]
pub struct PageReader {
    buffer: Vec<u8>,
    ranges: Vec<ProcessRange>,
    wanted: Vec<WantedPage>,
    entries: Vec<u8>,
}

impl Default for PageReader {
    fn default() -> Self {
        Self::new()
    }
}

impl PageReader {
    /// With buffers of its own.
    #[must_use]
    pub fn new() -> Self {
        Self { buffer: vec![0; BATCH], ranges: Vec::with_capacity(RANGES), wanted: Vec::new(), entries: Vec::new() }
    }

    /// Reads the pages at these addresses, which ascend, and hands each to `page`.
    ///
    /// # Errors
    /// [`Unseen::Forbidden`] when the process may not be read. One that has ended is no error: its pages have vanished.
    pub fn read(&mut self, pid: u32, addresses: &[u64], mut page: impl FnMut(ProcessPage<'_>)) -> Result<ProcessRead, Unseen> {
        let mut outcome = ProcessRead::default();
        let pagemap = match open(pid, "pagemap") {
            Err(Unseen::Vanished(_)) => return Ok(ProcessRead { vanished: addresses.len() as u64, ..outcome }),
            opened => opened?,
        };
        let most = BATCH / page_bytes();
        for (batch, first) in addresses.chunks(most).zip((0..).step_by(most)) {
            self.check(&pagemap, batch, first).map_err(|error| Unseen::new(pid, "pagemap", &error))?;
            outcome.vanished += (batch.len() - self.wanted.len()) as u64;
            self.copy(pid, &mut outcome, &mut page)?;
        }
        Ok(outcome)
    }

    /// Which pages of a batch are still there.
    fn check(&mut self, pagemap: &File, batch: &[u64], first: usize) -> io::Result<()> {
        let bytes = page_bytes() as u64;
        self.wanted.clear();
        let mut from = 0;
        while let Some(start) = batch.get(from) {
            let near = batch[from..].windows(2).take_while(|pair| pair[1] - pair[0] <= WINDOW * bytes).count();
            let part = &batch[from..=from + near];
            let pages = usize::try_from((part[near] - start) / bytes).unwrap_or(0) + 1;
            self.entries.resize(self.entries.len().max(pages * 8), 0);
            // Nothing to read: the process has ended, and so have its pages.
            let read = pagemap.read_at(&mut self.entries[..pages * 8], start / bytes * 8)?;
            for (address, index) in part.iter().zip(first + from..) {
                let at = usize::try_from((address - start) / bytes).unwrap_or(usize::MAX) * 8;
                let word = self.entries[..read].get(at..at + 8).and_then(|word| words(word).next()).unwrap_or(0);
                if word & entry::PRESENT != 0 && word & entry::FILE == 0 {
                    let shared = word & entry::EXCLUSIVE == 0;
                    self.wanted.push(WantedPage { index, address: *address, shared });
                }
            }
            from += near + 1;
        }
        Ok(())
    }

    /// Copies what is wanted. A call that stops short stops before a page that cannot be read: that page has vanished, and
    /// the next call begins behind it.
    fn copy(&mut self, pid: u32, outcome: &mut ProcessRead, page: &mut impl FnMut(ProcessPage<'_>)) -> Result<(), Unseen> {
        let bytes = page_bytes();
        let mut from = 0;
        while from < self.wanted.len() {
            let count = self.gather(from);
            let read = match read_ranges(pid, &self.ranges, &mut self.buffer[..count * bytes]) {
                Ok(read) => read / bytes,
                Err(error) => match error.raw_os_error() {
                    Some(libc::EFAULT | libc::ENOMEM) => 0,
                    Some(libc::ESRCH) => {
                        outcome.vanished += (self.wanted.len() - from) as u64;
                        return Ok(());
                    }
                    _ => return Err(Unseen::new(pid, "mem", &error)),
                },
            };
            for (wanted, bytes) in self.wanted[from..from + read].iter().zip(self.buffer.chunks_exact_mut(bytes)) {
                outcome.shared += u64::from(wanted.shared);
                page(ProcessPage { index: wanted.index, bytes, shared: wanted.shared });
            }
            outcome.read += read as u64;
            outcome.vanished += u64::from(read < count);
            from += read + usize::from(read < count);
        }
        Ok(())
    }

    /// Ranges for the next call, neighbours joined; returns how many pages they have.
    fn gather(&mut self, from: usize) -> usize {
        let bytes = page_bytes();
        self.ranges.clear();
        let mut count = 0;
        for wanted in &self.wanted[from..] {
            let full = self.ranges.len() == RANGES;
            match self.ranges.last_mut() {
                Some(range) if range.start + range.length as u64 == wanted.address => range.length += bytes,
                _ if full => break,
                _ => self.ranges.push(ProcessRange { start: wanted.address, length: bytes }),
            }
            count += 1;
        }
        count
    }
}
