//! Another program beside the command: what a configuration costs those that did not ask for memory.

use swaptune_core::Bytes;
use swaptune_core::stats::Quantiles;
use swaptune_host::cgroup::LimitedGroup;

use crate::memory::{HelperTask, MemoryReady};
use crate::process::{Helper, HelperError, HelperProgram};

/// The most memory that it has.
pub const SIZE: Bytes = Bytes::from_mib(16);
/// The command's memory by the bystander's, at least.
const PARTS: u64 = 64;

/// What it shall be.
#[derive(Clone, Copy, Debug)]
pub(super) struct BystanderKind<'a> {
    /// Becomes it.
    pub(super) program: &'a HelperProgram,
    /// Memory that both share; `None` for all of the machine's.
    pub(super) memory: Option<Bytes>,
    /// The same wakes in every run.
    pub(super) seed: u64,
}

/// A running one; killed when dropped.
#[derive(Debug)]
pub(super) struct Bystander(Helper);

impl Bystander {
    /// Starts it, in the command's group if there is one, and waits until it has its memory.
    pub(super) fn begin(beside: &BystanderKind<'_>, group: Option<&LimitedGroup>) -> Result<Self, HelperError> {
        let size = beside.memory.map_or(SIZE, |memory| Bytes(memory.0 / PARTS).min(SIZE));
        let mut helper = Helper::start(beside.program, group)?;
        helper.say(&HelperTask::Wake { size, seed: beside.seed })?;
        let MemoryReady { .. } = helper.answer("had its memory")?;
        Ok(Self(helper))
    }

    /// Ends it. How long its wakes took; `None` when it was killed.
    pub(super) fn end(mut self) -> Option<Quantiles> {
        self.0.send(b"\n").ok()?;
        self.0.answer("ended").ok().flatten()
    }
}
