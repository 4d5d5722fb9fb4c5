//! The processes of this machine and the anonymous pages that they have in RAM.
//!
//! Everything here may vanish at any moment, and much of it may not be looked at without root: both are counted and are
//! never an error of the whole. Reading a page of another process leaves it as it was, except that the kernel takes it for
//! just used; [`cold`] and [`watch`] alone change what the kernel knows of a process, and only when they are asked.

pub mod cold;
mod idle;
mod locate;
mod read;
pub mod watch;

use std::fmt;
use std::fs::File;
use std::io;

use swaptune_core::Bytes;
use swaptune_core::parse::proc_cgroup::{self, Membership};
use swaptune_core::parse::{proc_stat, proc_status};
use thiserror::Error;

use crate::machine::{Machine, ReadError};

pub use locate::{Located, Locator, Method, PageRun};
pub use read::{PageReader, ProcessPage, ProcessRead};

/// Bytes of a page of this machine.
#[must_use]
pub fn page_bytes() -> usize {
    rustix::param::page_size()
}

/// One process with memory of its own.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Process {
    /// Its number.
    pub pid: u32,
    /// Its name, as the kernel has it: at most 15 bytes.
    pub name: String,
    /// When it began, in clock ticks since the boot: a later process of the same number began later.
    pub started: u64,
    /// Effective user.
    pub uid: u32,
    /// Where it stands.
    pub membership: Membership,
    /// Anonymous memory in RAM, roughly.
    pub rss_anon: Bytes,
    /// Anonymous memory in swap.
    pub swapped: Bytes,
}

/// Which processes are meant.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ProcessChoice {
    /// These numbers.
    pub pids: Vec<u32>,
    /// All of these systemd units.
    pub units: Vec<String>,
    /// All in or below these control groups.
    pub cgroups: Vec<String>,
}

impl ProcessChoice {
    /// True when nothing was chosen, which means every process.
    #[must_use]
    pub fn is_everything(&self) -> bool {
        *self == Self::default()
    }

    /// True when this process is meant.
    #[must_use]
    pub fn holds(&self, process: &Process) -> bool {
        self.is_everything()
            || self.pids.contains(&process.pid)
            || self.units.iter().any(|unit| process.membership.is_in_unit(unit))
            || self.cgroups.iter().any(|group| process.membership.is_in_group(group))
    }
}

impl fmt::Display for ProcessChoice {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let pids = self.pids.iter().map(|pid| format!("pid {pid}"));
        let units = self.units.iter().map(|unit| format!("unit {unit}"));
        let parts: Vec<String> = pids.chain(units).chain(self.cgroups.iter().map(|group| format!("cgroup {group}"))).collect();
        f.write_str(&if parts.is_empty() { "all processes".to_owned() } else { parts.join(", ") })
    }
}

/// What is there.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Listing {
    /// Processes that are meant, by number; we ourselves are never among them.
    pub processes: Vec<Process>,
    /// How many ended while we looked.
    pub vanished: u64,
}

/// Lists processes with memory of their own.
///
/// # Errors
/// [`ReadError`] when `/proc` cannot be listed, or on a machine that is not the running one.
pub fn list(machine: &Machine, choice: &ProcessChoice) -> Result<Listing, ReadError> {
    machine.only_live("/proc/PID")?;
    let mut pids: Vec<u32> = machine.list("/proc")?.iter().filter_map(|name| name.parse().ok()).collect();
    pids.retain(|pid| *pid != std::process::id());
    if choice.units.is_empty() && choice.cgroups.is_empty() && !choice.pids.is_empty() {
        pids.retain(|pid| choice.pids.contains(pid));
    }
    pids.sort_unstable();
    let mut listing = Listing::default();
    for pid in pids {
        match process(machine, pid) {
            Ok(Some(process)) if choice.holds(&process) => listing.processes.push(process),
            Ok(_) => {}
            Err(_) => listing.vanished += 1,
        }
    }
    Ok(listing)
}

/// One process; `None` for a kernel thread or one that has ended but is not buried.
fn process(machine: &Machine, pid: u32) -> Result<Option<Process>, ReadError> {
    let status = machine.read_text(&format!("/proc/{pid}/status"))?;
    let Some(status) = proc_status::parse(&status).filter(|status| status.has_memory) else { return Ok(None) };
    let membership = proc_cgroup::parse(&machine.read_text(&format!("/proc/{pid}/cgroup")).unwrap_or_default());
    let started = proc_stat::parse(&machine.read_text(&format!("/proc/{pid}/stat"))?).unwrap_or_default().started;
    let (name, uid, rss_anon, swapped) = (status.name, status.uid, status.rss_anon, status.swap);
    Ok(Some(Process { pid, name, started, uid, membership, rss_anon, swapped }))
}

/// Why the pages of a process cannot be seen.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum Unseen {
    /// It has ended.
    #[error("process {0} has ended")]
    Vanished(u32),
    /// It belongs to another user, or the kernel forbids it (`kernel.yama.ptrace_scope`, a container).
    #[error("the pages of process {0} may not be read")]
    Forbidden(u32),
    /// Something else.
    #[error("/proc/{pid}/{file}: {reason}")]
    Failed {
        /// The process.
        pid: u32,
        /// The file.
        file: &'static str,
        /// What the system says.
        reason: String,
    },
}

impl Unseen {
    fn new(pid: u32, file: &'static str, error: &io::Error) -> Self {
        match error.raw_os_error() {
            Some(libc::ESRCH | libc::ENOENT) => Self::Vanished(pid),
            Some(libc::EPERM | libc::EACCES) => Self::Forbidden(pid),
            _ => Self::Failed { pid, file, reason: error.to_string() },
        }
    }
}

fn open(pid: u32, file: &'static str) -> Result<File, Unseen> {
    File::open(format!("/proc/{pid}/{file}")).map_err(|error| Unseen::new(pid, file, &error))
}

#[cfg(test)]
mod tests;
