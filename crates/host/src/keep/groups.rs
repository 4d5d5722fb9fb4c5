//! Control groups of version 2 as the laws see them: what a unit uses, and what groups above it leave of that.
//!
//! `memory.reclaim` heeds no protection above the group that is asked (mm/memcontrol.c, `mem_cgroup_calculate_protection` ends at the group that reclaim
//! began with), so that a slice with `MemoryLow=` would lose what it is given unit by unit. And a slice that may not swap, or not into zswap,
//! says so in its own file alone.

use std::collections::BTreeMap;
use std::os::unix::fs::MetadataExt;

use swaptune_core::Bytes;
use swaptune_core::control::UnitMoment;
use swaptune_core::parse::keyed;

use crate::machine::Machine;
use crate::sampling::groups::TREE;

/// Groups at one moment: each group above units is read once.
pub(super) struct Groups<'a> {
    machine: &'a Machine,
    above: BTreeMap<String, Above>,
}

/// What the groups above a unit say.
#[derive(Clone, Copy, Debug)]
struct Above {
    /// What may leave them before they are as small as they are protected; all of it where none is.
    spare: Bytes,
    /// None of them forbids swap.
    may_swap: bool,
}

impl Above {
    const NOTHING: Self = Self { spare: Bytes(u64::MAX), may_swap: true };
}

/// The files of one group.
struct GroupFiles<'a> {
    machine: &'a Machine,
    folder: String,
}

impl<'a> Groups<'a> {
    pub(super) const fn new(machine: &'a Machine) -> Self {
        Self { machine, above: BTreeMap::new() }
    }

    /// One unit as it is now; `None` when it is gone.
    pub(super) fn unit(&mut self, path: &str, at_ms: u64) -> Option<UnitMoment> {
        let above = self.above(path);
        let files = self.files(path);
        let id = std::fs::metadata(self.machine.resolve(&files.folder).ok()?).ok()?.ino();
        let stat = files.counts("memory.stat");
        let count = |name: &str| stat.get(name).copied().unwrap_or(0);
        let current = files.current()?;
        let pooled = files.size("memory.zswap.current");
        let memory = Bytes(current.0.saturating_sub(pooled.0));
        Some(UnitMoment {
            path: path.to_owned(),
            id,
            at_ms: at_ms.max(1),
            cpu_us: files.counts("cpu.stat").get("usage_usec").copied().unwrap_or(0),
            memory,
            pooled,
            swapped: files.text("memory.swap.current").map(|text| size(&text)),
            protected: files.protected().max(Bytes(memory.0.saturating_sub(above.spare.0))),
            refaults: count("workingset_refault_anon") + count("workingset_refault_file"),
            anon: Bytes(count("anon")),
            may_swap: files.may_swap() && above.may_swap,
        })
    }

    fn files(&self, path: &str) -> GroupFiles<'a> {
        GroupFiles { machine: self.machine, folder: format!("{TREE}{path}") }
    }

    /// What all groups above this one say; the root has no such files.
    fn above(&mut self, path: &str) -> Above {
        let Some((parent, _)) = path.rsplit_once('/').filter(|(parent, _)| !parent.is_empty()) else { return Above::NOTHING };
        if let Some(known) = self.above.get(parent) {
            return *known;
        }
        let (over, files) = (self.above(parent), self.files(parent));
        let spare = match files.protected() {
            Bytes(0) => Bytes(u64::MAX),
            protected => Bytes(files.current().unwrap_or_default().0.saturating_sub(protected.0)),
        };
        let here = Above { spare: over.spare.min(spare), may_swap: over.may_swap && files.may_swap() };
        self.above.insert(parent.to_owned(), here);
        here
    }
}

impl GroupFiles<'_> {
    fn text(&self, file: &str) -> Option<String> {
        self.machine.read_text(&format!("{}/{file}", self.folder)).ok()
    }

    fn size(&self, file: &str) -> Bytes {
        self.text(file).map_or(Bytes(0), |text| size(&text))
    }

    fn counts(&self, file: &str) -> BTreeMap<String, u64> {
        self.text(file).map(|text| keyed::counts(&text)).unwrap_or_default()
    }

    fn current(&self) -> Option<Bytes> {
        self.text("memory.current")?.trim().parse().ok().map(Bytes)
    }

    fn protected(&self) -> Bytes {
        self.size("memory.min").max(self.size("memory.low"))
    }

    fn may_swap(&self) -> bool {
        let is_open = |file: &str| self.text(file).is_none_or(|text| text.trim() != "0");
        is_open("memory.swap.max") && is_open("memory.zswap.max")
    }
}

/// A size, or `max`.
fn size(text: &str) -> Bytes {
    Bytes(text.trim().parse().unwrap_or(u64::MAX))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::write;

    #[test]
    fn what_is_said_above_a_unit_counts() {
        let dir = tempfile::tempdir().unwrap();
        let (root, machine) = (dir.path(), Machine::at(dir.path()));
        let set = |group: &str, file: &str, value: u64| {
            write(root, &format!("sys/fs/cgroup/{group}/{file}"), &format!("{value}\n"));
        };
        let (slice, user, unit) = ("user.slice", "user.slice/user-7.slice", "user.slice/user-7.slice/app.scope");
        set(slice, "memory.current", 900);
        set(user, "memory.current", 500);
        set(unit, "memory.current", 300);
        let see = || Groups::new(&machine).unit(&format!("/{unit}"), 1).unwrap();
        assert_eq!((see().memory, see().protected, see().may_swap), (Bytes(300), Bytes(0), true));
        // Of 500 bytes 450 are protected: 50 may go, so that 250 of the unit's stay.
        set(user, "memory.low", 450);
        assert_eq!(see().protected, Bytes(250));
        set(slice, "memory.min", 890);
        assert_eq!(see().protected, Bytes(290));
        set(unit, "memory.min", 295);
        assert_eq!(see().protected, Bytes(295));
        set(slice, "memory.zswap.max", 0);
        assert!(!see().may_swap);
        set(slice, "memory.zswap.max", 1);
        set(user, "memory.swap.max", 0);
        assert!(!see().may_swap);
    }
}
