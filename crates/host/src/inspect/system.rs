//! Around the kernel: distribution, init, container, hypervisor, cgroups.

use swaptune_core::Fact;
use swaptune_core::facts::{Container, InitSystem, KernelFacts, SystemFacts};
use swaptune_core::parse::mountinfo::MountLine;
use swaptune_core::parse::{cmdline, shell};

use crate::machine::{Machine, ReadError};

/// Process-id namespace of a machine that is no container (`PROC_PID_INIT_INO`, include/linux/proc_ns.h).
const FIRST_PID_NAMESPACE: &str = "pid:[4026531836]";
/// The flags of the first processor stand within this many bytes; all of them together can be hundreds of KiB.
const CPUINFO_HEAD: u64 = 4096;
/// Text in DMI and the hypervisor it means.
const HYPERVISORS: [(&str, &str); 12] = [
    ("QEMU", "qemu"),
    ("KVM", "kvm"),
    ("VMware", "vmware"),
    ("VirtualBox", "virtualbox"),
    ("innotek", "virtualbox"),
    ("Xen", "xen"),
    ("Amazon EC2", "amazon"),
    ("Google Compute Engine", "google"),
    ("Hetzner", "kvm"),
    ("DigitalOcean", "kvm"),
    ("OpenStack", "kvm"),
    ("Parallels", "parallels"),
];

pub(super) fn inspect(machine: &Machine, kernel: &KernelFacts, mounts: &[MountLine]) -> SystemFacts {
    let (os, os_id) = distribution(machine);
    let (cgroup_version, memory_controller) = cgroups(machine, kernel, mounts);
    SystemFacts {
        os,
        os_id,
        init: init(machine),
        container: container_of(machine, &kernel.release, mounts),
        hypervisor: hypervisor(machine),
        cgroup_version,
        memory_controller,
        managers: Vec::new(),
        kubelets: Vec::new(),
        residents: Vec::new(),
        writers: Vec::new(),
        root: machine.is_root(),
    }
}

fn distribution(machine: &Machine) -> (Fact<String>, Fact<String>) {
    let path = "/etc/os-release";
    let found = machine.read_text(path).map(|text| (path, text));
    let vendor = "/usr/lib/os-release";
    match found.or_else(|_| machine.read_text(vendor).map(|text| (vendor, text))) {
        Ok((path, text)) => {
            let value = |name: &str| match shell::get(&text, name) {
                Some(value) => Fact::known(value, path),
                None => Fact::absent(format!("{path}: no {name}")),
            };
            (value("PRETTY_NAME"), value("ID"))
        }
        Err(error) => (error.clone().absent(), error.absent()),
    }
}

fn init(machine: &Machine) -> Fact<InitSystem> {
    // The test that sd_booted(3) makes.
    for (path, init) in [("/run/systemd/system", InitSystem::Systemd), ("/run/openrc", InitSystem::Openrc)] {
        if machine.exists(path) {
            return Fact::known(init, path);
        }
    }
    let comm = machine.read_text("/proc/1/comm");
    let program = comm.as_deref().map(str::trim).unwrap_or_default();
    // The link says what would start; a process 1 with a name of its own says what did.
    let generic = program.is_empty() || program == "init";
    let target = machine.link("/sbin/init").ok().filter(|_| generic).unwrap_or_default();
    let target = target.rsplit('/').next().unwrap_or_default();
    for (name, source) in [(program, "/proc/1/comm"), (target, "/sbin/init")] {
        let init = match name {
            "systemd" => InitSystem::Systemd,
            "openrc-init" => InitSystem::Openrc,
            "runit" | "runit-init" => InitSystem::Runit,
            "busybox" | "linuxrc" => InitSystem::Busybox,
            _ => continue,
        };
        return Fact::known(init, format!("{source}: {name}"));
    }
    if generic && machine.exists("/etc/inittab") && machine.exists("/etc/init.d") {
        return Fact::known(InitSystem::Sysvinit, "/etc/inittab");
    }
    match comm {
        Ok(name) => Fact::absent(format!("/proc/1/comm: unknown init system {}", name.trim())),
        Err(error) => error.absent(),
    }
}

/// The container that this runs in.
#[must_use]
pub fn container(machine: &Machine) -> Fact<Container> {
    container_of(machine, &super::kernel::release(machine), &super::mounts::lines(machine))
}

fn container_of(machine: &Machine, release: &Fact<String>, mounts: &[MountLine]) -> Fact<Container> {
    let known = |kind: &str, source: &str| Fact::known(Container { kind: kind.trim().to_owned() }, source);
    if release.value().is_some_and(|release| release.to_ascii_lowercase().contains("microsoft")) {
        return known("wsl", release.source());
    }
    if let Ok(kind) = machine.read_text("/run/systemd/container") {
        return known(&kind, "/run/systemd/container");
    }
    if let Ok(kind) = container_variable(machine) {
        return known(&kind, "/proc/1/environ");
    }
    // An image that was built as a container and boots as a machine still carries the marker file.
    let own_processes = machine.link("/proc/self/ns/pid").is_ok_and(|namespace| namespace != FIRST_PID_NAMESPACE);
    let layered = mounts.iter().any(|mount| mount.at == "/" && mount.filesystem.contains("overlay"));
    for (path, kind) in [("/.dockerenv", "docker"), ("/run/.containerenv", "podman")] {
        if (own_processes || layered) && machine.exists(path) {
            return known(kind, path);
        }
    }
    if own_processes {
        return known("namespace", "/proc/self/ns/pid: not the first namespace");
    }
    Fact::absent("no sign of a container in /run/systemd/container, /proc/1/environ, /proc/self/ns/pid")
}

/// The variable `container` of process 1. The rest of its environment may hold secrets and is not kept.
fn container_variable(machine: &Machine) -> Result<String, ReadError> {
    machine.derived("container", || {
        let path = "/proc/1/environ";
        machine.only_live(path)?;
        let environment = std::fs::read(path).map_err(|error| ReadError::from_io(path, &error))?;
        let value = environment.split(|byte| *byte == 0).find_map(|entry| entry.strip_prefix(b"container="));
        let missing = || ReadError { missing: true, ..ReadError::new(path, "no variable `container`") };
        value.map(|value| String::from_utf8_lossy(value).into_owned()).ok_or_else(missing)
    })
}

/// The hypervisor that this machine runs on, from its firmware tables or the flags of its processor.
#[must_use]
pub fn hypervisor(machine: &Machine) -> Fact<String> {
    let mut seen = Vec::new();
    for file in ["sys_vendor", "product_name", "bios_vendor"] {
        let path = format!("/sys/class/dmi/id/{file}");
        let Ok(text) = machine.read_text(&path) else { continue };
        let text = text.trim();
        // Bare-metal instances of a cloud carry its name too.
        if text.ends_with(".metal") {
            return Fact::absent(format!("{path}: {text}"));
        }
        if text == "Virtual Machine" && seen.iter().any(|vendor: &String| vendor.starts_with("Microsoft")) {
            return Fact::known("hyperv".to_owned(), path);
        }
        seen.push(text.to_owned());
    }
    for (text, name) in HYPERVISORS {
        if seen.iter().any(|dmi| dmi.contains(text)) {
            return Fact::known(name.to_owned(), format!("/sys/class/dmi/id: {text}"));
        }
    }
    if let Ok(kind) = machine.read_text("/sys/hypervisor/type") {
        return Fact::known(kind.trim().to_owned(), "/sys/hypervisor/type");
    }
    let head = machine.read_bytes("/proc/cpuinfo", CPUINFO_HEAD).unwrap_or_default();
    let flags = String::from_utf8_lossy(&head);
    let flagged = flags.lines().find(|line| line.starts_with("flags")).is_some_and(|line| line.contains(" hypervisor"));
    if flagged {
        return Fact::known("unknown".to_owned(), "/proc/cpuinfo: flag hypervisor");
    }
    Fact::absent("neither /sys/class/dmi/id nor the flags in /proc/cpuinfo name a hypervisor")
}

/// Whether words of the command line leave the memory controller off. Each of them counts, in their order: firmware puts its own
/// before those of the administrator, and Raspberry Pi's kernel has a word that switches on again.
fn words_disable_memory(line: &str) -> bool {
    let words = cmdline::parse(line).into_iter();
    let of_memory = words.filter(|word| word.value.as_deref().is_some_and(|list| list.split(',').any(|name| name == "memory")));
    let mut switches = of_memory.filter(|word| word.is("cgroup_disable") || word.is("cgroup_enable"));
    switches.next_back().is_some_and(|word| word.is("cgroup_disable"))
}

/// The version of control groups, and whether the memory controller is on: what the kernel shows counts before the words that it was
/// given, which it may not know.
fn cgroups(machine: &Machine, kernel: &KernelFacts, mounts: &[MountLine]) -> (Fact<u8>, Fact<bool>) {
    let disabled = kernel.cmdline.value().is_some_and(|line| words_disable_memory(line));
    let off = disabled.then(|| Fact::known(false, "/proc/cmdline: cgroup_disable=memory"));
    let is_v1 =
        |mount: &&MountLine| mount.filesystem == "cgroup" && mount.super_options.split(',').any(|option| option == "memory");
    if let Some(mount) = mounts.iter().find(is_v1) {
        return (Fact::known(1, &*mount.at), Fact::known(true, &*mount.at));
    }
    let unified: Vec<&MountLine> = mounts.iter().filter(|mount| mount.filesystem == "cgroup2").collect();
    let Some(mount) = unified.first() else {
        let why = "/proc/self/mountinfo: no cgroup file system is mounted";
        return (Fact::absent(why), off.unwrap_or_else(|| Fact::absent(why)));
    };
    let path = format!("{}/cgroup.controllers", mount.at.trim_end_matches('/'));
    let controller = match machine.read_text(&path) {
        Ok(text) => Fact::known(text.split_whitespace().any(|name| name == "memory"), path),
        Err(error) => error.absent(),
    };
    let is_on = controller.value() == Some(&true);
    (Fact::known(2, &*mount.at), off.filter(|_| !is_on).unwrap_or(controller))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::tree;

    fn system(files: &[(&str, &str)]) -> SystemFacts {
        let dir = tree(files);
        let machine = Machine::at(dir.path());
        let kernel = super::super::kernel::inspect(&machine, super::super::InspectScope::PLAN);
        inspect(&machine, &kernel, &super::super::mounts::lines(&machine))
    }

    #[test]
    fn containers_and_images_that_look_like_one() {
        let booted = ("proc/self/ns/pid", "-> pid:[4026531836]");
        let inner = ("proc/self/ns/pid", "-> pid:[4026532000]");
        let kind = |files: &[(&str, &str)]| system(files).container.value().map(|container| container.kind.clone());
        assert_eq!(kind(&[(".dockerenv", ""), booted]), None);
        assert_eq!(kind(&[(".dockerenv", ""), inner]).as_deref(), Some("docker"));
        assert_eq!(kind(&[("run/systemd/container", "lxc\n"), inner]).as_deref(), Some("lxc"));
        assert_eq!(kind(&[inner]).as_deref(), Some("namespace"));
        assert_eq!(kind(&[("proc/sys/kernel/osrelease", "5.15.90.1-microsoft-standard-WSL2\n")]).as_deref(), Some("wsl"));
        assert_eq!(
            kind(&[("run/.containerenv", ""), ("proc/self/mountinfo", "1 0 0:9 / / rw - overlay overlay rw\n")]).as_deref(),
            Some("podman")
        );
    }

    #[test]
    fn cgroups_of_both_versions() {
        let v2 = ("proc/self/mountinfo", "31 1 0:27 / /sys/fs/cgroup rw - cgroup2 cgroup2 rw\n");
        let got = system(&[v2, ("sys/fs/cgroup/cgroup.controllers", "cpuset cpu io memory pids\n")]);
        assert_eq!((got.cgroup_version.value(), got.memory_controller.value()), (Some(&2), Some(&true)));
        let got = system(&[v2, ("sys/fs/cgroup/cgroup.controllers", "cpu\n"), ("proc/cmdline", "cgroup_disable=memory\n")]);
        assert_eq!(got.memory_controller, Fact::known(false, "/proc/cmdline: cgroup_disable=memory"));
        let beaten = [
            v2,
            ("sys/fs/cgroup/cgroup.controllers", "cpu memory\n"),
            ("proc/cmdline", "cgroup_disable=memory quiet cgroup_enable=memory\n"),
        ];
        assert_eq!(system(&beaten).memory_controller, Fact::known(true, "/sys/fs/cgroup/cgroup.controllers"));
        let v1 = "35 31 0:31 / /sys/fs/cgroup/memory rw - cgroup cgroup rw,memory\n41 31 0:38 / /u rw - cgroup2 cgroup2 rw\n";
        let got = system(&[("proc/self/mountinfo", v1)]);
        assert_eq!((got.cgroup_version.value(), got.memory_controller.value()), (Some(&1), Some(&true)));
        let got = system(&[("proc/self/mountinfo", v1), ("proc/cmdline", "cgroup_disable=memory\n")]);
        assert_eq!(got.memory_controller.value(), Some(&true), "a controller that is off cannot be mounted");
        assert!(!system(&[]).cgroup_version.is_known());
    }

    #[test]
    fn all_words_about_the_memory_controller_count_in_order() {
        for (line, disabled) in [
            ("quiet", false),
            ("cgroup_disable=memory", true),
            ("cgroup_disable=memory cgroup_disable=cpuset", true),
            ("cgroup_disable=pressure,memory quiet", true),
            ("cgroup_disable=memory quiet cgroup_enable=cpuset,memory", false),
            ("cgroup_enable=memory cgroup_disable=memory", true),
            ("cgroup_disable=memory cgroup_enable=cpuset", true),
            ("cgroup_disable=memory_x cgroup_memory=memory", false),
        ] {
            assert_eq!(words_disable_memory(line), disabled, "{line}");
        }
    }

    #[test]
    fn init_systems() {
        let kind = |files: &[(&str, &str)]| system(files).init.value().copied();
        assert_eq!(kind(&[("run/systemd/system/x", ""), ("proc/1/comm", "systemd\n")]), Some(InitSystem::Systemd));
        assert_eq!(kind(&[("sbin/init", "-> /lib/systemd/systemd")]), Some(InitSystem::Systemd));
        assert_eq!(kind(&[("proc/1/comm", "init\n"), ("sbin/init", "-> /bin/busybox")]), Some(InitSystem::Busybox));
        assert_eq!(kind(&[("proc/1/comm", "init\n"), ("etc/inittab", ""), ("etc/init.d/rc", "")]), Some(InitSystem::Sysvinit));
        assert_eq!(kind(&[("proc/1/comm", "tini\n"), ("sbin/init", "-> /lib/systemd/systemd")]), None);
    }

    #[test]
    fn hypervisors() {
        let name = |files: &[(&str, &str)]| system(files).hypervisor.value().cloned();
        assert_eq!(name(&[("sys/class/dmi/id/sys_vendor", "QEMU\n")]).as_deref(), Some("qemu"));
        let azure =
            [("sys/class/dmi/id/sys_vendor", "Microsoft Corporation\n"), ("sys/class/dmi/id/product_name", "Virtual Machine\n")];
        assert_eq!(name(&azure).as_deref(), Some("hyperv"));
        let metal = [("sys/class/dmi/id/sys_vendor", "Amazon EC2\n"), ("sys/class/dmi/id/product_name", "m5.metal\n")];
        assert_eq!(name(&metal), None);
        assert_eq!(name(&[("proc/cpuinfo", "processor : 0\nflags\t\t: fpu vme hypervisor lahf\n")]).as_deref(), Some("unknown"));
        assert_eq!(name(&[("sys/class/dmi/id/sys_vendor", "LENOVO\n")]), None);
    }
}
