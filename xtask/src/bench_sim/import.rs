//! How fast traces are read into memory, beside the peer's reader. Neither side replays anything.
//!
//! swaptune numbers the pages while it reads; the peer gives out what stands in the file. Its reader is asked in two ways: request by
//! request from Python, as a program that uses the package does, and for the size of the working set, which walks the file
//! in C and looks every object up in a hash table, as numbering does.

use std::fmt::Write as _;
use std::fs::{self, File};
use std::path::Path;

use anyhow::ensure;
use swaptune_tiers::trace::{KeptColumns, Trace, TraceFormat, TraceReading, read, write};

use super::pairs::Rounds;
use super::peer::Peer;
use super::{Files, timed};

/// Events of the reference trace that are written as text.
const LINES: usize = 2_000_000;
/// Snapshots and regions of a made record of DAMON, and samples in an aggregation interval: its defaults.
const SNAPSHOTS: u64 = 20;
const REGIONS: u64 = 1000;
const SAMPLES: u64 = 20;
/// Bytes of each of its regions.
const REGION: u64 = 64 * 4096;

/// Prints records a second of each reader.
pub fn run(files: &Files, trace: &Trace, peer: &mut Peer, rounds: usize) -> anyhow::Result<()> {
    println!("  import, without a replay");
    binary(files, trace, peer, rounds)?;
    text(trace, rounds)
}

/// Files in the binary forms.
fn binary(files: &Files, trace: &Trace, peer: &mut Peer, rounds: usize) -> anyhow::Result<()> {
    let load = |path: &Path, keep| timed(|| read(File::open(path)?, &guess(keep)).map_err(anyhow::Error::from));
    let mut times = Rounds::new(["own form", "24-byte records", "with times", "peer's working set", "peer's requests"]);
    for _ in 0..rounds {
        let (own, own_trace) = load(&files.own, KeptColumns::Pages);
        let (records, same) = load(&files.records, KeptColumns::Pages);
        let (timed_records, timed_trace) = load(&files.records, KeptColumns::Everything);
        let (set, pages) = peer.walk(&files.records, "working set")?;
        let (requests, count) = peer.walk(&files.records, "requests")?;
        ensure!(own_trace?.pages() == trace.pages() && same?.pages() == trace.pages(), "both forms hold the same pages");
        ensure!(timed_trace?.pages() == trace.pages(), "with times or without");
        ensure!(pages == u64::from(trace.page_count()) && count == trace.len() as u64, "the peer read {count} of {pages} pages");
        times.add([own, records, timed_records, set, requests]);
    }
    println!("    Mrec/s: {}", times.rates(trace.len() as f64 / 1e6));
    println!("    records, peer's working set to ours: {}; its requests to ours: {}", times.ratio(3, 1), times.ratio(4, 1));
    let size = |path: &Path| fs::metadata(path).map(|data| data.len() as f64 / 1e6);
    println!(
        "    MB/s: own form {:.0}, records {:.0}",
        size(&files.own)? / times.median(0),
        size(&files.records)? / times.median(1)
    );
    Ok(())
}

/// Text in memory, made from the start of the trace.
fn text(trace: &Trace, rounds: usize) -> anyhow::Result<()> {
    let start: Vec<u32> = trace.pages().iter().copied().take(LINES).collect();
    let forms = [("pages", pages(&start)), ("CSV", csv(trace)?), ("perf", perf(&start)), ("damo", damo())];
    for (name, form) in &forms {
        let mut times = Rounds::new([name]);
        let mut records = 0;
        for _ in 0..rounds {
            let (seconds, read) = timed(|| read(form.as_bytes(), &guess(KeptColumns::Everything)));
            records = read?.len();
            times.add([seconds]);
        }
        let mbytes = form.len() as f64 / 1e6;
        println!(
            "    {records} records of text, Mrec/s: {}; MB/s: {:.0}",
            times.rates(records as f64 / 1e6),
            mbytes / times.median(0)
        );
    }
    Ok(())
}

fn guess(keep: KeptColumns) -> TraceReading {
    TraceReading { format: None, layout: None, keep }
}

fn pages(pages: &[u32]) -> String {
    pages.iter().fold(String::new(), |mut text, page| {
        let _ = writeln!(text, "{page}");
        text
    })
}

/// Time, page, operation and cgroup of each event.
fn csv(trace: &Trace) -> anyhow::Result<String> {
    let mut bytes = Vec::new();
    write(trace, TraceFormat::Text, &mut bytes)?;
    let end = bytes.iter().enumerate().filter(|(_, byte)| **byte == b'\n').nth(LINES).map_or(bytes.len(), |(at, _)| at + 1);
    bytes.truncate(end);
    Ok(String::from_utf8(bytes)?)
}

/// As `perf script -F comm,pid,tid,time,event,addr` prints them.
fn perf(pages: &[u32]) -> String {
    pages.iter().zip(0u64..).fold(String::new(), |mut text, (&page, micros)| {
        let (seconds, rest) = (693 + micros / 1_000_000, micros % 1_000_000);
        let address = 0x7f48_6000_0000 + u64::from(page) * 4096;
        let _ = writeln!(text, "         python3 28859/28859 {seconds:>5}.{rest:06}: page-faults: {address:>16x}");
        text
    })
}

/// As `perf script` prints `damon:damon_aggregated`; a region in four is idle.
fn damo() -> String {
    let mut text = String::new();
    for (snapshot, region) in (0..SNAPSHOTS).flat_map(|snapshot| (0..REGIONS).map(move |region| (snapshot, region))) {
        let (start, accesses) = (region * REGION, if region % 4 == 0 { 0 } else { (region * 7 + snapshot) % (SAMPLES + 1) });
        let _ = writeln!(
            text,
            "       kdamond.0    77 [001] {:>5}.{:06}: damon:damon_aggregated: target_id=0 nr_regions={REGIONS} {start}-{}: {accesses} 3",
            100 + snapshot / 10,
            snapshot % 10 * 100_000,
            start + REGION
        );
    }
    text
}
