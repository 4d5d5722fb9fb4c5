//! THE table of what is watched: each row is a column of the screen, a field of JSON, a column of CSV and a metric of OpenMetrics.
//!
//! A row says how its value follows from a [`SampleLook`], which is one sample and the one before it. What a kernel lacks is absent with
//! its reason, never zero. A counter is the sum since the kernel, the device or the daemon began; its rate is the difference of two samples by the
//! time between them, and there is none where it began anew.

mod csv;
mod daemon;
mod memory;
mod openmetrics;
mod report;
mod sample;
mod swap;
#[cfg(test)]
mod tests;
mod units;
mod zram;
mod zswap;

pub use csv::{csv_header, csv_line};
pub use openmetrics::{Exposition, exposition};
pub use report::report;
pub use sample::{ProcessUse, Sample, SampleLook, UnitUse};

use std::collections::BTreeMap;

use crate::fact::Fact;
use crate::units::Bytes;

/// Rows by family, in the order in which they are shown.
pub const TABLE: &[&[Metric]] = &[memory::ROWS, zswap::ROWS, swap::ROWS, zram::ROWS, units::ROWS, daemon::ROWS];

/// Whether a value may fall.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum MetricKind {
    /// Counts up; what is watched is its rate.
    Counter,
    /// Is what it is now.
    Gauge,
}

/// What a value counts. The unit ends the name of the row, as OpenMetrics wants it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum MetricUnit {
    /// Bytes.
    Bytes,
    /// Seconds.
    Seconds,
    /// A share of one, or one size divided by another.
    Ratio,
    /// Nothing: a number of events, or yes and no.
    None,
}

impl MetricUnit {
    /// The word that ends the name of a row; empty for [`MetricUnit::None`].
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Bytes => "bytes",
            Self::Seconds => "seconds",
            Self::Ratio => "ratio",
            Self::None => "",
        }
    }
}

/// Values with the names of what they are about.
pub type Values = Vec<(String, Fact<f64>)>;

/// How a row is read.
#[derive(Clone, Copy, Debug)]
pub enum Read {
    /// One value for the machine.
    One(fn(&SampleLook<'_>) -> Fact<f64>),
    /// A value for each of several things; the first is the name of the label that tells them apart.
    Each(&'static str, fn(&SampleLook<'_>) -> Values),
    /// The same of what is not read at each look, with what it grows by in a second.
    EachWithRate(&'static str, fn(&SampleLook<'_>) -> Values, fn(&SampleLook<'_>) -> Values),
}

/// One row.
#[derive(Clone, Copy, Debug)]
pub struct Metric {
    /// Its name, the unit last: `zswap_pool_bytes`. OpenMetrics puts `swaptune_` before it, and `_total` behind a counter.
    pub name: &'static str,
    /// Counter or gauge.
    pub kind: MetricKind,
    /// What it counts.
    pub unit: MetricUnit,
    /// One sentence without a full stop: what it is, and where the kernel says so.
    pub help: &'static str,
    /// How it is read.
    pub read: Read,
}

/// One value of a row.
#[derive(Clone, Debug, PartialEq)]
pub struct Reading {
    /// Which of several things it is about; empty for the machine.
    pub label: String,
    /// The value now, in the unit of its row.
    pub value: Fact<f64>,
    /// For a counter: by how much it grew in each second between the two samples.
    pub per_second: Option<Fact<f64>>,
}

/// Every row.
pub fn all() -> impl Iterator<Item = &'static Metric> {
    TABLE.iter().copied().flatten()
}

/// The row of this name.
#[must_use]
pub fn find(name: &str) -> Option<&'static Metric> {
    all().find(|metric| metric.name == name)
}

impl Metric {
    /// The name of the label that tells several values apart.
    #[must_use]
    pub fn label(&self) -> Option<&'static str> {
        match self.read {
            Read::One(_) => None,
            Read::Each(label, _) | Read::EachWithRate(label, ..) => Some(label),
        }
    }

    /// Its values, each with its rate where it is a counter.
    #[must_use]
    pub fn readings(&self, look: &SampleLook<'_>) -> Vec<Reading> {
        // Units are hundreds: each is looked up, not searched for.
        let before: BTreeMap<String, Fact<f64>> = match (&look.before, self.kind) {
            (Some(before), MetricKind::Counter) => self.values(before).into_iter().collect(),
            _ => BTreeMap::new(),
        };
        let seconds = look.seconds();
        let rates: Option<BTreeMap<String, Fact<f64>>> = match self.read {
            Read::EachWithRate(.., rates) => Some(rates(look).into_iter().collect()),
            Read::One(_) | Read::Each(..) => None,
        };
        let read = |(label, value): (String, Fact<f64>)| {
            let per_second = (self.kind == MetricKind::Counter).then(|| match &rates {
                Some(rates) => rates.get(&label).cloned().unwrap_or_else(|| Fact::absent("a rate needs two looks at it")),
                None => rate(&value, before.get(&label), seconds),
            });
            Reading { label, value, per_second }
        };
        self.values(look).into_iter().map(read).collect()
    }

    fn values(&self, look: &SampleLook<'_>) -> Values {
        match self.read {
            Read::One(read) => vec![(String::new(), read(look))],
            Read::Each(_, read) | Read::EachWithRate(_, read, _) => read(look),
        }
    }
}

fn rate(now: &Fact<f64>, was: Option<&Fact<f64>>, seconds: Option<f64>) -> Fact<f64> {
    let (value, source) = match now {
        Fact::Known { value, source } => (value, source),
        Fact::Absent { absent } => return Fact::absent(absent.clone()),
    };
    match (was.and_then(Fact::value), seconds) {
        (Some(was), Some(seconds)) if value >= was => Fact::known((value - was) / seconds, source.clone()),
        (Some(_), Some(_)) => Fact::absent(format!("{source}: it began anew between the two samples")),
        _ => Fact::absent("a rate needs two samples"),
    }
}

const fn row(name: &'static str, kind: MetricKind, unit: MetricUnit, help: &'static str, read: Read) -> Metric {
    Metric { name, kind, unit, help, read }
}

/// A size as a value.
fn size(fact: &Fact<Bytes>) -> Fact<f64> {
    fact.clone().map(|bytes| bytes.0 as f64)
}

/// One value divided by another; absent where either is, or where nothing is below the line.
fn quotient(above: &Fact<f64>, below: &Fact<f64>, empty: &str) -> Fact<f64> {
    match (above, below) {
        (Fact::Known { .. }, Fact::Known { value: 0.0, .. }) => Fact::absent(empty),
        (Fact::Known { value, source }, Fact::Known { value: by, source: below }) => {
            Fact::known(value / by, format!("{source} ÷ {below}"))
        }
        (Fact::Absent { absent }, _) | (_, Fact::Absent { absent }) => Fact::absent(absent.clone()),
    }
}
