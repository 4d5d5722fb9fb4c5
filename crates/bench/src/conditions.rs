//! Reading the conditions that a number was measured under.

use std::collections::BTreeMap;

use swaptune_core::knobs;
use swaptune_core::measurement::Conditions;
use swaptune_core::parse::choice;
use swaptune_core::{Bytes, Facts};
use swaptune_host::machine::Machine;

/// Knobs that bear on some result: how pages are swapped, and which pages there are.
const PARAMETERS: &[&str] = &[
    "zswap.enabled",
    "zswap.compressor",
    "zswap.zpool",
    "zswap.max_pool_percent",
    "zswap.accept_threshold_percent",
    "zswap.shrinker_enabled",
    "vm.swappiness",
    "vm.page-cluster",
    "transparent_hugepage.enabled",
];

/// Lines of `/proc/meminfo` whose memory goes to swap when room is wanted.
const SWAPPABLE: &[&str] = &["AnonPages", "Shmem"];

/// Memory of whatever is there now that would go out to swap, where it is a tenth of `memory` or more: who makes a machine small by holding
/// the rest of it finds that much more room than that, and less swap.
#[must_use]
pub fn other_swappable(facts: &Facts, memory: Bytes) -> Option<Bytes> {
    let other = Bytes(SWAPPABLE.iter().filter_map(|key| facts.memory.get(key)).map(|size| size.0).sum());
    (other.0 >= memory.0 / 10).then_some(other)
}

/// Watches what changes while something is measured.
#[derive(Clone, Debug)]
pub struct Watch {
    before: Conditions,
    ticks: Ticks,
}

impl Watch {
    /// Starts now.
    #[must_use]
    pub fn start(machine: &Machine, swaptune: &str) -> Self {
        let read = |path: &str| machine.read_text(path).map(|text| text.trim().to_owned()).unwrap_or_default();
        let before = Conditions {
            machine: machine_name(machine),
            kernel: read("/proc/sys/kernel/osrelease"),
            cpu: cpu_model(&read("/proc/cpuinfo")),
            cpus: online(&read("/sys/devices/system/cpu/online")),
            ram: meminfo(&read("/proc/meminfo"), &["MemTotal"]),
            swappable: Some(meminfo(&read("/proc/meminfo"), SWAPPABLE)),
            hypervisor: hypervisor(machine),
            load: read("/proc/loadavg").split(' ').next().and_then(|load| load.parse().ok()).unwrap_or(0.0),
            steal_percent: 0.0,
            parameters: BTreeMap::new(),
            swaptune: swaptune.to_owned(),
        };
        Self { before, ticks: Ticks::read(machine) }
    }

    /// The conditions until now, with the parameters as they are at this moment.
    #[must_use]
    pub fn conditions(&self, machine: &Machine) -> Conditions {
        Conditions {
            steal_percent: self.ticks.steal_percent(Ticks::read(machine)),
            parameters: parameters(machine),
            ..self.before.clone()
        }
    }
}

/// The knobs that bear on some result, as they are at this moment.
#[must_use]
pub fn parameters(machine: &Machine) -> BTreeMap<String, String> {
    let parameter = |name: &&str| {
        let knob = knobs::find(name)?;
        let text = machine.read_text(knob.path).ok()?;
        Some(((*name).to_owned(), choice::value(&text)))
    };
    PARAMETERS.iter().filter_map(parameter).collect()
}

/// A name for this machine that lasts and gives nothing away: a hash of its machine id, or of its board where it has none.
#[must_use]
pub fn machine_name(machine: &Machine) -> String {
    const PLACES: &[&str] =
        &["/etc/machine-id", "/var/lib/dbus/machine-id", "/sys/class/dmi/id/product_uuid", "/proc/sys/kernel/hostname"];
    let id = PLACES.iter().find_map(|path| machine.read_text(path).ok().filter(|id| !id.trim().is_empty()));
    hash(id.unwrap_or_default().trim())
}

/// A name that stands for another and gives nothing of it away.
pub(crate) fn hash(id: &str) -> String {
    // FNV-1a: the same on every machine and in every version, which the standard library's hasher does not promise.
    let hash = b"swaptune "
        .iter()
        .chain(id.as_bytes())
        .fold(0xcbf2_9ce4_8422_2325_u64, |hash, byte| (hash ^ u64::from(*byte)).wrapping_mul(0x0100_0000_01b3));
    format!("{hash:016x}")
}

fn cpu_model(cpuinfo: &str) -> String {
    let value = |line: &str| line.split_once(':').map(|(_, value)| value.trim().to_owned());
    let model = |line: &&str| line.starts_with("model name") || line.starts_with("Model");
    cpuinfo.lines().find(model).and_then(value).unwrap_or_else(|| "unknown".into())
}

/// Counts a list like `0-3,6`.
fn online(list: &str) -> u32 {
    let count = |part: &str| match part.split_once('-') {
        Some((first, last)) => Some(last.parse::<u32>().ok()?.checked_sub(first.parse().ok()?)? + 1),
        None => part.parse::<u32>().ok().map(|_| 1),
    };
    list.split(',').filter_map(count).sum::<u32>().max(1)
}

/// The sum of some lines.
fn meminfo(text: &str, keys: &[&str]) -> Bytes {
    let value = |key: &&str| {
        let rest = text.lines().find_map(|line| line.strip_prefix(*key)?.strip_prefix(':'))?;
        rest.split_whitespace().next()?.parse::<u64>().ok()
    };
    Bytes::from_kib(keys.iter().filter_map(value).sum())
}

fn hypervisor(machine: &Machine) -> Option<String> {
    swaptune_host::inspect::hypervisor(machine).value().cloned()
}

/// Processor time since boot, in clock ticks.
#[derive(Clone, Copy, Debug)]
struct Ticks {
    all: u64,
    stolen: u64,
}

impl Ticks {
    /// The first line of `/proc/stat`: user nice system idle iowait irq softirq steal; guest time is part of user.
    fn read(machine: &Machine) -> Self {
        let text = machine.read_text("/proc/stat").unwrap_or_default();
        let line = text.lines().next().and_then(|line| line.strip_prefix("cpu ")).unwrap_or_default();
        let ticks: Vec<u64> = line.split_whitespace().take(8).filter_map(|tick| tick.parse().ok()).collect();
        Self { all: ticks.iter().sum(), stolen: ticks.get(7).copied().unwrap_or(0) }
    }

    fn steal_percent(self, later: Self) -> f64 {
        let all = later.all.saturating_sub(self.all);
        let percent = 100.0 * later.stolen.saturating_sub(self.stolen) as f64 / all.max(1) as f64;
        (percent * 100.0).round() / 100.0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn processors_online_are_counted() {
        for (list, count) in [("0", 1), ("0-1", 2), ("0-3,6", 5), ("", 1), ("x", 1), ("3-1", 1)] {
            assert_eq!(online(list), count, "{list}");
        }
    }

    #[test]
    fn what_else_goes_to_swap_is_told_from_a_tenth_on() {
        let text = "MemTotal: 4096 kB\nAnonPages:     60 kB\nShmem:  40 kB\nShmemHugePages: 7 kB\n";
        assert_eq!(meminfo(text, SWAPPABLE), Bytes::from_kib(100));
        assert_eq!(meminfo("", &["MemTotal"]), Bytes(0));
        let mut facts = Facts::default();
        let lines = [("AnonPages".to_owned(), Bytes::from_mib(60)), ("Shmem".to_owned(), Bytes::from_mib(40))];
        facts.memory.meminfo = swaptune_core::Fact::known(lines.into(), "/proc/meminfo");
        assert_eq!(other_swappable(&facts, Bytes::from_mib(1000)), Some(Bytes::from_mib(100)));
        assert_eq!(other_swappable(&facts, Bytes::from_mib(1001)), None);
    }

    #[test]
    fn steal_is_a_share_of_the_time_between() {
        let before = Ticks { all: 1000, stolen: 10 };
        assert_eq!(before.steal_percent(Ticks { all: 1200, stolen: 15 }), 2.5);
        assert_eq!(before.steal_percent(before), 0.0);
    }

    #[test]
    fn a_machine_has_one_name_that_is_not_its_id() {
        let root = tempfile::tempdir().unwrap();
        std::fs::create_dir(root.path().join("etc")).unwrap();
        let name = |id: &str| {
            std::fs::write(root.path().join("etc/machine-id"), id).unwrap();
            machine_name(&Machine::at(root.path()))
        };
        let one = name("0123456789abcdef0123456789abcdef\n");
        assert_eq!(one, name("0123456789abcdef0123456789abcdef"));
        assert_ne!(one, name("0123456789abcdef0123456789abcdee"));
        assert!(!"0123456789abcdef0123456789abcdef".contains(&one));
    }

    #[test]
    fn this_machine_has_conditions() {
        let machine = Machine::live();
        let conditions = Watch::start(&machine, "test").conditions(&machine);
        assert!(conditions.ram > Bytes::from_mib(1) && conditions.cpus >= 1 && !conditions.kernel.is_empty());
        assert!(conditions.parameters.contains_key("vm.swappiness"), "{conditions:?}");
        assert!(conditions.swappable.is_some_and(|other| other > Bytes(0) && other < conditions.ram), "{conditions:?}");
    }
}
