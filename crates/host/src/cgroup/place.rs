//! Where a group of our own may be.

use std::fs;
use std::path::PathBuf;

use swaptune_core::parse::mountinfo::{self, MountLine};

use super::{CgroupError, HierarchyVersion, PREFIX};
use crate::machine::Machine;

/// How deep below a mount point leftovers are looked for: slice, service, group.
const DEPTH: usize = 4;

/// Who makes the group.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum GroupMaker {
    /// systemd, the system's or the user's own.
    Systemd {
        /// The user's own.
        user: bool,
    },
    /// We do.
    Folders {
        /// Kind of hierarchy.
        version: HierarchyVersion,
        /// Groups whose children have the memory controller, nearest first.
        parents: Vec<PathBuf>,
        /// A group that can be told to hand the controller on, when no parent does.
        enable: Option<PathBuf>,
    },
}

/// The mounted hierarchy that has the memory controller.
struct Hierarchy {
    version: HierarchyVersion,
    mount: MountLine,
}

/// Finds the place on this machine.
pub(super) fn find(machine: &Machine) -> Result<GroupMaker, CgroupError> {
    let hierarchy = hierarchy(machine)?;
    if machine.exists("/run/systemd/system") {
        return Ok(GroupMaker::Systemd { user: !machine.is_root() });
    }
    let top = &hierarchy.mount.at;
    if hierarchy.version == HierarchyVersion::V1 {
        // Every group of version 1 has the controller, and the top is no group of a service.
        let parents = vec![path(machine, top)?];
        return Ok(GroupMaker::Folders { version: HierarchyVersion::V1, parents, enable: None });
    }
    let own = own_group(machine, &hierarchy, "self").unwrap_or_default();
    let hands_on = |group: &String| {
        let control = machine.read_text(&format!("{group}/cgroup.subtree_control"));
        control.is_ok_and(|control| control.split_whitespace().any(|word| word == "memory"))
    };
    let above: Vec<String> = above(top, &own);
    let parents =
        above.iter().filter(|group| hands_on(group)).map(|group| path(machine, group)).collect::<Result<Vec<_>, _>>()?;
    let enable = if parents.is_empty() { Some(path(machine, top)?) } else { None };
    Ok(GroupMaker::Folders { version: HierarchyVersion::V2, parents, enable })
}

/// The group that a process is in, as a folder.
pub(super) fn of_process(machine: &Machine, pid: u32) -> Result<(PathBuf, HierarchyVersion), CgroupError> {
    let hierarchy = hierarchy(machine)?;
    let group = own_group(machine, &hierarchy, &pid.to_string())
        .ok_or_else(|| CgroupError::Systemd(format!("process {pid} is in no group of the memory controller")))?;
    Ok((path(machine, &format!("{}{group}", hierarchy.mount.at.trim_end_matches('/')))?, hierarchy.version))
}

/// Removes groups of ours that are empty and whose maker is gone.
pub(super) fn remove_leftovers(machine: &Machine) {
    let Ok(hierarchy) = hierarchy(machine) else { return };
    let mut folders = vec![hierarchy.mount.at];
    for _ in 0..DEPTH {
        let mut below = Vec::new();
        for folder in &folders {
            let Ok(host) = machine.resolve(folder) else { continue };
            for entry in fs::read_dir(host).into_iter().flatten().flatten() {
                let name = entry.file_name().to_string_lossy().into_owned();
                let maker = name.strip_prefix(PREFIX).and_then(|rest| rest.rsplit_once('-')?.1.parse::<u32>().ok());
                match maker {
                    // A group with a process in it stays: the kernel refuses.
                    Some(pid) if !machine.exists(&format!("/proc/{pid}")) => drop(fs::remove_dir(entry.path())),
                    None if entry.file_type().is_ok_and(|kind| kind.is_dir()) => below.push(format!("{folder}/{name}")),
                    _ => {}
                }
            }
        }
        folders = below;
    }
}

fn hierarchy(machine: &Machine) -> Result<Hierarchy, CgroupError> {
    let text = machine.read_text("/proc/self/mountinfo").map_err(|_| CgroupError::NoController)?;
    let mounts = mountinfo::parse(&text);
    let has_memory = |mount: &MountLine| match mount.filesystem.as_str() {
        "cgroup2" => {
            let controllers = machine.read_text(&format!("{}/cgroup.controllers", mount.at));
            controllers.is_ok_and(|text| text.split_whitespace().any(|word| word == "memory")).then_some(HierarchyVersion::V2)
        }
        "cgroup" => mount.super_options.split(',').any(|option| option == "memory").then_some(HierarchyVersion::V1),
        _ => None,
    };
    let found = mounts.into_iter().find_map(|mount| Some(Hierarchy { version: has_memory(&mount)?, mount }));
    found.ok_or(CgroupError::NoController)
}

/// The path of a process's group below the mount point: `/` and what follows, nothing at the top.
fn own_group(machine: &Machine, hierarchy: &Hierarchy, pid: &str) -> Option<String> {
    let text = machine.read_text(&format!("/proc/{pid}/cgroup")).ok()?;
    let group = text.lines().find_map(|line| {
        let (_, rest) = line.split_once(':')?;
        let (controllers, group) = rest.split_once(':')?;
        let is_ours = match hierarchy.version {
            HierarchyVersion::V2 => controllers.is_empty() && line.starts_with("0:"),
            HierarchyVersion::V1 => controllers.split(',').any(|controller| controller == "memory"),
        };
        is_ours.then_some(group)
    })?;
    // A bind mount shows a part of the hierarchy.
    let group = group.strip_prefix(hierarchy.mount.root.trim_end_matches('/')).unwrap_or(group);
    Some(group.trim_end_matches('/').to_owned())
}

/// The group and those above it, as paths, nearest first.
fn above(top: &str, group: &str) -> Vec<String> {
    let full = format!("{}{group}", top.trim_end_matches('/'));
    let ends = full.match_indices('/').map(|(end, _)| end).filter(|end| *end > top.len().saturating_sub(1));
    let mut paths: Vec<String> = ends.map(|end| full[..end].to_owned()).collect();
    paths.push(full.clone());
    paths.reverse();
    paths
}

fn path(machine: &Machine, group: &str) -> Result<PathBuf, CgroupError> {
    machine.resolve(group).map_err(|error| CgroupError::NotDelegated(error.to_string()))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn machine(files: &[(&str, &str)]) -> (tempfile::TempDir, Machine) {
        let root = crate::testing::tree(files);
        let machine = Machine::at(root.path());
        (root, machine)
    }

    const V2: (&str, &str) = ("proc/self/mountinfo", "30 20 0:26 / /sys/fs/cgroup rw - cgroup2 cgroup2 rw\n");
    const CONTROLLERS: (&str, &str) = ("sys/fs/cgroup/cgroup.controllers", "cpuset cpu io memory pids\n");

    #[test]
    fn with_systemd_it_is_asked() {
        let (_root, machine) = machine(&[V2, CONTROLLERS, ("run/systemd/system/x", "")]);
        assert_eq!(find(&machine).unwrap(), GroupMaker::Systemd { user: true });
    }

    #[test]
    fn the_nearest_group_that_hands_memory_on_comes_first() {
        let (root, machine) = machine(&[
            V2,
            CONTROLLERS,
            ("proc/self/cgroup", "0::/a/b/c\n"),
            ("sys/fs/cgroup/cgroup.subtree_control", "cpu memory\n"),
            ("sys/fs/cgroup/a/cgroup.subtree_control", "memory\n"),
            ("sys/fs/cgroup/a/b/cgroup.subtree_control", "cpu\n"),
            ("sys/fs/cgroup/a/b/c/cgroup.subtree_control", "\n"),
        ]);
        let top = root.path().join("sys/fs/cgroup");
        let expect = GroupMaker::Folders { version: HierarchyVersion::V2, parents: vec![top.join("a"), top], enable: None };
        assert_eq!(find(&machine).unwrap(), expect);
    }

    #[test]
    fn without_a_group_that_hands_memory_on_the_top_does() {
        let (root, machine) =
            machine(&[V2, CONTROLLERS, ("proc/self/cgroup", "0::/\n"), ("sys/fs/cgroup/cgroup.subtree_control", "\n")]);
        let expect = GroupMaker::Folders {
            version: HierarchyVersion::V2,
            parents: vec![],
            enable: Some(root.path().join("sys/fs/cgroup")),
        };
        assert_eq!(find(&machine).unwrap(), expect);
    }

    #[test]
    fn version_1_has_it_at_the_top_even_beside_version_2() {
        let mounts = "30 20 0:26 / /sys/fs/cgroup/unified rw - cgroup2 cgroup2 rw\n\
                      31 20 0:27 / /sys/fs/cgroup/memory rw - cgroup cgroup rw,memory\n";
        let (root, machine) =
            machine(&[("proc/self/mountinfo", mounts), ("sys/fs/cgroup/unified/cgroup.controllers", "hugetlb\n")]);
        let parents = vec![root.path().join("sys/fs/cgroup/memory")];
        assert_eq!(find(&machine).unwrap(), GroupMaker::Folders { version: HierarchyVersion::V1, parents, enable: None });
    }

    #[test]
    fn without_a_controller_it_says_so() {
        let (_root, machine) = machine(&[("proc/self/mountinfo", "22 27 0:21 / /proc rw - proc proc rw\n")]);
        assert!(matches!(find(&machine), Err(CgroupError::NoController)));
    }

    #[test]
    fn a_process_is_found_below_a_bind_mount() {
        let mounts = "30 20 0:26 /docker/x /sys/fs/cgroup rw - cgroup2 cgroup2 rw\n";
        let (root, machine) =
            machine(&[("proc/self/mountinfo", mounts), CONTROLLERS, ("proc/7/cgroup", "1:name=systemd:/y\n0::/docker/x/job\n")]);
        assert_eq!(of_process(&machine, 7).unwrap(), (root.path().join("sys/fs/cgroup/job"), HierarchyVersion::V2));
    }

    #[test]
    fn only_groups_of_makers_that_are_gone_are_removed() {
        let (root, machine) = machine(&[V2, CONTROLLERS, ("proc/41/stat", "")]);
        let group = |name: &str| root.path().join("sys/fs/cgroup").join(name);
        for name in ["swaptune-memory-41", "swaptune-memory-42", "a/swaptune-memory-43", "swaptune.service", "a/other-44"] {
            fs::create_dir_all(group(name)).unwrap();
        }
        remove_leftovers(&machine);
        assert!(group("swaptune-memory-41").exists() && group("swaptune.service").exists() && group("a/other-44").exists());
        assert!(!group("swaptune-memory-42").exists() && !group("a/swaptune-memory-43").exists());
    }
}
