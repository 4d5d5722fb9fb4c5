//! Limits of the control group that this process runs in, which decide whether its pages may be swapped at all.
//!
//! Version 2 only: version 1 has no files for zswap, and its memory+swap limit shows as pages that do not move.

use swaptune_core::Bytes;
use swaptune_core::parse::mountinfo;
use swaptune_core::proof::CgroupLimits;

use crate::machine::Machine;

/// The tightest limits on the way from our group up to the root.
pub(super) fn limits(machine: &Machine) -> CgroupLimits {
    let Some((mount, path)) = own_group(machine) else { return CgroupLimits::default() };
    let mut limits = CgroupLimits { path: path.clone(), ..CgroupLimits::default() };
    let mut group = path.as_str();
    loop {
        let read = |file: &str| machine.read_text(&format!("{mount}{}/{file}", group.trim_end_matches('/'))).ok();
        let size = |file: &str| read(file)?.trim().parse().ok().map(Bytes);
        limits.swap_max = tighter(limits.swap_max, size("memory.swap.max"));
        limits.zswap_max = tighter(limits.zswap_max, size("memory.zswap.max"));
        limits.writeback_off |= read("memory.zswap.writeback").is_some_and(|text| text.trim() == "0");
        match group.trim_end_matches('/').rfind('/') {
            Some(0) if group != "/" => group = "/",
            Some(end) if end > 0 => group = &group[..end],
            _ => return limits,
        }
    }
}

/// The smaller limit; a file that says `max` or is not there sets none.
fn tighter(a: Option<Bytes>, b: Option<Bytes>) -> Option<Bytes> {
    a.into_iter().chain(b).min()
}

/// Where version 2 is mounted, and our path below it.
fn own_group(machine: &Machine) -> Option<(String, String)> {
    let groups = machine.read_text("/proc/self/cgroup").ok()?;
    let path = groups.lines().find_map(|line| line.strip_prefix("0::"))?.to_owned();
    let mounts = mountinfo::parse(&machine.read_text("/proc/self/mountinfo").ok()?);
    let mount = mounts.into_iter().find(|mount| mount.filesystem == "cgroup2")?;
    Some((mount.at, path))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_tightest_limit_on_the_way_up_counts() {
        let root = tempfile::tempdir().unwrap();
        let write = |path: &str, text: &str| crate::testing::write(root.path(), path, text);
        write("proc/self/cgroup", "12:memory:/old\n0::/a/b\n");
        write("proc/self/mountinfo", "30 20 0:26 / /sys/fs/cgroup rw - cgroup2 cgroup2 rw\n");
        write("sys/fs/cgroup/a/b/memory.swap.max", "max\n");
        write("sys/fs/cgroup/a/memory.swap.max", "1048576\n");
        write("sys/fs/cgroup/a/b/memory.zswap.max", "4096\n");
        write("sys/fs/cgroup/memory.zswap.writeback", "0\n");
        let limits = limits(&Machine::at(root.path()));
        let expect = CgroupLimits {
            path: "/a/b".into(),
            swap_max: Some(Bytes(1 << 20)),
            zswap_max: Some(Bytes(4096)),
            writeback_off: true,
        };
        assert_eq!(limits, expect);
    }

    #[test]
    fn no_groups_set_no_limits() {
        let root = tempfile::tempdir().unwrap();
        assert_eq!(limits(&Machine::at(root.path())), CgroupLimits::default());
    }
}
