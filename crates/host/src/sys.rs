//! The unsafe code of this room, with the files beside it in `sys/`: system calls that no safe library wraps.
//!
//! Each function is the thinnest safe cover of one call, returns `io::Result`, and says in a `SAFETY` comment why the
//! call is sound. Nothing here decides anything.
#![allow(unsafe_code)]

pub mod child;
mod chroot;
mod inherited;
mod own;
pub mod pages;
mod shared;

pub use chroot::{own_world, rooted};
pub use inherited::inherited_listener;
pub use own::lock_what_is_used;

use std::ffi::{CString, c_int};
use std::io;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;
use std::ptr::{self, NonNull};
use std::slice;

/// Flag of [`swapon`]: the low 15 bits are a priority.
pub const SWAP_FLAG_PREFER: c_int = 0x8000;
/// Flag of [`swapon`]: discard the whole area once and slots as they come free, unless one of the two below is given too.
pub const SWAP_FLAG_DISCARD: c_int = 0x1_0000;
/// Flag of [`swapon`]: discard the whole area once.
pub const SWAP_FLAG_DISCARD_ONCE: c_int = 0x2_0000;

/// Flag of [`swapon`]: discard slots as they come free.
pub const SWAP_FLAG_DISCARD_PAGES: c_int = 0x4_0000;

/// Switches a swap area on, swapon(2).
///
/// # Errors
/// What the kernel says: EINVAL without a usable header or on an unsuitable file system, EBUSY when it is on already.
pub fn swapon(path: &Path, flags: c_int) -> io::Result<()> {
    let path = CString::new(path.as_os_str().as_bytes())?;
    // SAFETY: `path` is a NUL-terminated string that outlives the call; the kernel reads it and keeps no pointer.
    checked(unsafe { libc::swapon(path.as_ptr(), flags) })
}

/// Switches a swap area off, swapoff(2).
///
/// # Errors
/// What the kernel says: ENOMEM when its pages do not fit back, EINVAL when it is not on.
pub fn swapoff(path: &Path) -> io::Result<()> {
    let path = CString::new(path.as_os_str().as_bytes())?;
    // SAFETY: as in `swapon`.
    checked(unsafe { libc::swapoff(path.as_ptr()) })
}

/// What [`OwnRegion::advise`] may ask for: advice that never changes what a page holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum MadviseAdvice {
    /// Small pages only.
    NoHugePage,
    /// Not into a child process: a copy-on-write page is not ours alone.
    DontFork,
    /// Move the pages to swap now (Linux 5.4).
    PageOut,
    /// Bring the pages back soon.
    WillNeed,
    /// Bring the pages back now; an error instead of SIGBUS when that fails (Linux 5.14).
    PopulateRead,
}

impl MadviseAdvice {
    fn code(self) -> c_int {
        match self {
            Self::NoHugePage => libc::MADV_NOHUGEPAGE,
            Self::DontFork => libc::MADV_DONTFORK,
            Self::PageOut => libc::MADV_PAGEOUT,
            Self::WillNeed => libc::MADV_WILLNEED,
            Self::PopulateRead => libc::MADV_POPULATE_READ,
        }
    }
}

/// Private anonymous memory of our own, page-aligned, zero at first, returned to the kernel when dropped.
#[derive(Debug)]
pub struct OwnRegion {
    start: NonNull<u8>,
    length: usize,
}

// SAFETY: the mapping belongs to this value alone, and any thread of the process may read, write and unmap it.
unsafe impl Send for OwnRegion {}

impl OwnRegion {
    /// Maps `length` bytes, which must not be zero.
    ///
    /// # Errors
    /// What the kernel says: ENOMEM when there is no room, EINVAL for a length of zero.
    pub fn new(length: usize) -> io::Result<Self> {
        let (access, kind) = (libc::PROT_READ | libc::PROT_WRITE, libc::MAP_PRIVATE | libc::MAP_ANONYMOUS);
        // SAFETY: a new anonymous mapping at an address of the kernel's choice touches no memory that exists.
        let start = unsafe { libc::mmap(ptr::null_mut(), length, access, kind, -1, 0) };
        if start == libc::MAP_FAILED {
            return Err(io::Error::last_os_error());
        }
        let start = NonNull::new(start.cast()).ok_or_else(|| io::Error::other("mapped at address zero"))?;
        Ok(Self { start, length })
    }

    /// Its bytes. Reading brings pages back.
    #[must_use]
    pub fn bytes(&self) -> &[u8] {
        // SAFETY: the mapping is readable, `length` long, initialised by the kernel, and lives as long as `self`;
        // writes need `&mut self`.
        unsafe { slice::from_raw_parts(self.start.as_ptr(), self.length) }
    }

    /// Its bytes, to be written.
    #[must_use]
    pub fn bytes_mut(&mut self) -> &mut [u8] {
        // SAFETY: as in `bytes`, and `&mut self` makes this the only reference.
        unsafe { slice::from_raw_parts_mut(self.start.as_ptr(), self.length) }
    }

    /// How many bytes it has.
    #[must_use]
    pub fn bytes_len(&self) -> usize {
        self.length
    }

    /// The address of its first byte.
    #[must_use]
    pub fn address(&self) -> usize {
        self.start.as_ptr() as usize
    }

    /// Reads one byte and makes sure that it is really read. An offset behind the end reads nothing.
    pub fn touch(&self, offset: usize) {
        if let Some(byte) = self.bytes().get(offset) {
            std::hint::black_box(*byte);
        }
    }

    /// Advice about a part of it, madvise(2).
    ///
    /// # Errors
    /// What the kernel says: EINVAL for advice that it does not know, a part that reaches out of the region, or a start
    /// that is not the start of a page; EFAULT from [`MadviseAdvice::PopulateRead`] for a page that cannot be brought back.
    pub fn advise(&self, offset: usize, length: usize, advice: MadviseAdvice) -> io::Result<()> {
        let start = self.part(offset, length)?;
        // SAFETY: the part lies inside our mapping (checked), and none of these kinds of advice changes its contents.
        checked(unsafe { libc::madvise(start.cast(), length, advice.code()) })
    }

    /// Which pages of a part have a copy in RAM, mincore(2): bit 0 of one byte per page.
    ///
    /// # Errors
    /// EINVAL for a part that reaches out of the region or has more pages than `pages` has bytes.
    pub fn resident(&self, offset: usize, length: usize, page: usize, pages: &mut [u8]) -> io::Result<()> {
        let start = self.part(offset, length)?;
        if page == 0 || length.div_ceil(page) > pages.len() {
            return Err(io::ErrorKind::InvalidInput.into());
        }
        // SAFETY: the part lies inside our mapping, and the kernel writes one byte per page, which `pages` has (checked).
        checked(unsafe { libc::mincore(start.cast(), length, pages.as_mut_ptr().cast()) })
    }

    fn part(&self, offset: usize, length: usize) -> io::Result<*mut u8> {
        match offset.checked_add(length) {
            // SAFETY: `offset` is at most the length of the mapping, so the result is inside it or one past its end.
            Some(end) if end <= self.length => Ok(unsafe { self.start.as_ptr().add(offset) }),
            _ => Err(io::ErrorKind::InvalidInput.into()),
        }
    }
}

impl Drop for OwnRegion {
    fn drop(&mut self) {
        // SAFETY: the mapping is ours, whole, and no reference into it outlives `self`.
        unsafe { libc::munmap(self.start.as_ptr().cast(), self.length) };
    }
}

fn checked(result: c_int) -> io::Result<()> {
    if result == 0 { Ok(()) } else { Err(io::Error::last_os_error()) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_no_area_is_refused_by_the_kernel() {
        let missing = Path::new("/nonexistent/swap");
        assert!(swapon(missing, 0).is_err());
        assert!(swapoff(missing).is_err());
        assert_eq!(swapon(Path::new("a\0b"), 0).unwrap_err().kind(), io::ErrorKind::InvalidInput);
    }

    #[test]
    fn a_region_keeps_what_is_written() {
        let page = rustix::param::page_size();
        let mut region = OwnRegion::new(3 * page).unwrap();
        region.advise(0, 3 * page, MadviseAdvice::NoHugePage).unwrap();
        assert!(region.bytes().iter().all(|byte| *byte == 0));
        region.bytes_mut()[page] = 7;
        region.touch(page);
        region.touch(usize::MAX);
        let mut resident = [0; 3];
        region.resident(page, page, page, &mut resident).unwrap();
        assert_eq!(resident[0] & 1, 1);
        assert_eq!(region.bytes()[page], 7);
        assert_eq!(region.address() % page, 0);
    }

    #[test]
    fn a_region_is_not_reached_outside_of_it() {
        let page = rustix::param::page_size();
        let region = OwnRegion::new(page).unwrap();
        let mut few = [0; 1];
        assert!(region.advise(0, 2 * page, MadviseAdvice::PageOut).is_err());
        assert!(region.advise(usize::MAX, 2, MadviseAdvice::PageOut).is_err());
        assert!(region.resident(page, page, page, &mut few).is_err());
        assert!(region.resident(0, page, 1, &mut few).is_err());
        assert!(OwnRegion::new(0).is_err());
    }
}
