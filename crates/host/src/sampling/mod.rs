//! Looks at a machine again and again, cheaply: what `watch` shows, records and serves.
//!
//! A look reads a dozen small files. Processes and control groups are many: each tick reads a fifth of them, and those that were
//! largest at the last look; the tree of groups is walked again every ten ticks. Nothing is written, and no pages are looked at.

pub(crate) mod groups;
mod tasks;

use std::time::{Instant, SystemTime, UNIX_EPOCH};

use swaptune_core::Fact;
use swaptune_core::facts::Facts;
use swaptune_core::metrics::Sample;
use swaptune_core::parse::block_stat;

use crate::daemon_status;
use crate::inspect::Steady;
use crate::machine::Machine;

use groups::SampledGroups;
use tasks::Tasks;

/// A thing that is not among the largest is read at every fifth look.
const TURNS: u64 = 5;
/// Looks from one walk through the tree of control groups to the next.
const WALK: u64 = 10;
/// The largest, which are read at every look.
const LARGEST: usize = 40;
/// Decisions of the daemon that a sample has.
const DECISIONS: usize = 10;

/// What of the groups and processes is read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SampledParts {
    /// Slots of units (`memory.swap.current`).
    pub swap: bool,
    /// Compressed bytes of units (`memory.zswap.current`).
    pub pool: bool,
    /// Refaults of units (`memory.stat`, the longest of the three).
    pub refaults: bool,
    /// Processes.
    pub processes: bool,
}

impl SampledParts {
    /// All of it: for one look, and for programs that ask seldom.
    pub const ALL: Self = Self { swap: true, pool: true, refaults: true, processes: true };
}

/// Samples of one machine.
#[derive(Debug)]
pub struct Sampler<'a> {
    machine: &'a Machine,
    steady: Steady,
    groups: SampledGroups,
    tasks: Tasks,
    began: Instant,
    looks: u64,
}

impl<'a> Sampler<'a> {
    /// Reads what does not change.
    #[must_use]
    pub fn new(machine: &'a Machine) -> Self {
        Self {
            machine,
            steady: Steady::of(machine),
            groups: SampledGroups::default(),
            tasks: Tasks::default(),
            began: Instant::now(),
            looks: 0,
        }
    }

    /// Looks once. Nothing fails: what cannot be read is absent with its reason.
    pub fn look(&mut self, wanted: SampledParts) -> Sample {
        let facts = self.steady.look(self.machine);
        let turn = self.looks;
        self.looks += 1;
        Sample {
            unix_ms: SystemTime::now()
                .duration_since(UNIX_EPOCH)
                .map_or(0, |since| u64::try_from(since.as_millis()).unwrap_or(0)),
            steady_us: u64::try_from(self.began.elapsed().as_micros()).unwrap_or(u64::MAX),
            disks: disks(self.machine, &facts),
            units: self.groups.look(self.machine, wanted, turn),
            processes: if wanted.processes { self.tasks.look(self.machine, turn) } else { Fact::absent("not asked for") },
            daemon: daemon_status::look(self.machine).map(|mut report| {
                report.keep(DECISIONS);
                report
            }),
            facts,
        }
    }
}

fn disks(machine: &Machine, facts: &Facts) -> std::collections::BTreeMap<String, block_stat::BlockStat> {
    let read = |name: &String| {
        Some((name.clone(), block_stat::parse(&machine.read_text(&format!("/sys/class/block/{name}/stat")).ok()?)?))
    };
    facts.swaps.iter().filter_map(|area| read(area.device.value()?)).collect()
}

/// Whether a thing is read at this look: all at the first one, then each in its turn.
fn is_turn(number: u64, look: u64) -> bool {
    look == 0 || number % TURNS == look % TURNS
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::write;
    use swaptune_core::metrics::{SampleLook, find};

    fn machine() -> tempfile::TempDir {
        let dir = tempfile::tempdir().unwrap();
        let root = dir.path();
        write(root, "proc/meminfo", "MemTotal: 1048576 kB\nMemFree: 524288 kB\n");
        write(root, "proc/vmstat", "zswpin 100\nzswpout 200\n");
        write(root, "proc/swaps", "Filename Type Size Used Priority\n/dev/vda3 partition 1048576 1024 10\n");
        write(root, "sys/class/block/vda3/stat", "1 0 8 4 5 1 40 7 0 8 11\n");
        write(root, "dev/vda3", "");
        write(root, "proc/12/status", "Name:\tsmall\nVmSize: 9 kB\nVmSwap:\t 8 kB\n");
        write(root, "proc/7/status", "Name:\tlarge\nVmSize: 9 kB\nVmSwap:\t 80 kB\n");
        write(root, "proc/9/status", "Name:\tkthread\n");
        write(root, "sys/fs/cgroup/cgroup.controllers", "memory\n");
        for (group, swap) in
            [("system.slice/web.service", 4096), ("user.slice/user-1.slice/user@1.service/app.slice/ed.scope", 8192), ("box", 1)]
        {
            write(root, &format!("sys/fs/cgroup/{group}/memory.swap.current"), &format!("{swap}\n"));
            write(
                root,
                &format!("sys/fs/cgroup/{group}/memory.stat"),
                "anon 1\nworkingset_refault_anon 3\nworkingset_refault_file 4\n",
            );
        }
        // What is inside of a unit is its own business.
        write(root, "sys/fs/cgroup/system.slice/web.service/worker/memory.swap.current", "4096\n");
        dir
    }

    #[test]
    fn a_look_reads_areas_units_and_processes() {
        let dir = machine();
        let machine = Machine::at(dir.path());
        let mut sampler = Sampler::new(&machine);
        let first = sampler.look(SampledParts::ALL);
        let units: Vec<_> =
            first.units.value().unwrap().iter().map(|unit| (unit.name.as_str(), unit.swap.unwrap().0, unit.refaults)).collect();
        assert_eq!(units, [("/box", 1, Some(7)), ("ed.scope", 8192, Some(7)), ("web.service", 4096, Some(7))]);
        let names: Vec<_> =
            first.processes.value().unwrap().iter().map(|process| (process.pid, process.name.as_str(), process.swap.0)).collect();
        assert_eq!(names, [(7, "large", 80 << 10), (12, "small", 8 << 10)]);
        assert_eq!(first.disks["vda3"].writes, 5);
        write(dir.path(), "proc/vmstat", "zswpin 150\nzswpout 200\n");
        let second = sampler.look(SampledParts::ALL);
        let look = SampleLook::new(&second, Some(&first));
        let reading = find("zswap_in_bytes").unwrap().readings(&look).remove(0);
        let expect = 50.0 * 4096.0 / look.seconds().unwrap();
        assert!((reading.per_second.unwrap().value().unwrap() - expect).abs() < 1e-6);
    }

    #[test]
    fn a_process_that_ends_and_a_group_that_goes_are_left_out() {
        let dir = machine();
        let machine = Machine::at(dir.path());
        let mut sampler = Sampler::new(&machine);
        sampler.look(SampledParts::ALL);
        std::fs::remove_dir_all(dir.path().join("proc/7")).unwrap();
        std::fs::remove_dir_all(dir.path().join("sys/fs/cgroup/box")).unwrap();
        let mut last = sampler.look(SampledParts::ALL);
        for _ in 0..WALK {
            last = sampler.look(SampledParts::ALL);
        }
        assert_eq!(last.processes.value().unwrap().len(), 1);
        assert_eq!(last.units.value().unwrap().len(), 2);
    }

    #[test]
    fn only_what_is_wanted_is_read() {
        let dir = machine();
        let machine = Machine::at(dir.path());
        let sample = Sampler::new(&machine).look(SampledParts { refaults: false, processes: false, ..SampledParts::ALL });
        assert!(sample.units.value().unwrap().iter().all(|unit| unit.refaults.is_none() && unit.swap.is_some()));
        assert_eq!(sample.processes.source(), "not asked for");
    }

    #[test]
    fn without_version_two_of_control_groups_units_are_absent_with_the_reason() {
        let dir = tempfile::tempdir().unwrap();
        write(dir.path(), "proc/meminfo", "MemTotal: 1 kB\n");
        let sample = Sampler::new(&Machine::at(dir.path())).look(SampledParts::ALL);
        assert!(sample.units.source().contains("cgroup.controllers"), "{:?}", sample.units);
    }
}
