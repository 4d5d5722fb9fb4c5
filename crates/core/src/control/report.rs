//! What a daemon says of itself: what it does, what each law says, what came of it since it began, and its last decisions.

use std::collections::VecDeque;

use serde::{Deserialize, Serialize};

use super::LawStanding;
use super::budget::Budget;
use super::ground::{Mechanism, WantedLaws};
use crate::escape::visible;
use crate::facts::MovedSetting;
use crate::units::Bytes;

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
    /// Its process is gone, and it has not said that it ended. No daemon says this of itself.
    Gone,
    /// It starts with the machine, and none has run since the boot. No daemon says this of itself.
    Missing,
}

impl Mode {
    /// Whether there is a process.
    #[must_use]
    pub fn is_running(self) -> bool {
        !matches!(self, Self::Stopped | Self::Gone | Self::Missing)
    }
}

/// One thing that was done, or would be.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct DecisionEntry {
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
#[serde(default)]
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
    /// Rounds over zram devices.
    pub zram_rounds: u64,
    /// Bytes that zram devices wrote to their backing devices when they were asked.
    pub zram_written: Bytes,
    /// By how much less RAM they took after they were asked to write or to compress again.
    pub zram_freed: Bytes,
    /// Parts that were compressed again.
    pub zram_recompressed: u64,
    /// Decisions that were written down, those that left something alone included.
    pub decisions: u64,
    /// What could not be carried out.
    pub failures: u64,
}

/// All of it. A field that an older daemon did not write is as a new daemon begins with it.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct DaemonReport {
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
    /// Of what probes took, how much these units have in swap now at most (`memory.swap.current`), zswap's pool included. A unit that has
    /// ended counts no more. `None` where the kernel does not count swap by group, or before the first unit was read.
    pub out: Option<Bytes>,
    /// Which laws are wanted and work on this machine; what the others say is why they are off.
    pub works: WantedLaws,
    /// What each law says.
    pub limit: String,
    /// What each law says.
    pub pacing: String,
    /// What each law says.
    pub reclaim: String,
    /// How memory is taken from idle units, where that law works.
    pub mechanism: Option<Mechanism>,
    /// What each law says.
    pub zram: String,
    /// Settings that are not as they were found.
    pub moved: Vec<MovedSetting>,
    /// Sums.
    pub totals: Totals,
    /// What zswap wrote back in 24 hours, by hour.
    pub written: Budget,
    /// What was taken in 24 hours, by hour.
    pub taken: Budget,
    /// What zram devices wrote to their backing devices in 24 hours, by hour.
    pub zram_written: Budget,
    /// The last decisions, the oldest first.
    pub log: VecDeque<DecisionEntry>,
}

impl DaemonReport {
    /// Takes over what the laws say.
    pub fn say(&mut self, standing: &LawStanding) {
        self.works = standing.works;
        self.limit.clone_from(&standing.limit);
        self.pacing.clone_from(&standing.pacing);
        self.reclaim = visible(&standing.reclaim);
        self.mechanism = standing.mechanism;
        self.zram.clone_from(&standing.zram);
    }

    /// Writes down a decision; the oldest is forgotten.
    pub fn log(&mut self, law: &str, did: String, why: &str) {
        self.totals.decisions += 1;
        // Names of groups are in it.
        self.log.push_back(DecisionEntry { unix_ms: self.unix_ms, law: law.to_owned(), did: visible(&did), why: visible(why) });
        self.keep(LOG);
    }

    /// Drops the oldest decisions beyond `most`.
    pub fn keep(&mut self, most: usize) {
        self.log.drain(..self.log.len().saturating_sub(most));
    }

    /// The laws with whether they work and what they say, in the order in which they decide.
    #[must_use]
    pub fn laws(&self) -> [(&'static str, bool, &str); 4] {
        [
            ("limit", self.works.limit, &self.limit),
            ("pacing", self.works.pacing, &self.pacing),
            ("reclaim", self.works.reclaim, &self.reclaim),
            ("zram", self.works.zram, &self.zram),
        ]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_oldest_decisions_are_forgotten_and_still_counted() {
        let mut report = DaemonReport::default();
        for number in 0..LOG + 5 {
            report.log("limit", number.to_string(), "a test");
        }
        assert_eq!((report.log.len(), report.totals.decisions), (LOG, LOG as u64 + 5));
        assert_eq!((report.log[0].did.as_str(), report.log[LOG - 1].did.as_str()), ("5", "104"));
        report.keep(2);
        assert_eq!(report.log.iter().map(|entry| entry.did.as_str()).collect::<Vec<_>>(), ["103", "104"]);
    }

    #[test]
    fn a_name_that_its_owner_chose_does_nothing_to_a_terminal() {
        let mut report = DaemonReport::default();
        report.log("reclaim", "took 5 MiB from /a\x1b[2J.scope".into(), "idle");
        report.say(&LawStanding { reclaim: "/b\x07: idle".into(), ..LawStanding::default() });
        assert_eq!((report.log[0].did.as_str(), report.reclaim.as_str()), ("took 5 MiB from /a\\x1b[2J.scope", "/b\\x07: idle"));
    }

    #[test]
    fn what_an_older_daemon_wrote_is_understood() {
        let text = r#"{"pid":7,"mode":"paused","totals":{"probes":3}}"#;
        let report: DaemonReport = serde_json::from_str(text).unwrap();
        assert_eq!((report.pid, report.mode, report.totals.probes, report.out), (7, Mode::Paused, 3, None));
        assert!(report.mode.is_running() && !Mode::Gone.is_running() && !Mode::Missing.is_running());
    }
}
