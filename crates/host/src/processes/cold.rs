//! Which pages are touched while we wait.
//!
//! Two ways, by what the kernel has:
//!
//! - Idle page tracking (`/sys/kernel/mm/page_idle/bitmap`, root, CONFIG_IDLE_PAGE_TRACKING): single page frames are marked idle, and
//!   lose the mark when they are accessed. Made for this; reclaim does not notice.
//! - `clear_refs`: the accessed marks of all anonymous mappings of a process are cleared, and `smaps` says later how much of each
//!   mapping was touched. These are the marks that reclaim itself goes by: for a while it takes every page of the process for
//!   unused. And where reclaim clears marks meanwhile (memory is short), pages look colder than they are.
//!
//! Whole huge pages count as touched when any byte of them is.

use std::fs::{File, OpenOptions};
use std::io::{self, Read, Write};
use std::os::unix::fs::FileExt;
use std::path::Path;

use swaptune_core::parse::maps;

use super::idle::Bitmap;
use super::locate::{entry, words};
use super::{Unseen, open, page_bytes};

/// The bitmap of idle page tracking.
pub const BITMAP: &str = "/sys/kernel/mm/page_idle/bitmap";

/// What became of a page that was watched.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fate {
    /// It was accessed.
    Touched,
    /// It was not.
    Cold,
    /// It could not be marked, or is no longer where it was: moved, swapped out, given back.
    Unknown,
}

/// Single pages that are watched through idle page tracking.
#[derive(Debug)]
pub struct IdlePages {
    bitmap: Bitmap,
    /// Process, address and frame; frame 0 where it was not to be had.
    pages: Vec<(u32, u64, u64)>,
}

impl IdlePages {
    /// Opens the bitmap, which is [`BITMAP`].
    ///
    /// # Errors
    /// What the system says: this kernel lacks it, or we are not root.
    pub fn open(bitmap: &Path) -> io::Result<Self> {
        Ok(Self { bitmap: Bitmap::open(bitmap)?, pages: Vec::new() })
    }

    /// Marks the pages of a process at these addresses idle.
    ///
    /// # Errors
    /// What the system says of the bitmap. A process that has ended is no error: the fate of its pages is unknown.
    pub fn mark(&mut self, pid: u32, addresses: &[u64]) -> io::Result<()> {
        let pagemap = open(pid, "pagemap").ok();
        let mut frames = Vec::with_capacity(addresses.len());
        for address in addresses {
            let frame = pagemap.as_ref().and_then(|pagemap| frame(pagemap, *address)).unwrap_or(0);
            if frame > 0 {
                frames.push(self.bitmap.frame_of(frame));
            }
            self.pages.push((pid, *address, frame));
        }
        self.bitmap.mark(frames)
    }

    /// What became of them, in the order in which they were marked.
    ///
    /// # Errors
    /// What the system says of the bitmap.
    pub fn fates(&self) -> io::Result<Vec<Fate>> {
        let mut fates = Vec::with_capacity(self.pages.len());
        for pages in self.pages.chunk_by(|a, b| a.0 == b.0) {
            let pagemap = pages.first().and_then(|(pid, ..)| open(*pid, "pagemap").ok());
            for (_, address, marked) in pages {
                let now = pagemap.as_ref().and_then(|pagemap| frame(pagemap, *address));
                let is_same = *marked > 0 && now == Some(*marked);
                fates.push(match is_same {
                    false => Fate::Unknown,
                    true if self.bitmap.is_idle(self.bitmap.frame_of(*marked))? => Fate::Cold,
                    true => Fate::Touched,
                });
            }
        }
        Ok(fates)
    }
}

/// The frame of a page that is in RAM; `None` without root.
fn frame(pagemap: &File, address: u64) -> Option<u64> {
    let mut word = [0; 8];
    pagemap.read_exact_at(&mut word, address / page_bytes() as u64 * 8).ok()?;
    let word = words(&word).next().filter(|word| word & entry::PRESENT != 0)?;
    Some(word & entry::FRAME).filter(|frame| *frame > 0)
}

/// Clears the accessed marks of the anonymous mappings of a process, and the soft-dirty marks of all its mappings where the kernel
/// has such.
///
/// # Errors
/// [`Unseen`] when it has ended or may not be written to.
pub fn clear_marks(pid: u32) -> Result<(), Unseen> {
    // 1 would clear those of mapped files too (Documentation/filesystems/proc.rst).
    clear(pid, b"2")?;
    clear_written(pid)
}

/// Clears the soft-dirty marks of a process where the kernel has such, and in any case what its processors remember of its page
/// table: for an address that is in their TLB they set no mark, and of all writes to `clear_refs` 4 alone makes the kernel flush it.
pub(super) fn clear_written(pid: u32) -> Result<(), Unseen> {
    clear(pid, b"4")
}

fn clear(pid: u32, which: &[u8]) -> Result<(), Unseen> {
    let cleared =
        OpenOptions::new().write(true).open(format!("/proc/{pid}/clear_refs")).and_then(|mut file| file.write_all(which));
    cleared.map_err(|error| Unseen::new(pid, "clear_refs", &error))
}

/// Pages of the anonymous mappings of a process that are in RAM.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Touched {
    /// Pages that were looked at.
    pub pages: u64,
    /// Those touched since [`clear_marks`].
    pub touched: u64,
}

/// How much of the anonymous mappings of a process was touched since [`clear_marks`].
///
/// # Errors
/// [`Unseen`] when it has ended or may not be looked at.
pub fn touched(pid: u32) -> Result<Touched, Unseen> {
    let mut text = String::new();
    open(pid, "smaps")?.read_to_string(&mut text).map_err(|error| Unseen::new(pid, "smaps", &error))?;
    let mut sum = Touched::default();
    // Mappings of files were not cleared, whatever private pages are in them.
    for usage in maps::usage(&text).iter().filter(|usage| usage.mapping.may_hold_pages() && !usage.mapping.name.starts_with('/'))
    {
        sum.pages += usage.rss.0 / page_bytes() as u64;
        sum.touched += usage.referenced.min(usage.rss).0 / page_bytes() as u64;
    }
    Ok(sum)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::processes::tests::{half_written, marks_are_ours};

    #[test]
    fn what_is_touched_after_the_marks_were_cleared_is_seen() {
        let _alone = marks_are_ours();
        let page = page_bytes();
        let region = half_written(4000);
        let pid = std::process::id();
        clear_marks(pid).unwrap();
        let before = touched(pid).unwrap();
        for index in (0..2000).step_by(2) {
            region.touch(index * page);
        }
        let after = touched(pid).unwrap();
        // 2000 pages are there, and 1000 of them were touched; on top comes what other tests touch, and give back in between.
        assert!(before.pages >= 2000 && before.touched < 500 && (1000..1500).contains(&after.touched), "{before:?} {after:?}");
    }

    #[test]
    fn idle_pages_are_told_by_their_bits_to_root_alone() {
        let page = page_bytes();
        let region = half_written(8);
        let address = |index: usize| (region.address() + index * page) as u64;
        // A file stands for the bitmap: the bits stay as they are until this test plays the kernel.
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("bitmap");
        std::fs::write(&path, "").unwrap();
        let mut idle = IdlePages::open(&path).unwrap();
        idle.mark(std::process::id(), &[address(0), address(1), address(2)]).unwrap();
        if !rustix::process::geteuid().is_root() {
            assert_eq!(idle.fates().unwrap(), [Fate::Unknown; 3], "page frames are shown to root only");
            return;
        }
        assert_eq!(idle.fates().unwrap(), [Fate::Cold, Fate::Unknown, Fate::Cold], "the second page is not there");
        let frame = idle.pages[2].2;
        idle.bitmap.touch(frame);
        assert_eq!(idle.fates().unwrap()[2], Fate::Touched);
        // A frame that is another's now says nothing.
        idle.pages[2].2 = idle.pages[0].2;
        assert_eq!(idle.fates().unwrap()[2], Fate::Unknown);
        assert!(IdlePages::open(&folder.path().join("none")).is_err());
    }

    #[test]
    fn a_process_that_ended_has_an_unknown_fate() {
        let gone = u32::MAX;
        assert_eq!(clear_marks(gone), Err(Unseen::Vanished(gone)));
        assert_eq!(touched(gone), Err(Unseen::Vanished(gone)));
    }
}
