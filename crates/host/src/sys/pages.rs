//! Calls about the pages of another process: the `PAGEMAP_SCAN` ioctl and `process_vm_readv` look at them, `process_madvise` pages them out.
#![allow(unsafe_code)]

use std::ffi::c_void;
use std::io;
use std::os::fd::{AsFd, AsRawFd};

use rustix::ioctl::{Ioctl, IoctlOutput, Opcode, ioctl, opcode};

/// A page of a file or of shared memory (`PAGE_IS_FILE`).
pub const FILE: u64 = 1 << 2;
/// A page in RAM (`PAGE_IS_PRESENT`).
pub const PRESENT: u64 = 1 << 3;
/// A page in swap (`PAGE_IS_SWAPPED`).
pub const SWAPPED: u64 = 1 << 4;
/// The shared page of zeros (`PAGE_IS_PFNZERO`).
pub const ZERO_PAGE: u64 = 1 << 5;
/// A guard marker, which also counts as swapped (`PAGE_IS_GUARD`, Linux 6.15).
pub const GUARD: u64 = 1 << 8;

/// What to scan for, and where. A page is reported when it is of any category in `any` and of none in `excluded`.
#[derive(Clone, Copy, Debug)]
pub struct PageScan {
    /// First address, of a whole page.
    pub start: u64,
    /// Address behind the last page.
    pub end: u64,
    /// Categories that a page must not be of.
    pub excluded: u64,
    /// Categories of which a page must have one.
    pub any: u64,
}

/// Neighbouring pages of the same categories: `struct page_region` of `linux/fs.h`.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct PageRegion {
    /// First address.
    pub start: u64,
    /// Address behind the last.
    pub end: u64,
    /// Which of the categories asked for.
    pub categories: u64,
}

/// `struct pm_scan_arg` of `linux/fs.h`.
#[repr(C)]
struct ScanArgument {
    size: u64,
    flags: u64,
    start: u64,
    end: u64,
    walk_end: u64,
    vec: u64,
    vec_len: u64,
    max_pages: u64,
    category_inverted: u64,
    category_mask: u64,
    category_anyof_mask: u64,
    return_mask: u64,
}

struct PagemapScan<'a>(&'a mut ScanArgument);

// SAFETY: the opcode is that of the kernel's header for an argument of this size, which is what `as_ptr` points to; the kernel
// reads and writes it and nothing else but the regions it points to, which `pagemap_scan` borrows for the time of the call.
unsafe impl Ioctl for PagemapScan<'_> {
    type Output = usize;
    const IS_MUTATING: bool = true;

    fn opcode(&self) -> Opcode {
        opcode::read_write::<ScanArgument>(b'f', 16)
    }

    fn as_ptr(&mut self) -> *mut c_void {
        std::ptr::from_mut(self.0).cast()
    }

    unsafe fn output_from_ptr(out: IoctlOutput, _: *mut c_void) -> rustix::io::Result<usize> {
        Ok(usize::try_from(out).unwrap_or(0))
    }
}

/// Fills `regions` with what a process has, from its open `/proc/PID/pagemap`; returns how many it wrote. When they are full
/// there may be more behind the last one.
///
/// The kernel also tells where its walk ended (`walk_end`). That is not handed on: when its own buffer of 512 regions filled
/// up in between, the field keeps the address of that moment although the walk went on to the end (seen on 6.18).
///
/// # Errors
/// What the kernel says: ENOTTY before Linux 6.7, EINVAL for categories that it does not know, ESRCH when the process is gone.
pub fn pagemap_scan(pagemap: impl AsFd, scan: &PageScan, regions: &mut [PageRegion]) -> io::Result<usize> {
    let mut argument = ScanArgument {
        size: size_of::<ScanArgument>() as u64,
        flags: 0,
        start: scan.start,
        end: scan.end,
        walk_end: 0,
        vec: regions.as_mut_ptr() as u64,
        vec_len: regions.len() as u64,
        max_pages: 0,
        category_inverted: scan.excluded,
        category_mask: scan.excluded,
        category_anyof_mask: scan.any,
        return_mask: scan.any,
    };
    // SAFETY: the argument is whole and ours; `vec` and `vec_len` are those of `regions`, borrowed mutably for the whole call, and
    // any bytes are a valid `PageRegion`.
    let count = unsafe { ioctl(pagemap, PagemapScan(&mut argument)) }?;
    Ok(count.min(regions.len()))
}

/// Most ranges of one call (`UIO_MAXIOV`).
pub const MOST_RANGES: usize = 1024;

/// A range of another process's memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ProcessRange {
    /// First address.
    pub start: u64,
    /// How many bytes.
    pub length: usize,
}

/// Copies ranges of another process's memory into `buffer`, one behind the other; returns how many bytes, which is fewer than
/// all when a page cannot be read: what comes before it is there, whole. At most [`MOST_RANGES`] ranges are read.
///
/// # Errors
/// What the kernel says: EFAULT when the very first page cannot be read, ESRCH, EPERM.
pub fn read_ranges(pid: u32, ranges: &[ProcessRange], buffer: &mut [u8]) -> io::Result<usize> {
    let mut remote = [libc::iovec { iov_base: std::ptr::null_mut(), iov_len: 0 }; MOST_RANGES];
    let count = ranges.len().min(MOST_RANGES);
    for (vector, range) in remote.iter_mut().zip(ranges) {
        *vector = libc::iovec { iov_base: range.start as *mut c_void, iov_len: range.length };
    }
    let local = libc::iovec { iov_base: buffer.as_mut_ptr().cast(), iov_len: buffer.len() };
    let pid = i32::try_from(pid).map_err(|_| io::Error::from_raw_os_error(libc::ESRCH))?;
    // SAFETY: the one local vector is `buffer`, borrowed mutably for the whole call, and the kernel writes no further than its
    // length; the remote addresses belong to the other process and are only checked and read by the kernel.
    let read = unsafe { libc::process_vm_readv(pid, &raw const local, 1, remote.as_ptr(), count as libc::c_ulong, 0) };
    usize::try_from(read).map_err(|_| io::Error::last_os_error())
}

/// Has the kernel page out ranges of the process behind a pidfd now, process_madvise(2) with `MADV_PAGEOUT` (Linux 5.10): pages in them that
/// no other process has mapped. Returns how many bytes of the ranges were gone through, whole ranges from the first: what comes behind has not
/// been. At most [`MOST_RANGES`] ranges are.
///
/// # Errors
/// What the kernel says of the first range: EINVAL where its memory is locked, of huge pages of hugetlbfs or of a device; ENOMEM where nothing
/// is mapped; ESRCH when the process has ended; EPERM without `CAP_SYS_NICE` or the right to read its memory; ENOSYS.
pub fn page_out(process: impl AsFd, ranges: &[ProcessRange]) -> io::Result<usize> {
    let mut remote = [libc::iovec { iov_base: std::ptr::null_mut(), iov_len: 0 }; MOST_RANGES];
    let count = ranges.len().min(MOST_RANGES);
    for (vector, range) in remote.iter_mut().zip(ranges) {
        *vector = libc::iovec { iov_base: range.start as *mut c_void, iov_len: range.length };
    }
    let pidfd = process.as_fd().as_raw_fd();
    // SAFETY: the vectors are ours and live through the call; their addresses belong to the other process. Pages that are paged out come back
    // as they were when they are used, so that this is sound for ranges of our own too.
    let done =
        unsafe { libc::syscall(libc::SYS_process_madvise, pidfd, remote.as_ptr(), count, libc::MADV_PAGEOUT, 0 as libc::c_uint) };
    usize::try_from(done).map_err(|_| io::Error::last_os_error())
}

#[cfg(test)]
mod tests {
    use rustix::process::{PidfdFlags, geteuid, getpid, pidfd_open};

    use super::*;

    #[test]
    fn the_argument_is_the_kernels() {
        assert_eq!((size_of::<ScanArgument>(), size_of::<PageRegion>()), (96, 24));
    }

    #[test]
    fn our_own_memory_is_read_like_anothers() {
        let source = [7_u8; 100];
        let start = source.as_ptr() as u64;
        let mut buffer = [0; 64];
        let ranges = [ProcessRange { start, length: 10 }, ProcessRange { start: start + 50, length: 20 }];
        assert_eq!(read_ranges(std::process::id(), &ranges, &mut buffer).unwrap(), 30);
        assert!(buffer[..30].iter().all(|byte| *byte == 7) && buffer[30..].iter().all(|byte| *byte == 0));
        let unmapped = [ProcessRange { start: 16, length: 10 }];
        assert_eq!(read_ranges(std::process::id(), &unmapped, &mut buffer).unwrap_err().raw_os_error(), Some(libc::EFAULT));
        assert_eq!(read_ranges(u32::MAX, &ranges, &mut buffer).unwrap_err().raw_os_error(), Some(libc::ESRCH));
        // More than there is room for is cut, not written behind the end.
        assert_eq!(read_ranges(std::process::id(), &ranges, &mut buffer[..15]).unwrap(), 15);
    }

    #[test]
    fn our_own_memory_is_paged_out_like_anothers() {
        let us = pidfd_open(getpid(), PidfdFlags::empty()).unwrap();
        // Kernels before 6.13 ask for the capability also for our own memory.
        if let Err(error) = page_out(&us, &[]) {
            assert!(error.raw_os_error() == Some(libc::EPERM) && !geteuid().is_root(), "{error}");
            return;
        }
        let page = rustix::param::page_size();
        let mut region = crate::sys::OwnRegion::new(2 * page).unwrap();
        region.bytes_mut().fill(7);
        let start = region.address() as u64;
        let ranges = [ProcessRange { start, length: page }, ProcessRange { start: start + page as u64, length: page }];
        assert_eq!(page_out(&us, &ranges).unwrap(), 2 * page);
        assert_eq!(page_out(&us, &[]).unwrap(), 0);
        assert!(region.bytes().iter().all(|byte| *byte == 7));
        // A start that is not the start of a page is refused, and what comes before it is done.
        let odd = ProcessRange { start: start + 1, length: page };
        assert_eq!(page_out(&us, &[odd]).unwrap_err().raw_os_error(), Some(libc::EINVAL));
        assert_eq!(page_out(&us, &[ranges[0], odd]).unwrap(), page);
    }
}
