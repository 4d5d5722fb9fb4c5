//! Pictures as SVG, drawn by hand: nothing that a browser would have to load.
//!
//! Across, everything stands at a percentage of the width; down, at a pixel. So a picture fills a window of any width and its letters keep
//! their size. On a narrow one every other mark of an axis is left out.

use std::fmt::Write;

use super::axis::{Axis, number};
use super::escape::{escape, shortened};
use super::style::colour;

/// Room below a picture for numbers, in pixels.
const BELOW: f64 = 26.0;
/// Room for the name of a row on the narrowest window, in pixels.
const NAME: f64 = 280.0;
/// Marks with a text that fit on a wide window.
const MARKS: usize = 10;

/// A picture: its text is escaped.
pub struct Picture(String);

impl Picture {
    fn end(title: &str, class: &str, height: f64, body: &str) -> Self {
        Self(format!(
            "<svg class={class} role=img aria-label='{}' height={height:.0}><title>{0}</title>{body}</svg>",
            escape(title)
        ))
    }

    /// The picture as a part of a page.
    pub fn html(&self) -> &str {
        &self.0
    }
}

/// Rows, one for each name: the name, and below it what is drawn at an axis of values that all rows share.
struct Rows {
    body: String,
    axis: Axis,
    /// Percent of the width that the axis takes.
    across: f64,
    count: usize,
}

impl Rows {
    const HEIGHT: f64 = 44.0;

    /// Rows with a grid; without marks, where each row says its value.
    fn begin<'a>(names: impl ExactSizeIterator<Item = &'a str>, axis: Axis, across: f64, has_marks: bool) -> Self {
        let mut rows = Self { body: String::new(), axis, across, count: names.len() };
        let below = rows.bottom();
        for (place, mark) in axis.marks().into_iter().enumerate().filter(|_| has_marks) {
            let x = rows.x(mark);
            let _ = write!(rows.body, "<line x1={x:.2}% x2={x:.2}% y1=0 y2={below:.0} />");
            let _ = write!(rows.body, "<text class='mark{}' x={x:.2}% y={:.0}>{}</text>", odd(place), below + 18.0, number(mark));
        }
        for (place, name) in names.enumerate() {
            let y = rows.y(place) - 14.0;
            let _ = write!(rows.body, "<text class=name x=0 y={y:.0}>{}</text>", escape(&shortened(name, NAME)));
        }
        rows
    }

    /// Percent of the width.
    fn x(&self, value: f64) -> f64 {
        self.axis.at(value) * self.across / 100.0
    }

    /// The middle of what is drawn of a row.
    fn y(&self, place: usize) -> f64 {
        place as f64 * Self::HEIGHT + 29.0
    }

    fn bottom(&self) -> f64 {
        self.count as f64 * Self::HEIGHT
    }

    fn end(self, title: &str) -> Picture {
        Picture::end(title, "rows", self.bottom() + BELOW, &self.body)
    }
}

/// What is left out on a narrow window.
const fn odd(place: usize) -> &'static str {
    if place % 2 == 1 { " odd" } else { "" }
}

/// A row of dots for each name, and a stroke at the median.
pub fn strip(title: &str, rows: &[(String, Vec<f64>, Option<f64>)]) -> Picture {
    let axis = Axis::over(rows.iter().flat_map(|(_, values, _)| values.iter().copied()));
    let mut picture = Rows::begin(rows.iter().map(|(name, ..)| name.as_str()), axis, 100.0, true);
    for (place, (_, values, middle)) in rows.iter().enumerate() {
        let colour = colour(place);
        for (number, value) in values.iter().enumerate() {
            // Dots of equal runs stay apart.
            let (x, y) = (picture.x(*value), picture.y(place) + ((number * 7) % 5) as f64 * 2.5 - 5.0);
            let _ = write!(picture.body, "<circle cx={x:.2}% cy={y:.1} r=3 fill='{colour}' fill-opacity=.65 />");
        }
        if let Some(middle) = middle {
            let (x, y) = (picture.x(*middle), picture.y(place));
            let _ = write!(picture.body, "<line class=middle x1={x:.2}% x2={x:.2}% y1={:.0} y2={:.0} />", y - 9.0, y + 9.0);
        }
    }
    picture.end(title)
}

/// An interval for each name, beside a line at 1.
pub fn intervals(title: &str, rows: &[(String, f64, f64, f64)]) -> Picture {
    let all = rows.iter().flat_map(|(_, low, value, high)| [*low, *value, *high]).chain([1.0]);
    let mut picture = Rows::begin(rows.iter().map(|(name, ..)| name.as_str()), Axis::over(all), 100.0, true);
    let (one, below) = (picture.x(1.0), picture.bottom());
    let _ = write!(picture.body, "<line class=one x1={one:.2}% x2={one:.2}% y1=0 y2={below:.0} />");
    for (place, (_, low, value, high)) in rows.iter().enumerate() {
        let (y, colour) = (picture.y(place), colour(place + 1));
        let (from, at, to) = (picture.x(*low), picture.x(*value), picture.x(*high));
        let stroke = format!("style='stroke:{colour};stroke-width:3'");
        let _ = write!(picture.body, "<line {stroke} x1={from:.2}% x2={to:.2}% y1={y:.0} y2={y:.0} />");
        let _ = write!(picture.body, "<circle cx={at:.2}% cy={y:.0} r=5 fill='{colour}' />");
    }
    picture.end(title)
}

/// One bar.
pub struct Bar {
    /// What it is of.
    pub name: String,
    /// How long it is; `None` where that is not known.
    pub value: Option<f64>,
    /// Least and most, where these are known.
    pub range: Option<(f64, f64)>,
    /// What stands at its end, with its unit.
    pub says: String,
    /// Its colour.
    pub colour: &'static str,
}

/// Bars from zero, a stroke from the least to the most, and the value behind it.
pub fn bars(title: &str, rows: &[Bar]) -> Picture {
    // What stands behind the longest bar needs the rest.
    const ACROSS: f64 = 68.0;
    let ends = rows.iter().flat_map(|row| row.value.into_iter().chain(row.range.map(|(_, most)| most)));
    let mut picture = Rows::begin(rows.iter().map(|row| row.name.as_str()), Axis::from_zero(ends), ACROSS, false);
    for (place, row) in rows.iter().enumerate() {
        let (y, value) = (picture.y(place), row.value.unwrap_or(0.0));
        let (x, colour) = (picture.x(value), row.colour);
        let _ = write!(picture.body, "<rect x=0 y={:.0} width={x:.2}% height=16 fill='{colour}' />", y - 8.0);
        let mut end = x;
        if let Some((least, most)) = row.range.filter(|(least, most)| least < most) {
            let (from, to) = (picture.x(least), picture.x(most));
            let _ = write!(picture.body, "<line class=middle x1={from:.2}% x2={to:.2}% y1={y:.0} y2={y:.0} />");
            end = end.max(to);
        }
        let _ = write!(picture.body, "<text x={end:.2}% dx=6 y={:.0}>{}</text>", y + 4.0, escape(&row.says));
    }
    picture.end(title)
}

/// Bars of parts one behind the other: for each name the parts in the order of `parts`, each of which has its name and colour.
pub fn stacks(title: &str, parts: &[(&str, &'static str)], rows: &[(String, Vec<f64>)], is_share: bool) -> Picture {
    let sums = rows.iter().map(|(_, values)| values.iter().sum());
    let axis = if is_share { Axis::of_shares() } else { Axis::from_zero(sums) };
    let mut picture = Rows::begin(rows.iter().map(|(name, _)| name.as_str()), axis, 100.0, true);
    for (place, (_, values)) in rows.iter().enumerate() {
        let (y, mut before) = (picture.y(place) - 8.0, 0.0);
        for ((part, colour), value) in parts.iter().zip(values).filter(|(_, value)| **value > 0.0) {
            let (from, to) = (picture.x(before), picture.x(before + value));
            let said = format!("{part}: {}{}", number(*value), if is_share { " %" } else { "" });
            let _ =
                write!(picture.body, "<rect class=part x={from:.2}% y={y:.0} width={:.2}% height=16 fill='{colour}'>", to - from);
            let _ = write!(picture.body, "<title>{}</title></rect>", escape(&said));
            before += value;
        }
    }
    picture.end(title)
}

/// What lines are drawn on.
pub enum Chart<'a> {
    /// Numbers, each followed by this unit.
    Numbers(&'a str),
    /// One step for each of these, whatever they are: their places are 0, 1, 2 and so on.
    Steps(&'a [String]),
}

impl Chart<'_> {
    fn axis(&self, values: impl Iterator<Item = f64>) -> Axis {
        match self {
            Self::Numbers(_) => Axis::from_zero(values),
            Self::Steps(steps) => Axis::over([0.0, steps.len().saturating_sub(1) as f64].into_iter()),
        }
    }

    fn marks(&self, axis: Axis) -> Vec<(f64, String)> {
        match self {
            Self::Numbers(unit) => axis.marks().into_iter().map(|mark| (mark, format!("{}{unit}", number(mark)))).collect(),
            Self::Steps(steps) => {
                let each = steps.len().div_ceil(MARKS).max(1);
                let room = NAME / steps.len().min(MARKS).div_ceil(2).max(1) as f64 - 8.0;
                let marks = steps.iter().enumerate().filter(|(place, _)| place % each == 0);
                marks.map(|(place, step)| (place as f64, shortened(step, room))).collect()
            }
        }
    }
}

/// Lines from zero, one for each name, with the unit of their values above.
pub fn lines(title: &str, unit: &str, chart: &Chart, rows: &[(String, Vec<(f64, f64)>)]) -> Picture {
    const HEIGHT: f64 = 160.0;
    // The unit stands above the highest mark.
    const ABOVE: f64 = 26.0;
    let points = || rows.iter().flat_map(|(_, points)| points.iter().copied());
    let (across, up) = (chart.axis(points().map(|(x, _)| x)), Axis::from_zero(points().map(|(_, y)| y)));
    let mut body = String::new();
    for mark in up.marks() {
        let y = HEIGHT - up.at(mark) / 100.0 * (HEIGHT - ABOVE);
        let _ = write!(body, "<line x1=0 x2=100% y1={y:.1} y2={y:.1} />");
        let _ = write!(body, "<text class=left x=-6 y={:.1}>{}</text>", y + 4.0, number(mark));
    }
    for (place, (mark, text)) in chart.marks(across).into_iter().enumerate() {
        let (x, y) = (across.at(mark), HEIGHT + 18.0);
        let _ = write!(body, "<text class='mark{}' x={x:.2}% y={y:.0}>{}</text>", odd(place), escape(&text));
    }
    // Percent both ways, stretched to the width.
    let frame = format!("y={ABOVE} width=100% height={} viewBox='0 0 100 100' preserveAspectRatio=none", HEIGHT - ABOVE);
    let _ = write!(body, "<svg {frame}>");
    for (place, (_, points)) in rows.iter().enumerate().filter(|(_, (_, points))| !points.is_empty()) {
        let point = |(x, y): &(f64, f64)| format!("{:.2} {:.2}", across.at(*x), 100.0 - up.at(*y));
        let path: Vec<String> = points.iter().map(point).collect();
        let _ = write!(body, "<path stroke='{}' stroke-width=2 d='M{}' />", colour(place), path.join("L"));
    }
    let _ = write!(body, "</svg><text x=-56 y=12>{}</text>", escape(unit));
    Picture::end(title, "lines", HEIGHT + BELOW, &body)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_user_typed_is_text_in_a_picture() {
        let picture = strip("a", &[("<script>'".into(), vec![1.0, 2.0], Some(1.5))]);
        assert!(picture.html().contains("&lt;script&gt;&#39;") && !picture.html().contains("<script>"));
        assert_eq!(picture.html().matches("<circle").count(), 2);
    }

    #[test]
    fn parts_of_all_fill_the_width() {
        let parts = [("a", "#000"), ("b", "#111"), ("c", "#222")];
        let picture = stacks("a", &parts, &[("x".into(), vec![25.0, 0.0, 75.0])], true);
        assert!(picture.html().contains("x=0.00% y=21 width=25.00%") && picture.html().contains("x=25.00% y=21 width=75.00%"));
        assert_eq!(picture.html().matches("<rect").count(), 2, "nothing is drawn of nothing");
        assert!(picture.html().contains("<title>c: 75 %</title>"));
    }

    #[test]
    fn many_steps_have_few_marks() {
        let steps: Vec<String> = (0..45).map(|step| format!("a very long step {step}")).collect();
        let chart = Chart::Steps(&steps);
        let marks = chart.marks(chart.axis(std::iter::empty()));
        assert_eq!(marks.iter().map(|(at, _)| *at).collect::<Vec<_>>(), (0..45).step_by(5).map(f64::from).collect::<Vec<_>>());
        assert!(marks.iter().all(|(_, text)| text.ends_with('…')), "{marks:?}");
        assert_eq!(Chart::Steps(&["one".into()]).marks(chart.axis(std::iter::empty())), [(0.0, "one".to_owned())]);
    }
}
