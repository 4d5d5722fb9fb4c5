//! A comparison as one page that needs no other file: verdicts, every run, ratios, what the machine did, and how to repeat it.

use swaptune_bench::compare::{CompareOptions, spoken};
use swaptune_bench::variant::VariantOutcome;
use swaptune_core::Bytes;
use swaptune_core::measurement::{CompareFigures, CompareLook, CompareRun, Comparison, Measurement};

use super::{costs_of, ended, other, told_apart};
use crate::output::measurement::conditions;
use crate::output::report::{Chart, HtmlPage, colour, intervals, lines, strip};

/// The page.
pub fn html(outcome: &VariantOutcome<CompareFigures>, options: &CompareOptions, measurements: &[Measurement]) -> String {
    let command = spoken(&options.command);
    let mut page = HtmlPage::begin(&format!("swaptune compare: {command}"), &format!("Compared: {command}"));
    if let Some(first) = outcome.figures.first() {
        let memory = options.memory.map_or_else(String::new, |memory| format!(" In {memory} of memory."));
        page.paragraph(&format!("{}{memory}", told_apart(first, outcome.figures.len().saturating_sub(1), options)));
        verdicts(&mut page, &outcome.figures);
        pictures(&mut page, &outcome.figures);
        costs(&mut page, &outcome.figures);
        settings(&mut page, &outcome.figures);
    }
    for skipped in &outcome.skipped {
        page.paragraph(&format!("Not compared: {}: {}", skipped.variant, skipped.why));
    }
    if let Some(measurement) = measurements.first() {
        page.heading("Conditions");
        page.block(&conditions(measurement));
    }
    page.end()
}

fn verdicts(page: &mut HtmlPage, figures: &[CompareFigures]) {
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
            row.incomparable.map_or_else(|| of(|found| found.verdict.word().into()), |why| why.words().into()),
        ]
    };
    let head = ["", "elapsed, median", "ratio", "95 % interval", "p, corrected", "ended", "verdict"];
    page.table(&head, &figures.iter().map(row).collect::<Vec<_>>());
}

fn pictures(page: &mut HtmlPage, figures: &[CompareFigures]) {
    let elapsed = |row: &CompareFigures| {
        let values = ended(row).map(|run| run.elapsed_s).collect();
        (row.variant.clone(), values, row.elapsed.map(|elapsed| elapsed.value))
    };
    page.heading("Elapsed time of every run, s");
    page.picture(&strip("Elapsed time of every run", &figures.iter().map(elapsed).collect::<Vec<_>>()));
    let ratios = |row: &CompareFigures| {
        let ratio = row.comparison.as_ref()?.ratio;
        Some((row.variant.clone(), ratio.low, ratio.value, ratio.high))
    };
    let ratios: Vec<_> = figures.iter().filter_map(ratios).collect();
    if let (false, Some(against)) = (ratios.is_empty(), figures.first()) {
        let title = format!("Times {}, 95 % intervals", against.variant);
        page.heading(&title);
        page.picture(&intervals(&title, &ratios));
    }
    page.heading("The median run of each");
    page.key(figures.iter().enumerate().map(|(place, row)| (colour(place), row.variant.as_str())));
    timeline(page, figures, "Pool, MiB", |look| mebi(look.pool));
    timeline(page, figures, "Swap in use, MiB", |look| mebi(look.swap));
    timeline(page, figures, "Stalled on memory, %", |look| look.some_stall_percent);
}

fn mebi(bytes: Bytes) -> f64 {
    bytes.0 as f64 / f64::from(1 << 20)
}

fn timeline(page: &mut HtmlPage, figures: &[CompareFigures], title: &str, of: fn(&CompareLook) -> f64) {
    let line = |row: &CompareFigures| {
        let points = middle(row).map(|run| run.timeline.iter().map(|look| (look.at_s, of(look))).collect()).unwrap_or_default();
        (row.variant.clone(), points)
    };
    page.picture(&lines(title, title, &Chart::Numbers(" s"), &figures.iter().map(line).collect::<Vec<_>>()));
}

/// The run whose time is nearest to the median.
fn middle(row: &CompareFigures) -> Option<&CompareRun> {
    let wanted = row.elapsed?.value;
    ended(row).min_by(|a, b| (a.elapsed_s - wanted).abs().total_cmp(&(b.elapsed_s - wanted).abs()))
}

fn costs(page: &mut HtmlPage, figures: &[CompareFigures]) {
    let costs = costs_of(figures);
    let head: Vec<&str> = std::iter::once("").chain(costs.iter().map(|cost| cost.head)).collect();
    let row = |row: &CompareFigures| -> Vec<String> {
        std::iter::once(row.variant.clone()).chain(costs.iter().map(|cost| cost.cell(row))).collect()
    };
    page.heading("What a run costs: medians, disk and pool in pages");
    page.table(&head, &figures.iter().map(row).collect::<Vec<_>>());
    if let Some(other) = other(figures) {
        page.paragraph(&other);
    }
}

fn settings(page: &mut HtmlPage, figures: &[CompareFigures]) {
    page.heading("What each configuration set");
    for row in figures {
        page.label(&row.variant);
        page.block(&if row.settings.is_empty() { "nothing".to_owned() } else { row.settings.join("\n") });
    }
}
