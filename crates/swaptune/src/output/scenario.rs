//! What scenarios came to: tables, CSV, JSON.

use serde::Serialize;
use serde_json::{Map, Value, json};
use std::fmt::Write;
use swaptune_bench::this_machine::Cite;
use swaptune_core::Bytes;
use swaptune_tiers::model::Backing;
use swaptune_tiers::scenario::{Comparison, METRICS, Metric, Run, Scenario, Tiering, Unit};

use super::text;

/// Bytes of a page.
const PAGE: u64 = 4096;

/// A scenario and its runs.
pub struct Done<'a> {
    /// Its file, or the flag that it comes from.
    pub file: String,
    /// Whether it was typed in flags, so that it should be said how they were understood.
    pub is_typed: bool,
    /// The scenario.
    pub scenario: &'a Scenario,
    /// Of each point, the run of each tiering.
    pub points: Vec<Vec<Run>>,
}

impl Done<'_> {
    /// Point, tiering and run of each, in order.
    fn each(&self) -> impl Iterator<Item = (Option<&str>, &str, &Run)> {
        self.scenario.points.iter().zip(&self.points).flat_map(|(point, runs)| {
            point.tierings.iter().zip(runs).map(|(tiering, run)| (point.at.as_deref(), tiering.name.as_str(), run))
        })
    }

    fn comparisons(&self) -> Vec<Comparison> {
        let Some(published) = &self.scenario.published else { return Vec::new() };
        published.compare(|name, point| {
            let tiering = self.scenario.points[point].tierings.iter().position(|tiering| tiering.name == name)?;
            (published.metric.of)(&self.points[point][tiering])
        })
    }
}

/// For people.
pub fn tables(done: &[Done]) -> String {
    done.iter().map(table).collect::<Vec<_>>().join("\n")
}

fn table(done: &Done) -> String {
    let scenario = done.scenario;
    let mut page = format!("{}\n", scenario.title);
    if !scenario.source.is_empty() {
        page += &text::wrap(&format!("Source: {}", scenario.source), 2);
    }
    page.push('\n');
    page += &text::columns(&cells(done), &(1..40).collect::<Vec<_>>(), 0);
    page += &ran_out(done);
    page += &compared(done);
    if done.is_typed {
        page.push('\n');
        let swept = scenario.key.as_ref().zip(scenario.points[0].at.as_ref());
        if let Some((key, at)) = swept.filter(|(key, _)| *key != "machine.ram") {
            page += &text::wrap(&format!("With {key} = {at}:"), 2);
        }
        page += &understood(scenario, |first, last| if first == last { first } else { format!("{first} to {last}") });
    }
    if !scenario.notes.is_empty() {
        page.push('\n');
        page += &scenario.notes.trim().split("\n\n").map(|part| text::wrap(part, 2)).collect::<Vec<_>>().join("\n");
    }
    page
}

fn cells(done: &Done) -> Vec<Vec<String>> {
    let scenario = done.scenario;
    let mut head = vec!["TIERING".to_owned()];
    head.extend(scenario.key.as_deref().map(|key| key.rsplit('.').next().unwrap_or(key).to_uppercase()));
    // A share says little without what it is a share of.
    let ram_of = |at: &str| {
        let point = scenario.points.iter().find(|point| point.at.as_deref() == Some(at))?;
        let is_share = scenario.key.as_deref() == Some("machine.ram") && at.ends_with('%');
        let ram = Bytes(point.tierings.first()?.settings.ram * PAGE);
        is_share.then(|| format!("{ram} ({at})"))
    };
    head.extend(scenario.report.iter().map(|metric| metric.name.to_uppercase()));
    let row = |(at, tiering, run): (Option<&str>, &str, &Run)| {
        let mut row = vec![tiering.to_owned()];
        row.extend(at.map(|at| ram_of(at).unwrap_or_else(|| at.to_owned())));
        row.extend(scenario.report.iter().map(|metric| value(metric, run)));
        row
    };
    std::iter::once(head).chain(done.each().map(row)).collect()
}

/// That memory ran out is told even where no column asks.
fn ran_out(done: &Done) -> String {
    let mut lines = String::new();
    for (at, tiering, run) in done.each() {
        if let Some(event) = run.outcome.out_of_memory {
            let at = at.map_or(String::new(), |at| format!(" at {at}"));
            let _ = writeln!(lines, "  {tiering}{at}: out of memory at access {event} of {}", run.events);
        }
    }
    lines
}

fn compared(done: &Done) -> String {
    let Some(published) = &done.scenario.published else { return String::new() };
    let base = published.relative_to.as_ref().map_or("the largest".to_owned(), |base| format!("`{base}`"));
    let mut lines = format!("\nPublished: {}; beside ours, both relative to {base}\n", published.what);
    let mut rows = vec![["TIERING", "AT", "PUBLISHED", "RELATIVE", "OURS", "DIFFERENCE"].map(str::to_owned).to_vec()];
    for row in done.comparisons() {
        let at = done.scenario.points[row.point].at.clone().unwrap_or_else(|| "-".into());
        let ratios = [row.published, row.ours].map(|ratio| format!("{ratio:.3}"));
        let difference = format!("{:+.1} %", row.difference() * 100.0);
        let [theirs, ours] = ratios;
        rows.push(vec![row.tiering.clone(), at, row.figure.to_string(), theirs, ours, difference]);
    }
    lines += &text::columns(&rows, &[1, 2, 3, 4, 5], 0);
    lines
}

/// How tierings were understood: what was not said stands here too. `size` tells the size of an area from that at the first point and
/// that at the last.
pub fn understood(scenario: &Scenario, size: impl Fn(String, String) -> String) -> String {
    let ends = [scenario.points.first(), scenario.points.last()].map(|point| point.map_or(&[][..], |point| &point.tierings));
    let each = ends[0].iter().zip(ends[1]);
    each.map(|(first, last)| text::wrap(&read_as(first, last, &size), 2)).collect()
}

fn read_as(tiering: &Tiering, last: &Tiering, size: &impl Fn(String, String) -> String) -> String {
    let settings = &tiering.settings;
    let mut parts = Vec::new();
    if let Some(zswap) = &settings.zswap {
        let (codec, allocator, limit, policy) =
            (zswap.codec.name, zswap.allocator.name(), zswap.max_pool_percent, zswap.policy.name);
        parts.push(format!("zswap with {codec} in {allocator}, at most {limit} % of RAM, policy {policy}"));
    }
    for (area, at_last) in settings.areas.iter().zip(&last.settings.areas) {
        let [first, last] = [area, at_last].map(|area| Bytes(u64::from(area.slots) * PAGE).to_string());
        let size = size(first, last);
        let what = match &area.backing {
            Backing::Zram { codec, .. } => format!("zram with {}", codec.name),
            Backing::Disk { device, .. } => tiering.devices.get(*device).cloned().unwrap_or_default(),
        };
        parts.push(format!("{what}, {size}, priority {}", area.priority));
    }
    let parts = if parts.is_empty() { "no swap".to_owned() } else { parts.join("; then ") };
    let (major, minor) = settings.kernel;
    format!("{}: {parts} (Linux {major}.{minor}, page-cluster {})", tiering.name, settings.page_cluster)
}

/// Where measured figures come from.
pub fn cited(cites: &[&Cite]) -> String {
    if cites.is_empty() {
        return String::new();
    }
    let row = |cite: &&Cite| vec![cite.subject.to_string(), cite.value.clone(), cite.source.clone()];
    let rows: Vec<Vec<String>> = cites.iter().map(row).collect();
    format!("\nMeasured on this machine; everything else as usual\n{}", text::columns(&rows, &[], 2))
}

fn value(metric: &Metric, run: &Run) -> String {
    let Some(value) = (metric.of)(run) else { return "-".into() };
    match metric.unit {
        Unit::Seconds => seconds(value),
        Unit::Bytes => Bytes(value as u64).to_string(),
        Unit::Count => format!("{value:.0}"),
        Unit::Ratio => format!("{value:.2}"),
        Unit::Percent => format!("{value:.1} %"),
        Unit::PerSecond => format!("{value:.0}/s"),
    }
}

/// A time with its unit.
pub fn seconds(seconds: f64) -> String {
    match seconds {
        0.0 => "0 s".to_owned(),
        s if s < 1e-6 => format!("{:.0} ns", s * 1e9),
        s if s < 1e-3 => format!("{:.1} µs", s * 1e6),
        s if s < 1.0 => format!("{:.1} ms", s * 1e3),
        s => format!("{s:.2} s"),
    }
}

/// Comma-separated values: every metric, in its basic unit.
pub fn csv(done: &[Done]) -> String {
    let names: Vec<&str> = METRICS.iter().map(|metric| metric.name).collect();
    let mut out = format!("scenario,tiering,key,at,{}\n", names.join(","));
    for done in done {
        for (at, tiering, run) in done.each() {
            let figures: Vec<String> =
                METRICS.iter().map(|metric| (metric.of)(run).map_or(String::new(), |value| value.to_string())).collect();
            let key = done.scenario.key.as_deref().unwrap_or("");
            let words = [&done.file, tiering, key, at.unwrap_or("")].map(quoted);
            let _ = writeln!(out, "{},{}", words.join(","), figures.join(","));
        }
    }
    out
}

/// A cell of CSV.
pub fn quoted(text: &str) -> String {
    if text.contains([',', '"', '\n']) { format!("\"{}\"", text.replace('"', "\"\"")) } else { text.to_owned() }
}

/// What is printed for programs.
#[derive(Serialize)]
pub struct Json {
    scenarios: Vec<Value>,
    measured: Vec<Value>,
}

/// For programs.
pub fn json(done: &[Done], cites: &[&Cite]) -> Json {
    let one = |done: &Done| {
        let runs = done.each().map(|(at, tiering, run)| {
            let figures = METRICS.iter().filter_map(|metric| Some((metric.name.to_owned(), json!((metric.of)(run)?))));
            json!({ "tiering": tiering, "at": at, "figures": figures.collect::<Map<_, _>>() })
        });
        let compared = done.comparisons().into_iter().map(|row| {
            let at = &done.scenario.points[row.point].at;
            json!({ "tiering": row.tiering, "at": at, "figure": row.figure, "published": row.published, "ours": row.ours,
                    "difference": row.difference() })
        });
        json!({
            "file": done.file, "title": done.scenario.title, "key": done.scenario.key,
            "runs": runs.collect::<Vec<_>>(), "published": compared.collect::<Vec<_>>(),
        })
    };
    Json { scenarios: done.iter().map(one).collect(), measured: cites.iter().map(|cite| json!(cite)).collect() }
}
