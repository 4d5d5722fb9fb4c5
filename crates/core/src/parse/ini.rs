//! Files of `[section]` and `key = value`, such as `zram-generator.conf` and tuned profiles: read only.
//!
//! Remarks start with `#` or `;` at the start of a line. A key that comes twice in one section is kept twice; the last
//! one wins in the programs that read these files.

/// One section.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct IniSection {
    /// Name between the brackets.
    pub name: String,
    /// Line number of the header, from 1; zero for keys before any header.
    pub line: usize,
    /// Keys in order.
    pub keys: Vec<IniKey>,
}

/// One `key = value`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct IniKey {
    /// Line number, from 1.
    pub line: usize,
    /// The key, blanks around it removed.
    pub name: String,
    /// Value, blanks around it removed.
    pub value: String,
}

impl IniSection {
    /// The last value of a key.
    #[must_use]
    pub fn get(&self, name: &str) -> Option<&IniKey> {
        self.keys.iter().rev().find(|key| key.name == name)
    }
}

/// All sections in order; a section that comes twice is two sections.
#[must_use]
pub fn sections(text: &str) -> Vec<IniSection> {
    let mut all: Vec<IniSection> = Vec::new();
    for (line, content) in (1..).zip(text.lines().map(str::trim)) {
        if content.starts_with(['#', ';']) {
            continue;
        }
        if let Some(name) = content.strip_prefix('[').and_then(|rest| rest.strip_suffix(']')) {
            all.push(IniSection { name: name.trim().to_owned(), line, keys: Vec::new() });
        } else if let Some((name, value)) = content.split_once('=') {
            let key = IniKey { line, name: name.trim().to_owned(), value: value.trim().to_owned() };
            match all.last_mut() {
                Some(section) => section.keys.push(key),
                None => all.push(IniSection { keys: vec![key], ..IniSection::default() }),
            }
        }
    }
    all
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn a_generator_file_is_read() {
        let text = "top=1\n# c\n[zram0]\nzram-size = min(ram / 2, 4096)\n;x=1\ncompression-algorithm=lzo\ncompression-algorithm = zstd (type=idle)\r\n\n[zram1]\n";
        let all = sections(text);
        let names: Vec<_> = all.iter().map(|section| (section.name.as_str(), section.line)).collect();
        assert_eq!(names, [("", 0), ("zram0", 3), ("zram1", 9)]);
        let value = |name: &str| all[1].get(name).map(|key| (key.line, key.value.as_str()));
        assert_eq!(value("zram-size"), Some((4, "min(ram / 2, 4096)")));
        assert_eq!(value("compression-algorithm"), Some((7, "zstd (type=idle)")));
        assert_eq!(value("x"), None);
    }

    proptest! {
        #[test]
        fn arbitrary_text_is_safe(text in "\\PC{0,60}") {
            let _ = sections(&text);
        }
    }
}
