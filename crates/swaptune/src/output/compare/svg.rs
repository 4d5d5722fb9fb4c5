//! Pictures as SVG, drawn by hand: axes, dots, bars and lines, nothing that a browser would have to load.

use std::fmt::Write;

/// Colours that people who do not tell red from green tell apart (Okabe and Ito), one for each configuration.
pub const COLOURS: [&str; 7] = ["#0072b2", "#d55e00", "#009e73", "#cc79a7", "#e69f00", "#56b4e9", "#8c8c8c"];

/// Room left of a picture for names, and below for numbers, in pixels.
const LEFT: f64 = 150.0;
const BELOW: f64 = 28.0;
/// Width of a picture.
const WIDTH: f64 = 760.0;

/// What is drawn on one axis of values.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Axis {
    low: f64,
    high: f64,
}

impl Axis {
    /// An axis on which all of these are, with a little room, and these marks.
    pub fn over(values: impl Iterator<Item = f64>) -> Self {
        let (low, high) = values
            .filter(|value| value.is_finite())
            .fold((f64::INFINITY, f64::NEG_INFINITY), |(low, high), value| (low.min(value), high.max(value)));
        if low > high {
            return Self { low: 0.0, high: 1.0 };
        }
        let room = ((high - low) * 0.06).max(high.abs() * 0.01).max(1e-9);
        Self { low: low - room, high: high + room }
    }

    /// The same from zero.
    pub fn from_zero(values: impl Iterator<Item = f64>) -> Self {
        let high = Self::over(values.chain([0.0])).high;
        // What never was more than nothing has an axis all the same.
        Self { low: 0.0, high: if high < 1e-6 { 1.0 } else { high } }
    }

    fn at(self, value: f64) -> f64 {
        (value - self.low) / (self.high - self.low)
    }

    /// Round numbers within, four to nine of them.
    fn marks(self) -> Vec<f64> {
        let span = self.high - self.low;
        let power = 10f64.powf((span / 5.0).log10().floor());
        let steps = [1.0, 2.0, 5.0, 10.0].map(|step| step * power);
        let step = steps.into_iter().find(|step| span / step <= 8.0).unwrap_or(span);
        let first = (self.low / step).ceil() as i64;
        (first..).map(|number| number as f64 * step).take_while(|mark| *mark <= self.high).take(20).collect()
    }
}

/// A number with as many digits as its axis needs.
pub fn number(value: f64) -> String {
    let digits = if value.abs() >= 20.0 || value == 0.0 {
        0
    } else if value.abs() >= 2.0 {
        1
    } else {
        2
    };
    format!("{value:.digits$}")
}

/// Rows, one for each name, over an axis of values: what [`strip`] and [`intervals`] draw into.
struct Rows {
    body: String,
    axis: Axis,
    count: usize,
}

impl Rows {
    const HEIGHT: f64 = 30.0;

    fn begin(names: &[String], axis: Axis) -> Self {
        let mut rows = Self { body: String::new(), axis, count: names.len() };
        for mark in axis.marks() {
            let (x, below) = (rows.x(mark), rows.bottom());
            let _ = write!(rows.body, "<path class=grid d='M{x:.1} 0V{below:.1}'/>");
            let _ = write!(rows.body, "<text class=mark x={x:.1} y={:.1}>{}</text>", below + 18.0, number(mark));
        }
        for (place, name) in names.iter().enumerate() {
            let _ =
                write!(rows.body, "<text class=name x={:.1} y={:.1}>{}</text>", LEFT - 10.0, rows.y(place) + 4.0, escape(name));
        }
        rows
    }

    fn x(&self, value: f64) -> f64 {
        LEFT + self.axis.at(value) * (WIDTH - LEFT - 16.0)
    }

    fn y(&self, place: usize) -> f64 {
        (place as f64 + 0.5) * Self::HEIGHT
    }

    fn bottom(&self) -> f64 {
        self.count as f64 * Self::HEIGHT
    }

    fn end(self, title: &str) -> String {
        let height = self.bottom() + BELOW;
        format!("<svg viewBox='0 0 {WIDTH} {height:.0}' role=img aria-label='{}'>{}</svg>", escape(title), self.body)
    }
}

/// A row of dots for each name, and a stroke at the median.
pub fn strip(title: &str, rows: &[(String, Vec<f64>, Option<f64>)]) -> String {
    let names: Vec<String> = rows.iter().map(|(name, ..)| name.clone()).collect();
    let mut picture = Rows::begin(&names, Axis::over(rows.iter().flat_map(|(_, values, _)| values.iter().copied())));
    for (place, (_, values, middle)) in rows.iter().enumerate() {
        let colour = colour(place);
        for (number, value) in values.iter().enumerate() {
            // Dots of equal runs stay apart.
            let (x, y) = (picture.x(*value), picture.y(place) + ((number * 7) % 5) as f64 * 2.5 - 5.0);
            let _ = write!(picture.body, "<circle cx={x:.1} cy={y:.1} r=3 fill='{colour}' fill-opacity=.65 />");
        }
        if let Some(middle) = middle {
            let (x, y) = (picture.x(*middle), picture.y(place));
            let _ = write!(picture.body, "<path class=middle d='M{x:.1} {:.1}V{:.1}'/>", y - 11.0, y + 11.0);
        }
    }
    picture.end(title)
}

/// An interval for each name, beside a line at 1.
pub fn intervals(title: &str, rows: &[(String, f64, f64, f64)]) -> String {
    let names: Vec<String> = rows.iter().map(|(name, ..)| name.clone()).collect();
    let all = rows.iter().flat_map(|(_, low, value, high)| [*low, *value, *high]).chain([1.0]);
    let mut picture = Rows::begin(&names, Axis::over(all));
    let (one, below) = (picture.x(1.0), picture.bottom());
    let _ = write!(picture.body, "<path class=one d='M{one:.1} 0V{below:.1}'/>");
    for (place, (_, low, value, high)) in rows.iter().enumerate() {
        let (y, colour) = (picture.y(place), colour(place + 1));
        let (from, at, to) = (picture.x(*low), picture.x(*value), picture.x(*high));
        let _ = write!(picture.body, "<path stroke='{colour}' stroke-width=3 d='M{from:.1} {y:.1}H{to:.1}'/>");
        let _ = write!(picture.body, "<circle cx={at:.1} cy={y:.1} r=5 fill='{colour}'/>");
    }
    picture.end(title)
}

/// Lines over time, one for each name, from zero.
pub fn lines(title: &str, unit: &str, rows: &[(String, Vec<(f64, f64)>)]) -> String {
    const HEIGHT: f64 = 150.0;
    // The unit stands above the highest mark.
    const ABOVE: f64 = 26.0;
    let points = || rows.iter().flat_map(|(_, points)| points.iter().copied());
    let (across, up) = (Axis::from_zero(points().map(|(x, _)| x)), Axis::from_zero(points().map(|(_, y)| y)));
    let x = |value: f64| 60.0 + across.at(value) * (WIDTH - 76.0);
    let y = |value: f64| HEIGHT - up.at(value) * (HEIGHT - ABOVE);
    let mut body = String::new();
    for mark in up.marks() {
        let y = y(mark);
        let _ = write!(body, "<path class=grid d='M60 {y:.1}H{:.0}'/>", WIDTH - 16.0);
        let _ = write!(body, "<text class=name x=54 y={:.1}>{}</text>", y + 4.0, number(mark));
    }
    for mark in across.marks() {
        let _ = write!(body, "<text class=mark x={:.1} y={:.1}>{} s</text>", x(mark), HEIGHT + 18.0, number(mark));
    }
    for (place, (_, points)) in rows.iter().enumerate() {
        let path: Vec<String> = points.iter().map(|(at, value)| format!("{:.1} {:.1}", x(*at), y(*value))).collect();
        if !path.is_empty() {
            let _ = write!(body, "<path fill=none stroke='{}' stroke-width=1.8 d='M{}'/>", colour(place), path.join("L"));
        }
    }
    let height = HEIGHT + BELOW;
    format!(
        "<svg viewBox='0 0 {WIDTH} {height:.0}' role=img aria-label='{}'>{body}<text class=unit x=4 y=12>{}</text></svg>",
        escape(title),
        escape(unit)
    )
}

/// The colour of the configuration at this place.
pub fn colour(place: usize) -> &'static str {
    COLOURS[place % COLOURS.len()]
}

/// Text between tags and in attributes.
pub fn escape(text: &str) -> String {
    let mut escaped = String::with_capacity(text.len());
    for character in text.chars() {
        match character {
            '&' => escaped.push_str("&amp;"),
            '<' => escaped.push_str("&lt;"),
            '>' => escaped.push_str("&gt;"),
            '\'' => escaped.push_str("&#39;"),
            '"' => escaped.push_str("&quot;"),
            other => escaped.push(other),
        }
    }
    escaped
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn marks_are_round_and_within() {
        for (low, high) in [(0.0, 1.0), (0.93, 1.08), (3.0, 212.0), (0.0, 4e9), (99.0, 99.1)] {
            let axis = Axis { low, high };
            let marks = axis.marks();
            assert!((3..=9).contains(&marks.len()), "{low} to {high}: {marks:?}");
            assert!(marks.iter().all(|mark| (low - 1e-9..=high + 1e-9).contains(mark)), "{marks:?}");
        }
    }

    #[test]
    fn an_axis_without_values_or_with_one_is_one() {
        assert_eq!(Axis::over(std::iter::empty()), Axis { low: 0.0, high: 1.0 });
        let one = Axis::over([5.0, f64::NAN].into_iter());
        assert!(one.low < 5.0 && one.high > 5.0);
        assert_eq!(Axis::from_zero([0.0].into_iter()), Axis { low: 0.0, high: 1.0 });
    }

    #[test]
    fn what_a_user_typed_is_text_in_a_picture() {
        let picture = strip("a", &[("<script>'".into(), vec![1.0, 2.0], Some(1.5))]);
        assert!(picture.contains("&lt;script&gt;&#39;") && !picture.contains("<script>"));
        assert_eq!(picture.matches("<circle").count(), 2);
    }
}
