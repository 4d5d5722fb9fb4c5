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
mod sizes;
mod watch;

use std::collections::BTreeMap;

use swaptune_core::Bytes;
use swaptune_host::machine::{Machine, ReadError};
use swaptune_host::processes::{self, Choice, Located, Locator, Method, Process, Reader, Unseen, page_bytes};
use swaptune_tiers::page_set::{Group, GroupKind, PageSet, SCHEMA};
use thiserror::Error;

pub use contents::contents;
pub use draw::fresh_seed;
pub use estimates::{Numbers, Pools};
pub use sizes::{Sizer, USUAL};
pub use watch::{Cold, watching};

use crate::codec::{CodecError, Setting};

/// Pages of a sample when nobody says otherwise: ±2 % on the ratio of usual pages.
pub const PAGES: u64 = 4096;
/// The only page size that sizes and allocators are modelled for.
const PAGE_SIZE: u16 = 4096;

/// What to sample.
#[derive(Clone, Debug)]
pub struct Request {
    /// Which processes.
    pub choice: Choice,
    /// How many pages.
    pub pages: u64,
    /// For how many seconds to watch which pages are touched.
    pub cold_seconds: Option<u64>,
    /// Seed of the draw.
    pub seed: u64,
    /// Codecs whose sizes are asked for.
    pub codecs: Vec<Setting>,
    /// One group a systemd unit, where a process belongs to one; else one a process.
    pub by_unit: bool,
}

/// What was looked at, and what was not.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
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
pub struct Sample {
    /// The pages.
    pub set: PageSet,
    /// What was looked at.
    pub tally: Tally,
    /// How it was seen which pages are cold; `None` when nobody asked.
    pub cold: Option<Cold>,
}

/// Why there is no sample.
#[derive(Debug, Error)]
pub enum SampleError {
    /// The processes of this machine cannot be listed.
    #[error(transparent)]
    List(#[from] ReadError),
    /// None is meant.
    #[error("no process with memory of its own: {0}")]
    Nobody(String),
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

/// Processes whose pages were located, and these pages.
type Found = Vec<(Process, Located)>;

/// Takes a sample. Where the pages come from is left empty in it but for the draw; `wait` is called once when `cold_seconds`
/// are to pass and lets them pass.
///
/// # Errors
/// [`SampleError`] when there is nothing to sample.
pub fn take(machine: &Machine, request: &Request, wait: impl FnMut(u64)) -> Result<Sample, SampleError> {
    if page_bytes() != usize::from(PAGE_SIZE) {
        return Err(SampleError::PageSize(Bytes(page_bytes() as u64)));
    }
    let (found, mut tally) = find(machine, &request.choice)?;
    let (processes, located): (Vec<Process>, Vec<Located>) = found.into_iter().unzip();
    let addresses = draw::draw(&located, request.pages, request.seed);
    let (groups, group_of) = groups(&processes, &located, request.by_unit);
    let mut set = PageSet { schema: SCHEMA, page_size: PAGE_SIZE, groups, ..PageSet::default() };
    (set.origin.of, set.origin.seed) = (request.choice.to_string(), request.seed);
    let read = read(&mut set, &mut tally, request, &processes, &addresses, &group_of)?;
    if set.is_empty() {
        return Err(SampleError::NoPages { of: request.choice.to_string() });
    }
    let cold = request.cold_seconds.map(|seconds| watch::watch(&mut set, &read, &group_of, seconds, wait));
    Ok(Sample { set, tally, cold })
}

/// Locates the pages of all processes that are meant.
fn find(machine: &Machine, choice: &Choice) -> Result<(Found, Tally), SampleError> {
    let listing = processes::list(machine, choice)?;
    let mut tally = Tally { processes: listing.processes.len() as u64, ..Tally::default() };
    if tally.processes == 0 {
        return Err(SampleError::Nobody(choice.to_string()));
    }
    let mut locator = Locator::new();
    let mut found = Vec::new();
    for process in listing.processes {
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

/// Groups, and for each process the index of its own.
fn groups(processes: &[Process], located: &[Located], by_unit: bool) -> (Vec<Group>, Vec<u32>) {
    let mut groups: Vec<Group> = Vec::new();
    let mut index: BTreeMap<String, u32> = BTreeMap::new();
    let mut group_of = Vec::with_capacity(processes.len());
    for (process, located) in processes.iter().zip(located) {
        let unit = process.membership.unit().filter(|_| by_unit).map(|unit| (unit.to_owned(), GroupKind::Unit));
        let (name, kind) = unit.unwrap_or_else(|| (format!("{}[{}]", process.name, process.pid), GroupKind::Process));
        let at = *index.entry(name.clone()).or_insert_with(|| {
            groups.push(Group { name, kind, processes: 0, present: 0, swapped: 0, watched: None });
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

/// Reads the pages that were drawn and keeps what they compress to.
fn read(
    set: &mut PageSet,
    tally: &mut Tally,
    request: &Request,
    processes: &[Process],
    addresses: &[Vec<u64>],
    group_of: &[u32],
) -> Result<Vec<ReadPages>, SampleError> {
    let mut sizer = Sizer::new(&request.codecs, page_bytes())?;
    let mut reader = Reader::new();
    let mut sizes = vec![Vec::new(); request.codecs.len()];
    let mut read = Vec::new();
    for ((process, addresses), group) in processes.iter().zip(addresses).zip(group_of) {
        let mut kept = ReadPages { pid: process.pid, addresses: Vec::new() };
        let outcome = reader.read(process.pid, addresses, |page| {
            set.class.push(sizer.add(page.bytes, &mut sizes));
            set.group.push(*group);
            kept.addresses.push(addresses[page.index]);
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
            }
        }
        read.push(kept);
    }
    set.sizes = sizer.names().map(str::to_owned).zip(sizes).collect();
    Ok(read)
}
