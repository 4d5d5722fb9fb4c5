//! How many services each configuration holds, as bars with the rounds on them.

use std::fmt::Write as _;
use std::fs;

use anyhow::Context;
use swaptune_bench::variant::BUILT_IN;
use swaptune_core::measurement::{DensityFigures, Figures, Measurement};

use super::{escaped, file};

const RESULTS: &str = "docs/evidence/density.jsonl";
const WIDTH: f64 = 760.0;
/// A name and its bar.
const ROW: f64 = 44.0;
const TOP: f64 = 62.0;
const MARGIN: f64 = 20.0;
const FONT: &str = "font-family=\"system-ui,sans-serif\"";

/// The picture of the results.
pub fn draw() -> anyhow::Result<String> {
    let mut figures = read()?;
    figures.sort_by(|a, b| a.fits.value.total_cmp(&b.fits.value));
    let first = figures.first().context("no result")?;
    let most = figures.iter().map(|row| row.fits.high).fold(1.0, f64::max);
    let scale = (WIDTH - 2.0 * MARGIN - 90.0) / most;
    let load = &first.load;
    let title = format!("Idle {} services in {} of RAM", load.service, first.memory);
    let conditions =
        format!("each holds {} and is still awake within {} in 99 of 100 cases; each dot is a round", load.heap, load.bound);
    let mut drawn = String::new();
    text(&mut drawn, (MARGIN, 28.0), "font-size=\"18\" font-weight=\"600\" fill=\"#1b1f24\"", &title);
    text(&mut drawn, (MARGIN, 47.0), "font-size=\"13\" fill=\"#57606a\"", &conditions);
    for (place, row) in figures.iter().enumerate() {
        bar(&mut drawn, row, TOP + place as f64 * ROW, scale);
    }
    let height = TOP + figures.len() as f64 * ROW + 12.0;
    let about = figures.iter().map(|row| format!("{}: {:.0}", row.variant, row.fits.value)).collect::<Vec<_>>().join(", ");
    Ok(file((WIDTH, height), "#ffffff", &format!("{title}. {about}"), &drawn))
}

fn read() -> anyhow::Result<Vec<DensityFigures>> {
    let lines = fs::read_to_string(RESULTS).context(RESULTS)?;
    let measurement = |line: &str| serde_json::from_str::<Measurement>(line).context(RESULTS);
    let density = |measurement: Measurement| match measurement.figures {
        Figures::Density(figures) => Some(figures),
        _ => None,
    };
    lines.lines().map(measurement).filter_map(|found| found.map(density).transpose()).collect()
}

fn bar(drawn: &mut String, row: &DensityFigures, top: f64, scale: f64) {
    let known = BUILT_IN.iter().find(|built_in| built_in.name == row.variant);
    let is_ours = row.variant == "auto";
    let (colour, weight) = if is_ours { ("#0b5cad", 700) } else { ("#9aa5b1", 500) };
    let name = format!("font-size=\"13\" font-weight=\"{weight}\" fill=\"#1b1f24\"");
    text(drawn, (MARGIN, top + 14.0), &name, &row.variant);
    let about = known.map_or("", |built_in| built_in.doc);
    text(drawn, (MARGIN + 74.0, top + 14.0), "font-size=\"12\" fill=\"#57606a\"", about);
    let (y, width) = (top + 20.0, row.fits.value * scale);
    let _ = writeln!(drawn, "<rect x=\"{MARGIN}\" y=\"{y}\" width=\"{width:.1}\" height=\"14\" rx=\"2\" fill=\"{colour}\"/>");
    for (place, round) in row.rounds.iter().enumerate() {
        let x = MARGIN + f64::from(round.fits) * scale;
        // Equal rounds lie one above the other.
        let y = y + 3.0 + 8.0 * place as f64 / (row.rounds.len().max(2) - 1) as f64;
        let _ = writeln!(drawn, "<circle cx=\"{x:.1}\" cy=\"{y:.1}\" r=\"2.5\" fill=\"#ffffff\" stroke=\"#1b1f24\"/>");
    }
    let furthest = row.rounds.iter().map(|round| f64::from(round.fits)).fold(row.fits.value, f64::max);
    let number = format!("font-size=\"14\" font-weight=\"{weight}\" fill=\"#1b1f24\"");
    text(drawn, (MARGIN + furthest * scale + 10.0, y + 12.0), &number, &format!("{:.0}", row.fits.value));
}

fn text(drawn: &mut String, (x, y): (f64, f64), style: &str, text: &str) {
    let _ = writeln!(drawn, "<text x=\"{x:.1}\" y=\"{y:.1}\" {FONT} {style}>{}</text>", escaped(text));
}
