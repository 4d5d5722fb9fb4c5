//! Who sets which sysctl: the lines of all sysctl files, in the order in which they are applied.
//!
//! sysctl.d(5): a file in `/etc` hides one of the same name in `/run`, that one in `/usr/local/lib`, that one in
//! `/usr/lib`; what is left is sorted by file name. systemd reads `/etc/sysctl.conf` only through a link in
//! `/etc/sysctl.d`; the sysctl(8) of procps reads it last.

use std::collections::BTreeMap;

use swaptune_core::facts::{InitSystem, SysctlSource, SystemFacts};
use swaptune_core::knobs;
use swaptune_core::parse::{cmdline, sysctl};

use crate::machine::Machine;

const FOLDERS: [&str; 5] = ["/etc/sysctl.d", "/run/sysctl.d", "/usr/local/lib/sysctl.d", "/usr/lib/sysctl.d", "/lib/sysctl.d"];
const CLASSIC: &str = "/etc/sysctl.conf";

pub(super) fn inspect(machine: &Machine, system: &SystemFacts) -> BTreeMap<String, Vec<SysctlSource>> {
    let names: BTreeMap<String, &str> =
        knobs::all().filter_map(|knob| Some((knob.path.strip_prefix("/proc/sys/")?.replace('/', "."), knob.name))).collect();
    let mut sources: BTreeMap<String, Vec<SysctlSource>> = BTreeMap::new();
    let mut add = |path: &str, line: usize, key: &str, value: String| {
        if let Some(name) = names.get(key) {
            sources.entry((*name).to_owned()).or_default().push(SysctlSource { path: path.to_owned(), line, value });
        }
    };
    // The kernel itself sets `sysctl.*` arguments just before it starts init (fs/proc/proc_sysctl.c).
    for argument in cmdline::parse(&machine.read_text("/proc/cmdline").unwrap_or_default()) {
        if let Some(key) = argument.name.strip_prefix("sysctl.") {
            add("/proc/cmdline", 1, &sysctl::normal_key(key), argument.value.unwrap_or_default());
        }
    }
    for path in order(machine, system) {
        for setting in sysctl::parse(&machine.read_text(&path).unwrap_or_default()) {
            add(&path, setting.line, &setting.key, setting.value);
        }
    }
    sources
}

fn order(machine: &Machine, system: &SystemFacts) -> Vec<String> {
    let mut by_name: BTreeMap<String, String> = BTreeMap::new();
    for folder in FOLDERS {
        for path in machine.files_in(folder, ".conf") {
            let name = path.rsplit('/').next().unwrap_or_default().to_owned();
            by_name.entry(name).or_insert(path);
        }
    }
    let mut paths: Vec<String> = by_name.into_values().collect();
    if system.init.value() != Some(&InitSystem::Systemd) {
        paths.push(CLASSIC.to_owned());
    }
    paths
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::tree;

    fn winners(files: &[(&str, &str)]) -> Vec<(String, usize, String)> {
        let dir = tree(files);
        let machine = Machine::at(dir.path());
        let kernel = super::super::kernel::inspect(&machine, super::super::InspectScope::PLAN);
        let system = super::super::system::inspect(&machine, &kernel, &[]);
        let mut sources = inspect(&machine, &system);
        sources.remove("vm.swappiness").unwrap_or_default().into_iter().map(|s| (s.path, s.line, s.value)).collect()
    }

    #[test]
    fn names_override_and_sort() {
        let got = winners(&[
            ("run/systemd/system/x", ""),
            ("usr/lib/sysctl.d/50-a.conf", "vm.swappiness = 1\n"),
            ("usr/lib/sysctl.d/60-b.conf", "vm.swappiness = 2\n"),
            ("etc/sysctl.d/50-a.conf", "# changed\nvm/swappiness = 3\n"),
            ("etc/sysctl.d/99-sysctl.conf", "-> ../sysctl.conf"),
            ("usr/lib/sysctl.d/70-masked.conf", "vm.swappiness = 9\n"),
            ("etc/sysctl.d/70-masked.conf", "-> /dev/null"),
            ("etc/sysctl.conf", "-vm.swappiness=4\nkernel.panic=1\n"),
            ("etc/sysctl.d/README", "vm.swappiness = 8\n"),
            ("proc/cmdline", "quiet sysctl.vm.swappiness=7\n"),
        ]);
        let expect = [
            ("/proc/cmdline", 1, "7"),
            ("/etc/sysctl.d/50-a.conf", 2, "3"),
            ("/usr/lib/sysctl.d/60-b.conf", 1, "2"),
            ("/etc/sysctl.d/99-sysctl.conf", 1, "4"),
        ];
        assert_eq!(got, expect.map(|(path, line, value)| (path.to_owned(), line, value.to_owned())));
    }

    #[test]
    fn systemd_does_not_read_sysctl_conf_but_procps_does() {
        let conf = ("etc/sysctl.conf", "vm.swappiness = 4\n");
        assert!(winners(&[("run/systemd/system/x", ""), conf]).is_empty());
        assert_eq!(winners(&[conf]).len(), 1);
    }
}
