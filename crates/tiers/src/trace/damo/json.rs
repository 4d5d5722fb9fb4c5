//! Records in JSON: a list of targets, each with its snapshots, each with its regions. Numbers stand there as such or as text, by
//! version; what else damo writes is not needed here.

use std::fmt;

use serde::Deserialize;
use serde::de::{Deserializer, Error, Unexpected, Visitor};
use serde_json::Value;

use super::amounts::{count, nanoseconds};
use super::{DamonRegion, DamonSnapshot, Targets, few_enough};
use crate::trace::error::{TraceError, TracePlace};
use crate::trace::source::TraceSource;

/// Most bytes of a record.
const BYTES_MAX: u64 = 1 << 30;

#[derive(Deserialize)]
#[serde(expecting = "a record with its snapshots")]
struct JsonRecord {
    #[serde(default)]
    target_id: Value,
    snapshots: Vec<JsonSnapshot>,
}

#[derive(Deserialize)]
#[serde(expecting = "a snapshot with its regions")]
struct JsonSnapshot {
    #[serde(deserialize_with = "time")]
    start_time: u64,
    #[serde(deserialize_with = "time")]
    end_time: u64,
    regions: Vec<JsonRange>,
}

#[derive(Deserialize)]
#[serde(expecting = "a region with its start and end")]
struct JsonRange {
    #[serde(deserialize_with = "address")]
    start: u64,
    #[serde(deserialize_with = "address")]
    end: u64,
    nr_accesses: Accesses,
}

#[derive(Deserialize)]
#[serde(expecting = "nr_accesses with its samples")]
struct Accesses {
    #[serde(deserialize_with = "samples")]
    samples: u16,
}

/// A number, or a text that says one.
struct Amount {
    parse: fn(&str) -> Option<u64>,
    expected: &'static str,
}

impl Visitor<'_> for Amount {
    type Value = u64;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.expected)
    }

    fn visit_u64<E: Error>(self, value: u64) -> Result<u64, E> {
        Ok(value)
    }

    fn visit_f64<E: Error>(self, value: f64) -> Result<u64, E> {
        // The mean of several times is not whole.
        let fits = (0.0..u64::MAX as f64).contains(&value);
        if fits { Ok(value as u64) } else { Err(E::invalid_value(Unexpected::Float(value), &self)) }
    }

    fn visit_str<E: Error>(self, text: &str) -> Result<u64, E> {
        (self.parse)(text).ok_or_else(|| E::invalid_value(Unexpected::Str(text), &self))
    }
}

fn time<'de, D: Deserializer<'de>>(input: D) -> Result<u64, D::Error> {
    input.deserialize_any(Amount { parse: nanoseconds, expected: "a time in nanoseconds or with units" })
}

fn address<'de, D: Deserializer<'de>>(input: D) -> Result<u64, D::Error> {
    input.deserialize_any(Amount { parse: count, expected: "an address" })
}

fn samples<'de, D: Deserializer<'de>>(input: D) -> Result<u16, D::Error> {
    let expected = "a number of samples from 0 to 65535";
    let value = input.deserialize_any(Amount { parse: count, expected })?;
    u16::try_from(value).map_err(|_| D::Error::invalid_value(Unexpected::Unsigned(value), &expected))
}

/// All snapshots of a record.
pub(super) fn snapshots(mut source: TraceSource<'_>) -> Result<Vec<DamonSnapshot>, TraceError> {
    let text = source.rest(BYTES_MAX).map_err(|source| TraceError::Read { place: TracePlace::Whole, source })?;
    let records: Vec<JsonRecord> = serde_json::from_slice(&text).map_err(|error| {
        let found = error.to_string();
        let found = found.rsplit_once(" at line ").map_or(found.as_str(), |(found, _)| found);
        TraceError::malformed(TracePlace::Line(error.line() as u64), found, "a list of records as damo writes it")
    })?;
    let (mut targets, mut snapshots) = (Targets::default(), Vec::new());
    for record in records {
        let target = targets.number(record.target_id.to_string().as_bytes());
        let target = target.ok_or_else(|| TraceError::malformed(TracePlace::Whole, "more targets", "at most 4096"))?;
        few_enough(snapshots.len() + record.snapshots.len())?;
        snapshots.extend(record.snapshots.into_iter().map(|seen| DamonSnapshot {
            target,
            start: Some(seen.start_time),
            end: seen.end_time,
            regions: seen.regions.iter().filter_map(|r| DamonRegion::new(r.start, r.end, r.nr_accesses.samples)).collect(),
        }));
    }
    Ok(snapshots)
}
