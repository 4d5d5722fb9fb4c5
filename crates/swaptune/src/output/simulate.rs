//! What `simulate` prints.

use std::fmt::Write;

use serde::Serialize;
use serde_json::{Value, json};
use swaptune_core::Bytes;
use swaptune_core::stats::Nanos;
use swaptune_tiers::generate::GeneratorRow;
use swaptune_tiers::model::{CodecCosts, ModelFigures, NamedDevice};
use swaptune_tiers::policies::POLICIES;
use swaptune_tiers::replay::ReplayRow;
use swaptune_tiers::scenario::{GRAMMAR, METRICS, ReportColumn};
use swaptune_tiers::trace::FormatRow;

use super::report::{Chart, HtmlPage, colour, lines};
use super::text;

/// Bytes of a page, for sizes that are shown.
const PAGE: u64 = 4096;

/// What a trace made of memories and policies.
#[derive(Debug, Serialize)]
pub struct ReplayReport {
    /// Events of the trace.
    pub events: usize,
    /// Those that are accesses.
    pub accesses: u64,
    /// Pages of the trace.
    pub pages: u32,
    /// One for each policy and size.
    pub outcomes: Vec<PolicyMisses>,
}

/// What one memory under one policy misses.
#[derive(Debug, Serialize)]
pub struct PolicyMisses {
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
pub fn table(report: &ReplayReport) -> String {
    let rows = cells(report);
    let right: Vec<usize> = (0..rows[0].len()).collect();
    format!("{}\n\n{}", of_what(report), text::columns(&rows, &right, 0))
}

fn of_what(report: &ReplayReport) -> String {
    let all = Bytes(u64::from(report.pages) * PAGE);
    format!("{} accesses to {} pages, {all} at 4 KiB each", report.accesses, report.pages)
}

fn policies(report: &ReplayReport) -> Vec<&'static str> {
    let mut policies: Vec<&str> = report.outcomes.iter().map(|outcome| outcome.policy).collect();
    policies.dedup();
    policies
}

/// The share of the trace's pages that fit, in percent.
fn share_of(size: u32, report: &ReplayReport) -> f64 {
    f64::from(size) * 100.0 / f64::from(report.pages.max(1))
}

fn cells(report: &ReplayReport) -> Vec<Vec<String>> {
    let policies = policies(report);
    let mut head = ["PAGES", "MEMORY", "OF ALL"].map(str::to_owned).to_vec();
    head.extend(policies.iter().flat_map(|policy| [format!("{} MISSES", policy.to_uppercase()), "RATIO".to_owned()]));
    let mut rows = vec![head];
    let sizes = report.outcomes.iter().take_while(|outcome| Some(&outcome.policy) == policies.first());
    for first in sizes {
        let share = share_of(first.size, report);
        let mut row = vec![first.size.to_string(), Bytes(u64::from(first.size) * PAGE).to_string(), format!("{share:.1} %")];
        for outcome in report.outcomes.iter().filter(|outcome| outcome.size == first.size) {
            row.extend([outcome.misses.to_string(), format!("{:.2} %", outcome.miss_ratio * 100.0)]);
        }
        rows.push(row);
    }
    rows
}

/// Curves of what is missed, and the table.
pub fn html(report: &ReplayReport, command: &str, swaptune: &str) -> String {
    let mut page = HtmlPage::begin("swaptune simulate replay", "What memories of several sizes miss of a trace");
    let least = report.outcomes.iter().min_by(|a, b| a.miss_ratio.total_cmp(&b.miss_ratio));
    if let Some(PolicyMisses { policy, size, miss_ratio, .. }) = least {
        let (memory, share) = (Bytes(u64::from(*size) * PAGE), share_of(*size, report));
        page.verdict(&format!(
            "Least is missed with {memory}, {share:.1} % of the pages, under {policy}: {:.2} % of the accesses.",
            miss_ratio * 100.0
        ));
    }
    let points = |outcome: &PolicyMisses| (share_of(outcome.size, report), outcome.miss_ratio * 100.0);
    let curve = |policy: &str| report.outcomes.iter().filter(|outcome| outcome.policy == policy).map(points).collect();
    let curves: Vec<_> = policies(report).into_iter().map(|policy| (policy.to_owned(), curve(policy))).collect();
    page.heading("Accesses that miss, by the share of the pages that fits in memory");
    page.key(curves.iter().enumerate().map(|(place, (policy, _))| (colour(place), policy.as_str())));
    page.picture(&lines("Misses by size of memory", "Misses, %", &Chart::Numbers(" %"), &curves));
    let rows = cells(report);
    page.table(&rows[0].iter().map(String::as_str).collect::<Vec<_>>(), &rows[1..]);
    page.heading("Conditions");
    page.block(&format!("{command}\n{}\nswaptune {swaptune}", of_what(report)));
    page.end()
}

/// A line for each policy and size.
pub fn csv(report: &ReplayReport) -> String {
    let mut page = "policy,size,accesses,misses,miss_ratio\n".to_owned();
    for PolicyMisses { policy, size, misses, miss_ratio } in &report.outcomes {
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

/// The same for programs: each name with what it is.
pub fn names(policies: &[ReplayRow], generators: &[&GeneratorRow], formats: &[FormatRow]) -> Value {
    let named = |name: &str, about: &str| json!({ "name": name, "about": about });
    let generator = |row: &&GeneratorRow| {
        let parameters = row.parameters.iter().map(|row| json!({ "name": row.name, "default": row.default, "about": row.doc }));
        json!({ "name": row.name, "about": row.doc, "parameters": parameters.collect::<Vec<_>>() })
    };
    let format =
        |row: &FormatRow| json!({ "name": row.name, "about": row.doc, "endings": row.endings, "is_written": row.is_written() });
    let figures = ModelFigures::default();
    json!({
        "tierings": GRAMMAR.iter().map(|(form, doc)| named(form, doc)).collect::<Vec<_>>(),
        "policies": POLICIES.iter().map(|policy| named(policy.name, policy.about)).collect::<Vec<_>>(),
        "devices": figures.devices.iter().map(|device| device.name.clone()).collect::<Vec<_>>(),
        "codecs": figures.zswap.iter().map(|codec| codec.name.to_owned()).collect::<Vec<_>>(),
        "metrics": METRICS.iter().map(|metric| named(metric.name, metric.about)).collect::<Vec<_>>(),
        "replays": policies.iter().map(|row| named(row.name, row.doc)).collect::<Vec<_>>(),
        "generators": generators.iter().map(generator).collect::<Vec<_>>(),
        "formats": formats.iter().map(format).collect::<Vec<_>>(),
    })
}

/// What tierings can name.
fn tierings() -> String {
    let mut page = "tierings: words of a tier in any order after its kind\n".to_owned();
    for (form, doc) in GRAMMAR {
        let _ = writeln!(page, "  {form}");
        page += &text::wrap(doc, 4);
    }
    page += "\npolicies of write-back\n";
    for policy in POLICIES {
        let _ = writeln!(page, "  {}", policy.name);
        page += &text::wrap(&format!("{} [{}]", policy.about, policy.source), 4);
    }
    let figures = ModelFigures::default();
    let device = |device: &NamedDevice| {
        let times = device.times;
        let [request, each, seek, read, write] =
            [times.request, times.page, times.seek, times.read_latency, times.write_latency].map(Nanos);
        let doc = format!("request {request}, page {each}, seek {seek}, read {read}, write {write}");
        vec![device.name.clone(), doc]
    };
    let codec = |codec: &CodecCosts| {
        let [compress, decompress] = [codec.compress, codec.decompress].map(Nanos);
        vec![codec.name.to_owned(), format!("compress {compress}, decompress {decompress} a page")]
    };
    let metric = |metric: &ReportColumn| vec![metric.name.to_owned(), metric.about.to_owned()];
    let devices: Vec<_> = figures.devices.iter().map(device).collect();
    let codecs: Vec<_> = figures.zswap.iter().map(codec).collect();
    let metrics: Vec<_> = METRICS.iter().map(metric).collect();
    for (title, rows) in [("devices", devices), ("codecs", codecs), ("metrics, for --report", metrics)] {
        let _ = write!(page, "\n{title}\n{}", text::columns(&rows, &[], 2));
    }
    page + "\n"
}
