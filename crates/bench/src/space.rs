//! Making memory small, so that zswap's pool counts.
//!
//! `memory.max` of a group is enough where all that is compressed is charged to the group: zswap's pool on cgroup v2 since Linux 5.19
//! (`memory.zswap.current`). Version 1 and older kernels do not charge it, and no kernel charges zram's (drivers/block/zram/zram_drv.c,
//! `zs_malloc` without `__GFP_ACCOUNT`), so that a group would have the pool on top of its limit. Where one configuration has such a pool,
//! or no group can be made, the whole machine is made small for all of them: a process of ours locks all but that much memory, so that
//! reclaim, kswapd and the pool share what is left. The kernel frees it when that process dies, and it dies with us. A part
//! of it is held for one round only: when settings are put back, a swapoff has to find room for what went out. All of it would take
//! a minute to lock again on a virtual machine of 24 GiB.
//! Reserved huge pages would do the same, but fragmented memory has too few of them: of 8 797 wanted, a machine of 24 GiB that had
//! been compiling gave 6 748 after eight attempts. The pool's limit is a percentage of all RAM, held or not, and is scaled by
//! `pool_percent`.

use std::thread;
use std::time::{Duration, Instant};

use swaptune_core::Bytes;
use swaptune_core::measurement::DensityLimit;
use swaptune_core::parse::{keyed, zoneinfo};
use swaptune_host::cgroup::{CgroupError, LimitedGroup};
use swaptune_host::machine::{Machine, ReadError};
use thiserror::Error;
use tracing::info;

use crate::memory::hold;
use crate::process::{Helper, HelperError, HelperProgram};

/// How memory is made small.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SpaceWish {
    /// By a group where that pays for all that is compressed, else for the whole machine.
    Best,
    /// By a group.
    Group,
    /// For the whole machine.
    Machine,
}

/// What compresses pages in the configurations that shall run.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct CompressedPools {
    pub(crate) zswap: bool,
    pub(crate) zram: bool,
}

impl CompressedPools {
    /// Those of any.
    pub(crate) fn of_all(all: impl Iterator<Item = Self>) -> Self {
        all.fold(Self::default(), |a, b| Self { zswap: a.zswap || b.zswap, zram: a.zram || b.zram })
    }
}

/// Why memory was not made small.
#[derive(Debug, Error)]
pub enum SpaceError {
    /// This machine cannot do it; nothing was changed.
    #[error("{why}")]
    Refused {
        /// The reason, as one sentence for the user.
        why: String,
        /// What to do about it.
        hint: String,
    },
    /// A group could not be made.
    #[error(transparent)]
    Group(#[from] CgroupError),
    /// The machine cannot be read.
    #[error(transparent)]
    Read(#[from] ReadError),
    /// The memory that shall not be there could not be held.
    #[error("the memory that shall not be there could not be held: {0}")]
    Hold(#[from] HelperError),
}

impl SpaceError {
    /// What to do about it; empty when there is nothing that always helps.
    #[must_use]
    pub fn hint(&self) -> String {
        match self {
            Self::Refused { hint, .. } => hint.clone(),
            Self::Group(error) => format!("{}; --limit machine needs no group", error.hint()),
            Self::Read(_) | Self::Hold(_) => String::new(),
        }
    }
}

/// Memory that is made small for each round; nearly so for as long as this lives.
#[derive(Debug)]
pub(crate) struct SmallSpace<'a> {
    pub(crate) limit: DensityLimit,
    memory: Bytes,
    // Of groups.
    name: &'static str,
    // What holds the rest of the whole machine.
    program: &'a HelperProgram,
    // What is held between rounds too.
    _always: HeldMemory,
}

/// What is held of the whole machine's memory for as long as this lives; nothing where groups limit it.
#[derive(Debug)]
#[must_use = "memory is larger again when this is dropped"]
pub(crate) struct HeldMemory {
    pub(crate) bytes: Bytes,
    _holder: Option<Helper>,
}

impl HeldMemory {
    fn nothing() -> Self {
        Self { bytes: Bytes(0), _holder: None }
    }
}

impl<'a> SmallSpace<'a> {
    /// Prepares to leave `memory` to what is measured, and twice as much between rounds; `program` holds the rest where that is needed.
    /// `name` is that of the groups, `pools` are of all configurations: they are compared by the same means.
    pub(crate) fn make(
        machine: &Machine,
        memory: Bytes,
        (wish, pools): (SpaceWish, CompressedPools),
        (name, program): (&'static str, &'a HelperProgram),
    ) -> Result<Self, SpaceError> {
        let rest = rest(machine, memory)?;
        let charges_zswap = || LimitedGroup::create(machine, name, memory).map(|group| group.counters().zswap.is_some());
        if choose(wish, pools, charges_zswap)? == DensityLimit::Group {
            return Ok(Self { limit: DensityLimit::Group, memory, name, program, _always: HeldMemory::nothing() });
        }
        let always = lock(program, Bytes(rest.0.saturating_sub(memory.0)))?;
        Ok(Self { limit: DensityLimit::Machine, memory, name, program, _always: always })
    }

    /// Leaves the machine as it is, with the `memory` that it has.
    pub(crate) fn as_it_is(memory: Bytes, (name, program): (&'static str, &'a HelperProgram)) -> Self {
        Self { limit: DensityLimit::InPlace, memory, name, program, _always: HeldMemory::nothing() }
    }

    /// Makes the whole machine small, where no groups limit memory.
    pub(crate) fn hold(&self, machine: &Machine) -> Result<HeldMemory, SpaceError> {
        match self.limit {
            DensityLimit::Group | DensityLimit::InPlace => Ok(HeldMemory::nothing()),
            DensityLimit::Machine => {
                // What is available is an estimate that leaves out part of the caches, and all that the free lists of processors hold.
                drop_caches();
                empty_free_lists(machine);
                lock(self.program, rest_in_time(machine, self.memory)?)
            }
        }
    }

    /// The group of one run, where one limits it.
    pub(crate) fn group(&self, machine: &Machine) -> Result<Option<LimitedGroup>, SpaceError> {
        let create = || Ok(LimitedGroup::create(machine, self.name, self.memory)?);
        (self.limit == DensityLimit::Group).then(create).transpose()
    }
}

/// By what memory is made small. `charges_zswap` says whether a group of this machine pays for zswap's pool, or why there is no group.
fn choose(
    wish: SpaceWish,
    pools: CompressedPools,
    charges_zswap: impl FnOnce() -> Result<bool, CgroupError>,
) -> Result<DensityLimit, SpaceError> {
    if wish == SpaceWish::Machine {
        return Ok(DensityLimit::Machine);
    }
    let why = match charges_zswap() {
        Err(error) if wish == SpaceWish::Group => return Err(error.into()),
        Err(error) => error.to_string(),
        Ok(_) if pools.zram => "zram's memory is charged to no control group, so that it would cost nothing".into(),
        Ok(false) if pools.zswap => {
            "these control groups are not charged for zswap's pool (version 2 and Linux 5.19 do), so that it would cost nothing"
                .into()
        }
        Ok(_) => return Ok(DensityLimit::Group),
    };
    if wish == SpaceWish::Group {
        let hint = "leave --limit away: the whole machine is made small then".into();
        return Err(SpaceError::Refused { why, hint });
    }
    info!("the whole machine is made small: {why}");
    Ok(DensityLimit::Machine)
}

/// Drops caches of files, directories and inodes; what is dirty is written before.
pub(crate) fn drop_caches() {
    rustix::fs::sync();
    // Where that is not possible they stay, and nothing else changes.
    let _ = std::fs::write("/proc/sys/vm/drop_caches", "3");
}

/// Has processors give back what lies on their free lists. Since Linux 6.7 that may be an eighth of a zone each, and it goes by an eighth a second
/// (mm/vmstat.c, `refresh_cpu_vm_stats`; mm/page_alloc.c, `decay_pcp_high`), or each time that the counters are asked to be brought together.
fn empty_free_lists(machine: &Machine) {
    let mut before = u64::MAX;
    for _ in 0..ROUNDS {
        let now = on_free_lists(machine).0;
        if now >= before {
            break;
        }
        before = now;
        for _ in 0..REFRESHES {
            // Before Linux 4.8 there is no such file, and no such lists either.
            let _ = std::fs::read("/proc/sys/vm/stat_refresh");
        }
    }
}

/// Rounds at most in which free lists are emptied, and requests of each.
const ROUNDS: u32 = 32;
const REFRESHES: u32 = 16;

/// What lies on the free lists of processors.
fn on_free_lists(machine: &Machine) -> Bytes {
    let pages = machine.read_text("/proc/zoneinfo").map_or(0, |text| zoneinfo::pages_of_processors(&text));
    Bytes(pages.saturating_mul(machine.page_size().0))
}

/// Locks so much memory. What is measured goes first when memory ends (oom_score_adj 1000); what stands for RAM that is not there must
/// not.
fn lock(program: &HelperProgram, size: Bytes) -> Result<HeldMemory, SpaceError> {
    if size == Bytes(0) {
        return Ok(HeldMemory::nothing());
    }
    let (holder, locked) = hold(program, size, true)?;
    if !locked {
        let why = "the memory that shall not be there cannot be locked into RAM, and would be swapped out itself";
        return Err(SpaceError::Refused { why: why.into(), hint: "raise RLIMIT_MEMLOCK: ulimit -l unlimited".into() });
    }
    Ok(HeldMemory { bytes: size, _holder: Some(holder) })
}

/// How long memory that others use for a moment is waited for: an hour of runs is not given up for a compiler that was started beside it.
const PATIENCE: Duration = Duration::from_secs(60);

/// [`rest`], once enough is there.
fn rest_in_time(machine: &Machine, memory: Bytes) -> Result<Bytes, SpaceError> {
    let begin = Instant::now();
    loop {
        match rest(machine, memory) {
            Err(SpaceError::Refused { .. }) if begin.elapsed() < PATIENCE => thread::sleep(Duration::from_secs(1)),
            result => return result,
        }
    }
}

/// What new programs could have without swapping (`MemAvailable`, and what lies on the free lists of processors), less `memory`.
fn rest(machine: &Machine, memory: Bytes) -> Result<Bytes, SpaceError> {
    let lines = keyed::meminfo(&machine.read_text("/proc/meminfo")?);
    let available = *lines.get("MemAvailable").ok_or_else(|| SpaceError::Refused {
        why: "/proc/meminfo has no line MemAvailable".into(),
        hint: "it came with Linux 3.14".into(),
    })?;
    let available = Bytes(available.0 + on_free_lists(machine).0);
    available.0.checked_sub(memory.0).map(Bytes).ok_or_else(|| SpaceError::Refused {
        why: format!("{available} of memory are available, and {memory} shall be used"),
        hint: "name a smaller --memory, or end some applications first".into(),
    })
}

/// `max_pool_percent` on a machine with `total` of RAM that comes nearest to `percent` of `memory`; not 0, which would be no pool at all.
pub(crate) fn pool_percent(percent: u64, memory: Bytes, total: Bytes) -> u64 {
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

    #[test]
    fn a_group_limits_only_what_it_pays_for() {
        let [none, zswap, zram] = [(false, false), (true, false), (true, true)];
        let chosen = |wish, (zswap, zram), charges_zswap: Option<bool>| {
            let group = || charges_zswap.ok_or(CgroupError::NoController);
            choose(wish, CompressedPools { zswap, zram }, group).map_err(|error| error.hint())
        };
        let (best, group) = (SpaceWish::Best, SpaceWish::Group);
        for (pools, charges, limit) in [
            (none, Some(false), DensityLimit::Group),
            (zswap, Some(true), DensityLimit::Group),
            (zswap, Some(false), DensityLimit::Machine),
            (zram, Some(true), DensityLimit::Machine),
            (none, None, DensityLimit::Machine),
        ] {
            assert_eq!(chosen(best, pools, charges), Ok(limit), "{pools:?} {charges:?}");
            assert_eq!(chosen(group, pools, charges).ok(), Some(limit).filter(|limit| *limit == DensityLimit::Group));
            assert_eq!(chosen(SpaceWish::Machine, pools, charges), Ok(DensityLimit::Machine));
        }
        assert!(chosen(group, zram, Some(true)).unwrap_err().contains("leave --limit away"));
        assert!(chosen(group, none, None).unwrap_err().contains("--limit machine"));
    }
}
