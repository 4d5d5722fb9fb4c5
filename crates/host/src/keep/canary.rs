//! Canaries: pages of a process of our own that are offered to zswap one after the other while its limit is low. Each is refused, and a
//! refused store wakes the kernel's write-back.
//!
//! The process is in a group that is kept from the disk (`memory.zswap.writeback` = 0), so that a refused canary stays in RAM. Before Linux 6.8,
//! and with groups of version 1, there is no such group: there a canary is written, so that none is offered that is not counted, and one
//! that was written is not read again. It is this program, started again with [`ARGUMENT`]; it dies with the daemon, and its group goes with it.

use std::io::{self, BufRead, BufReader, Read, Write};
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicU8, Ordering};
use std::time::Duration;

use swaptune_core::Bytes;
use swaptune_core::control::{CanaryPace, WorkerKind};
use tracing::info;

use crate::cgroup::{CgroupError, LimitedGroup};
use crate::machine::Machine;
use crate::sys::child::dies_with_us;
use crate::sys::{MadviseAdvice, OwnRegion};

/// The argument with which a program is started as the process of the canaries.
pub const ARGUMENT: &str = "keep_canary";

/// What the group may have: the pages and the program.
const LIMIT: Bytes = Bytes::from_mib(64);
/// How many pages there are: a refused one is not offered again before all others were.
const PAGES: usize = 64;

/// What it is told, a byte each.
const FAST: u8 = b'f';
const STEADY: u8 = b't';
const SLOW: u8 = b'w';
const STOP: u8 = b's';
const ONE: u8 = b'1';
/// What it says when it has done so.
const DONE: &str = "done";

/// What a burst needs of them.
pub trait Canaries {
    /// Offers them from now on.
    ///
    /// # Errors
    /// Their process is gone.
    fn go(&mut self, pace: CanaryPace) -> io::Result<()>;
    /// Offers no more; says how many it were.
    ///
    /// # Errors
    /// Their process is gone.
    fn stop(&mut self) -> io::Result<u64>;
    /// Offers a single one.
    ///
    /// # Errors
    /// Their process is gone.
    fn one(&mut self) -> io::Result<()>;
}

/// Why there are no canaries.
#[derive(Debug, thiserror::Error)]
pub enum CanaryError {
    /// No group for them.
    #[error(transparent)]
    Group(#[from] CgroupError),
    /// Their process.
    #[error("the process of the canary pages")]
    Process(#[from] io::Error),
}

/// The process and its group.
#[derive(Debug)]
pub(super) struct CanaryProcess {
    child: Child,
    tell: Option<ChildStdin>,
    said: BufReader<ChildStdout>,
    // Last: it goes when the process is gone.
    group: Option<LimitedGroup>,
}

impl CanaryProcess {
    /// Makes the group, where canaries are kept from the disk, and starts the process in it.
    pub(super) fn start(machine: &Machine, worker: WorkerKind) -> Result<Self, CanaryError> {
        let group = match worker.writes_canaries() {
            true => None,
            false => Some(LimitedGroup::create(machine, "canary", LIMIT)?),
        };
        group.iter().try_for_each(LimitedGroup::keep_from_disk)?;
        let mut command = Command::new("/proc/self/exe");
        command.arg(ARGUMENT).current_dir("/").stdin(Stdio::piped()).stdout(Stdio::piped());
        info!("start the canaries: {command:?}");
        let mut child = dies_with_us(&mut command).spawn()?;
        let (tell, said) = (child.stdin.take(), child.stdout.take().map(BufReader::new));
        let mut canary = Self { tell, said: said.ok_or_else(|| io::Error::other("no pipe from it"))?, child, group };
        canary.group.iter().try_for_each(|group| group.add(canary.child.id()))?;
        // It takes its memory only now, so that the group has all of it.
        canary.ask(STOP)?;
        Ok(canary)
    }

    fn ask(&mut self, what: u8) -> io::Result<u64> {
        self.answer(what).map_err(|error| match self.child.try_wait() {
            Ok(Some(status)) => io::Error::other(format!("their process has ended, {status}: what it said is in the journal")),
            _ => error,
        })
    }

    fn answer(&mut self, what: u8) -> io::Result<u64> {
        let gone = || io::Error::other("it is gone");
        self.tell.as_mut().ok_or_else(gone)?.write_all(&[what])?;
        let mut line = String::new();
        self.said.read_line(&mut line)?;
        line.strip_prefix(DONE).and_then(|count| count.trim().parse().ok()).ok_or_else(gone)
    }
}

impl Canaries for CanaryProcess {
    fn go(&mut self, pace: CanaryPace) -> io::Result<()> {
        let byte = match pace {
            CanaryPace::Fast => FAST,
            CanaryPace::Steady => STEADY,
            CanaryPace::Slow => SLOW,
        };
        self.ask(byte).map(drop)
    }

    fn stop(&mut self) -> io::Result<u64> {
        self.ask(STOP)
    }

    fn one(&mut self) -> io::Result<()> {
        self.ask(ONE).map(drop)
    }
}

impl Drop for CanaryProcess {
    fn drop(&mut self) {
        // At the end of its input it ends.
        drop(self.tell.take());
        let _ = self.child.wait();
    }
}

/// Plays the process of the canaries until its input ends.
///
/// # Errors
/// No memory, or the daemon is gone.
pub fn play() -> io::Result<()> {
    let page = rustix::param::page_size();
    let told = Arc::new(AtomicU8::new(STOP));
    let (heard, mut region) = (Arc::clone(&told), None);
    let (send, receive) = std::sync::mpsc::channel();
    std::thread::spawn(move || {
        for byte in io::stdin().lock().bytes().map_while(Result::ok) {
            heard.store(byte, Ordering::Release);
            if send.send(byte).is_err() {
                break;
            }
        }
        heard.store(STOP, Ordering::Release);
    });
    let (mut offered, mut number) = (0_u64, 0);
    while let Ok(byte) = receive.recv() {
        let region: &mut OwnRegion = match &mut region {
            Some(region) => region,
            none => none.insert(OwnRegion::new(page * PAGES)?),
        };
        let pause = pause(byte);
        let answer = if pause.is_some() { 0 } else { std::mem::take(&mut offered) };
        if byte == ONE {
            offer(region, page, number)?;
        }
        let mut out = io::stdout().lock();
        writeln!(out, "{DONE} {answer}").and_then(|()| out.flush())?;
        drop(out);
        while let Some(pause) = pause.filter(|_| told.load(Ordering::Acquire) == byte) {
            offer(region, page, number)?;
            (offered, number) = (offered + 1, number + 1);
            std::thread::sleep(pause);
        }
    }
    Ok(())
}

/// Time from one to the next: the worker needs some to write back what the last one asked for.
fn pause(told: u8) -> Option<Duration> {
    match told {
        FAST => Some(Duration::from_micros(100)),
        STEADY => Some(Duration::from_millis(1)),
        SLOW => Some(Duration::from_millis(10)),
        _ => None,
    }
}

/// Writes a page, so that it is in RAM and its own, and has it paged out. One that is refused stays where it is, which is no error; one that went
/// to the disk is given up with its slot rather than read again.
fn offer(region: &mut OwnRegion, page: usize, number: usize) -> io::Result<()> {
    let (at, mut is_in_ram) = (number % PAGES * page, [0]);
    region.resident(at, page, page, &mut is_in_ram)?;
    if number >= PAGES && is_in_ram[0] & 1 == 0 {
        *region = OwnRegion::new(page * PAGES)?;
    }
    for (place, byte) in region.bytes_mut()[at..at + page].iter_mut().enumerate() {
        // Words that count: a page of zeros would never reach zswap.
        *byte = (number + place / 8) as u8 | 1;
    }
    region.advise(at, page, MadviseAdvice::PageOut)
}
