//! The helper program of the guests.
//!
//! `hold MB KIND [huge|small]` fills memory with pages of one kind, prints
//! "ready", and verifies every page each time it gets SIGUSR1. `swapon PRIO DEV`
//! and `swapoff DEV` are the plain system calls, because the swapon of busybox
//! knows no priority. A page's content is a function of its number, so that
//! verification needs no second copy.

// Swap calls, memory advice and signal masks have no safe interface in std.
#![allow(unsafe_code)]

use std::ffi::CString;
use std::io::{Error, Write};
use std::process::ExitCode;

const PAGE: usize = 4096;
const WORDS: usize = PAGE / 8;
const HUGE: usize = 2 << 20;
const USAGE: &str = "usage: guest-tool hold MB c|z|r|t [huge|small] | swapon PRIO DEV | swapoff DEV";

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let words: Vec<&str> = arguments.iter().map(String::as_str).collect();
    let result = match words.as_slice() {
        ["hold", size, kind] => hold(size, kind, "small"),
        ["hold", size, kind, pages] => hold(size, kind, pages),
        ["swapon", priority, device] => swapon(priority, device),
        ["swapoff", device] => swapoff(device),
        _ => Err((2, USAGE.to_owned())),
    };
    match result {
        Ok(()) => ExitCode::SUCCESS,
        Err((status, message)) => {
            eprintln!("{message}");
            ExitCode::from(status)
        }
    }
}

type Outcome = Result<(), (u8, String)>;

/// What a page holds.
#[derive(Clone, Copy)]
enum Kind {
    /// A third random, the rest counting: compresses about 3 : 1.
    Compressible,
    Zero,
    Random,
    /// Words of text with a counter, as program data often looks.
    Text,
}

fn hold(size: &str, kind: &str, pages: &str) -> Outcome {
    let usage = || (2, USAGE.to_owned());
    let bytes = size.parse::<usize>().map_err(|_| usage())? << 20;
    let kind = match kind {
        "c" => Kind::Compressible,
        "z" => Kind::Zero,
        "r" => Kind::Random,
        "t" => Kind::Text,
        _ => return Err(usage()),
    };
    let memory = map(bytes, pages == "huge").map_err(|error| (1, format!("mmap: {error}")))?;
    let signals = block_signal();
    for (number, page) in memory.chunks_exact_mut(WORDS).enumerate() {
        fill(number, kind, page);
    }
    say("ready");
    let mut expected = [0_u64; WORDS];
    loop {
        wait(&signals);
        for (number, page) in memory.chunks_exact(WORDS).enumerate() {
            fill(number, kind, &mut expected);
            if page != expected {
                return Err((3, format!("page {number} is not what was written")));
            }
        }
        say("verified");
    }
}

fn fill(number: usize, kind: Kind, page: &mut [u64]) {
    let mut state = (number as u64 + 1).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    let mut random = move || {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        state
    };
    for (index, word) in page.iter_mut().enumerate() {
        *word = match kind {
            Kind::Zero => 0,
            Kind::Random => random(),
            Kind::Compressible if index < 150 => random(),
            Kind::Compressible => (number * WORDS + index) as u64,
            Kind::Text if index % 8 == 0 => random() & 0x0f0f_0f0f_0f0f_0f0f,
            Kind::Text if index % 8 == 1 => (number * WORDS + index) as u64,
            Kind::Text => u64::from_le_bytes(*b"swapped "),
        };
    }
}

/// Anonymous memory at a huge-page border, advised for or against huge pages, never unmapped.
fn map(bytes: usize, huge: bool) -> Result<&'static mut [u64], Error> {
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
fn block_signal() -> libc::sigset_t {
    // SAFETY: sigset_t is plain data, filled by sigemptyset before it is read.
    unsafe {
        let mut set = std::mem::zeroed();
        libc::sigemptyset(&raw mut set);
        libc::sigaddset(&raw mut set, libc::SIGUSR1);
        libc::sigprocmask(libc::SIG_BLOCK, &raw const set, std::ptr::null_mut());
        set
    }
}

fn wait(signals: &libc::sigset_t) {
    let mut signal = 0;
    // SAFETY: both pointers are to live values of the right type.
    unsafe { libc::sigwait(signals, &raw mut signal) };
}

fn swapon(priority: &str, device: &str) -> Outcome {
    const SWAP_FLAG_PREFER: libc::c_int = 0x8000;
    const SWAP_FLAG_PRIO_MASK: libc::c_int = 0x7fff;
    let path = path(device)?;
    let priority: libc::c_int = priority.parse().map_err(|_| (2, USAGE.to_owned()))?;
    let flags = SWAP_FLAG_PREFER | (priority & SWAP_FLAG_PRIO_MASK);
    // SAFETY: the path is a C string that outlives the call.
    answer(device, unsafe { libc::swapon(path.as_ptr(), flags) })
}

fn swapoff(device: &str) -> Outcome {
    let path = path(device)?;
    // SAFETY: the path is a C string that outlives the call.
    answer(device, unsafe { libc::swapoff(path.as_ptr()) })
}

fn path(device: &str) -> Result<CString, (u8, String)> {
    CString::new(device).map_err(|error| (2, format!("{device:?}: {error}")))
}

fn answer(device: &str, result: libc::c_int) -> Outcome {
    if result == 0 {
        return Ok(());
    }
    Err((1, format!("{device}: {}", Error::last_os_error())))
}

fn say(word: &str) {
    println!("{word}");
    let _ = std::io::stdout().flush();
}
