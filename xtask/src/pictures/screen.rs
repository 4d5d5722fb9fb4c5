//! The screen of `watch`, as it drew a recording.

use std::fmt::Write as _;
use std::path::Path;

use anyhow::Context;
use ratatui::Terminal;
use ratatui::backend::TestBackend;
use ratatui::buffer::Cell;
use ratatui::style::{Color, Modifier};
use swaptune_watch::record::RecordReader;
use swaptune_watch::screen::{ScreenMarks, View, draw as draw_screen};

use super::{escaped, file};

const RECORDING: &str = "docs/evidence/watch.swrec";
/// Columns and rows of the terminal.
const SIZE: (u16, u16) = (100, 30);
/// Width and height of a cell.
const CELL: (f64, f64) = (8.4, 17.0);
const MARGIN: f64 = 12.0;
const BACKGROUND: &str = "#14181d";
const FOREGROUND: &str = "#d7dde4";

/// The last moment of the recording.
pub fn draw() -> anyhow::Result<String> {
    let mut view = View::new(ScreenMarks { colour: true, ascii: false }, "density".to_owned());
    RecordReader::open(Path::new(RECORDING))?.for_each(|sample| view.push(sample));
    let mut terminal = Terminal::new(TestBackend::new(SIZE.0, SIZE.1))?;
    terminal.draw(|frame| draw_screen(frame, &view)).context("the screen")?;
    let cells = terminal.backend().buffer().content();
    let mut drawn = String::new();
    for (row, line) in cells.chunks(usize::from(SIZE.0)).enumerate() {
        let mut column = 0;
        for run in line.chunk_by(|a, b| a.style() == b.style()) {
            self::run(&mut drawn, run, (column, row));
            column += run.len();
        }
    }
    let size = (f64::from(SIZE.0) * CELL.0 + 2.0 * MARGIN, f64::from(SIZE.1) * CELL.1 + 2.0 * MARGIN);
    Ok(file(size, BACKGROUND, "swaptune watch: memory, pool, traffic, areas and processes", &drawn))
}

/// Cells of one style.
fn run(drawn: &mut String, cells: &[Cell], (column, row): (usize, usize)) {
    let text: String = cells.iter().map(Cell::symbol).collect();
    let Some(first) = cells.first() else { return };
    let (x, y) = (MARGIN + column as f64 * CELL.0, MARGIN + row as f64 * CELL.1);
    let width = cells.len() as f64 * CELL.0;
    let is_reversed = first.modifier.contains(Modifier::REVERSED);
    let colour = colour(first.fg);
    if is_reversed {
        let _ = writeln!(drawn, "<rect x=\"{x:.1}\" y=\"{y:.1}\" width=\"{width:.1}\" height=\"{}\" fill=\"{colour}\"/>", CELL.1);
    }
    // Blanks at both ends need no text, and some viewers take them away.
    let begins = text.chars().take_while(|letter| *letter == ' ').count();
    let text = text.trim();
    if text.is_empty() {
        return;
    }
    let (x, width) = (x + begins as f64 * CELL.0, text.chars().count() as f64 * CELL.0);
    let fill = if is_reversed { BACKGROUND } else { colour };
    let weight = if first.modifier.contains(Modifier::BOLD) { " font-weight=\"700\"" } else { "" };
    let _ = writeln!(
        drawn,
        "<text x=\"{x:.1}\" y=\"{:.1}\" textLength=\"{width:.1}\" lengthAdjust=\"spacingAndGlyphs\" xml:space=\"preserve\" \
         font-family=\"ui-monospace,DejaVu Sans Mono,monospace\" font-size=\"14\"{weight} fill=\"{fill}\">{}</text>",
        y + 13.0,
        escaped(text)
    );
}

fn colour(colour: Color) -> &'static str {
    match colour {
        Color::Blue => "#6cb0ff",
        Color::Yellow => "#e5c453",
        Color::Cyan => "#5fd0d6",
        Color::Magenta => "#d59bea",
        Color::Gray => "#b0b8c1",
        Color::DarkGray => "#7b8590",
        _ => FOREGROUND,
    }
}
