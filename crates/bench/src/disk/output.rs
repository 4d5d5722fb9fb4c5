//! What fio prints with `--output-format=json+`: rates, and latencies as histograms that can be merged.
//!
//! fio's own percentiles are left alone, for those of several jobs cannot be combined; the bins of its histograms can.

use std::collections::BTreeMap;

use serde::Deserialize;
use swaptune_core::measurement::IoFigures;
use swaptune_core::stats::{Quantiles, median};
use thiserror::Error;

/// Output of fio that is no result.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum OutputError {
    /// It is not the form that was asked for.
    #[error("fio's output is not what `--output-format=json+` prints: {0}")]
    Form(String),
    /// A job failed.
    #[error("fio's job `{job}` failed: {why}")]
    Job {
        /// The job.
        job: String,
        /// errno as text.
        why: String,
    },
}

/// One direction of a load: all jobs together.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct DirectionFigures {
    /// Operations a second.
    pub iops: f64,
    /// Bytes a second.
    pub bytes_per_second: f64,
    /// How often each completion latency was seen, by the middle of fio's bin in nanoseconds.
    pub latencies: BTreeMap<u64, u64>,
    /// Longest latency, exactly: the middle of the last bin may be beyond it.
    pub longest: u64,
}

impl DirectionFigures {
    /// Adds what another job did in the same time.
    fn beside(&mut self, side: &JobDirection) {
        self.iops += side.iops;
        self.bytes_per_second += side.bw_bytes;
        self.count(&side.clat_ns.bins);
        self.longest = self.longest.max(side.clat_ns.max);
    }

    fn count(&mut self, bins: &BTreeMap<u64, u64>) {
        for (nanos, count) in bins {
            let sum = self.latencies.entry(*nanos).or_insert(0);
            *sum = sum.saturating_add(*count);
        }
    }

    /// The same load in several rounds: rates are the median of the rounds, latencies those of all.
    #[must_use]
    pub fn figures(rounds: &[&Self]) -> Option<IoFigures> {
        let mut all = Self::default();
        for round in rounds {
            all.count(&round.latencies);
            all.longest = all.longest.max(round.longest);
        }
        let mut latency = Quantiles::of_counts(&all.latencies)?;
        for quantile in [&mut latency.p50, &mut latency.p90, &mut latency.p99, &mut latency.max] {
            quantile.0 = quantile.0.min(all.longest);
        }
        latency.p999 = latency.p999.map(|p999| p999.min(latency.max));
        let median = |of: fn(&Self) -> f64| median(&rounds.iter().map(|round| of(round)).collect::<Vec<_>>());
        Some(IoFigures { iops: median(|load| load.iops)?, bytes_per_second: median(|load| load.bytes_per_second)?, latency })
    }
}

/// What one run of fio did.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct FioOutcome {
    /// Reads, when there were any.
    pub read: Option<DirectionFigures>,
    /// Writes, when there were any.
    pub write: Option<DirectionFigures>,
}

impl FioOutcome {
    /// Operations a second, reads and writes together.
    #[must_use]
    pub fn iops(&self) -> f64 {
        [&self.read, &self.write].into_iter().flatten().map(|load| load.iops).sum()
    }
}

#[derive(Deserialize)]
struct Document {
    jobs: Vec<FioJob>,
}

#[derive(Deserialize)]
struct FioJob {
    jobname: String,
    #[serde(default)]
    error: i32,
    read: JobDirection,
    write: JobDirection,
}

/// One direction of one job.
#[derive(Deserialize)]
struct JobDirection {
    total_ios: u64,
    iops: f64,
    bw_bytes: f64,
    clat_ns: Latency,
}

#[derive(Deserialize)]
struct Latency {
    #[serde(default)]
    max: u64,
    #[serde(default)]
    bins: BTreeMap<u64, u64>,
}

/// Reads fio's output. Lines in front of the JSON are notes of fio and are skipped.
///
/// # Errors
/// [`OutputError`] when it is no such output, holds no job or no operation, or a job failed.
pub fn parse(text: &str) -> Result<FioOutcome, OutputError> {
    let form = |why: &str| OutputError::Form(why.to_owned());
    let start = if text.starts_with('{') { Some(0) } else { text.find("\n{").map(|at| at + 1) };
    let json = start.map(|start| &text[start..]).ok_or_else(|| form("there is no JSON in it"))?;
    let document: Document = serde_json::from_str(json).map_err(|error| form(&error.to_string()))?;
    let mut outcome = FioOutcome::default();
    for job in &document.jobs {
        if job.error != 0 {
            let why = std::io::Error::from_raw_os_error(job.error).to_string();
            return Err(OutputError::Job { job: job.jobname.clone(), why });
        }
        add(&mut outcome.read, &job.read)?;
        add(&mut outcome.write, &job.write)?;
    }
    if outcome == FioOutcome::default() { Err(form("no job did anything")) } else { Ok(outcome) }
}

fn add(load: &mut Option<DirectionFigures>, side: &JobDirection) -> Result<(), OutputError> {
    if side.total_ios == 0 {
        return Ok(());
    }
    if side.clat_ns.bins.is_empty() {
        return Err(OutputError::Form("operations without bins of their latencies".into()));
    }
    if side.iops < 0.0 || side.bw_bytes < 0.0 {
        return Err(OutputError::Form("a rate below zero".into()));
    }
    load.get_or_insert_default().beside(side);
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use swaptune_core::stats::Nanos;

    /// fio 3.33 on Linux 6.18: two jobs of the mixed load for 0.2 s.
    const MIXED: &str = include_str!("../../tests/fio/mixed-2-jobs.json");
    /// The same fio: one job that only writes.
    const WRITE: &str = include_str!("../../tests/fio/cluster-write.json");
    /// The same fio: the file cannot be opened.
    const FAILED: &str = include_str!("../../tests/fio/no-such-file.json");

    #[test]
    fn jobs_are_added_and_their_bins_merged() {
        let outcome = parse(MIXED).unwrap();
        let json: serde_json::Value = serde_json::from_str(MIXED).unwrap();
        let jobs = json["jobs"].as_array().unwrap();
        assert_eq!(jobs.len(), 2);
        for (side, load) in [("read", outcome.read.unwrap()), ("write", outcome.write.unwrap())] {
            let sum = |pointer: &str| jobs.iter().map(|job| job[side].pointer(pointer).unwrap().as_f64().unwrap()).sum::<f64>();
            assert!((load.iops - sum("/iops")).abs() < 1e-6 && (load.bytes_per_second - sum("/bw_bytes")).abs() < 1e-6);
            let quantiles = DirectionFigures::figures(&[&load]).unwrap().latency;
            assert_eq!(quantiles.samples as f64, sum("/clat_ns/N"), "{side}");
            // A merged percentile lies between those of the jobs; fio's bins are 1/64 wide at most.
            for (ours, fio) in [(quantiles.p50, "50.000000"), (quantiles.p90, "90.000000"), (quantiles.p99, "99.000000")] {
                let of = |job: &serde_json::Value| job[side]["clat_ns"]["percentile"][fio].as_f64().unwrap();
                let (low, high) = (of(&jobs[0]).min(of(&jobs[1])), of(&jobs[0]).max(of(&jobs[1])));
                let ours = ours.0 as f64;
                assert!(low * 0.98 <= ours && ours <= high * 1.02, "{side} {fio}: {ours} outside {low}..{high}");
            }
        }
    }

    /// One job: our quantiles are fio's.
    #[test]
    fn quantiles_are_those_of_fio() {
        let load = parse(WRITE).unwrap().write.unwrap();
        let json: serde_json::Value = serde_json::from_str(WRITE).unwrap();
        let clat = &json["jobs"][0]["write"]["clat_ns"];
        let figures = DirectionFigures::figures(&[&load]).unwrap();
        for (ours, fio) in [(figures.latency.p50, "50.000000"), (figures.latency.p99, "99.000000")] {
            assert_eq!(Some(ours.0), clat["percentile"][fio].as_u64(), "{fio}");
        }
        assert!(figures.latency.max.0 <= clat["max"].as_u64().unwrap());
        assert_eq!(parse(WRITE).unwrap().read, None);
    }

    #[test]
    fn rounds_give_the_median_rate_and_all_latencies() {
        let load = |iops: f64, nanos: u64| DirectionFigures {
            iops,
            bytes_per_second: iops * 4096.0,
            latencies: BTreeMap::from([(nanos, 100)]),
            longest: nanos,
        };
        let (a, b, c) = (load(100.0, 10), load(900.0, 30), load(200.0, 20));
        let figures = DirectionFigures::figures(&[&a, &b, &c]).unwrap();
        assert_eq!((figures.iops, figures.bytes_per_second), (200.0, 819_200.0));
        let latency = figures.latency;
        assert_eq!((latency.samples, latency.p50, latency.p90, latency.max), (300, Nanos(20), Nanos(30), Nanos(30)));
        assert_eq!(DirectionFigures::figures(&[&a, &b]).unwrap().iops, 500.0);
        assert_eq!(DirectionFigures::figures(&[]), None);
    }

    #[test]
    fn a_failed_job_is_no_result() {
        let error = parse(FAILED).unwrap_err();
        assert_eq!(error.to_string(), "fio's job `cluster-write` failed: No such file or directory (os error 2)");
    }

    #[test]
    fn notes_in_front_are_skipped() {
        let noted = format!("note: both iodepth >= 1 and synchronous I/O engine are selected\n{WRITE}");
        assert_eq!(parse(&noted), parse(WRITE));
    }

    #[test]
    fn what_is_malformed_is_an_error() {
        let cut = &MIXED[..MIXED.len() / 2];
        let no_bins = MIXED.replace("\"bins\"", "\"other\"");
        let old = MIXED.replace("clat_ns", "clat");
        for text in ["", "fio: bad option", "{}", "{\"jobs\":[]}", "[]", cut, &no_bins, &old] {
            assert!(matches!(parse(text), Err(OutputError::Form(_))), "{text:.60}");
        }
    }
}
