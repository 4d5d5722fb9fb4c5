//! What scenarios came to, as a page: who is ahead, where pages came back from, curves over a sweep, and what all of it rests on.

use swaptune_bench::this_machine::Cite;
use swaptune_tiers::scenario::{ColumnUnit, METRICS, ReportColumn, WorkloadSource};

use super::report::{Bar, Chart, HtmlPage, bars, colour, lines, stacks};
use super::scenario::{ScenarioDone, TieringRuns, cells, understood, value};
use super::text;

/// Where pages come back from, by metric, each with its colour: from the nearest to the farthest.
const TIERS: [(&str, &str, &str); 4] = [
    ("zero-in", "zero map", "#f0e442"),
    ("zswap-in", "zswap", "#56b4e9"),
    ("zram-in", "zram", "#009e73"),
    ("disk-in", "disk, read-ahead included", "#d55e00"),
];

/// The page.
pub fn html(done: &[ScenarioDone], cites: &[&Cite], command: &str, swaptune: &str) -> String {
    let title = done.first().map_or("", |done| &done.scenario.title);
    let mut page = HtmlPage::begin(&format!("swaptune simulate: {title}"), "Simulated tierings");
    for done in done {
        scenario(&mut page, done);
    }
    page.heading("Costs");
    page.paragraph("What is not in this table is assumed: `swaptune simulate list` shows these figures.");
    let row = |cite: &&Cite| vec![cite.subject.to_string(), cite.value.clone(), cite.source.clone()];
    page.table(&["measured on this machine", "figure", "from"], &cites.iter().map(row).collect::<Vec<_>>());
    page.block(&format!("{command}\nswaptune {swaptune}; equal input gives equal results"));
    page.end()
}

fn scenario(page: &mut HtmlPage, done: &ScenarioDone) {
    let scenario = done.scenario;
    page.heading(&scenario.title);
    let rows = done.rows();
    if let Some(metric) = scenario.report.first() {
        page.verdict(&verdict(&rows, metric));
        page.paragraph(&format!(
            "{}: {}. Medians of {}; a stroke is from the least to the most.",
            metric.name,
            metric.about,
            text::count(scenario.seeds, "seed")
        ));
        first(page, &rows, metric);
    }
    let table = cells(done);
    page.table(&table[0].iter().map(String::as_str).collect::<Vec<_>>(), &table[1..]);
    tiers(page, &rows);
    if let Some(key) = &scenario.key {
        curves(page, done, key, &rows);
    }
    let point = &scenario.points[0];
    let workload = match &point.source {
        WorkloadSource::Generated(spec) => spec,
        WorkloadSource::Trace(name) => name,
    };
    page.label("Conditions");
    page.block(&format!(
        "scenario {}, workload {workload}, scale 1:{}, seeds {}\n{}{}",
        done.file,
        point.scale,
        scenario.seeds,
        if scenario.source.is_empty() { String::new() } else { format!("source: {}\n", scenario.source) },
        understood(scenario, |first, last| if first == last { first } else { format!("{first} to {last}") })
    ));
}

fn label(row: &TieringRuns) -> String {
    row.at.map_or_else(|| row.tiering.to_owned(), |at| format!("{at} · {}", row.tiering))
}

/// Which runs have the least and the most; one that ran out of memory did not do the work.
fn verdict(rows: &[TieringRuns], metric: &ReportColumn) -> String {
    let ended = rows.iter().filter(|row| row.runs.iter().all(|run| run.outcome.out_of_memory.is_none()));
    let mut known: Vec<(String, f64)> = ended.filter_map(|row| Some((label(row), row.spread(metric)?.median))).collect();
    known.sort_by(|a, b| a.1.total_cmp(&b.1));
    let shown = |of: &(String, f64)| format!("{} with {}", value(metric.unit, of.1), of.0);
    let ran_out = rows.iter().filter(|row| row.runs.iter().any(|run| run.outcome.out_of_memory.is_some())).count();
    let also = if ran_out > 0 { format!("; memory ran out in {ran_out} of {} rows", rows.len()) } else { String::new() };
    match (known.first(), known.last()) {
        (Some(least), Some(most)) if known.len() > 1 => {
            format!("{}: from {} to {}{also}.", metric.name, shown(least), shown(most))
        }
        (Some(one), _) => format!("{}: {}{also}.", metric.name, shown(one)),
        (None, _) => format!("{}: no run has one{also}.", metric.name),
    }
}

fn first(page: &mut HtmlPage, rows: &[TieringRuns], metric: &ReportColumn) {
    let bar = |row: &TieringRuns| {
        let spread = row.spread(metric);
        Bar {
            name: label(row),
            value: spread.map(|spread| spread.median),
            range: spread.map(|spread| (spread.least, spread.most)),
            says: spread.map_or_else(|| "–".into(), |spread| value(metric.unit, spread.median)),
            colour: colour(0),
        }
    };
    page.picture(&bars(metric.name, &rows.iter().map(bar).collect::<Vec<_>>()));
}

fn tiers(page: &mut HtmlPage, rows: &[TieringRuns]) {
    let metrics = TIERS.map(|(name, ..)| METRICS.iter().find(|metric| metric.name == name));
    let of = |row: &TieringRuns, metric: Option<&ReportColumn>| {
        metric.and_then(|metric| row.spread(metric)).map_or(0.0, |spread| spread.median)
    };
    let stack = |row: &TieringRuns| (label(row), metrics.iter().map(|metric| of(row, *metric)).collect());
    let title = "Pages that came back, by the tier that served them";
    page.label(title);
    let parts = TIERS.map(|(_, name, colour)| (name, colour));
    page.key(parts.iter().map(|(name, colour)| (*colour, *name)));
    page.picture(&stacks(title, &parts, &rows.iter().map(stack).collect::<Vec<_>>(), false));
}

/// The first metric over the values of the sweep, one line for each tiering.
fn curves(page: &mut HtmlPage, done: &ScenarioDone, key: &str, rows: &[TieringRuns]) {
    let Some(metric) = done.scenario.report.first() else { return };
    let points = done.scenario.points.chunks(done.scenario.seeds);
    let steps: Vec<String> = points.map(|points| points[0].at.clone().unwrap_or_default()).collect();
    let names: Vec<&str> = done.scenario.points[0].tierings.iter().map(|tiering| tiering.name.as_str()).collect();
    let (scale, unit) = written(metric.unit);
    let line = |name: &&str| {
        let mine = rows.iter().filter(|row| row.tiering == *name).enumerate();
        let points = mine.filter_map(|(place, row)| Some((place as f64, row.spread(metric)?.median / scale))).collect();
        ((*name).to_owned(), points)
    };
    page.label(&format!("{} over {key}", metric.name));
    page.key(names.iter().enumerate().map(|(place, name)| (colour(place), *name)));
    let curves: Vec<_> = names.iter().map(line).collect();
    page.picture(&lines(metric.name, unit, &Chart::Steps(&steps), &curves));
}

/// What a curve's values are divided by, and its unit.
const fn written(unit: ColumnUnit) -> (f64, &'static str) {
    match unit {
        ColumnUnit::Seconds => (1.0, "s"),
        ColumnUnit::Bytes => (1_048_576.0, "MiB"),
        ColumnUnit::Count => (1.0, "pages or events"),
        ColumnUnit::Ratio => (1.0, "ratio"),
        ColumnUnit::Percent => (1.0, "%"),
        ColumnUnit::PerSecond => (1.0, "accesses a second"),
    }
}
