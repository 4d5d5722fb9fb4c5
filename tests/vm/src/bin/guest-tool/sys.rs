//! Swap calls, memory advice and signal masks, which have no safe interface in std.
#![allow(unsafe_code)]

use std::ffi::CString;
use std::io::Error;

const HUGE: usize = 2 << 20;

/// Anonymous memory at a huge-page border, advised for or against huge pages, never unmapped.
pub fn map(bytes: usize, huge: bool) -> Result<&'static mut [u64], Error> {
    let length = bytes + HUGE;
    // SAFETY: a new private mapping at an address of the kernel's choice touches no other memory.
    let start = unsafe {
        libc::mmap(
            std::ptr::null_mut(),
            length,
            libc::PROT_READ | libc::PROT_WRITE,
            libc::MAP_PRIVATE | libc::MAP_ANONYMOUS,
            -1,
            0,
        )
    };
    if start == libc::MAP_FAILED {
        return Err(Error::last_os_error());
    }
    let aligned = start.cast::<u8>().wrapping_add(HUGE - start as usize % HUGE);
    let advice = if huge { libc::MADV_HUGEPAGE } else { libc::MADV_NOHUGEPAGE };
    // SAFETY: `aligned .. aligned + bytes` lies in the mapping made above, which is HUGE longer;
    // nothing else refers to it, it is never unmapped, and zeroed bytes are valid u64 values.
    unsafe {
        libc::madvise(aligned.cast(), bytes, advice);
        Ok(std::slice::from_raw_parts_mut(aligned.cast(), bytes / 8))
    }
}

/// Blocks SIGUSR1, so that it waits for [`wait`] instead of ending the program.
pub fn block_signal() -> libc::sigset_t {
    // SAFETY: sigset_t is plain data, filled by sigemptyset before it is read.
    unsafe {
        let mut set = std::mem::zeroed();
        libc::sigemptyset(&raw mut set);
        libc::sigaddset(&raw mut set, libc::SIGUSR1);
        libc::sigprocmask(libc::SIG_BLOCK, &raw const set, std::ptr::null_mut());
        set
    }
}

/// Waits for one of these signals.
pub fn wait(signals: &libc::sigset_t) {
    let mut signal = 0;
    // SAFETY: both pointers are to live values of the right type.
    unsafe { libc::sigwait(signals, &raw mut signal) };
}

/// Switches an area on with a priority from 0 to 32767.
pub fn swapon(device: &str, priority: libc::c_int) -> Result<(), Error> {
    const SWAP_FLAG_PREFER: libc::c_int = 0x8000;
    const SWAP_FLAG_PRIO_MASK: libc::c_int = 0x7fff;
    let path = CString::new(device)?;
    let flags = SWAP_FLAG_PREFER | (priority & SWAP_FLAG_PRIO_MASK);
    // SAFETY: the path is a C string that outlives the call.
    answer(unsafe { libc::swapon(path.as_ptr(), flags) })
}

/// Switches an area off.
pub fn swapoff(device: &str) -> Result<(), Error> {
    let path = CString::new(device)?;
    // SAFETY: the path is a C string that outlives the call.
    answer(unsafe { libc::swapoff(path.as_ptr()) })
}

fn answer(result: libc::c_int) -> Result<(), Error> {
    if result == 0 { Ok(()) } else { Err(Error::last_os_error()) }
}
