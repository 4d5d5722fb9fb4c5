//! Editors of configuration texts: text in, text out, and every byte that is not meant to change stays.
//!
//! Comments, tabs, double blanks, carriage returns and a missing final newline survive, because people keep these
//! files under version control and read their diffs. Every editor is idempotent: applied twice is applied once.
//! Nothing here knows which settings are right; the plan decides, these functions write it down.

pub mod areas;
pub mod cmdline;
pub mod crypttab;
pub mod fstab;
pub mod grub;
pub mod sysctl;

use std::ops::Range;

/// One line of a text.
#[derive(Clone, Debug)]
pub(crate) struct TextLine<'a> {
    /// Number, from 1.
    pub number: usize,
    /// Content without its ending.
    pub content: &'a str,
    /// `\n`, `\r\n`, or nothing for a last line without one.
    pub ending: &'a str,
}

/// Splits a text into lines; joining `content` and `ending` of all gives the text back.
pub(crate) fn lines(text: &str) -> impl Iterator<Item = TextLine<'_>> {
    text.split_inclusive('\n').enumerate().map(|(index, whole)| {
        let content = whole.strip_suffix('\n').map_or(whole, |line| line.strip_suffix('\r').unwrap_or(line));
        TextLine { number: index + 1, content, ending: &whole[content.len()..] }
    })
}

/// One replacement of a range of a text.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Edit {
    /// What goes.
    pub range: Range<usize>,
    /// What comes.
    pub with: String,
}

/// Carries out edits that are in order and do not overlap.
pub(crate) fn apply(text: &str, edits: &[Edit]) -> String {
    let mut out = String::with_capacity(text.len() + edits.iter().map(|edit| edit.with.len()).sum::<usize>());
    let mut done = 0;
    for edit in edits {
        out.push_str(&text[done..edit.range.start]);
        out.push_str(&edit.with);
        done = edit.range.end;
    }
    out.push_str(&text[done..]);
    out
}
