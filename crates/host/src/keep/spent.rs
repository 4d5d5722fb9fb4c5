//! What the daemon has spent of its budgets of a day, on disk, so that a machine that boots often does not begin each time with whole ones.
//!
//! Written once an hour where something was spent, and at the end: a crash forgets what was spent since the last time. Of a daemon of the same
//! boot its status says it exactly.

use std::fs::{self, File};
use std::io::{self, Write};
use std::os::unix::fs::DirBuilderExt;
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};
use swaptune_core::control::{Budget, DaemonReport};
use tracing::info;

use super::look::uptime_ms;
use super::unix_ms;
use crate::daemon_status as status;
use crate::inspect::boot_id;
use crate::journal::StateDir;
use crate::machine::Machine;

/// Below the state folder.
const FILE: &str = "spent.json";
/// How often it is written at most, ms.
const EVERY_MS: u64 = 3_600_000;

/// What was spent in the last 24 hours, by hour.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct SpentToday {
    /// When this was so, milliseconds since 1970.
    unix_ms: u64,
    /// What zswap wrote back.
    pub written: Budget,
    /// What was taken from idle units.
    pub taken: Budget,
    /// What zram devices wrote to their backing devices.
    pub zram_written: Budget,
}

impl SpentToday {
    /// What earlier daemons have spent, of this boot or another. Whole budgets without a file, or with one that cannot be read.
    #[must_use]
    pub fn earlier(machine: &Machine) -> Self {
        match status::read(machine).ok().filter(|report| report.boot == boot_id(machine)) {
            Some(report) => Self::of(&report),
            None => Self::of_another_boot(machine, unix_ms(), uptime_ms(&machine.read_text("/proc/uptime").unwrap_or_default())),
        }
    }

    pub(super) fn of(report: &DaemonReport) -> Self {
        let DaemonReport { unix_ms, written, taken, zram_written, .. } = report.clone();
        Self { unix_ms, written, taken, zram_written }
    }

    fn of_another_boot(machine: &Machine, now_unix_ms: u64, at_ms: u64) -> Self {
        let text = fs::read(path(machine)).unwrap_or_default();
        let Ok(spent) = serde_json::from_slice::<Self>(&text) else { return Self::default() };
        // A clock that went back forgives nothing.
        let passed = now_unix_ms.saturating_sub(spent.unix_ms);
        let carry = |budget: Budget| budget.after_a_boot(passed, at_ms);
        Self {
            unix_ms: now_unix_ms,
            written: carry(spent.written),
            taken: carry(spent.taken),
            zram_written: carry(spent.zram_written),
        }
    }

    fn is_same(&self, other: &Self) -> bool {
        (&self.written, &self.taken, &self.zram_written) == (&other.written, &other.taken, &other.zram_written)
    }
}

/// The file, and what stands in it.
pub(super) struct Ledger {
    path: PathBuf,
    last: SpentToday,
}

impl Ledger {
    pub(super) fn new(machine: &Machine) -> Self {
        Self { path: path(machine), last: SpentToday { unix_ms: unix_ms(), ..SpentToday::default() } }
    }

    /// Writes it down where an hour has passed since the last time.
    pub(super) fn now_and_then(&mut self, report: &DaemonReport) {
        if report.unix_ms.saturating_sub(self.last.unix_ms) >= EVERY_MS {
            self.write(report);
        }
    }

    /// Writes it down where something was spent since the last time. A folder without room costs no more than the memory of it.
    pub(super) fn write(&mut self, report: &DaemonReport) {
        let spent = SpentToday::of(report);
        if !self.last.is_same(&spent) {
            replace(&self.path, &spent).unwrap_or_else(|error| info!("{}: {error}", self.path.display()));
        }
        self.last = spent;
    }
}

fn path(machine: &Machine) -> PathBuf {
    StateDir::persistent(machine).path().join(FILE)
}

fn replace(path: &Path, spent: &SpentToday) -> io::Result<()> {
    if let Some(folder) = path.parent() {
        fs::DirBuilder::new().recursive(true).mode(0o700).create(folder)?;
    }
    let beside = path.with_extension("json.new");
    let mut file = File::create(&beside)?;
    file.write_all(&serde_json::to_vec(spent)?)?;
    file.sync_all()?;
    fs::rename(&beside, path)
}

#[cfg(test)]
mod tests {
    use swaptune_core::Bytes;

    use super::*;

    const HOUR_MS: u64 = 3_600_000;

    /// A report of a boot in which 60 bytes were written five hours after it, at `unix_ms`.
    fn report(machine: &Machine, unix_ms: u64) -> DaemonReport {
        let mut report = DaemonReport { boot: boot_id(machine), unix_ms, ..DaemonReport::default() };
        report.written.spend(5 * HOUR_MS, Bytes(60));
        report
    }

    #[test]
    fn another_boot_goes_on_where_the_last_one_ended() {
        let dir = tempfile::tempdir().unwrap();
        let machine = Machine::at(dir.path());
        assert!(SpentToday::earlier(&machine).is_same(&SpentToday::default()));
        let mut ledger = Ledger::new(&machine);
        ledger.write(&report(&machine, 1000 * HOUR_MS));
        let left = |hours: u64| {
            SpentToday::of_another_boot(&machine, hours * HOUR_MS, 9 * HOUR_MS).written.left(9 * HOUR_MS, Bytes(100))
        };
        assert_eq!([1000, 1024, 1025].map(left), [40, 40, 100].map(Bytes));
        assert_eq!(left(10), Bytes(40), "a clock that went back");
        fs::write(path(&machine), "nonsense").unwrap();
        assert_eq!(left(1000), Bytes(100));
    }

    #[test]
    fn the_status_of_the_same_boot_is_exact() {
        let dir = tempfile::tempdir().unwrap();
        let machine = Machine::at(dir.path());
        status::make_folder(&machine).unwrap();
        status::write(&machine, &report(&machine, 7)).unwrap();
        assert_eq!(SpentToday::earlier(&machine).written.left(5 * HOUR_MS, Bytes(100)), Bytes(40));
        let other = DaemonReport { boot: "another".into(), ..report(&machine, 7) };
        status::write(&machine, &other).unwrap();
        assert!(SpentToday::earlier(&machine).is_same(&SpentToday::default()));
    }

    #[test]
    fn it_is_written_once_an_hour_and_where_something_was_spent() {
        let dir = tempfile::tempdir().unwrap();
        let machine = Machine::at(dir.path());
        let mut ledger = Ledger::new(&machine);
        let now = unix_ms();
        let is_there = || path(&machine).exists();
        ledger.now_and_then(&report(&machine, now + HOUR_MS / 2));
        assert!(!is_there(), "half an hour");
        ledger.now_and_then(&DaemonReport { unix_ms: now + 2 * HOUR_MS, ..DaemonReport::default() });
        assert!(!is_there(), "nothing was spent");
        ledger.now_and_then(&report(&machine, now + 4 * HOUR_MS));
        assert!(is_there());
    }
}
