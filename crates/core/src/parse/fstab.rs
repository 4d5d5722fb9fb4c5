//! fstab(5), line by line, so that one line can change and every other byte stays.
//!
//! A line that libmount would refuse is kept with what is wrong with it: a broken fstab is reported, not repaired.

use super::escape::{escape, unescape};

/// One entry.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Entry {
    /// What is mounted: a path, `UUID=…`, `LABEL=…`.
    pub source: String,
    /// Where; `none` for swap.
    pub target: String,
    /// File system type; `swap` for swap.
    pub filesystem: String,
    /// Options, separated by commas.
    pub options: String,
    /// Dump frequency and pass as written, `0` when left out.
    pub dump_and_pass: (String, String),
}

impl Entry {
    /// True for a swap line.
    #[must_use]
    pub fn is_swap(&self) -> bool {
        self.filesystem == "swap"
    }

    /// An option: `Some("")` when it stands alone, its value when it has one. The last one wins.
    #[must_use]
    pub fn option(&self, name: &str) -> Option<&str> {
        self.options.split(',').rev().find_map(|option| {
            let (key, value) = option.split_once('=').unwrap_or((option, ""));
            (key == name).then_some(value)
        })
    }

    /// The entry as one line without its newline.
    #[must_use]
    pub fn to_line(&self) -> String {
        let (dump, pass) = &self.dump_and_pass;
        let field = |text: &str| if text.is_empty() { "none".to_owned() } else { escape(text) };
        let (source, target) = (field(&self.source), field(&self.target));
        format!("{source} {target} {} {} {dump} {pass}", field(&self.filesystem), field(&self.options))
    }
}

/// One line with its ending.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Line {
    /// The exact text, newline included.
    pub text: String,
    /// The entry in it: none for comments and empty lines, the reason when it is no valid entry.
    pub entry: Option<Result<Entry, String>>,
}

/// A whole fstab.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Fstab {
    lines: Vec<Line>,
}

impl Fstab {
    /// Reads the text; never fails, and [`Fstab::render`] gives the same text back.
    #[must_use]
    pub fn parse(text: &str) -> Self {
        Self { lines: text.split_inclusive('\n').map(line).collect() }
    }

    /// The text, byte for byte as it was where nothing was changed.
    #[must_use]
    pub fn render(&self) -> String {
        self.lines.iter().map(|line| line.text.as_str()).collect()
    }

    /// All valid entries with their index, for [`Fstab::replace`] and [`Fstab::remove`].
    pub fn entries(&self) -> impl Iterator<Item = (usize, &Entry)> {
        self.lines.iter().enumerate().filter_map(|(index, line)| Some((index, line.entry.as_ref()?.as_ref().ok()?)))
    }

    /// Lines that are no valid entry: line number from 1, and why.
    pub fn problems(&self) -> impl Iterator<Item = (usize, &str)> {
        self.lines.iter().enumerate().filter_map(|(index, line)| Some((index + 1, line.entry.as_ref()?.as_ref().err()?.as_str())))
    }

    /// Puts an entry in the place of the line at `index`, with the same line ending.
    pub fn replace(&mut self, index: usize, entry: &Entry) {
        if let Some(old) = self.lines.get_mut(index) {
            let ending = &old.text[old.text.trim_end_matches(['\r', '\n']).len()..];
            *old = line(&format!("{}{ending}", entry.to_line()));
        }
    }

    /// Takes the line at `index` away.
    pub fn remove(&mut self, index: usize) {
        if index < self.lines.len() {
            self.lines.remove(index);
        }
    }

    /// Adds an entry at the end, after a newline if the last line had none.
    pub fn push(&mut self, entry: &Entry) {
        if let Some(last) = self.lines.last_mut().filter(|last| !last.text.ends_with('\n')) {
            last.text.push('\n');
        }
        self.lines.push(line(&format!("{}\n", entry.to_line())));
    }
}

fn line(text: &str) -> Line {
    let content = text.trim_matches([' ', '\t', '\r', '\n']);
    let entry = (!content.is_empty() && !content.starts_with('#')).then(|| entry(content));
    Line { text: text.to_owned(), entry }
}

fn entry(content: &str) -> Result<Entry, String> {
    let mut words = content.split([' ', '\t']).filter(|word| !word.is_empty()).map(unescape);
    let mut field = |name: &str| words.next().ok_or_else(|| format!("has no {name}"));
    let (source, target, filesystem) = (field("source")?, field("mount point")?, field("file system type")?);
    let options = words.next().unwrap_or_else(|| "defaults".to_owned());
    let mut number = |name: &str| match words.next() {
        None => Ok("0".to_owned()),
        // libmount ends the line at a comment after the options.
        Some(word) if word.starts_with('#') => Ok("0".to_owned()),
        Some(word) if word.bytes().all(|c| c.is_ascii_digit()) => Ok(word),
        Some(word) => Err(format!("has `{word}` as {name}, which is no number")),
    };
    let dump_and_pass = (number("dump frequency")?, number("pass")?);
    Ok(Entry { source, target, filesystem, options, dump_and_pass })
}

#[cfg(test)]
mod tests {
    use super::*;

    const TEXT: &str = "# /etc/fstab\nUUID=1 / ext4 errors=remount-ro 0 1\n\n/my\\040swap\tnone\tswap\tsw,pri=5,nofail\t0\t0\n\
                        /dev/sda9 none\n/dev/sr0 /media/cdrom0 udf,iso9660 user,noauto zero 0\n/dev/vdb none swap sw";

    #[test]
    fn entries_and_problems() {
        let fstab = Fstab::parse(TEXT);
        let swaps: Vec<_> = fstab.entries().filter(|(_, entry)| entry.is_swap()).collect();
        assert_eq!(swaps.len(), 2);
        let (index, first) = swaps[0];
        assert_eq!(
            (index, first.source.as_str(), first.option("pri"), first.option("nofail")),
            (3, "/my swap", Some("5"), Some(""))
        );
        assert_eq!(first.option("noauto"), None);
        assert_eq!(swaps[1].1.dump_and_pass, ("0".to_owned(), "0".to_owned()));
        let problems: Vec<_> = fstab.problems().collect();
        assert_eq!(problems, [(5, "has no file system type"), (6, "has `zero` as dump frequency, which is no number")]);
    }

    #[test]
    fn edits_touch_one_line() {
        let mut fstab = Fstab::parse(TEXT);
        assert_eq!(fstab.render(), TEXT);
        let mut entry = fstab.entries().find(|(index, _)| *index == 3).unwrap().1.clone();
        entry.options = "pri=10,nofail".to_owned();
        fstab.replace(3, &entry);
        assert!(fstab.render().contains("\n/my\\040swap none swap pri=10,nofail 0 0\n/dev/sda9"));
        fstab.push(&entry);
        assert!(fstab.render().ends_with("/dev/vdb none swap sw\n/my\\040swap none swap pri=10,nofail 0 0\n"));
        fstab.remove(7);
        fstab.remove(99);
        fstab.replace(99, &entry);
        assert_eq!(fstab.entries().count(), 3);
    }
}
