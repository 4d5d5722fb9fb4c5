//! `/proc/PID/cgroup` (cgroups(7)): where a process stands, in version 1, version 2 or both at once.
//!
//! A line is `ID:CONTROLLERS:PATH`. Version 2 is the line with ID 0 and no controllers; systemd keeps its own tree in
//! version 1 as `name=systemd`. The path may contain colons.

use serde::{Deserialize, Serialize};

/// Where one process stands.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Membership {
    /// Its group in the tree that accounts its memory, else in systemd's tree; `/` when it is in none.
    pub path: String,
    /// All groups that it is in, of any hierarchy, each once, without the root.
    pub paths: Vec<String>,
    /// The systemd units that it belongs to, outermost first: of the system (`nginx.service`), and behind
    /// `user@1000.service` that of the user's own manager (`app-editor.scope`).
    pub units: Vec<String>,
}

impl Membership {
    /// The unit that says most: of the user's manager if there is one, else of the system.
    #[must_use]
    pub fn unit(&self) -> Option<&str> {
        self.units.last().map(String::as_str)
    }

    /// Path of the unit of a process, in the tree that names it; without a unit its group, its name and its number, so that no two processes
    /// have one path.
    #[must_use]
    pub fn unit_path(&self, name: &str, pid: u32) -> String {
        let Some(unit) = self.unit() else {
            return format!("{}/{name}/{pid}", self.path.trim_end_matches('/'));
        };
        self.paths.iter().find_map(|path| up_to(path, unit)).unwrap_or_else(|| format!("/{unit}"))
    }

    /// True when it belongs to this unit; `nginx` means `nginx.service`.
    #[must_use]
    pub fn is_in_unit(&self, unit: &str) -> bool {
        let is_it = |own: &String| own == unit || own.strip_suffix(".service") == Some(unit);
        self.units.iter().any(is_it)
    }

    /// True when it is in this group or below it, in any hierarchy. A path below `/sys/fs/cgroup` is meant as one of the
    /// tree, with or without the name of a controller of version 1.
    #[must_use]
    pub fn is_in_group(&self, group: &str) -> bool {
        let wanted = group.strip_prefix("/sys/fs/cgroup").unwrap_or(group).trim_matches('/');
        let below = |path: &str, wanted: &str| {
            let rest = path.trim_start_matches('/').strip_prefix(wanted);
            rest.is_some_and(|rest| wanted.is_empty() || rest.is_empty() || rest.starts_with('/'))
        };
        let controller_off = wanted.split_once('/').map(|(_, rest)| rest).filter(|_| group.starts_with("/sys/fs/cgroup"));
        self.paths.iter().any(|path| below(path, wanted) || controller_off.is_some_and(|wanted| below(path, wanted)))
            || wanted.is_empty()
    }
}

/// A path up to the part that is this unit.
fn up_to(path: &str, unit: &str) -> Option<String> {
    let mut end = 0;
    path.split('/').find_map(|part| {
        end += part.len() + 1;
        (part.strip_prefix('_').unwrap_or(part) == unit).then(|| path[..end - 1].to_owned())
    })
}

/// Reads the whole file. Lines that are not understood are left out.
#[must_use]
pub fn parse(text: &str) -> Membership {
    let lines: Vec<(&str, &str)> = text.lines().filter_map(line).collect();
    let of = |wanted: &str| lines.iter().find(|(list, _)| list.split(',').any(|name| name == wanted)).map(|(_, path)| *path);
    // The memory controller's own tree in version 1; in version 2 the one tree; else systemd's, which only names.
    let trees = [of("memory"), of(""), of("name=systemd")];
    let path = trees.iter().flatten().find(|path| **path != "/").map_or("/", |path| path);
    let mut paths: Vec<String> = Vec::new();
    for (_, path) in &lines {
        if *path != "/" && !paths.iter().any(|known| known == path) {
            paths.push((*path).to_owned());
        }
    }
    // systemd's own tree is the one that it names units in; in version 2 that is the only one.
    let named = [of("name=systemd"), of("")].into_iter().flatten().find(|path| *path != "/").unwrap_or(path);
    Membership { path: path.to_owned(), paths, units: units(named) }
}

fn line(line: &str) -> Option<(&str, &str)> {
    let (id, rest) = line.split_once(':')?;
    let (controllers, path) = rest.split_once(':')?;
    (id.parse::<u32>().is_ok() && path.starts_with('/')).then_some((controllers, path))
}

/// The first part behind the slices is the system's unit; behind `user@N.service` the same holds for the user's manager.
fn units(path: &str) -> Vec<String> {
    let mut units = Vec::new();
    for part in path.split('/') {
        let name = part.strip_prefix('_').unwrap_or(part);
        if name.is_empty() || name.ends_with(".slice") {
            continue;
        }
        // What is below a unit is the unit's own business, unless it is a manager of units.
        if !name.ends_with(".service") && !name.ends_with(".scope") {
            break;
        }
        units.push(name.to_owned());
        if !name.starts_with("user@") {
            break;
        }
    }
    units
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn version_2_names_a_unit() {
        let service = parse("0::/system.slice/nginx.service\n");
        assert_eq!((service.path.as_str(), service.unit()), ("/system.slice/nginx.service", Some("nginx.service")));
        let nested = parse("0::/system.slice/system-getty.slice/getty@tty1.service/sub/init.scope\n");
        assert_eq!(nested.units, ["getty@tty1.service"], "what a unit makes below itself is no unit of the system");
        let editor = parse("0::/user.slice/user-1000.slice/user@1000.service/app.slice/app-gnome-editor-42.scope\n");
        assert_eq!(editor.units, ["user@1000.service", "app-gnome-editor-42.scope"]);
        assert!(editor.is_in_unit("user@1000") && editor.is_in_unit("app-gnome-editor-42.scope") && !editor.is_in_unit("app"));
        assert_eq!(parse("0::/user.slice/user-0.slice/session-3.scope\n").unit(), Some("session-3.scope"));
    }

    #[test]
    fn version_1_has_a_tree_per_controller() {
        let text = "9:name=systemd:/system.slice/cron.service\n5:devices:/x\n4:memory,pids:/box/a:b\n0::/\n";
        let process = parse(text);
        assert_eq!(process.path, "/box/a:b");
        assert_eq!(process.units, ["cron.service"]);
        assert_eq!(process.paths, ["/system.slice/cron.service", "/x", "/box/a:b"]);
    }

    #[test]
    fn a_group_holds_what_is_below_it() {
        let process = parse("4:memory:/box/inner\n0::/\n");
        for group in ["/box", "box", "/box/", "/box/inner", "/", "/sys/fs/cgroup/box", "/sys/fs/cgroup/memory/box"] {
            assert!(process.is_in_group(group), "{group}");
        }
        for group in ["/bo", "/box/inne", "/box/inner/x", "/memory/box", "/sys/fs/cgroup/memory/bo"] {
            assert!(!process.is_in_group(group), "{group}");
        }
    }

    #[test]
    fn without_groups_a_process_is_at_the_root() {
        for text in ["", "0::/\n", "1:name=systemd:/\n0::/\n", "x:y:/z\n", "3:memory\n", "3:memory:relative\n"] {
            let process = parse(text);
            assert_eq!((process.path.as_str(), process.unit(), process.paths.len()), ("/", None, 0), "{text}");
        }
    }

    #[test]
    fn a_process_has_the_path_of_its_unit_or_one_of_its_own() {
        let path = |cgroup: &str| parse(cgroup).unit_path("worker", 7);
        assert_eq!(path("4:memory:/\n1:name=systemd:/system.slice/web.service/sub\n0::/\n"), "/system.slice/web.service");
        // The memory controller of version 1 may know only of the slice.
        assert_eq!(path("4:memory:/system.slice\n1:name=systemd:/system.slice/web.service\n"), "/system.slice/web.service");
        let user = "/user.slice/user-1000.slice/user@1000.service";
        assert_eq!(
            path(&format!("1:name=systemd:{user}/app.slice/app-editor.scope\n")),
            format!("{user}/app.slice/app-editor.scope")
        );
        assert_eq!(path("1:name=systemd:/system.slice/_cpu.service\n"), "/system.slice/_cpu.service");
        assert_eq!(path("4:memory:/docker/abc\n1:name=systemd:/docker/abc\n0::/\n"), "/docker/abc/worker/7");
        assert_eq!(path("0::/\n"), "/worker/7");
        assert_eq!(path(""), "/worker/7");
        // A name cannot make one process stand for another: the number is last.
        assert_eq!(parse("").unit_path("a/8", 7), "/a/8/7");
    }

    #[test]
    fn an_underscore_protects_a_name_that_is_a_controllers() {
        assert_eq!(parse("0::/system.slice/_cpu.service\n").unit(), Some("cpu.service"));
    }
}
