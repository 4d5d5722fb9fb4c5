//! The screen as lines, from the top: what memory is, what moves, areas and devices, who it is about.

use ratatui::Frame;
use ratatui::layout::Rect;
use ratatui::text::{Line, Span};
use ratatui::widgets::Paragraph;
use swaptune_core::metrics::{MetricUnit, SampleLook, UnitUse, find};
use swaptune_core::{Bytes, Fact};

use super::decisions;
use super::view::{Sort, View, per_second};
use super::words::{RATES, WORDS};
use crate::text::{rate, shown};

/// Columns of words, values and what is left for history at 80.
pub(super) const WORD: usize = 13;
const VALUE: usize = 11;
/// Longest line of the parts of RAM: six marks, words, values of five characters and blanks.
const LEGEND: usize = 76;
/// Rows of the lists of areas and of devices.
const MOST: usize = 3;

/// Draws the whole screen.
pub fn draw(frame: &mut Frame<'_>, view: &View) {
    let area = frame.area();
    let (width, height) = (usize::from(area.width), usize::from(area.height));
    let mut lines = vec![head(view, width)];
    match (&view.help, view.look()) {
        (None, look) if view.decisions => lines.extend(decisions::page(view, look.as_ref(), width)),
        (Some(from), look) => lines.extend(help(view, look.as_ref(), usize::from(*from), width, height.saturating_sub(2))),
        (None, Some(look)) => lines.extend(body(view, &look, width, height.saturating_sub(2))),
        (None, None) => lines.push(Line::from("waiting for the first sample")),
    }
    lines.truncate(height.saturating_sub(1));
    // Names of units and files are anything.
    for span in lines.iter_mut().flat_map(|line| &mut line.spans) {
        span.content = view.marks.text(&span.content).into();
    }
    frame.render_widget(Paragraph::new(lines), area);
    let foot = Rect { y: area.bottom().saturating_sub(1), height: area.height.min(1), ..area };
    frame.render_widget(Paragraph::new(keys(view)), foot);
}

fn head(view: &View, width: usize) -> Line<'static> {
    let mut states = Vec::new();
    states.extend(view.paused.then(|| "paused".to_owned()));
    states.extend(view.recording.as_ref().map(|path| format!("recording to {path}")));
    states.extend(view.complaint.clone());
    let title = cut(&format!("swaptune watch {}", view.title), width / 2);
    let state = cut(&states.join(" - "), width.saturating_sub(title.chars().count() + 3));
    let style = if state.is_empty() { view.marks.heading() } else { view.marks.alert() };
    Line::from(vec![Span::styled(title, view.marks.heading()), Span::raw("  "), Span::styled(state, style)])
}

fn keys(view: &View) -> Line<'static> {
    let text = if view.help.is_some() {
        "? back   up/down scroll   q end"
    } else if view.decisions {
        "d back   ? what the words mean   q end"
    } else {
        "q end   r record   p pause   s sort   d daemon   ? what the words mean"
    };
    Line::styled(text, view.marks.heading())
}

fn body(view: &View, look: &SampleLook<'_>, width: usize, height: usize) -> Vec<Line<'static>> {
    let mut lines = memory(view, look, width);
    lines.extend(decisions::lines(view, look, width));
    lines.extend(RATES.iter().enumerate().map(|(index, _)| history(view, look, index, width)));
    lines.extend(areas(view, look, width));
    lines.extend(devices(view, look, width));
    let left = height.saturating_sub(lines.len());
    lines.extend(users(view, look, width, left));
    lines
}

/// The value of a row in its unit, or a dash.
fn value(look: &SampleLook<'_>, name: &str, label: &str) -> String {
    let found = find(name).and_then(|metric| {
        let readings = metric.readings(look);
        let reading = readings.iter().find(|reading| reading.label == label)?;
        reading.value.value().map(|value| shown(*value, metric.unit))
    });
    found.unwrap_or_else(|| "-".to_owned())
}

/// The rate of a row, or a dash.
fn speed(look: &SampleLook<'_>, name: &str, label: &str) -> String {
    let unit = find(name).map_or(MetricUnit::None, |metric| metric.unit);
    per_second(look, name, label).map_or_else(|| "-".to_owned(), |value| rate(value, unit))
}

fn memory(view: &View, look: &SampleLook<'_>, width: usize) -> Vec<Line<'static>> {
    let marks = view.marks;
    let Some(ram) = look.map.ram.value() else { return vec![Line::from("RAM           -")] };
    let parts = [
        ("apps", ram.applications),
        ("pool", ram.compressed_pool),
        ("cache", ram.page_cache),
        ("kernel", ram.kernel),
        ("other", Bytes(ram.other.0 + ram.huge_pages.0)),
        ("free", ram.free),
    ];
    let room = width.saturating_sub(WORD + 2 * VALUE + 12);
    let mut bar = vec![Span::raw(format!("{:<WORD$}", "RAM"))];
    for (index, cells) in shares(&parts.map(|(_, part)| part.0), room).into_iter().enumerate() {
        bar.push(Span::styled(marks.part(index).to_string().repeat(cells), marks.part_style(index)));
    }
    bar.push(Span::raw(format!("  {}, {} available", ram.total, value(look, "ram_available_bytes", ""))));
    let mut legend = vec![Span::raw(" ".repeat(width.saturating_sub(LEGEND).min(WORD)))];
    for (index, (word, part)) in parts.into_iter().enumerate() {
        legend.push(Span::styled(marks.part(index).to_string(), marks.part_style(index)));
        legend.push(Span::raw(format!("{word} {} ", part.to_string().replace(' ', "").replace("iB", ""))));
    }
    vec![Line::from(bar), Line::from(legend), pool(view, look, width), saved(look)]
}

fn pool(view: &View, look: &SampleLook<'_>, width: usize) -> Line<'static> {
    let pool = match &look.map.zswap {
        Fact::Known { value, .. } => value,
        Fact::Absent { .. } => return Line::from(format!("{:<WORD$}-", "zswap")),
    };
    let known = |fact: &Fact<Bytes>| fact.value().map_or(0, |bytes| bytes.0);
    let (taken, limit) = (known(&pool.ram), known(&pool.limit));
    let cells = shares(&[taken.min(limit), limit.saturating_sub(taken)], width.saturating_sub(WORD + 62).clamp(6, 24));
    let full: String = view.marks.part(1).to_string().repeat(cells[0]);
    let rest = view.marks.part(5).to_string().repeat(cells[1]);
    let ratio = pool.ratio.value().map_or_else(String::new, |ratio| format!(", {ratio} : 1"));
    let state = if pool.enabled { "" } else { "off, " };
    let accept = value(look, "zswap_accept_threshold_bytes", "");
    let text = format!(
        "  {state}{} of limit {}{ratio}, accepts below {accept}",
        value(look, "zswap_pool_bytes", ""),
        value(look, "zswap_pool_limit_bytes", "")
    );
    Line::from(vec![
        Span::raw(format!("{:<WORD$}", "zswap")),
        Span::styled(full, view.marks.part_style(1)),
        Span::raw(rest),
        Span::raw(text),
    ])
}

fn saved(look: &SampleLook<'_>) -> Line<'static> {
    Line::from(format!(
        "{:<WORD$}{}   effective {} : 1   incompressible {}",
        "saved",
        value(look, "ram_saved_bytes", ""),
        value(look, "compressed_effective_ratio", ""),
        value(look, "zswap_incompressible_ratio", "")
    ))
}

fn history(view: &View, look: &SampleLook<'_>, index: usize, width: usize) -> Line<'static> {
    let (word, metric, label) = RATES[index];
    let values = &view.history[index];
    let graph = view.marks.history(values.iter().copied(), width.saturating_sub(WORD + VALUE + 2));
    let speed = speed(look, metric, label);
    Line::from(vec![Span::raw(format!("{word:<WORD$}{speed:>VALUE$}  ")), Span::styled(graph, view.marks.part_style(0))])
}

fn areas(view: &View, look: &SampleLook<'_>, width: usize) -> Vec<Line<'static>> {
    let name = width.saturating_sub(62).max(18);
    let row = |cells: [String; 7]| {
        let [area, rest @ ..] = cells;
        rest.iter().fold(format!("{:<name$}", cut(&area, name)), |line, cell| format!("{line} {cell:>9}"))
    };
    let title = row(["AREA", "SIZE", "USED", "READ", "WRITTEN", "R-LAT", "W-LAT"].map(str::to_owned));
    let mut lines = vec![Line::styled(title, view.marks.heading())];
    let areas = &look.map.swap.areas;
    lines.extend(areas.iter().take(MOST).map(|area| {
        let path = &area.path;
        Line::from(row([
            path.clone(),
            value(look, "area_size_bytes", path),
            value(look, "area_used_bytes", path),
            speed(look, "area_read_bytes", path),
            speed(look, "area_written_bytes", path),
            value(look, "area_read_latency_seconds", path),
            value(look, "area_write_latency_seconds", path),
        ]))
    }));
    more(&mut lines, areas.len());
    lines
}

fn devices(view: &View, look: &SampleLook<'_>, width: usize) -> Vec<Line<'static>> {
    let devices: Vec<_> = look.map.zram.iter().filter(|device| device.disksize.0 > 0).collect();
    if devices.is_empty() {
        return Vec::new();
    }
    let name = width.saturating_sub(62).max(18);
    let row = |cells: [&str; 4]| format!("{:<name$} {:>9} {:>9} {:>9}", cells[0], cells[1], cells[2], cells[3]);
    let mut lines = vec![Line::styled(row(["ZRAM", "HOLDS", "TAKES", "RATIO"]), view.marks.heading())];
    lines.extend(devices.iter().take(MOST).map(|device| {
        let of = |metric: &str| value(look, metric, &device.name);
        Line::from(row([&device.name, &of("zram_original_bytes"), &of("zram_pool_bytes"), &of("zram_compression_ratio")]))
    }));
    more(&mut lines, devices.len());
    lines
}

fn more(lines: &mut Vec<Line<'static>>, count: usize) {
    if count > MOST {
        lines.push(Line::from(format!("and {} more", count - MOST)));
    }
}

/// Units at the left, processes at the right.
fn users(view: &View, look: &SampleLook<'_>, width: usize, height: usize) -> Vec<Line<'static>> {
    if height < 2 {
        return Vec::new();
    }
    let half = width * 5 / 8;
    let units = units(view, look, half, height - 1);
    let processes = processes(look, width - half, height - 1);
    let blank = |line: Option<&String>| line.cloned().unwrap_or_default();
    let row = |index: usize| format!("{:<half$}{}", blank(units.get(index)), blank(processes.get(index)));
    let mut lines = vec![Line::styled(row(0), view.marks.heading())];
    lines.extend((1..units.len().max(processes.len())).map(|index| Line::from(row(index))));
    lines
}

fn units(view: &View, look: &SampleLook<'_>, width: usize, most: usize) -> Vec<String> {
    let name = width.saturating_sub(30);
    let row = |cells: [&str; 4]| format!("{:<name$}{:>9}{:>9}{:>10}", cut(cells[0], name), cells[1], cells[2], cells[3]);
    let by = |sort: Sort| if view.sort == sort { format!("*{}", sort.word()) } else { sort.word().to_owned() };
    let mut lines = vec![row(["UNIT", &by(Sort::Swap), &by(Sort::Pool), &by(Sort::Refaults)])];
    let units = match &look.now.units {
        Fact::Known { value, .. } => value,
        Fact::Absent { absent } => {
            lines.push(cut(&format!("- {absent}"), width.saturating_sub(1)));
            return lines;
        }
    };
    let size = |bytes: Option<Bytes>| bytes.map_or_else(|| "-".to_owned(), |bytes| bytes.to_string());
    let refault = |unit: &UnitUse| {
        unit.refaults_per_second.map_or_else(|| "-".to_owned(), |pages| rate(pages * look.page(), MetricUnit::Bytes))
    };
    let mut ranked: Vec<(u64, &UnitUse)> =
        units.iter().map(|unit| (weight(view.sort, unit), unit)).filter(|(weight, _)| *weight > 0).collect();
    ranked.sort_by(|a, b| b.0.cmp(&a.0).then(a.1.name.cmp(&b.1.name)));
    lines.extend(ranked.iter().take(most).map(|(_, unit)| row([&unit.name, &size(unit.swap), &size(unit.pool), &refault(unit)])));
    lines
}

fn weight(sort: Sort, unit: &UnitUse) -> u64 {
    match sort {
        Sort::Swap => unit.swap.map_or(0, |bytes| bytes.0),
        Sort::Pool => unit.pool.map_or(0, |bytes| bytes.0),
        Sort::Refaults => unit.refaults_per_second.map_or(0, |pages| pages.ceil() as u64),
    }
}

fn processes(look: &SampleLook<'_>, width: usize, most: usize) -> Vec<String> {
    let name = width.saturating_sub(10);
    let row = |process: &str, swap: &str| format!("{:<name$}{swap:>9}", cut(process, name));
    let mut lines = vec![row("PROCESS", "SWAP")];
    match &look.now.processes {
        Fact::Known { value, .. } => {
            lines.extend(
                value
                    .iter()
                    .take(most)
                    .map(|process| row(&format!("{} {}", process.pid, process.name), &process.swap.to_string())),
            );
        }
        Fact::Absent { absent } => lines.push(cut(&format!("- {absent}"), width)),
    }
    lines
}

/// The words, each with its sentence, from a line on.
fn help(view: &View, look: Option<&SampleLook<'_>>, from: usize, width: usize, height: usize) -> Vec<Line<'static>> {
    let mut lines = Vec::new();
    for word in WORDS {
        let text = view.marks.text(&word.explained(look));
        for (index, part) in wrapped(&text, width.saturating_sub(16)).into_iter().enumerate() {
            let name = if index == 0 { word.word } else { "" };
            lines.push(Line::from(vec![Span::styled(format!("{name:<16}"), view.marks.heading()), Span::raw(part)]));
        }
    }
    let last = lines.len().saturating_sub(height);
    view.help_end.set(u16::try_from(last).unwrap_or(u16::MAX));
    lines.into_iter().skip(from.min(last)).take(height).collect()
}

pub(super) fn wrapped(text: &str, width: usize) -> Vec<String> {
    let mut lines = vec![String::new()];
    for word in text.split_whitespace() {
        let line = lines.last().map_or(0, |line| line.chars().count());
        if line > 0 && line + 1 + word.chars().count() > width {
            lines.push(String::new());
        }
        if let Some(line) = lines.last_mut() {
            if !line.is_empty() {
                line.push(' ');
            }
            line.push_str(word);
        }
    }
    lines
}

/// Cells for each of several amounts, `room` together. What is not nothing gets one, unless there are none left.
fn shares(parts: &[u64], room: usize) -> Vec<usize> {
    let total: u128 = parts.iter().map(|part| u128::from(*part)).sum();
    if total == 0 {
        return vec![0; parts.len()];
    }
    let (mut sum, mut drawn) = (0_u128, 0);
    let ends = parts.iter().map(|part| {
        sum += u128::from(*part);
        let end = usize::try_from(sum * room as u128 / total).unwrap_or(room).max(drawn + usize::from(*part > 0)).min(room);
        let cells = end - drawn;
        drawn = end;
        cells
    });
    ends.collect()
}

/// At most `width` characters; what is cut off is marked.
pub(super) fn cut(text: &str, width: usize) -> String {
    if text.chars().count() <= width {
        return text.to_owned();
    }
    text.chars().take(width.saturating_sub(1)).chain(width.checked_sub(1).map(|_| '>')).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shares_fill_the_room_and_show_what_is_small() {
        assert_eq!(shares(&[1, 1], 10), [5, 5]);
        assert_eq!(shares(&[1_000_000, 1, 0, 1_000_000], 10), [4, 1, 0, 5]);
        assert_eq!(shares(&[0, 0], 10), [0, 0]);
        assert_eq!(shares(&[u64::MAX, u64::MAX], 7).iter().sum::<usize>(), 7);
        assert_eq!(shares(&[5, 5], 0), [0, 0]);
    }

    #[test]
    fn texts_are_cut_and_wrapped_at_their_width() {
        assert_eq!((cut("abcdef", 4), cut("abc", 3), cut("abc", 0)), ("abc>".into(), "abc".into(), String::new()));
        assert_eq!(wrapped("one two three", 7), ["one two", "three"]);
        assert_eq!(wrapped("enormous", 3), ["enormous"]);
    }
}
