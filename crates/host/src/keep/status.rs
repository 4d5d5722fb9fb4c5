//! What a daemon says of itself, for everybody to read: a file below `/run/swaptune`, replaced as a whole at each tick. And the file that
//! pauses it, which only root can make.

use std::collections::VecDeque;
use std::fs;
use std::io;
use std::os::unix::fs::{DirBuilderExt, PermissionsExt};
use std::path::PathBuf;

use serde::{Deserialize, Serialize};
use swaptune_core::Bytes;
use swaptune_core::control::{Budget, Standing};
use swaptune_core::facts::{DAEMON_STATUS, Moved};

use crate::journal::StateDir;
use crate::machine::{Machine, ReadError};

/// While this file is there, the daemon moves nothing.
pub const PAUSE_FILE: &str = "/run/swaptune/daemon.paused";
/// Decisions that are kept.
const LOG: usize = 100;

/// What the daemon does at all.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Mode {
    /// The laws work.
    #[default]
    Working,
    /// It says what it would do.
    DryRun,
    /// `swaptune daemon pause`.
    Paused,
    /// A command that changes the machine runs.
    Aside,
    /// It has ended, and everything is as it was.
    Stopped,
}

/// One thing that was done, or would be.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Entry {
    /// When, milliseconds since 1970.
    pub unix_ms: u64,
    /// Which law.
    pub law: String,
    /// What was done.
    pub did: String,
    /// Why.
    pub why: String,
}

/// Sums since the daemon began.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Totals {
    /// Moves of the limit.
    pub moves: u64,
    /// Bursts.
    pub bursts: u64,
    /// Bytes that left the pool in bursts.
    pub drained: Bytes,
    /// Bytes that zswap wrote to the disk in bursts.
    pub written: Bytes,
    /// Canaries that were offered.
    pub canaries: u64,
    /// Probes of units.
    pub probes: u64,
    /// Bytes that probes took from units.
    pub taken: Bytes,
    /// By how much less RAM they had then, their part of the pool included.
    pub freed: Bytes,
    /// What could not be carried out.
    pub failures: u64,
}

/// All of it.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Report {
    /// Process number.
    pub pid: u32,
    /// The boot that all of it belongs to.
    pub boot: String,
    /// When it began, milliseconds since 1970.
    pub since_unix_ms: u64,
    /// When this was written.
    pub unix_ms: u64,
    /// What it does.
    pub mode: Mode,
    /// What the pool takes.
    pub pool: Bytes,
    /// The limit that is configured, percent of RAM.
    pub home_percent: u64,
    /// The limit now.
    pub limit_percent: u64,
    /// Units that are looked at.
    pub units: usize,
    /// Those that are idle.
    pub idle: usize,
    /// What each law says.
    pub limit: String,
    /// What each law says.
    pub pacing: String,
    /// What each law says.
    pub reclaim: String,
    /// Settings that are not as they were found.
    pub moved: Vec<Moved>,
    /// Sums.
    pub totals: Totals,
    /// What zswap wrote back in 24 hours, by hour.
    pub written: Budget,
    /// What was taken in 24 hours, by hour.
    pub taken: Budget,
    /// The last decisions, the oldest first.
    pub log: VecDeque<Entry>,
}

impl Report {
    /// What a daemon has written last; the reason when there is nothing, or nothing that can be understood.
    ///
    /// # Errors
    /// [`ReadError`] with the file and the reason.
    pub fn read(machine: &Machine) -> Result<Self, ReadError> {
        let text = machine.read_text(DAEMON_STATUS)?;
        serde_json::from_str(&text).map_err(|error| ReadError::new(DAEMON_STATUS, &error.to_string()))
    }

    /// Writes it down, so that a reader sees the old or the new one.
    pub(super) fn write(&self, machine: &Machine) -> io::Result<()> {
        let path = host(machine, DAEMON_STATUS);
        let beside = path.with_extension("json.new");
        fs::write(&beside, serde_json::to_vec(self)?)?;
        fs::set_permissions(&beside, fs::Permissions::from_mode(0o644))?;
        fs::rename(&beside, &path)
    }

    /// Whether the daemon that wrote it is there.
    #[must_use]
    pub fn is_alive(&self, machine: &Machine) -> bool {
        self.mode != Mode::Stopped && machine.exists(&format!("/proc/{}", self.pid))
    }

    pub(super) fn say(&mut self, standing: &Standing) {
        self.limit.clone_from(&standing.limit);
        self.pacing.clone_from(&standing.pacing);
        self.reclaim.clone_from(&standing.reclaim);
    }

    pub(super) fn log(&mut self, law: &str, did: String, why: &str) {
        self.log.push_back(Entry { unix_ms: self.unix_ms, law: law.to_owned(), did, why: why.to_owned() });
        while self.log.len() > LOG {
            self.log.pop_front();
        }
    }
}

/// Makes the folder, which everybody may look into: what is secret in it is closed by itself.
pub(super) fn make_folder(machine: &Machine) -> io::Result<()> {
    let folder = StateDir::volatile(machine).path().to_owned();
    fs::DirBuilder::new().recursive(true).mode(0o755).create(&folder)?;
    fs::set_permissions(&folder, fs::Permissions::from_mode(0o755))
}

/// Whether it is paused.
pub(super) fn is_paused(machine: &Machine) -> bool {
    machine.exists(PAUSE_FILE)
}

/// Pauses the daemon until [`resume`], or lets it go on. A reboot ends a pause.
///
/// # Errors
/// Without the right to write there.
pub fn pause(machine: &Machine) -> io::Result<()> {
    make_folder(machine)?;
    fs::write(host(machine, PAUSE_FILE), "")
}

/// Ends a pause; it is fine when there is none.
///
/// # Errors
/// Without the right to write there.
pub fn resume(machine: &Machine) -> io::Result<()> {
    match fs::remove_file(host(machine, PAUSE_FILE)) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => Err(error),
        _ => Ok(()),
    }
}

fn host(machine: &Machine, path: &str) -> PathBuf {
    machine.root().join(path.trim_start_matches('/'))
}
