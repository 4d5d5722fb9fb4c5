//! A program that sleeps, and now and then wakes to touch a little of its memory: what others feel of pressure that they did not make.
//!
//! Wakes come in an open loop: when one is due does not depend on how long the one before took, and its time counts from when it was due.

use std::hint::black_box;
use std::io::{self, BufRead, Read, Write};
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::{self, park_timeout};
use std::time::{Duration, Instant};

use rand_pcg::Pcg64Mcg;
use rand_pcg::rand_core::SeedableRng;
use swaptune_core::stats::{Nanos, Quantiles};

use super::cell::PAGE;
use super::work::MemoryReady;
use crate::order::uniform;
use crate::process::say;
use crate::workload::alloc::fill;

/// Mean seconds from wake to wake, at exponential intervals.
const GAP: f64 = 0.05;
/// Pages that a wake touches, drawn from all.
const TOUCHED: usize = 64;

/// Wakes until a byte comes or the input ends, then says how long the wakes took; nothing when none was due.
pub(super) fn serve(size: usize, seed: u64, input: impl BufRead, mut output: impl Write) -> io::Result<()> {
    let mut random = Pcg64Mcg::seed_from_u64(seed);
    let mut memory = vec![0; size.max(PAGE)];
    fill(&mut memory, &mut random);
    say(&mut output, &MemoryReady { ceiling_mb_per_second: 0.0, locked: false })?;
    let is_over = AtomicBool::new(false);
    let mut took = thread::scope(|scope| {
        let wakes = scope.spawn(|| wakes(&mut memory, &mut random, &is_over));
        let _ = input.take(1).read(&mut [0]);
        is_over.store(true, Ordering::Relaxed);
        wakes.thread().unpark();
        wakes.join().unwrap_or_default()
    });
    say(&mut output, &Quantiles::of(&mut took, Nanos(0)))
}

/// How long each wake took until it was over, ns.
fn wakes(memory: &mut [u8], random: &mut Pcg64Mcg, is_over: &AtomicBool) -> Vec<u64> {
    let mut took = Vec::new();
    let mut due = Instant::now();
    loop {
        due += Duration::from_secs_f64(-(1.0 - uniform(random)).ln() * GAP);
        while let Some(left) = due.checked_duration_since(Instant::now()).filter(|left| !left.is_zero()) {
            if is_over.load(Ordering::Relaxed) {
                return took;
            }
            park_timeout(left);
        }
        touch(memory, random);
        took.push(due.elapsed().as_nanos() as u64);
    }
}

fn touch(memory: &mut [u8], random: &mut Pcg64Mcg) {
    let pages = memory.len() / PAGE;
    for _ in 0..TOUCHED {
        let byte = &mut memory[(uniform(random) * pages as f64) as usize * PAGE];
        *byte = byte.wrapping_add(1);
        black_box(byte);
    }
}

#[cfg(test)]
mod tests {
    use std::io::BufReader;
    use std::os::unix::net::UnixStream;

    use super::*;

    #[test]
    fn it_wakes_until_it_is_told_to_end() {
        let (ours, its) = UnixStream::pair().unwrap();
        let (mut answers, input) = (BufReader::new(ours.try_clone().unwrap()), BufReader::new(its.try_clone().unwrap()));
        let serving = thread::spawn(move || serve(64 * PAGE, 1, input, its));
        let mut line = String::new();
        answers.read_line(&mut line).unwrap();
        serde_json::from_str::<MemoryReady>(&line).unwrap();
        // Long enough for many wakes; how long one takes is not for a test to say.
        thread::sleep(Duration::from_secs(1));
        (&ours).write_all(b"\n").unwrap();
        line.clear();
        answers.read_line(&mut line).unwrap();
        let found: Option<Quantiles> = serde_json::from_str(&line).unwrap();
        assert!(found.is_some_and(|found| found.samples >= 2 && found.max.0 > 0), "{line}");
        serving.join().unwrap().unwrap();
    }

    #[test]
    fn one_that_ends_before_its_first_wake_was_due_has_none() {
        let is_over = AtomicBool::new(true);
        let mut memory = vec![0; PAGE];
        assert_eq!(wakes(&mut memory, &mut Pcg64Mcg::seed_from_u64(1), &is_over), Vec::<u64>::new());
    }
}
