//! Idle page tracking (Documentation/admin-guide/mm/idle_page_tracking.rst): a bit for each page frame, which we set and the kernel
//! clears when the page is accessed.

use std::fs::{File, OpenOptions};
use std::io;
use std::os::unix::fs::FileExt;
use std::path::Path;

use super::locate::words;

/// Flags of all page frames, for root (Documentation/admin-guide/mm/pagemap.rst).
const FLAGS: &str = "/proc/kpageflags";
/// First page of a compound one.
const HEAD: u64 = 1 << 15;
/// Any other page of it.
const TAIL: u64 = 1 << 16;
/// Pages of the largest compound page that is looked for: a huge page of 2 MiB.
const LARGEST: usize = 512;

/// The bitmap.
#[derive(Debug)]
pub(super) struct Bitmap {
    file: File,
    flags: Option<File>,
}

impl Bitmap {
    pub(super) fn open(path: &Path) -> io::Result<Self> {
        let file = OpenOptions::new().read(true).write(true).open(path)?;
        Ok(Self { file, flags: File::open(FLAGS).ok() })
    }

    /// The frame that has the bit for this one: the bits of a compound page are those of its first frame.
    pub(super) fn frame_of(&self, frame: u64) -> u64 {
        let Some(flags) = &self.flags else { return frame };
        let first = frame.saturating_sub(LARGEST as u64 - 1);
        let mut bytes = [0; LARGEST * 8];
        let own = &mut [0; 8];
        if flags.read_exact_at(own, frame * 8).is_err() || u64::from_ne_bytes(*own) & TAIL == 0 {
            return frame;
        }
        let count = (frame - first) as usize;
        if flags.read_exact_at(&mut bytes[..count * 8], first * 8).is_err() {
            return frame;
        }
        let head = words(&bytes[..count * 8]).collect::<Vec<u64>>().iter().rposition(|word| word & HEAD != 0);
        head.map_or(frame, |head| first + head as u64)
    }

    /// Marks frames idle, all of a word of the bitmap in one go. Bits that are not set leave other frames as they are.
    pub(super) fn mark(&self, mut frames: Vec<u64>) -> io::Result<()> {
        frames.sort_unstable();
        for word in frames.chunk_by(|a, b| a / 64 == b / 64) {
            let bits = word.iter().fold(0_u64, |bits, frame| bits | 1 << (frame % 64));
            self.file.write_all_at(&bits.to_ne_bytes(), word[0] / 64 * 8)?;
        }
        Ok(())
    }

    /// Whether it was not accessed since.
    pub(super) fn is_idle(&self, frame: u64) -> io::Result<bool> {
        let mut word = [0; 8];
        self.file.read_exact_at(&mut word, frame / 64 * 8)?;
        Ok(u64::from_ne_bytes(word) >> (frame % 64) & 1 == 1)
    }

    /// Plays the kernel: a frame is accessed.
    #[cfg(test)]
    pub(super) fn touch(&self, frame: u64) {
        let mut word = [0; 8];
        self.file.read_exact_at(&mut word, frame / 64 * 8).unwrap();
        let touched = u64::from_ne_bytes(word) & !(1 << (frame % 64));
        self.file.write_all_at(&touched.to_ne_bytes(), frame / 64 * 8).unwrap();
    }
}
