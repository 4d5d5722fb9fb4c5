//! Text of others in a page.

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
            // A process names itself: what turns the direction of text or has no glyph is shown as what it is.
            hidden if is_hidden(hidden) => escaped.extend(hidden.escape_unicode()),
            other => escaped.push(other),
        }
    }
    escaped
}

/// Control characters but for those of lines, and marks that reorder the text around them.
fn is_hidden(letter: char) -> bool {
    let reorders = matches!(letter, '\u{200e}' | '\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}');
    reorders || (letter.is_control() && !matches!(letter, '\n' | '\t'))
}

/// The beginning of a name that is at most this wide, in pixels, in letters of 12 pixels. In a picture no line is broken.
pub fn shortened(name: &str, room: f64) -> String {
    let mut width = 0.0;
    let fits = name.chars().take_while(|letter| {
        width += width_of(*letter);
        width <= room
    });
    let fits: String = fits.collect();
    if fits.len() == name.len() {
        fits
    } else {
        fits.chars().take(fits.chars().count().saturating_sub(1)).chain(['…']).collect()
    }
}

/// Widths of a wide font without serifs, rounded up; a hidden letter is shown by its number.
fn width_of(letter: char) -> f64 {
    match letter {
        hidden if is_hidden(hidden) => 72.0,
        'm' | 'w' | 'M' | 'W' | '@' | '%' => 12.0,
        letter if letter.is_ascii_uppercase() => 9.6,
        letter if letter.is_ascii() => 7.7,
        '–' | '…' | '·' | '≤' | 'µ' => 12.0,
        _ => 14.0,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_others_typed_is_text() {
        assert_eq!(escape("<b a='x' c=\"y\">&\n"), "&lt;b a=&#39;x&#39; c=&quot;y&quot;&gt;&amp;\n");
        assert_eq!(escape("a\u{1b}[1m\u{202e}z"), "a\\u{1b}[1m\\u{202e}z");
    }

    #[test]
    fn a_long_name_ends_early() {
        assert_eq!(shortened("nginx[42]", 280.0), "nginx[42]");
        let short = shortened(&"W".repeat(300), 280.0);
        assert!(short.chars().count() == 23 && short.ends_with('…'), "{short}");
        assert_eq!(shortened("", 280.0), "");
    }
}
