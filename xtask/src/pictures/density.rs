//! How late the 99th percentile of a wake is at each number of services, a line for each configuration and a dot for each round.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::fs;

use anyhow::Context;
use swaptune_bench::variant::BUILT_IN;
use swaptune_core::measurement::{DensityFigures, DensityLevel, Measurement, ResultFigures};
use swaptune_kernel::stats::{Nanos, median};

use super::{escaped, file};

/// Results, what is to be said of the disk, and the upper end of the axis of latencies, ms.
type DensityRun = (&'static str, &'static str, f64);
const FAST: DensityRun = ("docs/evidence/density.jsonl", "a disk of 43 µs a page", 2000.0);
const SLOW: DensityRun = ("docs/evidence/density-slow-disk.jsonl", "a disk of 3000 operations and 125 MiB a second", 50_000.0);
const SIZE: (f64, f64) = (760.0, 440.0);
/// Left, top, right and bottom edge of the plot.
const PLOT: (f64, f64, f64, f64) = (64.0, 72.0, 650.0, 392.0);
/// The lower end of the axis of latencies, ms, which is logarithmic.
const LEAST_LATE: f64 = 2.0;
/// Labels stand at least this far apart.
const LABEL: f64 = 16.0;
const FONT: &str = "font-family=\"system-ui,sans-serif\"";
const GREY: &str = "#57606a";
/// Colours that stay apart for the colour-blind (Okabe and Ito, 2008), ours last.
const COLOURS: [(&str, &str); 7] = [
    ("none", "#000000"),
    ("disk", "#cc79a7"),
    ("zswap", "#009e73"),
    ("zram", "#e69f00"),
    ("zram-pop", "#d55e00"),
    ("guide", "#56b4e9"),
    ("auto", "#0072b2"),
];

/// What became of one configuration at each number of services, over all rounds of all runs.
struct DensityLine {
    variant: &'static str,
    colour: &'static str,
    /// 99th percentiles, ms.
    late: BTreeMap<u32, Vec<f64>>,
    /// The number at which services were killed or fell behind.
    ended: Option<u32>,
}

/// The picture of the results with the disk as it is.
pub fn fast() -> anyhow::Result<String> {
    draw(FAST)
}

/// With its operations and bytes limited.
pub fn slow() -> anyhow::Result<String> {
    draw(SLOW)
}

fn draw((results, disk, most_late): DensityRun) -> anyhow::Result<String> {
    let figures = read(results)?;
    let first = figures.first().context("no result")?;
    let lines: Vec<DensityLine> = COLOURS.iter().filter_map(|(variant, colour)| line(variant, colour, &figures)).collect();
    let numbers = || lines.iter().flat_map(|line| line.late.keys().copied());
    let axis = PlotScale { least: numbers().min().unwrap_or(0), most: numbers().max().unwrap_or(1), most_late };
    let load = &first.load;
    let title = format!("Idle {} services in {} of RAM", load.service, first.memory);
    let conditions = format!("{} each, {disk}; 99th percentile of a wake; a dot is a round", load.heap);
    let mut drawn = String::new();
    text(&mut drawn, (20.0, 28.0), "font-size=\"18\" font-weight=\"600\" fill=\"#1b1f24\"", &title);
    text(&mut drawn, (20.0, 47.0), &format!("font-size=\"13\" fill=\"{GREY}\""), &conditions);
    axis.draw(&mut drawn, ms(load.bound));
    let mut labels: Vec<(f64, f64, &DensityLine)> = lines.iter().map(|line| draw_line(&mut drawn, &axis, line)).collect();
    draw_labels(&mut drawn, &mut labels);
    Ok(file(SIZE, "#ffffff", &about(&title, &lines, ms(load.bound)), &drawn))
}

fn read(results: &'static str) -> anyhow::Result<Vec<DensityFigures>> {
    let lines = fs::read_to_string(results).context(results)?;
    let measurement = |line: &str| serde_json::from_str::<Measurement>(line).context(results);
    let density = |measurement: Measurement| match measurement.figures {
        ResultFigures::Density(figures) => Some(figures),
        _ => None,
    };
    lines.lines().map(measurement).filter_map(|found| found.map(density).transpose()).collect()
}

fn line(variant: &'static str, colour: &'static str, figures: &[DensityFigures]) -> Option<DensityLine> {
    debug_assert!(BUILT_IN.iter().any(|built_in| built_in.name == variant));
    let rounds = figures.iter().filter(|row| row.variant == variant).flat_map(|row| &row.rounds);
    let levels: Vec<&DensityLevel> = rounds.flat_map(|round| &round.levels).collect();
    let mut late: BTreeMap<u32, Vec<f64>> = BTreeMap::new();
    for level in &levels {
        if let Some(wake) = &level.wake {
            late.entry(level.services).or_default().push(ms(wake.p99));
        }
    }
    let ended = levels.iter().filter(|level| level.wake.is_none()).map(|level| level.services).min();
    (!late.is_empty()).then_some(DensityLine { variant, colour, late, ended })
}

fn ms(nanos: Nanos) -> f64 {
    nanos.0 as f64 / 1e6
}

impl DensityLine {
    fn median(&self, services: u32) -> f64 {
        median(&self.late[&services]).unwrap_or(f64::NAN)
    }
}

/// The scale of both axes.
struct PlotScale {
    least: u32,
    most: u32,
    most_late: f64,
}

impl PlotScale {
    fn x(&self, services: u32) -> f64 {
        let span = f64::from(self.most - self.least).max(1.0);
        PLOT.0 + (PLOT.2 - PLOT.0) * (f64::from(services) - f64::from(self.least)) / span
    }

    fn y(&self, ms: f64) -> f64 {
        let share = (ms.clamp(LEAST_LATE, self.most_late) / LEAST_LATE).ln() / (self.most_late / LEAST_LATE).ln();
        PLOT.3 - (PLOT.3 - PLOT.1) * share
    }

    fn draw(&self, drawn: &mut String, bound: f64) {
        let style = format!("font-size=\"12\" fill=\"{GREY}\"");
        let decades = [1.0, 10.0, 100.0, 1000.0, 10_000.0].iter().flat_map(|decade| [1.0, 2.0, 5.0].map(|step| step * decade));
        for ms in decades.filter(|ms| (LEAST_LATE..=self.most_late).contains(ms)) {
            let y = self.y(ms);
            let (colour, dash) = if ms == bound { ("#1b1f24", " stroke-dasharray=\"5 4\"") } else { ("#e3e7eb", "") };
            let _ = writeln!(drawn, "<path d=\"M{} {y:.1}H{}\" stroke=\"{colour}\"{dash}/>", PLOT.0, PLOT.2);
            text(drawn, (PLOT.0 - 8.0, y + 4.0), &format!("{style} text-anchor=\"end\""), &format!("{ms:.0}"));
        }
        text(drawn, (PLOT.0 - 8.0, PLOT.1 - 9.0), &format!("{style} text-anchor=\"end\""), "ms");
        for services in (self.least..=self.most).filter(|number| number % 8 == 0) {
            text(drawn, (self.x(services), PLOT.3 + 18.0), &format!("{style} text-anchor=\"middle\""), &services.to_string());
        }
        text(drawn, (PLOT.0, PLOT.3 + 38.0), &style, "services");
    }
}

/// A line with its dots; where its label goes.
fn draw_line<'a>(drawn: &mut String, axis: &PlotScale, line: &'a DensityLine) -> (f64, f64, &'a DensityLine) {
    let ours = if line.variant == "auto" { 3.0 } else { 1.6 };
    let points: Vec<(f64, f64)> = line.late.keys().map(|number| (axis.x(*number), axis.y(line.median(*number)))).collect();
    let path: Vec<String> = points.iter().map(|(x, y)| format!("{x:.1} {y:.1}")).collect();
    let colour = line.colour;
    let _ = writeln!(drawn, "<path d=\"M{}\" fill=\"none\" stroke=\"{colour}\" stroke-width=\"{ours}\"/>", path.join("L"));
    for (number, late) in &line.late {
        for ms in late {
            let (x, y) = (axis.x(*number), axis.y(*ms));
            let _ = writeln!(drawn, "<circle cx=\"{x:.1}\" cy=\"{y:.1}\" r=\"2.2\" fill=\"{colour}\"/>");
        }
    }
    let last = points.last().copied().unwrap_or_default();
    let Some(ended) = line.ended else { return (PLOT.2 + 10.0, last.1, line) };
    // It goes out of the picture: no wake was answered there.
    let (x, y) = (axis.x(ended), PLOT.1 + 6.0);
    let _ = writeln!(
        drawn,
        "<path d=\"M{:.1} {:.1}L{x:.1} {y:.1}\" stroke=\"{colour}\" stroke-width=\"{ours}\" stroke-dasharray=\"2 3\"/>",
        last.0, last.1
    );
    let _ =
        writeln!(drawn, "<path d=\"M{0:.1} {1:.1}l8 8m0 -8l-8 8\" stroke=\"{colour}\" stroke-width=\"2\"/>", x - 4.0, y - 4.0);
    (x + 8.0, y + 4.0, line)
}

/// Names of lines at their ends, from above, none on another.
fn draw_labels(drawn: &mut String, labels: &mut [(f64, f64, &DensityLine)]) {
    labels.sort_by(|a, b| a.1.total_cmp(&b.1));
    let mut lowest = f64::NEG_INFINITY;
    for (x, y, line) in labels.iter() {
        let ends_here = line.ended.is_none();
        let y = if ends_here { (y + 4.0).max(lowest + LABEL) } else { *y };
        if ends_here {
            lowest = y;
        }
        let weight = if line.variant == "auto" { 700 } else { 500 };
        text(drawn, (*x, y), &format!("font-size=\"13\" font-weight=\"{weight}\" fill=\"{}\"", line.colour), line.variant);
    }
}

/// The same in words.
fn about(title: &str, lines: &[DensityLine], bound: f64) -> String {
    let words = lines.iter().map(|line| {
        let held = line.late.keys().copied().filter(|number| line.median(*number) <= bound).max().unwrap_or(0);
        let end = line.ended.map_or_else(String::new, |number| format!(", killed or behind at {number}"));
        format!("{} {held}{end}", line.variant)
    });
    format!("{title}. Most within {bound:.0} ms: {}", words.collect::<Vec<_>>().join("; "))
}

fn text(drawn: &mut String, (x, y): (f64, f64), style: &str, text: &str) {
    let _ = writeln!(drawn, "<text x=\"{x:.1}\" y=\"{y:.1}\" {FONT} {style}>{}</text>", escaped(text));
}
