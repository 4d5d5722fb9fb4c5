//! Runs the proof: pushes canary pages out of RAM, reads them back, checks every byte, and notes what was seen.
//!
//! Only our own private memory is touched: `MADV_PAGEOUT` names exactly its pages, so nothing else is pushed out, no
//! setting is changed, and when the memory is unmapped its swap slots are free again. What the observation means is
//! decided in the core ([`swaptune_core::proof::judge`]).
//!
//! Latencies: one page per call. A store is the time of `madvise(MADV_PAGEOUT)` less the median time of the same call
//! on a page that is already out; for a disk that is the submission, because the kernel writes in the background. A
//! load is the time of `madvise(MADV_POPULATE_READ)` (before Linux 5.14: of a plain read) less the same on a page that
//! is there; it is the fault without the exception entry, some 0.2 µs. Populating is used because a page that cannot
//! be decompressed then gives an error, where a plain read would be killed by SIGBUS. Pages are read in a scattered
//! order, so that read-ahead does not hide the cost of a fault.

mod cgroup;
pub mod counters;
pub mod pages;
mod slots;

use std::io;
use std::time::{Duration, Instant, SystemTime};

use swaptune_core::proof::{CanaryClass, ClassObservation, Impossible, Observation, Proof, SwapBehaviour, judge};
use swaptune_core::stats::Nanos;
use swaptune_core::{Bytes, Facts};

use crate::inspect::{InspectScope, inspect};
use crate::machine::{Machine, ReadError};
use counters::CounterFiles;
use pages::CanaryPages;

/// How to prove.
#[derive(Clone, Debug)]
pub struct ProofOptions {
    /// Memory for all canary pages together.
    pub size: Bytes,
    /// Seed of their content; `None` takes one from the clock, so that no run can find the pages of another.
    pub seed: Option<u64>,
    /// Longest time to wait until a disk has written the pages of one class.
    pub settle: Duration,
    /// Longest time to read pages back one by one; what is left then is read in bulk and only checked.
    pub loads: Duration,
}

impl Default for ProofOptions {
    fn default() -> Self {
        Self { size: Bytes::from_mib(8), seed: None, settle: Duration::from_secs(3), loads: Duration::from_millis(30) }
    }
}

/// Why a proof could not be run at all. That nothing could be pushed out is a verdict, not an error.
#[derive(Debug, thiserror::Error)]
pub enum ProveError {
    /// Not the machine that this process runs on.
    #[error("a folder of files cannot be proved: run it on the machine itself")]
    NotLive,
    /// No memory for the pages.
    #[error("cannot map {size} for canary pages: {source}")]
    Map {
        /// How much was asked for.
        size: Bytes,
        /// What the kernel said.
        source: io::Error,
    },
    /// The counters cannot be read.
    #[error("the kernel's counters cannot be read: {0}")]
    Counters(#[from] ReadError),
    /// The kernel refused to say which pages are in RAM.
    #[error("cannot tell which canary pages are in RAM: {0}")]
    Resident(#[source] io::Error),
}

/// Inspects this machine, pushes canary pages through its swap, and judges what happened.
///
/// # Errors
/// [`ProveError`] when it cannot be run; see there.
pub fn prove(machine: &Machine, options: &ProofOptions) -> Result<Proof, ProveError> {
    let facts = inspect(machine, InspectScope { log: false, ..InspectScope::STATUS });
    observe(machine, &facts, options).map(|observation| judge(&observation))
}

/// Pushes canary pages through the swap of a machine that was inspected, and notes what was seen.
///
/// # Errors
/// [`ProveError`] when it cannot be run; see there.
pub fn observe(machine: &Machine, facts: &Facts, options: &ProofOptions) -> Result<Observation, ProveError> {
    if !machine.is_live() {
        return Err(ProveError::NotLive);
    }
    let started = Instant::now();
    let mut observation =
        Observation { behaviour: SwapBehaviour::from_facts(facts), cgroup: cgroup::limits(machine), ..Observation::default() };
    observation.impossible = no_areas(facts);
    if observation.impossible.is_none() {
        push_all(machine, facts, options, &mut observation)?;
    }
    observation.elapsed = nanos(started.elapsed());
    Ok(observation)
}

fn no_areas(facts: &Facts) -> Option<Impossible> {
    facts.swaps.is_empty().then(|| Impossible {
        reason: match facts.zswap_is_on() {
            true => "no swap area is on, and zswap can store nothing without one".into(),
            false => "no swap area is on".into(),
        },
        remedy: "switch one on, or let `swaptune plan` propose one".into(),
    })
}

/// Time for copies in RAM to go when nothing is being written: then only the lists of other CPUs hold them.
const NOTHING_WRITTEN: Duration = Duration::from_millis(5);

/// Shares of the classes in percent. Zero pages are all alike; text is what most memory is.
const SHARES: [(CanaryClass, u64); 3] = [(CanaryClass::Zero, 12), (CanaryClass::Text, 63), (CanaryClass::Random, 25)];

fn push_all(machine: &Machine, facts: &Facts, options: &ProofOptions, observation: &mut Observation) -> Result<(), ProveError> {
    let page = facts.kernel.page_size;
    let seed = options.seed.unwrap_or_else(seed_from_clock);
    let counters = CounterFiles::new(machine, facts);
    for (class, percent) in SHARES {
        let pages = (options.size.percent(percent).0 / page.0.max(1)).max(1);
        let mut canary = CanaryPages::new(class, pages, page, seed)?;
        match one_class(&counters, options, &mut canary)? {
            Ok(seen) => {
                let stuck = seen.swapped == 0;
                observation.classes.push(seen);
                // Where zero pages do not move, none will.
                if stuck {
                    return Ok(());
                }
            }
            Err(impossible) => {
                observation.impossible = Some(impossible);
                return Ok(());
            }
        }
        observation.overhead_store = observation.overhead_store.max(canary.overhead_store);
        observation.overhead_load = observation.overhead_load.max(canary.overhead_load);
        for blind in canary.blind.drain(..) {
            if !observation.blind.contains(&blind) {
                observation.blind.push(blind);
            }
        }
    }
    observation.blind.extend(counters.blind());
    Ok(())
}

fn one_class(
    counters: &CounterFiles,
    options: &ProofOptions,
    canary: &mut CanaryPages,
) -> Result<Result<ClassObservation, Impossible>, ProveError> {
    let before = counters.read()?;
    let store = match canary.push() {
        Ok(store) => store,
        Err(error) => return Ok(Err(refused(&error))),
    };
    let (swapped, slots) = canary.where_are_they()?;
    let keeps_slots = before.get("meminfo.SwapFree") > before.get("meminfo.SwapTotal").map(|total| total / 2);
    let pushed = counters.read()?;
    // Only a page that was written to a device needs time to get there.
    let written = pushed.since(&before, "vmstat.pswpout") != Some(0);
    let in_ram = canary.settle(if written { options.settle } else { NOTHING_WRITTEN }, keeps_slots)?;
    let stored = counters.read()?;
    let (load, unreadable) = canary.load(options.loads)?;
    let corrupt = canary.check();
    let loaded = counters.read()?;
    // A page of which a copy was in RAM was compared with that copy: it says nothing about the swap.
    let came_back = canary.pages.saturating_sub(in_ram + unreadable);
    Ok(Ok(ClassObservation {
        class: canary.class,
        pages: canary.pages,
        swapped,
        cached: in_ram.saturating_sub(canary.pages - swapped),
        areas: slots::by_area(&slots, &before, &stored, counters.areas(), canary.page_size()),
        before,
        stored,
        loaded,
        store,
        load,
        bytes_checked: Bytes(came_back * canary.page_size() as u64),
        unreadable,
        corrupt,
    }))
}

/// What an error of `MADV_PAGEOUT` means.
fn refused(error: &io::Error) -> Impossible {
    let (reason, remedy) = match error.raw_os_error() {
        Some(libc::EINVAL) => (
            "this kernel does not know MADV_PAGEOUT, or has no swap built in, or this process locks its memory".to_owned(),
            "Linux 5.4 with CONFIG_SWAP is needed; do not run it under mlockall",
        ),
        Some(libc::EPERM | libc::ENOSYS) => (
            format!("this process may not call madvise(MADV_PAGEOUT): {error}"),
            "a seccomp filter forbids it: run it outside the container",
        ),
        _ => (format!("madvise(MADV_PAGEOUT) failed: {error}"), "run it on the host, as root"),
    };
    Impossible { reason, remedy: remedy.into() }
}

fn seed_from_clock() -> u64 {
    let since = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default();
    (since.as_nanos() as u64) ^ (u64::from(std::process::id()) << 48)
}

fn nanos(duration: Duration) -> Nanos {
    Nanos(u64::try_from(duration.as_nanos()).unwrap_or(u64::MAX))
}
