//! `/etc/crypttab`: lines of mappings added, replaced and removed; every other line stays as it is.

use super::lines;
use crate::parse::crypttab::{self, CryptMapping};

/// The text with this line for the mapping of this name: in the place of the one that has it, else at the end.
#[must_use]
pub fn set(text: &str, name: &str, wanted: &str) -> String {
    let mut found = false;
    let mut out =
        keep(text, |mapping| mapping.name == name, || (!std::mem::replace(&mut found, true)).then(|| wanted.to_owned()));
    if !found {
        if !out.is_empty() && !out.ends_with('\n') {
            out.push('\n');
        }
        out.push_str(wanted);
        out.push('\n');
    }
    out
}

/// The text without the mappings for which `is_it` holds.
#[must_use]
pub fn remove(text: &str, is_it: impl Fn(&CryptMapping) -> bool) -> String {
    keep(text, is_it, || None)
}

fn keep(text: &str, is_it: impl Fn(&CryptMapping) -> bool, mut change: impl FnMut() -> Option<String>) -> String {
    let mut out = String::with_capacity(text.len());
    for line in lines(text) {
        let content = match crypttab::parse(line.content).first() {
            Some(mapping) if is_it(mapping) => change(),
            _ => Some(line.content.to_owned()),
        };
        if let Some(content) = content {
            out.push_str(&content);
            out.push_str(line.ending);
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_line_a_mapping_and_the_rest_as_it_was() {
        let line = "swap-1 PARTUUID=1 /dev/urandom plain,swap";
        for (text, expect) in [
            ("", format!("{line}\n")),
            ("# c", format!("# c\n{line}\n")),
            ("a b c\n", format!("a b c\n{line}\n")),
            ("x y\r\nswap-1 old none\r\n# end", format!("x y\r\n{line}\r\n# end")),
            ("swap-1 a b\nswap-1 c d\n", format!("{line}\n")),
            ("#swap-1 a b\n", format!("#swap-1 a b\n{line}\n")),
        ] {
            let once = set(text, "swap-1", line);
            assert_eq!(once, expect, "{text:?}");
            assert_eq!(set(&once, "swap-1", line), once);
        }
        let text = "x y\n";
        assert_eq!(remove(&set(text, "swap-1", line), |mapping| mapping.source == "PARTUUID=1"), text);
    }
}
