//! What scenarios came to: tables, CSV, JSON.

use serde::Serialize;
use serde_json::{Map, Value, json};
use std::fmt::Write;
use swaptune_bench::this_machine::Cite;
use swaptune_core::Bytes;
use swaptune_tiers::model::Backing;
use swaptune_tiers::scenario::{
    ColumnUnit, METRICS, Point, Published, PublishedFigure, ReportColumn, Scenario, SeedSpread, Sides, Sign, SignOfSeeds,
    Tiering, TieringRun,
};

use super::text;

/// Bytes of a page.
const PAGE: u64 = 4096;

/// A scenario and its runs.
pub struct ScenarioDone<'a> {
    /// Its file, or the flag that it comes from.
    pub file: String,
    /// Whether it was typed in flags, so that it should be said how they were understood.
    pub is_typed: bool,
    /// The scenario.
    pub scenario: &'a Scenario,
    /// Of each point, in their order, the run of each tiering.
    pub points: Vec<Vec<TieringRun>>,
}

/// The runs of a tiering, one for each seed.
fn of(tiering: usize, runs: &[Vec<TieringRun>]) -> Vec<&TieringRun> {
    runs.iter().map(|runs| &runs[tiering]).collect()
}

/// The runs of a tiering at a value of the sweep, one for each seed.
pub(super) struct TieringRuns<'a> {
    pub(super) at: Option<&'a str>,
    pub(super) tiering: &'a str,
    pub(super) runs: Vec<&'a TieringRun>,
    /// Those of the tiering that others are relative to.
    base: Vec<&'a TieringRun>,
}

impl TieringRuns<'_> {
    /// The metric over the seeds that have it.
    pub(super) fn spread(&self, metric: &ReportColumn) -> Option<SeedSpread> {
        SeedSpread::of(self.runs.iter().filter_map(|run| (metric.of)(run)))
    }

    /// The metric by that of the base with the same seed.
    fn ratios(&self, metric: &ReportColumn) -> Vec<f64> {
        let by = |(run, base): (&&TieringRun, &&TieringRun)| {
            Some((metric.of)(run)? / (metric.of)(base)?).filter(|ratio| ratio.is_finite())
        };
        self.runs.iter().zip(&self.base).filter_map(by).collect()
    }
}

impl ScenarioDone<'_> {
    /// Point, tiering and run of each, in order.
    fn each(&self) -> impl Iterator<Item = (&Point, &str, &TieringRun)> {
        self.scenario.points.iter().zip(&self.points).flat_map(|(point, runs)| {
            point.tierings.iter().zip(runs).map(move |(tiering, run)| (point, tiering.name.as_str(), run))
        })
    }

    /// The same, seeds together.
    pub(super) fn rows(&self) -> Vec<TieringRuns<'_>> {
        let seeds = self.scenario.seeds;
        let values = self.scenario.points.chunks(seeds).zip(self.points.chunks(seeds));
        let base = self.scenario.relative_to.as_deref();
        let mut rows = Vec::new();
        for (points, runs) in values {
            let tierings = &points[0].tierings;
            let base = tierings.iter().position(|tiering| Some(tiering.name.as_str()) == base);
            let base = || base.map_or_else(Vec::new, |base| of(base, runs));
            rows.extend(tierings.iter().enumerate().map(|(index, tiering)| TieringRuns {
                at: points[0].at.as_deref(),
                tiering: &tiering.name,
                runs: of(index, runs),
                base: base(),
            }));
        }
        rows
    }

    fn comparisons(&self, published: &Published) -> Vec<PublishedFigure> {
        let seeds = self.scenario.seeds;
        published.compare(seeds, |name, value, seed| {
            let point = value * seeds + seed;
            let tiering = self.scenario.points[point].tierings.iter().position(|tiering| tiering.name == name)?;
            (published.metric.of)(&self.points[point][tiering])
        })
    }
}

/// For people.
pub fn tables(done: &[ScenarioDone]) -> String {
    done.iter().map(table).collect::<Vec<_>>().join("\n")
}

fn table(done: &ScenarioDone) -> String {
    let scenario = done.scenario;
    let mut page = format!("{}\n", scenario.title);
    if !scenario.source.is_empty() {
        page += &text::wrap(&format!("Source: {}", scenario.source), 2);
    }
    if scenario.seeds > 1 {
        page += &text::wrap(&format!("Medians of {} seeds, in brackets the least and the most", scenario.seeds), 2);
    } else if scenario.relative_to.is_some() || !scenario.published.is_empty() {
        page += &text::wrap("One seed decides no sign: --set seeds=5", 2);
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

/// The table, below its head.
pub(super) fn cells(done: &ScenarioDone) -> Vec<Vec<String>> {
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
    let by = scenario.relative_to.as_ref().map(|name| format!("BY `{name}`"));
    for (index, metric) in scenario.report.iter().enumerate() {
        head.push(metric.name.to_uppercase());
        head.extend(by.clone().filter(|_| index == 0));
        head.extend(by.as_ref().filter(|_| index == 0).map(|_| "SIGN".to_owned()));
    }
    let row = |row: TieringRuns| {
        let mut cells = vec![row.tiering.to_owned()];
        cells.extend(row.at.map(|at| ram_of(at).unwrap_or_else(|| at.to_owned())));
        let shown =
            |spread: Option<SeedSpread>, unit| spread.map_or_else(|| "-".into(), |spread| ranged(spread, |of| value(unit, of)));
        for (index, metric) in scenario.report.iter().enumerate() {
            cells.push(shown(row.spread(metric), metric.unit));
            if by.is_some() && index == 0 {
                let ratios = row.ratios(metric);
                cells.push(SeedSpread::of(ratios.iter().copied()).map_or_else(|| "-".into(), |spread| ranged(spread, ratio)));
                let is_base = Some(row.tiering) == scenario.relative_to.as_deref();
                cells.push(if is_base { String::new() } else { side(Sides::of(ratios)) });
            }
        }
        cells
    };
    std::iter::once(head).chain(done.rows().into_iter().map(row)).collect()
}

/// A median and its range, with the unit once where all three have the same.
fn ranged(spread: SeedSpread, shown: impl Fn(f64) -> String) -> String {
    let [median, least, most] = [spread.median, spread.least, spread.most].map(shown);
    if least == median && most == median {
        return median;
    }
    let bare = |text: &String| {
        let (_, unit) = median.rsplit_once(' ')?;
        Some(text.strip_suffix(unit)?.strip_suffix(' ')?.to_owned())
    };
    let (least, most) = bare(&least).zip(bare(&most)).unwrap_or((least, most));
    format!("{median} [{least}–{most}]")
}

fn ratio(ratio: f64) -> String {
    format!("{ratio:.3}")
}

/// That memory ran out is told even where no column asks.
fn ran_out(done: &ScenarioDone) -> String {
    let mut lines = String::new();
    for row in done.rows() {
        let ends: Vec<(u64, u64)> = row.runs.iter().filter_map(|run| Some((run.outcome.out_of_memory?, run.events))).collect();
        let Some((first, events)) = ends.iter().min() else { continue };
        let at = row.at.map_or(String::new(), |at| format!(" at {at}"));
        let seeds = row.runs.len();
        let with = if seeds > 1 { format!(" with {} of {seeds} seeds, first", ends.len()) } else { String::new() };
        let _ = writeln!(lines, "  {}{at}: out of memory{with} at access {first} of {events}", row.tiering);
    }
    lines
}

/// The sign of a difference, and with how many seeds it is so.
fn side(sides: Sides) -> String {
    let (seeds, most) = (sides.seeds(), sides.below.max(sides.above));
    match sides.side() {
        SignOfSeeds::Below => format!("below, {seeds} of {seeds}"),
        SignOfSeeds::Above => format!("above, {seeds} of {seeds}"),
        SignOfSeeds::Level => "level".to_owned(),
        SignOfSeeds::Undecided if seeds < Sides::LEAST => format!("undecided: {}", text::count(seeds, "seed")),
        SignOfSeeds::Undecided => {
            format!("undecided: {} {most} of {seeds}", if sides.below > sides.above { "below" } else { "above" })
        }
    }
}

/// Whether ours has the sign that was published.
fn sign(row: &PublishedFigure) -> String {
    let (seeds, with) = (row.sides.seeds(), row.sides.on_side_of(row.published));
    match row.sign() {
        None => String::new(),
        Some(Sign::AsPublished) => format!("as published, {seeds} of {seeds}"),
        Some(Sign::Level) => "ours is level".to_owned(),
        Some(Sign::Against) => format!("against it, {seeds} of {seeds}"),
        Some(Sign::Undecided) if seeds < Sides::LEAST => format!("undecided: {}", text::count(seeds, "seed")),
        Some(Sign::Undecided) => format!("undecided: as published {with} of {seeds}"),
    }
}

fn compared(done: &ScenarioDone) -> String {
    done.scenario.published.iter().map(|published| compared_with(done, published)).collect()
}

fn compared_with(done: &ScenarioDone, published: &Published) -> String {
    let base = published.relative_to.as_ref().map_or("the largest".to_owned(), |base| format!("`{base}`"));
    let mut lines = format!("\nPublished: {}; beside ours, both relative to {base}\n", published.what);
    let mut rows = vec![["TIERING", "AT", "PUBLISHED", "RELATIVE", "OURS", "DIFFERENCE", "SIGN"].map(str::to_owned).to_vec()];
    for row in done.comparisons(published) {
        let at = done.scenario.points[row.value * done.scenario.seeds].at.clone().unwrap_or_else(|| "-".into());
        let difference = format!("{:+.1} %", row.difference() * 100.0);
        // Relative to the largest of all, everything lies below it.
        let sign = if published.relative_to.is_some() { sign(&row) } else { String::new() };
        let cells = [at, row.figure.to_string(), ratio(row.published), ranged(row.ours, ratio), difference, sign];
        rows.push(std::iter::once(row.tiering.clone()).chain(cells).collect());
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
    format!("{}: {parts} (Linux {}, page-cluster {})", tiering.name, settings.kernel, settings.page_cluster)
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

/// A figure with its unit.
pub(super) fn value(unit: ColumnUnit, value: f64) -> String {
    match unit {
        ColumnUnit::Seconds => seconds(value),
        ColumnUnit::Bytes => Bytes(value as u64).to_string(),
        ColumnUnit::Count => format!("{value:.0}"),
        ColumnUnit::Ratio => format!("{value:.2}"),
        ColumnUnit::Percent => format!("{value:.1} %"),
        ColumnUnit::PerSecond => format!("{value:.0}/s"),
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

/// Comma-separated values: every metric, in its basic unit, of each seed by itself.
pub fn csv(done: &[ScenarioDone]) -> String {
    let names: Vec<&str> = METRICS.iter().map(|metric| metric.name).collect();
    let mut out = format!("scenario,tiering,key,at,seed,{}\n", names.join(","));
    for done in done {
        for (point, tiering, run) in done.each() {
            let figures: Vec<String> =
                METRICS.iter().map(|metric| (metric.of)(run).map_or(String::new(), |value| value.to_string())).collect();
            let key = done.scenario.key.as_deref().unwrap_or("");
            let words = [&done.file, tiering, key, point.at.as_deref().unwrap_or("")].map(quoted);
            let seed = point.seed.map_or(String::new(), |seed| seed.to_string());
            let _ = writeln!(out, "{},{seed},{}", words.join(","), figures.join(","));
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
pub struct ScenarioJson {
    scenarios: Vec<Value>,
    measured: Vec<Value>,
}

/// For programs.
pub fn json(done: &[ScenarioDone], cites: &[&Cite]) -> ScenarioJson {
    let one = |done: &ScenarioDone| {
        let runs = done.each().map(|(point, tiering, run)| {
            let figures = METRICS.iter().filter_map(|metric| Some((metric.name.to_owned(), json!((metric.of)(run)?))));
            json!({ "tiering": tiering, "at": point.at, "seed": point.seed, "figures": figures.collect::<Map<_, _>>() })
        });
        let rows = done.rows().into_iter().map(|row| {
            let figures = METRICS.iter().filter_map(|metric| Some((metric.name.to_owned(), spread(row.spread(metric)?))));
            let relative = METRICS.iter().filter_map(|metric| {
                let ratios = row.ratios(metric);
                let mut told = spread(SeedSpread::of(ratios.iter().copied())?);
                told["sign"] = sides(Sides::of(ratios));
                Some((metric.name.to_owned(), told))
            });
            let [figures, relative] = [figures.collect::<Map<_, _>>(), relative.collect()];
            json!({ "tiering": row.tiering, "at": row.at, "figures": figures, "relative": relative })
        });
        let published = done.scenario.published.iter();
        let compared = published.flat_map(|published| done.comparisons(published).into_iter().map(move |row| (published, row)));
        let compared = compared.map(|(published, row)| {
            let at = &done.scenario.points[row.value * done.scenario.seeds].at;
            let sign = published.relative_to.as_ref().and(row.sign());
            json!({ "metric": published.metric.name, "tiering": row.tiering, "at": at, "figure": row.figure,
                    "published": row.published, "ours": row.ours.median, "ours-range": [row.ours.least, row.ours.most],
                    "difference": row.difference(), "sign": sign, "sides": sides(row.sides) })
        });
        json!({
            "file": done.file, "title": done.scenario.title, "key": done.scenario.key, "seeds": done.scenario.seeds,
            "relative-to": done.scenario.relative_to, "runs": runs.collect::<Vec<_>>(),
            "medians": if done.scenario.seeds > 1 { rows.collect::<Vec<_>>() } else { Vec::new() },
            "published": compared.collect::<Vec<_>>(),
        })
    };
    ScenarioJson { scenarios: done.iter().map(one).collect(), measured: cites.iter().map(|cite| json!(cite)).collect() }
}

/// On which side of 1 seeds are, and what that comes to.
fn sides(sides: Sides) -> Value {
    json!({ "below": sides.below, "level": sides.level, "above": sides.above, "is": sides.side() })
}

fn spread(spread: SeedSpread) -> Value {
    json!({ "median": spread.median, "least": spread.least, "most": spread.most })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_unit_is_told_once_where_it_is_the_same() {
        let shown = |median, least, most| ranged(SeedSpread { median, least, most }, seconds);
        assert_eq!(shown(2.0, 1.5, 3.0), "2.00 s [1.50–3.00]");
        assert_eq!(shown(0.858, 0.797, 2.86), "858.0 ms [797.0 ms–2.86 s]");
        assert_eq!(shown(2.0, 2.0, 2.0001), "2.00 s", "nothing to tell apart");
        assert_eq!(ranged(SeedSpread { median: 1.01, least: 0.99, most: 1.02 }, ratio), "1.010 [0.990–1.020]");
    }
}
