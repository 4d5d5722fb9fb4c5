//! Kernel, init system, virtualisation, other managers, sysctl files.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use super::residents::{Kubelet, Resident};
use crate::fact::Fact;
use crate::units::Bytes;
use swaptune_kernel::{Behaviour, KernelVersion};

/// The running kernel.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct KernelFacts {
    /// `uname -r`.
    pub release: Fact<String>,
    /// Major and minor of the release.
    pub version: Fact<KernelVersion>,
    /// Build options that matter here (`CONFIG_ZSWAP` → `y`), without the rest of the configuration.
    pub config: Fact<BTreeMap<String, String>>,
    /// The command line the kernel was booted with.
    pub cmdline: Fact<String>,
    /// Lines of the kernel log about zswap, zram, swap, btrfs and devices that timed out.
    pub log: Fact<Vec<KernelLogLine>>,
    /// Page size in bytes.
    pub page_size: Bytes,
    /// Processors online.
    pub cpus: Fact<u32>,
    /// True when modules can be loaded (`CONFIG_MODULES`, no `nomodule`, a module folder for this release).
    pub modules_loadable: Fact<bool>,
}

impl KernelFacts {
    /// Whether this kernel does what a row of the table of behaviours says; `None` when its version is not known.
    #[must_use]
    pub fn does(&self, behaviour: &Behaviour) -> Option<bool> {
        self.version.value().map(|version| behaviour.is_in(*version))
    }
}

/// One line of the kernel log.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct KernelLogLine {
    /// Seconds since boot, as text (`12.345678`), empty when unknown.
    pub at: String,
    /// The message.
    pub text: String,
}

/// Which program is process 1.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum InitSystem {
    /// systemd.
    Systemd,
    /// OpenRC.
    Openrc,
    /// runit.
    Runit,
    /// System V init.
    Sysvinit,
    /// busybox init.
    Busybox,
}

/// What kind of container this is.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Container {
    /// `docker`, `lxc`, `systemd-nspawn`, `wsl`, …
    pub kind: String,
}

/// A program or service that sets what swaptune would set.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Manager {
    /// Name as in the manager table (`zram-generator`, `tuned`, …).
    pub name: String,
    /// The file that gave it away.
    pub evidence: String,
    /// True when it is enabled or configured to act at boot, as far as files tell.
    pub active: bool,
}

/// One line in one sysctl file.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct SysctlSource {
    /// The file.
    pub path: String,
    /// Line number, from 1.
    pub line: usize,
    /// The value that it sets.
    pub value: String,
}

/// What kind of thing sets a knob at boot.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum WriterKind {
    /// A systemd unit that starts at boot, or a script that it runs.
    Unit,
    /// tmpfiles.d.
    Tmpfiles,
    /// A udev rule.
    Udev,
    /// Options in modprobe.d.
    Modprobe,
    /// rc.local.
    RcLocal,
    /// A line of cron.
    Cron,
}

/// A line outside of sysctl files that sets one of our knobs at boot.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct KnobWriter {
    /// Row of the knob table.
    pub knob: String,
    /// The value, where the line states it as plain text.
    pub value: Option<String>,
    /// The file.
    pub path: String,
    /// Line number, from 1.
    pub line: usize,
    /// What kind of file that is.
    pub kind: WriterKind,
    /// Who runs it: the unit, or the file itself.
    pub by: String,
}

/// Everything around the kernel.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct SystemFacts {
    /// `PRETTY_NAME` of os-release.
    pub os: Fact<String>,
    /// `ID` of os-release (`debian`).
    pub os_id: Fact<String>,
    /// Process 1.
    pub init: Fact<InitSystem>,
    /// The container this runs in; absent on a machine of its own.
    pub container: Fact<Container>,
    /// The hypervisor, from DMI or the CPU flags; absent on bare metal.
    pub hypervisor: Fact<String>,
    /// 1 or 2 (2 = unified); hybrid counts as 1 when the memory controller is there.
    pub cgroup_version: Fact<u8>,
    /// Whether the memory controller is on.
    pub memory_controller: Fact<bool>,
    /// Other managers found.
    pub managers: Vec<Manager>,
    /// Kubelets that run or start here.
    #[serde(default)]
    pub kubelets: Vec<Kubelet>,
    /// Other programs that have an opinion on swap, and run or start here.
    #[serde(default)]
    pub residents: Vec<Resident>,
    /// Who sets our knobs at boot outside of sysctl files, as far as plain lines tell.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub writers: Vec<KnobWriter>,
    /// True when this process is root.
    pub root: bool,
}

impl SystemFacts {
    /// Whether systemd is process 1: only it reads our units.
    #[must_use]
    pub fn has_systemd(&self) -> bool {
        self.init.value() == Some(&InitSystem::Systemd)
    }
}
