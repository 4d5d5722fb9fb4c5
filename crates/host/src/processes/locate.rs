//! Where the anonymous pages of a process are.
//!
//! Both ways look at the same mappings: private and readable, for the pages of others cannot be read from outside. From
//! Linux 6.7 the kernel searches them itself (`PAGEMAP_SCAN`); before, `/proc/PID/pagemap` has eight bytes for each page of
//! each of these mappings, present or not. Which of them works is found out by trying.
//!
//! A huge page counts as its small pages. The shared zero page is no memory of the process and is left out; pagemap shows to root
//! alone which page that is, and never the huge one, so the second way counts what it cannot tell apart.

use std::fs::File;
use std::io::{self, Read};
use std::os::unix::fs::FileExt;

use swaptune_core::parse::maps::{self, MemoryMapping};

use super::{Unseen, open, page_bytes};
use crate::sys;
use crate::sys::pages::{FILE, GUARD, PRESENT, PageRegion, PageScan, SWAPPED, ZERO_PAGE, pagemap_scan};

/// Regions of one call: 48 KiB of them.
const REGIONS: usize = 2048;
/// Entries of pagemap read at once: 256 KiB, for 128 MiB of addresses.
const ENTRIES: usize = 32 << 10;

/// Bits of an entry of pagemap (Documentation/admin-guide/mm/pagemap.rst).
pub(super) mod entry {
    /// In RAM.
    pub const PRESENT: u64 = 1 << 63;
    /// In swap.
    pub const SWAPPED: u64 = 1 << 62;
    /// Of a file, or anonymous memory that is shared.
    pub const FILE: u64 = 1 << 61;
    /// A guard marker (Linux 6.15).
    pub const GUARD: u64 = 1 << 58;
    /// Mapped by this process alone.
    pub const EXCLUSIVE: u64 = 1 << 56;
    /// Written since `clear_refs` was told 4; never set by a kernel without CONFIG_MEM_SOFT_DIRTY.
    pub const SOFT_DIRTY: u64 = 1 << 55;
    /// The page frame; zero without root.
    pub const FRAME: u64 = (1 << 55) - 1;
}

/// How pages were found.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Method {
    /// The kernel searched.
    Scan,
    /// We read pagemap.
    Pagemap,
}

/// Neighbouring pages.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PageRun {
    /// Address of the first.
    pub start: u64,
    /// How many.
    pub pages: u64,
}

/// The anonymous pages of one process.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Located {
    /// Pages in RAM, in the order of addresses.
    pub runs: Vec<PageRun>,
    /// How many pages are in RAM.
    pub present: u64,
    /// How many are in swap.
    pub swapped: u64,
    /// Pages in swap, in the order of addresses.
    pub swapped_runs: Vec<PageRun>,
}

impl Located {
    fn add(&mut self, start: u64, pages: u64, present: bool, page: u64) {
        let (count, runs) =
            if present { (&mut self.present, &mut self.runs) } else { (&mut self.swapped, &mut self.swapped_runs) };
        *count += pages;
        match runs.last_mut() {
            Some(run) if run.start + run.pages * page == start => run.pages += pages,
            _ => runs.push(PageRun { start, pages }),
        }
    }
}

/// Finds pages; keeps what it needs from one process to the next.
#[derive(Debug)]
pub struct Locator {
    method: Option<Method>,
    excluded: u64,
    regions: Vec<PageRegion>,
    entries: Vec<u8>,
    text: String,
    zero_frame: Option<u64>,
}

impl Default for Locator {
    fn default() -> Self {
        Self::new()
    }
}

impl Locator {
    /// Uses the best way that works here.
    #[must_use]
    pub fn new() -> Self {
        Self {
            method: None,
            excluded: FILE | ZERO_PAGE | GUARD,
            regions: Vec::new(),
            entries: Vec::new(),
            text: String::new(),
            zero_frame: None,
        }
    }

    /// Uses this way only.
    #[must_use]
    pub fn using(method: Method) -> Self {
        Self { method: Some(method), ..Self::new() }
    }

    /// The way that worked; `None` before the first process.
    #[must_use]
    pub fn method(&self) -> Option<Method> {
        self.method
    }

    /// The anonymous pages of a process.
    ///
    /// # Errors
    /// [`Unseen`] when it has ended or may not be looked at.
    pub fn locate(&mut self, pid: u32) -> Result<Located, Unseen> {
        let spans = self.spans(pid)?;
        self.locate_in(pid, &spans)
    }

    /// Its anonymous pages at these addresses: from the first, up to the second.
    ///
    /// # Errors
    /// As of [`Self::locate`].
    pub fn locate_in(&mut self, pid: u32, spans: &[(u64, u64)]) -> Result<Located, Unseen> {
        let pagemap = open(pid, "pagemap")?;
        if self.method == Some(Method::Pagemap) {
            return self.by_pagemap(&pagemap, spans).map_err(|error| Unseen::new(pid, "pagemap", &error));
        }
        match self.by_scan(&pagemap, spans) {
            Ok(located) => {
                self.method = Some(Method::Scan);
                Ok(located)
            }
            // A kernel before 6.7, or a sandbox that does not know the call.
            Err(error) if self.method.is_none() && is_unknown(&error) => {
                self.method = Some(Method::Pagemap);
                self.locate_in(pid, spans)
            }
            Err(error) => Err(Unseen::new(pid, "pagemap", &error)),
        }
    }

    /// Addresses to search: mappings that may hold pages.
    fn spans(&mut self, pid: u32) -> Result<Vec<(u64, u64)>, Unseen> {
        self.text.clear();
        let read = open(pid, "maps")?.read_to_string(&mut self.text);
        read.map_err(|error| Unseen::new(pid, "maps", &error))?;
        Ok(join(&maps::parse(&self.text)))
    }

    fn by_scan(&mut self, pagemap: &File, spans: &[(u64, u64)]) -> io::Result<Located> {
        let page = page_bytes() as u64;
        self.regions.resize(REGIONS, PageRegion::default());
        let mut located = Located::default();
        for (start, end) in spans {
            let mut scan = PageScan { start: *start, end: *end, excluded: self.excluded, any: PRESENT | SWAPPED };
            while scan.start < scan.end {
                let count = match pagemap_scan(pagemap, &scan, &mut self.regions) {
                    // Guard markers are known from 6.15 on.
                    Err(error) if error.raw_os_error() == Some(libc::EINVAL) && scan.excluded & GUARD != 0 => {
                        self.excluded &= !GUARD;
                        scan.excluded = self.excluded;
                        continue;
                    }
                    done => done?,
                };
                for region in &self.regions[..count] {
                    located.add(region.start, (region.end - region.start) / page, region.categories & PRESENT != 0, page);
                }
                // Only a full answer may be cut short.
                scan.start = if count == REGIONS { self.regions[count - 1].end } else { scan.end };
            }
        }
        Ok(located)
    }

    fn by_pagemap(&mut self, pagemap: &File, spans: &[(u64, u64)]) -> io::Result<Located> {
        let page = page_bytes() as u64;
        self.entries.resize(ENTRIES * 8, 0);
        let zero = *self.zero_frame.get_or_insert_with(|| zero_frame().unwrap_or_default());
        let mut located = Located::default();
        for (start, end) in spans {
            let mut at = *start;
            while at < *end {
                let wanted = usize::try_from((end - at) / page * 8).unwrap_or(usize::MAX).min(self.entries.len());
                let count = pagemap.read_at(&mut self.entries[..wanted], at / page * 8)? / 8;
                // Nothing to read any more: the process has ended.
                if count == 0 {
                    return Err(io::Error::from_raw_os_error(libc::ESRCH));
                }
                for (word, address) in words(&self.entries[..count * 8]).zip((at..).step_by(page_bytes())) {
                    if is_anonymous(word, zero) {
                        located.add(address, 1, word & entry::PRESENT != 0, page);
                    }
                }
                at += count as u64 * page;
            }
        }
        Ok(located)
    }
}

fn is_unknown(error: &io::Error) -> bool {
    matches!(error.raw_os_error(), Some(libc::ENOTTY | libc::ENOSYS | libc::EINVAL | libc::EPERM))
}

fn is_anonymous(word: u64, zero_frame: u64) -> bool {
    let is_zero_page = word & entry::PRESENT != 0 && zero_frame != 0 && word & entry::FRAME == zero_frame;
    word & (entry::FILE | entry::GUARD) == 0 && word & (entry::PRESENT | entry::SWAPPED) != 0 && !is_zero_page
}

/// The entries in these bytes.
pub(super) fn words(bytes: &[u8]) -> impl Iterator<Item = u64> {
    bytes.chunks_exact(8).map(|word| word.try_into().map_or(0, u64::from_ne_bytes))
}

/// Mappings that touch each other become one span. A list that was read while mappings changed may show one of them twice,
/// grown; no address is searched twice.
fn join(mappings: &[MemoryMapping]) -> Vec<(u64, u64)> {
    let mut spans: Vec<(u64, u64)> = Vec::new();
    for mapping in mappings.iter().filter(|mapping| mapping.may_hold_pages()) {
        match spans.last_mut() {
            Some(span) if mapping.start <= span.1 => span.1 = span.1.max(mapping.end),
            _ => spans.push((mapping.start, mapping.end)),
        }
    }
    spans
}

/// The frame of the page of zeros, seen on a page of our own that was read and never written; zero without root.
fn zero_frame() -> io::Result<u64> {
    let page = page_bytes();
    let region = sys::OwnRegion::new(page)?;
    region.touch(0);
    let mut word = [0; 8];
    File::open("/proc/self/pagemap")?.read_exact_at(&mut word, (region.address() / page * 8) as u64)?;
    Ok(u64::from_ne_bytes(word) & entry::FRAME)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn spans_have_no_holes() {
        let mapping = |start, end, read| MemoryMapping { start, end, read, private: true, name: String::new() };
        let mappings =
            [mapping(1, 2, true), mapping(2, 3, true), mapping(5, 6, true), mapping(6, 9, false), mapping(9, 10, true)];
        assert_eq!(join(&mappings), [(1, 3), (5, 6), (9, 10)]);
        assert_eq!(join(&[mapping(1, 4, true), mapping(2, 6, true), mapping(3, 4, true)]), [(1, 6)]);
        assert!(join(&[]).is_empty());
    }

    #[test]
    fn neighbours_become_one_run() {
        let mut located = Located::default();
        for (start, present) in [(0x1000, true), (0x2000, true), (0x3000, false), (0x4000, true)] {
            located.add(start, 1, present, 0x1000);
        }
        assert_eq!(located.runs, [PageRun { start: 0x1000, pages: 2 }, PageRun { start: 0x4000, pages: 1 }]);
        assert_eq!(
            (located.present, located.swapped, &located.swapped_runs[..]),
            (3, 1, &[PageRun { start: 0x3000, pages: 1 }][..])
        );
    }

    #[test]
    fn an_entry_tells_what_a_page_is() {
        assert!(is_anonymous(entry::PRESENT | 77, 78));
        assert!(is_anonymous(entry::SWAPPED | 78, 78), "the bits of a swapped page are a place in swap");
        assert!(!is_anonymous(entry::PRESENT | 78, 78), "the page of zeros");
        assert!(is_anonymous(entry::PRESENT, 0), "without root no frame is shown");
        for word in [0, entry::PRESENT | entry::FILE, entry::SWAPPED | entry::GUARD] {
            assert!(!is_anonymous(word, 0), "{word:#x}");
        }
    }
}
