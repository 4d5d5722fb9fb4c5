//! Making memory small, so that zswap's pool counts.
//!
//! A limit of a group is enough where the pool is charged to the group (cgroup v2). Version 1 charges it to nobody: a group could have
//! all the pool it wants for nothing. There the whole machine is made small: a process of ours holds memory locked until only so much is
//! left, so that reclaim, kswapd and the pool all live in the same memory. It dies with us, and with it all of that is free again.
//! Reserved huge pages would do the same, but memory in pieces has too few of them: of 8 797 that were free in pages, a machine of
//! 24 GiB that had been compiling gave 6 748 after eight attempts. The pool's limit is a percentage of all RAM, held or not, and is scaled by
//! [`pool_percent`].

use swaptune_core::Bytes;
use swaptune_core::measurement::DensityLimit;
use swaptune_core::parse::keyed;
use swaptune_host::cgroup::{LimitedGroup, Version};
use swaptune_host::machine::Machine;

use super::DensityError;
use crate::memory::hold;
use crate::process::{Helper, Program};

/// How memory is made small.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Wish {
    /// By a group on version 2, else for the whole machine.
    Best,
    /// By a group.
    Group,
    /// For the whole machine.
    Machine,
}

/// Memory that was made small, for as long as this lives.
#[derive(Debug)]
pub(super) struct Space {
    pub(super) limit: DensityLimit,
    pub(super) memory: Bytes,
    // What is held in the whole machine.
    _held: Option<Helper>,
}

impl Space {
    /// Leaves `memory` to services; `program` holds the rest where that is needed.
    pub(super) fn make(machine: &Machine, memory: Bytes, wish: Wish, program: &Program) -> Result<Self, DensityError> {
        let available = available(machine)?;
        if available < memory {
            let why = format!("{available} of memory are available, and the services shall have {memory}");
            return Err(DensityError::Refused { why, hint: "name a smaller --memory, or end some applications first".into() });
        }
        if wish != Wish::Machine {
            let version = group(machine, memory)?.version();
            if version == Version::V2 {
                return Ok(Self { limit: DensityLimit::Group, memory, _held: None });
            }
            if wish == Wish::Group {
                let why = "control groups of version 1 do not charge zswap's pool to the group, so that it would cost nothing";
                let hint = "leave --limit away: the whole machine is made small then";
                return Err(DensityError::Refused { why: why.into(), hint: hint.into() });
            }
        }
        // Services go first when memory ends (oom_score_adj 1000); what stands for RAM that is not there must not.
        let (held, locked) = hold(program, Bytes(available.0 - memory.0), true)?;
        if !locked {
            let why = "the memory that services shall not have cannot be locked into RAM, and would be swapped out itself";
            return Err(DensityError::Refused { why: why.into(), hint: "raise RLIMIT_MEMLOCK: ulimit -l unlimited".into() });
        }
        Ok(Self { limit: DensityLimit::Machine, memory, _held: Some(held) })
    }

    /// The group of one run of services, where one limits them.
    pub(super) fn group(&self, machine: &Machine) -> Result<Option<LimitedGroup>, DensityError> {
        (self.limit == DensityLimit::Group).then(|| group(machine, self.memory)).transpose()
    }
}

fn group(machine: &Machine, memory: Bytes) -> Result<LimitedGroup, DensityError> {
    Ok(LimitedGroup::create(machine, "density", memory)?)
}

/// What new programs could have without swapping (`MemAvailable`).
fn available(machine: &Machine) -> Result<Bytes, DensityError> {
    let lines = keyed::meminfo(&machine.read_text("/proc/meminfo")?);
    lines.get("MemAvailable").copied().ok_or_else(|| DensityError::Refused {
        why: "/proc/meminfo has no line MemAvailable".into(),
        hint: "it came with Linux 3.14".into(),
    })
}

/// `max_pool_percent` on a machine with `total` of RAM that comes nearest to `percent` of `memory`; not 0, which would be no pool at all.
pub(super) fn pool_percent(percent: u64, memory: Bytes, total: Bytes) -> u64 {
    let exact = percent as f64 * memory.0 as f64 / total.0.max(1) as f64;
    if percent == 0 { 0 } else { (exact.round() as u64).clamp(1, 100) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_share_of_a_small_machine_is_a_smaller_share_of_the_real_one() {
        let gib = Bytes::from_gib;
        assert_eq!(pool_percent(20, gib(1), gib(1)), 20);
        assert_eq!(pool_percent(50, gib(1), gib(4)), 13, "12.5 is rounded");
        assert_eq!(pool_percent(20, gib(1), gib(24)), 1, "never to nothing");
        assert_eq!((pool_percent(0, gib(1), gib(24)), pool_percent(90, gib(4), gib(4))), (0, 90));
    }
}
