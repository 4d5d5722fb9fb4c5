//! What `simulate` prints.

use std::fmt::Write;

use serde::Serialize;
use swaptune_core::Bytes;
use swaptune_core::stats::Nanos;
use swaptune_tiers::generate::GeneratorRow;
use swaptune_tiers::model::{Codec, Figures, NamedDevice};
use swaptune_tiers::policies::POLICIES;
use swaptune_tiers::replay::ReplayRow;
use swaptune_tiers::scenario::{GRAMMAR, METRICS, Metric};
use swaptune_tiers::trace::FormatRow;

use super::text;

/// Bytes of a page, for sizes that are shown.
const PAGE: u64 = 4096;

/// What a trace made of memories and policies.
#[derive(Debug, Serialize)]
pub struct Report {
    /// Events of the trace.
    pub events: usize,
    /// Those that are accesses.
    pub accesses: u64,
    /// Pages of the trace.
    pub pages: u32,
    /// One for each policy and size.
    pub outcomes: Vec<Outcome>,
}

/// What one memory under one policy misses.
#[derive(Debug, Serialize)]
pub struct Outcome {
    /// The policy.
    pub policy: &'static str,
    /// Size of memory in pages.
    pub size: u32,
    /// Accesses that miss.
    pub misses: u64,
    /// Their share.
    pub miss_ratio: f64,
}

/// A line for each size, two columns for each policy.
pub fn table(report: &Report) -> String {
    let mut policies: Vec<&str> = report.outcomes.iter().map(|outcome| outcome.policy).collect();
    policies.dedup();
    let mut head = ["PAGES", "MEMORY", "OF ALL"].map(str::to_owned).to_vec();
    head.extend(policies.iter().flat_map(|policy| [format!("{} MISSES", policy.to_uppercase()), "RATIO".to_owned()]));
    let right: Vec<usize> = (0..head.len()).collect();
    let mut rows = vec![head];
    let sizes = report.outcomes.iter().take_while(|outcome| Some(&outcome.policy) == policies.first());
    for first in sizes {
        let share = f64::from(first.size) * 100.0 / f64::from(report.pages.max(1));
        let mut row = vec![first.size.to_string(), Bytes(u64::from(first.size) * PAGE).to_string(), format!("{share:.1} %")];
        for outcome in report.outcomes.iter().filter(|outcome| outcome.size == first.size) {
            row.extend([outcome.misses.to_string(), format!("{:.2} %", outcome.miss_ratio * 100.0)]);
        }
        rows.push(row);
    }
    let all = Bytes(u64::from(report.pages) * PAGE);
    let head = format!("{} accesses to {} pages, {all} at 4 KiB each\n\n", report.accesses, report.pages);
    head + &text::columns(&rows, &right, 0)
}

/// A line for each policy and size.
pub fn csv(report: &Report) -> String {
    let mut page = "policy,size,accesses,misses,miss_ratio\n".to_owned();
    for Outcome { policy, size, misses, miss_ratio } in &report.outcomes {
        let _ = writeln!(page, "{policy},{size},{},{misses},{miss_ratio}", report.accesses);
    }
    page
}

/// What can be asked for.
pub fn list(policies: &[ReplayRow], generators: &[&GeneratorRow], formats: &[FormatRow]) -> String {
    let mut page = tierings();
    let rows: Vec<Vec<String>> = policies.iter().map(|row| vec![row.name.to_owned(), row.doc.to_owned()]).collect();
    let _ = write!(page, "policies of eviction, for bare replays\n{}\ngenerators\n", text::columns(&rows, &[], 2));
    for generator in generators {
        let _ = writeln!(page, "  {}", generator.name);
        page += &text::wrap(generator.doc, 4);
        let rows = generator.parameters.iter().map(|row| vec![row.name.to_owned(), row.default.to_owned(), row.doc.to_owned()]);
        page += &text::columns(&rows.collect::<Vec<_>>(), &[1], 4);
    }
    let rows = formats.iter().map(|row| {
        let endings = if row.is_written() { row.endings.join(" ") } else { "only read".to_owned() };
        vec![row.name.to_owned(), endings, row.doc.to_owned()]
    });
    page + &format!("\nformats, each also zstd-compressed when it is read\n{}", text::columns(&rows.collect::<Vec<_>>(), &[], 2))
}

/// What tierings can name.
fn tierings() -> String {
    let mut page = "tierings: words of a tier in any order after its kind\n".to_owned();
    for (form, doc) in GRAMMAR {
        let _ = writeln!(page, "  {form}");
        page += &text::wrap(doc, 4);
    }
    page += "\npolicies of write-back\n";
    for policy in &POLICIES {
        let _ = writeln!(page, "  {}", policy.name);
        page += &text::wrap(&format!("{} [{}]", policy.about, policy.source), 4);
    }
    let figures = Figures::default();
    let device = |device: &NamedDevice| {
        let times = device.times;
        let [request, each, seek, read, write] =
            [times.request, times.page, times.seek, times.read_latency, times.write_latency].map(Nanos);
        let doc = format!("request {request}, page {each}, seek {seek}, read {read}, write {write}");
        vec![device.name.clone(), doc]
    };
    let codec = |codec: &Codec| {
        let [compress, decompress] = [codec.compress, codec.decompress].map(Nanos);
        vec![codec.name.to_owned(), format!("compress {compress}, decompress {decompress} a page")]
    };
    let metric = |metric: &Metric| vec![metric.name.to_owned(), metric.about.to_owned()];
    let devices: Vec<_> = figures.devices.iter().map(device).collect();
    let codecs: Vec<_> = figures.zswap.iter().map(codec).collect();
    let metrics: Vec<_> = METRICS.iter().map(metric).collect();
    for (title, rows) in [("devices", devices), ("codecs", codecs), ("metrics, for --report", metrics)] {
        let _ = write!(page, "\n{title}\n{}", text::columns(&rows, &[], 2));
    }
    page + "\n"
}
