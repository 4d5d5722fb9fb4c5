//! `/etc/fstab`: swap lines added, replaced and removed; every other line stays as it is.
//!
//! Fields are read as fstab(5) says: blanks and tabs between them, `\040` and friends inside them, `#` only at the
//! start of a line. A line that is no entry is reported with its text and is never touched.

use std::ops::Range;

use super::{Edit, apply, lines};
use crate::escape::{escape, unescape};

/// One entry of fstab.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FstabEntry {
    /// Line number, from 1.
    pub line: usize,
    /// First field, escapes resolved: `/dev/vda3`, `UUID=…`.
    pub spec: String,
    /// Second field: the mount point, `none` or `swap` for swap.
    pub target: String,
    /// Third field: the file system type.
    pub fstype: String,
    /// Fourth field, `defaults` when it is left out.
    pub options: String,
    /// Fifth field, zero when it is left out.
    pub dump: u32,
    /// Sixth field, zero when it is left out.
    pub pass: u32,
}

impl FstabEntry {
    /// True for a swap area.
    #[must_use]
    pub fn is_swap(&self) -> bool {
        self.fstype == "swap"
    }

    /// The tag of the first field and its value without quotes: `("UUID", "1234")` for `UUID="1234"`.
    #[must_use]
    pub fn tag(&self) -> Option<(&str, &str)> {
        let (tag, value) = self.spec.split_once('=').filter(|(tag, _)| !tag.starts_with('/'))?;
        Some((tag, value.trim_matches(['"', '\''])))
    }

    /// True when a boot may go on without the device, after a short wait: what swaptune calls optional.
    #[must_use]
    pub fn is_optional(&self) -> bool {
        self.option("nofail").is_some() && self.option("x-systemd.device-timeout").is_some()
    }

    /// The value of an option: `Some("10")` for `pri=10`, `Some("")` for a bare `nofail`. The last one wins.
    #[must_use]
    pub fn option(&self, name: &str) -> Option<&str> {
        self.options.rsplit(',').find_map(|option| {
            let (key, value) = option.split_once('=').unwrap_or((option, ""));
            (key.trim() == name).then_some(value)
        })
    }
}

/// A line that is neither an entry nor a comment nor empty.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("line {line} of fstab {problem}: `{text}`")]
pub struct BrokenLine {
    /// Line number, from 1.
    pub line: usize,
    /// The line.
    pub text: String,
    /// What is wrong, as the end of the sentence "line 3 of fstab …".
    pub problem: String,
}

/// What a swap line shall say.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FstabSwapLine {
    /// `UUID=…` or a path; blanks are escaped when it is written.
    pub spec: String,
    /// Options such as `sw,pri=10,nofail`.
    pub options: String,
}

/// All entries and broken lines, in order; comments and empty lines are left out.
#[must_use]
pub fn entries(text: &str) -> Vec<Result<FstabEntry, BrokenLine>> {
    lines(text).filter_map(|line| read(line.number, line.content)).collect()
}

/// The swap areas that are switched on at boot, as the lines name them.
pub fn swap_specs(text: &str) -> impl Iterator<Item = String> {
    let at_boot = |entry: &FstabEntry| entry.is_swap() && entry.option("noauto").is_none();
    entries(text).into_iter().filter_map(Result::ok).filter(at_boot).map(|entry| entry.spec)
}

/// The text with one line for this swap area.
///
/// Only lines of type `swap` for which `is_same` holds are looked at. The first of them gets the new first and fourth
/// field and keeps everything else (blanks, tabs, remarks behind it); further ones are removed; without any, a line is
/// added at the end.
#[must_use]
pub fn set_swap(text: &str, wanted: &FstabSwapLine, is_same: impl Fn(&FstabEntry) -> bool) -> String {
    let mut found = false;
    let mut out = keep(text, &is_same, |content| {
        let first = !std::mem::replace(&mut found, true);
        first.then(|| rewrite(content, wanted))
    });
    if !found {
        if !out.is_empty() && !out.ends_with('\n') {
            out.push('\n');
        }
        out.push_str(&format!("{} none swap {} 0 0\n", escape(&wanted.spec), options(wanted)));
    }
    out
}

/// The text without the lines of this swap area.
#[must_use]
pub fn remove_swap(text: &str, is_same: impl Fn(&FstabEntry) -> bool) -> String {
    keep(text, &is_same, |_| None)
}

/// Every line, where lines of the same area become what `change` makes of them, or go away.
fn keep(text: &str, is_same: &impl Fn(&FstabEntry) -> bool, mut change: impl FnMut(&str) -> Option<String>) -> String {
    let mut out = String::with_capacity(text.len());
    for line in lines(text) {
        let entry = read(line.number, line.content).and_then(Result::ok);
        if entry.is_some_and(|entry| entry.is_swap() && is_same(&entry)) {
            if let Some(content) = change(line.content) {
                out.push_str(&content);
                out.push_str(line.ending);
            }
        } else {
            out.push_str(line.content);
            out.push_str(line.ending);
        }
    }
    out
}

fn read(number: usize, content: &str) -> Option<Result<FstabEntry, BrokenLine>> {
    let trimmed = content.trim_matches(BLANKS);
    if trimmed.is_empty() || trimmed.starts_with('#') {
        return None;
    }
    let broken = |problem: String| BrokenLine { line: number, text: content.to_owned(), problem };
    Some(entry(number, content).map_err(broken))
}

const BLANKS: [char; 3] = [' ', '\t', '\r'];

fn entry(number: usize, content: &str) -> Result<FstabEntry, String> {
    let fields: Vec<&str> = fields(content).into_iter().map(|range| &content[range]).collect();
    let (Some(spec), Some(target), Some(fstype)) = (fields.first(), fields.get(1), fields.get(2)) else {
        return Err(format!("has {} of the three fields that an entry needs", fields.len()));
    };
    let count = |index: usize, nth: &str| match fields.get(index) {
        Some(field) => field.parse().map_err(|_| format!("has `{field}` where the {nth} field is a number")),
        None => Ok(0),
    };
    let options = fields.get(3).unwrap_or(&"defaults");
    Ok(FstabEntry {
        line: number,
        spec: unescape(spec),
        target: unescape(target),
        fstype: unescape(fstype),
        options: unescape(options),
        dump: count(4, "fifth")?,
        pass: count(5, "sixth")?,
    })
}

/// Ranges of the words of a line, up to a remark.
fn fields(content: &str) -> Vec<Range<usize>> {
    let mut out = Vec::new();
    let mut start = None;
    for (at, c) in content.char_indices().chain([(content.len(), ' ')]) {
        match (BLANKS.contains(&c), start) {
            (false, None) if c == '#' => return out,
            (false, None) => start = Some(at),
            (true, Some(from)) => {
                out.push(from..at);
                start = None;
            }
            _ => {}
        }
    }
    out
}

/// The line with another first and fourth field.
fn rewrite(content: &str, wanted: &FstabSwapLine) -> String {
    let fields = fields(content);
    let mut edits = vec![Edit { range: fields[0].clone(), with: escape(&wanted.spec) }];
    match fields.get(3) {
        Some(range) => edits.push(Edit { range: range.clone(), with: options(wanted) }),
        None => edits.push(Edit { range: fields[2].end..fields[2].end, with: format!(" {}", options(wanted)) }),
    }
    apply(content, &edits)
}

fn options(wanted: &FstabSwapLine) -> String {
    if wanted.options.is_empty() { "defaults".to_owned() } else { escape(&wanted.options) }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn wanted() -> FstabSwapLine {
        FstabSwapLine { spec: "UUID=ab-1".into(), options: "sw,pri=10,nofail".into() }
    }

    fn same(entry: &FstabEntry) -> bool {
        entry.tag().is_some_and(|(tag, value)| tag == "UUID" && value.eq_ignore_ascii_case("AB-1")) || entry.spec == "/dev/vda3"
    }

    #[test]
    fn lines_are_replaced_removed_and_added() {
        for (text, expect) in [
            ("", "UUID=ab-1 none swap sw,pri=10,nofail 0 0\n"),
            ("# x", "# x\nUUID=ab-1 none swap sw,pri=10,nofail 0 0\n"),
            ("/dev/vda1 / ext4 rw 0 1\n", "/dev/vda1 / ext4 rw 0 1\nUUID=ab-1 none swap sw,pri=10,nofail 0 0\n"),
            ("/dev/vda3\tnone\tswap\tsw\t0\t0 \n", "UUID=ab-1\tnone\tswap\tsw,pri=10,nofail\t0\t0 \n"),
            ("UUID=\"AB-1\"  swap  swap\n/ x\n", "UUID=ab-1  swap  swap sw,pri=10,nofail\n/ x\n"),
            ("/dev/vda3 none swap # old\r\n", "UUID=ab-1 none swap sw,pri=10,nofail # old\r\n"),
            ("/dev/vda3 none swap sw 0 0\nUUID=ab-1 none swap sw", "UUID=ab-1 none swap sw,pri=10,nofail 0 0\n"),
            // Not a swap line: whatever the caller thinks of the device, it stays.
            ("/dev/vda3 /data ext4\n", "/dev/vda3 /data ext4\nUUID=ab-1 none swap sw,pri=10,nofail 0 0\n"),
            ("#/dev/vda3 none swap\n", "#/dev/vda3 none swap\nUUID=ab-1 none swap sw,pri=10,nofail 0 0\n"),
        ] {
            let once = set_swap(text, &wanted(), same);
            assert_eq!(once, expect, "{text:?}");
            assert_eq!(set_swap(&once, &wanted(), same), once, "{text:?} twice");
            assert!(!remove_swap(&once, same).contains("UUID=ab-1"), "{text:?} removed");
        }
    }

    #[test]
    fn a_path_with_a_blank_is_escaped_and_read_back() {
        let line = FstabSwapLine { spec: "/my swap\\file".into(), options: String::new() };
        let text = set_swap("", &line, |_| false);
        assert_eq!(text, "/my\\040swap\\134file none swap defaults 0 0\n");
        let all = entries(&text);
        assert_eq!(all[0].as_ref().map(|entry| entry.spec.as_str()), Ok("/my swap\\file"));
        assert_eq!(set_swap(&text, &line, |entry| entry.spec == line.spec), text);
    }

    #[test]
    fn entries_and_broken_lines() {
        let all =
            entries("# c\n\n\tUUID=1 / ext4 rw,pri=3,pri=4,nofail 1 2\n/dev/b none\nLABEL=x none swap sw zero\nc d e # remark\n");
        let first = all[0].as_ref().expect("an entry");
        assert_eq!((first.line, first.dump, first.pass, first.is_swap()), (3, 1, 2, false));
        assert_eq!((first.option("pri"), first.option("nofail"), first.option("sw")), (Some("4"), Some(""), None));
        assert_eq!(first.tag(), Some(("UUID", "1")));
        let broken = all[1].as_ref().expect_err("two fields");
        assert_eq!(broken.to_string(), "line 4 of fstab has 2 of the three fields that an entry needs: `/dev/b none`");
        let broken = all[2].as_ref().expect_err("no number");
        assert!(broken.problem.contains("`zero`"), "{broken}");
        assert_eq!(all[3].as_ref().map(|entry| entry.options.as_str()), Ok("defaults"));
    }

    proptest! {
        #[test]
        fn arbitrary_text_is_safe(text in "(?s)[ \\t\\r\\n#=a-c/\\\\0-4é\"]{0,80}", n in 0usize..3) {
            let spec = ["a", "/b c", "UUID=1"][n];
            let line = FstabSwapLine { spec: spec.into(), options: "sw".into() };
            let is_same = |entry: &FstabEntry| entry.spec == spec;
            let once = set_swap(&text, &line, is_same);
            prop_assert_eq!(set_swap(&once, &line, is_same), once.clone());
            prop_assert!(entries(&once).iter().flatten().filter(|e| e.is_swap() && e.spec == spec).count() == 1);
            let untouched: Vec<_> = entries(&text).into_iter().flatten().filter(|e| !(e.is_swap() && is_same(e))).collect();
            let after: Vec<_> = entries(&once).into_iter().flatten().filter(|e| !(e.is_swap() && is_same(e))).collect();
            prop_assert_eq!(untouched.len(), after.len());
        }

        #[test]
        fn other_lines_stay(before in "(?s)([ a-z#\\t/]{0,20}\r?\n){0,4}", after in "(?s)([ a-z#\\t/]{0,20}\r?\n){0,4}") {
            let text = format!("{before}/dev/vda3 none swap sw 0 0\n{after}");
            let expect = format!("{before}UUID=ab-1 none swap sw,pri=10,nofail 0 0\n{after}");
            prop_assert_eq!(set_swap(&text, &wanted(), same), expect);
        }
    }
}
