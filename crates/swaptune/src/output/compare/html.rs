//! A comparison as one page that needs no other file: verdicts, every run, ratios, what the machine did, and how to repeat it.

use std::fmt::Write;

use swaptune_bench::compare::{Options, Outcome, spoken};
use swaptune_core::Bytes;
use swaptune_core::measurement::{CompareFigures, CompareLook, CompareRun, Comparison, Measurement};
use swaptune_core::stats::median;

use super::svg::{self, escape};
use super::{COSTS, ended, told_apart};
use crate::output::measurement::conditions;

const STYLE: &str = include_str!("style.css");

/// The page.
pub fn html(outcome: &Outcome, options: &Options, measurements: &[Measurement]) -> String {
    let command = spoken(&options.command);
    let mut body = format!("<h1>{}</h1>", escape(&format!("Compared: {command}")));
    if let Some(first) = outcome.figures.first() {
        let memory = options.memory.map_or_else(String::new, |memory| format!(" In {memory} of memory."));
        let _ = write!(body, "<p>{}{}</p>", escape(&told_apart(first, options)), escape(&memory));
        body += &verdicts(&outcome.figures);
        body += &pictures(&outcome.figures);
        body += &costs(&outcome.figures);
        body += &settings(&outcome.figures);
    }
    for skipped in &outcome.skipped {
        let _ = write!(body, "<p>Not compared: {}: {}</p>", escape(&skipped.variant), escape(&skipped.why));
    }
    if let Some(measurement) = measurements.first() {
        let _ = write!(body, "<h2>Conditions</h2><pre>{}</pre>", escape(&conditions(measurement)));
    }
    let title = escape(&format!("swaptune compare: {command}"));
    let head = format!(
        "<meta charset=utf-8><meta name=viewport content='width=device-width'><title>{title}</title><style>{STYLE}</style>"
    );
    format!("<!doctype html><html lang=en><head>{head}</head><body>{body}</body></html>\n")
}

fn table(head: &[&str], rows: &[Vec<String>]) -> String {
    let cells = |tag: &str, cells: &mut dyn Iterator<Item = &str>| -> String {
        cells.map(|cell| format!("<{tag}>{}</{tag}>", escape(cell))).collect()
    };
    let head = cells("th", &mut head.iter().copied());
    let rows: String = rows.iter().map(|row| format!("<tr>{}</tr>", cells("td", &mut row.iter().map(String::as_str)))).collect();
    format!("<div class=wide><table><thead><tr>{head}</tr></thead><tbody>{rows}</tbody></table></div>")
}

fn verdicts(figures: &[CompareFigures]) -> String {
    let row = |row: &CompareFigures| {
        let elapsed = row.elapsed.map_or_else(|| "–".into(), |elapsed| format!("{:.1} s", elapsed.value));
        let of = |of: fn(&Comparison) -> String| row.comparison.as_ref().map_or_else(String::new, of);
        vec![
            row.variant.clone(),
            elapsed,
            of(|found| format!("{:.3}", found.ratio.value)),
            of(|found| format!("{:.3} – {:.3}", found.ratio.low, found.ratio.high)),
            of(|found| format!("{:.3}", found.p)),
            format!("{} of {}", ended(row).count(), row.runs.len()),
            of(|found| found.verdict.word().into()),
        ]
    };
    let head = ["", "elapsed, median", "ratio", "95 % interval", "p, corrected", "ended", "verdict"];
    table(&head, &figures.iter().map(row).collect::<Vec<_>>())
}

fn pictures(figures: &[CompareFigures]) -> String {
    let elapsed = |row: &CompareFigures| {
        let values = ended(row).map(|run| run.elapsed_s).collect();
        (row.variant.clone(), values, row.elapsed.map(|elapsed| elapsed.value))
    };
    let mut page = "<h2>Elapsed time of every run, s</h2>".to_owned();
    page += &svg::strip("Elapsed time of every run", &figures.iter().map(elapsed).collect::<Vec<_>>());
    let ratios = |row: &CompareFigures| {
        let ratio = row.comparison.as_ref()?.ratio;
        Some((row.variant.clone(), ratio.low, ratio.value, ratio.high))
    };
    let ratios: Vec<_> = figures.iter().filter_map(ratios).collect();
    if let (false, Some(against)) = (ratios.is_empty(), figures.first()) {
        let title = format!("Times {}, 95 % intervals", against.variant);
        let _ = write!(page, "<h2>{}</h2>{}", escape(&title), svg::intervals(&title, &ratios));
    }
    page += "<h2>The median run of each</h2>";
    page += &key(figures);
    page += &timeline(figures, "Pool, MiB", |look| mebi(look.pool));
    page += &timeline(figures, "Swap in use, MiB", |look| mebi(look.swap));
    page += &timeline(figures, "Stalled on memory, %", |look| look.some_stall_percent);
    page
}

fn mebi(bytes: Bytes) -> f64 {
    bytes.0 as f64 / f64::from(1 << 20)
}

fn key(figures: &[CompareFigures]) -> String {
    let entry = |(place, row): (usize, &CompareFigures)| {
        format!("<span><i style='background:{}'></i>{}</span>", svg::colour(place), escape(&row.variant))
    };
    format!("<p class=key>{}</p>", figures.iter().enumerate().map(entry).collect::<String>())
}

fn timeline(figures: &[CompareFigures], title: &str, of: fn(&CompareLook) -> f64) -> String {
    let line = |row: &CompareFigures| {
        let points = middle(row).map(|run| run.timeline.iter().map(|look| (look.at_s, of(look))).collect()).unwrap_or_default();
        (row.variant.clone(), points)
    };
    svg::lines(title, title, &figures.iter().map(line).collect::<Vec<_>>())
}

/// The run whose time is nearest to the median.
fn middle(row: &CompareFigures) -> Option<&CompareRun> {
    let wanted = row.elapsed?.value;
    ended(row).min_by(|a, b| (a.elapsed_s - wanted).abs().total_cmp(&(b.elapsed_s - wanted).abs()))
}

fn costs(figures: &[CompareFigures]) -> String {
    let head: Vec<&str> = std::iter::once("").chain(COSTS.iter().map(|cost| cost.head)).collect();
    let row = |row: &CompareFigures| -> Vec<String> {
        let cell =
            |cost: &super::Cost| median(&row.runs.iter().map(cost.of).collect::<Vec<_>>()).map_or_else(|| "–".into(), cost.shown);
        std::iter::once(row.variant.clone()).chain(COSTS.iter().map(cell)).collect()
    };
    let title = "<h2>What a run costs: medians, disk and pool in pages</h2>";
    format!("{title}{}", table(&head, &figures.iter().map(row).collect::<Vec<_>>()))
}

fn settings(figures: &[CompareFigures]) -> String {
    let mut page = "<h2>What each configuration set</h2>".to_owned();
    for row in figures {
        let set = if row.settings.is_empty() { "nothing".to_owned() } else { row.settings.join("\n") };
        let _ = write!(page, "<p><b>{}</b></p><pre>{}</pre>", escape(&row.variant), escape(&set));
    }
    page
}
