//! Which laws a machine allows, and why the others are off.

use serde::{Deserialize, Serialize};
use swaptune_kernel::{KernelVersion, behaviours};

use super::pacing::WorkerKind;
use super::zram::DeviceGround;

/// What a machine is, as far as the laws depend on it. It changes seldom, and is looked at every few seconds.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Ground {
    /// The kernel's version, when known.
    pub kernel: Option<KernelVersion>,
    /// zswap is there and on.
    pub zswap: bool,
    /// zswap's shrinker is on.
    pub shrinker: bool,
    /// Names of swap areas that are on.
    pub areas: usize,
    /// Disks below swap areas that spin, by name.
    pub rotational: Vec<String>,
    /// Swap areas that are no zram device and of whose disk nothing says whether it spins, by path.
    pub unknown_disks: Vec<String>,
    /// The kernel says how much zswap wrote back: in `/proc/vmstat` (Linux 6.8), or in debugfs where that is mounted and may be read.
    pub counts_written: bool,
    /// All areas are zram devices.
    pub only_zram: bool,
    /// Pages that go out next go to zram: it has the highest priority, and room.
    pub zram_is_next: bool,
    /// Control groups are version 2 and have the memory controller.
    pub memory_groups: bool,
    /// The memory controller is compiled in and not disabled, of whichever version.
    pub memory_controller: bool,
    /// Groups can be kept from the disk (`memory.zswap.writeback`).
    pub writeback_switch: bool,
    /// `memory.reclaim` is there.
    pub reclaim_file: bool,
    /// Pages of other processes can be paged out: the kernel has process_madvise(2), and we may use it.
    pub page_out: bool,
    /// zram devices that are swap.
    pub zram: Vec<DeviceGround>,
}

/// How memory is taken from what is idle.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Mechanism {
    /// Groups of version 2 are asked for it: `memory.reclaim`.
    Groups,
    /// Pages of processes are paged out: process_madvise(2), `MADV_PAGEOUT`.
    Processes,
}

impl Mechanism {
    /// In words.
    #[must_use]
    pub fn about(self) -> &'static str {
        match self {
            Self::Groups => "groups, by memory.reclaim",
            Self::Processes => "processes, by process_madvise",
        }
    }
}

/// How memory is taken on this machine; `None` where it cannot be. Groups say what an administrator protects, so that they come first.
#[must_use]
pub fn mechanism(ground: &Ground) -> Option<Mechanism> {
    match ground.memory_groups {
        true => ground.reclaim_file.then_some(Mechanism::Groups),
        false => ground.page_out.then_some(Mechanism::Processes),
    }
}

/// The laws by their names in `[keep]`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct WantedLaws {
    /// The limit moves.
    pub limit: bool,
    /// The pool is drained.
    pub pacing: bool,
    /// Idle units are reclaimed.
    pub reclaim: bool,
    /// zram devices give up what is idle.
    #[serde(default)]
    pub zram: bool,
}

impl Default for WantedLaws {
    /// The limit does not move unless it is asked for: no real kernel has shown yet that it gains (docs/evidence/keep.md).
    fn default() -> Self {
        Self { limit: false, pacing: true, reclaim: true, zram: true }
    }
}

const CONFIGURED: &str = "switched off under [keep]";
const NO_ZSWAP: &str = "zswap is off";
const NO_AREA: &str = "no swap area is on";
const NOTHING_COMPRESSES: &str = "zswap is off, and no zram device that has room (a tenth of it) is the first swap area: what is reclaimed would go to the disk";
const NO_PAGE_OUT: &str = "no control groups of version 2 with the memory controller, and processes cannot be asked instead: that takes \
                           process_madvise, CAP_SYS_NICE, CAP_SYS_PTRACE and CAP_DAC_READ_SEARCH, which the service has not by itself (docs/guides/keep.md)";

/// Why the limit does not move on this machine.
#[must_use]
pub fn limit_is_off(wanted: WantedLaws, ground: &Ground) -> Option<String> {
    first([(!wanted.limit, CONFIGURED), (!ground.zswap, NO_ZSWAP), (ground.areas == 0, NO_AREA)])
}

/// Why the pool is not drained on this machine.
#[must_use]
pub fn pacing_is_off(wanted: WantedLaws, ground: &Ground) -> Option<String> {
    let rules = [
        (!wanted.pacing, CONFIGURED),
        (!ground.zswap, NO_ZSWAP),
        (ground.areas == 0, NO_AREA),
        (ground.only_zram, "swap is on zram: write-back would only move pages"),
    ];
    if let Some(why) = first(rules) {
        return Some(why);
    }
    if ground.shrinker {
        return Some("zswap's shrinker is on and writes back by itself; `swaptune plan` says why auto leaves it off".into());
    }
    if !ground.rotational.is_empty() {
        return Some(format!("{} spins: write-back seeks between the reads of others", ground.rotational.join(", ")));
    }
    if ground.kernel.is_some_and(|kernel| !behaviours::ZSMALLOC_WRITES_BACK.is_in(kernel)) {
        return Some("before Linux 6.2 zsmalloc cannot write back, and pools of such kernels are not drained".into());
    }
    if !ground.unknown_disks.is_empty() {
        return Some(format!("whether the disk of {} spins is not known", ground.unknown_disks.join(", ")));
    }
    if !ground.counts_written {
        return Some("before Linux 6.8 only debugfs counts what zswap writes back, and it cannot be read".into());
    }
    let needs_controller = ground.kernel.is_some_and(|kernel| behaviours::WRITEBACK_NEEDS_MEMCG.is_in(kernel));
    first([(
        needs_controller && !ground.memory_controller,
        "memory cgroups are disabled, without which Linux 6.8 to 7.1 writes nothing back from the pool",
    )])
}

/// How this machine answers a store that it refuses. Groups of version 1 have no `memory.zswap.writeback`.
#[must_use]
pub fn worker(ground: &Ground) -> WorkerKind {
    let does = |row: &behaviours::Behaviour| ground.kernel.is_none_or(|kernel| row.is_in(kernel));
    let keeps_canaries = ground.memory_groups && ground.writeback_switch && does(&behaviours::WRITEBACK_SWITCH);
    match (keeps_canaries, does(&behaviours::WORKER_TO_THRESHOLD)) {
        (true, _) => WorkerKind::Kept,
        (false, true) => WorkerKind::ToThreshold,
        (false, false) => WorkerKind::OnePage,
    }
}

/// Why idle units are not reclaimed on this machine.
#[must_use]
pub fn reclaim_is_off(wanted: WantedLaws, ground: &Ground) -> Option<String> {
    first([
        (!wanted.reclaim, CONFIGURED),
        (ground.areas == 0, NO_AREA),
        (!ground.zswap && !ground.zram_is_next, NOTHING_COMPRESSES),
        (!ground.memory_groups && !ground.page_out, NO_PAGE_OUT),
        (ground.memory_groups && !ground.reclaim_file, "no group has memory.reclaim (Linux 5.19)"),
    ])
}

/// Why zram devices are left alone on this machine.
#[must_use]
pub fn zram_is_off(wanted: WantedLaws, ground: &Ground) -> Option<String> {
    if let Some(why) = first([(!wanted.zram, CONFIGURED), (ground.zram.is_empty(), "no zram device is swap")]) {
        return Some(why);
    }
    let reasons: Option<Vec<String>> = ground
        .zram
        .iter()
        .map(|device| match (&device.backing, &device.secondary) {
            (Err(why), Err(too)) => Some(format!("{}: {why}; {too}", device.name)),
            _ => None,
        })
        .collect();
    reasons.map(|reasons| reasons.join("; "))
}

fn first<const N: usize>(rules: [(bool, &str); N]) -> Option<String> {
    rules.into_iter().find(|(holds, _)| *holds).map(|(_, why)| why.to_owned())
}

#[cfg(test)]
pub(super) mod tests {
    use super::*;
    use swaptune_kernel::v;

    /// A kernel and a machine where every law works.
    pub fn good() -> Ground {
        Ground {
            kernel: Some(v(6, 12)),
            zswap: true,
            areas: 1,
            counts_written: true,
            memory_groups: true,
            memory_controller: true,
            writeback_switch: true,
            reclaim_file: true,
            ..Ground::default()
        }
    }

    #[test]
    fn each_reason_switches_off_what_it_must() {
        let off = |ground: Ground| {
            let wanted = WantedLaws { limit: true, ..WantedLaws::default() };
            [limit_is_off(wanted, &ground), pacing_is_off(wanted, &ground), reclaim_is_off(wanted, &ground)]
                .map(|why| why.is_some())
        };
        assert_eq!(off(good()), [false; 3]);
        assert_eq!(off(Ground { zswap: false, ..good() }), [true; 3]);
        assert_eq!(off(Ground { zswap: false, only_zram: true, zram_is_next: true, ..good() }), [true, true, false]);
        assert_eq!(off(Ground { zswap: false, zram_is_next: true, ..good() }), [true, true, false], "with disks behind it");
        assert_eq!(off(Ground { areas: 0, ..good() }), [true; 3]);
        assert_eq!(off(Ground { shrinker: true, ..good() }), [false, true, false]);
        assert_eq!(off(Ground { rotational: vec!["sda".into()], ..good() }), [false, true, false]);
        assert_eq!(off(Ground { unknown_disks: vec!["/home/swapfile".into()], ..good() }), [false, true, false]);
        assert_eq!(off(Ground { kernel: Some(v(6, 6)), counts_written: false, ..good() }), [false, true, false]);
        assert_eq!(off(Ground { kernel: Some(v(6, 1)), ..good() }), [false, true, false]);
        // Canaries that are written need no group.
        assert_eq!(off(Ground { memory_groups: false, ..good() }), [false, false, true]);
        assert_eq!(off(Ground { memory_groups: false, page_out: true, ..good() }), [false; 3]);
        // Where memory cgroups are disabled some kernels write nothing back.
        let disabled = |kernel| off(Ground { kernel, memory_groups: false, memory_controller: false, ..good() });
        assert_eq!([Some(v(6, 8)), Some(v(7, 1))].map(disabled), [[false, true, true]; 2]);
        assert_eq!([Some(v(6, 7)), Some(v(7, 2)), None].map(disabled), [[false, false, true]; 3]);
        assert_eq!(off(Ground { reclaim_file: false, ..good() }), [false, false, true]);
        let none = WantedLaws { limit: false, pacing: false, reclaim: false, zram: false };
        assert_eq!(limit_is_off(none, &good()).as_deref(), Some(CONFIGURED));
    }

    #[test]
    fn the_worker_is_that_of_the_kernel() {
        let of = |kernel| worker(&Ground { kernel, ..good() });
        assert_eq!([v(6, 2), v(6, 4)].map(|kernel| of(Some(kernel))), [WorkerKind::OnePage; 2]);
        assert_eq!([v(6, 5), v(6, 7)].map(|kernel| of(Some(kernel))), [WorkerKind::ToThreshold; 2]);
        assert_eq!([Some(v(6, 8)), None].map(of), [WorkerKind::Kept; 2]);
        assert_eq!(worker(&Ground { memory_groups: false, ..good() }), WorkerKind::ToThreshold, "groups of version 1");
        assert_eq!(worker(&Ground { writeback_switch: false, ..good() }), WorkerKind::ToThreshold);
    }

    #[test]
    fn processes_are_asked_only_where_groups_cannot_be() {
        let by = |memory_groups, reclaim_file, page_out| {
            mechanism(&Ground { memory_groups, reclaim_file, page_out, ..Ground::default() })
        };
        assert_eq!((by(true, true, true), by(true, true, false)), (Some(Mechanism::Groups), Some(Mechanism::Groups)));
        // What memory.low protects there would not be heeded.
        assert_eq!((by(true, false, true), by(false, false, true)), (None, Some(Mechanism::Processes)));
        assert_eq!(by(false, false, false), None);
    }
}
