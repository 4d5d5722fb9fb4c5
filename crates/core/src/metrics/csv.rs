//! The rows that are about the machine as a whole as CSV (RFC 4180): those about several things have no fixed number of columns.

use super::{Metric, MetricKind, Read, SampleLook, all};
use crate::fact::Fact;

fn columns() -> impl Iterator<Item = &'static Metric> {
    all().filter(|metric| matches!(metric.read, Read::One(_)))
}

/// Names of the columns: the time in milliseconds since 1970, each row, and behind a counter its rate.
#[must_use]
pub fn csv_header() -> String {
    let names = columns().flat_map(|metric| {
        let rate = (metric.kind == MetricKind::Counter).then(|| format!("{}_per_second", metric.name));
        [Some(metric.name.to_owned()), rate].into_iter().flatten()
    });
    line(std::iter::once("unix_ms".to_owned()).chain(names))
}

/// The values in the same order; what is absent is an empty field.
#[must_use]
pub fn csv_line(look: &SampleLook<'_>) -> String {
    let shown = |fact: &Fact<f64>| fact.value().map_or_else(String::new, f64::to_string);
    let values = columns().flat_map(|metric| metric.readings(look)).flat_map(|reading| {
        let rate = reading.per_second.as_ref().map(shown);
        [Some(shown(&reading.value)), rate].into_iter().flatten().collect::<Vec<_>>()
    });
    line(std::iter::once(look.now.unix_ms.to_string()).chain(values))
}

fn line(fields: impl Iterator<Item = String>) -> String {
    let mut text = fields.collect::<Vec<_>>().join(",");
    text.push('\n');
    text
}
