//! The doctor: what is wrong on a machine, shown by evidence and cured by a command.
//!
//! [`TABLE`] is the single origin of codes, severities, titles and detectors; `verify`, the reference page and the tests
//! walk it. A detector is a pure function of [`Facts`]: one snapshot, so counters are totals since the last change of
//! the configuration in this boot ([`crate::facts::CountersSinceBoot`]), else since boot, and where that matters the sentence says so. To add a finding is to add a row beside its detector and a case in `cases/`.

mod ask;
mod boot;
mod fstab;
mod hibernation;
mod log_signatures;
mod managers;
mod memory;
mod residents;
mod swap;
mod sysctl;
mod zram;
mod zswap;
mod zswap_pool;
mod zswap_words;

#[cfg(test)]
mod cases;

use serde::{Deserialize, Serialize};

use crate::facts::Facts;

/// How bad it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Severity {
    /// Compressed swap does not work, or data is at risk.
    Error,
    /// It works, but not as configured or not as well as it could.
    Warning,
    /// Worth knowing; nothing has to be done.
    Info,
}

/// One row of the table: something that can be wrong, and how to see it.
#[derive(Clone, Copy, Debug)]
pub struct Finding {
    /// Stable name, for scripts and for silencing.
    pub code: &'static str,
    /// How bad it is.
    pub severity: Severity,
    /// The kind of trouble in a few words, without numbers of one machine.
    pub title: &'static str,
    /// The kernel document, source file or manual page that the finding rests on.
    pub source: &'static str,
    /// Looks for it.
    detect: fn(&Facts) -> Option<FindingEvidence>,
}

/// A piece of evidence.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Exhibit {
    /// File, or `kernel log`.
    pub source: String,
    /// What stands there.
    pub text: String,
}

/// What a detector found.
#[derive(Clone, Debug)]
struct FindingEvidence {
    what: String,
    exhibits: Vec<Exhibit>,
    cure: String,
}

impl FindingEvidence {
    /// One sentence with the numbers, and the command that cures it.
    fn new(what: impl Into<String>, cure: impl Into<String>) -> Self {
        Self { what: what.into(), exhibits: Vec::new(), cure: cure.into() }
    }

    /// Adds where it was seen.
    fn seen(mut self, source: impl Into<String>, text: impl Into<String>) -> Self {
        self.exhibits.push(Exhibit { source: source.into(), text: text.into() });
        self
    }

    /// Adds many.
    fn seen_all(mut self, exhibits: impl IntoIterator<Item = Exhibit>) -> Self {
        self.exhibits.extend(exhibits);
        self
    }
}

/// A finding on one machine.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Found {
    /// Code of the row.
    pub code: &'static str,
    /// How bad it is.
    pub severity: Severity,
    /// Title of the row.
    pub title: &'static str,
    /// One sentence with the numbers of this machine.
    pub what: String,
    /// Files and log lines that show it.
    pub evidence: Vec<Exhibit>,
    /// A command to type.
    pub cure: String,
    /// The document that the finding rests on.
    pub source: &'static str,
}

impl Found {
    /// True when something is wrong that an apply puts right.
    #[must_use]
    pub fn is_cured_by_apply(&self) -> bool {
        self.severity <= Severity::Warning && self.cure.starts_with("swaptune apply")
    }
}

/// The whole table by family, in the order in which findings of one severity are shown.
pub static TABLE: &[&[Finding]] = &[
    zswap_words::ROWS,
    zswap::ROWS,
    zswap_pool::ROWS,
    zram::ROWS,
    swap::ROWS,
    fstab::ROWS,
    hibernation::ROWS,
    boot::ROWS,
    managers::ROWS,
    sysctl::ROWS,
    memory::ROWS,
    residents::ROWS,
    log_signatures::ROWS,
];

/// All rows.
pub fn all() -> impl Iterator<Item = &'static Finding> {
    TABLE.iter().flat_map(|rows| rows.iter())
}

/// The row with this code.
#[must_use]
pub fn find(code: &str) -> Option<&'static Finding> {
    all().find(|row| row.code == code)
}

/// Everything that is wrong, worst first, then in the order of the table.
#[must_use]
pub fn examine(facts: &Facts) -> Vec<Found> {
    let mut found: Vec<Found> = all().filter_map(|row| row.examine(facts)).collect();
    found.sort_by_key(|found| found.severity);
    found
}

impl Finding {
    fn examine(&self, facts: &Facts) -> Option<Found> {
        let FindingEvidence { what, exhibits, cure } = (self.detect)(facts)?;
        Some(Found {
            code: self.code,
            severity: self.severity,
            title: self.title,
            what,
            evidence: exhibits,
            cure,
            source: self.source,
        })
    }
}
