//! Control groups of version 2: one row a unit of systemd, and one for each group at the end of a branch without units.

use std::collections::BTreeMap;
use std::time::Instant;

use swaptune_core::escape::visible;
use swaptune_core::metrics::UnitUse;
use swaptune_core::parse::keyed;
use swaptune_core::parse::proc_cgroup;
use swaptune_core::{Bytes, Fact};

use super::{LARGEST, SampledParts, WALK, is_turn};
use crate::machine::Machine;

/// Where the tree is mounted; version 1 has no such file there.
pub(crate) const TREE: &str = "/sys/fs/cgroup";
pub(crate) const VERSION_2: &str = "/sys/fs/cgroup/cgroup.controllers";
/// A tree that is deeper is not walked to its end.
pub(crate) const DEPTH: usize = 12;
/// How many groups are found, and how long their paths are in all: what a daemon with little memory can keep.
const ALL: Room = Room { groups: 10_000, bytes: 1 << 20 };
/// The same below the manager of one user, who makes as many groups there as he likes: he leaves room for those of others.
const OF_A_USER: Room = Room { groups: 1000, bytes: 128 << 10 };

/// What may still be found.
#[derive(Clone, Copy)]
struct Room {
    groups: usize,
    bytes: usize,
}

impl Room {
    /// As much of this as there is.
    fn within(self, other: Self) -> Self {
        Self { groups: self.groups.min(other.groups), bytes: self.bytes.min(other.bytes) }
    }

    /// Takes a group, where there is room for it.
    fn take(&mut self, path: &str) -> bool {
        let left = self.groups.checked_sub(1).zip(self.bytes.checked_sub(path.len()));
        let Some((groups, bytes)) = left else { return false };
        *self = Self { groups, bytes };
        true
    }
}

/// The groups that were found, by path, with what was read of them last.
#[derive(Debug, Default)]
pub(super) struct SampledGroups {
    found: BTreeMap<String, FoundGroup>,
    largest: Vec<String>,
}

/// What was read of a group last.
#[derive(Debug, Default)]
struct FoundGroup {
    unit: UnitUse,
    /// When refaults were read.
    counted: Option<Instant>,
}

impl SampledGroups {
    pub fn look(&mut self, machine: &Machine, wanted: SampledParts, turn: u64) -> Fact<Vec<UnitUse>> {
        if !(wanted.swap || wanted.pool || wanted.refaults) {
            return Fact::absent("not asked for");
        }
        if let Err(error) = machine.read_text(VERSION_2) {
            return error.absent();
        }
        if turn % WALK == 0 {
            self.walk(machine);
        }
        for ((path, group), number) in self.found.iter_mut().zip(0..) {
            if is_turn(number, turn) || self.largest.contains(path) {
                group.read(machine, path, wanted);
            }
        }
        self.largest = largest(&self.found);
        let has_memory = |unit: &&UnitUse| unit.swap.is_some() || unit.pool.is_some() || unit.refaults.is_some();
        let mut units: Vec<UnitUse> = self.found.values().map(|group| &group.unit).filter(has_memory).cloned().collect();
        units.sort_unstable_by(|a, b| a.name.cmp(&b.name));
        // Two users may have a unit of the same name: their rows are one, as their names are.
        units.dedup_by(|next, kept| next.name == kept.name && merge(kept, next));
        Fact::known(units, TREE)
    }

    /// Finds the groups anew; what is known of those that stay is kept.
    fn walk(&mut self, machine: &Machine) {
        let paths = paths(machine);
        let mut known = std::mem::take(&mut self.found);
        for path in paths {
            let group = known
                .remove(&path)
                .unwrap_or_else(|| FoundGroup { unit: UnitUse { name: name(&path), ..UnitUse::default() }, counted: None });
            self.found.insert(path, group);
        }
    }
}

/// Units, and groups at the ends of branches without units, as paths below the mount point.
pub(crate) fn paths(machine: &Machine) -> Vec<String> {
    let mut paths = Vec::new();
    branch(machine, "", 0, &mut { ALL }, &mut paths);
    paths
}

/// A unit is a row, and what is inside of it is its own; a slice, a manager and a plain group with others in it are ways to rows.
fn branch(machine: &Machine, path: &str, depth: usize, room: &mut Room, paths: &mut Vec<String>) {
    let unit = unit_of(path).filter(|unit| path.ends_with(unit));
    let is_manager = unit.as_ref().is_some_and(|unit| unit.starts_with("user@"));
    if depth > DEPTH || room.groups == 0 {
        return;
    }
    let inner = if unit.is_some() && !is_manager { Vec::new() } else { machine.folders(&format!("{TREE}{path}")) };
    if inner.is_empty() && !path.is_empty() && room.take(path) {
        paths.push(path.to_owned());
    }
    let mut own = if is_manager { OF_A_USER.within(*room) } else { *room };
    let before = own;
    inner.iter().for_each(|name| branch(machine, &format!("{path}/{name}"), depth + 1, &mut own, paths));
    room.groups -= before.groups - own.groups;
    room.bytes -= before.bytes - own.bytes;
}

fn unit_of(path: &str) -> Option<String> {
    proc_cgroup::parse(&format!("0::{path}")).unit().map(str::to_owned)
}

fn name(path: &str) -> String {
    visible(&unit_of(path).filter(|unit| path.ends_with(unit)).unwrap_or_else(|| path.to_owned()))
}

impl FoundGroup {
    fn read(&mut self, machine: &Machine, path: &str, wanted: SampledParts) {
        let text = |file: &str| machine.read_text(&format!("{TREE}{path}/{file}")).ok();
        let number = |file: &str| text(file).and_then(|text| text.trim().parse().ok()).map(Bytes);
        if wanted.swap {
            self.unit.swap = number("memory.swap.current");
        }
        // What is not asked for any more would be told as if it were of now.
        self.unit.pool = wanted.pool.then(|| number("memory.zswap.current")).flatten();
        if wanted.refaults {
            self.count(text("memory.stat").map(|text| {
                let counts = keyed::counts(&text);
                let of = |kind: &str| counts.get(&format!("workingset_refault_{kind}")).copied().unwrap_or(0);
                of("anon") + of("file")
            }));
        } else {
            (self.unit.refaults, self.unit.refaults_per_second) = (None, None);
        }
    }

    /// Notes refaults, and how fast they have become more. A group of the same path may be another one by now, and count from 0.
    fn count(&mut self, refaults: Option<u64>) {
        let now = Instant::now();
        let more = refaults.zip(self.unit.refaults).and_then(|(now, before)| now.checked_sub(before));
        let seconds = self.counted.map(|counted| (now - counted).as_secs_f64());
        self.unit.refaults_per_second =
            more.zip(seconds).map(|(more, seconds)| more as f64 / seconds).filter(|rate| rate.is_finite());
        self.unit.refaults = refaults;
        self.counted = Some(now);
    }
}

fn merge(kept: &mut UnitUse, next: &UnitUse) -> bool {
    let sum = |a: Option<u64>, b: Option<u64>| a.into_iter().chain(b).reduce(u64::saturating_add);
    let bytes = |a: Option<Bytes>, b: Option<Bytes>| sum(a.map(|a| a.0), b.map(|b| b.0)).map(Bytes);
    kept.swap = bytes(kept.swap, next.swap);
    kept.pool = bytes(kept.pool, next.pool);
    kept.refaults = sum(kept.refaults, next.refaults);
    let rates = kept.refaults_per_second.into_iter().chain(next.refaults_per_second);
    kept.refaults_per_second = rates.reduce(|a, b| a + b);
    true
}

fn largest(found: &BTreeMap<String, FoundGroup>) -> Vec<String> {
    let mut by_size: Vec<(u64, &String)> = found
        .iter()
        .map(|(path, FoundGroup { unit, .. })| (unit.swap.or(unit.pool).map_or(0, |bytes| bytes.0), path))
        .filter(|(size, _)| *size > 0)
        .collect();
    by_size.sort_unstable_by(|a, b| b.cmp(a));
    by_size.into_iter().take(LARGEST).map(|(_, path)| path.clone()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_group_that_is_read_seldom_has_the_refaults_of_the_time_between() {
        let (dir, mut groups) = (tempfile::tempdir().unwrap(), SampledGroups::default());
        let stat = |name: &str, pages: u64| {
            let path = format!("sys/fs/cgroup/{name}/memory.stat");
            crate::testing::write(dir.path(), &path, &format!("workingset_refault_anon {pages}\nworkingset_refault_file 0\n"));
        };
        crate::testing::write(dir.path(), "sys/fs/cgroup/cgroup.controllers", "memory\n");
        (0..6).for_each(|number| stat(&format!("{number}.service"), 0));
        let machine = Machine::at(dir.path());
        let mut look = |turn| groups.look(&machine, SampledParts::ALL, turn).value().unwrap().clone();
        let speed = |units: &[UnitUse]| units.iter().map(|unit| unit.refaults_per_second).collect::<Vec<_>>();
        assert_eq!(speed(&look(0)), [None; 6], "one look tells no rate");
        (0..6).for_each(|number| stat(&format!("{number}.service"), 1 << 20));
        std::thread::sleep(std::time::Duration::from_millis(2));
        let first = speed(&look(1));
        let read = first[1].expect("it was its turn");
        assert!(read > 0.0 && first[0].is_none() && first[2].is_none(), "{first:?}");
        assert_eq!(speed(&look(2))[1], Some(read), "it was not read again, and has not stopped");
        stat("1.service", 7);
        assert_eq!(speed(&look(6))[1], None, "another group of the same name");
    }

    #[test]
    fn a_user_with_many_groups_leaves_room_for_those_of_others() {
        let dir = tempfile::tempdir().unwrap();
        let tree = dir.path().join("sys/fs/cgroup");
        let make = |path: &str| std::fs::create_dir_all(tree.join(path)).unwrap();
        let manager = |user: u32| format!("user.slice/user-{user}.slice/user@{user}.service/app.slice");
        (0..OF_A_USER.groups + 50).for_each(|number| make(&format!("{}/{number}", manager(1000))));
        make(&format!("{}/mail.service", manager(1001)));
        make("zz.slice/late.service");
        // Long names fill the room as many do.
        (0..600).for_each(|number| make(&format!("{}/{number}-{}", manager(1002), "n".repeat(240))));
        let found = paths(&Machine::at(dir.path()));
        let of = |user: u32| found.iter().filter(|path| path.contains(&format!("user@{user}."))).count();
        assert_eq!((of(1000), of(1001)), (OF_A_USER.groups, 1));
        assert!((300..600).contains(&of(1002)), "{}", of(1002));
        assert!(found.iter().any(|path| path == "/zz.slice/late.service"));
    }
}
