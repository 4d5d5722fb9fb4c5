//! Text for people: width, wrapping, columns.

use textwrap::{Options, WordSeparator, WordSplitter, WrapAlgorithm};

/// Columns of the terminal: `COLUMNS`, else what the terminal on standard output says, within what reads well; 100 without either.
pub fn width() -> usize {
    let said = std::env::var("COLUMNS").ok().and_then(|columns| columns.parse().ok());
    let terminal = || terminal_size::terminal_size_of(std::io::stdout()).map(|(width, _)| usize::from(width.0));
    said.or_else(terminal).unwrap_or(100).clamp(60, 120)
}

/// A sentence broken into lines, each behind `indent` blanks.
pub fn wrap(text: &str, indent: usize) -> String {
    labelled("", text, indent)
}

/// A sentence behind a label, its lines aligned `indent` columns from the left.
pub fn labelled(label: &str, text: &str, indent: usize) -> String {
    let (first, blanks) = (format!("{label:indent$}"), " ".repeat(indent));
    let options = Options::new(width())
        .initial_indent(&first)
        .subsequent_indent(&blanks)
        .break_words(false)
        .word_separator(WordSeparator::AsciiSpace)
        .word_splitter(WordSplitter::NoHyphenation)
        .wrap_algorithm(WrapAlgorithm::FirstFit);
    let words = text.split_whitespace().collect::<Vec<_>>().join(" ");
    textwrap::fill(&words, options) + "\n"
}

/// Rows as columns, two blanks apart; columns whose index is in `right` are right-aligned.
pub fn columns(rows: &[Vec<String>], right: &[usize], indent: usize) -> String {
    let count = rows.iter().map(Vec::len).max().unwrap_or(0);
    let size = |text: &String| text.chars().count();
    let widths: Vec<usize> = (0..count).map(|i| rows.iter().filter_map(|row| row.get(i)).map(size).max().unwrap_or(0)).collect();
    let mut out = String::new();
    for row in rows {
        let mut line = " ".repeat(indent);
        for (i, cell) in row.iter().enumerate() {
            let pad = " ".repeat(widths[i].saturating_sub(size(cell)));
            let gap = if i == 0 { "" } else { "  " };
            line += &if right.contains(&i) { format!("{gap}{pad}{cell}") } else { format!("{gap}{cell}{pad}") };
        }
        out.push_str(line.trim_end());
        out.push('\n');
    }
    out
}

/// A page whose tables begin their rows with these names. Where that is wider than the terminal, numbers stand for them, and are told first.
pub fn named(names: &[&str], page: impl Fn(&[String]) -> String) -> String {
    named_within(width(), names, page)
}

fn named_within(width: usize, names: &[&str], page: impl Fn(&[String]) -> String) -> String {
    let full: Vec<String> = names.iter().map(|name| (*name).to_owned()).collect();
    let whole = page(&full);
    if whole.lines().all(|line| line.chars().count() <= width) {
        return whole;
    }
    let numbers: Vec<String> = (1..=names.len()).map(|number| format!("#{number}")).collect();
    let rows: Vec<Vec<String>> = numbers.iter().zip(full).map(|(number, name)| vec![number.clone(), name]).collect();
    format!("{}\n{}", columns(&rows, &[], 2), page(&numbers))
}

/// `1 change`, `2 changes`.
pub fn count(number: usize, noun: &str) -> String {
    format!("{number} {noun}{}", if number == 1 { "" } else { "s" })
}

/// How long something takes, roughly.
pub fn minutes(seconds: u64) -> String {
    match seconds.div_ceil(60) {
        minutes if minutes >= 90 => format!("about {} h", minutes.div_ceil(60)),
        minutes => format!("about {minutes} min"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_that_are_too_wide_are_numbered() {
        let page =
            |names: &[String]| columns(&names.iter().map(|name| vec![name.clone(), "1.0 s".into()]).collect::<Vec<_>>(), &[], 2);
        assert_eq!(named_within(20, &["disk", "zswap"], page), "  disk   1.0 s\n  zswap  1.0 s\n");
        let told = "  #1  disk\n  #2  zswap:lz4,pool=25%\n\n  #1  1.0 s\n  #2  1.0 s\n";
        assert_eq!(named_within(20, &["disk", "zswap:lz4,pool=25%"], page), told);
    }

    #[test]
    fn columns_line_up() {
        let rows = vec![vec!["a".into(), "1".into(), "x".into()], vec!["bbb".into(), "22".into()]];
        assert_eq!(columns(&rows, &[1], 2), "  a     1  x\n  bbb  22\n");
    }

    #[test]
    fn long_sentences_are_broken_between_words() {
        let text = wrap(&"word ".repeat(60), 4);
        assert!(text.lines().count() > 2);
        assert!(text.lines().all(|line| line.starts_with("    word") && line.chars().count() <= width()));
    }
}
