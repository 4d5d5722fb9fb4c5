//! The helper program of the guests.
//!
//! `hold MB KIND [huge|small]` fills memory with pages of one kind, prints
//! "ready", and verifies every page each time it gets SIGUSR1. `serve` is a service of
//! `swaptune bench density` with such memory. `services` starts processes and
//! wakes them as the model's generator of that name does. `swapon PRIO DEV`
//! and `swapoff DEV` are the plain system calls, because the swapon of busybox
//! knows no priority. A page's content is a function of its number, so that
//! verification needs no second copy.

mod services;
mod sys;

use std::io::{Error, Write};
use std::process::ExitCode;

const PAGE: usize = 4096;
const WORDS: usize = PAGE / 8;
const USAGE: &str = "usage: guest-tool hold MB c|z|r|t [huge|small] | serve | services CGROUPS APPS PAGES WAKES TOUCH% WRITE% SEED \
    | swapon PRIO DEV | swapoff DEV";

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let words: Vec<&str> = arguments.iter().map(String::as_str).collect();
    let result = match words.as_slice() {
        ["hold", size, kind] => hold(size, kind, "small"),
        ["hold", size, kind, pages] => hold(size, kind, pages),
        ["serve"] => serve(),
        ["services", groups, load @ ..] => services::drive(groups, load),
        ["service", group, pages, number] => services::serve(group, pages, number, Kind::Mixed),
        ["service", group, pages, number, "zero"] => services::serve(group, pages, number, Kind::Zero),
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
    /// Random for four tenths, the rest zero: 1.7 kB under lz4, as scenarios/idle-services.toml has it.
    Mixed,
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
    let memory = sys::map(bytes, pages == "huge").map_err(|error| (1, format!("mmap: {error}")))?;
    let signals = sys::block_signal();
    for (number, page) in memory.chunks_exact_mut(WORDS).enumerate() {
        fill(number, kind, page);
    }
    say("ready");
    let mut expected = [0_u64; WORDS];
    loop {
        sys::wait(&signals);
        for (number, page) in memory.chunks_exact(WORDS).enumerate() {
            fill(number, kind, &mut expected);
            if page != expected {
                return Err((3, format!("page {number} is not what was written")));
            }
        }
        say("verified");
    }
}

/// Answers each line after a walk over a part of its memory, the next part each time.
fn serve() -> Outcome {
    let number = |name: &str| std::env::var(name).ok()?.parse::<usize>().ok();
    let of_environment = |name: &str| number(name).ok_or((2, format!("{name}: not a number")));
    let (heap, work) = (of_environment("SWAPTUNE_HEAP")?, of_environment("SWAPTUNE_WORK")?);
    let memory = sys::map(heap, false).map_err(|error| (1, format!("mmap: {error}")))?;
    let first = of_environment("SWAPTUNE_SEED")? << 20;
    for (number, page) in memory.chunks_exact_mut(WORDS).enumerate() {
        fill(first + number, Kind::Compressible, page);
    }
    say("ready");
    let pages = (memory.len() / WORDS).max(1);
    let mut next = 0;
    for _ in std::io::stdin().lines() {
        for _ in 0..pages * work / 100 {
            // Written, as a session that is used is: the page must be compressed again.
            memory[next * WORDS + WORDS - 1] += 1;
            next = (next + 1) % pages;
        }
        say("done");
    }
    Ok(())
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
            Kind::Mixed if index < 206 => random(),
            Kind::Mixed => 0,
            Kind::Compressible => (number * WORDS + index) as u64,
            Kind::Text if index % 8 == 0 => random() & 0x0f0f_0f0f_0f0f_0f0f,
            Kind::Text if index % 8 == 1 => (number * WORDS + index) as u64,
            Kind::Text => u64::from_le_bytes(*b"swapped "),
        };
    }
}

fn swapon(priority: &str, device: &str) -> Outcome {
    let priority = priority.parse().map_err(|_| (2, USAGE.to_owned()))?;
    answer(device, sys::swapon(device, priority))
}

fn swapoff(device: &str) -> Outcome {
    answer(device, sys::swapoff(device))
}

fn answer(device: &str, result: Result<(), Error>) -> Outcome {
    result.map_err(|error| (1, format!("{device}: {error}")))
}

fn say(word: &str) {
    println!("{word}");
    let _ = std::io::stdout().flush();
}
