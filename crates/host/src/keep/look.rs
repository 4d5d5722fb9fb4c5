//! What the laws see, read of a machine: a handful of small files a tick, units in turns.

use std::collections::BTreeMap;

use swaptune_core::Bytes;
use swaptune_core::control::ground::mechanism;
use swaptune_core::control::{Ground, Mechanism, Moment, UnitMoment};
use swaptune_core::facts::{Facts, SwapArea};
use swaptune_core::parse::{keyed, pressure, proc_cgroup};

use super::groups::Groups;
use super::processes::{WatchedProcesses, may_page_out};
use super::zram;
use crate::inspect::{InspectScope, inspect};
use crate::machine::Machine;
use crate::sampling::groups::{TREE, VERSION_2, paths};

/// Ticks from one look at what the machine is to the next.
const GROUND: u64 = 30;
/// A unit is read at every tenth tick, and the tree of groups is walked as often.
const TURNS: u64 = 10;
const PARAMETERS: &str = "/sys/module/zswap/parameters";
/// What zswap wrote back, pages: before Linux 6.8 `/proc/vmstat` has no `zswpwb`.
const WRITTEN_BACK: &str = "/sys/kernel/debug/zswap/written_back_pages";
/// Controllers, and whether each is enabled; of version 2 too, but for kernels built without version 1.
const CONTROLLERS: &str = "/proc/cgroups";

/// Looks at one machine again and again.
#[derive(Debug)]
pub(super) struct Looker<'a> {
    machine: &'a Machine,
    page: Bytes,
    ticks: u64,
    ground: Ground,
    units: BTreeMap<String, UnitMoment>,
    own: String,
    processes: WatchedProcesses<'a>,
}

impl<'a> Looker<'a> {
    pub(super) fn new(machine: &'a Machine) -> Self {
        let own = machine.read_text("/proc/self/cgroup").map(|text| proc_cgroup::parse(&text).path).unwrap_or_default();
        let (ground, units) = (Ground::default(), BTreeMap::new());
        Self { machine, page: machine.page_size(), ticks: 0, ground, units, own, processes: WatchedProcesses::new(machine) }
    }

    /// What the machine is; what is switched while it runs is read at each tick.
    pub(super) fn ground(&mut self) -> &Ground {
        if self.ticks % GROUND == 0 {
            self.ground = ground(self.machine);
        }
        self.ground.zswap = self.parameter("enabled") == "Y";
        self.ground.shrinker = self.parameter("shrinker_enabled") == "Y";
        &self.ground
    }

    /// Everything, at each tick.
    pub(super) fn tick(&mut self) -> Moment {
        let mut moment = self.quick();
        moment.io_stall_us = self.stall("io");
        moment.memory_stall_us = self.stall("memory");
        self.read_units(moment.at_ms);
        moment.units = self.units.values().cloned().collect();
        moment.zram = zram::moments(self.machine);
        self.ticks += 1;
        moment
    }

    /// What a burst goes by.
    pub(super) fn within_burst(&self) -> Moment {
        Moment { io_stall_us: self.stall("io"), ..self.quick() }
    }

    fn quick(&self) -> Moment {
        let text = |path: &str| self.machine.read_text(path).unwrap_or_default();
        let vmstat = keyed::counts(&text("/proc/vmstat"));
        let meminfo = keyed::meminfo(&text("/proc/meminfo"));
        let count = |name: &str| vmstat.get(name).copied().unwrap_or(0);
        let size = |name: &str| meminfo.get(name).copied().unwrap_or_default();
        Moment {
            at_ms: uptime_ms(&text("/proc/uptime")),
            ram: size("MemTotal"),
            page: self.page,
            pool: size("Zswap"),
            stored: size("Zswapped"),
            swap: size("SwapTotal"),
            swap_free: size("SwapFree"),
            limit_percent: self.parameter("max_pool_percent").parse().unwrap_or(0),
            accept_percent: self.parameter("accept_threshold_percent").parse().unwrap_or(0),
            writeback: count("nr_writeback"),
            pswpin: count("pswpin"),
            pswpout: count("pswpout"),
            zswpwb: vmstat.get("zswpwb").copied().or_else(|| written_back(self.machine)).unwrap_or(0),
            refault_file: count("workingset_refault_file"),
            ..Moment::default()
        }
    }

    fn parameter(&self, name: &str) -> String {
        self.machine.read_text(&format!("{PARAMETERS}/{name}")).unwrap_or_default().trim().to_owned()
    }

    fn stall(&self, of: &str) -> Option<u64> {
        let text = self.machine.read_text(&format!("/proc/pressure/{of}")).ok()?;
        pressure::parse(&text).map(|pressure| pressure.some_total_us)
    }

    /// Processes, where they are asked in place of groups.
    pub(super) fn processes(&mut self) -> Option<&mut WatchedProcesses<'a>> {
        (mechanism(&self.ground) == Some(Mechanism::Processes)).then_some(&mut self.processes)
    }

    fn read_units(&mut self, at_ms: u64) {
        let turn = self.ticks % TURNS;
        if let Some(processes) = self.processes() {
            if turn == 0 {
                self.units = processes.look(at_ms);
            }
            return;
        }
        if !self.ground.memory_groups {
            self.units.clear();
            return;
        }
        if turn == 0 {
            let mut known = std::mem::take(&mut self.units);
            // Neither our own group nor those that we make for a moment.
            let ours = |path: &String| *path == self.own || path.contains("/swaptune-");
            let found = paths(self.machine).into_iter().filter(|path| !ours(path));
            self.units = found.map(|path| (path.clone(), known.remove(&path).unwrap_or_default())).collect();
        }
        let mut groups = Groups::new(self.machine);
        for ((path, unit), number) in self.units.iter_mut().zip(0..) {
            if number % TURNS == turn || unit.at_ms == 0 {
                *unit = groups.unit(path, at_ms).unwrap_or_default();
            }
        }
        self.units.retain(|_, unit| unit.at_ms > 0);
    }

    /// One unit as it is at this moment; `None` when it is gone.
    pub(super) fn unit(&mut self, path: &str) -> Option<UnitMoment> {
        let at_ms = uptime_ms(&self.machine.read_text("/proc/uptime").unwrap_or_default());
        match self.processes() {
            Some(processes) => processes.unit(path, at_ms),
            None => Groups::new(self.machine).unit(path, at_ms),
        }
    }
}

/// Pages that zswap wrote back, of debugfs.
fn written_back(machine: &Machine) -> Option<u64> {
    machine.read_text(WRITTEN_BACK).ok()?.trim().parse().ok()
}

fn ground(machine: &Machine) -> Ground {
    let facts = inspect(machine, InspectScope { signatures: false, log: false, ..InspectScope::STATUS });
    let areas: Vec<_> = facts.swaps.iter().filter(|area| !area.is_zram()).collect();
    let spins = |area: &SwapArea| facts.spins_below(area.device.value()?);
    let unknown_disks = areas.iter().filter(|area| spins(area).is_none()).map(|area| area.path.clone()).collect();
    // The root group has none of these files, so that some other one must show them.
    let groups = paths(machine);
    let has = |file: &str| groups.iter().any(|path| machine.exists(&format!("{TREE}{path}/{file}")));
    let memory_groups = machine.read_text(VERSION_2).is_ok_and(|text| text.split_whitespace().any(|word| word == "memory"));
    Ground {
        kernel: facts.kernel.version.value().copied(),
        zswap: facts.zswap_is_on(),
        shrinker: false,
        areas: facts.swaps.len(),
        rotational: spinning(&facts, &areas),
        unknown_disks,
        counts_written: counts_written(machine),
        only_zram: !facts.swaps.is_empty() && areas.is_empty(),
        zram_is_next: zram_is_next(&facts.swaps),
        memory_groups,
        memory_controller: memory_groups || has_controller(machine),
        writeback_switch: has("memory.zswap.writeback") || machine.exists(&format!("{TREE}/memory.zswap.writeback")),
        zram: zram::ground(machine, &facts),
        reclaim_file: has("memory.reclaim") || machine.exists(&format!("{TREE}/memory.reclaim")),
        page_out: may_page_out(machine),
    }
}

/// The disks below areas that spin: one of several is enough, as in a mirror of a solid-state disk and a hard disk.
fn spinning(facts: &Facts, areas: &[&SwapArea]) -> Vec<String> {
    let devices = areas.iter().filter_map(|area| area.device.value());
    let mut disks: Vec<String> = devices.flat_map(|device| facts.disks_below(device)).collect();
    disks.retain(|disk| facts.spins_below(disk) == Some(true));
    disks.sort_unstable();
    disks.dedup();
    disks
}

/// Whether pages that go out next go to zram: the areas of the highest priority that have room are zram devices, with a tenth of them free.
/// With less, what idle units give within the time between two looks could reach the disk.
fn zram_is_next(areas: &[SwapArea]) -> bool {
    let has_room = |area: &&SwapArea| area.used < area.size;
    let Some(first) = areas.iter().filter(has_room).map(|area| area.priority).max() else { return false };
    let next: Vec<&SwapArea> = areas.iter().filter(has_room).filter(|area| area.priority == first).collect();
    let sum = |of: fn(&SwapArea) -> u64| next.iter().map(|area| of(area)).sum::<u64>();
    next.iter().all(|area| area.is_zram()) && sum(|area| area.size.0 - area.used.0) >= sum(|area| area.size.0) / 10
}

/// Whether the kernel says anywhere how much zswap wrote back.
fn counts_written(machine: &Machine) -> bool {
    let vmstat = machine.read_text("/proc/vmstat").unwrap_or_default();
    vmstat.lines().any(|line| line.starts_with("zswpwb ")) || written_back(machine).is_some()
}

/// Whether `/proc/cgroups` has the memory controller as enabled, which it says of version 1.
fn has_controller(machine: &Machine) -> bool {
    let text = machine.read_text(CONTROLLERS).unwrap_or_default();
    text.lines().any(|line| line.starts_with("memory\t") && line.ends_with("\t1"))
}

/// Milliseconds since boot, of `/proc/uptime`.
pub(super) fn uptime_ms(text: &str) -> u64 {
    let seconds: f64 = text.split_whitespace().next().and_then(|word| word.parse().ok()).unwrap_or(0.0);
    // A machine runs for some hundred million years before this saturates.
    (seconds * 1000.0).round() as u64
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::write;
    use swaptune_core::Fact;

    #[test]
    fn zram_is_next_while_it_is_first_and_has_room() {
        let area = |path: &str, priority, used| SwapArea {
            path: path.into(),
            kind: swaptune_core::facts::SwapKind::Partition,
            size: Bytes(100),
            used: Bytes(used),
            priority,
            device: Fact::default(),
            uuid: Fact::default(),
            encryption: Fact::default(),
            filesystem: Fact::default(),
        };
        let (zram, disk) =
            (|priority, used| area("/dev/zram0", priority, used), |priority, used| area("/dev/sda2", priority, used));
        for (areas, wanted) in [
            (vec![], false),
            (vec![zram(100, 0), disk(10, 0)], true),
            (vec![zram(100, 90), disk(10, 0)], true),
            (vec![zram(100, 91), disk(10, 0)], false),
            (vec![zram(100, 100), disk(10, 0)], false),
            (vec![disk(100, 100), zram(10, 0)], true),
            (vec![disk(100, 0), zram(10, 0)], false),
            (vec![disk(10, 0), zram(10, 0)], false),
        ] {
            assert_eq!(zram_is_next(&areas), wanted, "{areas:?}");
        }
    }

    #[test]
    fn one_disk_that_spins_makes_a_mirror_that_spins() {
        let dir = tempfile::tempdir().unwrap();
        let root = dir.path();
        write(root, "proc/swaps", "Filename Type Size Used Priority\n/dev/md0 partition 1000 0 10\n");
        for (name, rotational) in [("nvme0n1", "0"), ("sdb", "1"), ("md0", "1")] {
            write(root, &format!("sys/block/{name}/size"), "80000\n");
            write(root, &format!("sys/block/{name}/queue/rotational"), &format!("{rotational}\n"));
        }
        for disk in ["nvme0n1", "sdb"] {
            write(root, &format!("sys/block/md0/slaves/{disk}/size"), "80000\n");
        }
        write(root, "dev/md0", "");
        let ground = super::ground(&Machine::at(root));
        assert_eq!((ground.rotational, ground.unknown_disks), (vec!["sdb".to_owned()], vec![]));
    }

    #[test]
    fn a_moment_is_read_of_files() {
        let dir = tempfile::tempdir().unwrap();
        let root = dir.path();
        write(root, "proc/uptime", "12.34 1.00\n");
        write(root, "proc/meminfo", "MemTotal: 1024 kB\nMemAvailable: 512 kB\nZswap: 8 kB\nZswapped: 20 kB\n");
        write(root, "proc/vmstat", "pswpin 3\npswpout 9\nzswpwb 4\n");
        write(root, "proc/pressure/memory", "some avg10=0.00 avg60=0.00 total=70\nfull avg10=0.00 avg60=0.00 total=5\n");
        write(root, "sys/module/zswap/parameters/enabled", "Y\n");
        write(root, "sys/module/zswap/parameters/max_pool_percent", "43\n");
        write(root, "sys/fs/cgroup/cgroup.controllers", "cpu memory\n");
        write(root, "proc/cgroups", "#subsys_name\thierarchy\tnum_cgroups\tenabled\nmemory\t0\t9\t0\n");
        let group = "sys/fs/cgroup/system.slice/web.service";
        write(root, &format!("{group}/memory.current"), "8192\n");
        write(root, &format!("{group}/memory.min"), "4096\n");
        write(root, &format!("{group}/memory.low"), "max\n");
        write(root, &format!("{group}/memory.stat"), "anon 100\nworkingset_refault_anon 2\n");
        write(root, &format!("{group}/cpu.stat"), "usage_usec 77\n");
        write(root, &format!("{group}/memory.reclaim"), "");
        write(root, "sys/fs/cgroup/swaptune-canary-1/memory.current", "1\n");
        let machine = Machine::at(root);
        let mut looker = Looker::new(&machine);
        let ground = looker.ground().clone();
        assert!(ground.zswap && ground.memory_groups && ground.reclaim_file && !ground.writeback_switch);
        assert!(ground.memory_controller, "version 2 has it");
        write(root, "sys/fs/cgroup/cgroup.controllers", "cpu\n");
        let controller = |enabled: &str| {
            write(root, "proc/cgroups", &format!("#subsys_name\thierarchy\tnum_cgroups\tenabled\nmemory\t4\t53\t{enabled}\n"));
            super::ground(&machine).memory_controller
        };
        assert_eq!([controller("0"), controller("1")], [false, true]);
        let moment = looker.tick();
        assert_eq!((moment.at_ms, moment.pool, moment.limit_percent), (12_340, Bytes(8192), 43));
        assert_eq!((moment.memory_stall_us, moment.io_stall_us), (Some(70), None));
        let [unit] = &moment.units[..] else { panic!("{:?}", moment.units) };
        assert_eq!((unit.memory, unit.protected, unit.cpu_us, unit.refaults), (Bytes(8192), Bytes(u64::MAX), 77, 2));
        std::fs::remove_dir_all(root.join(group)).unwrap();
        for _ in 0..TURNS {
            looker.tick();
        }
        assert_eq!(looker.tick().units, []);
    }
}
