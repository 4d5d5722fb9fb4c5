//! How well the pages of this machine's processes compress, and which of them are cold.
//!
//! Anonymous pages are located in every process that is meant, a simple random sample of them is drawn and read, and only what
//! each page compresses to is kept: a [`PageSet`]. What may not be looked at and what vanishes meanwhile is counted in a
//! [`Tally`] and is never an error of the whole.
//!
//! Pages that several processes share after a fork stand in each of them and so count once for each; how many there are is
//! counted. Locked memory is sampled like any other although it is never swapped.

mod contents;
mod draw;
mod estimates;
pub mod record;
mod sizes;
mod watch;

use std::collections::BTreeMap;

use serde::Serialize;
use swaptune_core::Bytes;
use swaptune_host::machine::{Machine, ReadError};
use swaptune_host::processes::{self, Located, Locator, Method, PageReader, Process, ProcessChoice, Unseen, page_bytes};
use swaptune_tiers::page_set::SCHEMA;
pub use swaptune_tiers::page_set::{GroupKind, PageGroup, PageSet, PageSetError};
use thiserror::Error;

pub use contents::contents;
pub use draw::fresh_seed;
pub use estimates::{EstimatedPools, Numbers};
pub use sizes::{Sizer, USUAL};
pub use watch::{ColdWatch, watching};

use crate::codec::{CodecError, CodecSetting};

/// The only page size that sizes and allocators are modelled for.
const PAGE_SIZE: u16 = 4096;

/// Pages between two looks at the progress.
const SHOWN: usize = 256;

/// What to sample.
#[derive(Clone, Debug)]
pub struct SampleRequest {
    /// Which processes.
    pub choice: ProcessChoice,
    /// How many pages.
    pub pages: u64,
    /// For how many seconds to watch which pages are touched.
    pub cold_seconds: Option<u64>,
    /// Seed of the draw.
    pub seed: u64,
    /// Codecs whose sizes are asked for.
    pub codecs: Vec<CodecSetting>,
    /// One group a systemd unit, where a process belongs to one; else one a process.
    pub by_unit: bool,
}

/// What was looked at, and what was not.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Tally {
    /// Processes that are meant and have memory of their own.
    pub processes: u64,
    /// Of them those that ended before their pages were located.
    pub vanished: u64,
    /// Of them those that may not be looked at.
    pub forbidden: u64,
    /// Anonymous memory of those that may not be looked at.
    pub forbidden_memory: Bytes,
    /// Of them those that could not be read for another reason.
    pub failed: u64,
    /// Pages that were drawn and had vanished when they were read.
    pub vanished_pages: u64,
    /// Pages read that other processes map too.
    pub shared_pages: u64,
    /// Whether the kernel searched for the pages itself.
    pub scanned: bool,
}

impl Tally {
    /// Processes whose pages were not seen.
    #[must_use]
    pub fn unread(&self) -> u64 {
        self.vanished + self.forbidden + self.failed
    }

    fn miss(&mut self, unseen: &Unseen, process: &Process) {
        match unseen {
            Unseen::Vanished(_) => self.vanished += 1,
            Unseen::Forbidden(_) => {
                self.forbidden += 1;
                self.forbidden_memory.0 += process.rss_anon.0;
            }
            Unseen::Failed { .. } => self.failed += 1,
        }
    }
}

/// A sample, and how it came about.
#[derive(Clone, Debug)]
pub struct MemorySample {
    /// The pages.
    pub set: PageSet,
    /// What was looked at.
    pub tally: Tally,
    /// How it was seen which pages are cold; `None` when it was not asked for.
    pub cold: Option<ColdWatch>,
}

/// Why there is no sample.
#[derive(Debug, Error)]
pub enum SampleError {
    /// The processes of this machine cannot be listed.
    #[error(transparent)]
    List(#[from] ReadError),
    /// No process matches.
    #[error("no process with memory of its own: {0}")]
    NoneMatches(String),
    /// None may be looked at.
    #[error("none of the {0} processes may be read")]
    Forbidden(u64),
    /// There is no page, or none is left.
    #[error("no anonymous page could be read of {of}")]
    NoPages {
        /// What was meant.
        of: String,
    },
    /// Pages of another size.
    #[error("pages of {0}, expected 4 KiB: compressed sizes and allocators are modelled for these only")]
    PageSize(Bytes),
    /// A codec that does not open.
    #[error(transparent)]
    Codec(#[from] CodecError),
}

/// What is being done, for a line of progress.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SampleStep {
    /// Finding pages, process by process.
    Locating {
        /// Processes done.
        done: u64,
        /// Processes to look at.
        of: u64,
    },
    /// Reading and compressing pages.
    Reading {
        /// Pages done.
        done: u64,
        /// Pages drawn.
        of: u64,
    },
    /// Waiting for pages to be touched.
    Watching {
        /// Seconds passed.
        done: u64,
        /// Seconds to pass.
        of: u64,
    },
}

/// Processes whose pages were located, and these pages.
type LocatedProcesses = Vec<(Process, Located)>;

/// Takes a sample, telling `on` what it is at. Of the origin of the set only what was drawn is filled in; the rest is known when
/// the result is kept.
///
/// # Errors
/// [`SampleError`] when there is nothing to sample.
pub fn take(machine: &Machine, request: &SampleRequest, on: &mut dyn FnMut(SampleStep)) -> Result<MemorySample, SampleError> {
    if page_bytes() != usize::from(PAGE_SIZE) {
        return Err(SampleError::PageSize(Bytes(page_bytes() as u64)));
    }
    let (found, mut tally) = find(machine, &request.choice, on)?;
    let (processes, located): (Vec<Process>, Vec<Located>) = found.into_iter().unzip();
    let addresses = draw::draw(&located, request.pages, request.seed);
    let (groups, group_of) = groups(&processes, &located, request.by_unit);
    let mut set = PageSet { schema: SCHEMA, page_size: PAGE_SIZE, groups, ..PageSet::default() };
    (set.origin.of, set.origin.seed) = (request.choice.to_string(), request.seed);
    let read = read(&mut set, &mut tally, request, &processes, &addresses, &group_of, on)?;
    if set.is_empty() {
        return Err(SampleError::NoPages { of: request.choice.to_string() });
    }
    let cold = request.cold_seconds.map(|seconds| watch::watch(&mut set, &read, &group_of, seconds, on));
    Ok(MemorySample { set, tally, cold })
}

/// Locates the pages of all processes that are meant.
fn find(
    machine: &Machine,
    choice: &ProcessChoice,
    on: &mut dyn FnMut(SampleStep),
) -> Result<(LocatedProcesses, Tally), SampleError> {
    let listing = processes::list(machine, choice)?;
    let mut tally = Tally { processes: listing.processes.len() as u64, ..Tally::default() };
    if tally.processes == 0 {
        return Err(SampleError::NoneMatches(choice.to_string()));
    }
    let mut locator = Locator::new();
    let mut found = Vec::new();
    for (process, done) in listing.processes.into_iter().zip(0..) {
        on(SampleStep::Locating { done, of: tally.processes });
        match locator.locate(process.pid) {
            Ok(located) => found.push((process, located)),
            Err(unseen) => tally.miss(&unseen, &process),
        }
    }
    tally.scanned = locator.method() == Some(Method::Scan);
    if tally.forbidden > 0 && found.is_empty() {
        return Err(SampleError::Forbidden(tally.forbidden));
    }
    Ok((found, tally))
}

/// What a process is counted under.
fn group_of_process(process: &Process, by_unit: bool) -> (String, GroupKind) {
    let unit = process.membership.unit().filter(|_| by_unit).map(|unit| (unit.to_owned(), GroupKind::Unit));
    unit.unwrap_or_else(|| (format!("{}[{}]", process.name, process.pid), GroupKind::Process))
}

/// Groups, and for each process the index of its own.
fn groups(processes: &[Process], located: &[Located], by_unit: bool) -> (Vec<PageGroup>, Vec<u32>) {
    let mut groups: Vec<PageGroup> = Vec::new();
    let mut index: BTreeMap<String, u32> = BTreeMap::new();
    let mut group_of = Vec::with_capacity(processes.len());
    for (process, located) in processes.iter().zip(located) {
        let (name, kind) = group_of_process(process, by_unit);
        let at = *index.entry(name.clone()).or_insert_with(|| {
            groups.push(PageGroup { name, kind, processes: 0, present: 0, swapped: 0, watched: None });
            groups.len() as u32 - 1
        });
        let group = &mut groups[at as usize];
        group.processes += 1;
        group.present += located.present;
        group.swapped += located.swapped;
        group_of.push(at);
    }
    (groups, group_of)
}

/// Pages that were read of one process: where they are.
struct ReadPages {
    pid: u32,
    addresses: Vec<u64>,
}

/// Pages that are held at once until they are compressed: 64 MiB.
const HELD: usize = 16 << 10;

/// Pages that were read and not yet compressed. Compressing takes a hundred times as long as reading, and what ends meanwhile
/// would be missing: so pages are read first.
struct HeldPages<'a> {
    bytes: Vec<u8>,
    groups: Vec<u32>,
    set: &'a mut PageSet,
    sizer: Sizer,
    sizes: Vec<Vec<u16>>,
}

impl HeldPages<'_> {
    fn push(&mut self, bytes: &[u8], group: u32) {
        self.bytes.extend_from_slice(bytes);
        self.groups.push(group);
    }

    /// Compresses what is held and keeps no more of it than sizes and classes.
    fn flush(&mut self, mut on: impl FnMut(u64)) {
        for (page, group) in self.bytes.chunks_exact(page_bytes()).zip(self.groups.drain(..)) {
            self.set.class.push(self.sizer.add(page, &mut self.sizes));
            self.set.group.push(group);
            if self.set.group.len() % SHOWN == 0 {
                on(self.set.group.len() as u64);
            }
        }
        self.bytes.clear();
    }
}

/// Reads the pages that were drawn and keeps what they compress to.
fn read(
    set: &mut PageSet,
    tally: &mut Tally,
    request: &SampleRequest,
    processes: &[Process],
    addresses: &[Vec<u64>],
    group_of: &[u32],
    on: &mut dyn FnMut(SampleStep),
) -> Result<Vec<ReadPages>, SampleError> {
    let of = addresses.iter().map(|addresses| addresses.len() as u64).sum();
    let sizes = vec![Vec::new(); request.codecs.len()];
    let sizer = Sizer::new(&request.codecs, page_bytes())?;
    let mut held = HeldPages { bytes: Vec::new(), groups: Vec::new(), set, sizer, sizes };
    let mut reader = PageReader::new();
    let mut read = Vec::new();
    for ((process, addresses), group) in processes.iter().zip(addresses).zip(group_of) {
        let mut kept = ReadPages { pid: process.pid, addresses: Vec::with_capacity(addresses.len()) };
        for part in addresses.chunks(HELD) {
            let outcome = reader.read(process.pid, part, |page| {
                held.push(page.bytes, *group);
                kept.addresses.push(part[page.index]);
            });
            match outcome {
                Ok(outcome) => {
                    tally.vanished_pages += outcome.vanished;
                    tally.shared_pages += outcome.shared;
                }
                // Located, and yet not to be read: its pages stand for nothing.
                Err(unseen) => {
                    tally.miss(&unseen, process);
                    tally.vanished_pages += (addresses.len() - kept.addresses.len()) as u64;
                    break;
                }
            }
            if held.groups.len() >= HELD {
                held.flush(|done| on(SampleStep::Reading { done, of }));
            }
        }
        read.push(kept);
    }
    held.flush(|done| on(SampleStep::Reading { done, of }));
    let sizes = held.sizes;
    set.sizes = held.sizer.names().map(str::to_owned).zip(sizes).collect();
    Ok(read)
}
