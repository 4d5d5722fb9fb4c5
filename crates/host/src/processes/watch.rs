//! Which pages of a process were used since the last look, again and again.
//!
//! What can be told depends on the kernel:
//!
//! - Pages that came (made, or back from swap) or went: always, page by page.
//! - Pages that were written: page by page, where the kernel has soft-dirty marks (CONFIG_MEM_SOFT_DIRTY).
//! - Pages that were touched: page by page with idle page tracking (CONFIG_IDLE_PAGE_TRACKING, root). Else the accessed marks of the
//!   process are cleared and `smaps` says how many pages of each mapping were touched, not which. See [`super::cold`] for what
//!   clearing them means.
//!
//! A look takes a moment, and what happens to a page in it may be missed: marks are read first, then cleared.

use std::fs::File;
use std::io::{self, Read};
use std::os::unix::fs::FileExt;
use std::path::Path;

use swaptune_core::parse::maps;

use super::cold::{clear_marks, clear_written};
use super::idle::Bitmap;
use super::locate::{entry, words};
use super::{Locator, PageRun, Unseen, open, page_bytes};
use crate::sys;

/// Entries of pagemap read at once.
const ENTRIES: usize = 16 << 10;
const IN_RAM: u64 = 1;
const TOUCHED: u64 = 2;
const WRITTEN: u64 = 4;

/// What this kernel lets us see of an access.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Sight {
    /// Which pages were touched; else only how many of each mapping.
    pub each_page: bool,
    /// Which pages were written.
    pub writes: bool,
}

/// A page at a look: its address, and in the bits that an address of a page leaves free what is known of it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SeenPage(u64);

impl SeenPage {
    /// A page at this address, in RAM or in swap.
    #[must_use]
    pub fn new(address: u64, in_ram: bool) -> Self {
        Self(address | if in_ram { IN_RAM } else { 0 })
    }

    /// The same, touched since the last look.
    #[must_use]
    pub fn touched(self) -> Self {
        Self(self.0 | TOUCHED)
    }

    /// The same, written since the last look, as far as soft-dirty marks tell.
    #[must_use]
    pub fn written(self) -> Self {
        Self(self.0 | WRITTEN)
    }

    /// Its address.
    #[must_use]
    pub fn address(self) -> u64 {
        self.0 & !(IN_RAM | TOUCHED | WRITTEN)
    }

    /// Whether it is in RAM; else in swap.
    #[must_use]
    pub fn is_in_ram(self) -> bool {
        self.0 & IN_RAM != 0
    }

    /// Whether it is known to have been touched.
    #[must_use]
    pub fn is_touched(self) -> bool {
        self.0 & TOUCHED != 0
    }

    /// Whether it was written.
    #[must_use]
    pub fn is_written(self) -> bool {
        self.0 & WRITTEN != 0
    }
}

/// Pages of one mapping that were touched.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TouchedPages {
    /// First address.
    pub start: u64,
    /// Address behind the last.
    pub end: u64,
    /// How many.
    pub touched: u64,
}

/// What a look saw.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ProcessLook {
    /// All anonymous pages, in RAM and in swap, in the order of addresses.
    pub pages: Vec<SeenPage>,
    /// Of each mapping how many pages in RAM were touched, where only that can be seen; in the order of addresses.
    pub counted: Vec<TouchedPages>,
}

/// A process that is looked at again and again.
#[derive(Debug)]
pub struct WatchedProcess {
    pid: u32,
    began: bool,
    /// Address and frame of the pages that were marked idle.
    marked: Vec<(u64, u64)>,
}

impl WatchedProcess {
    /// One that was not looked at yet.
    #[must_use]
    pub fn new(pid: u32) -> Self {
        Self { pid, began: false, marked: Vec::new() }
    }
}

/// Looks; keeps what it needs from one process to the next.
#[derive(Debug)]
pub struct Watcher {
    locator: Locator,
    bitmap: Option<Bitmap>,
    writes: bool,
    entries: Vec<u8>,
}

impl Watcher {
    /// Finds out what this kernel has; `bitmap` is [`super::cold::BITMAP`].
    ///
    /// # Errors
    /// What the system says of our own pages.
    pub fn new(bitmap: &Path) -> io::Result<Self> {
        let (bitmap, writes) = (Bitmap::open(bitmap).ok(), has_soft_dirty()?);
        Ok(Self { locator: Locator::new(), bitmap, writes, entries: vec![0; ENTRIES * 8] })
    }

    /// What it can see.
    #[must_use]
    pub fn sight(&self) -> Sight {
        Sight { each_page: self.bitmap.is_some(), writes: self.writes }
    }

    /// What happened since the last look, and begins anew. At the first look nothing is known to have been touched.
    ///
    /// # Errors
    /// [`Unseen`] when the process has ended or may not be looked at.
    pub fn look(&mut self, watched: &mut WatchedProcess) -> Result<ProcessLook, Unseen> {
        let pid = watched.pid;
        let counted = if watched.began && self.bitmap.is_none() { counted(pid)? } else { Vec::new() };
        let located = self.locator.locate(pid)?;
        let mut pages = seen(&located.runs, &located.swapped_runs);
        let mut frames = Vec::new();
        if self.writes || self.bitmap.is_some() {
            self.entries_of(pid, &mut pages, &mut frames, watched.began)?;
        }
        match &self.bitmap {
            Some(bitmap) => {
                let failed = |error: io::Error| Unseen::new(pid, "pagemap", &error);
                idle(bitmap, &mut pages, &watched.marked).map_err(failed)?;
                bitmap.mark(frames.iter().map(|(_, frame)| *frame).collect()).map_err(failed)?;
                clear_written(pid)?;
            }
            None => clear_marks(pid)?,
        }
        (watched.marked, watched.began) = (frames, true);
        Ok(ProcessLook { pages, counted })
    }

    /// Asks pagemap which of the pages were written, and where those in RAM are.
    fn entries_of(&mut self, pid: u32, pages: &mut [SeenPage], frames: &mut Vec<(u64, u64)>, began: bool) -> Result<(), Unseen> {
        let pagemap = open(pid, "pagemap")?;
        let bytes = page_bytes() as u64;
        let mut rest = pages;
        while let Some(first) = rest.first().map(|page| page.address()) {
            let near = rest.iter().take_while(|page| (page.address() - first) / bytes < ENTRIES as u64).count();
            let (part, behind) = rest.split_at_mut(near);
            let count = part.last().map_or(0, |page| (page.address() - first) / bytes) as usize + 1;
            let read = pagemap.read_at(&mut self.entries[..count * 8], first / bytes * 8);
            let read = read.map_err(|error| Unseen::new(pid, "pagemap", &error))?;
            for page in part {
                let at = ((page.address() - first) / bytes) as usize * 8;
                let word = self.entries[..read].get(at..at + 8).and_then(|word| words(word).next()).unwrap_or(0);
                if began && self.writes && word & entry::SOFT_DIRTY != 0 {
                    *page = page.written();
                }
                let frame = word & entry::FRAME;
                if let Some(bitmap) = self.bitmap.as_ref().filter(|_| word & entry::PRESENT != 0 && frame > 0) {
                    frames.push((page.address(), bitmap.frame_of(frame)));
                }
            }
            rest = behind;
        }
        Ok(())
    }
}

/// Pages of both kinds in the order of addresses.
fn seen(in_ram: &[PageRun], swapped: &[PageRun]) -> Vec<SeenPage> {
    let each = |runs: &[PageRun], in_ram: bool| -> Vec<SeenPage> {
        let of =
            |PageRun { start, pages }| (0..pages).map(move |index| SeenPage::new(start + index * page_bytes() as u64, in_ram));
        runs.iter().copied().flat_map(of).collect()
    };
    let mut pages = each(in_ram, true);
    pages.extend(each(swapped, false));
    // Two rows in order become one: the sort finds them and joins them.
    pages.sort_by_key(|page| page.address());
    pages
}

/// Pages that were marked idle and no longer are. One that lies in another frame now tells nothing.
fn idle(bitmap: &Bitmap, pages: &mut [SeenPage], marked: &[(u64, u64)]) -> io::Result<()> {
    let mut marked = marked.iter().peekable();
    for page in pages.iter_mut().filter(|page| page.is_in_ram()) {
        while marked.next_if(|(address, _)| *address < page.address()).is_some() {}
        let Some((_, frame)) = marked.next_if(|(address, _)| *address == page.address()) else { continue };
        if !bitmap.is_idle(*frame)? {
            *page = page.touched();
        }
    }
    Ok(())
}

/// How many pages of each mapping were touched. The marks of mappings of files were not cleared, whatever private pages are in them.
fn counted(pid: u32) -> Result<Vec<TouchedPages>, Unseen> {
    let mut text = String::new();
    open(pid, "smaps")?.read_to_string(&mut text).map_err(|error| Unseen::new(pid, "smaps", &error))?;
    let page = page_bytes() as u64;
    let cleared = |usage: &&maps::Usage| usage.mapping.may_hold_pages() && !usage.mapping.name.starts_with('/');
    let count = |usage: &maps::Usage| TouchedPages {
        start: usage.mapping.start,
        end: usage.mapping.end,
        touched: usage.referenced.min(usage.rss).0 / page,
    };
    Ok(maps::usage(&text).iter().filter(cleared).map(count).collect())
}

/// Whether this kernel keeps soft-dirty marks: a page that was just made bears one.
fn has_soft_dirty() -> io::Result<bool> {
    let page = page_bytes();
    let mut region = sys::OwnRegion::new(page)?;
    region.bytes_mut()[0] = 1;
    let mut word = [0; 8];
    File::open("/proc/self/pagemap")?.read_exact_at(&mut word, (region.address() / page * 8) as u64)?;
    Ok(u64::from_ne_bytes(word) & entry::SOFT_DIRTY != 0)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::processes::tests::{half_written, marks_are_ours};

    fn of(look: &ProcessLook, region: &sys::OwnRegion) -> Vec<SeenPage> {
        let (start, end) = (region.address() as u64, (region.address() + region.bytes_len()) as u64);
        look.pages.iter().copied().filter(|page| (start..end).contains(&page.address())).collect()
    }

    #[test]
    fn pages_that_came_and_went_are_seen_and_touched_ones_counted() {
        let _alone = marks_are_ours();
        let page = page_bytes();
        let mut region = half_written(64);
        let mut watcher = Watcher::new(Path::new("/nonexistent")).unwrap();
        let mut watched = WatchedProcess::new(std::process::id());
        let first = watcher.look(&mut watched).unwrap();
        assert_eq!(of(&first, &region).len(), 32);
        assert!(first.counted.is_empty() && first.pages.iter().all(|page| !page.is_touched() && !page.is_written()));
        region.bytes_mut()[page] = 1;
        (0..10).for_each(|index| region.touch(4 * index * page));
        let second = watcher.look(&mut watched).unwrap();
        assert_eq!(of(&second, &region).len(), 33);
        let start = region.address() as u64;
        let counted = second.counted.iter().find(|counted| (counted.start..counted.end).contains(&start)).unwrap();
        // The region may have become one mapping with a neighbour, which other tests use.
        assert!(counted.touched >= 11, "{counted:?}");
        let written: Vec<u64> = of(&second, &region).iter().filter(|page| page.is_written()).map(|page| page.address()).collect();
        assert!(!watcher.sight().each_page && (written.contains(&(start + page as u64)) || !watcher.sight().writes));
    }

    #[test]
    fn with_idle_page_tracking_each_page_is_told_to_root_alone() {
        let _alone = marks_are_ours();
        let region = half_written(8);
        // A file stands for the bitmap, in which nothing changes until this test plays the kernel.
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("bitmap");
        std::fs::write(&path, "").unwrap();
        let mut watcher = Watcher::new(&path).unwrap();
        assert!(watcher.sight().each_page);
        let mut watched = WatchedProcess::new(std::process::id());
        watcher.look(&mut watched).unwrap();
        if !rustix::process::geteuid().is_root() {
            assert_eq!(watched.marked, [], "page frames are shown to root only");
            return;
        }
        let start = region.address() as u64;
        watched.marked.retain(|(address, _)| (start..start + region.bytes_len() as u64).contains(address));
        let frame = watched.marked[1].1;
        assert_eq!(watched.marked.len(), 4);
        watcher.bitmap.as_ref().unwrap().touch(frame);
        let look = watcher.look(&mut watched).unwrap();
        assert_eq!(of(&look, &region).iter().map(|page| page.is_touched()).collect::<Vec<_>>(), [false, true, false, false]);
        assert!(look.counted.is_empty());
    }

    #[test]
    fn one_that_ended_is_unseen() {
        let mut watcher = Watcher::new(Path::new("/nonexistent")).unwrap();
        assert_eq!(watcher.look(&mut WatchedProcess::new(u32::MAX)), Err(Unseen::Vanished(u32::MAX)));
    }
}
