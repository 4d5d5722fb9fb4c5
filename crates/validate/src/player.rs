//! The process that plays a sequence of accesses on the running kernel.
//!
//! Whatever it needs for that (contents, the sequence) is in its memory before it is put into the limited group, where it
//! is charged to no group that is compared: in the group there are only the pages of the workload, their page tables and its stack.

use std::io::{self, BufRead, Read, Write};
use std::sync::atomic::Ordering::Relaxed;
use std::thread;
use std::time::{Duration, Instant};

use serde::{Deserialize, Serialize};
use swaptune_host::child;
use swaptune_host::sys::{MadviseAdvice, OwnRegion};
use swaptune_tiers::trace::{Op, Trace};

use crate::content::{self, PAGE};
use crate::workload::Pauses;
use swaptune_bench::process::say;

/// Words of 8 bytes in a page.
const WORDS: usize = PAGE / 8;
/// Marks of an event beside its page: it writes; it is the first of its page.
const WRITE: u32 = 1 << 31;
const FIRST: u32 = 1 << 30;
/// Most pages of a sequence.
pub(super) const PAGES_MAX: u32 = FIRST;

/// What is to be played: as many bytes of contents and events follow.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct PlayTask {
    /// Pages that the process has.
    pub pages: u32,
    /// Accesses that it plays.
    pub events: usize,
    /// Where it sleeps.
    pub pauses: Option<Pauses>,
}

/// It was played.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Played {
    /// How long it took, nanoseconds, without what it waited for a processor that others had.
    pub nanos: u64,
    /// Accesses that found another content than was written.
    pub wrong: u64,
}

/// Everything is in place.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct PlayerReady {}

/// A sequence as it is sent: the content of each page, then each event, little-endian.
#[derive(Clone, Debug)]
pub(super) struct Script {
    pub task: PlayTask,
    pub contents: Vec<u16>,
    events: Vec<u32>,
}

impl Script {
    /// The script of a trace without [`Op::Free`], whose pages have these contents. Its times are left out: one access follows the
    /// other, but for pauses.
    pub fn new(trace: &Trace, pauses: Option<Pauses>, contents: Vec<u16>) -> Self {
        let mut seen = vec![false; contents.len()];
        let event = |event: swaptune_tiers::trace::Event| {
            let first = !std::mem::replace(&mut seen[event.page as usize], true);
            event.page | if first { FIRST } else { 0 } | if event.op == Op::Write { WRITE } else { 0 }
        };
        let events: Vec<u32> = trace.iter().map(event).collect();
        Self { task: PlayTask { pages: trace.page_count(), events: events.len(), pauses }, contents, events }
    }

    /// What follows the task.
    pub fn bytes(&self) -> Vec<u8> {
        let contents = self.contents.iter().flat_map(|content| content.to_le_bytes());
        contents.chain(self.events.iter().flat_map(|event| event.to_le_bytes())).collect()
    }
}

/// Serves the process `parent`, which is ours: plays the sequence that comes, keeps its memory until the end of the input, and dies
/// with its parent.
///
/// # Errors
/// What the kernel says when there is no memory, or a pipe is closed.
pub fn serve(parent: u32, input: impl BufRead, output: impl Write) -> io::Result<()> {
    child::tether(parent)?;
    work(input, output)
}

fn work(mut input: impl BufRead, mut output: impl Write) -> io::Result<()> {
    let mut line = String::new();
    input.read_line(&mut line)?;
    let task: PlayTask = serde_json::from_str(&line)?;
    let contents: Vec<u16> = numbers(&mut input, task.pages as usize)?.iter().map(|bytes| u16::from_le_bytes(*bytes)).collect();
    let events: Vec<u32> = numbers(&mut input, task.events)?.iter().map(|bytes| u32::from_le_bytes(*bytes)).collect();
    let words = words();
    let length = task.pages as usize * PAGE;
    let mut region = OwnRegion::new(length)?;
    // EINVAL from a kernel without huge pages, which then has none to avoid.
    let _ = region.advise(0, length, MadviseAdvice::NoHugePage);
    say(&mut output, &PlayerReady {})?;
    line.clear();
    if input.read_line(&mut line)? == 0 {
        return Ok(());
    }
    say(&mut output, &play(&mut region, &contents, &events, &words, task.pauses))?;
    io::copy(&mut input, &mut io::sink()).map(drop)
}

/// The words of all contents.
fn words() -> Vec<u64> {
    let word = |bytes: &[u8]| u64::from_le_bytes(bytes.try_into().unwrap_or_default());
    content::all().chunks_exact(8).map(word).collect()
}

/// Reads this many numbers of `N` bytes.
fn numbers<const N: usize>(input: &mut impl Read, count: usize) -> io::Result<Vec<[u8; N]>> {
    let mut numbers = vec![[0; N]; count];
    input.read_exact(numbers.as_flattened_mut())?;
    Ok(numbers)
}

/// From here on next to nothing is allocated: it would count for the group.
fn play(region: &mut OwnRegion, contents: &[u16], events: &[u32], words: &[u64], pauses: Option<Pauses>) -> Played {
    let memory = region.word_cells();
    let (begun, waited) = (Instant::now(), child::waited());
    let mut wrong = 0;
    for (index, event) in events.iter().enumerate() {
        if let Some(pauses) = pauses.filter(|pauses| pauses.is_before(index)) {
            thread::sleep(Duration::from_nanos(pauses.nanos));
        }
        let page = (event & !(WRITE | FIRST)) as usize;
        let cells = &memory[page * WORDS..][..WORDS];
        let content = &words[usize::from(contents[page]) * WORDS..][..WORDS];
        if event & FIRST != 0 {
            cells.iter().zip(content).for_each(|(cell, word)| cell.store(*word, Relaxed));
        } else if event & WRITE != 0 {
            // The same again: the page is dirty, and compresses as before.
            cells[0].store(content[0], Relaxed);
        } else {
            wrong += u64::from(cells[0].load(Relaxed) != content[0]);
        }
    }
    let taken = u64::try_from(begun.elapsed().as_nanos()).unwrap_or(u64::MAX);
    Played { nanos: taken.saturating_sub(child::waited().saturating_sub(waited)), wrong }
}

#[cfg(test)]
mod tests {
    use super::*;
    use swaptune_tiers::generate::generate;

    #[test]
    fn what_is_sent_is_played() {
        let trace = generate("heap:ram=100,percent=200,events=3000,collections=1").unwrap();
        let contents: Vec<u16> = (0..200).map(|page| content::suiting(page, trace.sizes()[page as usize])).collect();
        let script = Script::new(&trace, None, contents);
        let firsts = script.events.iter().filter(|event| **event & FIRST != 0).count();
        assert_eq!((script.task, firsts), (PlayTask { pages: 200, events: 3400, pauses: None }, 200));
        let mut input = serde_json::to_vec(&script.task).unwrap();
        input.push(b'\n');
        input.extend(script.bytes());
        input.extend(b"go\n");
        let mut output = Vec::new();
        work(&input[..], &mut output).unwrap();
        let lines: Vec<&[u8]> = output.split(|byte| *byte == b'\n').collect();
        let played: Played = serde_json::from_slice(lines[1]).unwrap();
        assert!(played.nanos > 0 && played.wrong == 0, "{played:?}");
    }

    #[test]
    fn a_page_that_came_back_different_is_counted() {
        let mut region = OwnRegion::new(2 * PAGE).unwrap();
        let words = words();
        let contents = [content::suiting(0, 2000), content::suiting(1, 1000)];
        assert_eq!(play(&mut region, &contents, &[FIRST, FIRST | 1, 0, 1], &words, None).wrong, 0);
        region.bytes_mut()[PAGE] ^= 1;
        assert_eq!(play(&mut region, &contents, &[0, 1, 1 | WRITE, 1], &words, None).wrong, 1, "what is written is right again");
    }

    #[test]
    fn what_is_cut_short_is_not_played() {
        let mut output = Vec::new();
        assert!(work(&b"{\"pages\":4,\"events\":9}\nabc"[..], &mut output).is_err());
        assert!(work(&b"{}\n"[..], &mut output).is_err());
        assert!(output.is_empty());
    }
}
