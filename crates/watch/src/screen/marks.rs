//! Characters and colours: what a terminal can show.
//!
//! Colours are blue, yellow and their kin, which people with any kind of colour blindness tell apart, and nothing depends on them: each
//! part of a bar has a character of its own, and each number its word.

use ratatui::style::{Color, Modifier, Style};

/// How the screen is drawn.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ScreenMarks {
    /// Colours may be used: `NO_COLOR` is not set.
    pub colour: bool,
    /// Only ASCII: the locale is not UTF-8.
    pub ascii: bool,
}

const BLOCKS: [char; 8] = ['▁', '▂', '▃', '▄', '▅', '▆', '▇', '█'];
const ASCII: [char; 8] = ['.', ':', '-', '=', '+', '*', '%', '#'];
/// Parts of a bar: first the one that matters least to tell apart.
const PARTS: [char; 6] = ['█', '▓', '▒', '░', '▚', '·'];
const ASCII_PARTS: [char; 6] = ['#', '%', '+', '-', '=', '.'];
const COLOURS: [Color; 6] = [Color::Blue, Color::Yellow, Color::Cyan, Color::Magenta, Color::Gray, Color::DarkGray];

impl ScreenMarks {
    /// What the environment says of the terminal (`NO_COLOR`, and the locale in `LC_ALL`, `LC_CTYPE`, `LANG`).
    #[must_use]
    pub fn of_environment() -> Self {
        let said = |name: &str| std::env::var(name).ok().filter(|value| !value.is_empty());
        let locale = said("LC_ALL").or_else(|| said("LC_CTYPE")).or_else(|| said("LANG"));
        Self { colour: said("NO_COLOR").is_none(), ascii: !is_utf8(locale.as_deref()) }
    }

    /// History as one line: each value as a share of the largest, the newest at the right.
    #[must_use]
    pub fn history(self, values: impl ExactSizeIterator<Item = Option<f64>> + Clone, width: usize) -> String {
        let skip = values.len().saturating_sub(width);
        let shown = values.skip(skip);
        let most = shown.clone().flatten().fold(0.0, f64::max);
        let levels = if self.ascii { ASCII } else { BLOCKS };
        shown
            .map(|value| match value {
                None => ' ',
                Some(value) if value <= 0.0 || most <= 0.0 => {
                    if self.ascii {
                        '_'
                    } else {
                        '▁'
                    }
                }
                Some(value) => levels[((value / most * 7.0).round() as usize).min(7)],
            })
            .collect()
    }

    /// The character of a part of a bar.
    #[must_use]
    pub fn part(self, index: usize) -> char {
        let parts = if self.ascii { ASCII_PARTS } else { PARTS };
        parts[index % parts.len()]
    }

    /// The style of a part of a bar.
    #[must_use]
    pub fn part_style(self, index: usize) -> Style {
        if self.colour { Style::new().fg(COLOURS[index % COLOURS.len()]) } else { Style::new() }
    }

    /// Headings.
    #[must_use]
    pub fn heading(self) -> Style {
        Style::new().add_modifier(Modifier::BOLD)
    }

    /// What asks for attention.
    #[must_use]
    pub fn alert(self) -> Style {
        let style = Style::new().add_modifier(Modifier::REVERSED);
        if self.colour { style.fg(Color::Yellow) } else { style }
    }

    /// A text of ours for this terminal: in ASCII the few other characters that we use are written around.
    #[must_use]
    pub fn text(self, text: &str) -> String {
        if !self.ascii {
            return text.to_owned();
        }
        text.chars()
            .map(|letter| match letter {
                letter if letter.is_ascii() => letter,
                '·' | '–' => '-',
                _ => '?',
            })
            .collect()
    }
}

fn is_utf8(locale: Option<&str>) -> bool {
    locale.is_some_and(|locale| {
        let locale = locale.to_ascii_lowercase();
        locale.contains("utf-8") || locale.contains("utf8")
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_locales_of_utf8_get_more_than_ascii() {
        for (locale, expect) in
            [(Some("de_DE.UTF-8"), true), (Some("C.utf8"), true), (Some("C"), false), (Some("POSIX"), false), (None, false)]
        {
            assert_eq!(is_utf8(locale), expect, "{locale:?}");
        }
    }

    #[test]
    fn history_is_scaled_to_its_largest_and_keeps_gaps() {
        let marks = ScreenMarks { colour: false, ascii: false };
        let values = [Some(9.0), None, Some(0.0), Some(4.0), Some(8.0)];
        assert_eq!(marks.history(values.into_iter(), 4), " ▁▅█");
        assert_eq!(ScreenMarks { ascii: true, ..marks }.history(values.into_iter(), 4), " _+#");
        assert_eq!(marks.history([Some(0.0)].into_iter(), 9), "▁");
    }

    #[test]
    fn parts_of_a_bar_differ_without_colour() {
        for ascii in [false, true] {
            let marks = ScreenMarks { colour: false, ascii };
            let parts: std::collections::BTreeSet<char> = (0..6).map(|index| marks.part(index)).collect();
            assert_eq!(parts.len(), 6);
            assert!((0..6).all(|index| marks.part_style(index) == Style::new()));
        }
    }
}
