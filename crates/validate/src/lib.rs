//! The simulator against the running kernel.
//!
//! The same sequence of accesses is played twice: by a process of its own in a memory-limited group of this machine, with zswap and
//! swap files that are there for as long as it takes, and in the model of the tiers room, whose machine is made from the facts of this
//! one. Both count, and [`METRICS`] says what is compared. Nothing of the comparison is fitted: the model gets sizes of the very pages,
//! the limit, the kernel's version and settings, what things take in sequences of their own, and no result of the workloads.
//!
//! All cases are played once in each round, in a different order each time, so that what disturbs the machine disturbs all alike.

mod bench;
mod compare;
mod content;
mod level;
mod model;
mod passes;
mod player;
mod report;
mod rounds;
mod sequence;
mod sizes;
mod tiering;
mod times;
mod worker;
mod workload;

use std::path::PathBuf;

use serde::Serialize;
use swaptune_core::{Bytes, Facts};
use swaptune_host::cgroup::CgroupError;
use swaptune_host::inspect::{InspectScope, inspect};
use swaptune_host::machine::{Machine, ReadError};
use swaptune_host::stop::Stop;
use swaptune_host::temporary::{TOP_PRIORITY, TemporaryError, TemporarySettings};
use swaptune_tiers::generate::GenerateError;
use thiserror::Error;

use bench::ValidationBench;
use content::PAGE;
use swaptune_bench::process::HelperProgram;

pub use compare::{Agreement, Compared, ComparedNumber, METRICS, Pair};
pub use player::serve;
pub use tiering::{Case, KernelTiering, PoolKind, cases};
pub use times::MeasuredTime;
pub use workload::{PlayedWorkload, WORKLOADS};

/// A limit below this leaves the kernel's batches no room to be small. With 8 MiB a player was killed on a busy machine, with 6.3 MiB of its pages
/// in the swap cache (Linux 6.18).
const LEAST_LIMIT: Bytes = Bytes::from_mib(16);
/// What of the machine is looked at.
pub const SCOPE: InspectScope = InspectScope { log: false, config: true, ..InspectScope::STATUS };

/// What is asked for.
#[derive(Clone, Debug, PartialEq)]
pub struct ValidationOptions {
    /// RAM of the group.
    pub limit: Bytes,
    /// How often each case is played.
    pub rounds: u32,
    /// Where swap files lie.
    pub folder: PathBuf,
    /// Start of the random numbers of the workloads.
    pub seed: u64,
}

/// Why nothing was compared.
#[derive(Debug, Error)]
pub enum ValidateError {
    /// This machine must not or cannot be used for it; nothing was changed.
    #[error("{why}")]
    Refused {
        /// The reason, as one sentence for the user.
        why: String,
        /// What to do about it.
        hint: String,
    },
    /// A temporary setting could not be made or put back.
    #[error(transparent)]
    Temporary(#[from] TemporaryError),
    /// No control group for the limit.
    #[error(transparent)]
    Group(#[from] CgroupError),
    /// The process that plays was lost.
    #[error("{0}")]
    Player(String),
    /// The counters cannot be read.
    #[error("the kernel's counters cannot be read: {0}")]
    Counters(#[from] ReadError),
    /// A workload cannot be made.
    #[error(transparent)]
    Workload(#[from] GenerateError),
    /// No compressed sizes of the pages are known.
    #[error("compressed sizes: {0}")]
    Sizes(String),
    /// The simulator cannot be this machine.
    #[error("the simulator: {0}")]
    Model(String),
    /// Pages came back different.
    #[error("{case}: {count} accesses found another content than was written")]
    Corrupt {
        /// The case, in words.
        case: String,
        /// How many.
        count: u64,
    },
}

/// A case that was not compared, and why.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct CaseLeftOut {
    /// The case, in words.
    pub case: String,
    /// The reason, as one sentence for the user.
    pub why: String,
}

/// One case and what was found.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct CaseResult {
    /// The workload.
    pub workload: &'static str,
    /// The tiering, in words.
    pub tiering: String,
    /// Pages of the workload.
    pub pages: u32,
    /// Accesses that were played.
    pub events: usize,
    /// Where the compressed sizes came from; `None` without zswap.
    pub sizes: Option<&'static str>,
    /// What was compared.
    pub compared: Vec<Compared>,
}

/// What came of it.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct ValidationReport {
    /// `uname -r`.
    pub kernel: String,
    /// Version of the hierarchy of control groups: on 2 a group pays for its part of the pool.
    pub cgroup: u8,
    /// RAM of the group.
    pub limit: Bytes,
    /// How often each case was played.
    pub rounds: u32,
    /// Start of the random numbers.
    pub seed: u64,
    /// What things take on this machine, by which the simulator's clock goes.
    pub times: Vec<MeasuredTime>,
    /// The cases.
    pub rows: Vec<CaseResult>,
    /// Pairs of tierings that differ clearly in the kernel.
    pub pairs: Vec<Pair>,
    /// Cases that were not compared.
    pub left_out: Vec<CaseLeftOut>,
    /// True when it was stopped before all rounds were done; then only whole rounds count.
    pub stopped: bool,
    /// What a killed run had left and was put back first.
    pub recovered: Option<String>,
}

/// Refuses a machine on which this would do harm or could not work.
///
/// # Errors
/// [`ValidateError::Refused`].
pub fn check(machine: &Machine, facts: &Facts, options: &ValidationOptions) -> Result<(), ValidateError> {
    let refused = |why: &str, hint: &str| Err(ValidateError::Refused { why: why.into(), hint: hint.into() });
    if !machine.is_live() {
        return refused("a folder runs no kernel: this compares with the machine that it runs on", "leave out --root");
    }
    if !machine.is_root() {
        return refused(
            "swap areas, zswap and a control group are set up for a moment, which only root may do",
            "put sudo before it",
        );
    }
    if facts.system.container.is_known() {
        return refused("this is a container: its kernel's swap belongs to the host", "run it on the host");
    }
    if facts.kernel.page_size.0 != PAGE as u64 {
        return refused("pages of this machine are not of 4 KiB, and the simulator knows no others", "run it on another machine");
    }
    if let Some(area) = facts.swaps.iter().find(|area| area.priority >= TOP_PRIORITY) {
        let why = format!("{} has the highest priority there is, so pages would go there", area.path);
        return refused(&why, "give it a lower priority, or switch it off meanwhile");
    }
    if facts.memory.get("Zswapped").is_some_and(|bytes| bytes.0 > 0) {
        return refused("zswap holds pages already, which would count", "switch swap off and on again, so that it is empty");
    }
    if options.limit < LEAST_LIMIT {
        let why = format!("--limit {}: batches of the kernel would be most of it", options.limit.compact());
        return refused(&why, &format!("--limit {} or more", LEAST_LIMIT.compact()));
    }
    Ok(())
}

/// Measures what things take here, plays all cases and compares. `show` is told what is being done, step by step; when `stop` is asked
/// for, everything is put back and what was played in whole rounds is compared.
///
/// # Errors
/// [`ValidateError`]; everything is as before then, or the error says what is not.
pub fn run(
    machine: &Machine,
    cases: Vec<Case>,
    options: &ValidationOptions,
    program: &HelperProgram,
    stop: &Stop,
    show: &mut dyn FnMut(&str, usize, usize),
) -> Result<ValidationReport, ValidateError> {
    let facts = inspect(machine, SCOPE);
    check(machine, &facts, options)?;
    let mut temporary = TemporarySettings::open(machine, "swaptune-validate")?;
    let recovered = temporary.recovered().map(str::to_owned);
    let played = ValidationBench { machine, facts: &facts, options, program, stop, temporary: &mut temporary }.all(cases, show);
    // Whatever happened, what was set is put back first.
    temporary.close()?;
    let mut report = report::of(&facts, options, &played?)?;
    report.recovered = recovered;
    Ok(report)
}
